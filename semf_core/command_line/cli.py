"""The command line: app, run, restore, verify, open, export, list, study, lessons, store, doctor, completion, and listings."""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import math
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from semf_core import __version__
from semf_core.command_line import app_command, completion, doctor, restore_command
from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.common.threads import blas_threads
from semf_core.datasets import DATASETS, Axes, Dataset, FileSource, Reading, source_from_word
from semf_core.datasets.axes import clean, component_names
from semf_core.datasets.loaders import find_path
from semf_core.exports import EXPORTS
from semf_core.exports.tables import named_arrays
from semf_core.factorization.api import SEED, THREADS
from semf_core.factorization.result import Result, make_result
from semf_core.factorization.retrieval import retrieve
from semf_core.factorization.scores import truth_scores
from semf_core.lessons.command import add_commands as add_lesson_commands
from semf_core.maintenance.command import add_commands as add_store_commands
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.runs.files import write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.uploads import Upload, file_again
from semf_core.sets import ROUNDS, SETS, in_rounds, without_rounds
from semf_core.snapshots import command as snapshots
from semf_core.snapshots.recording import record
from semf_core.solvers import ADMM, COLUMNS, DEFAULT, SOLVERS, Limits, Run, Solver
from semf_core.studies.command import add_commands as add_study_commands

