"""A lesson as one Markdown file: the values that it becomes, and the reader that names a mistake by file and line.

A file begins with a front matter between two lines `---`. Each `## Title` begins a stage; the lines `name: value`
right below it are its fields, up to the first empty line, and the rest is its text. Inside a stage, `### Predict`,
`### Your turn`, `### Solution` and `### Notes` begin its question (with choices, or a curve to be drawn), its task with
what solves it, and its speaker notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.exports.curves import CURVES
from semf_core.glossary import glossary
from semf_core.lessons.figures import FIGURES, FIRST, LARGEST_ENTRY
from semf_core.lessons.goals import QUANTITIES, VECTOR_QUANTITIES, Goal
from semf_core.lessons.models import MODEL_FIELDS, stage_model
from semf_core.model import ModelSpec

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
FIELD = re.compile(r"([a-z][a-z ]*):(?:\s+(.*))?$")
CHOICE = re.compile(r"- \[([ xX])\] +(.+)$")
SKETCH = re.compile(r"- \[sketch\] +([a-z_]+)(?:, first (\d+))?$")
HEAD_FIELDS = ("title", "summary", "minutes")
STAGE_FIELDS = ("name", *MODEL_FIELDS, "highlight", "figure", "claim", "words")
PARTS = ("Predict", "Your turn", "Solution", "Notes")
MOST_CHARACTERS = 200_000
MOST_STAGES = 50


@dataclass(frozen=True)
class Highlight:
    """What a stage points at: constraints, components, a stretch of iterations, and which factor is on show."""

    sets: tuple[tuple[str, str], ...] = ()
    """("x" or "y", name of a set)."""
    components: tuple[int, ...] = ()
    """Counted from 0, as the run does; a file counts from 1."""
    iterations: tuple[int, int] | None = None
    factor: str = "U"


@dataclass(frozen=True)
class Choice:
    text: str
    right: bool


@dataclass(frozen=True)
class Sketch:
    """A curve of the run that the reader draws before it is seen, up to an iteration or the last one."""

    column: str
    last: int | None = None


@dataclass(frozen=True)
class Question:
    """To be answered before the run is seen: by one of the choices, or by drawing a curve."""

    text: str
    choices: tuple[Choice, ...]
    explanation: str
    sketch: Sketch | None = None


@dataclass(frozen=True)
class Task:
    """Your turn: what to reach by changing the model, or the vector of a drawing; every goal is checked on it."""

    text: str
    goals: tuple[Goal, ...]
    solution: ModelSpec | None
    """A model whose run reaches every goal."""
    hint: str = ""
    """Why it does."""
    vector: tuple[float, ...] = ()
    """The vector that reaches every goal, in a stage with the figure `vector`."""


@dataclass(frozen=True)
class Stage:
    name: str
    title: str
    text: str
    model: ModelSpec | None = None
    figure: str = ""
    """The drawing that it shows instead of a run, or beside it."""
    highlight: Highlight = Highlight()
    claims: tuple[Goal, ...] = ()
    """What the text says of the run, to be checked on it."""
    question: Question | None = None
    task: Task | None = None
    notes: str = ""
    words: tuple[str, ...] = ()
    """Names in the glossary that it explains."""

    def new_sets(self, factor: str, before: ModelSpec | None) -> list[bool]:
        """For each set on "x" or "y" whether it is new since the model of the stage before on the same data, or pointed at."""
        sets = getattr(self.model, factor)
        pointed = {name for of, name in self.highlight.sets if of == factor}
        old = getattr(before, factor) if before is not None and self.model and before.dataset == self.model.dataset else sets
        return [s.name in pointed or s not in old for s in sets]


@dataclass(frozen=True)
class Lesson:
    name: str
    title: str
    summary: str
    stages: tuple[Stage, ...]
    minutes: int = 10

    def position(self, stage: str) -> int:
        """Of the stage of this name, from 0; the first where there is none."""
        return next((i for i, s in enumerate(self.stages) if s.name == stage), 0)


class _Lines:
    """The lines of one file with their numbers; `error` makes a sentence that names the place."""

    def __init__(self, file: str, lines: Sequence[tuple[int, str]]) -> None:
        self.file, self.lines = file, list(lines)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return iter(self.lines)

    @property
    def first(self) -> int:
        return self.lines[0][0] if self.lines else 1

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.lines).strip()

    def some(self, lines: Sequence[tuple[int, str]]) -> _Lines:
        return _Lines(self.file, lines)

    def error(self, number: int, problem: str, remedy: str = "") -> InvalidInput:
        return InvalidInput(f"{self.file}:{number}", problem, remedy, whole=True)

    def split(self, mark: str) -> tuple[_Lines, list[tuple[int, str, _Lines]]]:
        """What stands before the first heading of this kind, and (line, title, lines below it) of each."""
        before: list[tuple[int, str]] = []
        parts: list[tuple[int, str, list[tuple[int, str]]]] = []
        for number, line in self.lines:
            if line.startswith(mark + " "):
                parts.append((number, line[len(mark) :].strip(), []))
            else:
                (parts[-1][2] if parts else before).append((number, line))
        return self.some(before), [(n, title, self.some(lines)) for n, title, lines in parts]

    def fields(self, known: Sequence[str], repeated: Sequence[str] = ()) -> tuple[dict[str, list[tuple[int, str]]], _Lines]:
        """The fields at the top and the text below them."""
        found: dict[str, list[tuple[int, str]]] = {}
        for position, (number, line) in enumerate(self.lines):
            if not line.strip():
                return found, self.some(self.lines[position:])
            match = FIELD.match(line)
            if match is None:
                remedy = f"those here are {', '.join(known)}, then comes an empty line"
                raise self.error(number, "is no field name: value", remedy)
            name, value = match[1], (match[2] or "").strip()
            if name not in known:
                raise self.error(number, f"has no field {name!r}", f"known are {', '.join(known)}")
            if name in found and name not in repeated:
                raise self.error(number, f"gives {name!r} a second time")
            if not value:
                raise self.error(number, f"gives {name!r} no value")
            found.setdefault(name, []).append((number, value))
        return found, self.some([])


def read_lesson(path: Path) -> Lesson:
    """The lesson in a file. `03-structure.md` holds the lesson `structure`: the number is for the order only.

    Parameters
    ----------
    path : Path
        A Markdown file, as docs/extend/lesson.md describes it; InvalidInput names the line of a mistake.

    Returns
    -------
    Lesson
        Title, summary, stages.

    Examples
    --------
    >>> read_lesson(Path(__file__).parent / "builtin" / "03-structure.md").title
    'Structure, stage by stage'
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path.name}:1", f"cannot be read as UTF-8 text: {error}") from None
    return parse_lesson(path.name, text)


