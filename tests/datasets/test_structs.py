"""MAT files whose arrays are fields of a struct, as hyperspectral scenes are often handed on."""

from __future__ import annotations

import io
import struct

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Limits, Reading, load_bytes
from semf_core.datasets.loaders import find_files
from tests.datasets.test_hostile_files import element, mat5, mat_variable, packed

CUBE = np.random.default_rng(0).integers(0, 4000, (5, 6, 9)).astype(np.uint16)
CLASSES = np.arange(30).reshape(5, 6) % 4
WAVELENGTHS = np.linspace(400, 2400, 9)


def version_5(**variables) -> bytes:
    stream = io.BytesIO()
    savemat(stream, variables, do_compression=True)
    return stream.getvalue()


def version_7_3(**variables) -> bytes:
    stream = io.BytesIO()

    def put(group, values):
        for key, value in values.items():
            if isinstance(value, dict):
                put(group.create_group(key), value)
            elif isinstance(value, str):
                text = group.create_dataset(key, data=np.frombuffer(value.encode("utf-16-le"), np.uint16)[:, None])
                text.attrs["MATLAB_class"] = np.bytes_("char")
            else:
                group[key] = np.atleast_2d(value).T

    with h5py.File(stream, "w") as file:
        put(file, variables)
        file["#refs#/a"] = np.ones((3, 3))
    return stream.getvalue()


SCENE = {
    "data": CUBE,
    "wavelength": WAVELENGTHS,
    "gt": CLASSES,
    "title": "scene",
    "sensor": {"name": "x", "gain": np.ones((4, 4))},
}


@pytest.mark.parametrize("write", [version_5, version_7_3])
class TestStructs:
    def test_the_cube_its_wavelengths_and_its_classes(self, write):
        one = find_files([("a.mat", write(scene=SCENE))], Reading(member=""))
        assert one.reading.member == "scene.data" and one.members["scene.sensor.gain"] == (4, 4)
        assert set(one.members) == {"scene.data", "scene.gt", "scene.sensor.gain"}
        data = one.dataset
        np.testing.assert_array_equal(data.data, CUBE.reshape(30, 9).T)
        np.testing.assert_array_equal(data.axes.rows.values, WAVELENGTHS)
        np.testing.assert_array_equal(data.labels, CLASSES.ravel())
        assert data.axes.map_shape == (5, 6) and data.axes.rows.title == "wavelength"
        assert load_bytes("a.mat", write(scene=SCENE), Reading(member="scene.gt")).shape == (5, 6)

    def test_what_lies_in_another_struct_describes_nothing(self, write):
        history = {"time": np.arange(9.0), "row_names": np.arange(9.0)}
        data = load_bytes("a.mat", write(A=np.ones((9, 4)), history=history))
        assert not data.axes.rows and load_bytes("a.mat", write(A=np.ones((9, 4)), time=np.arange(9.0))).axes.rows.title == "time"
        inside = load_bytes("a.mat", write(s={"M": np.ones((9, 4))}, time=np.arange(9.0), t={"time": np.zeros(9)}))
        np.testing.assert_array_equal(inside.axes.rows.values, np.arange(9.0))

    def test_two_structs_with_data_are_a_choice(self, write):
        content = write(a={"data": np.ones((3, 2))}, b={"data": np.ones((4, 2))})
        with pytest.raises(InvalidInput, match=r"name one of a\.data, b\.data"):
            load_bytes("a.mat", content)
        assert load_bytes("a.mat", content, Reading(member="b.data")).shape == (4, 2)


def test_words_in_a_struct():
    words = np.array(["moon", "star", "sun"], dtype=object)[:, None]
    assert load_bytes("a.mat", version_5(s={"M": np.ones((3, 5)), "terms": words})).axes.rows.names == ("moon", "star", "sun")


def test_strings_that_are_no_references():
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        file["A"] = np.ones((5, 3))
        file.create_dataset("terms", data=["a", "b", "c"], dtype=h5py.string_dtype())
    assert load_bytes("a.mat", stream.getvalue()).axes.rows.names == ("a", "b", "c")


class TestHostile:
    def struct(self, names: bytes, length: bytes, *fields: bytes) -> bytes:
        return mat_variable("s", (1, 1), length + element(1, names) + b"".join(fields), array_class=2)

    def test_damaged_fields(self):
        field = mat_variable("", (2, 2), element(9, struct.pack("<4d", 1, 2, 3, 4)))
        eight = element(5, struct.pack("<i", 8))
        assert load_bytes("a.mat", mat5(self.struct(b"a\0\0\0\0\0\0\0", eight, field))).shape == (2, 2)
        not_a_number = element(9, struct.pack("<d", np.nan))
        for wrong in (
            self.struct(b"a\0\0\0\0\0\0\0", element(5, struct.pack("<i", 0)), field),
            self.struct(b"a\0\0\0\0\0\0\0", not_a_number, field),
            self.struct(b"a\0\0\0\0\0\0\0b\0\0\0\0\0\0\0", eight, field),
            self.struct(b"a\0\0\0\0\0\0\0", eight, element(9, b"\0" * 8)),
        ):
            for content in (mat5(wrong), mat5(packed(wrong))):
                with pytest.raises(InvalidInput, match="is not a readable MAT file"):
                    load_bytes("a.mat", content)

    def test_structs_that_unpack_to_too_much_together(self):
        big = packed(
            self.struct(
                b"a\0\0\0\0\0\0\0", element(5, struct.pack("<i", 8)), mat_variable("", (2, 2), element(9, bytes(1 << 20)))
            )
        )
        with pytest.raises(InvalidInput, match="unpacks to more than 4 MB"):
            load_bytes("a.mat", mat5(*[big] * 5), Reading(), Limits(max_bytes=4 << 20))

    def test_structs_without_end(self):
        inner = self.struct(b"a\0\0\0\0\0\0\0", element(5, struct.pack("<i", 8)), mat_variable("", (1, 1), element(9, b"\0" * 8)))
        for _ in range(100):
            inner = self.struct(b"a\0\0\0\0\0\0\0", element(5, struct.pack("<i", 8)), inner)
        with pytest.raises(InvalidInput, match="cell, struct, text or object"):
            load_bytes("a.mat", mat5(inner))
        stream = io.BytesIO()
        with h5py.File(stream, "w") as file:
            file["A"] = np.ones((3, 2))
            file["a/b"] = np.ones((4, 2))
            file["a/again"] = file["a"]
        assert len(find_files([("a.mat", stream.getvalue())], Reading(member="A")).members) < 20
