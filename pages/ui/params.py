"""From a `Param` to a widget, for every kind; nothing here knows a particular set, solver or dataset."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import streamlit as st

from pages.ui import messages, previews
from semf_core.common.notation import FIRST, counted, equal_blocks, label, spell
from semf_core.common.parameters import InvalidInput, Param, Parametrized, params_of
from semf_core.runs.sandboxed import MATRIX_BYTES
from semf_core.service import get_service
from semf_core.sets import Intersection

T = TypeVar("T", bound=Parametrized)

SAFE_INTEGER = 2**53 - 1
"""Beyond this a browser rounds whole numbers."""
NONE = "automatic"
MATRIX_MB = MATRIX_BYTES >> 20
MATRIX_TYPES = ["csv", "tsv", "txt", "npy", "npz", "mat"]


@dataclass(frozen=True)
class Around:
    """What an editor may suggest: the length of the vectors and a partition known from the data."""

    length: int | None = None
    groups: Sequence[Sequence[int]] | None = None


NOTHING = Around()
ADDRESS = re.compile(r"\\:(?=/)|www(?=\.)|@", re.IGNORECASE)
"""Where an address is to be broken: http:// and the like (its colon has been escaped), www., and mail."""
WORD_JOINER = "\u2060"
MOST_CHARACTERS = 4_000_000
"""Of a pasted model or study: its numbers take thirty times as many bytes while they are read."""


# -- one value ---------------------------------------------------------------------------------


def value_widget(p: Param, current: Any, key: str, around: Around = NOTHING) -> Any:
    """Draw the widget of a parameter; the value it holds, or InvalidInput if that is none."""
    return _WIDGETS[p.kind](p, current, key, around)


def help_text(p: Param) -> str:
    """The help of a parameter with the range that is allowed."""
    text = p.help[:1].upper() + p.help[1:]
    if p.counts:
        return f"{text} (counted from {FIRST})."
    bounded = p.kind in {"integer", "number", "integers", "numbers"} and (p.low is not None or p.high is not None)
    return f"{text} ({p.describe_range()})." if bounded else f"{text}."


def pasted(text: str) -> str:
    """The same text, unless it is too long to be read here."""
    if len(text) > MOST_CHARACTERS:
        longest = f"{MOST_CHARACTERS / 1e6:g} million characters"
        raise InvalidInput("the text", f"has more than {longest}", "give large matrices as files instead")
    return text


def keep(key: str, value: Any) -> None:
    """Give a widget its first value; later runs keep what the user made of it."""
    if key not in st.session_state:
        st.session_state[key] = value


def shown_as(labels: Mapping[str, str]) -> Callable[[Any], str]:
    """How a choice is written: with its label, or as it is where it has none."""
    return lambda choice: labels.get(choice, str(choice))


def _number_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    whole = p.kind == "integer"
    if whole and current is not None and abs(current) > SAFE_INTEGER:
        return _text_widget(p, current, key + ".text", around)
    keep(key, None if current is None else float(current + (FIRST if p.index else 0)))
    # Bounds of a browser are a red sign instead of a sentence, and make an empty field the least; a field for whole
    # numbers alone would cut 2.5 and 1e3 off at the first sign that is no digit, and say nothing.
    value = st.number_input(
        label(p),
        value=None,
        step=1.0 if whole else _step(current, p),
        format="%g",
        key=key,
        help=help_text(p),
        placeholder="none" if p.optional else None,
    )
    if value is None and not p.optional:
        raise p.error("is empty", "write a number")
    return p.parse(str(value), FIRST) if p.index else p.check(value)


def _step(current: float | None, p: Param) -> float:
    """A tenth of the size of the value: 0.01 for 0.3, 1e-5 for 5e-4."""
    size = abs(current or (0.0 if p.required else p.default or 0.0)) or 1.0
    return float(f"1e{int(f'{size:e}'.partition('e')[2]) - 1}")


def _boolean_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    if p.optional:  # None is neither: what the algorithm thinks best
        states = {NONE: None, "on": True, "off": False}
        keep(key, next(word for word, value in states.items() if value is current))
        return p.check(states[st.selectbox(label(p), list(states), key=key, help=help_text(p))])
    keep(key, bool(current))
    return p.check(st.toggle(label(p), key=key, help=help_text(p)))


def _choice_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    keep(key, NONE if current is None else current)
    if len(p.choices) <= 3 and not p.optional:
        return p.check(st.segmented_control(label(p), p.choices, key=key, help=help_text(p), required=True))
    options = [NONE, *p.choices] if p.optional else list(p.choices)
    chosen = st.selectbox(label(p), options, key=key, help=help_text(p))
    return p.check(None if chosen == NONE and p.optional else chosen)


