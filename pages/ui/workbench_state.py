"""The workbench between a visitor and the service: which run is on show, whose it is, and what a change of the model does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.ui import links, session
from pages.ui.flash import say
from pages.ui.params import sentence
from semf_core.common.errors import InvalidInput
from semf_core.model import ModelSpec
from semf_core.model.sweeps import with_value
from semf_core.model.variants import same_model, titled
from semf_core.runs.variant_strips import Strip
from semf_core.service import RunStatus, get_service
from semf_core.service import workbench as bench

DEMO = "swimmer-groups"
SYNCED, WARM, PAUSED, SPEED, REJECTED = (
    "semf_synced", "bench.warm", "bench.paused", "semf_speed", "semf_rejected_model",
)  # fmt: skip
ACTED = "semf_acted"
"""Number of the last press in the view that was heard: the view asks again until it is its own."""
FRESH = "semf_fresh_run"
"""A run that was just started from a card: if it is over before anybody could see it, it is shown once more, slowly."""
AGAIN, ON = "Start again", "Go on from here"


@dataclass(frozen=True)
class Bench:
    """What the page shows, and what this visitor may do with it."""

    status: RunStatus
    strip: Strip | None = None
    key: str | None = None
    """Controls the strip and its runs."""
    open_to_all: bool = False
    """Nobody's run: whoever changes the model gets a strip of their own that begins with it."""

    @property
    def changeable(self) -> bool:
        """Whether a change in the panel acts."""
        return not get_service().read_only and (self.open_to_all or self.key is not None)

    @property
    def run_key(self) -> str:
        """What controls the run on show; empty for who only looks."""
        return "" if get_service().read_only else session.own_key(self.status) or ""

    @property
    def before(self) -> str:
        """The variant on show before, where its curves and components can be set against this one's."""
        run_id = self.strip.before if self.strip else ""
        try:
            same = bool(run_id) and get_service().status(run_id).spec.dataset == self.status.spec.dataset
        except InvalidInput:  # deleted
            return ""
        return run_id if same else ""


# -- which one ---------------------------------------------------------------------------------


def opened() -> tuple[Bench | None, InvalidInput | None]:
    """What the address names, or what was worked on last, or the demo; and why a link leads nowhere.

    None only on a server that starts nothing and has no demo.
    """
    links.reject_key_in_query()
    try:
        return _named() or _last() or _demo(), None
    except InvalidInput as error:
        for name in ("bench", "run", "at", "component"):
            st.query_params.pop(name, None)
        return _demo(), error


def _named() -> Bench | None:
    query, service = st.query_params, get_service()
    strip_id, run_id = query.get("bench"), query.get("run")
    if not strip_id and not run_id:
        return None
    strip = service.strips.get(strip_id) if strip_id else None
    status = service.status(run_id) if run_id else None
    if strip is None and status is not None:
        strip = _strip_with(status)
    if strip is None:
        return Bench(status, open_to_all=status.id == service.demo_run(DEMO)) if status else None
    key = session.strips().get(strip.id)
    if status is not None and key and strip.variant(status.id) and strip.current != status.id:
        strip = service.strips.change(strip.id, key, lambda s: s.went(status.id))
    shown = status if status is not None and not key else service.status(strip.current)
    return Bench(shown, strip, key)


def _own_strips() -> Iterator[Strip]:
    """Those of one's own that are still there: the one worked on last, then the newest first."""
    for strip_id in dict.fromkeys([session.current_strip(), *reversed(session.strips())]):
        if strip_id in session.strips():
            try:
                strip = get_service().strips.get(strip_id)
            except InvalidInput:
                continue
            yield strip


def _strip_with(status: RunStatus) -> Strip | None:
    """The strip of one's own that a run is in; a run of one's own that is in none begins one."""
    service = get_service()
    for strip in _own_strips():
        if strip.variant(status.id):
            return strip
    key = session.own_key(status)
    if key is None or service.read_only or status.is_snapshot:
        return None
    strip, key = bench.open_strip(service, status.id, key)
    session.add_strip(strip.id, key)
    return strip


def _last() -> Bench | None:
    strip = next(_own_strips(), None)
    return Bench(get_service().status(strip.current), strip, session.strips()[strip.id]) if strip else None


def _demo() -> Bench | None:
    demo = get_service().demo_run(DEMO)
    return None if demo is None else Bench(get_service().status(demo), open_to_all=True)


def remember(shown: Bench) -> None:
    """The address says what is on show; the session knows it after a change of page."""
    if shown.strip is not None:
        st.query_params["bench"] = shown.strip.id
        if shown.key:
            session.add_strip(shown.strip.id, shown.key)
    # Who follows a strip has no run of their own in the address; nor is the demo there, unless it was asked for: after a
    # reload it may stand in for what was worked on last, which the browser has still to tell.
    if shown.key or (shown.strip is None and not shown.open_to_all):
        st.query_params["run"] = shown.status.id
    session.set_current_run(shown.status.id)


# -- model and run agree -----------------------------------------------------------------------


def take_model(shown: Bench) -> None:
    """The panel shows the model of the run on show, unless the visitor has just changed it there."""
    synced = st.session_state.get(SYNCED)
    if synced is None or synced[0] != shown.status.id or not same_model(synced[1], shown.status.spec):
        session.set_spec(shown.status.spec)
        st.session_state[SYNCED] = (shown.status.id, session.spec())


