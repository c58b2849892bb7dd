"""Times of day without a date, and numbers with a unit, as an axis, and what merely looks like them."""

from __future__ import annotations

import numpy as np
import pytest

from semf_core.datasets import Reading
from semf_core.datasets.axes import clock_times, quantities
from semf_core.datasets.loaders import find_files
from tests.helpers import present

AUTO = Reading(orientation="auto")


def found(text: str, reading: Reading = AUTO):
    return find_files([("a.csv", text.encode())], reading)


@pytest.mark.parametrize(
    ("texts", "hours"),
    [
        (["8:30", "09:00", "12:15"], [8.5, 9, 12.25]),
        (["08:30:00", "08:30:36", "08:31:12.5"], [8.5, 8.51, 8.5 + 72.5 / 3600]),
        (["11:00 AM", "12:00 PM", "1:30 PM"], [11, 12, 13.5]),
        (["12:30 am", "1:00 am", "2:00 am"], [0.5, 1, 2]),
        (["23:30", "23:45", "0:00", "0:15"], [23.5, 23.75, 24, 24.25]),
    ],
)
def test_hours_since_midnight(texts, hours):
    np.testing.assert_allclose(present(clock_times(texts)), hours)


@pytest.mark.parametrize(
    "texts",
    [
        *(["8:30", "9:00"], ["9:00", "8:30", "10:00"], ["8:30", "9:00", "x"], ["8:30", "9:00:00", "9:30"], []),
        *(["25:00", "26:00", "27:00"], ["13:00 PM", "1:00 PM", "2:00 PM"], ["8:61", "8:62", "8:63"]),
        *(["1:00", "0:30", "0:15"], ["2:1", "2:2", "2:3"]),
    ],
)
def test_what_does_not_go_on_or_is_written_otherwise_are_names(texts):
    assert clock_times(texts) is None


def test_a_logger_tells_samples_and_their_places():
    text = "time,T1,T2\n" + "".join(f"{8 + i // 6:02}:{i % 6 * 10:02},{i},{i * i % 7}\n" for i in range(12))
    one = found(text)
    axis = one.dataset.axes.columns
    assert one.reading.orientation == "rows" and one.reading.index == "axis" and "times in the first column" in one.question
    assert (axis.heading, axis.names[1], axis.calendar) == ("time (h)", "08:10", False) and axis.ordered
    np.testing.assert_allclose(axis.values[:2], [8, 8 + 1 / 6])
    again = found(text, one.reading)
    assert again.dataset.axes == one.dataset.axes
    assert found(text, Reading(index="names")).dataset.axes.rows.values is None


@pytest.mark.parametrize("cell", ["8:{:02}", "{} min"])
def test_times_are_samples_whatever_unit_their_heading_has(cell):
    one = found("Zeit (MEZ),T1,T2\n" + "".join(cell.format(i) + f",{i},{i * i % 7}\n" for i in range(12)))
    assert one.reading.orientation == "rows" and "times in the first column" in one.question


def test_times_in_the_first_line():
    text = "sensor," + ",".join(f"{h}:00" for h in range(6, 12)) + "\n" + "".join(f"s{i}," + "1,2,3,4,5,6\n" for i in range(4))
    one = found(text)
    axis = one.dataset.axes.columns
    assert one.reading.orientation == "columns" and axis.heading == "time (h)" and axis.values.tolist() == [6, 7, 8, 9, 10, 11]
    assert found(text, Reading(header="names")).dataset.axes.columns.values is None


@pytest.mark.parametrize(
    ("texts", "values", "usual", "unit"),
    [
        (["0.0 s", "0.5 s", "1.0 s"], [0, 0.5, 1], "time", "s"),
        (["800nm", "750nm", "700nm"], [800, 750, 700], "wavelength", "nm"),
        (["1 mg/l", "2,5 mg/l", "10 mg/l"], [1, 2.5, 10], "", "mg/l"),
        (["20 °C", "30 °C", "40 °C"], [20, 30, 40], "", "°C"),
    ],
)
def test_numbers_with_one_unit_are_places(texts, values, usual, unit):
    found = present(quantities(texts))
    assert found[0].tolist() == values and found[1:] == (usual, unit)


@pytest.mark.parametrize(
    "texts",
    [
        *(["0 s", "1 s"], ["0 s", "1 min", "2 min"], ["0 s", "2 s", "1 s"], ["1 s", "1 s", "2 s"], ["0 s", "1 s", "x"], []),
        *(["1A", "2A", "3A"], ["1st", "2nd", "3rd"], ["1 (s)", "2 (s)", "3 (s)"], ["-1 s", "0 s", "1 s"]),
    ],
)
def test_what_has_no_one_unit_or_no_order_are_names(texts):
    assert quantities(texts) is None


def test_seconds_in_the_first_line_and_wavelengths_in_the_first_column():
    lines = "".join(f"{400 + 10 * i} nm," + "1,2,3,4\n" for i in range(5))
    one = found("wavelength (nm),0.0 s,0.5 s,1.0 s,1.5 s\n" + lines)
    rows, columns = one.dataset.axes.rows, one.dataset.axes.columns
    assert (rows.heading, rows.values[1], rows.names[1]) == ("wavelength (nm)", 410, "410 nm")
    assert (columns.heading, columns.values.tolist(), columns.label(1)) == ("time (s)", [0, 0.5, 1, 1.5], "0.5 s")
    assert one.reading.orientation == "columns" and one.reading.header == "axis"
    assert found("wavelength (nm),0.0 s,0.5 s,1.0 s,1.5 s\n" + lines, one.reading).dataset.axes == one.dataset.axes
    turned = found("time,400 nm,410 nm,420 nm\n" + "".join(f"{i} s,1,2,{i}\n" for i in range(9)))
    assert turned.reading.orientation == "rows" and turned.dataset.axes.rows.heading == "wavelength (nm)"
    plain = found("gene,5 mg,10 mg,20 mg\np,1,2,3\nq,4,5,6\n", Reading(header="names"))
    assert plain.dataset.axes.columns.values is None and plain.dataset.axes.columns.names == ("5 mg", "10 mg", "20 mg")
