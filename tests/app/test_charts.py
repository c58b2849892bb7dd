"""Charts of pages: their axes."""

from __future__ import annotations

import numpy as np
import pytest

from pages.ui.charts import logarithmic


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.02, 30, ["0.01", "0.1", "1", "10", "100"]),
        (4e-5, 83, ["0.0001", "0.01", "1", "100"]),
        (2e-9, 1, ["10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]),
        (600, 1651, ["100", "200", "500", "1,000", "2,000", "5,000", "10,000", "20,000", "50,000"]),
        (2e-6, 8e-6, ["10⁻⁶", "2·10⁻⁶", "5·10⁻⁶", "10⁻⁵", "2·10⁻⁵", "5·10⁻⁵"]),
    ],
)
def test_a_logarithmic_axis_writes_its_numbers_in_one_way(low, high, words):
    axis = logarithmic(low, high)
    assert axis["ticktext"] == words
    assert (np.diff(axis["tickvals"]) > 0).all() and len(axis["tickvals"]) == len(words)