def changed(shown: Bench) -> bool:
    """Whether the panel has another model than the run."""
    synced = st.session_state.get(SYNCED)
    return synced is not None and not same_model(session.spec(), synced[1])


def manner() -> bench.Manner:
    """How a change is run, as the panel says."""
    state = st.session_state
    return bench.Manner(state.get(WARM) == ON, bool(state.get(PAUSED)), float(state.get(SPEED, 0)), session.visitor())


def act_on_change(shown: Bench) -> Bench:
    """Run the changed model at once; where it cannot be, the last good result stays and the reason is said."""
    spec = session.spec()
    own_title = spec.title != shown.status.spec.title and spec.title
    if not own_title:
        spec = _titled(spec, shown)
    try:
        new = run(spec, shown)
    except InvalidInput as error:
        st.session_state[REJECTED] = sentence(error)
        return shown
    session.update_spec(title=spec.title, watch=spec.watch)
    st.session_state[SYNCED] = (new.status.id, new.status.spec)
    return new


def _titled(spec: ModelSpec, shown: Bench) -> ModelSpec:
    fresh = not bench.goes_on(shown.status, spec, manner())
    return titled(spec, session.load(spec.dataset).dataset.title, fresh)


def run(spec: ModelSpec, shown: Bench | None = None) -> Bench:
    """A run of this model as the next variant of one's strip, or as the first of a new one."""
    service = get_service()
    shown = shown or _last()
    if shown is not None and shown.open_to_all:
        strip, key = bench.open_strip(service, shown.status.id)
        strip = bench.change(service, strip, key, spec, manner())
    elif shown is not None and shown.strip is not None and shown.key:
        key = shown.key
        strip = bench.change(service, shown.strip, key, spec, manner())
    else:
        strip, key = bench.begin(service, spec, manner())
    return _on_show(strip, key)


def _on_show(strip: Strip, key: str) -> Bench:
    session.add_strip(strip.id, key)
    now = Bench(get_service().status(strip.current), strip, key)
    st.session_state.pop(REJECTED, None)
    remember(now)
    st.query_params.pop("at", None)
    return now


# -- what the live view asks for ---------------------------------------------------------------


def obey(command: dict[str, Any]) -> str | None:
    """Carry out what a press in the view asks of the page; the pins to compare, where it asks for that."""
    strip_id = st.query_params.get("bench") or session.current_strip() or ""
    run_id = str(command.get("run", ""))
    key, service = session.strips().get(strip_id), get_service()
    do = command.get("do")
    if do == "speed":
        st.session_state[SPEED] = float(command.get("rate", 0))
        return None
    if do == "compare":
        return ",".join(str(one) for one in command.get("runs", ()))
    if do == "follow":
        st.query_params.pop("at", None)
        return None
    if do == "try":
        _try(run_id, command.get("index"))
        return None
    if key is None and do == "go" and service.strips.get(strip_id).variant(run_id):  # who only looks on looks at another
        st.query_params["run"] = run_id
        st.query_params.pop("at", None)
        return None
    if key is None:
        raise InvalidInput("key", "only the owner can do this", whole=True)
    changes: dict[Any, Callable[[Strip], Strip]] = {
        "go": lambda s: s.went(run_id),
        "undo": lambda s: s.moved(-1),
        "redo": lambda s: s.moved(1),
        "pin": lambda s: s.pinned(run_id),
        "drop": lambda s: s.dropped(run_id),
        "restore": lambda s: s.restored(),
        "rename": lambda s: s.renamed(run_id, str(command.get("name", ""))),
    }
    strip = service.strips.get(strip_id)
    left = strip.current
    if do == "adopt":
        strip = bench.adopt(service, strip, key, run_id)
    elif do == "end_sweep":
        strip = bench.end_sweep(service, strip, key)
    elif do in changes:
        strip = service.strips.change(strip_id, key, changes[do])
    if strip.current != left:
        bench.rest(service, left, key)
    _on_show(strip, key)
    return None


def _try(run_id: str, index: object) -> None:
    """Run what the ending of the run on show suggests."""
    shown, _ = opened()
    ending = get_service().ending(run_id)
    if shown is None or shown.status.id != run_id or not shown.changeable or ending is None:
        raise InvalidInput("run", "is not on show any more")
    if not isinstance(index, int) or not 0 <= index < len(ending.suggestions):
        raise InvalidInput("command", "names nothing that was suggested")
    spec = shown.status.spec
    for path, value in ending.suggestions[index].changes.items():
        spec = with_value(spec, path, value)
    run(_titled(spec, shown), shown)


def copy_to_change(run_id: str) -> None:
    """A strip of one's own that begins with somebody else's run."""
    try:
        strip, key = bench.open_strip(get_service(), run_id)
        st.query_params.clear()
        _on_show(strip, key)
    except InvalidInput as error:
        say(sentence(error))


def command(action: Callable[..., Any], *arguments: Any) -> None:
    """Do what a button asks; an error is said on the next drawing."""
    try:
        action(*arguments)
    except InvalidInput as error:
        say(sentence(error))
