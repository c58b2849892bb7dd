"""The dashboard's front door: `streamlit run app.py`.

The script behind every page is pages/main.py (the page table). It is not this file because Streamlit
takes a folder `pages` beside the main script for an older kind of app, and a cold visit to the address
of a page would then miss the table.
"""

import streamlit as st

from pages.ui.error_boundary import on_script_error
from pages.ui.protection import failure
from pages.ui.server import lifespan, middleware, routes

app = st.App(
    "pages/main.py",
    routes=routes(),
    middleware=middleware(),
    lifespan=lifespan,
    on_script_error=on_script_error,
    exception_handlers={Exception: failure},
)
