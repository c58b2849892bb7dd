"""Links to hand on: one to look, and one that controls.

A control key stands behind the `#` of a link. Browsers send that part to nobody: it is in no log of a server or proxy
and in no Referer. The page's own script reads it and takes it out of the address (assets/live/memory.js).
"""

from __future__ import annotations

import re

import streamlit as st

from pages.ui.flash import say


def looking(kind: str, thing_id: str) -> str:
    """Opens a run, a study or a snapshot."""
    here = re.split("[?#]", str(st.context.url or ""))[0]
    return f"{here}?{kind}={thing_id}"


def controlling(kind: str, thing_id: str, key: str) -> str:
    """Opens it for its owner."""
    return f"{looking(kind, thing_id)}#key={key}"


def reject_key_in_query() -> None:
    """Such a link has told its key to every server on its way: it is taken out of the address and does not count."""
    if "key" in st.query_params:
        del st.query_params["key"]
        say("This control link is of an older kind, which tells its key to servers on the way: write #key= instead of &key=.")
