"""Learn: the list, a stage with its question and its run, a task on the workbench, one iteration taken apart."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import images, learn_page, previews, session, sketch, tasks
from pages.ui.places import PAGES
from semf_core.common.errors import InvalidInput
from semf_core.lessons import lessons, sketches
from semf_core.lessons.library import FOLDER
from semf_core.model import preset
from semf_core.runs.folder import RunFolder
from semf_core.runs.substeps import substeps
from semf_core.snapshots.recording import record
from tests.helpers import present


def open_learn(progress=None, page="learn", **query):
    shown = AppTest.from_file(str(PAGES / f"{page}.py"), default_timeout=60)
    for name, value in query.items():
        shown.query_params[name] = value
    shown.session_state[session.LESSONS] = dict(progress or {})
    shown.run()
    assert not shown.exception
    return shown


def texts(page):
    return "\n".join(m.value for m in page.markdown)


def press(page, key):
    page.button(key=key).click().run()
    assert not page.exception


def test_the_list_offers_to_go_on(service):
    page = open_learn({"structure": "groups"})
    assert [page.button(key=f"lesson-{lesson.name}").label for lesson in lessons().lessons].count("Start") == 10
    assert page.button(key="lesson-structure").label == "Continue at stage 4"
    press(page, "lesson-structure")
    assert dict(page.query_params) == {"lesson": "structure", "stage": "groups"}
    assert page.title[0].value == "Groups"


def test_a_run_that_ends_while_its_lesson_is_left_does_not_bring_it_back(service, monkeypatch):
    """It says so with the address that the browser had before the press."""
    page = open_learn(lesson="structure", stage="groups")
    press(page, "learn-all")
    assert page.title[0].value == "Learn"
    told: list[dict[str, str]] = []
    monkeypatch.setattr(learn_page.st, "query_params", SimpleNamespace(from_dict=told.append))
    monkeypatch.setattr(learn_page.st, "session_state", {learn_page.SHOWN: page.session_state[learn_page.SHOWN]})
    learn_page._stay()
    assert told == [{}]


@pytest.mark.parametrize("lesson", lessons().lessons, ids=lambda lesson: lesson.name)
def test_a_lesson_from_start_to_end(service, lesson):
    """Every stage is drawn, Next leads through all of them, questions hide the run until they are answered."""
    page = open_learn(lesson=lesson.name)
    for position, stage in enumerate(lesson.stages):
        assert page.title[0].value == stage.title
        assert f"stage {position + 1} of {len(lesson.stages)}" in " ".join(c.value for c in [*page.caption, *page.markdown])
        if stage.question is not None:
            hidden = any("answer first" in info.value or "compared with" in info.value for info in page.info)
            place = f"{lesson.name}/{stage.name}"
            assert stage.question.explanation not in texts(page), "nothing is given away before the answer"
            if stage.question.sketch is not None:  # a component, which is drawn in the browser
                page.session_state[learn_page.ANSWERS] = {place: 0}
                page.session_state[sketch.DRAWN] = {place: [0.0] * sketches.COLUMNS_DRAWN}
                page.run()
                assert stage.question.explanation in texts(page)
                press(page, "learn-next")
                continue
            assert hidden == (stage.model is not None)
            right = next(i for i, choice in enumerate(stage.question.choices) if choice.right)
            press(page, f"choice-{lesson.name}/{stage.name}-{right}")
            assert ":material/check: right" in texts(page) and stage.question.explanation in texts(page)
        if stage.task is not None:
            assert "**Your turn.**" in texts(page) and page.button(key="learn-try" if stage.model else "learn-solution")
        assert session.LESSONS in page.session_state
        if position + 1 < len(lesson.stages):
            press(page, "learn-next")
            assert page.session_state[session.LESSONS][lesson.name] == lesson.stages[position + 1].name
    assert page.button(key="learn-next").disabled


def test_pictures_beside_a_question_keep_their_proportions(monkeypatch):
    """Montages are square: filled into a wider place, limbs at 45° would lean. A tall or flat table is not a picture."""
    said: list[str] = []
    monkeypatch.setattr(previews.st, "html", said.append)
    for pixels, shape in ((np.eye(1024, 17), (32, 32)), (np.ones((90, 12)), None), (np.ones((4, 300)), None)):
        drawn = images.basis(pixels, shape) if shape else images.heat_map(pixels)
        previews.picture(drawn, "words", width=640)
    montage, table, flat = said
    assert "height:" not in montage and f"max-width:{previews.TALLEST * 133 // 166}px" in montage
    assert f"height:{previews.TALLEST}px" in table and "max-width:640px" in table
    assert f"height:{previews.FLATTEST}px" in flat, "it was a strip nine pixels high"


def test_an_unknown_lesson_says_which_there_are(service):
    page = open_learn(lesson="alchemy")
    assert "structure" in page.error[0].value and page.title[0].value == "Learn"


def test_a_mistake_in_a_file_is_said_on_the_page(service, tmp_path, monkeypatch):
    (tmp_path / "mine.md").write_text(
        (FOLDER / "02-perfect-fit.md").read_text(encoding="utf-8").replace("rank: 12", "rank: many")
    )
    monkeypatch.setenv("SEMF_LESSONS", str(tmp_path))
    page = open_learn()
    assert "mine.md:" in page.warning[0].value.replace("\\", "") and len(page.button) >= 11


def finished(service, run_id):
    end = time.monotonic() + 60
    while service.status(run_id).state != "finished":
        assert time.monotonic() < end
        time.sleep(0.02)
    return service.status(run_id)


def test_a_task_is_checked_on_the_workbench_and_its_attempts_are_kept(service):
    solution = present(present(lessons().get("structure").stages[-1].task).solution)
    places = {"lesson": "structure", "stage": "your-turn"}
    for spec, done in ((preset("swimmer-sparse"), False), (solution, True)):
        status = finished(service, service.start(spec).id)
        page = open_learn(page="workbench", run=status.id, **places)
        said = texts(page)
        assert ("trophy" in said) == done and f"true parts found ≥ 17: {17 if done else 0}]" in said
        kept = page.session_state[session.LESSONS]
        (attempt,) = json.loads(kept["structure/your-turn"])
        assert attempt["met"] == (2 if done else 0 if len(spec.x) + len(spec.y) > 3 else 1) and attempt["run"] == status.id
    page = open_learn(kept, **places)
    assert ":material/check: done" in texts(page)


def test_attempts_that_a_browser_has_spoiled_are_none(service):
    deep = "[" * 100_000
    for spoiled in ('[{"met": "x"}]', deep):
        page = open_learn({"structure/your-turn": spoiled, "penalties": "nowhere"}, lesson="structure", stage="your-turn")
        assert "Your turn" in texts(page)
    assert "done" not in [b.label for b in page.button] and tasks.MOST_ATTEMPTS > 0


def test_one_iteration_is_what_its_formulas_say(tmp_path):
    """(8a)-(7f) from the sub-steps' own matrices, against the frames of the run."""
    folder = RunFolder(tmp_path)
    recorded = record(preset("swimmer-groups"), folder)
    steps = {step.name: step for step in substeps(folder, recorded.dataset, 12)}
    M = recorded.dataset.data
    names = ("X", "Y", "U", "V", "Lambda", "Pi")
    X, Y, U, V, Lam, Pi = (present(steps[name].after) for name in names)
    _, Y0, U0, V0, Lam0, Pi0 = (present(steps[name].before) for name in names)
    rows = folder.rows(0)
    alpha, beta, p = rows[11][2], rows[11][3], len(Y)
    wanted = np.linalg.solve(Y0 @ Y0.T + alpha * np.eye(p), (M @ Y0.T + alpha * U0 - Lam0).T).T
    assert np.allclose(X, wanted, atol=1e-6)
    wanted = np.linalg.solve(X.T @ X + beta * np.eye(p), X.T @ M + beta * V0 - Pi0)
    assert np.allclose(Y, wanted, atol=1e-6)
    for name, product in (("X", M @ Y0.T), ("Y", X.T @ M)):
        said = present(steps[name].filled)(3, 2)
        told = said.partition("ldots = ")[2].partition(" +")[0].replace(r"\cdot 10^{", "e").replace("}", "")
        assert float(told) == pytest.approx(product[3, 2], rel=1e-3, abs=1e-5), said
    assert np.allclose(Lam, Lam0 + alpha * (X - U), atol=1e-4)
    assert np.allclose(Pi, Pi0 + beta * (Y - V), atol=1e-6)
    decided = substeps(folder, recorded.dataset, 15)[-1]
    assert decided.name.startswith("case_") and np.isclose(decided.table[0][1], rows[10:15, 1].mean())
    with pytest.raises(InvalidInput, match="not one of this run"):
        substeps(folder, recorded.dataset, 0)


