"""Tables with one number a line, and maps whose first columns are the places of the samples."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Limits, Reading, load_bytes, load_files, load_path
from semf_core.datasets.loaders import find_files

AUTO = Reading(orientation="auto", member="")
WAVES = 1800 - 2.5 * np.arange(12)
X, Y = np.array([-2.0, -1.5, -1.0, -0.5]), np.array([3.0, 3.5, 4.0])
MAP = np.random.default_rng(0).random((12, 12)).round(4)
"""Waves × pixels, line by line of the picture."""
PIXELS = [(i, j) for i in range(3) for j in range(4)]


def found(text: str, name: str = "a.txt", reading: Reading = AUTO):
    return find_files([(name, text.encode())], reading)


def check(one) -> None:
    data = one.dataset
    assert data.axes.map_shape == (3, 4) and data.axes.columns.names[:2] == ("(-2, 3)", "(-1.5, 3)")
    np.testing.assert_array_equal(data.axes.rows.values, WAVES)
    np.testing.assert_array_equal(data.data, MAP)


class TestMaps:
    LINES = tuple(f"{X[j]}\t{Y[i]}\t{w}\t{MAP[k, i * 4 + j]}" for i, j in PIXELS for k, w in enumerate(WAVES))

    def test_as_an_instrument_writes_them(self):
        one = found("#X\t\t#Y\t\t#Wave\t\t#Intensity\n" + "\n".join(self.LINES))
        check(one)
        assert one.reading.index == "long" and not one.orientable and "A long table, one number a line" in one.remarks[-1]
        check(found("x,y,wave,intensity\n" + "\n".join(self.LINES).replace("\t", ",")))
        assert found(
            "x,y,wave,intensity\n" + "\n".join(self.LINES).replace("\t", ","), reading=Reading(index="data")
        ).dataset.shape == (144, 4)

    def test_columns_of_pixels_and_pixels_back_and_forth_make_the_same_picture(self):
        downwards = [line for j in range(4) for i in range(3) for line in self.LINES[(i * 4 + j) * 12 : (i * 4 + j + 1) * 12]]
        turned = [(i, j if i % 2 == 0 else 3 - j) for i, j in PIXELS]
        snake = [line for i, j in turned for line in self.LINES[(i * 4 + j) * 12 : (i * 4 + j + 1) * 12]]
        for lines in (downwards, snake):
            check(found("X\tY\tWavelength (nm)\tIntensity\n" + "\n".join(lines)))

    def test_a_map_with_a_hole_has_names_but_no_picture(self):
        data = found("X\tY\tWave\tIntensity\n" + "\n".join(self.LINES[12:])).dataset
        assert data.shape == (12, 11) and data.axes.map_shape is None and data.axes.columns.names[0] == "(-1.5, 3)"
        np.testing.assert_array_equal(data.data, MAP[:, 1:])

    @pytest.mark.parametrize("head", ["x,y,", ",,", "spot,x,y,"])
    def test_a_line_for_each_pixel(self, head):
        first = "s{},".format if "spot" in head else lambda k: ""
        lines = [head + ",".join(map(str, WAVES))]
        lines += [f"{first(j * 3 + i)}{X[j]},{Y[i]}," + ",".join(map(str, MAP[:, i * 4 + j])) for j in range(4) for i in range(3)]
        one = found("\n".join(lines), "a.csv")
        assert one.reading.orientation == "rows" and one.dataset.axes.map_shape == (3, 4)
        np.testing.assert_array_equal(one.dataset.data, MAP)
        assert one.dataset.axes.columns.names[1] == ("s3" if "spot" in head else "(-1.5, 3)")
        again = found("\n".join(lines), "a.csv", one.reading)
        assert again.dataset.axes == one.dataset.axes and again.reading == one.reading
        if "spot" not in head:
            assert found("\n".join(lines), "a.csv", Reading(index="data", orientation="rows")).dataset.shape[0] == 14


class TestTidy:
    def test_series_and_samples_with_names(self):
        data = found(
            "time,wave,intensity\n" + "".join(f"{t},{w},{t + k}\n" for t in range(3) for k, w in enumerate(WAVES))
        ).dataset
        assert data.shape == (12, 3) and data.axes.columns.title == "time" and data.axes.columns.values.tolist() == [0, 1, 2]
        named = found("sample,wavelength (nm),absorbance\n" + "".join(f"p{t},{w},{t}\n" for t in range(3) for w in WAVES)).dataset
        assert named.axes.columns.names == ("p0", "p1", "p2") and named.axes.rows.unit == "nm"

    def test_counts_without_a_line_are_zero_and_levels_without_one_missing(self):
        lines = [(d, t) for d in range(6) for t in range(5) if (d + t) % 3]
        one = found("doc,term,n\n" + "".join(f"d{d},t{t},{t + 1}\n" for d, t in lines), "a.csv")
        assert sparse.issparse(one.dataset.data) and one.dataset.shape == (5, 6) and one.orientable
        assert one.dataset.axes.rows.title == "term" and "count zero" in one.remarks[0]
        for d, t in lines:
            assert one.dataset.data[one.dataset.axes.rows.names.index(f"t{t}"), d] == t + 1
        levels = found("patient,gene,level\n" + "".join(f"d{d},t{t},{t + 0.5}\n" for d, t in lines), "a.csv")
        assert levels.dataset.missing == 10 and levels.dataset.axes.rows.title == "gene"
        ratings = found("userId,movieId,rating\n" + "".join(f"{d},{t + 70},{t}\n" for d, t in lines), "a.csv").dataset
        assert ratings.missing == 10 and {*ratings.axes.rows.names, *ratings.axes.columns.names} >= {"70", "74", "5"}

    def test_parquet(self):
        columns = {"sample": [f"s{j}" for j in range(3) for _ in WAVES], "wavelength": list(WAVES) * 3, "signal": np.arange(36.0)}
        stream = io.BytesIO()
        pq.write_table(pa.table(columns), stream)
        one = find_files([("a.parquet", stream.getvalue())], AUTO)
        assert one.dataset.shape == (12, 3) and one.dataset.axes.columns.names == ("s0", "s1", "s2")

    @pytest.mark.parametrize(
        "text",
        [
            "gene,about,level\n" + "".join(f"G{i},{'xy'[i % 2]},{i}\n" for i in range(20)),  # names and classes
            "a,b,c\n" + "".join(f"{i % 4},{i // 4},{i}\n" for i in range(20)),  # nothing says that c has places
            "x,y,wave,intensity\n" + "".join(f"{i % 3},{i % 2},{i % 4},{i}\n" for i in range(40)),  # places twice
            "x,wave,intensity\n" + "".join(f"{'' if i == 7 else i % 3},{i // 3},{i}\n" for i in range(30)),  # a place is missing
            "time,a,value\n" + "".join(f"{i},{i * i % 7},{i}\n" for i in range(20)),  # an axis and two samples
        ],
    )
    def test_other_tables_stay_as_they_are(self, text):
        one = found(text, "a.csv")
        assert one.reading.index != "long"
        if not text.startswith("a,b,c"):
            with pytest.raises(InvalidInput, match="is no place of a long table"):
                found(text, "a.csv", Reading(index="long"))

    def test_a_matrix_beyond_the_limits_is_not_made_of_a_table_within_them(self):
        text = "time,mass,intensity\n" + "".join(f"{i % 20},{i % 19},1\n" for i in range(90))
        small = Limits(max_entries=300)
        assert find_files([("a.csv", text.encode())], AUTO, small).dataset.shape[1] == 3
        with pytest.raises(InvalidInput, match="20 entries, more than 300"):
            find_files([("a.csv", text.encode())], Reading(index="long"), small)
        assert find_files([("a.csv", text.replace("intensity", "count").encode())], AUTO, small).dataset.shape == (19, 20)

    def test_it_can_be_said_that_a_table_is_long(self):
        text = "a,b,c\n" + "".join(f"{i % 4},{i // 4},{i}\n" for i in range(20))
        assert found(text, "a.csv", Reading(index="long")).dataset.shape == (5, 4)


class TestBagsOfWords:
    COUNTS = np.random.default_rng(1).poisson(0.6, (9, 6))
    """Words × documents."""
    WORDS = ("moon", "star", "nan", "1984", "sun", "night", "day", "sky", "end")

    def lines(self) -> list[str]:
        return [f"{d + 1} {w + 1} {self.COUNTS[w, d]}" for d in range(6) for w in range(9) if self.COUNTS[w, d]]

    def check(self, data) -> None:
        assert sparse.issparse(data.data) and data.axes.rows.names == self.WORDS and data.axes.rows.title == "word"
        np.testing.assert_array_equal(data.data.toarray(), self.COUNTS)

    def test_with_its_vocabulary_chosen_together_in_a_folder_or_in_a_zip(self, tmp_path):
        lines = self.lines()
        sizes = ["6", "9", str(len(lines))]
        vocabulary = "\n".join(self.WORDS) + "\n"
        for name, text in (("docword.x.txt", "\n".join([*sizes, *lines])), ("train.data", "\n".join(lines))):
            files = [(name, text.encode()), ("vocab.x.txt", vocabulary.encode())]
            self.check(load_files(files))
            folder, packed = tmp_path / name, io.BytesIO()
            folder.mkdir()
            with zipfile.ZipFile(packed, "w") as archive:
                for file, content in files:
                    (folder / file).write_bytes(content)
                    archive.writestr(file, content)
            self.check(load_path(folder))
            self.check(load_bytes("a.zip", packed.getvalue(), Reading(member="")))
            alone = find_files([files[0]], AUTO)
            assert alone.reading.index == "long" and "No names came with the matrix" in alone.remarks[0]
            self.check(load_files([(f"{name}.gz", gzip.compress(text.encode())), files[1]]))
        assert load_bytes("train.data", "\n".join(lines).encode(), Reading(index="data")).shape == (len(lines), 3)

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("6\n9\n3\n1 1 2\n1 2 1\n", "does not hold what its first three lines say"),
            ("1\n9\n2\n1 1 2\n2 2 1\n", "does not hold what its first three lines say"),
            ("6\n9\n2\n1 1 2\n0 2 1\n", "from 1 on"),
            ("999999999\n9\n2\n1 1 2\n1 2 1\n", "declares 9 × 999999999 entries"),
            ("6\n9\n2\n1 1 2\n1 x 1\n", "not three whole numbers"),
            ("6\n9\n2\n1 1 2\n1 2\n", "not three whole numbers"),
        ],
    )
    def test_damaged_ones(self, text, word):
        with pytest.raises(InvalidInput, match=word):
            load_bytes("docword.txt", text.encode())

    def test_three_columns_of_whole_numbers_are_a_table(self):
        for lines in ([f"{i} {i * i % 7} {i % 3}" for i in range(1, 20)], [f"{i + 2} {i} 5" for i in range(20)]):
            assert load_bytes("a.txt", "\n".join(lines).encode(), Reading(header="data", index="data")).shape[1] == 3
