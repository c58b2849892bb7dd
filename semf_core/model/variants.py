"""Models in words: what one is called, and how it differs from another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from semf_core.common.notation import FIRST, counted, label, spell
from semf_core.common.parameters import Param, Parametrized, params_of
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.sets import StructureSet, without_rounds

SHORT = {
    "nonnegative": "≥ 0",
    "sparse": "{k} per {axis}",
    "group_sparse": "{k} per group",
    "equal_nonzeros": "equal nonzeros",
    "orthogonal_to": "orthogonal to {axis} {column}",
}
"""Sets that have a shorter name in a title than their own."""
SWITCH = {None: "automatic", True: "on", False: "off"}
LONGEST_VALUE = 24
LONGEST_TITLE = 200
MOST_RATIO = 1000


@dataclass(frozen=True)
class Change:
    """One difference of two models: a name for the new one ("k = 8"), and both sides ("k 16 → 8")."""

    name: str
    words: str
    what: str = ""
    """What was changed, without its value."""


# -- differences -------------------------------------------------------------------------------


def differences(before: ModelSpec, after: ModelSpec) -> list[Change]:
    """Everything in which the second model differs from the first, titles aside."""
    found = list(_data(before, after))
    if type(before.dataset) is not type(after.dataset):  # then the rest is another model altogether
        return found
    if before.rank != after.rank:
        found.append(Change(f"rank = {after.rank}", f"rank {before.rank} → {after.rank}", "rank"))
    if type(before.solver) is not type(after.solver):
        found.append(Change(after.solver.title, f"{before.solver.title} → {after.solver.title}"))
    else:
        found += _values(before.solver, after.solver)
    if before.solver.takes_sets and after.solver.takes_sets:  # else the algorithm says it all
        found += [change for factor in ("x", "y") for change in _sets(factor, before, after)]
    found += _values(before.limits, after.limits)
    for name in ("seed", "dtype"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            word = {"dtype": "precision"}.get(name, name)
            shown = "automatic" if new is None else new
            found.append(Change(f"{word} = {shown}", f"{word} {_shown(old)} → {_shown(new)}", word))
    return found


def same_model(a: ModelSpec, b: ModelSpec) -> bool:
    """Whether a run of one is a run of the other, whatever they are called."""
    return replace(a, title="", watch="") == replace(b, title="", watch="")


def name_by_difference(before: ModelSpec, after: ModelSpec, most: int = 2) -> str:
    """A short name for the second model, from what is new in it."""
    names = [change.name for change in differences(before, after)]
    if not names:
        return "the same again"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def words_of_difference(before: ModelSpec, after: ModelSpec, most: int = 3) -> str:
    """What was changed, both sides: "k 16 → 8"."""
    words = [change.words for change in differences(before, after)]
    return ", ".join(words[:most]) + (" …" if len(words) > most else "")


def _data(before: ModelSpec, after: ModelSpec) -> Iterator[Change]:
    if before.dataset == after.dataset:
        return
    if type(before.dataset) is not type(after.dataset):
        yield Change(after.dataset.title, f"{before.dataset.title} → {after.dataset.title}")
        return
    yield from _values(before.dataset, after.dataset) or [Change("other data", "other data")]


def _sets(factor: str, before: ModelSpec, after: ModelSpec) -> Iterator[Change]:
    """Sets are matched by their kind, in order; what is left over was added or removed."""
    symbol = factor.upper()
    (was, turns), (now, new_turns) = (without_rounds(getattr(spec, factor)) for spec in (before, after))
    if turns != new_turns:
        yield _rounds(symbol, turns, new_turns)
    old, new = list(was), list(now)
    if old == new:
        return
    quiet = True
    for s in new:
        match = next((o for o in old if o == s), None) or next((o for o in old if o.name == s.name), None)
        if match is None:
            quiet = False
            yield Change(f"+ {_lower(s.title)} on {symbol}", f"{_lower(s.title)} added on {symbol}")
            continue
        old.remove(match)
        for change in _values(match, s, f" of {symbol}" if _is_on_both(after, s) else ""):
            quiet = False
            yield change
    for s in old:
        quiet = False
        yield Change(f"− {_lower(s.title)} on {symbol}", f"{_lower(s.title)} removed from {symbol}")
    if quiet:
        yield Change(f"other order on {symbol}", f"order of the constraints on {symbol}")


def _rounds(symbol: str, before: int, after: int) -> Change:
    """Onto the constraints one after the other, in so many rounds, or at once (0)."""
    old, new = (_turns(rounds) for rounds in (before, after))
    return Change(f"{symbol}: {new}", f"projections on {symbol} {old} → {new}", f"rounds of {symbol}")


def _turns(rounds: int) -> str:
    return ("at once", "one after the other")[rounds] if rounds < 2 else f"{rounds} rounds"


def _is_on_both(spec: ModelSpec, s: StructureSet) -> bool:
    return sum(other.name == s.name for sets in (spec.x, spec.y) for other in without_rounds(sets)[0]) > 1


def _values(before: Parametrized, after: Parametrized, where: str = "") -> list[Change]:
    changes = []
    for p in params_of(type(after)):
        old, new = getattr(before, p.name), getattr(after, p.name)
        if not _same(old, new):
            changes.append(_change(p, old, new, where))
    return changes


def _same(old: Any, new: Any) -> bool:
    try:
        return bool(old == new)
    except ValueError:  # matrices
        return bool(old is not None and new is not None and old.shape == new.shape and (old == new).all())


def _change(p: Param, old: Any, new: Any, where: str) -> Change:
    word = _lower(label(p)) + where
    if p.kind == "boolean":
        name = f"{word} automatic" if new is None else word if new else f"no {word}"
        return Change(name, f"{word} {SWITCH[old]} → {SWITCH[new]}", word)
    words = f"{word} {_spelled(p, old)} → {_spelled(p, new)}"
    ratio = _ratio(old, new) if p.kind == "number" else None
    if p.kind in {"matrix", "mask"}:
        return Change(f"other {word}", f"other {word}")
    return Change(f"{word} {ratio}" if ratio else f"{word} = {_spelled(p, new)}", words, word)


def _ratio(old: Any, new: Any) -> str | None:
    """× 4 or ÷ 4, where it is that."""
    if not isinstance(old, int | float) or not isinstance(new, int | float) or old <= 0 or new <= 0:
        return None
    for sign, ratio in (("×", new / old), ("÷", old / new)):
        if 1 < ratio <= MOST_RATIO and abs(ratio - round(ratio)) < 1e-9 * ratio:
            return f"{sign} {round(ratio)}"
    return None


def _spelled(p: Param, value: Any) -> str:
    if p.kind in {"matrix", "mask"}:
        return "a matrix"
    return _shown(value if isinstance(value, float) else spell(p, value, FIRST) if value is not None else None)


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "none"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _lower(text: str) -> str:
    """A name inside a sentence; symbols and abbreviations stay."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


