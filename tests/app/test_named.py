"""Names, words and axes where components are drawn: the live view while it runs, and the comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pages.ui import compare_feed, components, feed
from semf_core.comparison import figure_html, figure_image
from semf_core.datasets import Axes, Axis, Dataset, Swimmer
from semf_core.model import ModelSpec, preset
from semf_core.runs.ids import new_id
from semf_core.runs.uploads import Upload
from semf_core.solvers import Limits
from tests.runs.common import wait_for_state


@pytest.fixture(autouse=True)
def reader_of_this_service():
    compare_feed.reader.cache_clear()
    yield
    compare_feed.reader.cache_clear()


def test_the_live_view_shows_words_curves_and_names(service):
    """The strongest words of each topic, V over the axis of the samples, and a name as soon as it is typed."""
    handle = service.start(replace(preset("titles-topics"), limits=Limits(max_iter=5)))
    wait_for_state(service, handle.id, "finished")
    picture = feed.answer(service, handle.id, feed.Ask())["picture"]
    U, names = service.factors(handle.id).U, service.axes(handle.id).rows.names
    assert [top[0][0] for top in picture["ranked"]] == [names[i] for i in U.argmax(axis=0)]
    assert picture["use"][0][1][0][2] in service.axes(handle.id).columns.names
    service.name_components(handle.id, handle.key, ["first"])
    assert feed.answer(service, handle.id, feed.Ask(picture=picture["token"]))["picture"]["names"] == ("first",)
    times = Axis("time", "s", values=np.linspace(0, 1, 12))
    moving = service.start(
        ModelSpec(Swimmer(), 2, limits=Limits(max_iter=3)), dataset=Dataset(np.ones((3, 12)), axes=Axes(columns=times))
    )
    wait_for_state(service, moving.id, "finished")
    picture = feed.answer(service, moving.id, feed.Ask())["picture"]
    assert picture["sample_axis"] == "time (s)" and picture["ranked"] is None
    assert [tile[0] for tile in picture["coefficients"]["tiles"]] == [0, 1], "a curve for each row of V"


def test_components_of_ones_own_data_can_be_named_without_a_press():
    own = ModelSpec(Upload(id=new_id()), 3)
    assert components.in_sight(own, Axes(), ()) and not components.in_sight(ModelSpec(Swimmer(), 3), Axes(), ())
    assert components.in_sight(ModelSpec(Swimmer(), 3), Axes(), ("torso",))


def test_names_of_components_and_words_of_topics_are_compared(service):
    """In the view, in the figure to keep, and at once when somebody types a name."""
    handles = [service.start(replace(preset("titles-topics"), limits=Limits(max_iter=20), seed=seed)) for seed in (0, 1)]
    ids = [handle.id for handle in handles]
    for run_id in ids:
        wait_for_state(service, run_id, "finished")
    before = compare_feed.answer(ids, [], "light")["runs"]
    service.name_components(ids[1], handles[1].key, ["", "sky <x>"])
    assert service.component_names(service.fork(ids[1]).id) == ("", "sky <x>"), "a fork keeps them"
    after = compare_feed.answer(ids, [run["token"] for run in before], "light")["runs"]
    assert set(after[0]) == {"id", "token"}, "nothing has changed"
    slot = after[1]["columns"].index(1)
    assert after[1]["names"][slot] == "sky <x>" and sum(map(bool, after[1]["names"])) == 1
    words = [word for word, _ in after[1]["ranked"][slot]]
    U, rows = service.factors(ids[1]).U, service.axes(ids[1]).rows
    assert words[0] == rows.names[int(U[:, 1].argmax())]
    shown = compare_feed.reader().shown(ids, "iterations")
    assert f"{slot + 1} sky <x>: {words[0]}" in shown.montages[1].caption()
    assert "sky &lt;x&gt;" in figure_html(shown) and figure_image(shown, "svg")
