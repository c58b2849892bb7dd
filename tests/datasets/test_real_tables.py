"""Tables as instruments, archives of microarrays and text tools write them: nothing of them is taken for what it is not."""

from __future__ import annotations

import io

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite, savemat

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axis, Reading
from semf_core.datasets.loaders import ADVICE, KINDS, find_files

AUTO = Reading(orientation="auto", member="")
SHIFTS = [f"{400 + 2.5 * i:.1f}" for i in range(20)]
SPOTS = [f"spot {j}" for j in range(6)]
LEVELS = np.random.default_rng(0).random((20, 6)).round(3) + 3


def found(text: str, name: str = "a.csv", reading: Reading = AUTO):
    return find_files([(name, text.encode())], reading)


def table(first, head, M, sep=",", comma=".", corner="Wavenumber (cm-1)") -> str:
    lines = [sep.join([corner, *head])]
    lines += [sep.join([str(name), *(f"{v:.3f}".replace(".", comma) for v in row)]) for name, row in zip(first, M, strict=True)]
    return "\n".join(lines) + "\n"


GENES = [f"G{i}" for i in range(20)]


class TestSpectra:
    def check(self, one) -> None:
        rows = one.dataset.axes.rows
        np.testing.assert_array_equal(rows.values, [float(s) for s in SHIFTS])
        assert one.dataset.axes.columns.names == tuple(SPOTS)
        np.testing.assert_allclose(one.dataset.data, LEVELS)

    @pytest.mark.parametrize("sep", [";", "\t"])
    def test_decimal_commas_also_in_the_header(self, sep):
        shifts = [s.replace(".", ",") for s in SHIFTS]
        self.check(found(table(shifts, SPOTS, LEVELS, sep, ","), "a.txt"))
        self.check(found(table(SPOTS, shifts, LEVELS.T, sep, ",", corner="Probe"), "a.txt"))

    def test_between_tabs_the_commas_of_names_and_of_thousands_are_none(self):
        text = "gene\ta\tb\n" + "".join(f"x, y{i}\t{i}.5\t2\n" for i in range(4))
        assert found(text, "a.tsv").dataset.axes.rows.names[1] == "x, y1"
        with pytest.raises(InvalidInput, match="1,234,567"):
            found("a\tb\n1\t2\n1,234,567\t2,345\n3\t4\n", "a.tsv")

    def test_lines_of_an_instrument_above_the_table_are_left_out_and_said(self):
        head = "Instrument: X\nLaser\t785 nm\n\n"
        one = found(head + table(SHIFTS, SPOTS, LEVELS, "\t"), "a.txt")
        self.check(one)
        assert "The first 3 lines (“Instrument: X” …) are no part of the table" in one.remarks[0]
        with pytest.raises(InvalidInput, match="line 9 has 2 cells"):  # lines are counted as in an editor
            lines = (head + table(SHIFTS, SPOTS, LEVELS, "\t")).splitlines()
            found("\n".join([*lines[:8], "1\t2", *lines[8:]]), "a.txt")

    def test_a_short_first_line_of_numbers_is_a_mistake(self):
        with pytest.raises(InvalidInput, match="make all lines equally long"):
            found("1,2\n" + "3,4,5,6\n" * 5)
        with pytest.raises(InvalidInput, match="make all lines equally long"):
            found("a,b,c\nx,1,2\n" + "y,1,2,3\n" * 5)

    def test_samples_that_are_numbered_are_no_axis(self):
        one = found(table(SHIFTS, [str(j + 1) for j in range(6)], LEVELS, corner="wavenumber"))
        assert one.dataset.axes.columns.names == ("1", "2", "3", "4", "5", "6") and one.reading.orientation == "columns"
        assert one.dataset.axes.columns.numbered and one.dataset.axes.rows.values is not None

    @pytest.mark.parametrize(("head", "foot"), [("", "\n"), ("Data of a\n\nDate: x\n>>Begin<<\n", "")])
    def test_lines_below_the_table_are_left_out_and_said(self, head, foot):
        one = found(head + table(SHIFTS, SPOTS, LEVELS, "\t") + foot + ">>End<<\n\nOperator: x\n", "a.txt")
        self.check(one)
        assert "The last 2 lines (“>>End<<” …) are no part of the table" in one.remarks[-2]
        with pytest.raises(InvalidInput, match="make all lines equally long"):  # cut off, not a remark
            found(table(GENES, SPOTS, LEVELS, "\t") + "G2")

    def test_an_axis_beside_each_curve_is_taken_once(self):
        lines = [",".join(f"{s},{v:.3f}" for v in row) + "," for s, row in zip(SHIFTS, LEVELS, strict=True)]
        units = "Wavenumber (cm-1),%T," * 6
        self.check(one := found("\n".join([",".join(f"{name}," for name in SPOTS), units, *lines])))
        assert one.dataset.axes.rows.heading == "Wavenumber (cm-1)" and "beside each of the 6 curves" in one.remarks[0]
        named = ",".join(f"x,{name}" for name in SPOTS)
        self.check(found("\n".join([named, *(line[:-1] for line in lines)])))
        with pytest.raises(InvalidInput, match=r"columns 1 and 3 are both headed “Wavenumber .*”, and differ"):
            found("\n".join([units, lines[0].replace("400.0,", "401.0,").replace("401.0,", "400.0,", 1), *lines[1:]]))

    @pytest.mark.parametrize("text", ["#a,b", "!a\n!b\n", "#1.2\n", "#1.2\n3\t4", '"a,b\n', "a;b\n\n#;\n"])
    def test_nothing_but_lines_above_a_table_is_rejected_in_a_sentence(self, text):
        with pytest.raises(InvalidInput, match=r"holds|supply"):
            found(text, "a.txt")


