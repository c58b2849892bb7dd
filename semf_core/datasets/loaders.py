"""From a file of the user's to a Dataset, or to one sentence that says why not."""

from __future__ import annotations

import contextlib
import io
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import matrix_market
from semf_core.datasets.archives import content_members, is_archive, open_archive, read_member
from semf_core.datasets.arrays import map_npy, read_npy, read_npz
from semf_core.datasets.bag_of_words import is_bag, read_bag
from semf_core.datasets.base import Dataset, real_matrix, sparse_matrix
from semf_core.datasets.companions import fitting
from semf_core.datasets.gaps import without_gaps
from semf_core.datasets.hdf5 import read_mat73
from semf_core.datasets.images import IMAGE_ENDINGS, NamedContent, is_image, read_image, stack_images
from semf_core.datasets.joined import is_table, join_tables, shared_title
from semf_core.datasets.matlab import read_mat
from semf_core.datasets.parquet import read_parquet
from semf_core.datasets.preparation import prepared
from semf_core.datasets.reading import LARGEST, Found, Limits, Raw, Reading, listed, shown
from semf_core.datasets.scaling import divided, scales
from semf_core.datasets.single_cell import UNKNOWN, read_h5, read_h5ad
from semf_core.datasets.sound import read_wav
from semf_core.datasets.sparse_text import is_matrix_or_list, is_sparse_text, read_sparse_text
from semf_core.datasets.stacks import matrix_or_stack
from semf_core.datasets.tables import read_table

DEFAULT_READING = Reading()
DEFAULT_LIMITS = Limits()
HDF5 = b"\x89HDF\r\n\x1a\n"
KINDS = dict.fromkeys((".csv", ".tsv", ".txt", ".gct", ".tab", ".dat", ".asc", ".data"), "table") | dict.fromkeys(
    IMAGE_ENDINGS, "picture"
)
KINDS |= {".npy": "NPY", ".npz": "NPZ", ".mat": "MAT", ".zip": "ZIP", ".h5ad": "AnnData", ".parquet": "Parquet"}
KINDS |= {".wav": "WAV", ".mtx": "Matrix Market", ".h5": "HDF5", ".hdf5": "HDF5"}
SIGNATURES = (
    (b"\x93NUMPY", "NPY"),
    (b"PK\x03\x04", "ZIP"),
    (b"PK\x05\x06", "ZIP"),
    (b"MATLAB 5.0", "MAT"),
    (b"MATLAB 7.3", "MAT"),
    (HDF5, "HDF5"),
    (b"PAR1", "Parquet"),
    (b"RIFF", "WAV"),
    (b"RIFX", "WAV"),
    (b"RF64", "WAV"),
    (b"%%MatrixMarket", "Matrix Market"),
    (b"\x89PNG\r\n\x1a\n", "picture"),
    (b"\xff\xd8\xff", "picture"),
    (b"II*\x00", "picture"),
    (b"MM\x00*", "picture"),
    (b"II+\x00", "picture"),
    (b"MM\x00+", "picture"),
    (b"\x1f\x8b", "gzip"),
    (b"%PDF", "PDF"),
    (b"GIF8", "GIF"),
)
"""How files begin whose kind is beyond doubt."""
ENDINGS = ", ".join(KINDS) + " (tables, .mtx: also .gz)"
ADVICE: dict[str, tuple[str, str]] = {
    ending: (kind, remedy)
    for endings, kind, remedy in (
        (".xlsx .xls .ods .numbers", "is a spreadsheet", "save its sheet as CSV"),
        (".mp3 .flac .ogg .m4a .aac .aif .aiff", "is a packed recording", "save it as WAV"),
        (".rds .rda .rdata", "is R's own format", "write the table with write.csv"),
        (".pkl .pickle .joblib", "could run programs when it is opened", "save the array with numpy.save"),
        (".loom .zarr", *UNKNOWN),
        (".hdr .img .bil .bip .bsq .raw", "is a raw picture in bands", "save it as MAT, NPY or TIFF"),
        (".spc .jdx .dx .wdf .spe .opus", "is a spectrometer's own format", "export it as CSV or text"),
        (".gif .webp .heic .svg", "is a picture that is not read", "save it as PNG"),
        (".pdf .doc .docx .html .json .xml", "is a document", "save its table as CSV"),
    )
    for ending in endings.split()
}
"""What is wrong and what to do with files whose ending tells what they are, though they are not read."""


