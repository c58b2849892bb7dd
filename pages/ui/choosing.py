"""The Data page's parts: built-in sets, uploads, what is known of them, and taking them over."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

import streamlit as st

from pages.ui import params, places, previews, session
from semf_core.datasets import DATASETS, Dataset, DatasetSource, Reading, load_files
from semf_core.datasets.loaders import KINDS
from semf_core.datasets.reading import Limits as FileLimits
from semf_core.parameters import InvalidInput, params_of
from semf_core.runs.home import number_from_env
from semf_core.service import get_service
from semf_core.summary import Facts, Spectrum, image_shapes

HIDDEN = {cls.name for cls in DATASETS if not cls.built_in}
GOOD, PARSED, SHAPE, REFUSED = "semf_data_good", "semf_data_parsed", "data.image_shape", "semf_data_refused"
MAX_UPLOAD_MB = int(number_from_env("SEMF_MAX_UPLOAD_MB", 200))
NO_PICTURE, OTHER = "no picture", "another …"


@dataclass(frozen=True)
class Candidate:
    """Data that may be taken over; uploads have no source until they are."""

    loaded: session.Loaded
    source: DatasetSource | None
    image_shape: tuple[int, int] | None


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
    name = st.selectbox("Data set", list(classes), format_func=titles.get, key="data.set", persist_state="session")
    params.note(classes[name].summary)
    source = good.get(name) or classes[name]()
    if params_of(classes[name]):
        with st.expander("Its parameters", icon=":material/tune:"):
            source = params.edit(source, f"data.{name}", columns=3)
    try:
        loaded = session.load(source)
    except InvalidInput as error:
        params.say_refusal(error)
        return None
    good[name] = source
    return Candidate(loaded, source, loaded.dataset.image_shape)


# -- uploads -----------------------------------------------------------------------------------


def uploaded() -> Candidate | None:
    """Files of the visitor, read as they say; a refusal is a sentence."""
    files = st.file_uploader(
        "A table (CSV, TSV), NPY, NPZ or MAT file, a ZIP of pictures, or several pictures",
        sorted(ending.lstrip(".") for ending in KINDS),
        accept_multiple_files=True,
        key="data.files",
        max_upload_size=MAX_UPLOAD_MB,
        help="What you upload is seen by those who have the address of a run on it, and by nobody else.",
    )
    if not files:
        return None
    files = _without_refused(files)
    reading = _reading([f.name for f in files])
    loaded = _parsed(files, reading) if reading is not None else None
    if loaded is None:
        params.note(f"The data in use is still {session.source().title}.")
        return None
    return Candidate(loaded, None, _image_shape(loaded.dataset))


def _without_refused(files: list) -> list:
    """Files that were refused stay in the browser's list: what is added after them is read without them."""
    refused = st.session_state.get(REFUSED, frozenset())
    fresh = [f for f in files if f.file_id not in refused]
    if not fresh or len(fresh) == len(files):
        return files
    params.note(f"Left out, because refused before: {', '.join(f.name for f in files if f.file_id in refused)}.")
    return fresh


def _reading(names: list[str]) -> Reading | None:
    """How to read them: orientation, scaling and, for files that hold several arrays, which one."""
    wanted = ["orientation", "scaling"]
    wanted += ["member"] if any(n.lower().endswith((".npz", ".mat")) for n in names) else []
    values = {}
    known = {p.name: p for p in params_of(Reading)}
    for cell, name in zip(st.columns(3), wanted, strict=False):
        with cell:
            try:
                values[name] = params.value_widget(known[name], known[name].default, f"data.reading.{name}")
            except InvalidInput as error:
                params.say_refusal(error)
                return None
    return Reading(**values)


def _parsed(files: list, reading: Reading) -> session.Loaded | None:
    """What the files hold, read once for each way to read them."""
    key = (tuple(f.file_id for f in files), reading.identity())
    if st.session_state.get(PARSED, (None,))[0] != key:
        st.session_state.pop(PARSED, None)  # the old data must not be in memory beside the new
        with st.spinner("Reading the file …"):
            try:
                limit = FileLimits(max_bytes=MAX_UPLOAD_MB * 2**20)
                data = load_files([(f.name, f.getvalue()) for f in files], reading, limit)
                found: session.Loaded | str = session.Loaded(data, data.fingerprint())
            except InvalidInput as error:
                found = params.sentence(error)
            except MemoryError:
                found = "This needs more memory than the server has; choose a smaller part of the data."
        st.session_state[PARSED] = (key, found)
        st.session_state.pop(SHAPE, None)
    found = st.session_state[PARSED][1]
    if isinstance(found, str):
        st.session_state[REFUSED] = st.session_state.get(REFUSED, frozenset()) | {f.file_id for f in files}
        st.error(found, icon=":material/block:")
        return None
    st.session_state[REFUSED] = st.session_state.get(REFUSED, frozenset()) - {f.file_id for f in files}
    return found


def _image_shape(data: Dataset) -> tuple[int, int] | None:
    """Height and width of a sample, from the pairs whose product is right or as the visitor says."""
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
    found, values = previews.data_facts(candidate.loaded.fingerprint, candidate.loaded)
    _numbers(data, found, values)
    _truth(data)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        previews.show_data(candidate.loaded, candidate.image_shape)
    with right:
        previews.show_spectrum(values)
    if data.note:
        params.note(data.note)


def _numbers(data: Dataset, found: Facts, values: Spectrum) -> None:
    m, n = data.shape
    rows = {
        "Shape": f"{m:,} × {n:,}",
        "Range": f"{found.low:.4g} to {found.high:.4g}",
        "Type": found.dtype + (", sparse" if found.is_sparse else ""),
        "Zeros": f"{100 * found.zeros:.3g} %",
        "Missing": f"{data.missing:,}" + (f" ({100 * found.missing:.2g} %)" if data.missing else ""),
        "Rank": str(values.rank) if values.complete else f"≥ {values.rank}",
    }
    with st.container(horizontal=True, gap="medium"):
        for name, text in rows.items():
            st.markdown(f"{name}  \n**{text}**", width="content")


def _truth(data: Dataset) -> None:
    words = []
    if data.part_count:
        groups = f" in {len(data.groups)} groups" if data.groups else ""
        words.append(f"the ground truth is known: {data.part_count} parts{groups}; a run counts how many it finds")
    if data.labels is not None:
        words.append(f"samples have labels ({len(set(data.labels.tolist()))} different)")
    if words:
        text = "; ".join(words)
        st.info(text[:1].upper() + text[1:] + ".", icon=":material/school:")


def use(candidate: Candidate) -> None:
    """Make it the current data and go on to the model."""
    source = candidate.source
    if source is None:
        data = candidate.loaded.dataset
        if data.image_shape != candidate.image_shape:
            data = dataclasses.replace(data, image_shape=candidate.image_shape)
        source = get_service().add_upload(data)
        st.session_state.pop(PARSED, None)
    session.set_source(source)
    places.go("model")
