"""Parquet tables, read with pyarrow: columns of numbers are the matrix, columns of words name its rows."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from datetime import datetime, time
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.common.extras import optional
from semf_core.datasets.long_tables import unfolded
from semf_core.datasets.maps import place_name
from semf_core.datasets.reading import Limits, Raw, shown
from semf_core.datasets.table_layout import Layout, Words, in_order, is_axis_word
from semf_core.datasets.table_names import named_table

UNNAMED = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name."""
INDEX = "semf_index"
"""What our own files say of their first column: axis, or names; then the others are named, whatever their names look like."""


def read_parquet(name: str, content: bytes, index: str, limits: Limits) -> Raw:
    """The table's numbers with their names; cells without a value are missing entries."""
    with optional():
        import pyarrow as pa
        from pyarrow import parquet as pq

    pa.set_memory_pool(pa.system_memory_pool())  # the others reserve more address space than a limited process has
    try:
        file = pq.ParquetFile(io.BytesIO(content))
        if file.metadata.num_columns > limits.max_members:  # each has a reader of its own, which ends the process without room
            raise InvalidInput(name, f"has more than {limits.max_members:,} columns", "save the table the other way round")
        fields = list(file.schema_arrow)
        limits.check_entries(name, file.metadata.num_rows, len(fields))
        levels = _pandas_index(file.schema_arrow.metadata or {})
        ordered = sorted(range(len(fields)), key=lambda j: fields[j].name not in levels)  # pandas writes its index last
        numbers = [j for j in ordered if _is_number(pa, fields[j].type)]
        words = [j for j in ordered if _is_word(pa, fields[j].type)]
        if not numbers:
            raise InvalidInput(name, "holds no column of numbers", "save a table of numbers")
        if file.metadata.num_rows < 1:
            raise InvalidInput(name, "has no rows", "supply at least one")
        data = np.empty((file.metadata.num_rows, len(numbers)))
        texts: dict[int, list[str]] = {i: [] for i in range(len(words))}
        filled = 0
        # Columns are asked for by name; where two have the same one, all are read and told apart by their place.
        titles: list[Any] = [f.name for f in fields] if len({f.name for f in fields}) == len(fields) else list(range(len(fields)))
        wanted = [titles[j] for j in [*words, *numbers]] if isinstance(titles[0], str) else None
        for batch in file.iter_batches(batch_size=16_384, columns=wanted, use_threads=False):
            for i, column in enumerate(words):
                texts[i] += _texts(batch.column(titles[column]).to_pylist())
            for j, column in enumerate(numbers):
                cast = batch.column(titles[column]).cast(pa.float64(), safe=False)
                data[filled : filled + len(batch), j] = cast.to_numpy(zero_copy_only=False)
            filled += len(batch)
    except (InvalidInput, MemoryError):
        raise
    except Exception:  # pyarrow raises its own kinds and Python's on foreign bytes
        raise InvalidInput(name, "is not a readable Parquet file, or is damaged", "save it again") from None
    if filled != len(data):
        raise InvalidInput(name, "holds fewer rows than it says", "save it again")
    order = ["" if UNNAMED.fullmatch(fields[j].name) else fields[j].name for j in [*words, *numbers]]
    counted = [j for j, column in enumerate(numbers) if fields[column].name in levels]
    if len(levels) > 1 and counted:  # numbers within names: one name of them all
        texts = {i + 1: column for i, column in texts.items()}
        beside = [texts[i + 1] for i, column in enumerate(words) if fields[column].name in levels]
        texts[0] = [place_name(place) for place in zip(*beside, *(data[:, j] for j in counted), strict=True)]
        data = data[:, len(counted) :]
        order = [", ".join(levels), *order[: len(words)], *order[len(words) + len(counted) :]]
        words = [-1, *words]
    own = (file.schema_arrow.metadata or {}).get(INDEX.encode(), b"").decode("utf-8", "replace")
    layout = Layout(b",", len(order), False, tuple(range(len(words))), tuple(order), texts=bool(own))
    told = {"axis": "axis", "names": "names" if words else "data"}.get(own, "auto")
    if len(levels) == 1 and counted and not words:
        told = "axis" if in_order(data[:, 0]) and (is_axis_word(order[0]) or not _is_whole(data[:, 0])) else "names"
    index = told if index == "auto" else index
    left = [shown(f.name) for j, f in enumerate(fields) if j not in numbers and j not in words]
    raw = unfolded(data, layout, Words(texts), index, limits) or named_table(data, layout, Words(texts), "auto", index)
    return (
        replace(raw, remarks=(*raw.remarks, f"Left out, because they are no numbers: {', '.join(left[:10])}.")) if left else raw
    )


def _pandas_index(metadata: dict[bytes, bytes]) -> list[str]:
    """The columns that pandas has kept its index in; one that merely counts is in none."""
    try:
        told = json.loads(metadata.get(b"pandas", b"{}"))["index_columns"]
        return [level for level in told if isinstance(level, str)]
    except (ValueError, KeyError, TypeError):
        return []


def _is_whole(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all())


def _texts(values: list[Any]) -> list[str]:
    """Words, or dates as one writes them: without the time where that is midnight for all."""
    midnight = all(v is None or (isinstance(v, datetime) and v.time() == time.min and v.tzinfo is None) for v in values)
    return ["" if v is None else v.date().isoformat() if midnight else str(v) for v in values]


def _is_number(pa: Any, kind: Any) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind)


def _is_word(pa: Any, kind: Any) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_temporal(plain)