class TestMicroarrays:
    def check(self, one) -> None:
        assert one.reading.orientation == "columns" and one.dataset.shape == (20, 6)
        assert one.dataset.axes.rows.names == tuple(GENES) and one.dataset.axes.columns.names == tuple(SPOTS)
        assert one.dataset.labels is None
        np.testing.assert_allclose(one.dataset.data, LEVELS)

    def test_gct(self):
        text = "\n".join(
            line.replace("\t", "\ta gene\t" if k else "\tDescription\t", 1)
            for k, line in enumerate(table(GENES, SPOTS, LEVELS, "\t", corner="Name").splitlines())
        )
        for described in ("a gene", "na", ""):
            self.check(found("#1.2\n20\t6\n" + text.replace("\ta gene\t", f"\t{described}\t"), "a.gct"))

    def test_series_matrix(self):
        text = table([f'"{g}"' for g in GENES], [f'"{s}"' for s in SPOTS], LEVELS, "\t", corner='"ID_REF"')
        head = '!Series_title\t"A"\n\n!Sample_title\t"a"\t"b"\n!series_matrix_table_begin\n'
        one = found(head + text + "!series_matrix_table_end\n", "a.txt")
        self.check(one)
        assert "4 lines that begin with !" in one.remarks[0]

    def test_ids_and_places_beside_the_names_are_no_data(self):
        lines = table(GENES, SPOTS, LEVELS, "\t", corner="symbol").splitlines()
        text = "\n".join(
            [lines[0].replace("\t", "\tentrez_id\tStart\t", 1)] + [x.replace("\t", "\t71\t5\t", 1) for x in lines[1:]]
        )
        one = found(text, "a.tsv")
        self.check(one)
        assert "entrez_id, Start" in one.remarks[0] and one.reading.index == "names"
        assert found(text, "a.tsv", Reading(index="data")).dataset.shape == (20, 8)

    def test_a_call_beside_each_number_is_no_label(self):
        lines = table(GENES, SPOTS, LEVELS, "\t", corner="Probe Set").splitlines()
        head = "\t".join([*sum(([c, "call"] for c in lines[0].split("\t")[1:]), ["Probe Set"])])
        rows = [
            "\t".join(sum(([c, "PA"[k % 2]] for c in x.split("\t")[1:]), [x.split("\t")[0]])) for k, x in enumerate(lines[1:])
        ]
        one = found("\n".join([head, *rows]), "a.tsv")
        self.check(one)
        assert len(one.remarks[0]) < 200

    def test_a_gene_in_each_row_makes_the_arrays_samples_however_many_they_are(self):
        one = found(table(SPOTS, GENES, LEVELS.T, corner="gene symbol"))
        assert one.reading.orientation == "columns" and one.dataset.shape == (6, 20) and "“gene symbol”" in one.question
        assert found(table(GENES, SPOTS, LEVELS, corner="sample")).reading.orientation == "rows"
        assert found(table(SPOTS, [str(j + 1) for j in range(20)], LEVELS.T, corner="gene")).reading.orientation == "columns"


