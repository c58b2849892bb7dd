"""The Data page: every built-in set can be looked at, good files become data, bad ones a sentence."""

from __future__ import annotations

import gc
import io
import shutil
import zipfile
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from pages.ui import data_choice, places, preparation, proposal, session, uploading
from semf_core.datasets import DATASETS, Axis, Digits, Swimmer
from semf_core.model import preset, preset_names
from semf_core.runs.caches import Cache
from semf_core.sets import Nonnegative, Sparse
from semf_core.solvers import Limits
from tests.app.widgets import errors, open_page, open_panel, spec_of
from tests.helpers import present

BUILT_IN = [cls for cls in DATASETS if cls.name not in data_choice.HIDDEN]


@pytest.fixture
def home(service, monkeypatch):
    """Uploads go to a folder of the test's own, and leaving for the workbench is noted."""
    monkeypatch.setenv("SEMF_HOME", str(service.home))
    gone = []
    monkeypatch.setattr(places, "go", lambda name, **query: gone.append(name))

    def started(page):
        strip = service.strips.get(page.session_state[session.STRIP])
        return service.status(strip.current).spec

    return SimpleNamespace(gone=gone, started=started)


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def mat(**arrays) -> bytes:
    file = io.BytesIO()
    savemat(file, arrays)
    return file.getvalue()


def picture(size=(5, 4), value=100, kind="PNG") -> bytes:
    file = io.BytesIO()
    Image.new("L", size, value).save(file, kind)
    return file.getvalue()


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return file.getvalue()


def upload(*files: tuple[str, bytes]):
    page = open_page("data")
    page.segmented_control(key="data.way").set_value("upload").run()
    page.file_uploader(key="data.files").set_value([(name, content, "application/octet-stream") for name, content in files]).run()
    return page


def pictures(page) -> list[str]:
    return [h.value for h in page.html if "<img" in h.value]


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda cls: cls.name)
def test_every_built_in_set_is_shown(cls):
    page = open_page("data")
    page.selectbox(key="data.set").set_value(cls.name).run()
    assert not errors(page)
    assert len(pictures(page)) == 1
    assert "alt=" in pictures(page)[0]
    assert any("singular value" in m.value for m in page.markdown)
    assert any("Shape" in m.value for m in page.markdown)


def test_files_of_the_server_are_not_offered():
    page = open_page("data")
    assert not {"file", "upload"} & set(page.selectbox(key="data.set").options)
    assert len(page.selectbox(key="data.set").options) == len(BUILT_IN)


def test_parameters_make_the_data_and_changing_them_keeps_the_model(home):
    page = open_page("data")
    page.number_input(key="data.swimmer.noise").set_value(0.25).run()
    assert spec_of(page).dataset == Swimmer()
    page.button(key="data.use").click().run()
    assert home.gone == ["workbench"]
    assert home.started(page).dataset == Swimmer(noise=0.25)
    assert home.started(page).y == preset(preset_names()[0]).y


def test_other_data_gets_a_model_of_its_own(home):
    page = open_page("data")
    page.selectbox(key="data.set").set_value("digits").run()
    page.button(key="data.use").click().run()
    model = home.started(page)
    assert model.dataset == Digits() and model.x == model.y == (Nonnegative(),) and model.limits == Limits(max_iter=1000)
    proposed, why = page.session_state[proposal.WHY]
    assert proposed.dataset == Digits() and "nonnegative" in why and f"rank {model.rank}" in why
    assert page.session_state[proposal.KEPT] == preset(preset_names()[0])


def test_impossible_parameters_are_rejected_and_the_data_stays():
    page = open_page("data")
    page.selectbox(key="data.set").set_value("sparse_codes").run()
    page.number_input(key="data.sparse_codes.nonzeros").set_value(1000).run()
    assert any("cannot use 1000 of 60" in e for e in errors(page))
    assert len(pictures(page)) == 1
    page.selectbox(key="data.set").set_value("patches").run()
    page.number_input(key="data.patches.count").set_value(300_000).run()
    assert any("ask for fewer" in e for e in errors(page))
    page.number_input(key="data.patches.count").set_value(100).run()
    assert not errors(page)


