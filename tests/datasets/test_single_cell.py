"""AnnData in the layouts of its older versions and what Cell Ranger writes."""

from __future__ import annotations

import io

import h5py
import numpy as np
import pytest
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import load_bytes
from semf_core.datasets.loaders import find_files

COUNTS = sparse.random_array((6, 4), density=0.5, rng=0, format="csc")
GENES, CELLS = tuple(f"G{i}" for i in range(6)), tuple(f"c{j}-1" for j in range(4))
TEXT = h5py.string_dtype()


def h5(fill) -> bytes:
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        fill(file)
    return stream.getvalue()


def put_sparse(group, A) -> None:
    for piece in ("data", "indices", "indptr"):
        group[piece] = getattr(A, piece)


def check(content: bytes, name: str = "a.h5ad") -> None:
    one = find_files([(name, content)])
    assert sparse.issparse(one.dataset.data) and (one.dataset.data != COUNTS).nnz == 0
    assert (one.dataset.axes.rows.names, one.dataset.axes.columns.names) == (GENES, CELLS)


def test_anndata_before_0_7_keeps_records_and_names_its_sparse_matrices_otherwise():
    def fill(file):
        group = file.create_group("X")
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", (4, 6)
        put_sparse(group, sparse.csr_array(COUNTS.T))
        file["obsm/X_pca"] = np.zeros((4, 2))
        kinds = np.dtype([("index", TEXT), ("cell_type", "i1"), ("n_counts", "f4")])
        file["obs"] = np.array([(cell.encode(), j % 2, 1.0) for j, cell in enumerate(CELLS)], kinds)
        file["var"] = np.array([(gene.encode(), True) for gene in GENES], np.dtype([("index", TEXT), ("variable", "?")]))
        file["uns/cell_type_categories"] = np.array([b"B", b"T"], TEXT)

    check(h5(fill))
    np.testing.assert_array_equal(load_bytes("a.h5ad", h5(fill)).labels, ["B", "T", "B", "T"])


def test_anndata_0_7_refers_to_the_words_of_its_classes():
    def fill(file):
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", (4, 6)
        put_sparse(group, sparse.csr_array(COUNTS.T))
        for side, names in (("obs", CELLS), ("var", GENES)):
            file.create_group(side).attrs["_index"] = "_index"
            file[side]["_index"] = np.array(names, TEXT)
        file["obs/__categories/leiden"] = np.array([b"0", b"1"], TEXT)
        file["obs/leiden"] = np.array([0, 1, 1, -1], np.int8)
        file["obs/leiden"].attrs["categories"] = file["obs/__categories/leiden"].ref

    check(h5(fill))
    np.testing.assert_array_equal(load_bytes("a.h5ad", h5(fill)).labels, ["0", "1", "1", ""])


@pytest.mark.parametrize(("group", "features"), [("matrix", "features/name"), ("GRCh38", "gene_names")])
def test_cell_ranger_versions_3_and_2(group, features):
    def fill(file):
        put_sparse(file.create_group(group), COUNTS)
        file[group]["shape"] = np.array([6, 4], np.int32)
        file[group]["barcodes"] = np.array(CELLS, "S8")
        file[group][features] = np.array(GENES, "S8")

    check(h5(fill), "filtered_feature_bc_matrix.h5")


def test_other_files_are_told_what_to_do():
    with pytest.raises(InvalidInput, match=r"no known layout.*save it as"):
        load_bytes("a.h5", h5(lambda file: file.create_dataset("some/array", data=np.eye(3))))

    def unknown(file):
        file.create_group("X").attrs["encoding-type"] = "of tomorrow"
        file["obsm/X_pca"] = np.ones((4, 2))

    with pytest.raises(InvalidInput, match="X that is not understood"):  # not another matrix instead of it
        load_bytes("a.h5ad", h5(unknown))


@pytest.mark.parametrize("place", ["var/_index", "obs/leiden/categories", "var/wavelength"])
def test_what_lies_in_other_files_is_not_read(tmp_path, place):
    secret = tmp_path / "secret"
    secret.write_bytes(b"password" * 6)

    def fill(file):
        file["X"] = np.ones((6, 6))
        for side in ("obs", "var"):
            file.create_group(side).attrs["_index"] = "_index"
            if place != f"{side}/_index":
                file[side]["_index"] = np.array(GENES, TEXT)
        file.create_group("obs/leiden").attrs["encoding-type"] = "categorical"
        file["obs/leiden/codes"] = np.arange(6)
        kind = "f8" if place.endswith("wavelength") else "S8"
        file.create_dataset(place, (6,), kind, external=[(str(secret), 0, 48)])

    with pytest.raises(InvalidInput, match="points to other files"):
        load_bytes("a.h5ad", h5(fill))
