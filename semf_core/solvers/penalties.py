"""How the penalties α and β follow the iteration: Algorithm 2, and two simpler rules."""

from __future__ import annotations

import numpy as np

from semf_core.solvers.base import Case

QUANTITIES = 4
"""‖M−UV‖, ‖M−XY‖, ‖X−U‖, ‖Y−V‖, in this order."""

CASE_WORDS: dict[int, str] = {
    Case.SKIP: "Skip: ‖M−UV‖ fell enough, penalties stay",
    Case.NEAR_FEASIBLE: "Case 1: nearly feasible, α and β reduced",
    Case.X_STALLED: "Case 2a: X stalls, α raised",
    Case.Y_STALLED: "Case 2b: Y stalls, β raised",
    Case.BOTH_STALLED: "Cases 2a+2b: both stall, α and β raised",
    Case.FIDELITY_STALLED: "Case 3a: fit stalls, α and β reduced",
    Case.BOTH_IMPROVE: "Case 3b: both improve, α and β raised",
}
"""What each decision means and does."""


def decide(now: np.ndarray, before: np.ndarray, epsilon: float) -> Case:
    """Algorithm 2's decision from the means of the last q iterations and of the q before."""
    uv, xy, gap_x, gap_y = now
    if uv < (1 - epsilon) * before[0]:  # (10)
        return Case.SKIP
    if abs(uv - xy) <= epsilon * xy:  # (11)
        return Case.NEAR_FEASIBLE
    stalled_x, stalled_y = gap_x >= before[2], gap_y >= before[3]  # (12)
    if stalled_x and stalled_y:
        return Case.BOTH_STALLED
    if stalled_x:
        return Case.X_STALLED
    if stalled_y:
        return Case.Y_STALLED
    return Case.FIDELITY_STALLED if xy >= (1 - epsilon) * before[1] else Case.BOTH_IMPROVE  # (13)


def factors(case: Case, mu: float, nu: float) -> tuple[float, float]:
    """What α and β are multiplied by in each case of Algorithm 2."""
    if case in (Case.NEAR_FEASIBLE, Case.FIDELITY_STALLED):
        return 1 / nu, 1 / nu
    if case in (Case.BOTH_STALLED, Case.BOTH_IMPROVE):
        return mu, mu
    if case == Case.X_STALLED:
        return mu, 1.0
    if case == Case.Y_STALLED:
        return 1.0, mu
    return 1.0, 1.0
