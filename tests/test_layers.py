"""The library stands alone: no module of it needs or mentions Streamlit."""

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import semf_core

ROOT = Path(semf_core.__file__).parent


def test_no_module_imports_streamlit():
    names = [m.name for m in pkgutil.walk_packages([str(ROOT)], "semf_core.") if not m.name.endswith("__main__")]
    assert "semf_core.solvers.admm" in names
    code = f"import importlib, sys\nfor n in {names!r}: importlib.import_module(n)\nprint('streamlit' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert out.stdout.strip() == "False"


def test_no_function_imports_streamlit_later():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.split(".")[0] == "streamlit" for n in names), path
