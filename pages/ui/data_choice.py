"""The Data page's parts: built-in sets, uploads, what is known of them, and taking them over."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

import streamlit as st

from pages.ui import params, places, preparation, previews, proposal, reading, session, uploading, workbench_state
from semf_core.common.notation import number
from semf_core.common.parameters import InvalidInput, params_of
from semf_core.datasets import DATASETS, Dataset, DatasetSource, Reading
from semf_core.datasets.summary import Facts, Spectrum, image_shapes
from semf_core.runs import Upload
from semf_core.runs.datasets import Loaded
from semf_core.runs.home import number_from_env
from semf_core.service import get_service

HIDDEN = {cls.name for cls in DATASETS if not cls.built_in}
GOOD, PARSED, SHAPE, REJECTED = "semf_data_good", "semf_data_parsed", "data.image_shape", "semf_data_rejected"
FILES = "data.files"
MAX_UPLOAD_MB = int(number_from_env("SEMF_MAX_UPLOAD_MB", 200))
NO_PICTURE, OTHER = "no picture", "another …"


@dataclass(frozen=True)
class Candidate:
    """Data that may be taken over; an upload gets its final id then."""

    loaded: Loaded
    source: DatasetSource
    image_shape: tuple[int, int] | None
    raw_shape: tuple[int, int] | None = None
    """The same before the data were prepared."""


# -- built-in ----------------------------------------------------------------------------------


def built_in() -> Candidate | None:
    """One of the registered datasets with its parameters as widgets."""
    classes = {cls.name: cls for cls in DATASETS if cls.name not in HIDDEN}
    good = st.session_state.setdefault(GOOD, {})
    current = session.source()
    good.setdefault(current.name, current)
    first = current.name if current.name in classes else next(iter(classes))
    params.keep("data.set", first)
    titles = {name: cls.title for name, cls in classes.items()}
    name = st.selectbox("Data set", list(classes), format_func=params.shown_as(titles), key="data.set", persist_state="session")
    params.note(classes[name].summary)
    source = good.get(name) or classes[name]()
    if params_of(classes[name]):
        with st.expander("Its parameters", icon=":material/tune:"):
            source = params.edit(source, f"data.{name}", columns=3)
    try:
        loaded = session.load(source)
    except InvalidInput as error:
        params.show_error(error)
        return None
    good[name] = source
    return Candidate(loaded, source, loaded.dataset.image_shape)


# -- uploads -----------------------------------------------------------------------------------


def uploaded() -> Candidate | None:
    """Files of the visitor, read as they look or as they say; an error is a sentence."""
    files = st.file_uploader(
        "A table, an array, AnnData, counts with their names, a recording, or pictures",
        accept_multiple_files=True,
        key=FILES,
        max_upload_size=MAX_UPLOAD_MB,
        help="CSV, TSV, Parquet, NPY, NPZ, MAT, TIFF, h5ad, 10x (.h5, mtx with tsv files), WAV, or several pictures or spectra. "
        "What you upload is seen by those who have the address of a run on it, and by nobody else.",
    )
    if not files:
        forget_files()
        return None
    uploading.store(files, FILES)
    files = _without_rejected(files)
    ids = tuple(f.file_id for f in files)
    found = _parsed(ids, reading.wanted(ids))
    reading.widgets([f.name for f in files], ids)
    if found is None:
        params.note(f"The data in use is still {session.source().title}.")
        return None
    loaded = session.load(found)
    return _prepared(found, loaded, _image_shape(loaded.dataset))


def earlier() -> Candidate | None:
    """What the visitor has uploaded before and used in a run that still is there."""
    known = reading.earlier_uploads()
    if not known:
        params.note("There is nothing yet. What you use in a run can be chosen here again, as long as the run is kept.")
        return None
    chosen = st.selectbox("Upload", list(known), format_func=lambda upload: known[upload], key="data.earlier")
    source = next(upload for upload in known if upload == chosen)
    try:
        loaded = session.load(dataclasses.replace(source, prepare=""))
    except InvalidInput as error:
        params.show_error(error)
        return None
    preparation.start(source)
    return _prepared(source, loaded, loaded.dataset.image_shape)


def _prepared(source: Upload, loaded: Loaded, shape: tuple[int, int] | None) -> Candidate | None:
    """The data after the steps of the preparation, which can be changed."""
    text = preparation.edit()
    if not text:
        return Candidate(loaded, dataclasses.replace(source, prepare=""), shape)
    whole = dataclasses.replace(source, image_shape=shape, prepare=text)
    try:
        with st.spinner("Preparing the data …"):
            after = session.load(whole)
    except InvalidInput as error:
        params.show_error(error)
        return None
    return Candidate(after, whole, after.dataset.image_shape, shape)


def _without_rejected(files: list) -> list:
    """Files that were rejected stay in the browser's list: what is added after them is read without them."""
    rejected = st.session_state.get(REJECTED, frozenset())
    fresh = [f for f in files if f.file_id not in rejected]
    if not fresh or len(fresh) == len(files):
        return files
    params.note(f"Left out, because rejected before: {', '.join(f.name for f in files if f.file_id in rejected)}.")
    return fresh


