"""A learned dictionary at work: the picture that its patches come from, before and after, with its PSNR."""

from __future__ import annotations

import streamlit as st

from pages.ui.params import note, sentence, shown_as
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Patches
from semf_core.service import RunStatus, get_service

WAYS = {"denoise": "Remove noise", "compress": "Compress"}


def panel(status: RunStatus) -> None:
    """Only for a run on patches that has come to rest; nothing is computed before it is asked for."""
    if not isinstance(status.spec.dataset, Patches) or status.state not in {"finished", "stopped"}:
        return
    with st.expander("The dictionary at work on the picture", icon=":material/image:"):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            task = st.segmented_control(
                "Task", list(WAYS), format_func=shown_as(WAYS), default="denoise", key="restore-task", required=True
            )
            if task == "compress":
                most = min(status.spec.rank, 16)
                amount = float(st.slider("Atoms in a patch", 1, max(most, 2), min(4, most), key="restore-k"))
            else:
                amount = st.slider("Noise (standard deviation; white is 1)", 0.02, 0.3, 0.1, 0.02, key="restore-sigma")
        if st.button("Show before and after", icon=":material/compare:", key="restore-go"):
            _show(status.id, str(task), amount)


def _show(run_id: str, task: str, amount: float) -> None:
    try:
        with st.spinner("Coding every patch …"):
            found = get_service().restored(run_id, task, amount)
    except InvalidInput as error:
        st.error(sentence(error))
        return
    before = f"With noise: PSNR {found.psnr_before:.1f} dB" if task == "denoise" else "Before"
    with st.container(horizontal=True):
        for image, words in ((found.before, before), (found.after, f"After: PSNR {found.psnr_after:.1f} dB")):
            st.image(image.clip(0, 1), caption=words, width=320)
    if task == "compress":
        note(f"{found.numbers:.3f} numbers for each pixel instead of 1: the mean and the coefficients of each patch.")
