"""States, cases and counts of a run, in words."""

from __future__ import annotations

from typing import Any

from semf_core.solvers.base import Case

LIVE = frozenset({"queued", "running", "paused"})
"""States that may still change by themselves: a view of any other run asks for nothing."""

CASES: dict[int, str] = {
    Case.SKIP: "Skip: ‖M−UV‖ fell enough, penalties stay",
    Case.NEAR_FEASIBLE: "Case 1: nearly feasible, α and β reduced",
    Case.X_STALLED: "Case 2a: X stalls, α raised",
    Case.Y_STALLED: "Case 2b: Y stalls, β raised",
    Case.BOTH_STALLED: "Cases 2a+2b: both stall, α and β raised",
    Case.FIDELITY_STALLED: "Case 3a: fit stalls, α and β reduced",
    Case.BOTH_IMPROVE: "Case 3b: both improve, α and β raised",
}


def state_words(status: Any) -> str:
    """What a run is doing, as one short sentence."""
    if status.state == "queued":
        place = status.queue_position
        return f"Queued, number {place} in line" if place else "Queued, starting"
    if status.state == "running":
        rate = status.iterations_per_second
        return f"Running, {rate:,.0f} iterations a second" if rate else "Running"
    if status.state == "paused":
        return "Paused"
    if status.state == "finished":
        return f"Finished: {status.message}" if status.message else "Finished"
    if status.state == "stopped":
        return "Stopped"
    if status.state == "interrupted":
        return f"Interrupted: {status.message or 'the server was restarted'}"
    return f"Failed: {status.message or 'the worker ended unexpectedly'}"


def truth_words(scores: dict[str, Any]) -> list[dict[str, Any]]:
    """Badges: what agrees with the ground truth, and whether all of it does."""
    badges = []
    for found, total, text in (("parts_found", "parts_total", "parts found"), ("groups_correct", "groups_total", "groups right")):
        if scores.get(found) is not None and scores.get(total):
            badges.append({"text": f"{scores[found]} of {scores[total]} {text}", "done": scores[found] == scores[total]})
    return badges
