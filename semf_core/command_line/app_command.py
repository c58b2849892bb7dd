"""`semf app`: the dashboard from the installed package or from the repository, in any folder."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import semf_core
from semf_core.common.errors import InvalidInput
from semf_core.common.extras import missing
from semf_core.runs.pool import ONE_THREAD

PORT = 8501
INSTALLED = "semf_studio"
"""The folder beside semf_core into which a wheel puts app.py, pages/, assets/ and .streamlit/."""


def add_command(commands: Any) -> None:
    """The command that starts the dashboard."""
    app = commands.add_parser("app", help="open the dashboard in a browser", description="Open the dashboard in a browser.")
    app.add_argument("--port", type=int, default=PORT, help=f"port that it listens on (default {PORT})")
    app.add_argument("--host", default="127.0.0.1", help="address that it listens on; 0.0.0.0 lets other computers in")
    app.add_argument("--no-browser", action="store_true", help="only serve it, open no browser")
    app.add_argument("options", nargs="*", metavar="-- STREAMLIT-OPTION", help="handed to Streamlit as they are")
    app.set_defaults(command=_app)


def app_script() -> Path:
    """app.py of this installation: beside semf_core in the repository, in a folder of its own where a wheel was installed."""
    root = Path(semf_core.__file__).resolve().parents[1]
    for folder in (root / INSTALLED, root):
        if (folder / "pages" / "main.py").is_file():
            return folder / "app.py"
    raise InvalidInput(
        "app", "the dashboard's files are missing", 'run: pip install --force-reinstall "semf-studio[app]"', whole=True
    )


def _app(options: argparse.Namespace) -> int:
    if importlib.util.find_spec("streamlit") is None:
        raise missing("streamlit", "app")
    flags = ["--server.port", str(options.port), "--server.address", options.host]
    flags += ["--server.headless", "true"] if options.no_browser else []
    # -P: the current folder, whatever it holds, must not shadow modules.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(app_script()), *flags, *options.options]
    # The server takes this process's place, so that Ctrl-C, signals and the exit code are its own.
    os.execve(sys.executable, command, dict.fromkeys(ONE_THREAD, "1") | os.environ)
