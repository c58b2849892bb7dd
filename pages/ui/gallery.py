"""The gallery of snapshots: search, sort, pages of cards, and bringing in a file."""

from __future__ import annotations

import math
import time

import streamlit as st

from pages.ui import memory, params, session, uploading
from semf_core.common.notation import number
from semf_core.factorization.scores import truth_words
from semf_core.runs.home import number_from_env
from semf_core.service import get_service
from semf_core.snapshots.cards import Card
from semf_core.snapshots.gallery import PAGE
from semf_core.snapshots.index import SORTS

ACROSS = 3
NUMBER, DELETED, FILES = "semf_gallery_page", "semf_deleted_snapshot", "semf_gallery_files"
MAX_UPLOAD_MB = int(number_from_env("SEMF_MAX_UPLOAD_MB", 200))


def show() -> None:
    """The whole gallery."""
    st.markdown("Runs that were saved: your own, and those that somebody has published. Open one, go on from it, hand it on.")
    undo()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", key="gallery.search", placeholder="Words in title, tags, note or data", on_change=_first)
        sort = st.selectbox("Sort", list(SORTS), key="gallery.sort", width=220, on_change=_first, format_func=str.capitalize)
    page = get_service().gallery.page(list(session.snapshots()), search, sort, _number())
    if not page.cards:
        st.markdown("Nothing fits these words." if search else "There is no snapshot yet. Save one on the workbench.")
    for first in range(0, len(page.cards), ACROSS):
        for column, card in zip(st.columns(ACROSS), page.cards[first : first + ACROSS], strict=False):
            with column:
                _card(card)
    _turning(page.total)
    bring_in()


def _number() -> int:
    return int(st.session_state.get(NUMBER, 0))


def _first() -> None:
    st.session_state[NUMBER] = 0


def _turn(to: int) -> None:
    st.session_state[NUMBER] = to


def _turning(total: int) -> None:
    """Ways to the other pages."""
    pages, number = max(1, math.ceil(total / PAGE)), _number()
    if number >= pages:
        _first()
        st.rerun()
    if pages == 1:
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="center"):
        st.button("Previous", icon=":material/chevron_left:", disabled=not number, on_click=_turn, args=(number - 1,))
        st.markdown(f"Page {number + 1} of {pages}, {total:,} snapshots", width="content")
        st.button("Next", icon=":material/chevron_right:", disabled=number + 1 == pages, on_click=_turn, args=(number + 1,))


def _card(card: Card) -> None:
    with st.container(border=True, height="stretch"):
        picture = get_service().gallery.thumbnail(card.id)
        if picture:
            st.image(picture, width="stretch", alt=f"Parts that the run has found: {card.title}")
        st.markdown(f"**{params.plain(card.title)}**")
        params.note(" · ".join((when(card), card.data_title or "data", f"{card.shape[0]} × {card.shape[1]}", figures(card))))
        if card.tags or card.published:
            badges = [f":blue-badge[{params.plain(tag)}]" for tag in card.label.words]
            st.markdown(" ".join([":green-badge[published]"] * card.published + badges))
        if card.note:
            params.note(card.note if len(card.note) <= 160 else card.note[:157] + "…")
        st.button("Open", key=f"open-{card.id}", icon=":material/open_in_full:", on_click=open_one, args=(card.id,))


def when(card: Card) -> str:
    """The day the run was started."""
    return time.strftime("%d %B %Y", time.localtime(card.created)).lstrip("0")


def figures(card: Card) -> str:
    """The headline numbers in words."""
    shown = dict(card.headline)
    words = [f"{shown['solver']}, rank {shown['rank']}", f"{shown['iterations']:,} iterations"]
    if "relative_error" in shown:
        words.append(f"relative error {number(shown['relative_error'], 3)}")
    words += [badge["text"] for badge in truth_words(shown)]
    return " · ".join(words + ([f"{len(card.variants)} variants"] if card.variants else []))


def open_one(snapshot_id: str) -> None:
    st.query_params["snapshot"] = snapshot_id


# -- deleting can be undone --------------------------------------------------------------------


def undo() -> None:
    """A way back for what was deleted last."""
    gone = st.session_state.get(DELETED)
    if gone is None:
        return
    snapshot_id, key, title = gone
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(f"**{params.plain(title)}** was deleted. It stays in the trash for a week.", width="content")
        if st.button("Undo", icon=":material/undo:"):
            get_service().gallery.restore(snapshot_id, key)
            st.session_state.pop(DELETED)
            memory.remember_snapshot(snapshot_id, key)
            st.rerun()


def delete(card: Card, key: str) -> None:
    """Into the trash, and back to the gallery."""
    get_service().gallery.delete(card.id, key)
    memory.forget_snapshot(card.id)
    st.session_state[DELETED] = (card.id, key, card.title)
    st.query_params.clear()


# -- files -------------------------------------------------------------------------------------


def bring_in() -> None:
    """A snapshot file of the visitor's: checked from end to end, then kept and opened."""
    if get_service().read_only:
        return
    with st.expander("Open a snapshot file", icon=":material/upload:"):
        turn = st.session_state.get(FILES, 0)
        key = f"gallery.file.{turn}"
        file = st.file_uploader("A .semf file", ["semf"], key=key, max_upload_size=MAX_UPLOAD_MB)
        if file is None:
            return
        handle = uploading.once(file, key, get_service().gallery.add_file)
        if handle is None:
            return
        st.session_state[FILES] = turn + 1  # an empty field next time: a file is taken once
        session.add_snapshot(handle.id, handle.key)
        open_one(handle.id)
        st.rerun()
