"""The studies there are: those that come with the library, each with the claim of its paper, and those of a home folder."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.runs.home import default_home
from semf_core.runs.ids import ID
from semf_core.studies.store import StudyStore
from semf_core.studies.study import Study


@cache
def builtin_names() -> tuple[str, ...]:
    """Names of the studies that come with the library.

    Returns
    -------
    tuple of str
        What `builtin_study` takes.

    Examples
    --------
    >>> from semf_core.studies import builtin_names
    >>> "swimmer-rates" in builtin_names()
    True
    """
    folder = resources.files("semf_core.studies") / "builtin"
    return tuple(json.loads((folder / "order.json").read_text(encoding="utf-8")))


@cache
def builtin_study(name: str) -> Study:
    """A study that comes with the library, with all its sizes.

    Parameters
    ----------
    name : str
        One of `builtin_names()`.

    Returns
    -------
    Study
        Read once.

    Examples
    --------
    >>> from semf_core.studies import builtin_study
    >>> study = builtin_study("swimmer-rates")
    >>> study.title, sorted(study.sizes)
    ('Swimmer: how often each structure is recovered', ['full', 'quick'])
    """
    if name not in builtin_names():
        raise InvalidInput("study", f"there is no {name!r}", f"known are {', '.join(builtin_names())}", whole=True)
    text = (resources.files("semf_core.studies") / "builtin" / f"{name}.json").read_text(encoding="utf-8")
    return Study.from_json(text)


@cache
def builtin_sized(name: str, size: str) -> Study:
    """A study that comes with the library, at one of its sizes.

    Parameters
    ----------
    name : str
        One of `builtin_names()`.
    size : str
        One of `builtin_study(name).sizes`: "quick" or "full".

    Returns
    -------
    Study
        Ready to be run.

    Examples
    --------
    >>> from semf_core.studies import builtin_sized
    >>> builtin_sized("swimmer-rates", "quick").count
    100
    """
    return builtin_study(name).sized(size)


def all_studies(home: Path | None = None) -> list[StudyStore]:
    """Every study below a home folder, newest first. For the owner of the computer, not for visitors.

    Parameters
    ----------
    home : Path, optional
        By default SEMF_HOME, or ~/.semf-studio.

    Returns
    -------
    list of StudyStore
        Those whose files can be read.

    Examples
    --------
    >>> from semf_core.studies import all_studies
    >>> all_studies(Path("nothing-here"))
    []
    """
    root = (home or default_home()) / "studies"
    stores = [StudyStore(path) for path in root.iterdir() if ID.fullmatch(path.name)] if root.is_dir() else []
    return sorted((s for s in stores if s.exists() and s.readable()), key=lambda s: -s.created())