def _text_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    keep(key, spell(p, current, FIRST))
    text = st.text_input(label(p), key=key, help=help_text(p), placeholder=_placeholder(p), max_chars=20_000) or ""
    if not text.strip() and not p.optional and p.kind != "text":
        raise p.error("is empty", f"write something like {_EXAMPLES.get(p.kind, '1')}")
    return p.parse(text, FIRST)


_EXAMPLES = {"indices": "1-4+8", "groups": "1-4|5-8", "integers": "2, or 2+1+3", "numbers": "0.5, or 0.2+0.5+0.8", "integer": "7"}


def _placeholder(p: Param) -> str:
    if p.optional:
        return "all" if p.kind == "indices" else "none"
    return _EXAMPLES.get(p.kind, "")


def _indices_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    value = _text_widget(p, current, key, around)
    if value is not None:
        note(f"{len(value)} of them, counted from {FIRST}: {previews.some([i + FIRST for i in value])}")
    return value


def _groups_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    _quick_groups(p, current, key, around)
    value = _text_widget(p, current, key, around)
    if value is not None:
        st.html(previews.partition(value, around.length))
    return value


def _quick_groups(p: Param, current: Any, key: str, around: Around) -> None:
    """Buttons that write a partition into the text below them."""
    length = around.length or 1 + max((i for g in current or () for i in g), default=0)

    def write(groups: Sequence[Sequence[int]]) -> None:
        st.session_state[key] = spell(p, groups, FIRST)

    def cut() -> None:
        write(equal_blocks(length, max(1, int(st.session_state.get(key + ".size") or 1))))

    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        keep(key + ".size", min(len(current[0]) if current else 4, length))
        st.number_input("Equal blocks of", 1, length, key=key + ".size", width=150)
        hint = f"Cuts {FIRST} to {length - 1 + FIRST} into such blocks."
        st.button("Fill in", key=key + ".cut", on_click=cut, icon=":material/grid_on:", help=hint)
        if around.groups and sum(len(g) for g in around.groups) == length:
            hint = "The groups of the data's ground truth."
            icon = ":material/school:"
            st.button("Known groups", key=key + ".known", on_click=write, args=(around.groups,), icon=icon, help=hint)


def _matrix_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    st.markdown(f"**{label(p)}** · {previews.describe_matrix(current)}", help=help_text(p))
    with st.expander("Replace it: a file, or numbers pasted here", icon=":material/upload_file:"):
        file = st.file_uploader(f"{label(p)} from a file", MATRIX_TYPES, key=key + ".file", max_upload_size=MATRIX_MB)
        text = st.text_area(f"{label(p)} as text", key=key + ".paste", placeholder="1, 0, 2\n0, 1, 1", help="Rows of numbers.")
    if file is None and not (text or "").strip():
        return current
    name, content = (file.name, file.getvalue()) if file is not None else ("paste.csv", (text or "").encode())
    try:
        return p.check(get_service().arrivals.matrix(name, content))
    except InvalidInput as error:
        raise error.about(p.name) from None


def _no_widget(p: Param, current: Any, key: str, around: Around) -> Any:
    """A Python function cannot be typed into a page."""
    return current


_WIDGETS: dict[str, Callable[[Param, Any, str, Around], Any]] = {
    "integer": _number_widget,
    "number": _number_widget,
    "boolean": _boolean_widget,
    "choice": _choice_widget,
    "text": _text_widget,
    "indices": _indices_widget,
    "groups": _groups_widget,
    "integers": _text_widget,
    "numbers": _text_widget,
    "matrix": _matrix_widget,
    "mask": _matrix_widget,
    "function": _no_widget,
}


# -- a whole object ----------------------------------------------------------------------------


