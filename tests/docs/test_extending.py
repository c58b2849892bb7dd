"""What the pages on extending add passes the tests that everything of its kind passes."""

from __future__ import annotations

import shutil

import pytest

from tests.docs.fences import ROOT, python, titled

WALKERS = [
    ("docs/extend/set.md", "semf_core/sets/centred.py", "centred or Centred", "sets/test_generic.py"),
    ("docs/extend/solver.md", "semf_core/solvers/als.py", "als", "solvers/test_protocol.py"),
    ("docs/extend/dataset.md", "semf_core/datasets/tones.py", "tones or Tones", "datasets/test_dataset_sources.py"),
]


@pytest.mark.parametrize(("page", "file", "name", "walker"), WALKERS, ids=[w[2].split()[0] for w in WALKERS])
def test_what_is_added_is_found_and_passes(page, file, name, walker, tmp_path):
    """The file is imported before the tests are collected, as an import in the package would do."""
    (tmp_path / "added.py").write_text(titled(page, file), encoding="utf-8")
    done = python("-m", "pytest", "-p", "added", "-p", "no:cacheprovider", "-k", name, f"tests/{walker}", cwd=ROOT, path=tmp_path)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-3000:]


NAMES = "from semf_core.sets import SETS; from semf_core.model import preset_names; print(SETS.names()[-1], preset_names()[-1])"


def test_a_set_and_a_preset_are_a_file_each(tmp_path):
    """In a copy of the package, as somebody who works on it adds them."""
    copy = tmp_path / "semf_core"
    shutil.copytree(ROOT / "semf_core", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "sets" / "centred.py").write_text(titled("docs/extend/set.md", "semf_core/sets/centred.py"), encoding="utf-8")
    shutil.copy(copy / "presets" / "lsi.json", copy / "presets" / "zebra.json")
    done = python("-c", NAMES, cwd=tmp_path, path=tmp_path)
    assert done.stdout.split() == ["centred", "zebra"], done.stderr


def test_an_installed_package_adds_a_set_and_a_broken_one_is_named(tmp_path):
    (tmp_path / "centred.py").write_text(titled("docs/extend/set.md", "semf_core/sets/centred.py"), encoding="utf-8")
    about = tmp_path / "contrasts-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: contrasts\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[semf.sets]\nbroken = nowhere:Thing\ncentred = centred:Centred\n", encoding="utf-8")
    done = python("-c", NAMES, cwd=tmp_path, path=tmp_path)
    assert done.stdout.split()[0] == "centred" and "semf.sets: broken (nowhere:Thing) cannot be loaded" in done.stderr


def test_a_page_is_a_file(tmp_path):
    for folder in ("pages", "assets"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("screenshots", "__pycache__"))
    (tmp_path / "pages" / "queue.py").write_text(titled("docs/extend/page.md", "pages/queue.py"), encoding="utf-8")
    visit = f"""
from streamlit.testing.v1 import AppTest
page = AppTest.from_file({str(tmp_path / "pages" / "main.py")!r}, default_timeout=60).run()
page.switch_page("queue.py").run()
assert not page.exception, page.exception
print(page.title[0].value, [metric.label for metric in page.metric])
"""
    (tmp_path / "visit.py").write_text(visit, encoding="utf-8")
    done = python("visit.py", cwd=tmp_path, path=tmp_path)
    assert done.stdout.strip() == "Queue ['running', 'waiting']", done.stderr
