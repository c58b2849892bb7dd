"""A first model for given data: what the data itself suggests, with the reason, and the presets made for such data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from semf_core.common.notation import number
from semf_core.datasets import Dataset, DatasetSource
from semf_core.datasets.summary import Facts, Spectrum
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.model.variants import title_of
from semf_core.sets import Nonnegative, Sparse, StructureSet
from semf_core.solvers import DEFAULT, Limits

SHARE = 0.9
"""Of what varies around the leading component, so much is to be explained."""
FEWEST, MOST = 2, 30
SMALL_RANK = 40
"""Data of at most this rank is taken at its word: as many components as its rank."""
GAP = 1.6
"""A singular value that is so many times the next one ends what is more than noise."""
EDGE = 100
"""Among the smaller half of all singular values, a gap is so large: the last ones of noise fall by themselves."""
END = 10
"""The last singular value of data of small rank is so many times what follows, which is rounding."""
SMALLEST = 1e-3
"""Of the largest singular value: gaps among smaller ones are of rounding in the file."""
POISSON = 1.1
"""Noise of counts below this level is that of counting alone, and what stands out of it is surer than a gap."""
ITERATIONS, FEWEST_ITERATIONS = 1000, 50
WORK, SPARSE_COST = 6e10, 3
"""Entries times components times iterations: about half a minute of one core; a sparse entry costs as three dense ones."""
PART = 4
"""A sparse part has one row in so many, a sample one component in so many."""
UNKNOWN = 10
"""Components where nothing is known of the singular values."""


@dataclass(frozen=True)
class Proposal:
    """A model for some data, and why it is that one."""

    spec: ModelSpec
    why: str


def propose(source: DatasetSource, dataset: Dataset, found: Facts, values: Spectrum) -> Proposal:
    """Nonnegative factors where the data is nonnegative, and a rank from the singular values; nothing of another model."""
    rank, because = _rank(values, dataset.shape)
    sets: tuple[StructureSet, ...] = (Nonnegative(),) if found.low >= 0 else ()
    sign = "no entry is negative, so X and Y are nonnegative" if sets else "it has negative entries, so no sign is imposed"
    iterations = _iterations(dataset, rank)
    spec = ModelSpec(source, rank, sets, sets, limits=Limits(max_iter=iterations))
    short = f" The data are large, so it ends after {iterations} iterations: go on from there if the curve still falls."
    why = f"Proposed for this data: {sign}; rank {rank}, because {because}.{short if iterations < ITERATIONS else ''}"
    return Proposal(replace(spec, title=title_of(spec, dataset.title)), why)


def _iterations(dataset: Dataset, rank: int) -> int:
    """As many iterations as a visitor waits for."""
    m, n = dataset.shape
    entries = m * n if isinstance(dataset.data, np.ndarray) else SPARSE_COST * dataset.data.nnz
    return int(np.clip(WORK / (entries * rank), FEWEST_ITERATIONS, ITERATIONS))


def _rank(values: Spectrum, shape: tuple[int, int]) -> tuple[int, str]:
    """How many components, and the reason."""
    if not len(values.values):
        return min(UNKNOWN, *shape), "the matrix is too large for its singular values, so this is a mere start"
    exact = values.complete and not values.noise_level and _ends(values)  # of noise, the last values are equal samples
    if exact and FEWEST <= values.rank <= SMALL_RANK and values.rank < min(shape):
        return values.rank, f"the data has exactly {values.rank} singular values above rounding"
    gap, above = _gap(values), values.above_noise
    if FEWEST <= above <= MOST and (gap is None or values.noise_level < POISSON):
        return above, f"{above} singular values stand out of the noise that counting makes"
    if gap is not None:
        fall = values.values[gap - 1] / values.values[gap]
        return gap, f"the singular values fall by a factor of {number(fall, 2)} after number {gap}"
    if values.noise_level and above < FEWEST:
        return min(UNKNOWN, *shape), "nothing stands out of the noise that counting makes, so this is a mere start"
    if len(values.values) < min(shape) and not values.complete:
        return min(UNKNOWN, *shape), f"the {len(values.values)} leading singular values show no gap, so this is a mere start"
    energy = np.square(values.values)
    rest = energy[1:] if len(energy) > 1 else energy
    total = float(rest.sum())
    if total <= 0:
        return 1, "one singular value is all there is"
    reached = 1 + int(np.searchsorted(np.cumsum(rest) / total, SHARE)) + 1
    rank = max(FEWEST, min(MOST, reached, *shape))
    if rank < reached:
        return rank, f"its singular values fall slowly, and {rank} components are as many as can be looked at"
    return rank, f"{rank} singular values hold {100 * SHARE:.0f} % of what varies around the first"


def _ends(values: Spectrum) -> bool:
    """Whether the singular values end at the rank, instead of sinking into the rounding of single precision."""
    rest = values.values[values.rank :]
    return not len(rest) or rest[0] < values.values[values.rank - 1] / END


def _gap(values: Spectrum) -> int | None:
    """How many singular values stand before the last clear gap; None where there is none."""
    sigma = values.values
    ahead, behind = sigma[FEWEST - 1 : MOST], sigma[FEWEST : MOST + 1]
    ratios = ahead[: len(behind)] / np.maximum(behind, 1e-300)
    smaller = values.complete & (2 * (FEWEST + np.arange(len(ratios))) > len(sigma))
    clear = np.flatnonzero((ratios >= np.where(smaller, EDGE, GAP)) & (ahead[: len(behind)] >= SMALLEST * sigma[0]))
    return FEWEST + int(clear[-1]) if len(clear) else None


def keeps_to(model: ModelSpec, source: DatasetSource) -> ModelSpec:
    """The visitor's own model on other data: rank, constraints and algorithm stay; its title spoke of the old data."""
    return replace(model, dataset=source, title="", watch="")


def ready_models(model: ModelSpec, shape: tuple[int, int]) -> dict[str, ModelSpec]:
    """Models to begin with on data that no preset was made for, by name: rank, signs and limits are those of the given one."""
    sign: tuple[StructureSet, ...] = (Nonnegative(),) if Nonnegative() in model.x and Nonnegative() in model.y else ()
    plain = replace(model, x=sign, y=sign, solver=DEFAULT(), title="", watch="")
    rows, few = shape[0] // PART, max(2, model.rank // PART)
    made = {"Nonnegative parts" if sign else "No constraint": plain}
    if rows:
        made[f"Sparse parts: {rows} entries each"] = replace(plain, x=(*sign, Sparse(rows)))
    if few < model.rank:
        made[f"At most {few} parts a sample"] = replace(plain, y=(*sign, Sparse(few)))
    if model.rank > 1:
        made["One part a sample: clusters"] = replace(plain, y=(*sign, Sparse(1)))
    return made


def presets_for(source: DatasetSource) -> list[str]:
    """Names of the presets that were made for this data set."""
    return [name for name in preset_names() if type(preset(name).dataset) is type(source)]
