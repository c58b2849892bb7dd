"""What is done to data after they are read: each step has a name and parameters, and the raw data stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from semf_core.common.parameters import InvalidInput, Parametrized, param, params_of
from semf_core.common.registry import Registry
from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.base import Array, Dataset
from semf_core.datasets.scaling import divided, scales
from semf_core.mathematics.blocks import row_blocks

SIDES = ("rows", "columns")


class Step(Parametrized):
    """One step; `apply` gives new data and leaves its input alone."""

    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    def apply(self, dataset: Dataset) -> Dataset:
        raise NotImplementedError

    def word(self) -> str:
        """Name and parameters as they are spelled: crop:first=3,last=90."""
        given = self.to_dict()
        told = [f"{p.name}={_spelled(given[p.name])}" for p in params_of(type(self)) if p.name in given]
        return self.name + (":" + ",".join(told) if told else "")


STEPS: Registry[Step] = Registry("preparation")


def _spelled(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else f"{value}"


def steps_of(text: str) -> list[Step]:
    """The steps that a text spells, separated by blanks."""
    return [STEPS.parse(word) for word in text.split()]


def spelled(text: str) -> str:
    """The same text in its one spelling; whatever is wrong with it is rejected."""
    return " ".join(step.word() for step in steps_of(text))


def prepared(dataset: Dataset, text: str) -> Dataset:
    """The data after all steps; what is known of true parts does not hold for them any more."""
    steps = steps_of(text)
    if not steps:
        return dataset
    dataset = replace(dataset, parts=None, activations=None, groups=None)
    for step in steps:
        try:
            dataset = step.apply(dataset)
        except InvalidInput as error:
            raise InvalidInput("prepare", f"{step.title.lower()}: {error.problem}", error.remedy, whole=True) from None
    return dataset


def _changed(dataset: Dataset, change: Callable[[Array], Array]) -> Dataset:
    """Every number changed alone, zeros to zeros: a sparse matrix stays sparse."""
    data = dataset.data
    if sparse.issparse(data):
        out = sparse.csc_array(data, copy=True)
        out.data = change(out.data)
        return replace(dataset, data=out)
    out = np.empty(data.shape, data.dtype)
    for rows in row_blocks(*data.shape):
        out[rows] = change(data[rows])
    return replace(dataset, data=out)


# -- cutting -----------------------------------------------------------------------------------


@STEPS.register
class Crop(Step):
    """Places of the axis from `first` to `last` where there is one, otherwise numbers counted from 1; both ends are kept."""

    name = "crop"
    title = "Crop"
    summary = "Keep a stretch of the rows or of the samples: places on their axis, or numbers counted from 1."

    first: float | None = param("number", None, optional=True, help="where the stretch begins")
    last: float | None = param("number", None, optional=True, help="where it ends")
    side: str = param("choice", "rows", choices=SIDES, help="what is cut")

    def apply(self, dataset: Dataset) -> Dataset:
        axis = getattr(dataset.axes, self.side)
        count = dataset.shape[SIDES.index(self.side)]
        places = axis.values if axis.values is not None else np.arange(1, count + 1)
        low = -np.inf if self.first is None else self.first
        high = np.inf if self.last is None else self.last
        kept = np.flatnonzero((places >= low) & (places <= high))
        if not len(kept):
            raise InvalidInput(
                "first",
                f"nothing lies from {low:g} to {high:g}; the places go from {places.min():g} to {places.max():g}",
                whole=True,
            )
        if len(kept) == count:
            return dataset
        chosen: Any = slice(int(kept[0]), int(kept[-1]) + 1) if len(kept) == kept[-1] - kept[0] + 1 else kept
        return _taken(dataset, self.side, chosen)


def _taken(dataset: Dataset, side: str, chosen: Any) -> Dataset:
    axes = dataset.axes
    if side == "rows":
        named = Axes(axes.rows.take(chosen), axes.columns, axes.map_shape)
        return replace(dataset, data=dataset.data[chosen], image_shape=None, axes=named)
    labels = None if dataset.labels is None else dataset.labels[chosen]
    named = Axes(axes.rows, axes.columns.take(chosen))
    return replace(dataset, data=dataset.data[:, chosen], labels=labels, axes=named)


@STEPS.register
class CropPicture(Step):
    """Pixels of a window, in every sample or, where the samples are the pixels of one picture, in that."""

    name = "crop-picture"
    title = "Crop pictures"
    summary = "Keep a window of every picture, or of the picture whose pixels are the samples."

    top: int = param("integer", 1, low=1, help="first line of pixels")
    left: int = param("integer", 1, low=1, help="first pixel of a line")
    height: int = param("integer", 16, low=1, help="lines")
    width: int = param("integer", 16, low=1, help="pixels in a line")

    def apply(self, dataset: Dataset) -> Dataset:
        shape, side = _picture(dataset)
        numbers = np.arange(shape[0] * shape[1]).reshape(shape)
        window = numbers[self.top - 1 : self.top - 1 + self.height, self.left - 1 : self.left - 1 + self.width]
        if window.shape != (self.height, self.width):
            raise InvalidInput("height", f"the window does not lie in a picture of {shape[0]} × {shape[1]} pixels", whole=True)
        return _with_picture(_taken(dataset, side, window.ravel()), side, (self.height, self.width))


def _picture(dataset: Dataset) -> tuple[tuple[int, int], str]:
    """The picture whose pixels are the rows, or the columns."""
    if dataset.image_shape is not None:
        return dataset.image_shape, "rows"
    if dataset.axes.map_shape is not None:
        return dataset.axes.map_shape, "columns"
    raise InvalidInput(
        "picture", "neither the samples are pictures nor are they the pixels of one", "say so when the file is read", whole=True
    )


def _with_picture(dataset: Dataset, side: str, shape: tuple[int, int]) -> Dataset:
    if side == "rows":
        return replace(dataset, image_shape=shape)
    return replace(dataset, axes=replace(dataset.axes, map_shape=shape))


@STEPS.register
class Bin(Step):
    """Means of neighbours: `size` of them in a row, or squares of `size` × `size` pixels. Missing entries do not count."""

    name = "bin"
    title = "Bin"
    summary = "The mean of neighbouring rows, samples or pixels: a smaller, less noisy matrix."

    size: int = param("integer", 2, low=2, help="neighbours that become one")
    side: str = param("choice", "rows", choices=(*SIDES, "pixels"), help="what is put together")

    def apply(self, dataset: Dataset) -> Dataset:
        if self.side != "pixels":
            count = dataset.shape[SIDES.index(self.side)]
            return self._joined(dataset, self.side, np.arange(count) // self.size)
        shape, side = _picture(dataset)
        height, width = (-(-s // self.size) for s in shape)
        lines, across = (np.arange(s) // self.size for s in shape)
        return _with_picture(self._joined(dataset, side, (lines[:, None] * width + across).ravel()), side, (height, width))

    def _joined(self, dataset: Dataset, side: str, target: Array) -> Dataset:
        """Entry i of the rows or columns goes into the mean number target[i]."""
        sums = sparse.csr_array((np.ones(len(target)), (target, np.arange(len(target)))))
        old, axes = getattr(dataset.axes, side), dataset.axes
        new = replace(old, names=_joined_names(old, target), values=None if old.values is None else _means(sums, old.values))
        if side == "rows":
            return replace(
                dataset, data=_means(sums, dataset.data), image_shape=None, axes=Axes(new, axes.columns, axes.map_shape)
            )
        data = _means(sums, dataset.data.T).T
        return replace(dataset, data=data, labels=None, axes=Axes(axes.rows, new))


def _means(sums: Any, values: Any) -> Any:
    """Means over the rows that `sums` adds up, of those that are there."""
    if sparse.issparse(values):
        return sparse.csc_array(sparse.diags_array(1 / sums.sum(axis=1)) @ sums @ values)
    there = np.isfinite(values)
    counts = sums @ there if not there.all() else sums.sum(axis=1).reshape(-1, *[1] * (values.ndim - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((sums @ np.where(there, values, 0)) / counts, dtype=values.dtype)


def _joined_names(axis: Axis, target: Array) -> tuple[str, ...] | None:
    """The first and the last name of each bin."""
    if axis.names is None:
        return None
    groups: dict[int, list[str]] = {}
    for name, k in zip(axis.names, target.tolist(), strict=True):
        groups.setdefault(k, []).append(name)
    return tuple(names[0] if len(names) == 1 else f"{names[0]}…{names[-1]}" for _, names in sorted(groups.items()))


# -- numbers -----------------------------------------------------------------------------------


@STEPS.register
class Normalise(Step):
    """Every sample divided by its norm; a sample of zeros stays as it is."""

    name = "normalise"
    title = "Normalise samples"
    summary = "Every sample divided by its ℓ2 norm, its sum of moduli, or its largest entry."

    norm: str = param("choice", "unit", choices=("unit", "sum", "max"), help="unit: the ℓ2 norm")

    def apply(self, dataset: Dataset) -> Dataset:
        factors = scales(dataset.data, "unit") if self.norm == "unit" else _column_sizes(dataset.data, self.norm)
        return replace(dataset, data=divided(dataset.data, factors, dataset.data))


def _column_sizes(data: Any, norm: str) -> Array:
    """Sum or maximum of the moduli in each column, 1 where it is zero."""
    if sparse.issparse(data):
        moduli = abs(data)
        found = moduli.sum(axis=0) if norm == "sum" else moduli.max(axis=0).toarray().ravel()
    else:
        found = np.zeros(data.shape[1])
        for rows in row_blocks(*data.shape):
            block = np.abs(np.nan_to_num(data[rows], nan=0.0))
            found = found + block.sum(axis=0) if norm == "sum" else np.maximum(found, block.max(axis=0))
    found = np.asarray(found, dtype=float)
    return np.where(found > 0, found, 1.0)


@STEPS.register
class Log1p(Step):
    """log(1 + M): counts that span many orders of magnitude come closer together; zeros stay zeros."""

    name = "log1p"
    title = "log(1 + x)"
    summary = "The logarithm of one plus each entry, for counts; zeros stay zeros."

    def apply(self, dataset: Dataset) -> Dataset:
        return _changed(dataset, _log1p)


def _log1p(values: Array) -> Array:
    if np.nanmin(values, initial=0.0) <= -1:
        raise InvalidInput("data", "an entry is −1 or less, which has no logarithm", "subtract the minimum first", whole=True)
    return np.log1p(values)


@STEPS.register
class TfIdf(Step):
    """Counts of terms (rows) in documents (samples) times log((1+n)/(1+d)) + 1 for a term in d of n documents."""

    name = "tfidf"
    title = "tf-idf"
    summary = (
        "Counts of words weighted by how few documents have the word, as scikit-learn does it; normalise samples afterwards."
    )

    def apply(self, dataset: Dataset) -> Dataset:
        data, (m, n) = dataset.data, dataset.shape
        if sparse.issparse(data):
            if data.data.min(initial=0.0) < 0:
                raise InvalidInput("data", "a count is negative; tf-idf is for counts", whole=True)
            weights = self.weights(np.bincount(data.indices, minlength=m), n)
            return replace(dataset, data=sparse.csc_array(sparse.diags_array(weights) @ data))
        out = np.empty(data.shape, data.dtype)
        for rows in row_blocks(m, n):
            block = data[rows]
            if np.nanmin(block, initial=0.0) < 0:
                raise InvalidInput("data", "a count is negative; tf-idf is for counts", whole=True)
            out[rows] = block * self.weights((np.nan_to_num(block) > 0).sum(axis=1), n)[:, None]
        return replace(dataset, data=out)

    @staticmethod
    def weights(holders: Array, documents: int) -> Array:
        """Of terms that so many of the documents hold."""
        return np.log((1 + documents) / (1 + holders)) + 1


@STEPS.register
class SubtractMinimum(Step):
    """The smallest entry becomes zero: of the whole matrix, of each sample (a baseline), or of each row."""

    name = "subtract-minimum"
    title = "Subtract the minimum"
    summary = "The smallest entry of the whole matrix, of each sample or of each row becomes zero."

    of: str = param("choice", "matrix", choices=("matrix", "samples", "rows"), help="whose minimum")

    def apply(self, dataset: Dataset) -> Dataset:
        data = dataset.data
        if sparse.issparse(data):
            if data.data.min(initial=0.0) < 0 or data.nnz == data.shape[0] * data.shape[1]:
                raise InvalidInput("data", "a sparse matrix would become dense", "store it as a dense one first", whole=True)
            return dataset  # the zeros that are not stored are the minimum
        out = np.empty(data.shape, data.dtype)
        lows = np.full(data.shape[1], np.inf)
        for rows in row_blocks(*data.shape):
            lows = np.fmin(lows, np.fmin.reduce(data[rows], axis=0))
        low = np.nan_to_num(lows, posinf=0.0) if self.of == "samples" else np.fmin.reduce(lows)
        for rows in row_blocks(*data.shape):
            block = data[rows]
            out[rows] = block - (np.fmin.reduce(block, axis=1)[:, None] if self.of == "rows" else low)
        return replace(dataset, data=out)
