"""Reference pages: one section for each entry of a registry."""

from __future__ import annotations

from collections.abc import Iterator

from docs.generate.common import displayed, docstring, formula, parameters, references, table
from semf_core.datasets import DATASETS
from semf_core.sets import SETS, StructureSet, VectorSet
from semf_core.sets.rules import RULES
from semf_core.solvers import SOLVERS, Limits, Solver
from semf_core.studies import MEASURES, builtin_names, builtin_study

SCOPE = ("axis", "columns", "entries")
SCALE = {"free": "at will", "ball": "down", "fixed": "not at all"}
NEEDS = {
    "complete": "no missing entries",
    "dense": "a dense matrix without missing entries",
    "nonnegative": "data without negative entries",
    "labels": "labels",
}


def pages() -> Iterator[tuple[str, str]]:
    """Address and Markdown of every page here."""
    yield "reference/sets.md", "\n".join(_sets())
    yield "reference/solvers.md", "\n".join(_solvers())
    yield "reference/datasets.md", "\n".join(_datasets())
    yield "reference/studies.md", "\n".join(_studies())


# ---------------------------------------------------------------------------------------------
# sets


def _sets() -> Iterator[str]:
    classes = list(SETS.everything())
    yield f"# Structure sets\n\nWhat can be enforced on X or Y: {len(classes)} sets, and every intersection of them.\n"
    yield (
        "**Exact** says that the projection is proven to return a nearest point; otherwise the reason tells what it returns. "
        "**Cost** is that of projecting a matrix with *N* entries in vectors of length *d*.\n"
    )
    rows = []
    for cls in classes:
        example = cls.from_params(cls.example)
        convex, exact = ("yes" if flag else "no" for flag in (example.convex, example.exact))
        rows.append((f"[{cls.title}](#{cls.name})", formula(_short(example)), exact, convex, cls.cost))
    yield table(("set", "a member X satisfies", "exact", "convex", "cost"), rows)
    yield "## Scope\n\nSets that bind vectors share three parameters, which say what a vector is:\n"
    yield parameters(VectorSet)
    for cls in classes:
        yield from _set(cls)
    yield from _intersections()


def _short(example: StructureSet) -> str:
    """The condition without the list of its groups."""
    return example.condition("X").partition(r",\; G_{1}")[0].partition(r",\; I_{1}")[0]


def _set(cls: type[StructureSet]) -> Iterator[str]:
    example = cls.from_params(cls.example)
    yield f"## {cls.title} {{ #{cls.name} }}\n\n{cls.summary[0].upper()}{cls.summary[1:]}.\n"
    yield displayed(rf"\mathcal{{X}} = {example.latex('X')}") + "\n"
    yield docstring(cls) + "\n"
    exact = "**Exact**" if example.exact else "**Approximate**"
    convex = "Convex" if example.convex else "Not convex"
    yield f"{exact}: {example.reason}. {convex}. Its members may be scaled: {SCALE[example.size]}. Cost: {cls.cost}.\n"
    own = parameters(cls, SCOPE if issubclass(cls, VectorSet) else ())
    if own:
        yield own
    shared = "; with a [scope](#scope)" if issubclass(cls, VectorSet) else ""
    if cls.storable:
        yield f"In Python `{cls.__name__}`, on the command line and in JSON `{cls.name}`{shared}.\n"
    else:
        yield f"In Python `{cls.__name__}`; it holds a function and so has no JSON form.\n"
    for paper in references(cls):
        yield f"> {paper}\n"


def _intersections() -> Iterator[str]:
    yield "## Intersections { #intersections }\n"
    yield (
        "`A & B`, or several sets in one list, make an intersection. Where a closed form is proven it is used; otherwise "
        "the sets are projected onto in turn (or by Dykstra's algorithm), `.exact` is false, and `.reason` says so. Sets on "
        "different columns, rows or entries never meet, and are projected onto side by side. "
        f"These {len(RULES)} combinations on the same vectors have a closed form:\n"
    )
    titles = {cls.name: cls.title for cls in SETS.everything()}
    rows = [
        (" ∩ ".join(f"[{titles[n]}](#{n})" for n in sorted(names)), rule.because or "closed form")
        for names, rule in RULES.items()
    ]
    yield table(("sets", "why it is exact"), sorted(rows))


# ---------------------------------------------------------------------------------------------
# solvers


def _solvers() -> Iterator[str]:
    families: dict[str, list[type[Solver]]] = {}
    for cls in SOLVERS.everything():
        families.setdefault(cls.family or "Structure-enforced", []).append(cls)
    total = sum(map(len, families.values()))
    yield f"# Algorithms\n\n{total} algorithms behind one protocol: each can be run, watched, paused, stored, compared, scored.\n"
    rows = [
        (f"[{cls.title}](#{cls.name})", family, cls.enforces, cls.encourages or "–")
        for family, several in families.items()
        for cls in several
    ]
    yield table(("algorithm", "family", "enforces", "encourages"), rows)
    yield "## Limits { #limits }\n\nEvery run, whatever its algorithm, takes these:\n"
    yield parameters(Limits)
    for family, several in families.items():
        yield f"## {family}\n"
        for cls in several:
            yield from _solver(cls)


def _solver(cls: type[Solver]) -> Iterator[str]:
    yield f"### {cls.title} {{ #{cls.name} }}\n\n{cls.summary[0].upper()}{cls.summary[1:]}.\n"
    yield displayed(cls().objective()) + "\n"
    yield docstring(cls) + "\n"
    facts = [f"**Enforces** {cls.enforces}."] if cls.enforces else []
    if cls.own_start:
        facts.append(f"**Begins** with {cls.own_start}, whatever start is given.")
    facts += [f"**Encourages** {cls.encourages}."] if cls.encourages else []
    facts += [f"**Needs** {', '.join(NEEDS[need] for need in cls.needs)}."] if cls.needs else []
    yield " ".join([*facts, f"Its name is `{cls.name}`, its class `{cls.__name__}`."]) + "\n"
    yield parameters(cls)
    for paper in references(cls):
        yield f"> {paper}\n"


# ---------------------------------------------------------------------------------------------
# data sets and studies


def _datasets() -> Iterator[str]:
    yield '# Data sets\n\n`DATASETS.parse("swimmer:noise=0.1").load()` or, on the command line, `--data swimmer:noise=0.1`.\n'
    for cls in DATASETS:
        yield f"## {cls.title or cls.name} {{ #{cls.name} }}\n\n{cls.summary}\n\n{docstring(cls)}\n"
        yield f"Its name is `{cls.name}`, its class `{cls.__name__}`.\n"
        yield parameters(cls)
        for paper in references(cls):
            yield f"> {paper}\n"


def _studies() -> Iterator[str]:
    yield "# Studies\n\nMany runs as one experiment: `semf study NAME --quick`, or the page Studies. "
    yield "A study is a JSON file, so write your own.\n"
    for name in builtin_names():
        study = builtin_study(name)
        yield f"## {study.title} {{ #{name} }}\n\n{study.summary}\n"
        if study.claim.text:
            yield f"> {study.claim.text} ({study.claim.source})\n"
        counts = ", ".join(f"{size} {study.sized(size).count:,} runs" for size in study.sizes)
        yield f"`semf study {name}`: {counts}. Measured: {', '.join(f'`{m.key}`' for m in study.measures)}.\n"
    yield "## Measures { #measures }\n\nWhat a study can measure on each run:\n"
    yield table(("measure", "meaning"), [(f"`{m.name}`", m.title) for m in MEASURES])
