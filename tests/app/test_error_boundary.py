"""What goes wrong on a page becomes a sentence, and is said once."""

from __future__ import annotations

import logging

from streamlit.testing.v1 import AppTest

from pages.ui import error_boundary

WORDS = "There is no run with this id; it may have been deleted."


def _page():
    import streamlit as st

    from pages.ui.error_boundary import error_boundary
    from semf_core.runs.store import unknown_run

    @st.fragment
    def result():
        raise unknown_run()

    with error_boundary():
        result()


def test_what_goes_wrong_in_a_fragment_is_said_once_and_is_no_traceback(monkeypatch, caplog):
    page = AppTest.from_function(_page)
    monkeypatch.setattr(
        "streamlit.runtime.fragment.handle_user_script_exception", lambda error, _: error_boundary.on_script_error(error)
    )
    page.run()
    assert [error.value for error in page.error] == [WORDS]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
