"""Running a stored model again: bit for bit here, within the tolerance elsewhere, and in words where it cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.runs.edits import Edit
from semf_core.runs.folder import RunFolder
from semf_core.runs.session import Session
from semf_core.sets import Nonnegative, Sparse
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.reproduce import TOLERANCE, reproduce
from semf_core.solvers import COLUMNS, Limits
from tests.runs.common import tiny
from tests.snapshots.conftest import CREATED


def test_a_recorded_run_is_reproduced_bit_for_bit(content, dataset):
    found = reproduce(content, dataset)
    assert found.exact and found.reproduced and found.same_platform and found.largest == 0
    assert found.iterations == len(content.history) and "bit for bit" in found.sentence()


def edited(folder, edits):
    """A run that was changed in the middle, twenty iterations apart, and has then finished."""
    spec = tiny(max_iter=200)
    folder.write_spec(spec)
    session = Session(folder, 0, fresh=True)
    for number, edit in enumerate(edits, 1):
        session.go(20)
        session.work(lambda: False)
        session.pause()
        text, spec = edit.sentence(spec), edit.applied(spec)
        folder.write_numbers(edit.numbers(), number)
        folder.write_spec(spec, number)
        session.edit(number, edit.numbers(), text)
    session.go(None)
    session.work(lambda: False)
    session.finish()
    session.close()
    return from_run(folder, session.dataset, Label(), Story(CREATED)), session.dataset


EDITS = (
    Edit(alpha=3.0),
    Edit(y=(Sparse(1),), x=(Nonnegative(),)),
    Edit(limits=Limits(max_iter=30, tol=0, target=0, polish=2)),
)


def test_edits_in_the_middle_are_replayed(tmp_path):
    content, dataset = edited(RunFolder(tmp_path), EDITS)
    assert len(content.revisions) == 4 and any(e.kind == "polish" for e in content.events)
    assert reproduce(content, dataset).exact
    forgetful = tuple(replace(e, numbers=None) for e in content.revisions)
    with pytest.raises(InvalidInput, match="cannot be replayed"):
        reproduce(replace(content, revisions=forgetful), dataset)


def test_a_fork_starts_from_its_factors(tmp_path, dataset, spec):
    rng = np.random.default_rng(0)
    folder = RunFolder(tmp_path)
    folder.write_spec(spec)
    np.savez(folder.start_factors, X=rng.random((8, 5)), Y=rng.random((5, 30)))
    session = Session(folder, 0, fresh=True)
    session.go(None)
    session.work(lambda: False)
    session.finish()
    session.close()
    content = from_run(folder, dataset, Label(), Story(CREATED))
    assert content.start is not None and reproduce(content, dataset).exact


def test_a_history_that_was_changed_is_found_out(content, dataset):
    table = content.history.copy()
    table[9:, COLUMNS.index("residual_uv")] *= 0.9
    found = reproduce(replace(content, history=table), dataset)
    assert not found.reproduced and found.first_difference == 10 and found.largest > TOLERANCE
    assert "Not reproduced" in found.sentence() and "10" in found.sentence()


def test_factors_that_were_changed_are_found_out(content, dataset):
    factors = dict(content.result.factors) | {"U": content.result.factors["U"] * 2}
    found = reproduce(replace(content, result=replace(content.result, factors=factors)), dataset)
    assert not found.reproduced and "factors" in found.sentence()


def test_rounding_is_forgiven_on_another_platform_only(content, dataset):
    table = content.history.copy()
    table[:, COLUMNS.index("residual_uv")] *= 1 + 1e-9
    nearly = replace(content, history=table)
    assert not reproduce(nearly, dataset).reproduced
    elsewhere = replace(nearly, versions=dict(content.versions) | {"blas": "another"})
    found = reproduce(elsewhere, dataset)
    assert found.reproduced and not found.exact and "another platform" in found.sentence()


def test_a_history_that_goes_on_too_long(content, dataset):
    longer = np.concatenate((content.history, content.history[-1:]))
    found = reproduce(replace(content, history=longer, iterations=len(longer)), dataset)
    assert not found.reproduced and "ends after" in found.sentence()


def test_other_data_is_refused(content, dataset):
    with pytest.raises(InvalidInput, match="fingerprint"):
        reproduce(content, replace(dataset, data=dataset.data + 1))
