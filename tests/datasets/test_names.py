"""Names, units and axes: how tables are judged, and that they are the same after every way through the product."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes, Axis, Dataset, FileSource, Reading, load_bytes
from semf_core.datasets.axes import clean, clock_times, component_names, moment, moments, titled
from semf_core.datasets.loaders import find_files
from semf_core.drawing.components import ranked
from semf_core.exports import EXPORTS
from semf_core.model import ModelSpec
from semf_core.runs.folder import RunFolder
from semf_core.runs.uploads import add_upload, read_dataset, write_dataset
from semf_core.snapshots.bundle import bundled, unbundled
from semf_core.snapshots.format import read_snapshot, snapshot_bytes
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from semf_core.snapshots.to_run_folder import to_run_folder
from tests.exports.readers import read_zip
from tests.helpers import present

AUTO = Reading(orientation="auto")


def found(text: str, name: str = "a.csv", reading: Reading = AUTO):
    return find_files([(name, text.encode())], reading)


class TestTables:
    def test_header_and_index_become_names_and_the_longer_side_is_the_rows(self):
        text = "city,p 1,p 2\n" + "\n".join(f"G{i},{i * i},{i % 3}" for i in range(5))
        one = found(text)
        assert one.reading.orientation == "columns" and one.dataset.shape == (5, 2)
        assert one.dataset.axes.rows == Axis("city", names=tuple(f"G{i}" for i in range(5)))
        assert one.dataset.axes.columns.names == ("p 1", "p 2")
        assert "5 rows × 2 columns, names in the first row and in the first column" in one.question
        turned = found(text, reading=Reading(orientation="rows")).dataset
        assert turned.axes.columns.names == one.dataset.axes.rows.names and turned.shape == (2, 5)

    def test_header_of_r_lacks_the_cell_above_the_names(self):
        data = found("a b\nx 1 2\ny 3 5\nz 4 4\n", "a.txt").dataset
        assert data.axes.rows.names == ("x", "y", "z") and data.axes.columns.names == ("a", "b")

    def test_names_with_quotes_commas_and_letters_beyond_ascii(self):
        data = found('name,"a, b",größe\n"x, ""y""",1,2\nÅ,3,4\n').dataset
        assert data.axes.columns.names == ('x, "y"', "Å") or data.axes.rows.names == ('x, "y"', "Å")
        latin = load_bytes("a.csv", "name,größe\nÅ,1\nß,2\n".encode("latin-1"))
        assert latin.axes.rows.names == ("Å", "ß")

    def test_an_axis_with_its_unit(self):
        lines = [f"{400 + 10 * i},{np.sin(i):.3f},{np.cos(i):.3f}" for i in range(12)]
        one = found("Raman shift [cm-1],s1,s2\n" + "\n".join(lines))
        rows = one.dataset.axes.rows
        assert (rows.title, rows.unit) == ("Raman shift", "cm-1") and one.reading.index == "axis"
        np.testing.assert_array_equal(rows.values, 400 + 10 * np.arange(12))
        assert one.dataset.axes.columns.names == ("s1", "s2") and one.dataset.shape == (12, 2)
        as_data = found("Raman shift [cm-1],s1,s2\n" + "\n".join(lines), reading=Reading(index="data")).dataset
        assert as_data.shape == (12, 3) and not as_data.axes.rows
        headless = found("\n".join(lines)).dataset
        assert headless.shape == (12, 2) and headless.axes.rows.values is not None

    def test_an_axis_in_the_first_row_makes_the_rows_samples(self):
        axis = ",".join(str(500.5 + i) for i in range(10))
        lines = [f"s{k}," + ",".join(f"{np.sin(k * i):.3f}" for i in range(10)) for k in range(1, 4)]
        one = found(f"wavelength (nm),{axis}\n" + "\n".join(lines))
        assert one.reading.orientation == "rows" and one.dataset.shape == (10, 3)
        assert one.dataset.axes.rows.heading == "wavelength (nm)" and one.dataset.axes.rows.values[0] == 500.5
        assert one.dataset.axes.columns.names == ("s1", "s2", "s3")

    @pytest.mark.parametrize("title", ["", "id", "Unnamed: 0", "samples"])
    def test_a_numeric_id_is_recognised_and_asked_about(self, title):
        text = f"{title},a,b\n" + "\n".join(f"{i + 1},{i * i % 7},{i % 3}" for i in range(9))
        one = found(text)
        assert set(one.dataset.shape) == {9, 2} and one.reading.index == "names" and "id" in one.remarks[0]
        assert one.dataset.axes.columns.names == tuple(map(str, range(1, 10))) or one.dataset.axes.rows.names[8] == "9"
        assert found(text, reading=Reading(index="data")).dataset.shape == (9, 3)

    def test_plain_numbers_are_left_alone(self):
        grid = np.arange(200.0).reshape(20, 10)
        text = "\n".join(",".join(map(str, row)) for row in grid)
        np.testing.assert_array_equal(found(text).dataset.data, grid)

    @pytest.mark.parametrize("form", ["2020-01-0{}", "0{}.01.2020", "01/0{}/2020", "2020-01-0{}T12:30:00"])
    def test_dates(self, form):
        text = "day,a,b\n" + "\n".join(f"{form.format(i + 1)},{i},{2 * i}" for i in range(4))
        axis = found(text, reading=Reading()).dataset.axes.rows
        assert axis.calendar and axis.names[0] == form.format(1) and np.diff(axis.values).tolist() == [86400.0] * 3
        assert moment(axis.values[0]).startswith("2020-01-01")

    @pytest.mark.parametrize(
        ("first", "second", "days"),
        [("Jan 2021", "Feb 2021", 31), ("Jan-21", "Feb-21", 31), ("2021Q1", "2021Q2", 90), ("2-May-2021", "3-May-2021", 1)],
    )
    def test_months_and_quarters(self, first, second, days):
        axis = found(f"when,a,b\n{first},1,2\n{second},3,5\n", reading=Reading()).dataset.axes.rows
        assert axis.calendar and axis.names == (first, second) and np.diff(axis.values).tolist() == [86400.0 * days]

    def test_times_with_am_and_pm(self):
        axis = found("t,a,b\n01/01/2024 11:30 AM,1,2\n01/01/2024 12:15 PM,3,5\n", reading=Reading()).dataset.axes.rows
        assert axis.calendar and np.diff(axis.values).tolist() == [2700.0]

    def test_words_that_names_share_tell_the_samples(self):
        words = ["moon", "star", "bread"]
        across = "," + ",".join(f"doc{j}" for j in range(9)) + "\n" + "".join(f"{w},{',1' * 8}\n" for w in words)
        one = found(across, reading=Reading(orientation="auto"))
        assert one.reading.orientation == "columns" and "such as “doc0”" in one.question
        down = ",gene 1,gene 2\n" + "".join(f"x{i},{i},2\n" for i in range(9))
        assert found(down, reading=Reading(orientation="auto")).reading.orientation == "rows"

    def test_pandas_counts_rows_and_columns_that_have_no_names(self):
        text = pd.DataFrame(np.random.default_rng(0).random((12, 9))).to_csv()
        one = found(text, reading=Reading(orientation="auto"))
        assert "axis" not in one.question and one.dataset.axes.columns.numbered and one.dataset.shape == (12, 9)

    def test_labels_and_further_words(self):
        text = "a,b,species,remark\n" + "\n".join(f"{i},{i * 2},{'xy'[i % 2]},r{i}" for i in range(6))
        one = found(text)
        assert one.reading.orientation == "rows" and list(one.dataset.labels) == list("xyxyxy")
        assert one.dataset.shape == (2, 6)

    def test_lines_of_words_below_the_header_label_the_columns(self):
        head = "gene,about,p,q,r,s\nclass,,ALL,ALL,AML,AML\nplate,,a,b,c,d\n"
        text = head + "".join(f"G{i},x y {i},{i},2,3,{i}\n" for i in range(9))
        one = found(text)
        assert one.reading.orientation == "columns" and one.dataset.shape == (9, 4)
        assert list(one.dataset.labels) == ["ALL", "ALL", "AML", "AML"] and one.dataset.axes.columns.names == ("p", "q", "r", "s")
        assert one.dataset.axes.rows.names[0] == "G0" and any("plate" in remark for remark in one.remarks)
        with pytest.raises(InvalidInput, match="line 2, column 3 holds the text 'q'"):
            found("g,a,b\nx,1,q\ny,3,4\n")

    def test_missing_stays_missing_beside_names(self):
        data = found("g,a,b\nx,1,\ny,NA,4\nz,,\n", reading=Reading()).dataset
        np.testing.assert_array_equal(data.data, [[1, np.nan], [np.nan, 4], [np.nan, np.nan]])
        assert data.axes.rows.names == ("x", "y", "z") and data.missing == 4

    def test_a_text_cell_and_a_short_line_are_named_as_an_editor_counts(self):
        with pytest.raises(InvalidInput, match="line 3, column 3 holds the text 'q'"):
            found("g,a,b\nx,1,2\ny,3,q\n")
        with pytest.raises(InvalidInput, match="line 3 has 2 cells"):
            found("g,a,b\nx,1,2\ny,3\n")


