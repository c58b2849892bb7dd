"""Retrieval by a factorization of texts: a query of words is answered by the nearest documents (LSI, or topics of NMF)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes, Dataset
from semf_core.datasets.preparation import Log1p, TfIdf, steps_of
from semf_core.model import ModelSpec
from semf_core.solvers import LatentSemanticIndexing

Array = np.ndarray
MOST = 10
WORD = re.compile(r"[^\s,;:.!?()\"]+")


@dataclass(frozen=True)
class Hit:
    """A document, and the cosine of its angle with the query in the space of the components."""

    sample: int
    name: str
    cosine: float


@dataclass(frozen=True, eq=False)
class Answer:
    """The nearest documents, the nearest first, and what was made of the query."""

    hits: tuple[Hit, ...]
    known: tuple[str, ...]
    """Words of the query that are among the rows."""
    unknown: tuple[str, ...]
    code: Array
    """How much of each component is in the query."""

    def lines(self) -> list[str]:
        """The answer as text, a document a line."""
        found = [f"{hit.cosine:.3f}  {hit.name}" for hit in self.hits] or ["Nothing is near."]
        return found + ([f"Not among the rows: {', '.join(self.unknown)}."] if self.unknown else [])


def takes_queries(axes: Axes, image_shape: tuple[int, int] | None) -> bool:
    """Whether rows are words (or genes) that a query can be made of.

    Parameters
    ----------
    axes : Axes
        What is known of rows and columns.
    image_shape : (int, int), optional
        Height and width, where a sample is an image.

    Returns
    -------
    bool
        False for curves, maps, images and rows without names.

    Examples
    --------
    >>> from semf_core.datasets import Swimmer, Titles
    >>> [takes_queries(data.axes, data.image_shape) for data in (Titles().load(), Swimmer().load())]
    [True, False]
    """
    return axes.rows.names is not None and not axes.rows.ordered and image_shape is None


def retrieve(
    query: str, spec: ModelSpec, factors: tuple[Array, Array], axes: Axes, load: Callable[[], Dataset], most: int = MOST
) -> Answer:
    """The documents that a model finds nearest to a query; its words are weighted as those of the documents are.

    Parameters
    ----------
    query : str
        Words; upper and lower case are alike.
    spec : ModelSpec
        The model, whose preparation and algorithm say how words are weighted.
    factors : (array, array)
        Its U and V.
    axes : Axes
        The names of rows (words) and columns (documents).
    load : callable
        Gives the data, which is looked at only where the weights depend on it.
    most : int
        Documents at most.

    Returns
    -------
    Answer
        The nearest documents with their cosines, and which words were known.

    Examples
    --------
    >>> from semf_core.model import preset
    >>> spec = preset("lsi")
    >>> data = spec.dataset.load()
    >>> U, V, _, _ = spec.run(data).finish().factors()
    >>> answer = retrieve("apple unheard-of", spec, (U, V), data.axes, spec.dataset.load, most=2)
    >>> len(answer.hits), answer.known, answer.unknown
    (2, ('apple',), ('unheard-of',))
    """
    prepare = getattr(spec.dataset, "prepare", "")
    weighs = isinstance(spec.solver, LatentSemanticIndexing) and spec.solver.weights == "idf"
    idf = _idf(load()) if weighs or any(isinstance(step, TfIdf) for step in steps_of(prepare)) else None
    counts, known, unknown = _counted(query, axes)
    for step in steps_of(prepare):
        counts = counts * idf if isinstance(step, TfIdf) else np.log1p(counts) if isinstance(step, Log1p) else counts
    code, cosines = nearness(counts, *factors, idf if weighs else None)
    nearest = np.argsort(-cosines, kind="stable")[:most]
    hits = tuple(Hit(int(j), axes.columns.label(int(j), "sample"), float(cosines[j])) for j in nearest if cosines[j] > 0)
    return Answer(hits, known, unknown, code)


def nearness(q: Array, U: Array, V: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """The code of a query in a basis, and its cosine with each document.

    The code is the c with the least ‖q − Uc‖, nonnegative where V is. Documents are compared with it as UV has them: by the
    cosine of Uc with UV_j, which does not depend on how U and V share their scale. With U and V from the singular value
    decomposition this is latent semantic indexing (Deerwester et al. 1990).

    Parameters
    ----------
    q : array
        How often the query has each word: one number for each row of U.
    U, V : array
        The factors of a term-document matrix.
    weights : array, optional
        Of the rows in the norm.

    Returns
    -------
    code : array
        How much of each component is in the query.
    cosines : array
        One for each column of V.

    Examples
    --------
    >>> code, cosines = nearness(np.array([0.0, 2.0]), np.eye(2), np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 4.0]]))
    >>> code, cosines
    (array([0., 2.]), array([0. , 1. , 0.8]))
    """
    w = np.ones(len(q)) if weights is None else weights
    U, V, q = np.asarray(U, dtype=float) * w[:, None], np.asarray(V, dtype=float), q * w
    code = scipy.optimize.nnls(U, q)[0] if V.min(initial=0.0) >= 0 else np.linalg.lstsq(U, q, rcond=None)[0]
    gram = U.T @ U
    lengths = np.sqrt(np.maximum(np.einsum("kj,kj->j", V, gram @ V), 0) * max(float(code @ gram @ code), 0.0))
    return code, np.divide(code @ gram @ V, lengths, out=np.zeros(V.shape[1]), where=lengths > 0)


def _counted(query: str, axes: Axes) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """How often each row is named in the query, upper and lower case alike."""
    if axes.rows.names is None:
        raise InvalidInput("query", "needs rows that are words; this data has no names of rows")
    rows = {name.casefold(): i for i, name in reversed(list(enumerate(axes.rows.names)))}
    asked = WORD.findall(query.casefold())
    known = [word for word in asked if word in rows]
    if not known:
        some = ", ".join(axes.rows.names[:5])
        raise InvalidInput("query", "has no word that is a row of the data", f"such words are {some}")
    counts = np.zeros(len(axes.rows.names))
    for word in known:
        counts[rows[word]] += 1
    return counts, tuple(dict.fromkeys(known)), tuple(dict.fromkeys(word for word in asked if word not in rows))


def _idf(dataset: Dataset) -> Array:
    """Weights of the rows by how few documents hold them."""
    data, (m, n) = dataset.data, dataset.shape
    holders = np.bincount(data.indices, minlength=m) if sparse.issparse(data) else (np.nan_to_num(data) != 0).sum(axis=1)
    return TfIdf.weights(holders, n)
