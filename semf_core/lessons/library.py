"""Where lessons come from: ours, and those of the folder SEMF_LESSONS beside them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from semf_core.common.errors import InvalidInput
from semf_core.lessons.format import MOST_CHARACTERS, Lesson, read_lesson

FOLDER = Path(__file__).parent / "builtin"
VARIABLE = "SEMF_LESSONS"
MOST_FILES = 200
MOST_BYTES = 4 * MOST_CHARACTERS


@dataclass(frozen=True)
class Library:
    """Lessons in the order in which they are shown, and what is wrong with files that are none."""

    lessons: tuple[Lesson, ...]
    mistakes: tuple[InvalidInput, ...] = ()

    def get(self, name: str) -> Lesson:
        for lesson in self.lessons:
            if lesson.name == name:
                return lesson
        raise InvalidInput("lesson", f"there is no {name!r}", f"known are {', '.join(x.name for x in self.lessons)}", whole=True)


_READ: dict[tuple[str, int, int], Lesson | InvalidInput] = {}
_LOCK = threading.Lock()


def check_folder(folder: Path) -> Library:
    """The lessons of a folder, in the order of their file names, and every mistake.

    Parameters
    ----------
    folder : Path
        Files *.md in it are lessons.

    Returns
    -------
    Library
        The lessons, and an error with file and line for every file that is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from semf_core.lessons import check_folder
    >>> folder = Path("my-lessons")
    >>> folder.mkdir()
    >>> _ = (folder / "first.md").write_text("# no front matter")
    >>> library = check_folder(folder)
    >>> print(library.mistakes[0])
    first.md:1: must begin with a front matter between two lines ---
    """
    if not folder.is_dir():
        raise InvalidInput(VARIABLE, f"{folder} is not a folder", whole=True)
    files = sorted(folder.glob("*.md"))
    if len(files) > MOST_FILES:
        raise InvalidInput(VARIABLE, f"{folder} has more than {MOST_FILES} files *.md", whole=True)
    return _library(files)


def lessons() -> Library:
    """All lessons: ours first, then those of SEMF_LESSONS; one with the name of ours takes its place.

    Returns
    -------
    Library
        The lessons, and what is wrong with files that are none; files are read again when they change.

    Examples
    --------
    >>> from semf_core.lessons import lessons
    >>> lessons().get("structure").title
    'Structure, stage by stage'
    """
    own = check_folder(FOLDER)
    extra = os.environ.get(VARIABLE, "").strip()
    if not extra:
        return own
    try:
        more = check_folder(Path(extra).expanduser())
    except InvalidInput as error:
        return Library(own.lessons, (error,))
    names = {lesson.name for lesson in more.lessons}
    kept = tuple(lesson for lesson in own.lessons if lesson.name not in names)
    return Library((*kept, *more.lessons), more.mistakes)


def _library(files: Iterable[Path]) -> Library:
    made = [_read(file) for file in files]
    found = tuple(one for one in made if isinstance(one, Lesson))
    return Library(found, tuple(one for one in made if isinstance(one, InvalidInput)))


def _read(file: Path) -> Lesson | InvalidInput:
    try:
        stat = file.stat()
    except OSError as error:  # a link that leads nowhere, or a file that has just gone
        return InvalidInput(f"{file.name}:1", f"cannot be read: {error.strerror}")
    if not S_ISREG(stat.st_mode) or stat.st_size > MOST_BYTES:
        return InvalidInput(f"{file.name}:1", f"is no file of at most {MOST_BYTES:,} bytes")
    key = (str(file), stat.st_mtime_ns, stat.st_size)
    with _LOCK:
        if key not in _READ:
            try:
                _READ[key] = read_lesson(file)
            except InvalidInput as error:
                _READ[key] = error
        return _READ[key]
