"""What goes wrong on a page becomes a sentence, is said once, and is no traceback in the server's log."""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import TypeGuard

from streamlit.testing.v1 import AppTest

import pages

WORDS = "There is no run with this id; it may have been deleted."


def _page():
    import streamlit as st

    from pages.ui.error_boundary import error_boundary
    from semf_core.runs.store import unknown_run

    @st.fragment
    @error_boundary()
    def result():
        raise unknown_run()

    with error_boundary():
        result()


def test_what_goes_wrong_in_a_fragment_is_said_once_and_is_no_traceback(caplog):
    page = AppTest.from_function(_page).run()
    assert [error.value for error in page.error] == [WORDS]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def _is_call_of(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == name


def test_every_fragment_has_its_boundary():
    """Streamlit puts what a fragment raises into the log before anybody can say it."""
    files = sorted(Path(pages.__path__[0]).rglob("*.py"))
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    bounded = {f.name for f in functions if any(_is_call_of(d, "error_boundary") for d in f.decorator_list)}
    decorated = [f.name for f in functions if any("st.fragment" in ast.unparse(d) for d in f.decorator_list)]
    calls = [n for tree in trees for n in ast.walk(tree) if _is_call_of(n, "st.fragment") and n.args]
    called = [ast.unparse(call.args[0]).split(".")[-1] for call in calls]
    assert len(decorated) >= 3 and len(called) >= 3
    assert {*decorated, *called} <= bounded