def load_bytes(name: str, content: bytes, reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS) -> Dataset:
    r"""The dataset in an uploaded file.

    Parameters
    ----------
    name : str
        Name of the file; its ending says what kind it is.
    content : bytes
        What the file holds.
    reading : Reading
        How it becomes a matrix: orientation, header, preparation and so on.
    limits : Limits
        The most that it may hold (`semf_core.datasets.Limits`).

    Returns
    -------
    Dataset
        Matrix, names, units.

    Examples
    --------
    >>> from semf_core.datasets import load_bytes
    >>> data = load_bytes("amounts.csv", b"sugar,salt\n1,2\n3,4\n5,6\n")
    >>> data.shape, data.axes.columns.names
    ((3, 2), ('sugar', 'salt'))
    """
    return find_files([(name, content)], reading, limits).dataset


def load_files(
    files: Sequence[tuple[str, bytes]], reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS
) -> Dataset:
    r"""One dataset of several uploaded files: pictures or tables (a sample each), or a Matrix Market file with its names.

    Parameters
    ----------
    files : sequence of (str, bytes)
        Name and content of each.
    reading : Reading
        How they become a matrix.
    limits : Limits
        The most that they may hold together.

    Returns
    -------
    Dataset
        Matrix, names, units.

    Examples
    --------
    >>> from semf_core.datasets import load_files
    >>> pictures = [(f"{grey}.pgm", b"P5 2 2 255\n" + bytes([grey] * 4)) for grey in (0, 255)]
    >>> data = load_files(pictures)
    >>> data.shape, data.image_shape
    ((4, 2), (2, 2))
    """
    return find_files(files, reading, limits).dataset


def find_files(files: Sequence[tuple[str, bytes]], reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS) -> Found:
    """The same, with how it was read and what else could be."""
    if not files:
        raise InvalidInput("files", "none was chosen", "choose a file", whole=True)
    limits.check_bytes(shown(files[0][0]) if len(files) == 1 else "files", sum(len(content) for _, content in files))
    unpacked = [_unzipped(shown(name), content, limits) for name, content in files]
    if len(unpacked) == 1:
        name, content = unpacked[0]
        return _found(name, _READERS[_kind(name, content[:16])](name, content, reading, limits), reading, limits)
    title = shared_title(name for name, _ in unpacked)
    matrices = [Path(file[0]).stem for file in unpacked if is_sparse_text(*file)]
    if matrices:
        return _found("files", read_sparse_text("files", unpacked, limits), reading, limits, title or matrices[0])
    if all(is_table(name) for name, _ in unpacked):
        joined = join_tables("files", unpacked, reading, limits)
        return _found("files", joined, reading, limits, title or f"{len(files)} tables")
    for name, _ in files:
        if not is_image(name):
            together = "several files together must be pictures, tables, or a Matrix Market file with its lists of names"
            raise InvalidInput(shown(name), "is not a picture", together)
    pictures: list[NamedContent] = [(name, lambda content=content: content) for name, content in files]  # type: ignore[misc]
    stacked = stack_images("files", pictures, reading.colour, limits)
    return _found("files", stacked, reading, limits, title or f"{len(files)} pictures")


def load_path(path: str | Path, reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS) -> Dataset:
    """The dataset in a file, or in a folder of pictures or tables; NPY files are memory-mapped.

    Parameters
    ----------
    path : str or Path
        The file or folder; the ending of its name says what kind it is.
    reading : Reading
        How it becomes a matrix: orientation, header, preparation and so on.
    limits : Limits
        The most that it may hold.

    Returns
    -------
    Dataset
        Matrix, names, units.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.datasets import Reading, load_path
    >>> np.save("samples.npy", np.arange(6.0).reshape(2, 3))
    >>> load_path("samples.npy").shape
    (2, 3)
    >>> load_path("samples.npy", Reading(orientation="rows")).shape
    (3, 2)
    """
    return find_path(path, reading, limits).dataset


def find_path(path: str | Path, reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS) -> Found:
    """The same, with how it was read and what else could be."""
    path = Path(path)
    name = shown(path.name) or "folder"
    try:
        if path.is_dir():
            return _read_folder(name, path, reading, limits)
        if not path.is_file():
            raise InvalidInput(name, "there is no such file", "check the path", whole=True)
        with path.open("rb") as stream:
            if path.suffix.lower() == ".npy":
                limits.check_bytes(name, min(1, path.stat().st_size))
                _kind(name, stream.read(16))
                return _found(name, matrix_or_stack(map_npy(path, limits), {}, reading.stack), reading, limits)
            limits.check_bytes(name, path.stat().st_size)
            content = stream.read(limits.max_bytes + 1)  # it may have grown since it was measured
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(name, "cannot be opened", "check the path and the rights to read it") from None
    return find_files([(name, content)], reading, limits)


