"""One snapshot, opened: looked at like a run, never changed, and a starting point for runs of one's own."""

from __future__ import annotations

import streamlit as st

from pages.ui import components, gallery, links, params, places, results, save, session
from pages.ui.flash import say, say_flash
from pages.ui.live import address, presenter, snapshot_view
from pages.ui.workbench_state import ACTED, command
from semf_core.common.errors import InvalidInput
from semf_core.service import get_service
from semf_core.service.public import publishing
from semf_core.snapshots.cards import Card
from semf_core.snapshots.label import Label

PINNED, STARTED = "semf_pinned_snapshot", "semf_continued_run"


def chosen() -> str | None:
    """The snapshot in the address.

    One that cannot be had is rejected in words, and the gallery follows: a link that leads nowhere is no dead end.
    """
    links.reject_key_in_query()
    snapshot_id = st.query_params.get("snapshot")
    if not snapshot_id:
        return None
    try:
        get_service().gallery.card(snapshot_id)
    except InvalidInput as error:
        _leave()
        params.show_error(error)
        return None
    return snapshot_id


def show(snapshot_id: str) -> None:
    """Everything about one snapshot."""
    service = get_service()
    card = service.gallery.card(snapshot_id)
    shown = _shown(card)
    status = service.status(shown)
    st.html(places.ASSETS / "workbench.css")
    presenter("workbench")  # a snapshot is shown as a run is
    with st.container(horizontal=True, vertical_alignment="center", key="bench-head"):
        st.title(params.plain(card.title), anchor=False, width="stretch")
        st.button("All snapshots", icon=":material/arrow_back:", type="tertiary", on_click=_leave)
    _facts(card, shown)
    say_flash()
    _actions(card, shown, session.snapshots().get(card.id))
    place = {"snapshot": card.id, "variant": st.query_params.get("variant", "")}
    snapshot_view(status, card.as_strip(shown), place, on_act=_act)
    results.certificate(status)
    components.show(status)


def _shown(card: Card) -> str:
    """The variant in the address, counted from 1; the one that was on show where there is none, or none such."""
    number = st.query_params.get("variant", "")
    if number.isdecimal() and 1 <= int(number) <= len(card.variants):
        return card.variant_id(int(number) - 1)
    return card.id


def _act(command: object) -> None:
    """A press in the view: another variant, or two of them side by side."""
    if not isinstance(command, dict) or command.get("number") == st.session_state.get(ACTED):
        return
    st.session_state[ACTED] = command.get("number")
    if command.get("do") == "compare":
        st.session_state[PINNED] = ",".join(str(one) for one in command.get("runs", ()))
    elif command.get("do") == "go":
        card = get_service().gallery.card(st.query_params.get("snapshot"))
        runs = [card.variant_id(k) for k in range(len(card.variants))]
        if command.get("run") in runs:
            st.query_params["variant"] = str(runs.index(command["run"]) + 1)
            st.query_params.pop("at", None)


def _leave() -> None:
    st.query_params.clear()


def _facts(card: Card, shown: str) -> None:
    seen = get_service().gallery.card(shown)
    data = f"{seen.data_title or 'data'}, {seen.shape[0]} × {seen.shape[1]}"
    params.note(f"Snapshot of a run of {gallery.when(seen)} · {data} · {gallery.figures(seen)}")
    if card.tags:
        st.markdown(" ".join(f":blue-badge[{params.plain(tag)}]" for tag in card.label.words))
    if card.note:
        st.text(card.note)
    try:
        get_service().dataset(shown)
    except InvalidInput as error:
        st.info(f"Shown without samples. {params.sentence(error)}", icon=":material/database_off:")


def _actions(card: Card, shown: str, key: str | None) -> None:
    free = not get_service().read_only
    own = key is not None and card.owner_ok(key) and free
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="snapshot-actions"):
        if free:
            _continuing(card, shown)
        if places.exists("compare"):
            st.button("Compare", icon=":material/compare:", key="snapshot-compare", on_click=_pin, args=(shown,))
        with st.popover("Download", icon=":material/download:"):
            _downloads(card, shown)
        with st.popover("Share", icon=":material/share:"):
            _share(card, key if own else None)
        if own and key is not None:
            with st.popover("Rename", icon=":material/edit:"):
                _rename(card, key)
        if free:
            st.button("Duplicate", icon=":material/content_copy:", key="snapshot-copy", on_click=_duplicate, args=(card.id,))
        if own and key is not None:
            st.button("Delete", icon=":material/delete:", key="snapshot-delete", on_click=_delete, args=(card, key))
    pinned, started = st.session_state.pop(PINNED, None), st.session_state.pop(STARTED, None)
    if pinned:
        places.go("compare", pin=pinned)
    if started:
        places.go("workbench", **started)