class TestAxis:
    def test_title_and_unit(self):
        assert (titled("wavelength (nm)").title, titled("wavelength (nm)").unit) == ("wavelength", "nm")
        assert titled("a [b] c").title == "a [b] c"

    def test_what_one_place_is_called_in_a_sentence(self):
        assert Axis("time", "s", values=np.array([0.5, 20240101])).label_with_unit(0) == "0.5 s"
        assert Axis(values=np.array([0.5, 20240101])).label(1) == "20240101", "a long id keeps its digits"
        assert Axis("day", "d", names=("Monday",)).label_with_unit(0) == "Monday" and Axis().label_with_unit(3) == "4"

    @pytest.mark.parametrize(
        "axes", [{"rows": {"names": ["a"]}}, {"rows": {"values": [1, 2, "x"]}}, {"columns": 3}, {"map_shape": [1]}, []]
    )
    def test_what_does_not_fit_is_refused(self, axes):
        with pytest.raises(InvalidInput):
            Axes.from_dict(axes, (3, 2))

    def test_a_dataset_checks_them(self):
        with pytest.raises(InvalidInput, match="3 for the rows"):
            Dataset(np.ones((2, 2)), axes=Axes(Axis(names=("a", "b", "c"))))


ROWS = Axis("band", "nm", values=np.array([400.5, 410.25, 433.0]))
WORDS = Axis("gene", names=("=SUM(A1)", "größe, 1", "-x"))
DATES = ("2020-01-01", "2020-01-02", "2020-01-04", "2020-01-05")
DAYS = Axis("day", names=DATES, values=moments(DATES), calendar=True)
NAMED = Axis("sample", names=("s 1", "s'2", "@3", '"4"'))


