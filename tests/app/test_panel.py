"""The panel of the workbench: whatever is chosen becomes the spec, whatever is impossible becomes a sentence."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pages.ui import panel, params, proposal
from semf_core.datasets import Dataset, SparseCodes
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.model.codegen import python_code
from semf_core.sets import SETS, Box, GroupSparse, Nonnegative, NormBall, Sparse, in_rounds
from semf_core.solvers import ADMM, SOLVERS
from tests.app.widgets import block_keys, errors, fill, is_ready, open_panel, spec_of
from tests.helpers import of, present

SMALL = SparseCodes(rows=6, atoms=4, samples=30, nonzeros=2)
"""X is 6×4, the shape that the examples of the sets are made for."""
BOTH = (Nonnegative(),)


def small(x=BOTH, y=BOTH) -> ModelSpec:
    return ModelSpec(SMALL, 4, x, y)


def test_opens_with_the_first_preset():
    page = open_panel()
    assert spec_of(page) == preset(preset_names()[0])
    assert not errors(page)
    formulas = [f.value for f in page.latex]
    assert any(r"\mathcal{X}" in f for f in formulas)
    assert any(r"\mathcal{Y}" in f for f in formulas)
    assert is_ready(page)


@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_every_set_is_built_by_its_generated_widgets(cls):
    page = open_panel(small(x=()))
    page.selectbox(key="add.X").set_value(cls.name).run()
    (key,) = block_keys(page, "X")
    fill(page, key, cls, cls.example)
    assert not errors(page)
    assert spec_of(page).x == (cls.from_params(cls.example),)
    assert page.selectbox(key="add.X").value is None


@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_every_set_starts_as_something_that_fits_a_factor(cls):
    page = open_panel(ModelSpec(preset("swimmer-groups").dataset, 17))
    page.selectbox(key="add.Y").set_value(cls.name).run()
    assert not errors(page)
    assert len(spec_of(page).y) == 1


@pytest.mark.parametrize("cls", list(SOLVERS), ids=lambda cls: cls.name)
def test_every_algorithm_can_be_chosen_and_put_back(cls):
    page = open_panel(small())
    before = spec_of(page)
    choice = present(next(s.key for s in page.selectbox if s.label == "Algorithm"))
    page.selectbox(key=choice).set_value(cls.name).run()
    assert not errors(page)
    assert spec_of(page).solver == cls()
    assert (spec_of(page).x, spec_of(page).y) == ((BOTH, BOTH) if cls.takes_sets else ((), ()))
    told = [*(m.value for m in page.markdown), next(s.help for s in page.selectbox if s.label == "Algorithm")]
    assert any(cls().objective() in text for text in told) and any(cls.enforces in text for text in told)
    page.selectbox(key=choice).set_value(before.solver.name).run()
    assert spec_of(page) == before


def test_a_rank_above_the_datas_size_is_remarked_on():
    page = open_panel(small())
    assert not any("more components than" in m.value for m in page.markdown)
    page.number_input(key="spec0.rank").set_value(7).run()
    assert any("than the data has rows (6)" in m.value for m in page.markdown)


def test_a_proposal_is_explained_as_long_as_the_model_is_the_proposed_one():
    page = open_panel(small())
    page.session_state[proposal.WHY] = (small(), "Proposed for this data: rank 4.")
    page.run()
    for rank, explained in ((4, True), (3, False), (4, True)):
        page.number_input(key="spec0.rank").set_value(rank).run()
        assert any("Proposed" in m.value for m in page.markdown) is explained


def test_scope_is_edited_like_everything_else():
    page = open_panel(small(x=(Sparse(k=2),)))
    (key,) = block_keys(page, "X")
    fill(page, key, Sparse, {"k": 3, "axis": "row", "columns": [0, 2]})
    assert spec_of(page).x == (Sparse(k=3, axis="row", columns=(0, 2)),)


def badges(page) -> list[str]:
    """Of X and of Y: how they are projected onto."""
    return [re.findall(r": (\w+) projection", m.value)[0] for m in page.markdown if "projection]" in m.value]


def test_projections_one_after_the_other_are_chosen_and_taken_back():
    page = open_panel(small(x=(Sparse(k=2), Nonnegative())))
    plain = spec_of(page)
    toggle = next(t for t in page.toggle if t.label == "X: one projection after the other")
    assert badges(page)[0] == "exact"
    toggle.set_value(True).run()
    assert badges(page)[0] == "approximate", "said at once"
    assert spec_of(page).x == in_rounds(plain.x, 1) and not errors(page)
    page.number_input(key=present(toggle.key).removesuffix(".on")).set_value(3).run()
    assert spec_of(page).x == in_rounds(plain.x, 3)
    key = block_keys(page, "X")[0]
    page.button(key=f"{key}.down").click().run()
    assert spec_of(page).x == in_rounds(plain.x[::-1], 3)
    page.toggle(key=present(toggle.key)).set_value(False).run()
    assert spec_of(page).x == plain.x[::-1]


@pytest.mark.parametrize(
    ("field", "typed", "sentence"),
    [
        ("k", 7, "at most 6 nonzeros fit"),
        ("k", 2.5, "must be a whole number, not 2.5"),
        ("columns", "1-10", "Columns names column 10, but there are only 4 (counted from 1)"),
        ("columns", "0-2", "must count from 1"),
        ("columns", "3-1", "goes down"),
        ("columns", "two", "cannot be read"),
        ("columns", "1+1", "twice"),
    ],
)
def test_what_cannot_be_is_rejected_in_words_and_the_spec_stays(field, typed, sentence):
    page = open_panel(small(x=(Sparse(k=2),)))
    before = spec_of(page)
    (key,) = block_keys(page, "X")
    widget: Any = page.number_input if field == "k" else page.text_input
    widget(key=f"{key}.{field}").set_value(typed).run()
    assert any(sentence in e for e in errors(page))
    assert spec_of(page) == before
    assert is_ready(page)
    widget(key=f"{key}.{field}").set_value(3 if field == "k" else "1").run()
    assert not errors(page)
    assert spec_of(page) != before


def test_a_model_of_uploaded_data_is_handed_on_without_their_id(service):
    mine = service.add_upload(Dataset(np.ones((6, 4))))
    page = open_panel(ModelSpec(mine, 2), panel.TEXT)
    (shown,) = [c.value for c in page.code if c.language == "json"]
    assert mine.id not in shown and "upload" in shown
    page.text_area(key=panel.PASTE).set_value(shown)
    page.button(key="paste.use").click().run()
    assert not errors(page) and spec_of(page).dataset == mine, "it is taken for the data in use"
    other = open_panel()
    other.text_area(key=panel.PASTE).set_value(shown)
    other.button(key="paste.use").click().run()
    assert any("choose your data on the Data page" in e for e in errors(other))


def test_a_pasted_text_without_end_is_refused():
    page = open_panel()
    page.text_area(key=panel.PASTE).set_value("[" + "0," * params.MOST_CHARACTERS)
    page.button(key="paste.use").click().run()
    assert any("more than 4 million characters" in e for e in errors(page))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1-4|4-6", "Groups overlap: index 4"),
        ("1-2", "leave out entry 3"),
        ("[[1, 2]]", "leave out entry 3"),
        ("", "is empty"),
        ("1-2|3-99", "name entry 99, but the vectors have 4 entries"),
        ("0-1|2-3", "must count from 1"),
        ("[[true]]", "whole number"),
        ("a|b", "cannot be read"),
        ("[[", "JSON"),
    ],
)
def test_groups_that_are_no_partition_are_refused(text, sentence):
    page = open_panel(small(y=(GroupSparse(groups=((0, 1), (2, 3))),)))
    before = spec_of(page)
    (key,) = block_keys(page, "Y")
    page.text_input(key=f"{key}.groups").set_value(text).run()
    assert any(sentence in e for e in errors(page)), errors(page)
    assert spec_of(page) == before


def test_two_values_that_only_fit_together_can_be_changed_one_after_the_other():
    page = open_panel(small(x=(Box(low=0, high=1),)))
    (key,) = block_keys(page, "X")
    page.number_input(key=f"{key}.low").set_value(2.0).run()
    assert any("above high" in e for e in errors(page))
    assert spec_of(page).x == (Box(low=0, high=1),)
    page.number_input(key=f"{key}.high").set_value(3.0).run()
    assert not errors(page)
    assert spec_of(page).x == (Box(low=2, high=3),)


def test_the_group_editor_cuts_blocks_and_knows_the_truth():
    page = open_panel(ModelSpec(preset("swimmer-groups").dataset, 17, (), (GroupSparse(groups=(tuple(range(17)),)),)))
    (key,) = block_keys(page, "Y")
    page.number_input(key=f"{key}.groups.size").set_value(5).run()
    page.button(key=f"{key}.groups.cut").click().run()
    assert [len(g) for g in of(GroupSparse, spec_of(page).y[0]).groups] == [5, 5, 5, 2]
    assert page.text_input(key=f"{key}.groups").value == "1-5|6-10|11-15|16-17"
    (drawn,) = [h.value for h in page.html if "Partition: 4 groups" in h.value]
    assert ">1<" in drawn and ">17<" in drawn and ">0<" not in drawn
    page.button(key=f"{key}.groups.known").click().run()
    assert spec_of(page).y == (preset("swimmer-groups").y[1],)


def test_a_new_rank_marks_what_no_longer_fits_and_loses_nothing():
    page = open_panel()
    page.number_input(key="spec0.rank").set_value(20).run()
    assert spec_of(page).rank == 20
    assert any("leave out entry 18" in e for e in errors(page))
    assert any(e.startswith("Rank 20 does not fit") and "of rank 17, stays" in e for e in errors(page)), "where it was typed"
    assert not is_ready(page)
    assert len(spec_of(page).y) == 2
    key = block_keys(page, "Y")[1]
    page.button(key=f"{key}.groups.cut").click().run()
    assert not errors(page)
    assert is_ready(page)


def test_what_is_wrong_in_a_scope_that_is_closed_is_said_at_its_block():
    page = open_panel(small(x=(Sparse(k=2, columns=(3,)),)))
    page.number_input(key="spec0.rank").set_value(2).run()
    said = [e for e in errors(page) if "names column 4, but there are only 2" in e]
    assert len(said) == 2, "in the scope, and outside of it"


def test_sets_that_exclude_each_other_are_named():
    page = open_panel(small(x=(Box(low=-2, high=-1),)))
    page.selectbox(key="add.X").set_value("nonnegative").run()
    assert any("box" in e.lower() and "nonnegative" in e.lower() for e in errors(page)), errors(page)
    assert not is_ready(page)
    page.button(key=f"{block_keys(page, 'X')[0]}.remove").click().run()
    assert not errors(page)
    assert spec_of(page).x == BOTH


def test_blocks_move_and_go_with_what_was_typed_into_them():
    three = (Nonnegative(), Sparse(k=2), NormBall(radius=1.5))
    page = open_panel(small(x=three))
    keys = block_keys(page, "X")
    page.number_input(key=f"{keys[1]}.k").set_value(3).run()
    page.button(key=f"{keys[1]}.up").click().run()
    assert [s.name for s in spec_of(page).x] == ["sparse", "nonnegative", "norm_ball"]
    assert block_keys(page, "X") == [keys[1], keys[0], keys[2]]
    assert spec_of(page).x[0] == Sparse(k=3)
    page.button(key=f"{keys[0]}.down").click().run()
    page.button(key=f"{keys[2]}.remove").click().run()
    assert [s.name for s in spec_of(page).x] == ["sparse", "nonnegative"]
    assert page.button(key=f"{keys[1]}.up").disabled
    assert page.button(key=f"{keys[0]}.down").disabled


@pytest.mark.parametrize("name", preset_names())
def test_presets_load(name):
    page = open_panel(small())
    page.selectbox(key="preset").set_value(name).run()
    assert spec_of(page) == preset(name)
    assert not errors(page)


def test_the_json_on_the_page_is_the_model_and_can_be_pasted_back():
    page = open_panel(preset("dna-groups"), panel.TEXT)
    (shown,) = [c.value for c in page.code if c.language == "json"]
    other = open_panel()
    other.text_area(key=panel.PASTE).set_value(shown)
    other.button(key="paste.use").click().run()
    assert spec_of(other) == preset("dna-groups")
    assert not errors(other)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("{", "not valid JSON"),
        ("[]", "JSON object"),
        ('{"dataset": {"name": "swimmer"}}', "rank"),
        ('{"dataset": {"name": "nowhere"}, "rank": 3}', "nowhere"),
        ('{"dataset": {"name": "swimmer"}, "rank": 0}', "rank"),
        ('{"dataset": {"name": "swimmer"}, "rank": 3, "x": [{"name": "sparse"}]}', "needs a value"),
        ('{"dataset": {"name": "swimmer"}, "rank": 3, "x": [{"name": "custom"}]}', "custom"),
        ('{"dataset": {"name": "file", "path": "/etc/hostname"}, "rank": 3}', "files of the server"),
        ('{"dataset": {"name": "upload", "id": "../../etc"}, "rank": 3}', "id"),
        ('{"dataset": {"name": "swimmer"}, "rank": 3, "colour": 1}', "colour"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_pasted_text_that_is_no_model_is_refused(text, sentence):
    page = open_panel()
    before = spec_of(page)
    page.text_area(key=panel.PASTE).set_value(text)
    page.button(key="paste.use").click().run()
    assert any(sentence.lower() in e.lower() and "unchanged" in e for e in errors(page)), errors(page)
    assert spec_of(page) == before


def test_python_code_is_on_the_page():
    page = open_panel(None, panel.TEXT)
    shown = [c.value.strip() for c in page.code if c.language == "python"]
    assert shown == [python_code(spec_of(page)).strip()]


def test_a_model_that_holds_a_matrix_is_a_file_and_not_a_wall_of_text():
    page = open_panel()
    page.selectbox(key="add.X").set_value("support").run()
    assert not errors(page)
    assert not page.code


def test_every_option_of_the_solver_and_of_the_limits_has_a_widget():
    page = open_panel(replace(small(), solver=SOLVERS.get("semf")()), panel.OPTIONS, panel.LIMITS)
    fill(page, "solver0.semf", SOLVERS.get("semf"), {"penalty": "fixed", "alpha0": 2.0, "q": 7, "start": "svd"})
    fill(page, "limits0", type(small().limits), {"max_iter": 50, "tol": 0.0, "kick": True, "polish": 3})
    spec = spec_of(page)
    solver = of(ADMM, spec.solver)
    assert (solver.penalty, solver.alpha0, solver.q, solver.start) == ("fixed", 2.0, 7, "svd")
    assert (spec.limits.max_iter, spec.limits.tol, spec.limits.kick, spec.limits.polish) == (50, 0.0, True, 3)
    page.number_input(key="solver0.semf.alpha0").set_value(0.0).run()
    assert any("above 0" in e for e in errors(page))
    assert of(ADMM, spec_of(page).solver).alpha0 == 2.0


def test_a_void_bound_is_warned_of():
    page = open_panel(small(x=(NormBall(radius=1.0),), y=()))
    assert any("has no effect" in w.value for w in page.warning)


@pytest.mark.parametrize("factor", ["X", "Y"])
def test_the_projection_is_previewed_in_pictures_with_words(factor):
    page = open_panel()
    page.toggle(key=f"preview.{factor}.on").set_value(True).run()
    words = [h.value for h in page.html if f'alt="{factor} ' in h.value]
    assert len(words) == 2
    assert any(re.search(r"moves this matrix by .* and takes \S+ m?s\.", m.value) for m in page.markdown)
    page.segmented_control(key=f"preview.{factor}").set_value("random").run()
    assert not errors(page)


def test_a_model_with_a_seed_beyond_the_browsers_numbers_opens():
    page = open_panel(ModelSpec(SMALL, 4, BOTH, BOTH, seed=2**60 + 1))
    assert not errors(page)
    assert json.loads(spec_of(page).to_json())["seed"] == 2**60 + 1
