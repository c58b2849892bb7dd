"""What is installed: the wheel with its dashboard, the extras, the lock file, and what works without the optional packages."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pages.ui.live import plotly_address
from semf_core.common.extras import OPTIONAL
from tests.helpers import present

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DASHBOARD = "semf_studio"


def lines_of(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith(("#", "-"))]


def files_in(folder: str) -> set[str]:
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in found}


def python(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120, **options)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    built = python("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    assert built.returncode == 0, built.stderr
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_carries_the_library_and_the_dashboard(wheel):
    held = set(wheel.namelist())
    library = files_in("semf_core")
    assets = {name for name in files_in("assets") if not name.endswith(".py") and "/screenshots/" not in name}
    dashboard = {f"{DASHBOARD}/{name}" for name in {"app.py", ".streamlit/config.toml"} | files_in("pages") | assets}
    assert len(library) > 200 and len(dashboard) > 70
    assert {name for name in held if ".dist-info/" not in name} == library | dashboard
    assert "semf_core/py.typed" in held and any(name.endswith("licenses/LICENSE") for name in held)


def test_the_dashboard_of_the_wheel_answers_in_any_folder(wheel, tmp_path):
    wheel.extractall(tmp_path / "site")
    folder = tmp_path / "somewhere"
    (folder / "pages").mkdir(parents=True)
    (folder / "semf_core.py").write_text("raise SystemExit('the current folder was imported')")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site"), "SEMF_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-P", "-m", "semf_core", "app", "--no-browser", "--port", str(port)]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, **streams) as server:
        try:
            answers, addresses = None, ("/", plotly_address())
            end = time.monotonic() + 120
            while answers is None and time.monotonic() < end:
                assert server.poll() is None, present(server.stdout).read()
                try:
                    answers = [urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=9) for path in addresses]
                except OSError:
                    time.sleep(0.1)
            assert answers and [answer.status for answer in answers] == [200, 200]
            assert b"<html" in answers[0].read() and len(answers[1].read()) > 100_000
        finally:
            server.terminate()


def test_requirements_are_those_of_the_extra_app():
    wanted = [*PROJECT["dependencies"]]
    for line in EXTRAS["app"]:
        own = re.fullmatch(r"semf-studio\[(.*)\]", line)
        wanted += [r for extra in own[1].split(",") for r in EXTRAS[extra]] if own else [line]
    assert sorted(lines_of("requirements.txt")) == sorted(wanted)


def test_every_optional_package_belongs_to_its_extra():
    listed = {(canonicalize_name(Requirement(r).name), extra) for extra, rs in EXTRAS.items() for r in rs}
    helpers = {("semf-studio", "app"), ("uvloop", "app")}
    assert set(OPTIONAL.values()) == listed - helpers


def test_the_lock_holds_all_that_is_needed():
    """Everything that the requirements lead to on this computer is pinned, within the bounds."""
    pinned = dict(line.split("==") for line in lines_of("requirements.lock"))
    pinned = {canonicalize_name(name): version for name, version in pinned.items()}
    waiting = [Requirement(line) for name in ("requirements.txt", "requirements-dev.txt") for line in lines_of(name)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        needed = waiting.pop()
        name, extras = canonicalize_name(needed.name), frozenset(needed.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        assert name in pinned, f"{name} is not in requirements.lock; run make lock"
        within = needed.specifier.contains(pinned[name])
        assert within, f"{name} is locked at {pinned[name]}, outside {needed.specifier}; run make lock"
        for line in metadata.requires(name) or []:
            further = Requirement(line)
            usual = {name: str(value) for name, value in default_environment().items()}
            environments = [usual | {"extra": extra} for extra in ("", *extras)]
            if further.marker is None or any(further.marker.evaluate(e) for e in environments):
                waiting.append(further)


BLOCKED = """
import sys
for name in {names!r}: sys.modules[name] = None
"""


def without(names: tuple[str, ...], code: str, cwd: Path) -> subprocess.CompletedProcess:
    """Run code where these modules cannot be imported."""
    return python("-c", BLOCKED.format(names=names) + code, cwd=cwd, env=os.environ | {"PYTHONPATH": str(ROOT)})


def test_the_core_works_without_any_optional_package(tmp_path):
    commands = [
        ["run", "--preset", "swimmer-groups", "--save", "s.semf"],
        ["verify", "s.semf", "--no-rerun"],
        ["export", "s.semf", "--gif", "s.gif", "--csv", "s.zip"],
        ["export", "s.semf", "--html", "s.html"],
        ["export", "s.semf", "--figures", "f.zip"],
        ["run", "--data", "titles", "--rank", "3", "--solver", "nmf-cd"],
        ["run", "--preset", "paatero-planes"],
        ["run", "--preset", "faces-parts"],
        ["app"],
    ]
    code = f"from semf_core.command_line.cli import main\nfor words in {commands!r}: print('code', main(words))\n"
    done = without((*OPTIONAL, "markupsafe", "pandas", "requests", "starlette"), code, tmp_path)
    assert re.findall(r"code (\d)", done.stdout) == list("000222222"), done.stderr
    assert re.findall(r"semf-studio\[(\w+)\]", done.stderr) == ["exports", "exports", "peers", "peers", "formats", "app"]


def test_the_library_works_where_there_is_no_posix(tmp_path):
    code = "from semf_core import factorize\nimport numpy\nprint(factorize(numpy.eye(4), 2, max_iter=5).iterations)"
    done = without(("fcntl", "resource", "termios", "pwd"), code, tmp_path)
    assert done.stdout.strip() == "5", done.stderr
    code = "from semf_core.__main__ import main\nsys.platform = 'win32'\nsys.exit(main())"
    done = without(("fcntl", "resource"), code, tmp_path)
    assert done.returncode == 2 and "WSL" in done.stderr
