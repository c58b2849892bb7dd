"""The command line: python -m semf_core run | verify | open | export | list | study | studies, and listings."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from semf_core.api import SEED, THREADS
from semf_core.datasets import DATASETS, Dataset, source_from_word
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.parameters import InvalidInput, Param, params_of
from semf_core.result import Result, make_result
from semf_core.runs.folder import RunFolder
from semf_core.scores import truth_scores
from semf_core.sets import SETS
from semf_core.snapshots import command as snapshots
from semf_core.snapshots.recording import record
from semf_core.solvers import ADMM, COLUMNS, SOLVERS, Limits, Run, Solver
from semf_core.studies.command import add_commands as add_study_commands
from semf_core.threads import blas_threads


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 2 and one sentence on standard error if the input is at fault."""
    try:
        options = _parser().parse_args(arguments)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="semf", description="Matrix factorization with structure enforced on the factors.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="factorize a preset or a data file")
    run.set_defaults(command=_run)
    source = run.add_mutually_exclusive_group(required=True)
    source.add_argument("--preset", help=f"one of {', '.join(preset_names())}")
    source.add_argument("--spec", metavar="FILE", help="a model as JSON")
    source.add_argument("--data", metavar="FILE|NAME", help="a data file, or a built-in set such as swimmer:noise=0.1")
    run.add_argument("--rank", metavar="R", help="number of components p")
    run.add_argument(
        "--x", action="extend", nargs="+", metavar="SET", help="constraints on X, e.g. nonnegative sparse:k=17,columns=16"
    )
    run.add_argument("--y", action="extend", nargs="+", metavar="SET", help="constraints on Y, e.g. sparse:k=5,axis=column")
    run.add_argument("--solver", metavar="SOLVER", help="another algorithm, e.g. nmf-mu; its options as name:option=value,…")
    run.add_argument("--seed", help=SEED.help)
    run.add_argument("--dtype", choices=("float32", "float64"), help="precision")
    run.add_argument("--threads", default="1", help=THREADS.help)
    run.add_argument("--out", metavar="FILE", help="store factors and history as NPZ")
    run.add_argument("--json", action="store_true", help="print one JSON object")
    for title, cls in (("limits", Limits), ("options of SeMF", ADMM)):
        group = run.add_argument_group(title)
        for p in params_of(cls):
            group.add_argument(_flag(p), dest=p.name, metavar=p.kind.upper(), help=_help(p))
    for name, describe in (("presets", _presets), ("sets", _sets), ("solvers", _solvers), ("datasets", _datasets)):
        listing = commands.add_parser(name, help=f"list the {name}")
        listing.add_argument("--json", action="store_true", help="print a JSON list")
        listing.set_defaults(command=_listing(describe))
    snapshots.add_saving(run)
    snapshots.add_commands(commands)
    add_study_commands(commands)
    return parser


def _flag(p: Param) -> str:
    return "--" + p.name.replace("_", "-")


def _help(p: Param) -> str:
    return f"{p.help} (default {p.default})".replace("%", "%%")


# ---------------------------------------------------------------------------------------------
# run


def _run(options: argparse.Namespace) -> int:
    spec = _spec(options)
    dataset = spec.dataset.load()
    for sentence in spec.warnings():
        print(f"semf: warning: {sentence}", file=sys.stderr)
    with blas_threads(THREADS.parse(options.threads)), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        with tqdm(total=spec.limits.max_iter, unit="it", disable=not sys.stderr.isatty(), leave=False) as bar:
            run = _saved(spec, dataset, bar, options) if options.save else spec.run(dataset).finish(_progress(bar))
        result = make_result(run)
    summary = summarise(spec, dataset, result)
    if options.out:
        store(Path(options.out), spec, result)
    print(json.dumps(summary) if options.json else _table(summary))
    return 0


def _saved(spec: ModelSpec, dataset: Dataset, bar: Any, options: argparse.Namespace) -> Run:
    """The run, recorded on the way and saved as a snapshot."""
    target, label = snapshots.checked_target(options)
    with tempfile.TemporaryDirectory(prefix="semf-") as place:
        folder = RunFolder(Path(place))
        run = record(spec, folder, _progress(bar, every=1)).run
        snapshots.save(target, folder, dataset, label, options.include_data)
    return run


def _progress(bar: Any, every: int = 10) -> Callable[[Run], None]:
    def show(run: Run) -> None:
        if not bar.disable and run.iterations % every == 0:
            bar.update(max(0, min(run.iterations, bar.total) - bar.n))
            bar.set_postfix_str(
                f"‖M−UV‖/‖M‖ {run.best_uv / (run.problem.matrix.norm or 1):.4g}, start {run.start + 1}", refresh=False
            )

    return show


def _spec(options: argparse.Namespace) -> ModelSpec:
    """The model that the command line describes: a preset, a JSON file or data, with what was given on top."""
    if options.preset:
        spec = preset(options.preset)
    elif options.spec:
        spec = ModelSpec.from_json(Path(options.spec).read_text(encoding="utf-8"))
    else:
        if options.rank is None:
            raise InvalidInput("rank", "say how many components to find with --rank R")
        spec = ModelSpec(source_from_word(options.data), rank=_integer("rank", options.rank))
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
    if options.seed is not None:
        changes["seed"] = SEED.parse(options.seed)
    if options.dtype is not None:
        changes["dtype"] = options.dtype
    return dataclasses.replace(spec, **changes)


def _integer(name: str, text: str) -> int:
    return int(Param("integer", None, name=name, low=1).parse(text))


def _tuned(solver: Solver, options: argparse.Namespace) -> Solver:
    """SeMF's options are flags; those of any other algorithm stand behind its name."""
    if isinstance(solver, ADMM):
        return _changed(solver, options)
    for p in params_of(ADMM):
        if getattr(options, p.name) is not None:
            raise InvalidInput(p.name, f"is an option of SeMF; write others as --solver {solver.name}:option=value")
    return solver


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
        "starts": result.starts,
        "kicks": sum(e.kind == "kick" for e in result.events),
        "seed": spec.seed,
        "residual_xy": result.residual_xy,
        "residual_uv": result.residual_uv,
        "relative_error": result.relative_error,
        "snr_db": result.snr_db,
        "snr_db_xy": result.snr_db_xy,
        **certificate,
        **truth_scores(dataset, result.U, spec.y_set),
        "events": [dataclasses.asdict(e) for e in result.events],
    }
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in summary.items()}


def store(path: Path, spec: ModelSpec, result: Result) -> None:
    """Factors, history and spec as NPZ without pickle."""
    if path.suffix != ".npz":
        raise InvalidInput("out", f"{path.name} must end in .npz")
    columns = {f"history_{name}": result.history[name] for name in COLUMNS}
    np.savez_compressed(path, U=result.U, V=result.V, X=result.X, Y=result.Y, spec=np.array(spec.to_json()), **columns)  # type: ignore[arg-type]


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
    return [{**_described(cls), "enforces": cls.enforces, "encourages": cls.encourages} for cls in SOLVERS]


def _datasets() -> list[dict[str, Any]]:
    return [_described(cls) for cls in DATASETS]


def _described(cls: Any) -> dict[str, Any]:
    parameters = [
        {"name": p.name, "kind": p.kind, "required": p.required, "help": p.help, **({} if p.required else {"default": p.default})}
        for p in params_of(cls)
    ]
    return {"name": cls.name, "summary": cls.summary, "parameters": parameters}
