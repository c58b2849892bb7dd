"""What a page asks for by itself comes too late once another page was asked for.

A fragment that runs again, because a run has ended or a timer says so, names the page that it is on. Streamlit keeps such
a request until the new page is drawn, and then announces the page that was left as the one on show, whereupon the browser
takes everything from the new page; or it draws the page that was left in place of one that has not begun.
"""

from __future__ import annotations

from typing import Any

from streamlit.runtime import app_session
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner, get_script_run_ctx


class PageRunner(ScriptRunner):
    """Streamlit's own, which leaves out fragments of pages that were left."""

    def __init__(self, *, initial_rerun_data: RerunData, **others: Any) -> None:
        super().__init__(initial_rerun_data=initial_rerun_data, **others)
        self._page = initial_rerun_data.page_script_hash
        """The page that it is to draw or has drawn; empty as long as only the script knows."""

    def request_rerun(self, rerun_data: RerunData) -> bool:
        """Whether somebody takes care of it: another runner is started otherwise."""
        if rerun_data.fragment_id and self._has_left(rerun_data):
            return True
        return super().request_rerun(rerun_data)

    def _run_script(self, rerun_data: RerunData) -> None:
        if rerun_data.fragment_id_queue and self._has_left(rerun_data):
            return
        self._page = ""
        super()._run_script(rerun_data)
        if context := get_script_run_ctx():
            self._page = context.page_script_hash

    def _has_left(self, rerun_data: RerunData) -> bool:
        return self._page not in {"", rerun_data.page_script_hash}


def keep_pages_in_order() -> None:
    """Have all sessions of this server run their pages so."""
    app_session.ScriptRunner = PageRunner  # type: ignore[misc, assignment]
