"""Which package may use which: imports point one way, and the library stands alone, without Streamlit."""

import ast
import dataclasses
import importlib
import pkgutil
import re
import subprocess
import sys
import types
from pathlib import Path

import semf_core

ROOT = Path(semf_core.__file__).parent


def test_no_module_imports_streamlit():
    names = [m.name for m in pkgutil.walk_packages([str(ROOT)], "semf_core.") if not m.name.endswith("__main__")]
    assert "semf_core.solvers.admm" in names
    code = f"import importlib, sys\nfor n in {names!r}: importlib.import_module(n)\nprint('streamlit' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert out.stdout.strip() == "False"


def test_a_worker_starts_without_what_few_runs_need():
    """SciPy loads its parts on first use (`scipy.signal.…`); these alone would double the time until a worker is there."""
    heavy = ("scipy.signal", "scipy.optimize", "scipy.stats", "sklearn", "matplotlib", "plotly", "pandas", "numba")
    code = f"import sys, semf_core.runs.worker\nprint([name for name in {heavy!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT.parent)
    assert out.stdout.strip() == "[]"


def test_no_function_imports_streamlit_later():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.split(".")[0] == "streamlit" for n in names), path


LAYERS = (
    ("common", "mathematics", "sets", "solvers"),
    ("datasets", "distributed", "drawing", "factorization", "glossary", "model", "presets"),
    ("exports", "sandbox", "runs", "snapshots", "studies"),
    ("comparison", "downloads", "lessons", "service", "maintenance"),
    ("command_line",),
)
"""Packages of semf_core from the mathematics upwards: data and files, running and studies, the service, the command line."""
BEHIND = ("mathematics", "runs", "sandbox", "snapshots", "studies")
"""What computes, and what owns files and processes: pages ask the service, and take value types and constants from there."""


def imported(path):
    """Modules that a file imports, with the names it takes from each."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, {a.name for a in node.names}
        elif isinstance(node, ast.Import):
            yield from ((a.name, set()) for a in node.names)


def test_every_package_has_its_layer():
    here = {p.name for p in ROOT.iterdir() if p.is_dir() and (p / "__init__.py").exists()}
    known = {name for layer in LAYERS for name in layer}
    assert here | {"presets"} == known, "put a new package into the layer of LAYERS that may use what it uses"


def test_the_docs_name_every_package():
    table = (ROOT.parent / "docs" / "how-it-works.md").read_text(encoding="utf-8").partition("| layer |")[2]
    named = [re.findall("`(\\w+)`", line.split("|")[2]) for line in table.splitlines() if line.count("|") == 4]
    assert {name for names in named for name in names} == {name for layer in LAYERS for name in layer}


def test_imports_point_downwards():
    layer = {name: number for number, names in enumerate(LAYERS) for name in names}
    for path in ROOT.rglob("*.py"):
        package = path.relative_to(ROOT).parts[0]
        for module, _ in imported(path):
            parts = module.split(".")
            if package in layer and parts[0] == "semf_core" and len(parts) > 1:
                assert layer[parts[1]] <= layer[package], f"{path.relative_to(ROOT)} may not use {module}"


def is_value(found):
    """A constant, or a class of values that never change; no function and no module."""
    if isinstance(found, type):
        return dataclasses.is_dataclass(found) and vars(found)["__dataclass_params__"].frozen
    return found is not None and not callable(found) and not isinstance(found, types.ModuleType)


def test_pages_ask_the_service():
    for path in (ROOT.parent / "pages").rglob("*.py"):
        for module, names in imported(path):
            if module.split(".")[0] != "semf_core":
                continue
            assert names, f"{path.name}: import names from {module}, so that it is seen which"
            room = importlib.import_module(module)
            for name in names:
                found = vars(room).get(name)
                origin = f"{module}.{name}" if found is None else getattr(found, "__module__", None) or module
                behind = origin.startswith(tuple(f"semf_core.{name}" for name in BEHIND))
                allowed = module.startswith("semf_core.service") or not behind or is_value(found)
                assert allowed, f"{path.name} goes past the service: {module} {name}"


def test_worker_processes_are_started_in_one_place():
    """`semf_core.runs.pool` limits, watches and ends them."""
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        starts = any(word in text for word in ("subprocess.Popen(", "multiprocessing", "ProcessPoolExecutor", "os.spawn"))
        assert starts == (path == ROOT / "runs" / "pool.py"), f"{path.relative_to(ROOT)} starts processes itself"


def test_text_for_spreadsheets_is_guarded_in_one_place():
    """Cells that would be taken for formulas are marked by semf_core.common.spreadsheets, which writes every CSV file."""
    for path in [*ROOT.rglob("*.py"), *(ROOT.parent / "pages").rglob("*.py")]:
        writes = any(word in path.read_text(encoding="utf-8") for word in ("csv.writer", "csv.DictWriter"))
        assert not writes, f"{path.relative_to(ROOT.parent)} writes CSV itself; use spreadsheets.csv_text"


def test_files_stay_short():
    """As CONTRIBUTING.md asks: what grows beyond is two ideas in one file."""
    root = ROOT.parent
    for folder in ("semf_core", "pages", "assets", "tests", "benchmarks", "docs"):
        for path in [*(root / folder).rglob("*.py"), *(root / folder).rglob("*.js")]:
            most = 120 if path.parent == root / "pages" else 400
            assert len(path.read_text(encoding="utf-8").splitlines()) <= most, path.relative_to(root)
