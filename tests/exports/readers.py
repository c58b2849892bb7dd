"""Opens every export again with the reader of its format."""

from __future__ import annotations

import csv
import io
import zipfile
from html.parser import HTMLParser
from xml.etree import ElementTree

import h5py
import numpy as np
from PIL import Image
from scipy.io import loadmat


def read_picture(form):
    def read(content):
        image = Image.open(io.BytesIO(content))
        image.load()
        assert image.format == form
        return image

    return read


def read_svg(content):
    root = ElementTree.fromstring(content)
    assert root.tag.endswith("svg")
    return root


def read_zip(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def read_npz(content):
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return dict(stored)


def read_mat(content):
    return loadmat(io.BytesIO(content))


def read_bibtex(content):
    text = content.decode()
    assert text.startswith("@") and text.count("{") == text.count("}")
    return text


class Page(HTMLParser):
    """Elements with their attributes and all text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        (self.scripts if self._inside in {"script", "style"} else self.texts).append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def read_html(content):
    text = content.decode()
    assert text.startswith("<!doctype html>")
    return Page(text)


def read_csv(content):
    return list(csv.DictReader(io.StringIO(content.decode())))


def read_h5ad(content):
    with h5py.File(io.BytesIO(content)) as file:
        return {name: file[f"{name}/SeMF"][()] for name in ("obsm", "varm")}


READERS = {
    ".csv": read_csv,
    ".h5ad": read_h5ad,
    ".html": read_html,
    ".gif": read_picture("GIF"),
    ".webp": read_picture("WEBP"),
    ".png": read_picture("PNG"),
    ".svg": read_svg,
    ".zip": read_zip,
    ".npz": read_npz,
    ".mat": read_mat,
    ".bib": read_bibtex,
}
