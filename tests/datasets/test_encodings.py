"""Names in old encodings: in tables, in lists beside a matrix and in archives; Western signs are not taken for others."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from PIL import Image
from scipy import sparse
from scipy.io import mmwrite

from semf_core.datasets import Reading, load_bytes, load_files
from semf_core.datasets.loaders import find_files
from semf_core.datasets.text_encoding import ENCODINGS, encoding_of
from tests.helpers import present

NAMES = {
    "gb18030": ("基因名称", "样品一", "样品二", "对照组"),
    "big5": ("基因名稱", "樣品一", "樣品二", "對照組"),
    "cp932": ("遺伝子データ", "サンプル1", "サンプル2", "対照"),
    "euc-jp": ("遺伝子データ", "サンプル1", "サンプル2", "対照"),
    "cp949": ("유전자 이름", "샘플 가", "샘플 나", "대조군"),
    "cp1251": ("название гена", "проба один", "ПРОБА ДВА", "Контроль"),
    "koi8-r": ("название гена", "проба один", "проба два", "Контроль"),
    "cp1250": ("źródło", "próba łąki", "średnia", "żółć"),
    "cp1252": ("Größe (µm)", "Temperatur (°C)", "naïve Ångström", "25 °C ± 1 µg"),
}


@pytest.mark.parametrize("form", NAMES)
def test_a_table_in_an_old_encoding(form):
    corner, *names = NAMES[form]
    text = ",".join([corner, *names]) + "\n" + "".join(f"{corner} {i},{i},{i * i % 7},2.5\n" for i in range(8))
    one = find_files([("a.csv", text.encode(form))], Reading(orientation="auto"))
    assert one.dataset.axes.columns.names == tuple(names) and present(one.dataset.axes.rows.names)[7] == f"{corner} 7"
    assert one.reading.encoding == form and f"were read as {ENCODINGS[form]}. Say so" in one.remarks[0]
    again = find_files([("a.csv", text.encode(form))], one.reading)
    assert again.dataset.axes == one.dataset.axes
    assert find_files([("a.csv", text.encode())], Reading()).reading.encoding == "auto"


@pytest.mark.parametrize(
    "text",
    ["Größe", "Ålesund,Århus,Ærø", "10 µm;20 µm;30 µm;40 µg", "“x” – y…", "ñandú, ¿qué?", "×,÷,½ cup", "25°±1,µµ", "ÄÖÜ", "é"],
)
def test_western_letters_and_signs_are_not_taken_for_others(text):
    assert encoding_of(text.encode("cp1252")) == "cp1252"


def test_an_encoding_can_be_told():
    text = "probe,Δείγμα,Έλεγχος\n" + "".join(f"a{i},{i},2\n" for i in range(4))
    told = find_files([("a.csv", text.encode("cp1253"))], Reading(encoding="cp1253"))
    assert told.dataset.axes.columns.names == ("Δείγμα", "Έλεγχος") and told.reading.encoding == "cp1253"
    assert load_bytes("a.csv", text.encode("cp1253")).axes.columns.names != told.dataset.axes.columns.names
    assert load_bytes("a.csv", b"a,\xff\xfe\xfd\n1,2\n3,4\n", Reading(encoding="cp949")).shape == (2, 2), "damaged letters"


def test_a_cell_as_long_as_the_file_is_judged_in_one_pass():
    long = b"NA " * 3_000_000  # looked at once more from each of its bytes, it would take hours
    assert encoding_of(long + "Größe".encode("cp1252")) == "cp1252"
    assert encoding_of(long + b"\n" + "基因样品对照名称".encode("gbk")) == "gb18030"


def test_lists_of_words_beside_a_matrix():
    words = ["基因", "样品", "对照", "名称"]
    stream = io.BytesIO()
    mmwrite(stream, sparse.coo_array(np.eye(4, 3)))
    data = load_files([("counts.mtx", stream.getvalue()), ("vocabulary.txt", "\n".join(words).encode("gbk"))])
    assert data.axes.rows.names == tuple(words)


@pytest.mark.parametrize("form", ["gbk", "utf-8", "cp437"])
def test_names_in_archives_that_do_not_say_how_they_are_encoded(form):
    names = {"gbk": ["样品一.png", "对照组.png"], "utf-8": ["größe.png", "样品.png"], "cp437": ["größe.png", "äö.png"]}[form]
    picture = io.BytesIO()
    Image.fromarray(np.zeros((2, 2), np.uint8)).save(picture, "PNG")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for k, name in enumerate(names):
            archive.writestr("z" * len(name.encode(form)) + str(k), picture.getvalue())
    content = stream.getvalue()
    for k, name in enumerate(names):
        content = content.replace(b"z" * len(name.encode(form)) + str(k).encode(), name.encode(form)[:-4] + b"%d.png" % k)
    found = load_bytes("a.zip", content).axes.columns.names
    assert set(present(found)) == {f"{name[:-4]}{k}.png" for k, name in enumerate(names)}
