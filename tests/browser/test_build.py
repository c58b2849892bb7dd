"""From a file of one's own to its parts: upload, build (35) with the widgets, run, find all groups."""

from __future__ import annotations

import re

import numpy as np
import pytest

from semf_core.datasets import Swimmer
from tests.helpers import present

GROUPS = "1-4|5-8|9-12|13-16|17"
FOUND = 120_000


@pytest.fixture(scope="module")
def swimmer_file(tmp_path_factory):
    """Swimmer as a visitor might have it, with its truth, so that what is found can be counted."""
    truth = Swimmer().load()
    group_of = np.zeros(17, int)
    for t, group in enumerate(present(truth.groups)):
        group_of[list(group)] = t
    path = tmp_path_factory.mktemp("files") / "my swimmer.npz"
    np.savez_compressed(path, data=truth.data, parts=present(truth.parts), groups=group_of, image_shape=[32, 32])
    return path


def quiet(page):
    """Streamlit has finished drawing: nothing is running and no widget is still a placeholder."""
    page.wait_for_timeout(250)
    page.wait_for_function(
        "!document.querySelector('[data-testid=stStatusWidget], [data-testid=stSkeleton], [data-stale=true]')"
        " && document.querySelector('.stApp')?.dataset.testScriptState !== 'running'"
    )


def choose(page, label, text):
    """Pick from a select box by the beginning of an option."""
    box = page.get_by_role("combobox", name=re.compile(label))
    box.click()
    box.fill(text)
    page.get_by_role("option", name=re.compile(f"^{re.escape(text)}")).first.click()
    quiet(page)


def write(where, page, label, text):
    """Type into a text or number field and leave it."""
    field = where.get_by_label(label, exact=True).first
    field.fill(str(text))
    field.press("Enter")
    quiet(page)


def block(page, title):
    """The constraint block of that title."""
    return page.locator("[class*=st-key-block_]").filter(has=page.get_by_text(title, exact=True)).last


def upload(page, path):
    page.get_by_role("radio", name="Upload").or_(page.get_by_role("button", name="Upload", exact=True)).first.click()
    page.locator("input[type=file]").set_input_files(str(path))


def test_a_file_becomes_its_parts(server, visit, swimmer_file):
    page = visit(f"{server.url}/data", width=1440)
    upload(page, swimmer_file)
    page.get_by_text("17 parts in 5 groups").wait_for()
    page.get_by_role("img", name=re.compile("samples as pictures of 32 × 32")).wait_for()
    page.get_by_role("button", name="Use this data").click()

    page.get_by_text("Proposed for this data: no entry is negative").wait_for()  # a model is there, and runs already
    quiet(page)
    write(page, page, "Rank p", 17)
    choose(page, "Add a constraint on X", "k-sparse")
    write(block(page, "k-sparse"), page, "k", 17)
    block(page, "k-sparse").get_by_role("button", name="Scope").click()
    write(page, page, "Columns", "17")
    page.keyboard.press("Escape")
    choose(page, "Add a constraint on X", "Orthogonal to a column")
    write(block(page, "Orthogonal to a column"), page, "Column c", 17)
    choose(page, "Add a constraint on Y", "k per group")
    write(block(page, "k per group"), page, "Groups Gₜ", GROUPS)
    page.get_by_role("img", name=re.compile("Partition: 5 groups")).wait_for()
    page.get_by_text("Limits: iterations").click()
    write(page, page, "Iterations", 4000)

    page.locator(".semf-badges").get_by_text("5 of 5 groups right").wait_for(timeout=FOUND)
    page.locator(".semf-badges").get_by_text("17 of 17 parts found").wait_for()


BAD = {
    "words.csv": (b"name,colour\nred,blue\n", "words.csv"),
    "empty.npy": (b"", "is empty"),
    "wrong.npy": (b"this is no array", "NPY"),
}


def test_bad_files_are_rejected_in_words(server, visit, tmp_path):
    page = visit(f"{server.url}/data")
    page.get_by_text("Swimmer").first.wait_for()
    for name, (content, words) in BAD.items():
        (tmp_path / name).write_bytes(content)
        upload(page, tmp_path / name)
        alert = page.get_by_role("alert").filter(has_text=words)
        alert.first.wait_for(timeout=10_000)
        assert page.get_by_role("button", name="Use this data").count() == 0
    (tmp_path / "good.csv").write_text("1,2,3\n4,5,6\n")
    upload(page, tmp_path / "good.csv")
    page.get_by_role("button", name="Use this data").wait_for()  # what was rejected before is left out
    page.get_by_text("Left out, because rejected before").wait_for()
    assert page.get_by_role("alert").count() == 0
    assert page.get_by_text("Traceback").count() == 0


def test_the_pages_can_be_used_on_a_phone(server, visit):
    page = visit(f"{server.url}/model", width=390, height=844, scheme="dark")
    page.wait_for_url("**/workbench*")  # where this old address leads
    page.wait_for_selector('.semf-live:not(.semf-compact)[data-drawn="yes"]')
    page.get_by_test_id("stExpandSidebarButton").click()
    quiet(page)
    choose(page, "Add a constraint on X", "Smooth")
    assert block(page, "Smooth").count() == 1
    block(page, "Smooth").get_by_role("button", name="Remove").click()
    quiet(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.get_by_text("Traceback").count() == 0
