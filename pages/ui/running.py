"""The controls of a run: who may use them, what they do, and what is shown beside the live view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.ui import memory, saving, session
from pages.ui.params import note, say_refusal, sentence
from pages.ui.places import go, link
from pages.ui.words import state_words
from semf_core.parameters import InvalidInput
from semf_core.runs.edits import Edit
from semf_core.service import RunStatus, get_service
from semf_core.solvers.run import COLUMNS

FLASH = "semf_run_flash"
EDITING = "semf_edited_run"
"""The run whose model was taken to the Model page."""
PLAYABLE = {"paused", "stopped", "failed", "interrupted"}


# -- which run ---------------------------------------------------------------------------------


def chosen_run() -> tuple[RunStatus | None, InvalidInput | None]:
    """The run in the address, or the one looked at last, or why it cannot be had.

    A control key in the address is taken and removed from it.
    """
    run_id = st.query_params.get("run") or session.current_run()
    if not run_id:
        return None, None
    try:
        status = get_service().status(run_id)
    except InvalidInput as refusal:
        if session.current_run() == run_id:
            session.set_current_run(None)
        return None, refusal
    key = st.query_params.get("key")
    if key:
        if status.owner_ok(key):
            session.add_run(run_id, key)
        else:
            say("This control link does not fit the run; you can look at it and fork it.")
        del st.query_params["key"]
    st.query_params["run"] = run_id
    session.set_current_run(run_id)
    return status, None


def no_run(refusal: InvalidInput | None) -> None:
    """Ways to a run, for a visitor who has none open or followed a link that leads nowhere."""
    st.title("Run", anchor=False)
    if refusal is not None:
        say_refusal(refusal)
    else:
        say_flash()
    st.markdown("No run is open. Start one from a card on Home, or build a model of your own.")
    with st.container(horizontal=True):
        link("home", "Choose a preset")
        link("model", "Build a model")
    own_runs(None)


def own_runs(current: str | None) -> None:
    """Links to the visitor's other runs."""
    others = [run for run in get_service().list_runs(reversed(session.runs())) if run.id != current]
    if not others:
        return
    with st.expander(f"Your other runs ({len(others)})", icon=":material/history:"):
        for run in others[:20]:
            label = f"{run.title or 'Run'}: {state_words(run)}, {run.iterations} iterations"
            st.button(label, key=f"open-{run.id}", on_click=open_run, args=(run.id,), type="tertiary")


def open_run(run_id: str) -> None:
    session.set_current_run(run_id)
    st.query_params["run"] = run_id


# -- commands ----------------------------------------------------------------------------------


def say(text: str) -> None:
    st.session_state[FLASH] = text


def say_flash() -> None:
    text = st.session_state.pop(FLASH, None)
    if text:
        st.warning(text, icon=":material/info:")


def command(action: Callable[..., Any], *arguments: Any) -> None:
    """Do what a button asks; a refusal is said on the next drawing."""
    try:
        action(*arguments)
    except InvalidInput as refusal:
        say(sentence(refusal))


def controls(status: RunStatus, key: str | None) -> None:
    """Play, Pause, Step, Reset, Stop for the owner; Fork, Save and Share for everybody."""
    service, state = get_service(), status.state
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if key is not None and not service.read_only:
            word = "Resume" if state in {"interrupted", "failed", "stopped"} else "Play"
            buttons = (
                (word, "play_arrow", service.resume, state in PLAYABLE),
                ("Pause", "pause", service.pause, status.moving),
                ("Step", "skip_next", service.step, state in PLAYABLE),
                ("Reset", "restart_alt", service.reset, True),
                ("Stop", "stop", service.stop, state in {"queued", "running", "paused", "interrupted"}),
            )
            for label, icon, action, enabled in buttons:
                st.button(
                    label, icon=f":material/{icon}:", disabled=not enabled, on_click=command, args=(action, status.id, key),
                    type="primary" if label == word else "secondary", key=f"run-{icon}",
                )  # fmt: skip
            with st.popover("Change", icon=":material/tune:", disabled=state == "queued"):
                change(status, key)
        copy = "A copy of your own, from the newest factors."
        if not service.read_only:
            st.button("Fork", icon=":material/fork_right:", on_click=fork, args=(status.id,), help=copy)
            saving.save_button(status)
        with st.popover("Share", icon=":material/share:"):
            share(status, key)


def fork(run_id: str) -> None:
    try:
        handle = get_service().fork(run_id)
    except InvalidInput as refusal:
        say(sentence(refusal))
        return
    session.add_run(handle.id, handle.key)
    open_run(handle.id)