# -- titles ------------------------------------------------------------------------------------


def title_of(spec: ModelSpec, data: str = "") -> str:
    """Data and constraints, as a title: "Digits, X ≥ 0 with 8 per column"."""
    name = data or spec.dataset.title
    if not spec.solver.takes_sets:
        return f"{name}: {spec.solver.title}, rank {spec.rank}"
    return f"{name}, {imposed(spec)}"


def imposed(spec: ModelSpec) -> str:
    """What a model enforces, in a few words."""
    if not spec.solver.takes_sets:
        return spec.solver.enforces
    x, y = (_factor_words(sets) for sets in (spec.x, spec.y))
    if not x and not y:
        return "no constraint"
    if x == y:
        return f"X, Y {x}"
    return ", ".join(f"{symbol} {words}" for symbol, words in (("X", x), ("Y", y)) if words)


def _factor_words(sets: Sequence[StructureSet]) -> str:
    members, rounds = without_rounds(sets)
    words = [_set_words(s) for s in members]
    sign = "≥ 0" if "≥ 0" in words else ""
    rest = ", ".join(w for w in words if w != "≥ 0")
    turns = f" ({_turns(rounds)})" if rounds else ""
    return (f"{sign} with {rest}".strip() if rest else sign) + turns


def _set_words(s: StructureSet) -> str:
    values = {p.name: _spelled(p, getattr(s, p.name)) for p in params_of(type(s))}
    if s.name in SHORT:
        bound = getattr(s, "columns", None)
        return SHORT[s.name].format(**values) + (f" ({counted('columns', values['columns'])} alone)" if bound is not None else "")
    told = [p for p in params_of(type(s)) if p.kind in {"integer", "number"} and getattr(s, p.name) not in (None, p.default)]
    return " ".join([_lower(s.title), *(f"{_lower(label(p))} {values[p.name]}" for p in told[:2])])


def titled(spec: ModelSpec, data: str = "", fresh: bool = True) -> ModelSpec:
    """The model under its own name: a preset's where it is that preset, else one made from data and constraints.

    What a preset's name tells is what comes of a fresh start, not of a run that goes on from other factors.
    """
    names = preset_names() if fresh else ()
    known = next((p for p in map(preset, names) if same_model(replace(p, seed=spec.seed), spec)), None)
    if known is not None:
        return replace(spec, title=known.title, watch=known.watch)
    return replace(spec, title=title_of(spec, data)[:LONGEST_TITLE], watch="")