@pytest.fixture(scope="module", params=["axis and dates", "words and names"])
def exported(request, tmp_path_factory):
    """A run on named data, saved as a snapshot without its data, opened again: its folder."""
    rows, columns = (ROWS, DAYS) if request.param == "axis and dates" else (WORDS, NAMED)
    home = tmp_path_factory.mktemp("home")
    data = Dataset(np.random.default_rng(0).random((3, 4)), title="Mine", axes=Axes(rows, columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMF_HOME", str(home))
        source = add_upload(data, home)
        assert source.load().axes == data.axes
        folder = RunFolder(tmp_path_factory.mktemp("run"))
        values = {"dataset": source.to_dict(), "rank": 2, "limits": {"max_iter": 5}, "x": [{"name": "nonnegative"}]}
        record(ModelSpec.from_dict(values), folder)
        folder.write_component_names(["rising", ""])
        content = from_run(folder, data, Label(title="t"), Story(0.0))
    opened = RunFolder(tmp_path_factory.mktemp("opened"))
    to_run_folder(read_snapshot("a.semf", snapshot_bytes(content)), opened)
    return opened, data


def again(kind: str, folder: RunFolder, member: str) -> Dataset:
    """U or V, read back from an export."""
    made = EXPORTS[kind].make(folder, None)
    if kind in ("csv", "parquet"):
        return load_bytes(f"{member}.{kind}", read_zip(made)[f"{member}.{kind}"])
    if kind == "h5ad":
        return load_bytes("a.h5ad", made, Reading(member={"U": "varm/SeMF", "V": "obsm/SeMF"}[member]))
    return load_bytes(f"a.{kind}", made, Reading(member=member))


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "mat", "h5ad"])
def test_names_are_identical_after_run_snapshot_export_and_load(exported, kind):
    folder, data = exported
    U, V = again(kind, folder, "U"), again(kind, folder, "V")
    assert U.axes.columns.names == ("rising", "component 2")
    assert U.axes.rows.cells() == data.axes.rows.cells() and U.axes.rows.calendar == data.axes.rows.calendar
    if U.axes.rows.values is not None:
        np.testing.assert_array_equal(U.axes.rows.values, data.axes.rows.values)
    side = V.axes.rows if kind == "parquet" else V.axes.columns  # one line for each sample
    assert side.cells() == data.axes.columns.cells() and side.calendar == data.axes.columns.calendar
    assert (V.axes.columns if kind == "parquet" else V.axes.rows).names == ("rising", "component 2")