def _unzipped(name: str, content: bytes, limits: Limits) -> tuple[str, bytes]:
    """What a .gz file holds, under its own name; any other file as it is."""
    if not name.lower().endswith(".gz"):
        return name, content
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        data = unpacker.decompress(content, limits.max_bytes + 1)
    except zlib.error:
        raise InvalidInput(name, "is not a readable gzip file", "pack it again") from None
    limits.check_bytes(name, len(data), unpacked=True)
    if not unpacker.eof:
        raise InvalidInput(name, "is cut off", "pack it again")
    return name[:-3], data


def _kind(name: str, start: bytes) -> str:
    """The kind that the name promises, if the first bytes do not contradict it."""
    ending = Path(name).suffix.lower()
    kind = KINDS.get(ending)
    if ending in ADVICE:
        raise InvalidInput(name, *ADVICE[ending])
    if kind is None:
        raise InvalidInput(name, "has an ending that is not known", f"name it by its content: {ENDINGS}")
    found = next((k for signature, k in SIGNATURES if start.startswith(signature)), None)
    fits = {"NPZ": ("ZIP",), "MAT": ("MAT", "HDF5"), "AnnData": ("HDF5",)}.get(kind, (kind,))
    if found is not None and found not in fits:
        raise InvalidInput(name, f"is named {ending} but holds {found} content", "give it the ending of its content")
    if found is None and kind in ("NPY", "NPZ", "ZIP", "AnnData", "HDF5", "Parquet", "WAV", "Matrix Market"):
        raise InvalidInput(name, f"is named {ending} but does not hold {kind} content", "save it again")
    return kind


def _read_archive(name: str, content: bytes, reading: Reading, limits: Limits) -> Raw:
    """Pictures, a Matrix Market file with its names, or one of several tables and arrays."""
    with open_archive(name, io.BytesIO(content), limits) as archive:
        members = {info.filename: info for info in content_members(archive)}
        if any(f.lower().removesuffix(".gz").endswith(matrix_market.ENDING) for f in members):
            packed = [(f, info) for f, info in members.items() if is_matrix_or_list(f)]
            files = [_unzipped(f, read_member(name, archive, info), limits) for f, info in packed]
            return read_sparse_text(name, files, limits)
        for filename in members:
            if is_archive(filename):
                raise InvalidInput(name, f"holds another archive ({shown(filename)})", "unpack that first")
        tables = {f: info for f, info in members.items() if KINDS.get(Path(f).suffix.lower()) not in (None, "picture", "ZIP")}
        images = [(f, info) for f, info in members.items() if is_image(f)]
        if not tables or (images and reading.member is None) or (len(images) > len(tables) and reading.member == LARGEST):
            pictures: list[NamedContent] = [(f, lambda info=info: read_member(name, archive, info)) for f, info in images]  # type: ignore[misc]
            return stack_images(name, pictures, reading.colour, limits)
        if not reading.member and len(tables) > 1 and all(is_table(f) for f in tables):
            files = [(f, read_member(name, archive, info)) for f, info in tables.items()]
            if any(is_sparse_text(*file) for file in files):
                return read_sparse_text(name, files, limits)
            with contextlib.suppress(InvalidInput):  # they are no samples of one matrix
                return join_tables(name, files, reading, limits)
        if reading.member is None and len(tables) > 1:
            raise InvalidInput(name, "holds several tables", f"name one of {listed(tables)} as its member")
        chosen = reading.member or next(iter(tables))
        if chosen not in tables:
            raise InvalidInput(name, f"has no member {shown(chosen)}", f"choose one of {listed(tables)}")
        inner = read_member(name, archive, tables[chosen])
    place = f"{name}, {shown(chosen)}"
    limits.check_bytes(place, len(inner))
    raw = _READERS[_kind(chosen, inner[:16])](place, inner, replace(reading, member=None), limits)
    return replace(raw, members=dict.fromkeys(tables, ()), member=chosen)


def _read_folder(name: str, folder: Path, reading: Reading, limits: Limits) -> Found:
    """A folder of counts with lists of names, as 10x Genomics and text tools write them, of tables, or of pictures."""
    pictures: list[NamedContent] = []
    texts: list[Path] = []
    total = 0
    for count, path in enumerate(folder.rglob("*"), 1):
        limits.check_members(name, count)
        if path.name.startswith(".") or not path.is_file():
            continue
        if is_image(path.name) or is_matrix_or_list(path.name) or is_table(path.name):
            total += path.stat().st_size
            limits.check_bytes(name, total, unpacked=True)
        if is_image(path.name):
            pictures.append((path.relative_to(folder).as_posix(), path.read_bytes))
        elif is_matrix_or_list(path.name) or is_table(path.name):
            texts.append(path)
    if texts and (not pictures or any(matrix_market.ENDING in path.name.lower() for path in texts)):
        files = [_unzipped(path.relative_to(folder).as_posix(), path.read_bytes(), limits) for path in texts]
        if any(is_sparse_text(*file) for file in files):
            return _found(name, read_sparse_text(name, files, limits), reading, limits)
        return _found(name, join_tables(name, files, reading, limits), reading, limits)
    return _found(name, stack_images(name, pictures, reading.colour, limits), reading, limits)


