"""What stands in the report, and that nothing in it can act."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape

import numpy as np
import pytest

from semf_core.drawing.pictures import basis
from semf_core.exports import EXPORTS
from semf_core.exports.mathml import condition, mathml, set_formula
from semf_core.exports.payload import PALETTE_FROM, PALETTE_TO, cut, payload
from semf_core.exports.story import from_run
from semf_core.model import preset, preset_names
from semf_core.sets import Custom, members_of
from semf_core.solvers import SOLVERS
from tests.exports.common import hostile, hostile_dataset
from tests.exports.readers import read_html
from tests.helpers import present
from tests.sets.cases import compositions, rule_examples, scoped_examples


def report(folder, dataset):
    return EXPORTS["html"].make(folder, dataset)


def test_it_tells_the_whole_story(finished, dataset):
    page = read_html(report(finished, dataset))
    for words in ("Small", "Look here.", "60 iterations", "Relative error", "feasible", "Certificate", "Polish",
                  "from semf_core import factorize", '"name": "swimmer"', "@article{semf", "@article{hals", "NumPy",
                  dataset.fingerprint()):  # fmt: skip
        assert words in page.text, words
    assert sum(tag == "math" for tag, _ in page.elements) >= 6
    assert all(attributes.get("alt") for tag, attributes in page.elements if tag == "img")


def test_the_policy_allows_this_script_and_style_and_nothing_else(finished, dataset):
    text = report(finished, dataset).decode()
    policy = present(re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text))[1].replace("&#39;", "'")
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'" and allowed["img-src"] == "data:"
    for name, pattern in (("script-src", r"<script>(.*?)</script>"), ("style-src", r"<style>(.*?)</style>")):
        (content,) = re.findall(pattern, text, re.DOTALL)
        empty = [""] * text.count('<style id="plotly.js-style-global"></style>') if name == "style-src" else []
        digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (content, *empty)]
        assert allowed[name] == " ".join(f"'sha256-{digest}'" for digest in digests)
    page = read_html(text.encode())
    assert not any("style" in attributes or any(a.startswith("on") for a in attributes) for _, attributes in page.elements)
    assert not any({"src", "href"} & set(attributes) for _, attributes in page.elements)


def test_hostile_texts_stay_texts(copy, dataset):
    content = report(hostile(copy), hostile_dataset(dataset))
    page = read_html(content)
    assert sum(tag == "script" for tag, _ in page.elements) == 2
    assert not any(tag in {"b", "iframe", "object"} for tag, _ in page.elements)
    assert sum(tag == "img" for tag, _ in page.elements) == 3
    assert page.text.count("<script>alert(1)</script>") >= 6  # title twice, watch, note, tags, data
    assert "14 November 2023" in page.text and "of the recorder" not in page.text
    data = next(s for s in page.scripts if s.startswith("{"))
    assert "<" not in data and json.loads(data)["events"][-1][2].endswith("onerror=alert(1)>")


def test_pictures_change_their_palette_in_base64(finished, dataset):
    sent = payload(from_run(finished, dataset))
    U = from_run(finished, dataset).final.U
    for theme in ("light", "dark"):
        head, tail = sent["frames"][-1]["U"]
        whole = base64.b64decode(head + sent["palettes"][theme] + tail)
        assert whole == from_run(finished, dataset).basis(U, theme).png
        assert whole[PALETTE_FROM + 4 : PALETTE_FROM + 8] == b"PLTE" and whole[PALETTE_TO + 4 : PALETTE_TO + 8] == b"tRNS"
    assert cut(basis(U, dataset.image_shape)) != cut(basis(np.flip(U), dataset.image_shape))


def test_large_pictures_make_fewer_frames(monkeypatch, finished, dataset):
    story = from_run(finished, dataset)
    every = payload(story)["frames"]
    assert [f["at"] for f in every[:-1]] == [k for k in finished.keyframes() if k]
    monkeypatch.setattr("semf_core.exports.payload.PICTURE_CHARACTERS", 1)
    few = payload(story)["frames"]
    assert len(few) < len(every) and few[-2:] == every[-2:] and all(frame in every for frame in few)


def test_long_histories_are_thinned_but_end_where_the_run_ended(monkeypatch, finished, dataset):
    monkeypatch.setattr("semf_core.exports.payload.MOST_POINTS", 9)
    sent = payload(from_run(finished, dataset))
    x = np.frombuffer(base64.b64decode(sent["x"]), "<u4")
    curve = np.frombuffer(base64.b64decode(sent["curves"]["residual_uv"]), "<f4")
    assert x.tolist() == [8, 16, 24, 32, 40, 48, 56, 60]
    np.testing.assert_array_equal(curve, finished.rows()[x - 1, 1].astype("f4"))


def test_a_certificate_of_another_model_is_left_out(copy, dataset):
    stored = json.loads(copy.result.read_text())
    stored["violations"][0]["constraint"] = "</td>unknown"
    copy.result.write_text(json.dumps(stored))
    assert "does not belong to this model" in read_html(report(copy, dataset)).text


@pytest.mark.parametrize("name", preset_names())
def test_formulas_of_presets(name):
    spec = preset(name)
    for symbol, whole in (("X", spec.x_set), ("Y", spec.y_set)):
        assert str(set_formula(symbol, whole)).startswith("<math")


def test_every_set_has_a_formula_without_leftovers():
    seen = 0
    for examples in (scoped_examples, rule_examples, compositions):
        for whole in examples():
            made = [mathml(whole.latex()), set_formula("X", whole), *(condition("U", m) for m in members_of(whole))]
            for formula in made:
                text = re.sub(r"<[^>]+>", "", str(formula))
                assert "\\" not in text and "&amp;" not in text and "begin" not in text, whole
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("cls", list(SOLVERS), ids=lambda cls: cls.name)
def test_every_objective_has_a_formula_without_leftovers(cls):
    text = re.sub(r"<[^>]+>", "", str(mathml(cls().objective(), display=True)))
    assert "\\" not in text and "frac" not in text and ("min" in text or "max" in text)


def test_only_mathematics_passes_as_a_formula():
    assert "<mtext>&lt;script&gt;alert(1)&lt;/script&gt;</mtext>" in mathml(r"\text{<script>alert(1)</script>}")
    with pytest.raises(ValueError, match="no element"):
        mathml(r"\phantom{x}")
    assert "<mtext>of" in mathml(r"x \text{of {one} kind}")
    label = r"clip_1&50%, a < b, &lt; \ ~ ^ { }"
    (shown,) = re.findall("<mtext>(.*)</mtext>", condition("X", Custom(np.round, label=label)))
    assert unescape(shown) == label