def _continuing(card: Card, shown: str) -> None:
    """Ways to go on: with the whole strip, where there is one, or from the run on show."""
    one = "A run of your own, paused: it goes on where this one stood, or starts from the factors if it had finished."
    every = f"All {len(card.variants)} variants on a workbench of your own, each as it is here; change one, and go on."
    if card.variants:
        st.button(
            "Continue", icon=":material/play_arrow:", type="primary", help=every, key="snapshot-continue-strip",
            on_click=_continue_strip, args=(card.id,),
        )  # fmt: skip
    st.button(
        "Only this one" if card.variants else "Continue from here", icon=":material/play_arrow:", help=one,
        type="secondary" if card.variants else "primary", key="snapshot-continue", on_click=_continue, args=(shown,),
    )  # fmt: skip


def _pin(snapshot_id: str) -> None:
    st.session_state[PINNED] = snapshot_id


def _continue(snapshot_id: str) -> None:
    """A new run from this one; the page then leaves for it."""
    try:
        handle = get_service().continue_from(snapshot_id, session.visitor())
    except InvalidInput as error:
        say(params.sentence(error))
        return
    session.add_run(handle.id, handle.key)
    st.session_state[STARTED] = {"run": handle.id}


def _continue_strip(snapshot_id: str) -> None:
    """The strip becomes one of the visitor's own; the page then leaves for it."""
    try:
        strip, key = get_service().continue_strip(snapshot_id, session.visitor())
    except InvalidInput as error:
        say(params.sentence(error))
        return
    session.add_strip(strip.id, key)
    st.session_state[STARTED] = {"bench": strip.id}


def _delete(card: Card, key: str) -> None:
    command(gallery.delete, card, key)


def _duplicate(snapshot_id: str) -> None:
    try:
        handle = get_service().gallery.duplicate(snapshot_id)
    except InvalidInput as error:
        say(params.sentence(error))
        return
    session.add_snapshot(handle.id, handle.key)
    say("This is your copy.")
    gallery.open_one(handle.id)


def _rename(card: Card, key: str) -> None:
    with st.form("relabel", border=False):
        values = save.label_fields(f"relabel.{card.id}", card.label)
        sent = st.form_submit_button("Keep", type="primary")
    if sent:
        try:
            get_service().gallery.relabel(card.id, key, Label(**values))
        except InvalidInput as error:
            st.error(params.sentence(error))
        else:
            st.rerun()


def _downloads(card: Card, shown: str) -> None:
    """The file itself, and what can be made from it."""
    st.link_button(f"Snapshot file ({card.size / 1024:.0f} kB)", address(f"download/{card.id}/semf"), type="primary")
    save.exports(shown)


def _share(card: Card, key: str | None) -> None:
    st.markdown("**To look and to continue from it**")
    st.code(links.looking("snapshot", card.id), language=None, wrap_lines=True)
    if key is None:
        return
    st.markdown("**To control**: whoever has this link can rename and delete the snapshot.")
    st.code(links.controlling("snapshot", card.id, key), language=None, wrap_lines=True)
    _publish(card, key)


def _publish(card: Card, key: str) -> None:
    """Into everybody's gallery and out of it: by a switch, by the operator's code, or not at all."""
    way, words = publishing(), "Show it in everybody's gallery"
    if way == "free":
        wanted = st.toggle(words, card.published, key=f"publish-{card.id}")
        if wanted != card.published:
            _show_everybody(card, key, wanted)
    elif card.published:
        if st.button("Take it out of everybody's gallery", icon=":material/visibility_off:"):
            _show_everybody(card, key, False)
    elif way == "off":
        params.note("Nobody publishes into everybody's gallery on this server.")
    else:
        with st.form("publish", border=False):
            code = st.text_input("Publishing code", type="password", help="The operator of this server gives it.")
            if st.form_submit_button(words):
                _show_everybody(card, key, True, code)


def _show_everybody(card: Card, key: str, wanted: bool, code: str = "") -> None:
    try:
        get_service().gallery.publish(card.id, key, wanted, code)
    except InvalidInput as error:
        say(params.sentence(error))
    st.rerun()