def _read_mat(name: str, content: bytes, reading: Reading, limits: Limits) -> Raw:
    """Version 7.3 is HDF5 behind 512 bytes of text."""
    if content[:8] == HDF5 or content[:10] == b"MATLAB 7.3" or content[512:520] == HDF5:
        return read_mat73(name, content, reading.member, reading.stack, limits)
    return read_mat(name, content, reading.member, reading.stack, limits)


def _read_table(name: str, content: bytes, reading: Reading, limits: Limits) -> Raw:
    if reading.index in ("auto", "long") and reading.header == "auto" and is_bag(content):
        return read_bag(name, content, (), limits)
    return read_table(name, content, limits, reading.header, reading.index, reading.encoding)


_Reader = Callable[[str, bytes, Reading, Limits], Raw]
_READERS: dict[str, _Reader] = {
    "table": _read_table,
    "NPY": lambda name, content, reading, limits: matrix_or_stack(read_npy(name, content, limits), {}, reading.stack),
    "NPZ": lambda name, content, reading, limits: read_npz(name, io.BytesIO(content), reading.member, reading.stack, limits),
    "MAT": _read_mat,
    "ZIP": _read_archive,
    "picture": lambda name, content, reading, limits: read_image(name, content, reading.colour, reading.stack, limits),
    "AnnData": lambda name, content, reading, limits: read_h5ad(name, content, reading.member, limits),
    "HDF5": lambda name, content, reading, limits: read_h5(name, content, reading.member, limits),
    "Parquet": lambda name, content, reading, limits: read_parquet(name, content, reading.index, limits),
    "WAV": lambda name, content, reading, limits: read_wav(name, content, limits),
    "Matrix Market": lambda name, content, reading, limits: matrix_market.read_mtx(name, content, (), limits),
}


def _found(name: str, raw: Raw, reading: Reading, limits: Limits, title: str = "") -> Found:
    """Orient, scale and prepare what was read, and keep of its companions those that fit."""
    try:
        orientation = raw.guess if reading.orientation == "auto" else reading.orientation
        judged = {key: getattr(raw, key) for key in ("stack", "index", "header", "encoding") if getattr(raw, key) != "auto"}
        data = sparse_matrix(raw.data) if sparse.issparse(raw.data) else real_matrix("data", raw.data)
        data, judged["missing"], said = without_gaps(data, reading.missing, raw.data)
        judged |= {"member": raw.member, "colour": raw.colour if reading.colour == "auto" else reading.colour}
        known = replace(reading, orientation="columns" if raw.samples_fixed else orientation, **judged)
        dataset = prepared(_build(name, data, raw, known, limits, title), reading.prepare)
        several = reading.member == LARGEST and len(raw.members) > 1
        first = f"The file holds {len(raw.members)} arrays or tables; {shown(raw.member or '')} was taken."
        remarks = ((first,) if several else ()) + raw.remarks + said
        return Found(dataset, known, raw.members, raw.question, remarks, not raw.samples_fixed)
    except InvalidInput as error:
        if error.field in (name, "prepare"):
            raise
        if error.field == "data":
            raise error.about(name) from None
        raise InvalidInput(name, f"its {error.field} {error.problem}", error.remedy, whole=True) from None


def _build(name: str, data: Any, raw: Raw, reading: Reading, limits: Limits, title: str) -> Dataset:
    axes, labels = raw.axes, raw.labels
    if reading.orientation == "rows" and not raw.samples_fixed:
        data, axes, labels = data.T, axes.transposed, raw.row_labels
    extras, left_out = fitting(raw.extras, *data.shape)
    if raw.image_shape is not None:
        extras["image_shape"] = raw.image_shape
    if reading.image_shape is not None:
        extras["image_shape"] = reading.image_shape
    if "map_shape" in extras:
        axes = replace(axes, map_shape=extras.pop("map_shape"))
    if labels is not None:
        extras |= {"labels": labels, "labels_title": raw.labels_title}
    if reading.scaling != "none":
        if not sparse.issparse(data):
            limits.check_entries(name, *data.shape)
        factors = scales(data, reading.scaling)
        data = divided(data, factors, raw.data)
        if "activations" in extras:
            extras["activations"] = extras["activations"] / factors
    left = f"Left out because they do not fit: {', '.join(left_out)}." if left_out else ""
    return Dataset(data, title=title or Path(name).stem, note=" ".join(filter(None, [raw.note, left])), axes=axes, **extras)