def test_half_steps_of_another_algorithm(tmp_path):
    folder = RunFolder(tmp_path)
    recorded = record(preset("swimmer-nmf"), folder)
    first, second = substeps(folder, recorded.dataset, 3)
    assert (first.name, second.name) == ("U", "V") and np.abs(present(first.after) - present(first.before)).max() > 0
    stated = recorded.run.solver.half_steps()
    assert [(s.formula, s.words) for s in (first, second)] == [(s.formula, s.words) for s in stated]
    assert present(first.filled)(3, 2).startswith("u_{4,3}: ")


def test_a_turn_of_the_descent_has_its_formulas(tmp_path):
    """The default engine ends with a descent on the feasible factors."""
    folder = RunFolder(tmp_path)
    recorded = record(preset("digits-parts"), folder)
    first, second = substeps(folder, recorded.dataset, recorded.run.iterations)
    assert r"U\in\mathcal X" in first.formula and r"V\in\mathcal Y" in second.formula


def test_the_demo_on_home_has_a_kick_and_changes_its_penalties(tmp_path):
    folder = RunFolder(tmp_path)
    run = record(preset("swimmer-groups"), folder).run
    assert any(event.kind == "kick" for event in run.events)
    cases = run.history.column("case")
    assert len({int(c) for c in cases if c > 1}) >= 3, "several cases of Algorithm 2"