OUT_KINDS = {"": "csv", ".npz": "npz", ".mat": "mat", ".h5ad": "h5ad", ".parquet.zip": "parquet", ".zip": "csv", ".html": "html"}
OUT_HELP = (
    "store factors and names: a folder for CSV tables, or a file ending in .npz, .mat, .h5ad, .zip (CSV), "
    ".parquet.zip or .html (report)"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 2 and one sentence on standard error if the input is at fault."""
    try:
        options = make_parser().parse_args(arguments)
        return int(options.command(options) or 0)
    except InvalidInput as error:
        print(f"semf: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stdout = None  # the reader has gone; nothing is left to be flushed at exit
        return 0
    except (OSError, MemoryError) as error:
        print(f"semf: {error or type(error).__name__}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("semf: interrupted", file=sys.stderr)
        return 130


def make_parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    parser = argparse.ArgumentParser(prog="semf", description="Matrix factorization with structure enforced on the factors.")
    parser.add_argument("--version", action="version", version=f"semf {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    app_command.add_command(commands)
    run = commands.add_parser("run", help="factorize a preset or a data file")
    run.set_defaults(command=_run)
    source = run.add_mutually_exclusive_group()
    source.add_argument("--preset", help=f"one of {', '.join(preset_names())}")
    source.add_argument("--spec", metavar="FILE", help="a model as JSON; with --data on that file instead of its own")
    run.add_argument("--data", metavar="FILE|NAME", help="a data file, or a built-in set such as swimmer:noise=0.1")
    run.add_argument("--rank", metavar="R", help="number of components p")
    run.add_argument(
        "--x", action="extend", nargs="+", metavar="SET", help="constraints on X, e.g. nonnegative sparse:k=17,columns=16"
    )
    run.add_argument("--y", action="extend", nargs="+", metavar="SET", help="constraints on Y, e.g. sparse:k=5,axis=column")
    for factor in "xy":
        run.add_argument(f"--{factor}-rounds", metavar="N", help=f"on {factor.upper()}: {ROUNDS.help}")
    run.add_argument("--solver", metavar="SOLVER", help="another algorithm, e.g. nmf-mu; its options as name:option=value,…")
    run.add_argument("--seed", help=SEED.help)
    run.add_argument("--dtype", choices=("float32", "float64"), help="precision")
    run.add_argument("--threads", default="1", help=THREADS.help)
    run.add_argument("--component-names", nargs="+", default=(), metavar="NAME", help="what the components are called in exports")
    run.add_argument("--query", metavar="WORDS", help="where rows are words: print the nearest samples")
    run.add_argument("--out", metavar="OUT", help=OUT_HELP)
    run.add_argument("--json", action="store_true", help="print one JSON object")
    reading = run.add_argument_group("reading the file", "what is not given is judged from the file, and said")
    printed = [p for p in params_of(ADMM) if p.name not in {own.name for own in params_of(DEFAULT)}]
    for p in params_of(Reading):
        reading.add_argument(_flag(p), dest=f"reading_{p.name}", metavar=p.kind.upper(), help=_help(p))
    groups = {"limits": params_of(Limits), "options of SeMF": params_of(DEFAULT), f"only with --solver {ADMM.name}": printed}
    for title, listed in groups.items():
        group = run.add_argument_group(title)
        for p in listed:
            group.add_argument(_flag(p), dest=p.name, metavar=p.kind.upper(), help=_help(p))
    for name, describe in (("presets", _presets), ("sets", _sets), ("solvers", _solvers), ("datasets", _datasets)):
        listing = commands.add_parser(name, help=f"list the {name}")
        listing.add_argument("--json", action="store_true", help="print a JSON list")
        listing.set_defaults(command=_listing(describe))
    restore_command.add_command(commands)
    snapshots.add_saving(run)
    snapshots.add_commands(commands)
    add_study_commands(commands)
    add_lesson_commands(commands)
    add_store_commands(commands)
    doctor.add_command(commands)
    completion.add_command(commands, parser)
    return parser


def _flag(p: Param) -> str:
    return "--" + p.name.replace("_", "-")


def _help(p: Param) -> str:
    return f"{p.help} (default {p.default})".replace("%", "%%")


# ---------------------------------------------------------------------------------------------
# run


def _run(options: argparse.Namespace) -> int:
    if options.out:
        out_kind(Path(options.out))
    spec, dataset = _spec(options)
    if len(options.component_names) > spec.rank:
        raise InvalidInput("component-names", f"are {len(options.component_names)}, and there are {spec.rank} components")
    for sentence in spec.warnings():
        print(f"semf: warning: {sentence}", file=sys.stderr)
    with blas_threads(THREADS.parse(options.threads)), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with tqdm(total=spec.limits.max_iter, unit="it", disable=not sys.stderr.isatty(), leave=False) as bar:
            recorded = options.save or (options.out and out_kind(Path(options.out)) != "npz")
            run = _recorded(spec, dataset, bar, options) if recorded else spec.run(dataset).finish(_progress(bar))
        result = make_result(run)
    summary = summarise(spec, dataset, result)
    if options.out and out_kind(Path(options.out)) == "npz":
        store(Path(options.out), spec, result, dataset.axes, options.component_names)
    if options.query:
        found = retrieve(options.query, spec, (result.U, result.V), dataset.axes, lambda: dataset)
        summary["query"] = [vars(hit) for hit in found.hits] if options.json else "\n" + "\n".join(found.lines())
    print(json.dumps(summary) if options.json else _table(summary))
    return 0


def _recorded(spec: ModelSpec, dataset: Dataset, bar: Any, options: argparse.Namespace) -> Run:
    """The run, recorded on the way, saved as a snapshot and exported as its options say."""
    saving = snapshots.checked_target(options) if options.save else None
    with tempfile.TemporaryDirectory(prefix="semf-") as place:
        folder = RunFolder(Path(place))
        run = record(spec, folder, _progress(bar, every=1)).run
        if options.component_names:
            folder.write_component_names(clean(name) for name in options.component_names)
        if saving is not None:
            snapshots.save(saving[0], folder, dataset, saving[1], options.include_data)
        if options.out and out_kind(Path(options.out)) != "npz":
            _export(Path(options.out), folder, dataset)
    return run


def out_kind(path: Path) -> str:
    """Which export a file of this name is; a name without an ending is a folder of CSV tables."""
    ending = next((ending for ending in OUT_KINDS if ending and path.name.endswith(ending)), path.suffix)
    if ending not in OUT_KINDS:
        known = ", ".join(filter(None, OUT_KINDS))
        raise InvalidInput("out", f"{path.name} must end in {known}, or be the name of a folder", whole=True)
    return OUT_KINDS[ending]


def _export(path: Path, folder: RunFolder, dataset: Dataset) -> None:
    made = EXPORTS[out_kind(path)].make(folder, dataset)
    if path.suffix:
        write_whole(path, lambda file: file.write(made))
        return
    path.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        archive.extractall(path)


def _progress(bar: Any, every: int = 10) -> Callable[[Run], None]:
    def show(run: Run) -> None:
        if not bar.disable and run.iterations % every == 0:
            bar.update(max(0, min(run.iterations, bar.total) - bar.n))
            bar.set_postfix_str(
                f"‖M−UV‖/‖M‖ {run.best_uv / (run.problem.matrix.norm or 1):.4g}, start {run.start + 1}", refresh=False
            )

    return show


def _spec(options: argparse.Namespace) -> tuple[ModelSpec, Dataset]:
    """The model that the command line describes, and its data: a preset, a JSON file or data, with what was given on top."""
    if not (options.preset or options.spec or options.data):
        raise InvalidInput("data", "say what to factorize: --preset NAME, --spec FILE or --data FILE", whole=True)
    if options.preset:
        spec = preset(options.preset)
    elif options.spec:
        spec = ModelSpec.from_json(Path(options.spec).read_text(encoding="utf-8"))
    elif options.rank is None:
        raise InvalidInput("rank", "say how many components to find with --rank R", whole=True)
    else:
        spec = ModelSpec(source_from_word(options.data), rank=_integer("rank", options.rank))
    if options.spec and options.data:
        there = source_from_word(options.data)
        again = isinstance(there, FileSource) and isinstance(spec.dataset, FileSource | Upload)
        spec = dataclasses.replace(spec, dataset=file_again(spec.dataset, there.path) if again else there)  # type: ignore[attr-defined, arg-type]
    spec = _changed_spec(spec, options)
    return _loaded(spec, options)


def _loaded(spec: ModelSpec, options: argparse.Namespace) -> tuple[ModelSpec, Dataset]:
    """The model and its data; what was judged from the file is said, and is part of the model."""
    given = {p.name: p.parse(text) for p in params_of(Reading) if (text := getattr(options, f"reading_{p.name}")) is not None}
    if not isinstance(spec.dataset, FileSource):
        if given:
            raise InvalidInput(next(iter(given)), "says how to read a file, and the data is none", "name a file with --data")
        return spec, spec.dataset.load()
    told = {p.name: getattr(spec.dataset, p.name) for p in params_of(Reading)} | given
    if options.data and not options.spec:
        told |= {name: "auto" for name in ("orientation", "colour") if name not in given}
    found = find_path(spec.dataset.path, Reading(**told))
    samples = f"{found.question}: the samples are the {found.reading.orientation}." if found.question and found.orientable else ""
    for sentence in filter(None, (samples, *found.remarks, found.dataset.note)):
        print(f"semf: {sentence}", file=sys.stderr)
    known = {p.name: getattr(found.reading, p.name) for p in params_of(Reading)}
    return dataclasses.replace(spec, dataset=FileSource(path=spec.dataset.path, **known)), found.dataset


def _changed_spec(spec: ModelSpec, options: argparse.Namespace) -> ModelSpec:
    """The model with the options of the command line."""
    solver = SOLVERS.parse(options.solver) if options.solver else spec.solver
    changes: dict[str, Any] = {"solver": _tuned(solver, options), "limits": _changed(spec.limits, options)}
    if not solver.takes_sets and spec.solver.takes_sets:
        changes |= {"x": (), "y": ()}
    if type(solver) is not type(spec.solver):  # title and sentence of a preset promise what its own algorithm finds
        changes |= {"title": f"{spec.dataset.title}: {solver.title}", "watch": ""}
    if options.rank is not None:
        changes["rank"] = _integer("rank", options.rank)
    for name in ("x", "y"):
        words = getattr(options, name)
        if words is not None:
            changes[name] = tuple(SETS.parse(w) for w in words)
        rounds = getattr(options, f"{name}_rounds")
        if rounds is not None:
            sets = without_rounds(changes.get(name, getattr(spec, name)))[0]
            changes[name] = in_rounds(sets, dataclasses.replace(ROUNDS, name=f"{name}_rounds").parse(rounds))
    if options.seed is not None:
        changes["seed"] = SEED.parse(options.seed)
    if options.dtype is not None:
        changes["dtype"] = options.dtype
    return dataclasses.replace(spec, **changes)


def _integer(name: str, text: str) -> int:
    return int(Param("integer", None, name=name, low=1).parse(text))


def _tuned(solver: Solver, options: argparse.Namespace) -> Solver:
    """SeMF's options are flags; those of any other algorithm stand behind its name."""
    own = {p.name for p in params_of(type(solver))} if isinstance(solver, DEFAULT | ADMM) else set()
    for cls in (DEFAULT, ADMM):
        for p in params_of(cls):
            if getattr(options, p.name) is not None and p.name not in own:
                raise InvalidInput(p.name, f"is an option of {cls.title}", f"write others as --solver {solver.name}:option=value")
    return _changed(solver, options) if own else solver


def _changed(value: Any, options: argparse.Namespace) -> Any:
    given = {p.name: p.parse(getattr(options, p.name)) for p in params_of(type(value)) if getattr(options, p.name) is not None}
    return dataclasses.replace(value, **given)


def summarise(spec: ModelSpec, dataset: Dataset, result: Result) -> dict[str, Any]:
    """The numbers of a finished run, as JSON types."""
    certificate = result.certificate.to_dict()
    summary = {
        "title": spec.title,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "stop_reason": result.stop_reason,
        "ending": result.ending.text,
        "starts": result.starts,
        "kicks": sum(e.kind == "kick" for e in result.events),
        "seed": spec.seed,
        "residual_xy": result.residual_xy,
        "residual_uv": result.residual_uv,
        "relative_error": result.relative_error,
        "snr_db": result.snr_db,
        "snr_db_xy": result.snr_db_xy,
        **certificate,
        **truth_scores(dataset, result.U, result.V, spec.y_set),
        "events": [dataclasses.asdict(e) for e in result.events],
    }
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in summary.items()}


