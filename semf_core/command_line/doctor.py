"""`semf doctor`: what is installed here, whether it can do its work, and what to do where it cannot."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import semf_core
from semf_core.command_line.app_command import app_script
from semf_core.common.extras import OPTIONAL
from semf_core.common.threads import blas_threads
from semf_core.distributed.connection import cluster_address, connect
from semf_core.factorization.scores import truth_scores, truth_words
from semf_core.model import preset
from semf_core.runs.files import try_lock
from semf_core.runs.home import MB, default_home

CORE = ("numpy", "scipy", "pillow", "threadpoolctl", "tqdm")
ROOM_MB = 500
"""Less free space than this is worth a warning."""
DASK_SECONDS = 5


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `state`: "ok", "note" (something optional is absent) or "fault" (it cannot work so)."""

    what: str
    state: str
    detail: str


def add_command(commands: Any) -> None:
    """The command that examines the installation."""
    doctor = commands.add_parser("doctor", help="check the installation: versions, BLAS, write access, browser")
    doctor.add_argument("--json", action="store_true", help="print a JSON list")
    doctor.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    """0 if everything that is needed works, else 1."""
    found = []
    for finding in findings():
        found.append(finding)
        if not options.json:
            print(f"{finding.state:<6}{finding.what:<12}{finding.detail}", flush=True)
    if options.json:
        print(json.dumps([asdict(f) for f in found]))
    return int(any(f.state == "fault" for f in found))


def findings() -> Iterator[Finding]:
    """Every check in turn; one that breaks is a finding as well."""
    for what, check in CHECKS.items():
        try:
            yield Finding(what, *check())
        except Exception as error:  # whatever is wrong with a computer is what this command is asked about
            yield Finding(what, "fault", f"{error or type(error).__name__}")


def _system() -> tuple[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "ok", f"semf {semf_core.__version__}, Python {platform.python_version()}, {platform.platform()}, {cores} cores"


def _packages() -> tuple[str, str]:
    return "ok", _versions(CORE)


def _extra(extra: str) -> Callable[[], tuple[str, str]]:
    packages = tuple(dict.fromkeys(package for package, its_extra in OPTIONAL.values() if its_extra == extra))

    def check() -> tuple[str, str]:
        missing = [package for package in packages if _version(package) is None]
        if missing:
            return "note", f'without {", ".join(missing)}; to have it: pip install "semf-studio[{extra}]"'
        return "ok", _versions(packages)

    return check


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _versions(packages: tuple[str, ...]) -> str:
    return ", ".join(f"{package} {_version(package)}" for package in packages)


def _blas() -> tuple[str, str]:
    """numpy and scipy usually bring one library each."""
    libraries = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    if not libraries:
        return "note", "no BLAS library that threadpoolctl knows; the number of its threads cannot be limited"
    words = {
        f"{b['internal_api']} {b['version']} ({b.get('architecture') or 'generic'}, {b['num_threads']} threads)"
        for b in libraries
    }
    return "ok", "; ".join(sorted(words)) + "; runs use one thread each"


def _engine() -> tuple[str, str]:
    """The demo, from start to end."""
    spec = preset("swimmer-groups")
    dataset = spec.dataset.load()
    with blas_threads(1):
        run = spec.run(dataset).finish()
    badges = truth_words(truth_scores(dataset, *run.factors()[:2], spec.y_set))
    words = ", ".join(badge["text"] for badge in badges)
    return "ok" if all(
        badge["done"] for badge in badges
    ) else "fault", f"Swimmer: {words}; {run.iterations} iterations, {run.seconds:.2f} s"


def _home() -> tuple[str, str]:
    """Runs, uploads and snapshots can be written, locked and removed here; nothing is left behind."""
    home = default_home()
    place = next(folder for folder in (home, *home.absolute().parents) if folder.exists())
    with tempfile.TemporaryDirectory(dir=place, prefix=".semf-doctor-") as made:
        lock = try_lock(Path(made) / "lock")
        if lock is None:
            return "fault", f"{home}: files cannot be locked on this file system; set SEMF_HOME to a local folder"
        lock.close()
    free = shutil.disk_usage(place).free / MB
    room = f"{home} can be written, {free / 1000:.1f} GB free"
    return ("ok", room) if free >= ROOM_MB else ("note", f"{room}; that is little")


def _dashboard() -> tuple[str, str]:
    script = app_script()
    if _version("streamlit") is None:
        return "note", 'cannot be started yet: pip install "semf-studio[app]"'
    return "ok", f"{script.parent}; start it with: semf app"


def _browser() -> tuple[str, str]:
    try:
        return "ok", str(getattr(webbrowser.get(), "name", "found"))
    except webbrowser.Error:
        return "note", "none can be opened from here; use semf app --no-browser and visit its address from elsewhere"


def _cluster() -> tuple[str, str]:
    address = cluster_address()
    if not address:
        return "ok", "none (SEMF_DASK is not set); studies run on this computer"
    client = connect(address, DASK_SECONDS)
    try:
        threads = client.nthreads()
        return "ok" if threads else "fault", f"{address}: {len(threads)} workers, {sum(threads.values())} threads"
    finally:
        client.close()


CHECKS: dict[str, Callable[[], tuple[str, str]]] = {
    "system": _system,
    "packages": _packages,
    **{extra: _extra(extra) for extra in dict.fromkeys(extra for _, extra in OPTIONAL.values())},
    "BLAS": _blas,
    "engine": _engine,
    "home": _home,
    "dashboard": _dashboard,
    "browser": _browser,
    "Dask": _cluster,
}
