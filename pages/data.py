"""Data: a built-in set or an upload, looked at before it is used."""

import streamlit as st

from pages.ui import data_choice, params, session
from pages.ui.error_boundary import error_boundary
from semf_core.common.errors import InvalidInput

WAYS = {"built-in": data_choice.built_in, "upload": data_choice.uploaded, "earlier": data_choice.earlier}
WORDS = {
    "built-in": ":material/database: Built-in data",
    "upload": ":material/upload: Upload",
    "earlier": ":material/history: Earlier uploads",
}

with error_boundary():
    st.title("Data", anchor=False)
    st.markdown("One column is one sample. Look at the data first, then say what its factors should look like.")
    asked = st.query_params.pop("way", None)  # a link to one of the ways; afterwards the visitor chooses
    if asked in WAYS:
        st.session_state["data.way"] = asked
    way = st.segmented_control(
        "Where the data comes from", list(WAYS), format_func=params.shown_as(WORDS), default="built-in", key="data.way",
        required=True, persist_state="session",
    )  # fmt: skip
    candidate = WAYS[way or "built-in"]()
    if candidate is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            take = st.button("Use this data", type="primary", icon=":material/arrow_forward:", key="data.use")
            if candidate.source is not None and candidate.source == session.source():
                params.note("This is the data in use.")
        try:
            if take:
                data_choice.use(candidate)
            else:
                data_choice.describe(candidate)
        except InvalidInput as error:
            params.show_error(error)
