"""A lesson as one HTML file and as slides: every stage with its run, nothing given away, nothing from elsewhere."""

from __future__ import annotations

import io
import json
import re
import zipfile

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.downloads import lesson_file
from semf_core.downloads.kinds import made
from semf_core.lessons import Sketch, handout, sketches, slides
from semf_core.lessons.format import parse_lesson
from semf_core.lessons.stage_runs import models, recorded_here
from semf_core.lessons.text import inline_html, plain_of
from tests.exports.readers import read_html
from tests.lessons.test_format import CHOICES, EXAMPLE, VECTOR
from tests.runs.common import wait_for_state
from tests.runs.conftest import make_service, service, shared_service  # noqa: F401 - fixtures

SHORT = EXAMPLE.replace("model: swimmer-sparse\n", "model: swimmer-sparse\nlimits: max_iter=25\n")
SKETCHED = SHORT.replace(CHOICES, "- [sketch] alpha")
WHOLE = SHORT.replace("One more line for 𝒳", "One more line for 𝒳, $a_1 \\ge 0$ and <script>alert(1)</script>") + VECTOR


@pytest.fixture(scope="module")
def find():
    with recorded_here() as finder:
        yield finder


def test_the_file_holds_every_stage_and_its_run(find):
    lesson = parse_lesson("first-steps.md", WHOLE)
    page = read_html(handout.html(lesson, find))
    for words in ("First steps", "Each picture may use at most", "Look for the ghosts", "Ghosts would share pixels", "All",
                  "<script>alert(1)</script>", "true parts found ≥ 17",
                  "from semf_core import factorize", "-2, -2, -2, 1.9"):  # fmt: skip
        assert words in page.text, words
    assert "Only the speaker sees this" not in page.text
    assert sum(tag == "math" for tag, _ in page.elements) >= 5
    runs = [json.loads(script) for script in page.scripts if script.startswith("{")]
    assert len(runs) == len(models(lesson)) == 2 and all(run["frames"] and run["curves"]["alpha"] for run in runs)
    asked = [attributes["src"] for _, attributes in page.elements if "src" in attributes]
    assert asked and all(address.startswith("data:") for address in asked), "nothing comes from elsewhere"
    assert not any("style" in attributes for _, attributes in page.elements)


def test_what_is_to_be_drawn_comes_with_its_answer(find):
    lesson = parse_lesson("first-steps.md", SKETCHED)
    page = read_html(handout.html(lesson, find))
    (sketch,) = [json.loads(script) for script in page.scripts if '"truth"' in script]
    assert sketch["label"] == "α" and sketch["last"] == sketch["truth"]["x"][-1]
    y = np.array(sketch["truth"]["y"])
    assert sketch["low"] <= np.log10(y.min()) - 1 and np.log10(y.max()) + 1 <= sketch["high"]


def test_a_sketch_ends_where_its_line_says_and_only_curves_are_taken():
    rows, numbers = np.full((50, 9), 2.0), np.arange(1, 51)
    rows[3, :] = np.nan
    chart = sketches.chart(Sketch("alpha", 20), rows, numbers, "here")
    assert chart["last"] == 20 and chart["truth"]["y"][3] == 0 and (chart["low"], chart["high"]) == (-1, 2)
    good = [0.5] * sketches.COLUMNS_DRAWN
    assert sketches.checked_curve(good) == good
    for bad in (None, "x", good[1:], [*good[1:], None], [*good[1:], float("nan")], [*good[1:], 1e9], [*good[1:], True]):
        assert sketches.checked_curve(bad) is None


def test_slides_are_pictures_of_every_stage(find):
    made_of = zipfile.ZipFile(io.BytesIO(slides.archive(parse_lesson("first-steps.md", WHOLE), find)))
    first, second, third = "01-nonnegative-and-sparse", "02-parts-that-share-no-pixel", "03-a-vector"
    wanted = {f"{name}.{form}" for name in (first, f"{second}-question", second, third) for form in ("png", "svg")}
    assert set(made_of.namelist()) == wanted | {f"{first}.gif", f"{second}.gif"}
    for name in (first, third):
        image = Image.open(io.BytesIO(made_of.read(f"{name}.png"))).convert("L")
        assert image.size == (1920, 1080) and np.asarray(image).std() > 10
    assert made_of.read(f"{second}.svg").count(b"<path") > 50