class TestWords:
    def test_words_that_look_like_numbers_or_gaps_are_words(self):
        words = ["apple", "1984", "nan", "null", "inf", "true", "1e5", "night", "moon", "star"]
        one = found(table(words, SPOTS, LEVELS[:10], corner="term"))
        assert one.dataset.axes.rows.names == tuple(words) and one.dataset.missing == 0

    def test_a_sorted_vocabulary_begins_with_numbers(self):
        words = [str(i) for i in range(100, 160)] + [f"w{i}" for i in range(140)]
        one = found(table(words, SPOTS, np.ones((200, 6)), corner=""))
        assert one.dataset.axes.rows.names == tuple(words)

    def test_a_long_table_of_terms_some_of_which_are_numbers(self):
        terms = ["apple", "1984", "nan", "moon", "star", "bread"]
        one = found("document,term,count\n" + "".join(f"d{j},{t},{j + 1}\n" for j in range(5) for t in terms))
        assert one.dataset.axes.rows.names == tuple(terms) and one.reading.index == "long" and one.dataset.shape == (6, 5)

    def test_one_text_among_numbers_is_still_a_mistake(self):
        with pytest.raises(InvalidInput, match="line 7, column 1 holds the text 'x'"):
            found("a,b\n" + "\n".join(f"{'x' if i == 5 else i * i % 7},{i}" for i in range(30)))

    @pytest.mark.parametrize("turned", [False, True])
    def test_matrix_market_with_its_lists_either_way_round(self, turned):
        M = sparse.coo_array(np.eye(5, 3))
        file = io.BytesIO()
        mmwrite(file, M.T if turned else M)
        lists = [("vocabulary.txt", b"a\nb\nc\nd\ne\n"), ("docs.txt", b"x\ny\nz\n")]
        one = find_files([("counts.mtx", file.getvalue()), *lists], AUTO)
        assert one.reading.orientation == ("rows" if turned else "columns") and one.dataset.shape == (5, 3)
        assert one.dataset.axes.rows == Axis("word", names=tuple("abcde")) and one.dataset.axes.columns.title == "document"
        assert find_files([("a.mtx", file.getvalue()), ("a.terms", lists[0][1]), ("a.docs", lists[1][1])], AUTO).dataset.axes
        alone = find_files([("counts.mtx", file.getvalue())], AUTO)
        assert "No names came with the matrix" in alone.remarks[0]

    def test_lists_of_words_in_cell_arrays(self):
        file = io.BytesIO()
        words = np.array(["é", "star", "1984", "", "moon"], dtype=object)
        savemat(file, {"A": np.eye(5, 3), "terms": words[:, None], "mixed": np.array(["a", 1.0, "c"], dtype=object)})
        one = find_files([("a.mat", file.getvalue())], AUTO)
        assert one.dataset.axes.rows.names == tuple(words) and one.dataset.axes.columns.names is None

    def test_lists_of_words_in_cell_arrays_of_version_7_3(self):
        file = io.BytesIO()
        with h5py.File(file, "w") as out:
            kept = []
            for k, word in enumerate(("é", "star", "moon")):
                text = out.create_dataset(f"#refs#/{k}", data=np.frombuffer(word.encode("utf-16-le"), np.uint16)[:, None])
                text.attrs["MATLAB_class"] = np.bytes_("char")
                kept.append(text.ref)
            out.create_dataset("terms", data=np.array(kept, dtype=h5py.ref_dtype)[None], dtype=h5py.ref_dtype)
            out.create_dataset("A", data=np.ones((5, 3)))
        assert find_files([("a.mat", file.getvalue())], AUTO).dataset.axes.rows.names == ("é", "star", "moon")


