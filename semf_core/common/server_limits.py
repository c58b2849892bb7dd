"""Every limit of a server, in one place: read from the environment, stricter where the public may come in.

A limit is read each time it is needed, so that an operator's wrong value is rejected in words, and tests set their own.
"inf" takes a limit away.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from semf_core.common.errors import InvalidInput


def number_from_env(name: str, default: float, low: float = 0) -> float:
    """A limit that the operator may set; a wrong value is rejected rather than ignored."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= low:
        raise InvalidInput(name, f"must be a number of at least {low:g}, not {text!r}")
    return value


def flag_from_env(name: str) -> bool:
    """A switch that the operator may set: 1, true, yes or on, and 0, false, no, off or nothing."""
    text = os.environ.get(name, "").strip().lower()
    if text not in {"", "0", "false", "no", "off", "1", "true", "yes", "on"}:
        raise InvalidInput(name, f"must be 1 or 0, not {text!r}")
    return text in {"1", "true", "yes", "on"}


def _limit(name: str, default: float, public: float | Callable[[dict[str, Any]], float] | None = None, low: float = 0) -> Any:
    """A field that the variable `name` sets; `public` is its value where SEMF_PUBLIC=1 and the variable is not set.

    It may depend on the limits before it.
    """
    stricter = default if public is None else public
    return dataclasses.field(metadata={"name": name, "default": default, "public": stricter, "low": low})


def _all_but_one(known: dict[str, Any]) -> float:
    return max(1, known["runs"] - 1)


def _a_quarter_of_the_store(known: dict[str, Any]) -> float:
    return known["store_mb"] / 4