def _parsed(ids: tuple[str, ...], wanted: Reading) -> Upload | None:
    """What the files hold, read once for each way to read them."""
    key = (ids, wanted.identity())
    if key not in st.session_state.get(PARSED, ((),))[0]:
        keys = {key}
        with st.spinner("Reading the file …"):
            try:
                found: Upload | str
                found, told = uploading.basket().read(ids, wanted)
                keys.add((ids, reading.remember(ids, told).identity()))  # what was judged is not read again once it is said
            except InvalidInput as error:
                found = params.sentence(error)
        st.session_state[PARSED] = (keys, found)
        st.session_state.pop(SHAPE, None)
    found = st.session_state[PARSED][1]
    if isinstance(found, str):
        st.session_state[REJECTED] = st.session_state.get(REJECTED, frozenset()) | set(ids)
        st.error(found, icon=":material/block:")
        return None
    st.session_state[REJECTED] = st.session_state.get(REJECTED, frozenset()) - set(ids)
    return found


def forget_files() -> None:
    """Files that were taken back, or left behind on another page, go from the server."""
    for key in (PARSED, uploading.BASKET, reading.TOLD):
        st.session_state.pop(key, None)


def _image_shape(data: Dataset) -> tuple[int, int] | None:
    """Height and width of a sample, from the pairs whose product is right or as the visitor says.

    Not asked where a sample is a curve, or a pixel.
    """
    if data.image_shape is None and (data.axes.rows.ordered or data.axes.map_shape is not None):
        return None
    m = data.shape[0]
    pairs = list(dict.fromkeys([*([data.image_shape] if data.image_shape else []), *image_shapes(m)]))
    words = {f"{h} × {w}": (h, w) for h, w in pairs}
    params.keep(SHAPE, next(iter(words)) if data.image_shape else NO_PICTURE)
    left, right = st.columns(2)
    with left:
        choices = [NO_PICTURE, *words, OTHER]
        chosen = st.selectbox("A sample is a picture of", choices, key=SHAPE, help="Height × width in pixels.")
    if chosen != OTHER:
        return words.get(chosen)
    with right:
        text = st.text_input("Height × width", key="data.image_shape.text", placeholder=f"{m} × 1")
        numbers = [int(v) for v in re.findall(r"\d{1,9}", text or "")]
        if len(numbers) == 2 and numbers[0] * numbers[1] == m:
            return numbers[0], numbers[1]
        if text:
            st.error(f"A sample has {m} entries; write a height and a width whose product is {m}.", icon=":material/block:")
    return None


# -- what it is, and taking it over ------------------------------------------------------------


def describe(candidate: Candidate) -> None:
    """Numbers, pictures and the singular values of the data."""
    data = candidate.loaded.dataset
    with st.spinner("Looking at the data …", show_time=False):
        known = get_service().datasets.describe(candidate.source)
    _numbers(data, known.facts, known.spectrum)
    _names(data)
    _truth(data)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        previews.show_data(candidate.source, data, candidate.image_shape)
    with right:
        previews.show_spectrum(known.spectrum)
    if data.note:
        params.note(data.note)


def _numbers(data: Dataset, found: Facts, values: Spectrum) -> None:
    m, n = data.shape
    rows = {
        "Shape": f"{m:,} × {n:,}",
        "Range": f"{found.low:.4g} to {found.high:.4g}",
        "Type": found.dtype + (", sparse" if found.is_sparse else ""),
        "Zeros": f"{100 * found.zeros:.3g} %",
        "Missing": f"{data.missing:,}" + (f" ({number(100 * found.missing, 2)} %)" if data.missing else ""),
        "Rank": _rank(data, values),
    }
    with st.container(horizontal=True, gap="medium"):
        for name, text in rows.items():
            st.markdown(f"{name}  \n**{text}**", width="content")


def _names(data: Dataset) -> None:
    """What rows and columns are called."""
    known = []
    for word, axis in (("Rows", data.axes.rows), ("Samples", data.axes.columns)):
        if axis:
            known.append(f"{word}: {axis.summary()}")
    if data.axes.map_shape is not None:
        height, width = data.axes.map_shape
        known.append(f"Samples are the pixels of a picture of {height} × {width}")
    if known:
        params.note(". ".join(known) + ".")


def _rank(data: Dataset, values: Spectrum) -> str:
    if data.missing:
        return "unknown"
    if values.complete:
        return str(values.rank)
    return f"≥ {values.rank}" if len(values.values) else "not computed"


def _truth(data: Dataset) -> None:
    words = []
    if data.part_count:
        groups = f" in {len(data.groups)} groups" if data.groups else ""
        words.append(f"the ground truth is known: {data.part_count} parts{groups}; a run counts how many it finds")
    if data.labels is not None:
        called = f" “{data.labels_title}”" if data.labels_title else ""
        words.append(f"samples have labels{called} ({len(set(data.labels.tolist()))} different)")
    if words:
        text = "; ".join(words)
        st.info(text[:1].upper() + text[1:] + ".", icon=":material/school:")


def use(candidate: Candidate) -> None:
    """Make it the current data, with a model that fits it, and go on to the workbench."""
    source = candidate.source
    fresh = isinstance(source, Upload) and uploading.holds(source)
    if isinstance(source, Upload) and fresh:
        shape = candidate.raw_shape if source.prepare else candidate.image_shape
        source = uploading.basket().take(shape, source.prepare)
    try:
        session.check_source(source)
        if source != session.source():
            workbench_state.run(proposal.model_for(source))
    except InvalidInput:
        if isinstance(source, Upload) and fresh:  # nothing runs on it; it can be read otherwise, or used later
            uploading.basket().put_back(source)
            st.session_state[PARSED] = (st.session_state[PARSED][0], source)
        raise
    forget_files()
    preparation.forget()
    places.go("workbench")