def test_labels_or_an_axis_beside_an_array_tell_what_its_samples_are():
    for beside in ({"gnd": np.arange(6) % 2}, {"wavelength": np.arange(20.0)}):
        file = io.BytesIO()
        np.savez(file, fea=LEVELS.T, **beside)
        one = find_files([("a.npz", file.getvalue())], AUTO)
        assert one.reading.orientation == "rows" and one.dataset.shape == (20, 6), beside
        assert (one.dataset.labels is None) == ("gnd" not in beside) and "6 rows × 20 columns" in one.question


def test_a_picture_in_bands_is_taken_before_the_map_of_its_classes():
    file = io.BytesIO()
    savemat(file, {"scene": np.ones((5, 6, 9), np.uint16), "scene_gt": np.zeros((5, 6), np.uint8), "wavelength": np.arange(9.0)})
    one = find_files([("a.mat", file.getvalue())], Reading())
    assert one.dataset.shape == (9, 30) and one.dataset.axes.map_shape == (5, 6) and one.dataset.axes.rows.title == "wavelength"
    assert one.reading.member == "scene" and set(one.members) == {"scene", "scene_gt"}


class TestDates:
    def day(self, *numbers: int) -> list[str]:
        return [f"2024-01-{number:02}" for number in numbers]

    def test_several_samples_of_a_day_have_names(self):
        columns = found(table(SPOTS, self.day(*range(1, 9), *range(1, 13)), LEVELS.T, corner="place")).dataset.axes
        assert not columns.rows.calendar and not columns.columns.calendar
        assert found(table(self.day(1, 2, 2, 3, 4, 5), GENES, LEVELS.T, corner="day")).dataset.axes.columns.calendar is False

    def test_it_can_be_said_that_dates_are_names(self):
        text = table(SPOTS, self.day(*range(1, 21)), LEVELS.T, corner="place")
        one = found(text)
        assert one.dataset.axes.columns.calendar and one.reading.header == "axis"
        names = found(text, reading=Reading(header="names")).dataset.axes.columns
        assert not names.calendar and names.names == one.dataset.axes.columns.names
        text = table(self.day(*range(1, 7)), GENES, LEVELS.T, corner="day")
        assert found(text).reading.index == "axis"
        assert not found(text, reading=Reading(index="names")).dataset.axes.rows.calendar


@pytest.mark.parametrize("ending", [".xlsx", ".mp3", ".rds", ".pkl", ".loom"])
def test_known_files_that_are_not_read_are_told_what_to_do(ending):
    assert not set(ADVICE) & set(KINDS)
    with pytest.raises(InvalidInput, match=r"save|write"):
        find_files([(f"a{ending}", b"PK\x03\x04 whatever")], AUTO)


@pytest.mark.parametrize(
    "text",
    [
        table(SPOTS, SHIFTS, LEVELS.T, corner="sample"),
        table(SHIFTS, SPOTS, LEVELS),
        table(GENES, [str(j) for j in range(6)], LEVELS, corner="gene"),
        table(SPOTS, [f"2024-01-{j + 1:02}" for j in range(20)], LEVELS.T, corner="x"),
        "\n".join(",".join(f"{v:g}" for v in row) for row in [[float(s) for s in SHIFTS], *LEVELS.T]),
    ],
)
def test_what_was_judged_reads_the_same_again(text):
    one = found(text)
    again = found(text, reading=one.reading)
    assert again.dataset.axes == one.dataset.axes and again.reading == one.reading
    np.testing.assert_array_equal(again.dataset.data, one.dataset.data)