TRICKY = [
    "10",
    "1",
    "2",
    "-3",
    "1e5",
    "NA",
    "",
    "nan",
    "=SUM(A1)",
    "-x",
    "#1",
    "a #2",
    "7#",
    "'",
    "'10",
    '"',
    "a,b",
    "x;y",
    "größe",
    "µ",
]
LETTERS = st.text(st.characters(codec="latin-1", exclude_categories=("Cc", "Cs")), max_size=8)
HEADINGS = st.tuples(st.sampled_from(["", "band", "m/z", "time", "foo bar"]), st.sampled_from(["", "nm", "cm-1", "µs"]))


@st.composite
def an_axis(draw, count: int) -> Axis:
    """Names, places in any order, or dates."""
    kinds = ["names", "places", "dates", "days as names", "hours", "hours as names", "measured", "measured as names"]
    kind, (title, unit) = draw(st.sampled_from(kinds)), draw(HEADINGS)
    if kind == "names":
        return Axis(
            title, unit if title else "", tuple(draw(st.lists(st.sampled_from(TRICKY) | LETTERS, min_size=count, max_size=count)))
        )
    numbers = draw(st.lists(st.integers(-(10**6), 10**6), min_size=count, max_size=count, unique=True))
    if kind == "places":
        return Axis(title, unit if title else "", values=np.array(numbers) / 8)
    if kind.startswith("measured"):
        heading, form = draw(st.sampled_from([("time (s)", "{:.3f} s"), ("(mg)", "{:.3f} mg"), ("wavelength (nm)", "{:.3f}nm")]))
        places = np.sort(np.abs(numbers)) / 8 + np.arange(count)
        cells = tuple(map(form.format, places))
        return titled(heading, names=cells, values=places if kind == "measured" else None)
    if kind.startswith("hours"):
        minutes = sorted(number % 1440 for number in numbers)
        clock = tuple(f"{m // 60}:{m % 60:02}" for m in minutes)
        hours = clock_times(clock) if kind == "hours" else None
        return (
            Axis(title, unit if title else "", clock)
            if hours is None
            else Axis(title or "time", unit if title and unit else "h", clock, hours)
        )
    days = tuple(moment(86400.0 * number / 100 // 60 * 60) for number in numbers)
    return Axis(title, "", days) if kind == "days as names" else Axis(title, "", days, moments(days), calendar=True)


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_names_titles_units_and_axes_come_back_from_snapshot_and_export(exported, tmp_path_factory, data):
    folder, before = exported
    axes = Axes(data.draw(an_axis(3)), data.draw(an_axis(4)))
    typed = tuple(data.draw(st.lists(LETTERS.filter(str.strip), min_size=2, max_size=2, unique_by=lambda n: clean(n).casefold())))
    named = Dataset(before.data, axes=axes)
    content = replace(from_run(folder, named, Label(title="t"), Story(0.0)), components=tuple(clean(n) for n in typed))
    opened = RunFolder(tmp_path_factory.mktemp("opened"))
    to_run_folder(read_snapshot("a.semf", snapshot_bytes(content)), opened)
    for kind in ("csv", "parquet", "npz", "mat", "h5ad"):
        U, V = again(kind, opened, "U").axes, again(kind, opened, "V").axes
        samples = V.rows if kind == "parquet" else V.columns
        for side, known in ((U.rows, axes.rows), (samples, axes.columns)):
            assert (kind, side) == (kind, known)
        assert U.columns.names == tuple(component_names(content.components, 2)), kind


MONTHS = ("Jan 2021", "Feb 2021", "Mar 2021", "Apr 2021")
EVENING = ("01/02/2024 9:00 PM", "01/02/2024 9:30 PM", "01/02/2024 10:00 PM", "01/02/2024 10:30 PM")


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz", "mat", "h5ad"])
@pytest.mark.parametrize(
    "samples",
    [Axis(), Axis("month", names=MONTHS), Axis("m", "", EVENING, moments(EVENING), calendar=True), Axis(names=("2Q1", *"abc"))],
    ids=["without names", "months as names", "times of an evening", "no quarter"],
)
def test_samples_come_back_as_they_were(exported, tmp_path_factory, kind, samples):
    content = replace(from_run(exported[0], exported[1], Label(title="t"), Story(0.0)), axes=Axes(columns=samples))
    opened = RunFolder(tmp_path_factory.mktemp("opened"))
    to_run_folder(read_snapshot("a.semf", snapshot_bytes(content)), opened)
    U, V = again(kind, opened, "U"), again(kind, opened, "V")
    assert U.shape == (3, 2) and not U.axes.rows
    assert (V.axes.rows if kind == "parquet" else V.axes.columns) == samples


def test_scores_of_counts_are_written_out():
    listed = ranked(np.array([3644.0, 0.51234]), Axis(names=("a", "b")), "row")
    assert "<span>3,640</span>a" in listed and "<span>0.512</span>b" in listed


def test_the_tops_and_the_report_have_the_names(exported):
    folder, data = exported
    top = EXPORTS["top"].make(folder, None).decode()
    assert top.startswith("component,kind,place,name,score\nrising,row,1,")
    page = EXPORTS["html"].make(folder, None).decode()
    assert "rising" in page and "The components" in page
    assert (' nm"' in page) == (data.axes.rows is ROWS) and ("top genes" in page) == (data.axes.rows is WORDS)


def test_a_snapshot_with_other_names_than_rows_is_refused(exported):
    folder, data = exported
    content = from_run(folder, data, Label(title="t"), Story(0.0))
    wrong = replace(content, axes=Axes(Axis(names=("only one",))))
    with pytest.raises(InvalidInput, match="cannot be opened"):
        read_snapshot("a.semf", snapshot_bytes(wrong))


def test_a_file_source_repeats_its_reading(tmp_path: Path):
    (tmp_path / "a.csv").write_text("gene,p,q\nA,1,2\nB,3,4\nC,5,7\n")
    source = FileSource(path=str(tmp_path / "a.csv"), prepare="log1p  crop:last=2,first=1")
    assert source.prepare == "log1p crop:first=1.0,last=2.0"
    assert source.load().axes.rows.names == ("A", "B")
    assert io.StringIO(str(source.to_dict())).read().count("prepare") == 1


def test_classes_of_samples_come_back_from_anndata(exported):
    folder, data = exported
    classes = ["B", "T", "B", ""]
    made = EXPORTS["h5ad"].make(folder, replace(data, labels=np.array(classes), labels_title="cell/type"))
    again = load_bytes("a.h5ad", made)
    assert present(again.labels).tolist() == classes and again.axes == data.axes
    assert again.labels_title == "cell/type"
    untitled = EXPORTS["h5ad"].make(folder, replace(data, labels=np.array(classes)))
    assert load_bytes("a.h5ad", untitled).labels_title == "label"


@pytest.mark.parametrize(
    ("table", "title"),
    [
        ("name,kind,a,b\np,x,1,2\nq,x,3,4\nr,y,5,6\ns,y,7,8\n", "kind"),
        ("class,a,b\n1,1,2\n1,3,4\n2,5,6\n2,7,8\n", "class"),
        ("gene,a,b,c,d\ntissue,x,x,y,y\np,1,2,3,4\nq,5,6,7,8\n", "tissue"),
    ],
)
def test_labels_keep_their_title_in_an_upload_and_in_a_snapshot(exported, tmp_path, table, title):
    found = load_bytes("a.csv", table.encode(), Reading(orientation="auto"))
    assert found.labels is not None and found.labels_title == title
    write_dataset(found, tmp_path)
    assert read_dataset(tmp_path).labels_title == title
    assert unbundled(*bundled(found)).labels_title == title
    assert "labels_title" not in bundled(replace(found, labels_title=""))[1], "older versions open what has no title"