def parse_lesson(file: str, text: str) -> Lesson:
    """The lesson in the text of a file of this name."""
    if len(text) > MOST_CHARACTERS:
        raise InvalidInput(f"{file}:1", f"has more than {MOST_CHARACTERS:,} characters")
    name = re.sub(r"^\d+-", "", file.removesuffix(".md"))
    lines = _Lines(file, list(enumerate(text.splitlines(), 1)))
    if not NAME.fullmatch(name):
        raise lines.error(1, "must have a file name of small letters, digits and hyphens, ending in .md")
    head, body = _front_matter(lines)
    intro, stages = body.split("##")
    if intro.text:
        number = next(n for n, line in intro if line.strip())
        raise lines.error(number, "stands before the first stage", "begin a stage with ## and its title")
    if not 1 <= len(stages) <= MOST_STAGES:
        raise lines.error(body.first, f"must have 1 to {MOST_STAGES} stages, each beginning with ## and its title")
    made: list[Stage] = []
    for number, title, below in stages:
        stage = _stage(number, title, below, made[-1].model if made else None)
        if any(stage.name == other.name for other in made):
            raise lines.error(number, f"has the name {stage.name!r} of an earlier stage", "give it another with name:")
        made.append(stage)
    return Lesson(name, head["title"], head["summary"], tuple(made), int(head.get("minutes", 10)))


