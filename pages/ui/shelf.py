"""One snapshot, opened: looked at like a run, never changed, and a starting point for runs of one's own."""

from __future__ import annotations

import streamlit as st

from pages.ui import gallery, memory, params, places, presets, running, saving, session
from pages.ui.live import address, live_view
from semf_core.parameters import InvalidInput
from semf_core.service import get_service
from semf_core.snapshots.cards import Card
from semf_core.snapshots.label import Label

PINNED, STARTED = "semf_pinned_snapshot", "semf_continued_run"


def chosen() -> str | None:
    """The snapshot in the address; a control key there is taken and removed from it.

    One that cannot be had is refused in words, and the gallery follows: a link that leads nowhere is no dead end.
    """
    snapshot_id = st.query_params.get("snapshot")
    if not snapshot_id:
        return None
    key = st.query_params.pop("key", None)
    try:
        card = get_service().gallery.card(snapshot_id)
    except InvalidInput as refusal:
        _leave()
        params.say_refusal(refusal)
        return None
    if key and card.owner_ok(key):
        memory.remember_snapshot(snapshot_id, key)
    elif key:
        running.say("This control link does not fit the snapshot; you can look at it and continue from it.")
    return snapshot_id


def show(snapshot_id: str) -> None:
    """Everything about one snapshot."""
    service = get_service()
    card, status = service.gallery.card(snapshot_id), service.status(snapshot_id)
    st.button("All snapshots", icon=":material/arrow_back:", type="tertiary", on_click=_leave)
    st.title(params.plain(card.title), anchor=False)
    _facts(card)
    running.say_flash()
    _actions(card, session.snapshots().get(card.id))
    live_view(status, autoplay=st.session_state.get(presets.FRESH) == snapshot_id)
    running.certificate(status)


def _leave() -> None:
    st.query_params.clear()


def _facts(card: Card) -> None:
    data = f"{card.data_title or 'data'}, {card.shape[0]} × {card.shape[1]}"
    params.note(f"Snapshot of a run of {gallery.when(card)} · {data} · {gallery.figures(card)}")
    if card.tags:
        st.markdown(" ".join(f":blue-badge[{params.plain(tag)}]" for tag in card.label.words))
    if card.note:
        st.text(card.note)
    try:
        get_service().dataset(card.id)
    except InvalidInput as refusal:
        st.info(f"Shown without samples. {params.sentence(refusal)}", icon=":material/database_off:")


def _actions(card: Card, key: str | None) -> None:
    free = not get_service().read_only
    own = key is not None and card.owner_ok(key) and free
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if free:
            more = "A run of your own, paused: it goes on where this one stood, or starts from the factors if it had finished."
            st.button(
                "Continue from here", icon=":material/play_arrow:", type="primary", help=more, key="snapshot-continue",
                on_click=_continue, args=(card.id,),
            )  # fmt: skip
        if places.exists("compare"):
            st.button("Compare", icon=":material/compare:", key="snapshot-compare", on_click=_pin, args=(card.id,))
        with st.popover("Download", icon=":material/download:"):
            _downloads(card)
        with st.popover("Share", icon=":material/share:"):
            _share(card, key if own else None)
        if own and key is not None:
            with st.popover("Rename", icon=":material/edit:"):
                _rename(card, key)
        if free:
            st.button("Duplicate", icon=":material/content_copy:", key="snapshot-copy", on_click=_duplicate, args=(card.id,))
        if own and key is not None:
            st.button("Delete", icon=":material/delete:", key="snapshot-delete", on_click=_delete, args=(card, key))
    if st.session_state.pop(PINNED, None) == card.id:
        places.go("compare", pin=card.id)
    started = st.session_state.pop(STARTED, None)
    if started:
        places.go("run", run=started)


def _pin(snapshot_id: str) -> None:
    st.session_state[PINNED] = snapshot_id


def _continue(snapshot_id: str) -> None:
    """A new run from this one; the page then leaves for it."""
    try:
        handle = get_service().continue_from(snapshot_id)
    except InvalidInput as refusal:
        running.say(params.sentence(refusal))
        return
    session.add_run(handle.id, handle.key)
    st.session_state[STARTED] = handle.id


def _delete(card: Card, key: str) -> None:
    running.command(gallery.delete, card, key)


def _duplicate(snapshot_id: str) -> None:
    try:
        handle = get_service().gallery.duplicate(snapshot_id)
    except InvalidInput as refusal:
        running.say(params.sentence(refusal))
        return
    session.add_snapshot(handle.id, handle.key)
    running.say("This is your copy.")
    gallery.open_one(handle.id)


def _rename(card: Card, key: str) -> None:
    with st.form("relabel", border=False):
        values = saving.label_fields(f"relabel.{card.id}", card.label)
        sent = st.form_submit_button("Keep", type="primary")
    if sent:
        try:
            get_service().gallery.relabel(card.id, key, Label(**values))
        except InvalidInput as refusal:
            st.error(params.sentence(refusal))
        else:
            st.rerun()


def _downloads(card: Card) -> None:
    """The file itself, and what can be made from it."""
    st.link_button(f"Snapshot file ({card.size / 1024:.0f} kB)", address(f"download/{card.id}/semf"), type="primary")
    saving.exports(card.id)


def _share(card: Card, key: str | None) -> None:
    here = str(st.context.url or "").split("?")[0]
    st.markdown("**To look and to continue from it**")
    st.code(f"{here}?snapshot={card.id}", language=None, wrap_lines=True)
    if key is None:
        return
    st.markdown("**To control**: whoever has this link can rename and delete the snapshot.")
    st.code(f"{here}?snapshot={card.id}&key={key}", language=None, wrap_lines=True)
    wanted = st.toggle("Show it in everybody's gallery", card.published, key=f"publish-{card.id}")
    if wanted != card.published:
        get_service().gallery.publish(card.id, key, wanted)
        st.rerun()
