"""Tables as spreadsheets, biom, numpy and old programs write them: no row or column is lost, and what is no number is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Reading
from semf_core.datasets.loaders import find_files

AUTO = Reading(orientation="auto", member="")
COLUMNS = Reading()
BODY = "\n".join(f"é{i};{i},5;{i * i % 7},25" for i in range(20))


def found(text: str | bytes, name: str = "a.csv", reading: Reading = COLUMNS) -> Any:
    return find_files([(name, text.encode() if isinstance(text, str) else text)], reading)


@pytest.mark.parametrize("form", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])
def test_names_in_any_encoding(form):
    one = found(("name;größe;–\n" + BODY).encode(form))
    assert one.dataset.axes.columns.names == ("größe", "–") and one.dataset.axes.rows.names[3] == "é3"
    assert one.dataset.data[3, 0] == 3.5
    assert ("were read as Western European" in "".join(one.remarks)) == (form == "cp1252")


class TestHashes:
    def test_words_that_begin_with_a_hash_are_rows(self):
        one = found("term,d1,d2\nmoon,1,2\n#tag,3,4\n# a remark\nstar,5,6\n#b,7,8\n")
        assert one.dataset.axes.rows.names == ("moon", "#tag", "star", "#b")
        np.testing.assert_array_equal(one.dataset.data[:, 1], [2, 4, 6, 8])
        assert "2 lines that begin with # have" in one.remarks[0]

    def test_numbers_that_are_commented_out_stay_so(self):
        assert found("a,b\n1,2\n#3,4\n5,7\n").dataset.shape == (2, 2)
        assert found("#9,9\n1,2\n5,7\n").dataset.shape == (2, 2)

    def test_a_header_that_is_commented_out_names_the_columns(self):
        biom = "# Constructed from biom file\n#OTU ID\tS1\tS2\n" + "".join(f"{4479 + 17 * i}\t{i}.0\t2.0\n" for i in range(20))
        one = found(biom, "otu.txt", AUTO)
        assert one.dataset.axes.rows.title == "OTU ID" and one.dataset.axes.rows.names[:2] == ("4479", "4496")
        assert one.dataset.axes.columns.names == ("S1", "S2") and one.reading.orientation == "columns"
        assert found("# x,y\n1,2\n5,0\n3,9\n").dataset.axes.columns.names == ("x", "y")  # numpy.savetxt
        assert found("#X\t\t#Y\n1\t2\n5\t0\n3\t9\n", "a.txt").dataset.axes.columns.names == ("X", "Y")

    def test_a_remark_above_a_header_is_a_remark(self):
        one = found("# made, today\na,b\n1,2\n5,0\n")
        assert one.dataset.axes.columns.names == ("a", "b") and one.dataset.shape == (2, 2)


class TestGaps:
    def test_what_spreadsheets_and_offices_write_for_a_gap_is_missing(self):
        gaps = ["#N/A", "#DIV/0!", "#REF!", "-", ".", "..", "?", "n.d.", "<NA>", "--", ""]
        one = found("name,a,b\n" + "".join(f"r{i},{gap},{i}\n" for i, gap in enumerate(gaps)) + "x,1,2\n")
        assert one.dataset.missing == len(gaps) and one.dataset.data[-1, 0] == 1
        assert found("#N/A,1\n2,3\n4,5\n").dataset.missing == 1

    def test_the_sign_of_a_number_is_no_gap(self):
        np.testing.assert_array_equal(found("name,a,b\nx,−1,-2\ny,.5,-.25\n").dataset.data, [[-1, -2], [0.5, -0.25]])

    def test_lines_that_end_with_a_separator_make_no_column(self):
        for head in ("name,a,b,", "name,a,b"):
            one = found(head + "\n" + "".join(f"r{i},{i},{i * i % 7},\n" for i in range(9)))
            assert one.dataset.axes.columns.names == ("a", "b") and one.dataset.missing == 0, head
            assert one.dataset.axes.rows.names[0] == "r0"
        assert found("1,2,\n3,4,\n").dataset.shape == (2, 2)
        assert found("a,b,c\n1,2,\n3,4,\n").dataset.missing == 2  # a name says that something belongs there


class TestNumbersForPeople:
    @pytest.mark.parametrize("cell", ['"1,234"', "1'234.5", "1 234", "12%", "$5", "5 €"])
    def test_they_are_rejected_and_not_left_out(self, cell):
        with pytest.raises(InvalidInput, match=r"line 2, column 3 holds .*; write numbers with a point"):
            found("name,a,b\n" + "".join(f"r{i},{i},{cell}\n" for i in range(5)))
        with pytest.raises(InvalidInput, match="line 2, column 2 holds"):
            found("name,b\n" + "".join(f"r{i},{cell}\n" for i in range(5)))

    def test_names_may_look_so(self):
        assert found("dose,a\n" + "".join(f"{10 * i}%,{i}\n" for i in range(5))).dataset.axes.rows.names[1] == "10%"


@pytest.mark.parametrize("begin", ["<!DOCTYPE html>\n<html>", "<html>", '<?xml version="1.0"?>', '{"a": 1,', "##TITLE=glucose"])
def test_documents_are_told_apart_from_tables(begin):
    with pytest.raises(InvalidInput, match=r"is a.* (page|document|file), not a table; save"):
        found(f"\n {begin}\n<p>1,2</p>\n")


def test_a_first_line_that_counts_names_the_columns():
    body = "1.5,0.25,3\n0.5,2.5,1\n4,0.5,1\n"
    one = found("0,1,2\n" + body)
    assert one.dataset.shape == (3, 3) and one.dataset.axes.columns.names == ("0", "1", "2") and one.reading.header == "names"
    assert found("0,1,2\n" + body, reading=one.reading).dataset.axes == one.dataset.axes
    assert found("0,1,2\n" + body, reading=Reading(header="data")).dataset.shape == (4, 3)
    assert found("0,1,2\n3,4,5\n" + body).dataset.shape == (5, 3)
    assert found("a,b\n1,2\n\x1a").dataset.shape == (1, 2)  # how DOS ended files


def test_signs_between_cells():
    plain = "name,a,b\nx,1,2\ny,3,4\n"
    for text in (plain.replace(",", "|"), "sep=;\n" + plain.replace(",", ";"), plain.replace(",", "\t")):
        one = found(text)
        assert one.dataset.axes.columns.names == ("a", "b") and one.dataset.axes.rows.names == ("x", "y"), text
    assert found("sp|P1|X 1 2\nsp|P2|Y 3 4\n", "a.txt").dataset.axes.rows.names == ("sp|P1|X", "sp|P2|Y")


def test_cells_over_several_lines_are_one_and_lines_keep_their_numbers():
    text = 'name,"a\n(mm)",c\n"x\ny",1,2\nz,3,4\n'
    one = found(text)
    assert one.dataset.axes.columns.names == ("a (mm)", "c") and one.dataset.axes.rows.names == ("x y", "z")
    with pytest.raises(InvalidInput, match="line 5, column 3 holds the text 'bad'"):
        found(text.replace("3,4", "3,bad") + "w,5,6\n")
    assert found('name,a\n5" pipe,1\nb,2\n').dataset.shape == (2, 1)  # never closed


def test_dates_of_months_of_british_days_and_with_times():
    for text in ("2020-{:02}", "{}/1/2023", "2023/01/{:02} 10:30"):
        one = found("when,a,b\n" + "".join(f"{text.format(i)},{i * i % 7},{i % 3}\n" for i in range(1, 13)), reading=AUTO)
        assert one.dataset.axes.columns.calendar and one.reading.orientation == "rows", text
        assert one.dataset.axes.columns.title == "when" and one.dataset.axes.rows.names == ("a", "b")
    british = found("d,a\n" + "".join(f"{i}/2/2023,{i % 3}\n" for i in range(1, 20)), reading=AUTO).dataset.axes.columns
    assert british.values is not None and np.ptp(british.values) == 18 * 86_400


def test_a_heading_of_dates_is_not_that_of_the_columns():
    one = found("date,PM10,NO2\n" + "".join(f"2023-01-{i:02},{i % 4},{i % 3}\n" for i in range(1, 20)), reading=AUTO)
    assert one.dataset.axes.rows.heading == "" and one.dataset.axes.columns.heading == "date"


def test_classes_in_numbers_label_the_rows():
    text = "label,pixel0,pixel1,pixel2\n" + "".join(f"{i % 3},{i * i % 7},{i},{i % 4}\n" for i in range(20))
    one = found(text, reading=AUTO)
    assert one.dataset.shape == (3, 20) and one.reading.index == "labels"
    np.testing.assert_array_equal(one.dataset.labels, np.arange(20) % 3)
    again = found(text, reading=one.reading)
    np.testing.assert_array_equal(again.dataset.data, one.dataset.data)
    assert found(text, reading=Reading(index="data")).dataset.shape == (20, 4)


def test_gct_1_3_says_more_of_rows_and_samples():
    head = "#1.3\n4\t4\t2\t2\nid\tsymbol\tgene_no\ts1\ts2\ts3\ts4\ncell\tna\tna\tA\tB\tA\tB\ndose\tna\tna\t1\t2\t3\t4\n"
    one = found(head + "".join(f"p{i}\tG{i}\t{i}\t{i}\t2\t3\t4\n" for i in range(4)), "a.gct", AUTO)
    assert one.dataset.shape == (4, 4) and one.dataset.axes.rows.names == ("p0", "p1", "p2", "p3")
    assert list(one.dataset.labels) == ["A", "B", "A", "B"] and one.dataset.axes.columns.names == ("s1", "s2", "s3", "s4")
    assert any("symbol, gene_no" in remark for remark in one.remarks) and any("dose" in remark for remark in one.remarks)


def test_numbers_that_a_gct_file_calls_its_rows_are_names():
    lines = "".join(f"{700 + i}\tG{i}\t{i % 3}\t2\t3\n" for i in range(9))
    for head in ("#1.2\n9\t3\nName\tDescription\ta\tb\tc\n", "#1.3\n9\t3\t1\t0\nid\tsymbol\ta\tb\tc\n"):
        data = found(head + lines, "a.gct", AUTO).dataset
        assert data.axes.rows.names == tuple(str(700 + i) for i in range(9)) and data.axes.columns.names == tuple("abc")


def test_settings_of_an_instrument_are_no_header():
    text = "#Acq. time (s)=\t10\n#AxisType[1]=\tSpectr\n" + "".join(f"{200 + i * 1.5}\t{i * i % 7}\n" for i in range(12))
    data = found(text, "a.txt", AUTO).dataset
    assert data.axes.rows.title == "" and data.axes.rows.values[0] == 200 and data.axes.columns.names is None


def test_what_else_was_measured_of_named_spectra_is_no_place_of_a_map():
    head = ",fat,water," + ",".join(str(850 + 2 * j) for j in range(12)) + "\n"
    text = head + "".join(f"meat{i},{i}.5,{60 - i}," + ",".join(f"{(i + j) % 5}" for j in range(12)) + "\n" for i in range(6))
    one = found(text, "a.csv", AUTO)
    assert one.dataset.shape == (12, 6) and one.dataset.axes.columns.names[0] == "meat0" and one.dataset.axes.map_shape is None
    assert "say more of the rows: fat, water" in one.remarks[0]


def test_the_columns_of_a_gct_file_are_samples_however_few_rows_there_are():
    one = found("#1.2\n2\t5\nName\tDescription\ta\tb\tc\td\te\ng1\tx\t1\t2\t3\t4\t5\ng2\ty\t1\t2\t3\t4\t9\n", "a.gct", AUTO)
    assert one.dataset.shape == (2, 5) and one.reading.orientation == "columns"