def edit(
    current: T,
    key: str,
    check: Callable[[T], object] | None = None,
    around: Around = NOTHING,
    columns: int = 2,
    aside: Any = None,
) -> T:
    """Draw the widgets of an object's parameters; the object they describe, or the last good one.

    `aside` is where the scope goes, which is rarely narrowed.

    Each error is written under its widget. `check` raises InvalidInput for an object that exists
    but does not fit; what did not fit before may change into another misfit, on its way to a fit.
    """
    own, scope = _own_and_scope(type(current))
    slots: dict[str, list[Any]] = {}
    values, rejected = _draw(own, current, key, around, (slots, columns))
    if scope:
        narrowed = [p for p in scope if getattr(current, p.name) != p.default]
        bound = ", ".join(counted(p.name, spell(p, getattr(current, p.name), FIRST)) for p in narrowed)
        with aside or st.expander(f"Scope: {bound or 'the whole factor'}", type="compact"):
            more, also = _draw(scope, current, key, around, (slots, 1))
        if aside and bound:
            note(f"only {bound}")
        if aside:  # which is closed most of the time: what is wrong in it is said outside of it too
            outside = st.container()
            for p in scope:
                slots[p.name].append(outside)
        values, rejected = values | more, rejected or also
    if rejected:
        return current
    try:
        new = _rebuilt(current, values)
    except InvalidInput as error:
        _show_errors(slots, error)
        return current
    return _fitting(current, new, check, slots)


def has_scope(cls: type) -> bool:
    """Whether a set can be narrowed to a part of the factor."""
    return bool(_own_and_scope(cls)[1])


def _fitting(current: T, new: T, check: Callable[[T], object] | None, slots: dict[str, list[Any]]) -> T:
    if check is None:
        return new
    try:
        check(new)
    except InvalidInput as error:
        _show_errors(slots, error)
        try:
            check(current)
        except InvalidInput:
            return new
        return current
    return new


def _own_and_scope(cls: type) -> tuple[list[Param], list[Param]]:
    """A set's own parameters, and those that say which part of the factor it binds."""
    keyword_only = {f.name for f in dataclasses.fields(cls) if f.kw_only}
    everything = [p for p in params_of(cls) if p.kind != "function"]
    if all(p.name in keyword_only for p in everything) and "axis" not in keyword_only:
        return everything, []
    return [p for p in everything if p.name not in keyword_only], [p for p in everything if p.name in keyword_only]


def _draw(params: Sequence[Param], current: Any, key: str, around: Around, layout: tuple[dict, int]) -> tuple[dict, bool]:
    """The values of all widgets, and whether one of them was rejected."""
    values: dict[str, Any] = {}
    rejected = False
    slots, count = layout
    narrow = sum(p.kind not in _WIDE for p in params)
    cells = _grid(narrow, count)
    for p in params:
        with st.container() if p.kind in _WIDE else next(cells):
            now = getattr(current, p.name)
            try:
                values[p.name] = value_widget(p, now, f"{key}.{p.name}", around)
            except InvalidInput as error:
                rejected = True
                show_error(error, still(p, now))
            slots[p.name] = [st.container()]
    slots.setdefault("", [st.container()])
    return values, rejected


def _grid(count: int, across: int) -> Iterator[Any]:
    """Places row by row, so that they keep their order where a narrow screen stacks them."""
    while count > 0:
        row = st.columns(across) if across > 1 and count > 1 else [st.container()]
        yield from row[:count]
        count -= len(row)


_WIDE = {"groups", "matrix", "mask"}


def _rebuilt(current: T, values: dict[str, Any]) -> T:
    """A new object of the class; members of an intersection are no parameter and stay."""
    if isinstance(current, Intersection):
        return dataclasses.replace(current, **values)
    return type(current).from_params(values)


def _show_errors(slots: dict[str, list[Any]], error: InvalidInput) -> None:
    for place in slots.get(error.field) or slots[""]:
        with place:
            show_error(error)


def note(text: str) -> None:
    """Small print; Streamlit's own caption is too pale to be read by everybody."""
    st.markdown(f":small[{plain(text)}]")


def show_error(error: InvalidInput, more: str = "") -> None:
    """An error in a sentence."""
    st.error(sentence(error) + more, icon=":material/block:")


def still(p: Param, value: Any) -> str:
    """What stays in force when a value is rejected."""
    if p.kind in {"matrix", "mask"}:
        return " The matrix from before is still in use."
    text = spell(p, value, FIRST) or "all"
    return f" Still in use: {plain(text if len(text) <= 60 else text[:57] + '…')}"


def sentence(error: InvalidInput) -> str:
    """An error as one sentence, safe to show as Markdown."""
    return plain(messages.sentence(error))


def plain(text: str) -> str:
    """Text of a visitor that shows as it is written, whatever Markdown would make of it; an address in it is no link.

    Markdown looks for addresses after it has read all escapes, so an invisible sign stands in the middle of each.
    """
    escaped = "".join(f"\\{c}" if c in "\\`*_[]{}<>$#~|:" else c for c in text)
    return ADDRESS.sub(lambda found: f"{found[0]}{WORD_JOINER}", escaped)