def _front_matter(lines: _Lines) -> tuple[dict[str, str], _Lines]:
    ends = [i for i, (_, line) in enumerate(lines) if line.strip() == "---"]
    if len(ends) < 2 or ends[0] != 0:
        raise lines.error(1, "must begin with a front matter between two lines ---")
    fields, rest = lines.some(lines.lines[1 : ends[1]]).fields(HEAD_FIELDS)
    if rest.text:
        raise lines.error(rest.first, "is an empty line in the front matter", "leave it out")
    for name in ("title", "summary"):
        if name not in fields:
            raise lines.error(1, f"has no {name!r} in its front matter")
    values = {name: found[0][1] for name, found in fields.items()}
    if "minutes" in values and not (values["minutes"].isdecimal() and 1 <= int(values["minutes"]) <= 240):
        raise lines.error(fields["minutes"][0][0], "minutes must be a whole number from 1 to 240")
    return values, lines.some(lines.lines[ends[1] + 1 :])


def _stage(number: int, title: str, below: _Lines, previous: ModelSpec | None) -> Stage:
    if not title:
        raise below.error(number, "has no title behind ##")
    main, parts = below.split("###")
    fields, text = main.fields(STAGE_FIELDS, repeated=("claim",))
    one = {name: found[0] for name, found in fields.items()}
    name = one.get("name", (number, re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]))
    if not NAME.fullmatch(name[1]):
        raise below.error(name[0], "needs a name: of small letters, digits and hyphens")
    if not text.text:
        raise below.error(number, "has no text", "say the idea in a few sentences, below an empty line")
    figure = one.get("figure", (number, ""))
    if figure[1] and figure[1] not in FIGURES:
        raise below.error(figure[0], f"there is no figure {figure[1]!r}", f"known are {', '.join(FIGURES)}")
    model = stage_model({k: v for k, v in one.items() if k in MODEL_FIELDS}, previous, below.error)
    if model is None and not figure[1]:
        remedy = "fields stand right below the title, no empty line between"
        raise below.error(number, "needs a model: (a preset, or previous) or a figure:", remedy)
    words = one.get("words", (number, ""))
    for word in words[1].split():
        if word not in glossary():
            raise below.error(words[0], f"there is no word {word!r} in the glossary", f"known are {', '.join(glossary())}")
    held = _parts(parts, below)
    return Stage(
        name[1],
        title,
        text.text,
        model,
        figure[1],
        _highlight(one.get("highlight"), model, below),
        _goals(fields.get("claim", []), below),
        _question(held["Predict"], model) if "Predict" in held else None,
        _task(held, model, figure[1]) if "Your turn" in held or "Solution" in held else None,
        held["Notes"].text if "Notes" in held else "",
        tuple(words[1].split()),
    )


def _parts(parts: list[tuple[int, str, _Lines]], below: _Lines) -> dict[str, _Lines]:
    held: dict[str, _Lines] = {}
    for number, title, lines in parts:
        if title not in PARTS:
            raise below.error(number, f"there is no part {title!r} of a stage", f"known are ### {', ### '.join(PARTS)}")
        if title in held:
            raise below.error(number, f"is a second {title!r} of this stage")
        if not lines.text:
            raise below.error(number, f"the part {title!r} is empty")
        held[title] = lines
    return held


def _question(lines: _Lines, model: ModelSpec | None) -> Question:
    choices: list[Choice] = []
    sketches: list[Sketch] = []
    before: list[str] = []
    after: list[str] = []
    for number, line in lines:
        match = CHOICE.match(line.strip())
        if match:
            choices.append(Choice(match[2].strip(), match[1] != " "))
        elif line.strip().startswith("- [sketch"):
            sketches.append(_sketch(number, line.strip(), model, lines))
        else:
            (after if choices or sketches else before).append(line)
    if not sketches and (len(choices) < 2 or sum(c.right for c in choices) != 1):
        raise lines.error(lines.first, "a question needs two or more choices, one of them right: lines - [ ] and one - [x]")
    if sketches and (choices or len(sketches) > 1):
        raise lines.error(lines.first, "a question has choices or one line - [sketch], not both")
    if not "".join(before).strip() or not "".join(after).strip():
        raise lines.error(lines.first, "a question has its words above the choices and its explanation below them")
    return Question("\n".join(before).strip(), tuple(choices), "\n".join(after).strip(), sketches[0] if sketches else None)


def _sketch(number: int, line: str, model: ModelSpec | None, lines: _Lines) -> Sketch:
    """`- [sketch] alpha`, or `- [sketch] alpha, first 200`."""
    match = SKETCH.match(line)
    if match is None or match[1] not in CURVES or (match[2] is not None and int(match[2]) < 2):
        raise lines.error(number, "is nothing like - [sketch] alpha, first 200", f"what can be drawn is {', '.join(CURVES)}")
    if model is None or (not model.solver.splits and match[1] != "residual_uv"):
        raise lines.error(number, f"asks for {match[1]}, which the run of this stage does not have")
    return Sketch(match[1], int(match[2]) if match[2] else None)