def test_data_that_would_fill_the_server_is_rejected_before_it_is_made(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_ENTRIES_MILLIONS", "0.1")
    page = open_page("data")
    page.selectbox(key="data.set").set_value("sparse_codes").run()
    assert not errors(page)
    page.number_input(key="data.sparse_codes.samples").set_value(2000).run()
    assert errors(page) == ["Samples: 60 × 2000 is more than 100,000 entries; ask for a smaller matrix."]


GOOD = {
    "table.csv": (b"1,2,3\n4,5,6\n", (2, 3)),
    "table.tsv": (b"1\t2\n3\t4\n5\t6\n", (3, 2)),
    "array.npy": (npy(np.arange(12.0).reshape(3, 4)), (3, 4)),
    "arrays.npz": (npz(data=np.ones((4, 5)), labels=np.arange(5)), (4, 5)),
    "matlab.mat": (mat(M=np.ones((4, 6))), (4, 6)),
    "pictures.zip": (zipped(a_png=picture(), b_pgm=picture(kind="PPM")), (20, 2)),
    "one.pgm": (picture(kind="PPM"), (4, 5)),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_good_file_is_shown_and_can_be_used(name, home):
    content, shape = GOOD[name]
    page = upload((name, content))
    assert not errors(page)
    assert len(pictures(page)) == 1
    page.button(key="data.use").click().run()
    assert not errors(page)
    assert home.gone == ["workbench"]
    assert home.started(page).dataset.name == "upload"
    assert home.started(page).dataset.load().shape == shape


def test_an_upload_has_models_to_begin_with(home):
    page = upload(("array.npy", npy(np.random.default_rng(0).random((12, 20)))))
    page.button(key="data.use").click().run()
    panel = open_panel(home.started(page))
    panel.session_state[proposal.WHY] = page.session_state[proposal.WHY]
    panel.run()
    name = "Sparse parts: 3 entries each"
    assert name in next(b for b in panel.button_group if b.key == proposal.PILLS).options
    panel.selectbox(key="preset").set_value(name).run()
    assert (spec_of(panel).x, spec_of(panel).dataset) == ((Nonnegative(), Sparse(3)), home.started(page).dataset)


def test_several_pictures_are_one_matrix(home):
    page = upload(("a.png", picture(value=1)), ("b.png", picture(value=2)), ("c.png", picture(value=3)))
    assert not errors(page)
    page.button(key="data.use").click().run()
    assert home.started(page).dataset.load().image_shape == (4, 5)


def test_orientation_scaling_and_image_shape_are_chosen(home):
    page = upload(("rows.csv", b"0,1,2,3\n4,5,6,8\n"))
    page.segmented_control(key="data.reading.orientation").set_value("rows").run()
    page.selectbox(key=data_choice.SHAPE).set_value("2 × 2").run()
    assert "2 × 2 pixels" in pictures(page)[0]
    page.selectbox(key=preparation.ADD).set_value("normalise").run()
    page.segmented_control(key="data.step.0.norm").set_value("max").run()
    page.button(key="data.use").click().run()
    data = home.started(page).dataset.load()
    assert data.shape == (4, 2)
    assert data.image_shape == (2, 2)
    assert data.data.max() == 1


def test_an_image_shape_that_does_not_fit_is_refused(home):
    page = upload(("rows.csv", b"1,2\n3,4\n5,6\n"))
    page.selectbox(key=data_choice.SHAPE).set_value(data_choice.OTHER).run()
    page.text_input(key="data.image_shape.text").set_value("2 x 2").run()
    assert any("whose product is 3" in e for e in errors(page))
    page.text_input(key="data.image_shape.text").set_value("3 x 1").run()
    assert not errors(page)


def test_the_member_of_a_file_with_several_matrices_is_asked_for(home):
    page = upload(("two.npz", npz(A=np.ones((2, 3)), B=np.ones((4, 5)))))
    assert not errors(page) and page.selectbox(key="data.reading.member").options == ["A (2 × 3)", "B (4 × 5)"]
    page.selectbox(key="data.reading.member").set_value("A").run()
    assert not errors(page)
    page.button(key="data.use").click().run()
    assert home.started(page).dataset.load().shape == (2, 3) and home.started(page).dataset.member == "A"


def test_a_known_truth_is_mentioned(home):
    truth = Swimmer().load()
    groups = np.zeros(17, int)
    for t, group in enumerate(present(truth.groups)):
        groups[list(group)] = t
    page = upload(("swimmer.npz", npz(data=truth.data, parts=truth.parts, groups=groups, image_shape=np.array([32, 32]))))
    assert any("17 parts in 5 groups" in i.value for i in page.info)
    page.button(key="data.use").click().run()
    assert home.started(page).dataset.load().groups == truth.groups


BAD: dict[str, Any] = {
    "empty.csv": b"",
    "words.csv": b"name,colour\nred,blue\n",
    "pickle.npy": npy(np.array([{"a": 1}], dtype=object)),
    "cube.npy": npy(np.zeros((2, 5, 6, 7))),
    "infinite.npy": npy(np.full((2, 2), np.inf)),
    "objects.mat": mat(a=np.array([1.0, "x"], dtype=object)),
    "bomb.zip": lambda: zipped(a_png=b"\0" * 300_000_000),
    "flat.png": lambda: picture((60_000_000, 1)),
    "broken.zip": zipped(a_png=picture())[:-30],
    "wrong.npy": b"this is no array",
    "nothing.zip": zipped(a_txt=b"hello"),
    "book.xlsx": zipped(workbook_xml=b"<x/>"),
}
"""Large ones are made by the test that needs them, not by every process that collects tests."""


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_rejected_in_a_sentence_and_the_data_stays(name, home):
    content = BAD[name]
    page = upload((name, content if isinstance(content, bytes) else content()))
    (sentence,) = errors(page)
    assert name.split(".")[0] in sentence.lower()
    assert sentence.endswith(".")
    assert spec_of(page) == preset(preset_names()[0])
    assert not pictures(page)
    assert home.gone == []


def test_a_rejected_file_does_not_join_the_next(home, monkeypatch):
    page = upload(("words.csv", BAD["words.csv"]))
    (rejected,) = page.session_state[data_choice.REJECTED]
    old, new = SimpleNamespace(file_id=rejected, name="words.csv"), SimpleNamespace(file_id="new", name="table.csv")
    said: list = []
    monkeypatch.setattr(data_choice.st, "session_state", {data_choice.REJECTED: frozenset({rejected})})
    monkeypatch.setattr(data_choice.params, "note", said.append)
    assert data_choice._without_rejected([old, new]) == [new]
    assert "words.csv" in said[0]
    assert data_choice._without_rejected([old]) == [old], "alone it is rejected again, in words"


def test_files_that_do_not_go_together_are_refused(home):
    page = upload(("a.csv", b"1,2\n"), ("b.png", picture()))
    assert any("must be pictures" in e for e in errors(page))


def test_data_that_is_gone_is_said_so_in_the_panel(home, service):
    page = upload(("array.npy", npy(np.arange(12.0).reshape(3, 4))))
    page.button(key="data.use").click().run()
    model = home.started(page)
    assert not any("no longer" in e for e in errors(open_panel(model)))
    shutil.rmtree(service.home / "data")
    service.datasets._loaded = Cache()
    assert any("no longer on this server" in e for e in errors(open_panel(model)))


def test_a_file_stays_where_its_data_cannot_be_run(home, service, monkeypatch):
    page = upload(("array.npy", npy(np.arange(12.0).reshape(3, 4))))
    monkeypatch.setenv("SEMF_MAX_WAITING", "0")
    page.button(key="data.use").click().run()
    assert any("waiting" in e for e in errors(page)) and home.gone == []
    monkeypatch.delenv("SEMF_MAX_WAITING")
    page.button(key="data.use").click().run()
    assert not errors(page) and home.gone == ["workbench"]
    assert home.started(page).dataset.load().shape == (3, 4)


def test_a_file_leaves_memory_and_disk_when_it_is_not_needed(home, service, monkeypatch):
    held, add_file = {}, MemoryUploadedFileManager.add_file

    def watched(self, session_id, file):
        held[file.name] = len(file.data)
        add_file(self, session_id, file)

    monkeypatch.setattr(MemoryUploadedFileManager, "add_file", watched)
    page = upload(("array.npy", npy(np.arange(12.0).reshape(3, 4))))
    assert held == {"array.npy": 0}, "Streamlit has the name and no bytes"
    assert [len(file.getbuffer()) for file in page.session_state["data.files"]] == [0], "nor has the widget's value"
    incoming, data = service.home / "incoming", service.home / "data"
    assert len(list(incoming.rglob("*"))) == 2 and len(list(data.iterdir())) == 1
    page.segmented_control(key="data.reading.orientation").set_value("rows").run()
    assert not errors(page) and len(list(data.iterdir())) == 1, "read again from disk, and only the last reading stays"
    page.file_uploader(key="data.files").set_value([]).run()
    assert not list(incoming.iterdir()) and not list(data.iterdir())
    page = upload(("array.npy", npy(np.arange(12.0).reshape(3, 4))))
    page.button(key="data.use").click().run()
    assert not list(incoming.iterdir()) and len(list(data.iterdir())) == 1
    page = upload(("array.npy", npy(np.arange(12.0).reshape(3, 4))))
    del page.session_state[uploading.BASKET]
    gc.collect()
    assert not list(incoming.iterdir()) and len(list(data.iterdir())) == 1, "they go with the session"


SPECTRA = b"wavelength (nm),s1,s2\n" + b"\n".join(b"%d,%d,%d" % (400 + i, i * i % 7, i % 3) for i in range(12))


def test_what_was_judged_is_asked_and_can_be_said_otherwise(home):
    page = upload(("spectra.csv", SPECTRA))
    said = " ".join(m.value for m in page.markdown).replace("\\:", ":")
    assert "12 rows × 2 columns, with an axis in the first column: samples are columns?" in said
    assert "Rows: wavelength (nm): 400, 401, …, 411. Samples: s1, s2." in said
    assert any("2 of 2 samples as curves over wavelength (nm)" in drawn.body for drawn in page.get("html"))
    assert data_choice.SHAPE not in [box.key for box in page.selectbox], "a curve is no picture, so its sides are not asked"
    page.selectbox(key="data.reading.index").set_value("data").run()
    assert not errors(page) and any("**12 × 3**" in m.value for m in page.markdown)


def test_dates_in_the_first_line_may_be_names(home):
    days = [f"2024-01-{j + 1:02}" for j in range(9)]
    lines = [f"s{i}," + ",".join(str((i * j) % 7) for j in range(9)) for i in range(4)]
    page = upload(("days.csv", "\n".join([",".join(["place", *days]), *lines]).encode()))
    assert page.selectbox(key="data.reading.header").value == "axis"
    page.selectbox(key="data.reading.header").set_value("names").run()
    assert not errors(page)
    page.button(key="data.use").click().run()
    used = home.started(page).dataset
    assert used.header == "names" and used.load().axes.columns == Axis(names=tuple(days))


def test_letters_gaps_and_places_can_be_said_otherwise(home):
    lines = [f"{8 + i // 2:02}:{i % 2 * 30:02},{i},{-999 if i == 3 else i * i % 7}" for i in range(10)]
    page = upload(("logger.csv", "\n".join(["时间,温度计,湿度计", *lines]).encode("gbk")))
    said = " ".join(m.value for m in page.markdown)
    assert "湿度计" in said and "were read as Chinese" in said and "**1 (" in said
    page.selectbox(key="data.reading.missing").set_value("none").run()
    assert not errors(page) and any("**0**" in m.value for m in page.markdown if m.value.startswith("Missing"))
    page.selectbox(key="data.reading.missing").set_value("-999").run()
    page.selectbox(key="data.reading.encoding").set_value("cp1252").run()
    assert not errors(page) and "湿度计" not in " ".join(m.value for m in page.markdown)
    page.selectbox(key="data.reading.encoding").set_value("gb18030").run()
    page.button(key="data.use").click().run()
    used = home.started(page).dataset
    assert (used.encoding, used.missing, used.orientation, used.load().missing) == ("gb18030", "-999", "rows", 1)
    assert used.load().axes.rows.names == ("温度计", "湿度计") and used.load().axes.columns.unit == "h"
    long = "\n".join(f"{x},{y},{w},{x * w % 7}" for x in range(3) for y in range(4) for w in range(500, 506))
    page = upload(("map.csv", ("x,y,wave,intensity\n" + long).encode()))
    assert any("**6 × 12**" in m.value for m in page.markdown) and page.selectbox(key="data.reading.index").value == "long"
    page.selectbox(key="data.reading.index").set_value("data").run()
    assert not errors(page) and any("**72 × 4**" in m.value for m in page.markdown)


def test_preparation_is_rejected_in_words_taken_back_and_part_of_the_model(home):
    page = upload(("spectra.csv", SPECTRA))
    page.selectbox(key=preparation.ADD).set_value("crop-picture").run()
    assert any("neither the samples are pictures" in e for e in errors(page))
    page.button(key="data.step.0.remove").click().run()
    page.selectbox(key=preparation.ADD).set_value("crop").run()
    page.number_input(key="data.step.0.last").set_value(405.0).run()
    assert not errors(page)
    page.button(key="data.use").click().run()
    used = home.started(page).dataset
    assert used.prepare == "crop:last=405.0" and used.file == "spectra.csv" and used.index == "axis"
    assert used.load().shape == (6, 2) and home.started(page).dataset.load().axes.columns.names == ("s1", "s2")


def test_earlier_uploads_are_listed_with_their_steps(home, service):
    page = upload(("spectra.csv", SPECTRA))
    page.selectbox(key=preparation.ADD).set_value("log1p").run()
    page.button(key="data.use").click().run()
    later = open_page("data")
    later.session_state[session.STRIPS] = dict(page.session_state[session.STRIPS])
    later.segmented_control(key="data.way").set_value("earlier").run()
    (option,) = later.selectbox(key="data.earlier").options
    assert option.startswith("spectra.csv: 12 × 2, used in")
    assert any("log(1 + x)" in e.label for e in later.expander)
    later.button(key="data.step.0.remove").click().run()
    later.button(key="data.use").click().run()
    assert home.started(later).dataset.prepare == "" and not errors(later)