def change(status: RunStatus, key: str) -> None:
    """New penalties from here on, where there are penalties, or the way to the model."""
    st.markdown("The change takes effect from the current factors and is marked on the chart.")
    if status.spec.solver.splits:
        _penalties(status, key)
    if st.button("Change the model on the Model page", icon=":material/tune:"):
        session.set_spec(status.spec)
        st.session_state[EDITING] = status.id
        go("model")


def _penalties(status: RunStatus, key: str) -> None:
    rows = get_service().scalars(status.id, max(0, status.iterations - 1))
    now = {name: float(rows[-1][COLUMNS.index(name)]) if len(rows) else 1.0 for name in ("alpha", "beta")}
    with st.form("penalties", border=False):
        alpha = st.text_input("α, the penalty on X − U", f"{now['alpha']:.4g}")
        beta = st.text_input("β, the penalty on Y − V", f"{now['beta']:.4g}")
        if st.form_submit_button("Set α and β", type="primary"):
            wanted = {"alpha": alpha, "beta": beta}
            try:
                changed = {n: _number(n, text) for n, text in wanted.items() if text.strip() != f"{now[n]:.4g}"}
                get_service().edit(status.id, key, Edit(**changed))
                st.rerun()
            except InvalidInput as refusal:
                st.error(sentence(refusal))


def pending_change(status: RunStatus, key: str | None) -> None:
    """A model that was changed on the Model page for this run waits to be applied."""
    old, new = status.spec, session.spec()
    if key is None or get_service().read_only or st.session_state.get(EDITING) != status.id:
        return
    if (new.dataset, new.rank) != (old.dataset, old.rank):
        st.info("The Model page has other data or another rank now: run it there as a new run.", icon=":material/info:")
        return
    if (new.x, new.y, new.solver, new.limits) == (old.x, old.y, old.solver, old.limits):
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown("The model was changed on the Model page. Apply it here, and the run goes on from its current factors.")
        edit = Edit(x=new.x, y=new.y, solver=new.solver, limits=new.limits)
        st.button("Apply and go on", type="primary", on_click=apply_change, args=(status, key, edit))
        st.button("Leave the run as it is", on_click=lambda: st.session_state.pop(EDITING, None))


def apply_change(status: RunStatus, key: str, edit: Edit) -> None:
    service = get_service()
    try:
        service.edit(status.id, key, edit)
        if not status.moving:
            service.resume(status.id, key)
        st.session_state.pop(EDITING, None)
    except InvalidInput as refusal:
        say(sentence(refusal))


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(name, f"must be a number, not {text!r}") from None


def share(status: RunStatus, key: str | None) -> None:
    """Links to copy: one to look, and the owner's to control."""
    here = str(st.context.url or "").split("?")[0]
    st.markdown("**To look and to fork**")
    st.code(f"{here}?run={status.id}", language=None, wrap_lines=True)
    if key is None or get_service().read_only:
        return
    st.markdown("**To control**: whoever has this link can pause, change, stop and delete the run.")
    st.code(f"{here}?run={status.id}&key={key}", language=None, wrap_lines=True)
    if st.button("Delete this run", icon=":material/delete:", key="run-delete"):
        delete(status.id, key)


def delete(run_id: str, key: str) -> None:
    get_service().delete(run_id, key)
    memory.forget(run_id)
    st.query_params.clear()
    st.rerun()


# -- results -----------------------------------------------------------------------------------


def certificate(status: RunStatus) -> None:
    """What the returned factors satisfy, measured on them."""
    if status.state not in {"finished", "stopped"}:
        return
    result = get_service().result(status.id)
    st.subheader("Certificate", anchor=False)
    with st.container(horizontal=True, gap="large"):
        st.metric("Relative error ‖M−UV‖/‖M‖", f"{result.relative_error:.3g}", width="content")
        st.metric("SNR of UV", f"{result.snr_db:.2f} dB", width="content")
        st.metric("Iterations", f"{result.iterations:,}", width="content")
        st.metric("Time", f"{result.seconds:.2g} s", width="content")
    rows = [
        {"Factor": v.factor, "Constraint": f"${v.latex}$", "Violation": f"{v.value:.2g}", "Relative": f"{v.relative:.1g}"}
        for v in result.certificate.violations
    ]
    if rows:
        st.table(rows, border="horizontal")
    feasible = result.certificate.feasible
    note("U and V satisfy every constraint." if feasible else "A constraint is violated by more than rounding.")
