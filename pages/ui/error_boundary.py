"""No page shows a traceback: errors become sentences, anything else a polite one and a line in the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from pages.ui.params import show_error
from semf_core.common.errors import InvalidInput

log = logging.getLogger("semf.pages")
SORRY = "Something went wrong here, and it is not your fault. The details are in the server's log; your runs and data are safe."


@contextmanager
def error_boundary() -> Iterator[None]:
    """Run a page's body, or a fragment's; Streamlit's own control flow (rerun, stop, switch_page) passes through."""
    try:
        yield
    except InvalidInput as error:
        show_error(error)
    except Exception:
        log.exception("page")
        st.error(SORRY, icon=":material/error:")


def on_script_error(error: Exception) -> bool:
    """The last net, for what happens outside a body inside `error_boundary` (a callback, a page that cannot be read)."""
    if isinstance(error, InvalidInput):
        show_error(error)
    else:
        log.error("script", exc_info=error)
        st.error(SORRY, icon=":material/error:")
    return True