def _task(held: dict[str, _Lines], model: ModelSpec | None, figure: str) -> Task:
    """The two parts that belong together: what is asked for, and a model or a vector that has it."""
    parts = [_trimmed(held[name]) for name in ("Your turn", "Solution") if name in held]
    drawn = model is None and figure == "vector"
    if (model is None and not drawn) or len(parts) < 2:
        needs = "a stage with a task has a model: or the figure: vector, a part ### Your turn and a part ### Solution"
        raise parts[0].error(parts[0].first, needs)
    asked, solved = parts
    fields, text = asked.fields(("goal",), repeated=("goal",))
    if "goal" not in fields or not text.text:
        raise asked.error(asked.first, "a task has lines goal: first, then an empty line, then its words")
    goals = _goals(fields["goal"], asked, VECTOR_QUANTITIES if drawn else QUANTITIES)
    if drawn:
        values, hint = solved.fields(("vector",))
        if "vector" not in values:
            raise solved.error(solved.first, f"a solution begins with vector: and {len(FIRST)} numbers")
        return Task(text.text, goals, None, hint.text, _vector(*values["vector"][0], solved))
    changes, hint = solved.fields(MODEL_FIELDS)
    solution = stage_model({name: found[0] for name, found in changes.items()}, model, solved.error)
    if solution is None:
        raise solved.error(solved.first, "a solution begins with model: previous and what is changed in it")
    return Task(text.text, goals, solution, hint.text)


def _vector(number: int, words: str, lines: _Lines) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in words.split())
    except ValueError:
        values = ()
    if len(values) != len(FIRST) or not all(abs(value) <= LARGEST_ENTRY for value in values):
        most = f"{LARGEST_ENTRY:g}"
        raise lines.error(number, f"must be {len(FIRST)} numbers from −{most} to {most}, with spaces between them")
    return values


def _trimmed(lines: _Lines) -> _Lines:
    """Without the empty lines at the top."""
    return lines.some(lines.lines[next(i for i, (_, line) in enumerate(lines) if line.strip()) :])


def _goals(given: list[tuple[int, str]], lines: _Lines, known: Iterable[str] = QUANTITIES) -> tuple[Goal, ...]:
    goals = []
    for number, words in given:
        goal = Goal.parse(words, known, f"{lines.file}:{number}")
        if goal is None:
            raise lines.error(number, "is nothing like parts_found >= 17", f"what can be measured is {', '.join(known)}")
        goals.append(goal)
    return tuple(goals)


def _highlight(field: tuple[int, str] | None, model: ModelSpec | None, lines: _Lines) -> Highlight:
    """`x NAME`, `y NAME`, `components 1 2`, `iterations 10-50` and `factor X`, with commas between them."""
    if field is None:
        return Highlight()
    number, value = field
    sets: list[tuple[str, str]] = []
    components: list[int] = []
    iterations, factor = None, "U"
    for piece in value.split(","):
        kind, *rest = piece.split() or [""]
        span = re.fullmatch(r"(\d+)-(\d+)", rest[0]) if rest else None
        if kind in ("x", "y") and len(rest) == 1:
            if model is None or rest[0] not in [s.name for s in getattr(model, kind)]:
                raise lines.error(number, f"highlights {rest[0]!r}, which the model does not have on {kind.upper()}")
            sets.append((kind, rest[0]))
        elif kind == "components" and rest and all(w.isdecimal() and 1 <= int(w) <= (model.rank if model else 0) for w in rest):
            components += [int(w) - 1 for w in rest]
        elif kind == "iterations" and span and int(span[1]) < int(span[2]):
            iterations = (int(span[1]), int(span[2]))
        elif kind == "factor" and rest in (["X"], ["U"]):
            factor = rest[0]
        else:
            known = "x NAME, y NAME, components 1 2 (up to the rank), iterations 10-50, factor X"
            raise lines.error(number, f"highlights {piece.strip()!r}", f"it can be {known}")
    return Highlight(tuple(sets), tuple(components), iterations, factor)
