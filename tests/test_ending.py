"""How a run ended: a sentence that is true, that says what to do, and that is the same wherever it is read."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from semf_core import factorize
from semf_core.command_line.cli import main
from semf_core.factorization.ending import LEAST, MOST, PenaltyAtBound, ending, finish_of
from semf_core.factorization.problem import make_problem
from semf_core.model import ModelSpec
from semf_core.model.sweeps import with_value
from semf_core.runs.folder import RunFolder
from semf_core.runs.outcome import read_ending
from semf_core.sets import Nonnegative, Simplex, Sparse
from semf_core.snapshots.recording import record
from semf_core.solvers import Limits, RelativeADMM, Run

RNG = np.random.default_rng(0)
PLANTED = RNG.random((20, 3)) @ RNG.random((3, 30))
NOISY = RNG.random((20, 30))
BOTH = {"X": Nonnegative(), "Y": Nonnegative()}
CASES: dict[str, tuple[np.ndarray, int, dict[str, Any], str, list[str]]] = {
    "solved": (PLANTED, 3, BOTH, "Settled: ", []),
    "one iteration": (NOISY, 3, BOTH | {"max_iter": 1}, "Stopped at the limit of 1 iteration, too soon", ["100 iterations"]),
    "too few": (NOISY, 3, BOTH | {"max_iter": 4}, "Still falling at the limit of 4 iterations: ", ["100 iterations"]),
    "rank too small": (PLANTED, 1, BOTH, "No factors of rank 1 come nearer, ", ["rank 2"]),
    "wrong signs": (-PLANTED, 2, BOTH, "Every component is zero: ", []),
    "no data": (np.zeros((6, 8)), 2, BOTH, "All of M is zero", []),
    "sets too tight": (
        NOISY,
        4,
        {"X": (Nonnegative(), Sparse(1)), "Y": (Nonnegative(), Sparse(1))},
        "Stuck well above",
        ["5 starts"],
    ),
    "sizes that do not fit": (50 * PLANTED, 2, {"X": Simplex(), "Y": Simplex()}, "Both factors are bound in size", []),
    "as printed, early": (NOISY, 3, BOTH | {"solver": "semf", "max_iter": 4}, "Still falling", ["100 iterations"]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_sentence_can_be_acted_on(name: str) -> None:
    M, rank, options, words, tries = CASES[name]
    found = factorize(M, rank, **options).ending
    assert words in found.text
    assert set(tries) <= {suggestion.title for suggestion in found.suggestions}
    assert "Stuck" not in found.text or "Still falling" not in found.text
    for suggestion in found.suggestions:
        assert 1 <= suggestion.changes.get("rank", 1) <= min(M.shape)


def test_a_search_that_runs_away_ends_with_the_best_that_the_sets_allow() -> None:
    result = factorize(50 * PLANTED, 2, Simplex(), Simplex())
    assert result.stop_reason == "converged" and np.isfinite(result.history.residual_xy).all()
    assert any("run away" in event.text for event in result.events) and result.certificate.feasible


def test_after_a_change_the_sentence_is_of_the_iterations_since() -> None:
    problem = make_problem(NOISY, 3, (Nonnegative(),), (Nonnegative(),))
    run = Run(problem, RelativeADMM(), Limits(max_iter=30, tol=0)).finish()
    assert ending(finish_of(run, *run.factors()[:2])).text.startswith("Settled within the 30 iterations: ")
    tighter = make_problem(NOISY, 3, (Nonnegative(), Sparse(8)), (Nonnegative(),))
    run.edit(tighter, RelativeADMM(), Limits(max_iter=6, tol=0), {}, "sparser")
    text = ending(finish_of(run.finish(), *run.factors()[:2])).text
    assert text.startswith("Still falling at the limit of 6 iterations since iteration 30: ") and "in the last 3;" in text


@pytest.mark.parametrize(("c", "low"), [(LEAST, True), (MOST, False)])
def test_penalties_at_their_bounds_are_told_once_with_a_start_to_try(c: float, low: bool) -> None:
    run = Run(make_problem(NOISY, 3, (Nonnegative(), Sparse(5)), (Nonnegative(),)), RelativeADMM(), Limits(max_iter=5)).finish()
    run.state.numbers.update(alpha=c, size_y=1.0, beta=c, size_x=1.0)
    finish = finish_of(run, *run.factors()[:2])
    assert finish.penalties == (PenaltyAtBound("α", low), PenaltyAtBound("β", low))
    found = ending(finish)
    assert f"β ended at its {'lower' if low else 'upper'} bound" in found.text
    starts = [s.changes["solver.scale"] for s in found.suggestions if "solver.scale" in s.changes]
    assert len(starts) == 1 and LEAST < starts[0] < MOST


@pytest.mark.parametrize(("dead", "which"), [([1], "Component 2 died"), ([0, 2], "Components 1, 3 died")])
def test_components_that_died_are_named_with_a_rank_to_try(dead: list[int], which: str) -> None:
    run = Run(make_problem(NOISY, 4, (Nonnegative(),), (Nonnegative(),)), RelativeADMM(), Limits(max_iter=5)).finish()
    U, V, *_ = run.factors()
    U, V = U.copy(), V.copy()
    U[:, dead[:1]], V[dead[1:]] = 0, 0  # of no use without its partner
    found = ending(finish_of(run, U, V))
    assert which in found.text
    assert {"rank": 4 - len(dead)} in [suggestion.changes for suggestion in found.suggestions]


def test_everywhere_the_same_sentence(tmp_path, capsys) -> None:
    np.save(tmp_path / "m.npy", NOISY)
    arguments = ["--data", str(tmp_path / "m.npy"), "--rank", "3", "--x", "nonnegative", "--y", "nonnegative", "--max-iter", "4"]
    assert main(["run", *arguments, "--json", "--out", str(tmp_path / "f.npz")]) == 0
    printed = json.loads(capsys.readouterr().out)["ending"]
    assert main(["run", *arguments]) == 0
    assert printed in " ".join(capsys.readouterr().out.split())
    with np.load(tmp_path / "f.npz") as stored:
        spec = ModelSpec.from_json(str(stored["spec"]))
    (tmp_path / "run").mkdir()
    folder = RunFolder(tmp_path / "run")
    record(spec, folder)
    kept = read_ending(folder)
    result = factorize(NOISY, 3, BOTH["X"], BOTH["Y"], max_iter=4)
    assert printed == kept.text == result.ending.text and printed in repr(result)
    more = spec
    for path, value in kept.suggestions[0].changes.items():
        more = with_value(more, path, value)
    assert more.limits.max_iter == 100
