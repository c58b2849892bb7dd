"""Queries of words against plain NumPy: latent semantic indexing, and the topics of a nonnegative factorization."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import nnls

from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes, Dataset, FileSource, Titles
from semf_core.factorization.result import make_result
from semf_core.factorization.retrieval import retrieve
from semf_core.model import ModelSpec, preset
from semf_core.solvers import LatentSemanticIndexing
from tests.helpers import present

WORDS = "Apple trees; apple GARDEN zebra"


def asked(spec: ModelSpec, dataset: Dataset, query: str = WORDS):
    result = make_result(spec.run(dataset).finish())
    return retrieve(query, spec, (result.U, result.V), dataset.axes, lambda: dataset), result


def counts(dataset: Dataset) -> np.ndarray:
    return np.array([{"apple": 2.0, "trees": 1.0, "garden": 1.0}.get(word, 0.0) for word in present(dataset.axes.rows.names)])


@pytest.mark.parametrize("weights", ["none", "idf"])
def test_lsi_answers_as_deerwester_has_it(weights):
    dataset = Titles().load()
    A = dataset.data.toarray()
    w = 1 + np.log((1 + A.shape[1]) / (1 + (A > 0).sum(axis=1))) if weights == "idf" else np.ones(len(A))
    U, s, Vt = np.linalg.svd(w[:, None] * A, full_matrices=False)
    q, documents = U[:, :4].T @ (w * counts(dataset)), s[:4, None] * Vt[:4]
    cosines = q @ documents / np.linalg.norm(q) / np.linalg.norm(documents, axis=0)
    found, _ = asked(ModelSpec(Titles(), 4, solver=LatentSemanticIndexing(weights=weights)), dataset)
    nearest = np.argsort(-cosines)[: len(found.hits)]
    np.testing.assert_allclose([hit.cosine for hit in found.hits], cosines[nearest], atol=1e-9)
    assert {hit.sample for hit in found.hits} == set(nearest.tolist()) and len(found.hits) == 10
    assert found.known == ("apple", "trees", "garden") and found.unknown == ("zebra",)
    stars, _ = asked(ModelSpec(Titles(), 4, solver=LatentSemanticIndexing(weights=weights)), dataset, "telescope moon")
    assert weights == "none" or all(present(dataset.labels)[hit.sample] == "sky" for hit in stars.hits[:5])


def test_topics_answer_by_nonnegative_codes():
    spec, dataset = preset("titles-topics"), Titles().load()
    found, result = asked(spec, dataset)
    code = nnls(result.U, counts(dataset))[0]
    fit, documents = result.U @ code, result.U @ result.V
    cosines = fit @ documents / np.linalg.norm(fit) / np.linalg.norm(documents, axis=0)
    np.testing.assert_allclose([hit.cosine for hit in found.hits], np.sort(cosines)[::-1][: len(found.hits)], atol=1e-9)
    assert (found.code >= 0).all()


def test_words_are_weighted_as_the_prepared_documents_are(tmp_path):
    plain = Titles().load()
    lines = [",".join(["term", *(f"d{j}" for j in range(48))])]
    lines += [
        ",".join([word, *map(str, row.astype(int))])
        for word, row in zip(present(plain.axes.rows.names), plain.data.toarray(), strict=True)
    ]
    (tmp_path / "terms.csv").write_text("\n".join(lines))
    source = FileSource(path=str(tmp_path / "terms.csv"), prepare="tfidf")
    dataset = source.load()
    A = plain.data.toarray()
    w = 1 + np.log((1 + A.shape[1]) / (1 + (A > 0).sum(axis=1)))
    U, s, Vt = np.linalg.svd(w[:, None] * A, full_matrices=False)
    q, documents = U[:, :4].T @ (w * counts(plain)), s[:4, None] * Vt[:4]
    cosines = q @ documents / np.linalg.norm(q) / np.linalg.norm(documents, axis=0)
    found, _ = asked(ModelSpec(source, 4, solver=LatentSemanticIndexing()), dataset)
    np.testing.assert_allclose([hit.cosine for hit in found.hits], np.sort(cosines)[::-1][:10], atol=1e-9)


def test_the_command_line_answers_from_a_run_and_from_a_snapshot(tmp_path, capsys):
    file = str(tmp_path / "a.semf")
    assert main(["run", "--preset", "lsi", "--query", "telescope moon", "--json", "--save", file]) == 0
    hits = json.loads(capsys.readouterr().out)["query"]
    assert hits[0]["cosine"] > 0.9 and "telescope" in " ".join(hit["name"] for hit in hits)
    assert main(["query", file, "telescope", "moon", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert [hit["name"] for hit in again] == [hit["name"] for hit in hits]
    assert main(["query", file, "xylophone"]) == 2 and "such words are" in capsys.readouterr().err


def test_rows_without_words_are_refused():
    with pytest.raises(InvalidInput, match="no names of rows"):
        retrieve("a", preset("lsi"), (np.ones((2, 1)), np.ones((1, 3))), Axes(), lambda: Dataset(np.ones((2, 3))))
