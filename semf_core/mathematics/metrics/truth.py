"""How far a factor agrees with true parts, or with another factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from semf_core.mathematics.metrics.sparsity import cosines

Array = np.ndarray
Groups = Sequence[Sequence[int]]
FOUND = 0.99
"""|cosine| above which a column counts as a true part."""
CLEAN = 1
"""Per cent of a component beside its true part that cannot be seen in a picture, whose scale is that of square roots."""
VANISHED = 1e-5
"""A component of at most this share of the largest one's weight is not seen in UV: it explains 10⁻¹⁰ of what that does."""


def atom_distances(D: Array, learned: Array) -> Array:
    """How far every true atom is from the nearest learned one: min_i (1 − |d_jᵀ d̃_i|) (SeMF eq. 27).

    Parameters
    ----------
    D : array
        The dictionary that generated the data, an atom in each column.
    learned : array
        The dictionary that was found.

    Returns
    -------
    array
        One distance in [0, 1] for each atom of D; signs and lengths do not count.

    Examples
    --------
    >>> atom_distances(np.eye(2), np.array([[-2.0], [0.0]]))
    array([0., 1.])
    """
    if learned.shape[1] == 0:
        return np.ones(D.shape[1])
    return np.maximum(0.0, 1 - np.abs(cosines(D, learned)).max(axis=1))


def dictionary_distance(D: Array, learned: Array) -> float:
    """The mean of the atoms' distances (SeMF eq. 28).

    Parameters
    ----------
    D, learned : array
        The dictionary that generated the data, and the one that was found.

    Returns
    -------
    float
        0 if every atom was found.

    Examples
    --------
    >>> dictionary_distance(np.eye(2), np.array([[-2.0], [0.0]]))
    0.5
    """
    return float(atom_distances(D, learned).mean())


def recovered_atoms(D: Array, learned: Array, tolerance: float = 0.01) -> int:
    """How many true atoms were found (SeMF §4.2, as in K-SVD).

    Parameters
    ----------
    D, learned : array
        The dictionary that generated the data, and the one that was found.
    tolerance : float
        The largest distance at which an atom counts as found.

    Returns
    -------
    int
        Their number.

    Examples
    --------
    >>> recovered_atoms(np.eye(2), np.array([[-2.0], [0.0]]))
    1
    """
    return int((atom_distances(D, learned) <= tolerance).sum())


@dataclass(frozen=True)
class Matching:
    """For every true part the column that was matched to it.

    Attributes
    ----------
    columns : array of int
        The column; −1 where none was left.
    cosines : array
        Their cosine, with its sign.
    """

    columns: Array
    cosines: Array

    @property
    def beside(self) -> tuple[int, ...]:
        """How much of each column is something else than its part, in per cent of its length."""
        return tuple(beside(float(cosine)) for cosine in self.cosines)


def match_parts(U: Array, parts: Array) -> Matching:
    """The one-to-one matching of columns to parts that maximises Σ |cosine| (Hungarian method).

    Absolute values, because a factorization determines a part only up to its sign.

    Parameters
    ----------
    U : array
        What was found, a component in each column.
    parts : array
        The true parts, one in each column.

    Returns
    -------
    Matching
        For every part its column and their cosine.

    Examples
    --------
    >>> match_parts(np.array([[0.0, -2.0], [3.0, 0.0]]), np.eye(2))
    Matching(columns=array([1, 0]), cosines=array([-1.,  1.]))
    """
    similarity = cosines(parts, U)
    rows, chosen = scipy.optimize.linear_sum_assignment(np.abs(similarity), maximize=True)
    columns = np.full(parts.shape[1], -1)
    columns[rows] = chosen
    matched = np.zeros(parts.shape[1])
    matched[rows] = similarity[rows, chosen]
    return Matching(columns, matched)


def agreement(A: Array, B: Array) -> float:
    """How far two factorizations have the same components: the mean |cosine| under the best one-to-one matching.

    Parameters
    ----------
    A, B : array
        Components in columns.

    Returns
    -------
    float
        1 for the same components in any order, with any sign and length.

    Examples
    --------
    >>> agreement(np.array([[0.0, -2.0], [3.0, 0.0]]), np.eye(2))
    1.0
    """
    return float(np.abs(match_parts(B, A).cosines).mean())