@pytest.mark.parametrize(
    ("text", "drawn", "said"),
    [
        ("Here $$XY = (XA)(A^{-1}Y).$$ stands", "Here $XY = (XA)(A^{-1}Y).$ stands", False),
        ("word " * 6 + "and $x + y + z + w = 1$", "word word word word word word and\n$x + y + z + w = 1$", False),
        (r"$x^2$ or $\begin{cases}1\end{cases}$", r"$x^2$ or \$\begin{cases}1\end{cases}\$", True),
        ("5 $ and 6 $ more", r"5 \$ and 6 \$ more", False),
    ],
    ids=["on a line of its own", "never parted", "unknown to the typesetting", "an amount"],
)
def test_formulas_of_slides_are_typeset_or_said_to_be_as_typed(text, drawn, said):
    page = Figure()
    slides._words(page, text, "narrow")
    words = [one.get_text() for one in page.texts]
    assert words == [drawn, *[slides.AS_TYPED] * said]
    page.draw_without_rendering()  # whatever stands in dollars is typeset


def test_without_a_run_a_stage_says_so():
    lesson = parse_lesson("first-steps.md", SKETCHED)
    page = read_html(handout.html(lesson, lambda spec: None))
    assert page.text.count(handout.NO_RUN) == 2 and "That is my curve" not in page.text
    assert "01-nonnegative-and-sparse.png" in zipfile.ZipFile(io.BytesIO(slides.archive(lesson, lambda spec: None))).namelist()


def test_words_of_a_line_and_of_a_slide():
    assert inline_html("about **10** per cent") == "about <strong>10</strong> per cent"
    assert re.fullmatch(r"<math.*</math> left", str(inline_html("$x^2$ left")))
    assert plain_of("A **bold** *word*\n\n- one\n- two") == "A bold word\n\n• one\n• two"


def test_the_command_writes_both(tmp_path, capsys):
    written = tmp_path / "first-steps.md"
    written.write_text(SHORT, encoding="utf-8")
    assert main(["lessons", "export", str(written), str(tmp_path / "home.html")]) == 0
    assert (tmp_path / "home.html").read_bytes().startswith(b"<!doctype html>")
    assert main(["lessons", "export", str(written), str(tmp_path / "home.pdf")]) == 2
    assert main(["lessons", "export", "alchemy", str(tmp_path / "home.html")]) == 2
    assert "must end in .html or .zip" in capsys.readouterr().err


def test_a_server_waits_for_its_runs_and_makes_the_same(service, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / "first-steps.md").write_text(SHORT, encoding="utf-8")
    monkeypatch.setenv("SEMF_LESSONS", str(tmp_path))
    wanted = lesson_file(service, "first-steps", "html")
    assert wanted is None, "its runs have just been started"
    for run_id in [service.shared_run(f"stage-{name}", spec) for name, spec in models(parse_lesson("x.md", SHORT)).items()]:
        wait_for_state(service, run_id, "finished")
    wanted = lesson_file(service, "first-steps", "html")
    assert wanted is not None and wanted.name == "first-steps.html"
    page = read_html(made(service, wanted.order))
    assert "Ghosts would share pixels" in page.text and sum(s.startswith("{") for s in page.scripts) == 2
    (tmp_path / "first-steps.md").write_text(SHORT.replace("minutes: 5", "minutes: 6"), encoding="utf-8")
    changed = lesson_file(service, "first-steps", "html")
    assert changed is not None and changed.mark != wanted.mark, "a lesson that was changed is made anew"
    with pytest.raises(InvalidInput, match="known are html, slides"):
        lesson_file(service, "first-steps", "pdf")
