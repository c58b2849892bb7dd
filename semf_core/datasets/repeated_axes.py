"""Tables in which every curve has its axis beside it, as spectrometers export them: x, y, x, y."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets.reading import shown
from semf_core.datasets.table_layout import Layout, in_order, is_axis_word

Array = np.ndarray


def with_one_axis(data: Array, layout: Layout) -> tuple[Array, Layout, tuple[str, ...]]:
    """The numbers, and how they are laid out, with the axis in the first column alone; and what to say of it.

    A curve without a name of its own has that which stands above its axis.
    """
    numbers, head = layout.numbers, list(layout.header or ("",) * layout.cells)
    pairs = len(numbers) // 2
    if pairs < 2 or len(numbers) % 2 or not in_order(data[:, 0]):
        return data, layout, ()
    again = [i for i in range(2, len(numbers), 2) if np.array_equal(data[:, i], data[:, 0])]
    below = layout.annotations[0] if layout.annotations else None
    titles = [next((t for t in (below[j] if below else "", head[j]) if is_axis_word(t)), "") for j in numbers]
    if len(again) < pairs - 1:
        other = next((i for i in range(2, len(numbers), 2) if i not in again and titles[i] == titles[0] != ""), None)
        if other is not None:
            both = f"{numbers[0] + 1} and {numbers[other] + 1} are both headed “{shown(titles[0])}”, and differ"
            raise InvalidInput("table", f"its columns {both}", "write all curves over the same axis", whole=True)
        return data, layout, ()
    left = {numbers[i] for i in again}
    for x, y in zip(numbers[::2], numbers[1::2], strict=True):
        head[y] = head[y] or head[x]
        head[x] = ""
    head[numbers[0]] = titles[0]
    kept = [i for i in range(len(numbers)) if i not in again]
    told = replace(
        layout,
        words=tuple(sorted({*layout.words, *left})),
        header=None if layout.header is None else tuple(head),
        annotations=layout.annotations[1:] if below and titles[0] == below[numbers[0]] else layout.annotations,
    )
    return data[:, kept], told, (f"The axis stands beside each of the {pairs} curves, and is taken once.",)