@dataclass(frozen=True)
class ServerLimits:
    """What one server gives to all its visitors, and to one of them."""

    public: bool
    """SEMF_PUBLIC=1: strangers may come in."""
    runs: float = _limit("SEMF_MAX_RUNS", os.cpu_count() or 1, low=1)
    """Runs that iterate at a time; the others queue."""
    runs_per_visitor: float = _limit("SEMF_MAX_RUNS_PER_VISITOR", 200, public=50, low=1)
    """Runs of a visitor that are queued, running or paused."""
    runs_per_address: float = _limit("SEMF_MAX_RUNS_PER_ADDRESS", math.inf, public=500, low=1)
    """The same for all visitors from one address, because anybody can open more sessions."""
    running_per_visitor: float = _limit("SEMF_MAX_RUNNING_PER_VISITOR", math.inf, public=_all_but_one, low=1)
    """Runs of a visitor that iterate at a time: one place is always left to others."""
    turn_seconds: float = _limit("SEMF_TURN_SECONDS", 60, public=30, low=1)
    """After this time a run lets those of other visitors go first, if any wait, and goes on when its turn comes again."""
    waiting: float = _limit("SEMF_MAX_WAITING", 1000)
    """Runs of all visitors in the queue."""
    iterations_millions: float = _limit("SEMF_MAX_ITERATIONS_MILLIONS", math.inf, public=20)
    """Iterations of all starts of a run, and sweeps of its polish."""
    studies_per_visitor: float = _limit("SEMF_MAX_STUDIES_PER_VISITOR", 100, public=3)
    """Studies of a visitor that run or wait."""
    studies_per_address: float = _limit("SEMF_MAX_STUDIES_PER_ADDRESS", math.inf, public=20)
    """The same for all visitors from one address."""
    study_cells: float = _limit("SEMF_MAX_STUDY_RUNS", 20_000, public=5000)
    """Runs of a study."""
    study_mb: float = _limit("SEMF_MAX_STUDY_MB", 200, public=50)
    """The descriptions of all runs of a study together, each of which is checked before it starts."""
    run_minutes: float = _limit("SEMF_MAX_RUN_MINUTES", math.inf, public=10)
    """Wall-clock time of a run, after which it pauses; a run of a study is given up."""
    store_mb: float = _limit("SEMF_MAX_STORE_MB", 5000)
    """Everything below the home folder."""
    store_per_visitor_mb: float = _limit("SEMF_MAX_STORE_PER_VISITOR_MB", math.inf, public=_a_quarter_of_the_store)
    """The part of it that runs, data, snapshots and studies of one visitor may take."""
    opened_mb: float = _limit("SEMF_MAX_OPENED_MB", 1000)
    """The part of it that opened snapshots may take; they can be opened again."""
    expire_days: float = _limit("SEMF_EXPIRE_DAYS", math.inf, public=14)
    """Age at which runs that nobody has looked at, and data that nothing uses, are deleted."""
    opened_days: float = _limit("SEMF_OPENED_DAYS", math.inf, public=1)
    """The same for opened snapshots."""
    run_mb: float = _limit("SEMF_MAX_RUN_MB", 2000, public=1000, low=50)
    """Memory of one run: rejected before it starts if it needs more, and its worker gets no more."""
    read_mb: float = _limit("SEMF_MAX_READ_MB", 900, low=50)
    """Memory for reading or describing what a visitor has brought."""
    read_seconds: float = _limit("SEMF_MAX_READ_SECONDS", 30, low=0.1)
    """Processor time for the same."""
    cache_mb: float = _limit("SEMF_MAX_CACHE_MB", 300, low=1)
    """Data, results and pictures that the server keeps in memory, all caches together."""
    sessions: float = _limit("SEMF_MAX_SESSIONS", math.inf, public=400, low=1)
    """Pages that are open at a time, those of the last two minutes included."""
    sessions_per_visitor: float = _limit("SEMF_MAX_SESSIONS_PER_VISITOR", math.inf, public=40, low=1)
    """The same of one visitor."""
    pages_per_visitor: float = _limit("SEMF_MAX_PAGES_PER_VISITOR", math.inf, public=4, low=1)
    """Pages of one visitor that are drawn at a time; the others wait."""
    presentations: float = _limit("SEMF_MAX_PRESENTATIONS", 1000, public=200, low=1)
    """Presentations that visitors may follow, of all lecturers."""
    presentations_per_visitor: float = _limit("SEMF_MAX_PRESENTATIONS_PER_VISITOR", 20, public=5, low=1)
    """The same of one visitor."""
    presentation_hours: float = _limit("SEMF_PRESENTATION_HOURS", 24, public=8, low=0.01)
    """After this time without a lecturer a presentation has ended."""
    uploads_held_mb: float = _limit("SEMF_MAX_UPLOADS_HELD_MB", 1000, public=500, low=1)
    """Files that visitors have sent and that are still in memory; one visitor gets half of it."""
    download_workers: float = _limit("SEMF_DOWNLOAD_WORKERS", 1, low=1)
    """Files to download (reports, figures, tables) that are made at a time; the others wait, in turn between visitors."""
    downloads_waiting: float = _limit("SEMF_MAX_DOWNLOADS_PER_VISITOR", 100, public=20, low=1)
    """Downloads of one visitor that wait; more are rejected."""
    download_mb: float = _limit("SEMF_MAX_DOWNLOAD_MB", 2000, public=1000, low=50)
    """Memory for making one of them."""
    download_seconds: float = _limit("SEMF_MAX_DOWNLOAD_SECONDS", 300, public=60, low=1)
    """Time for the same."""
    downloads_kept_mb: float = _limit("SEMF_MAX_DOWNLOADS_KEPT_MB", 200, low=1)
    """Files that are kept to be given again, on disk."""


def server_limits() -> ServerLimits:
    """The limits as the environment has them now."""
    public = flag_from_env("SEMF_PUBLIC")
    values: dict[str, Any] = {}
    for field in dataclasses.fields(ServerLimits)[1:]:
        known = field.metadata
        default = known["public" if public else "default"]
        values[field.name] = number_from_env(known["name"], default(values) if callable(default) else default, known["low"])
    return ServerLimits(public, **values)


def check_effort(max_iter: int, restarts: int, polish: int) -> None:
    """Reject a run that may take more iterations than anybody gets here."""
    most = 1e6 * server_limits().iterations_millions
    if max_iter * restarts + polish > most:
        asked = f"{max_iter:,} iterations of {restarts:,} starts" + (f" and {polish:,} sweeps" if polish else "")
        raise InvalidInput("max_iter", f"allows {asked}, and {most:,.0f} in all is the most on this server", "lower one of them")
