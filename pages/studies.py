"""Studies: many runs as one thing, the papers' experiments, and what worked best so far."""

import streamlit as st

from pages.ui import study_building, study_list, study_page
from pages.ui.error_boundary import error_boundary
from pages.ui.live import presenter

with error_boundary():
    study_id = study_page.chosen()
    if study_id is not None:
        presenter("studies")
        study_page.detail(study_id)
    else:
        st.title("Studies", anchor=False)
        st.markdown(
            "One run of a nonconvex problem proves little. A study runs a model many times while seeds, options, "
            "constraints or data vary, and draws what was measured beside what a paper claims."
        )
        parts = {
            "The papers' experiments": study_list.cards,
            "A study of your model": study_building.builder,
            "Your studies": study_list.own,
            "Best so far": study_page.best,
        }
        chosen = st.segmented_control(
            "Show", list(parts), default=next(iter(parts)), label_visibility="collapsed", key="studies-part"
        )
        parts.get(chosen or "", study_list.cards)()