def store(path: Path, spec: ModelSpec, result: Result, axes: Axes, names: Sequence[str] = ()) -> None:
    """Factors, their names, history and spec as NPZ without pickle."""
    columns = {f"history_{name}": result.history[name] for name in COLUMNS} | {"history_iteration": result.history.iteration}
    columns |= named_arrays(axes, component_names(names, spec.rank)) | {"spec": np.array(spec.to_json())}
    np.savez_compressed(path, U=result.U, V=result.V, X=result.X, Y=result.Y, **columns)  # type: ignore[arg-type]


def _table(summary: dict[str, Any]) -> str:
    hidden = {"nonzeros_u", "events", "title"}
    lines = [summary["title"]] if summary["title"] else []
    for key, value in summary.items():
        if key not in hidden and value is not None:
            lines.append(f"{key:>16}  {_shown(value)}")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{k} {_shown(v)}" for k, v in value.items()) or "no constraint"
    return str(value)


# ---------------------------------------------------------------------------------------------
# listings


def _listing(describe: Callable[[], list[dict[str, Any]]]) -> Callable[[argparse.Namespace], int]:
    def show(options: argparse.Namespace) -> int:
        rows = describe()
        if options.json:
            print(json.dumps(rows))
        else:
            print("\n".join(f"{row['name']:<22}{row['summary']}" + _parameter_lines(row) for row in rows))
        return 0

    return show


def _parameter_lines(row: dict[str, Any]) -> str:
    return "".join(f"\n    {p['name']:<18}{p['help']}" for p in row.get("parameters", []))


def _presets() -> list[dict[str, Any]]:
    return [{"name": name, "summary": f"{preset(name).title}. {preset(name).watch}"} for name in preset_names()]


def _sets() -> list[dict[str, Any]]:
    return [_described(cls) for cls in SETS]


def _solvers() -> list[dict[str, Any]]:
    return [
        {**_described(cls), "enforces": cls.enforces, "encourages": cls.encourages, "own_start": cls.own_start} for cls in SOLVERS
    ]


def _datasets() -> list[dict[str, Any]]:
    return [_described(cls) for cls in DATASETS]


def _described(cls: Any) -> dict[str, Any]:
    parameters = [
        {"name": p.name, "kind": p.kind, "required": p.required, "help": p.help, **({} if p.required else {"default": p.default})}
        for p in params_of(cls)
    ]
    return {"name": cls.name, "summary": cls.summary, "parameters": parameters}
