"""A page that stands by itself, for whoever is not let in to Streamlit's pages."""

from __future__ import annotations

FRAME = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>SeMF Studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1">{head}<style>
:root {{ color-scheme: light dark; font: 1rem/1.5 "Source Sans", system-ui, sans-serif }}
body {{ min-height: 90vh; display: grid; place-content: center; margin: 1rem }}
form, main {{ display: grid; gap: .75rem; width: min(22rem, 90vw) }} h1 {{ font-size: 1.5rem; margin: 0 }}
input, button {{ font: inherit; padding: .5rem .75rem; border-radius: .6rem; border: 1px solid #8896a8 }}
button {{ background: #00629b; color: #fff; border: 0; cursor: pointer }} p {{ margin: 0 }}
</style></head><body>{body}</body></html>"""


def bare_page(body: str, head: str = "") -> str:
    """The page around a form or a `main`."""
    return FRAME.format(body=body, head=head)
