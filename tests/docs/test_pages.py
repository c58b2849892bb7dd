"""The website: built without a warning, complete, and its code prints what it says."""

from __future__ import annotations

import json
import re

import pytest

from semf_core.datasets import DATASETS
from semf_core.model import preset_names
from semf_core.sets import SETS
from semf_core.solvers import SOLVERS
from semf_core.studies import builtin_names
from tests.docs.fences import ROOT, blocks, python

TUTORIALS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "tutorials").glob("*.md"))
TOLD = ["README.md", "docs/getting-started.md", "docs/extend/index.md", "docs/reference/python.md", *TUTORIALS]
"""Pages whose code is run from top to bottom."""
MARK = "-- block --"


@pytest.mark.parametrize("page", [page for page in TOLD if any(b.language == "python" for b in blocks(page))])
def test_code_prints_what_stands_below_it(page, tmp_path):
    found = blocks(page)
    code, wanted = [], []
    for block, following in zip(found, [*found[1:], None], strict=True):
        if block.language == "python":
            code.append(block.text + f"print({MARK!r})\n")
            wanted.append(following.text if following is not None and following.language == "text" else "")
    (tmp_path / "page.py").write_text("\n".join(code), encoding="utf-8")
    done = python("page.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(MARK + "\n")[:-1] == wanted


def test_the_site_is_built_without_a_warning_and_knows_everything(tmp_path):
    done = python("-m", "mkdocs", "build", "--strict", "-d", str(tmp_path), cwd=ROOT)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    for place, names in {
        "reference/sets": SETS.names(),
        "reference/solvers": SOLVERS.names(),
        "reference/datasets": DATASETS.names(),
        "reference/studies": builtin_names(),
    }.items():
        text = (tmp_path / place / "index.html").read_text(encoding="utf-8")
        for name in names:
            assert f'id="{name}"' in text, name
    for name in preset_names():
        text = (tmp_path / "gallery" / name / "index.html").read_text(encoding="utf-8")
        assert f"presets/{name}.png" in text and "factorize" in text and "<math" in text
    page = (tmp_path / "how-it-works" / "index.html").read_text(encoding="utf-8")
    article = page.partition("<article")[2].partition("</article")[0]
    assert "<math" in article and "$" not in article


def test_every_preset_has_its_picture_and_its_numbers():
    numbers = json.loads((ROOT / "docs" / "presets.json").read_text(encoding="utf-8"))
    for name in preset_names():
        assert name in numbers and (ROOT / "assets" / "presets" / f"{name}.png").is_file(), f"run make pictures PRESETS={name}"


def test_every_variable_is_in_the_configuration():
    sources = [path for folder in ("semf_core", "pages") for path in (ROOT / folder).rglob("*.py")]
    used = {name for path in sources for name in re.findall(r"\bSEMF_[A-Z_]+\b", path.read_text(encoding="utf-8"))}
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    told = {name for cell in re.findall(r"^\| (`SEMF_[^|]*)\|", page, re.MULTILINE) for name in re.findall(r"SEMF_[A-Z_]+", cell)}
    assert len(used) > 5 and used == told
