"""Home: the shared demo and a card for each preset."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import session
from pages.ui.places import ASSETS, PAGES, TABLE
from semf_core.model import preset, preset_names

MAIN = str(PAGES / "main.py")


def shown(page):
    text = " ".join(m.value for m in page.markdown)
    found = {name for name in preset_names() if any(b.key == f"preset-{name}" for b in page.button)}
    for name in found:
        assert preset(name).title in text and preset(name).watch in text
    return found


def test_home_shows_the_demo_and_the_presets_of_a_family(service):
    page = AppTest.from_file(MAIN, default_timeout=60).run()
    assert not page.exception and not page.error
    seen = [shown(page)]
    assert all(preset(name).solver.takes_sets for name in seen[0])
    pills = page.button_group(key="preset-family")
    for family in pills.options[1:]:
        page.button_group(key="preset-family").set_value(family).run()
        seen.append(shown(page))
    assert sorted(name for names in seen for name in names) == sorted(preset_names())
    page.button_group(key="preset-family").set_value(None).run()
    assert shown(page) == set(preset_names())


def test_visitors_share_one_demo_run(service):
    for _ in range(2):
        AppTest.from_file(MAIN, default_timeout=60).run()
    assert len(list((service.home / "runs").iterdir())) == 1


def test_a_card_starts_a_run_of_ones_own_and_opens_it(service):
    page = AppTest.from_file(MAIN, default_timeout=60).run()
    page.button(key="preset-dictionary").click().run()
    assert not page.exception and not page.error
    ((strip_id, key),) = page.session_state[session.STRIPS].items()
    assert page.title[0].value == preset("dictionary").title
    assert service.status(service.strips.get(strip_id).current).owner_ok(key)


@pytest.mark.parametrize("name", TABLE)
def test_every_page_of_the_table_opens(service, name):
    page = AppTest.from_file(MAIN, default_timeout=60).run()
    page.switch_page(f"{name}.py").run()
    assert not page.exception
    assert page.title


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_has_a_picture(name):
    assert (ASSETS / "presets" / f"{name}.png").stat().st_size < 40_000