def without_vanished(U: Array, V: Array) -> Array:
    """U with zeros in place of components that have vanished from UV: the remains of one may look like a part.

    Parameters
    ----------
    U, V : array
        The factors.

    Returns
    -------
    array
        U itself where no component has vanished.

    Examples
    --------
    >>> without_vanished(np.eye(2), np.array([[1.0, 2.0], [1e-9, 0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    with np.errstate(invalid="ignore"):  # a run that diverged
        across, along = (F / (np.abs(F).max(initial=0.0) or 1.0) for F in (U, V))  # squares neither overflow nor vanish
    weights = np.linalg.norm(across, axis=0) * np.linalg.norm(along, axis=1)
    vanished = weights <= VANISHED * weights.max(initial=0.0)
    return np.where(vanished, 0, U) if vanished.any() else U


def beside(cosine: float) -> int:
    """How much of a component is something else than what it has this cosine with.

    Parameters
    ----------
    cosine : float
        Of the component and its part.

    Returns
    -------
    int
        √(1 − cosine²), in per cent of the component's length.

    Examples
    --------
    >>> from semf_core.mathematics.metrics import beside
    >>> beside(1.0), beside(-0.995)
    (0, 10)
    """
    return round(100 * math.sqrt(max(0.0, 1 - cosine * cosine)))


def parts_found(U: Array, parts: Array, threshold: float = FOUND) -> int:
    """How many true parts have a column of their own.

    Parameters
    ----------
    U : array
        What was found, a component in each column.
    parts : array
        The true parts, one in each column.
    threshold : float
        |cosine| above which a column counts as the part.

    Returns
    -------
    int
        Their number.

    Examples
    --------
    >>> parts_found(np.array([[0.0, 1.0], [3.0, 1.0]]), np.eye(2))
    1
    """
    return int((np.abs(match_parts(U, parts).cosines) > threshold).sum())


def ghosts(U: Array, parts: Array, threshold: float = 0.1) -> int:
    """How many parts come with a shadow of another one.

    The column that was matched to such a part has, on the pixels of another part, a mean |u| above a tenth of that on
    its own. For parts without a pixel of their own (dense atoms) there is no such thing.

    Parameters
    ----------
    U : array
        What was found, a component in each column.
    parts : array
        The true parts, one in each column.
    threshold : float
        The share of the mean on its own pixels that makes a shadow.

    Returns
    -------
    int
        Their number.

    Examples
    --------
    >>> ghosts(np.array([[1.0, 0.0], [0.5, 1.0]]), np.eye(2))
    1
    """
    supports = parts != 0
    found = 0
    for part, column in enumerate(match_parts(U, parts).columns):
        if column < 0:
            continue
        u, own = np.abs(U[:, column]), supports[:, part]
        elsewhere = supports & ~own[:, None]
        means = (u @ elsewhere) / np.maximum(1, elsewhere.sum(axis=0))
        found += bool(means.max() > threshold * u[own].mean())
    return found


def groups_correct(U: Array, parts: Array, truth_groups: Groups, model_groups: Groups, threshold: float = FOUND) -> int:
    """How many of the model's groups of columns hold exactly the parts of one true group (SeMF §4.4, "exact order").

    Every column of such a group has |cosine| above the threshold with its part, no part of the true
    group is elsewhere and no part of another is inside. All of `len(truth_groups)` is success.

    Parameters
    ----------
    U : array
        What was found, a component in each column.
    parts : array
        The true parts, one in each column.
    truth_groups, model_groups : sequence of sequences of int
        A partition of the parts, and one of the columns of U.
    threshold : float
        |cosine| above which a column counts as the part.

    Returns
    -------
    int
        Their number.

    Examples
    --------
    >>> groups_correct(np.eye(4), np.eye(4), [[0, 1], [2, 3]], [[1, 0], [2, 3]])
    2
    >>> groups_correct(np.eye(4), np.eye(4), [[0, 1], [2, 3]], [[0, 2], [1, 3]])
    0
    """
    matching = match_parts(U, parts)
    found = np.abs(matching.cosines) > threshold
    part_of = {int(column): part for part, column in enumerate(matching.columns) if found[part]}
    wanted = {frozenset(group) for group in truth_groups}
    return sum(frozenset(part_of.get(column, -1) for column in group) in wanted for group in model_groups)
