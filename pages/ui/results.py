"""The workbench's result: title, what can be done with a run beside its controls, the live view, the certificate."""

from __future__ import annotations

import streamlit as st

from pages.ui import components, flash, iteration_steps, links, memory, query, restoration, save, session, tasks, workbench_state
from pages.ui.error_boundary import error_boundary
from pages.ui.glossary import help_on, meanings
from pages.ui.live import bench_view
from pages.ui.messages import state_words
from pages.ui.params import note, plain, sentence
from pages.ui.places import go, link
from pages.ui.workbench_state import Bench
from semf_core.common.errors import InvalidInput
from semf_core.common.notation import number
from semf_core.service import RunStatus, get_service

COMPARE, VIEW = "semf_compare_runs", "bench"


@st.fragment
@error_boundary()
def show() -> None:
    """Everything but the panel. It is drawn again by itself when the run comes to rest or a menu is used."""
    if st.session_state.get(COMPARE):
        go("compare", pin=st.session_state.pop(COMPARE))
    shown, _ = workbench_state.opened()
    if shown is None:
        return
    status = shown.status
    with st.container(horizontal=True, vertical_alignment="center", key="bench-head"):
        st.title(plain(status.title or "Run"), anchor=False, width="stretch")
        _menus(shown)
        if status.spec.watch:
            st.markdown(plain(status.spec.watch))
    flash.say_flash()
    tasks.banner(status)
    fresh = st.session_state.pop(workbench_state.FRESH, None) == status.id
    bench_view(shown, autoplay=fresh, key=VIEW, on_act=_act)
    if not status.moving:
        iteration_steps.show(status.id)
    certificate(status)
    components.show(status)
    restoration.panel(status)
    query.panel(status)


def nothing() -> None:
    """A server that starts nothing and has no run to show."""
    st.title("Workbench", anchor=False)
    st.markdown("No run is open, and this server starts none. Open one by its link, or a snapshot.")
    link("snapshots", "Snapshots")


def _act(command: object) -> None:
    """A press in the view that changes what the page shows: the panel follows."""
    if not isinstance(command, dict) or command.get("number") == st.session_state.get(workbench_state.ACTED):
        return
    st.session_state[workbench_state.ACTED] = command.get("number")
    try:
        pins = workbench_state.obey(command)
    except InvalidInput as error:
        flash.say(sentence(error))
        return
    if pins:
        st.session_state[COMPARE] = pins
    elif command.get("do") != "speed":
        st.rerun()


def _menus(shown: Bench) -> None:
    """Save, Download, Share, and other runs of the visitor's."""
    service, status = get_service(), shown.status
    if not service.read_only:
        save.save_button(status, shown.strip)
    resting = not status.moving and status.iterations > 0
    with st.popover("Download", icon=":material/download:", disabled=not resting, help="Report, figures, animation and factors."):
        if resting:
            save.exports(status.id)
    with st.popover("Share", icon=":material/share:"):
        share(shown)
    _own_runs(status.id)


def _own_runs(current: str) -> None:
    """Ways to the visitor's other runs, strips included."""
    service = get_service()
    others = [run for run in service.list_runs(reversed(session.runs())) if run.id != current][:20]
    strips = [s for s in reversed(session.strips()) if s != session.current_strip()][:20]
    if not others and not strips:
        return
    with st.popover("Others", icon=":material/history:", help="Your other runs and workbenches."):
        for strip_id in strips:
            try:
                strip = service.strips.get(strip_id)
                run = service.status(strip.current)
            except InvalidInput:  # deleted
                continue
            label = f"{run.title or 'Run'}: {len(strip.shown)} variants"
            st.button(plain(label), key=f"strip-{strip_id}", on_click=_open, args=({"bench": strip_id},), type="tertiary")
        for run in others:
            label = f"{run.title or 'Run'}: {state_words(run)}, {run.iterations} iterations"
            st.button(plain(label), key=f"open-{run.id}", on_click=_open, args=({"run": run.id},), type="tertiary")


def _open(query: dict[str, str]) -> None:
    st.query_params.from_dict(query)
    st.rerun()


def share(shown: Bench) -> None:
    """Links to copy: one to look, one to follow what the owner does, and the owner's own, which is a secret."""
    status, strip = shown.status, shown.strip
    st.markdown("**To look**: this run, as it is.")
    st.code(links.looking("run", status.id), language=None, wrap_lines=True)
    if strip is not None:
        st.markdown("**To follow**: a class sees every change, undo and restart that you make.")
        st.code(links.looking("bench", strip.id), language=None, wrap_lines=True)
    key = shown.run_key
    if not key:
        return
    with st.expander("The owner's link: a secret", icon=":material/key:"):
        st.markdown("Whoever has this link can pause, change, stop and delete. Keep it to yourself.")
        kind, thing_id = ("bench", strip.id) if strip is not None and shown.key else ("run", status.id)
        st.code(links.controlling(kind, thing_id, shown.key or key), language=None, wrap_lines=True)
        if st.button("Delete this run", icon=":material/delete:", key="run-delete"):
            delete(shown, key)


def delete(shown: Bench, key: str) -> None:
    """The run on show and everything it wrote; the variant before takes its place."""
    service, run_id = get_service(), shown.status.id
    if shown.strip is not None and shown.key and len(shown.strip.shown) > 1:
        service.strips.change(shown.strip.id, shown.key, lambda s: s.dropped(run_id).without(run_id))
    elif shown.strip is not None:
        memory.forget_strip(shown.strip.id)
    service.delete(run_id, key)
    memory.forget(run_id)
    st.query_params.clear()
    st.rerun()


def certificate(status: RunStatus) -> None:
    """What the returned factors satisfy, measured on them."""
    if status.state not in {"finished", "stopped"}:
        return
    try:
        result = get_service().result(status.id)
    except InvalidInput:  # stopped before there was anything
        return
    with st.expander("Certificate: what the factors satisfy", icon=":material/verified:", expanded=True):
        with st.container(horizontal=True, gap="large", key="certificate-numbers"):
            error = number(result.relative_error, 3)
            st.metric("Relative error ‖M−UV‖/‖M‖", error, width="content", help=help_on("relative_error"))
            st.metric("SNR of UV", f"{result.snr_db:.2f} dB", width="content", help=help_on("snr"))
            st.metric("Iterations", f"{result.iterations:,}", width="content", help=help_on("iterations"))
            st.metric("Time", f"{number(result.seconds, 2)} s", width="content", help=help_on("seconds"))
        rows = [
            {"Factor": v.factor, "Constraint": f"${v.latex}$", "Violation": f"{v.value:.2g}", "Relative": f"{v.relative:.1g}"}
            for v in result.certificate.violations
        ]
        if rows:
            st.table(rows, border="horizontal")
        feasible = result.certificate.feasible
        note("U and V satisfy every constraint." if feasible else "A constraint is violated by more than rounding.")
        meanings(("relative_error", "snr", "iterations", "seconds", "feasible"))
