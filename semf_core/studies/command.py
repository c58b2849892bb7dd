"""The command line of studies: python -m semf_core study NAME|FILE, and studies."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm import tqdm

from semf_core.common.parameters import InvalidInput, Param
from semf_core.datasets import source_from_word
from semf_core.datasets.reading import Limits
from semf_core.runs.files import remove_folder, write_whole
from semf_core.runs.home import MB, default_home
from semf_core.runs.uploads import load_source
from semf_core.snapshots.format import most_file_bytes
from semf_core.studies.best import best_settings
from semf_core.studies.catalogue import all_studies, builtin_names, builtin_study
from semf_core.studies.execution import Executor, make_executor
from semf_core.studies.runner import run_study
from semf_core.studies.store import Progress, StudyStore
from semf_core.studies.study import Study
from semf_core.studies.study_file import SUFFIX, export_study, read_study
from semf_core.studies.views import Drawing

WORKERS = Param("integer", None, low=1, high=1024, optional=True, name="workers", help="processes of this computer")


def add_commands(commands: Any) -> None:
    """Add `study` and `studies` to the parser of the command line."""
    study = commands.add_parser("study", help="run a study: a built-in one or a JSON file")
    study.set_defaults(command=_study)
    study.add_argument("study", metavar="NAME|FILE", help=f"one of {', '.join(builtin_names())}, or a study as JSON")
    study.add_argument("--quick", action="store_true", help="the small size (about two minutes) instead of the paper's")
    study.add_argument("--data", metavar="FILE|NAME", help="other data for the study, e.g. faces of your own")
    study.add_argument("--resume", action="store_true", help="go on after an interruption, and run again what failed")
    study.add_argument("--fresh", action="store_true", help="throw away what was finished before")
    study.add_argument("--workers", help=WORKERS.help + "; by default one for each core")
    study.add_argument("--out", metavar="CSV", help="store one line for each run")
    study.add_argument("--json", action="store_true", help="print one JSON object")
    export = commands.add_parser("study-export", help="write a study with its results into one file")
    export.add_argument("id", metavar="ID", help="as the command studies shows it")
    export.add_argument("file", metavar=f"FILE{SUFFIX}")
    export.set_defaults(command=_export)
    arriving = commands.add_parser("study-import", help="check such a file, keep what is in it and show it")
    arriving.add_argument("file", metavar=f"FILE{SUFFIX}")
    arriving.add_argument("--json", action="store_true", help="print one JSON object")
    arriving.set_defaults(command=_import)
    listing = commands.add_parser("studies", help="list the built-in studies and what has been run")
    listing.add_argument("--json", action="store_true", help="print a JSON list")
    listing.add_argument("--best", action="store_true", help="the settings that worked best so far, for each data set")
    listing.set_defaults(command=_studies)


def _study(options: argparse.Namespace) -> int:
    study = _chosen(options).ready()
    out = Path(options.out) if options.out else None
    if out is not None and not out.parent.is_dir():
        raise InvalidInput("out", f"the folder of {out.name} does not exist", whole=True)
    workers = WORKERS.parse(options.workers) if options.workers else None
    store = _carried_out(study, options, workers)
    if out is not None:
        out.write_text(store.table(study).to_csv(), encoding="utf-8")
    progress = _show(study, store, options.json)
    return 0 if progress.done == progress.total else 1


def _show(study: Study, store: StudyStore, as_json: bool) -> Progress:
    progress, table = store.progress(), store.table(study)
    drawings = [view.draw(table) for view in study.views]
    if as_json:
        print(json.dumps(_as_json(study, store, progress, drawings), ensure_ascii=False))
    else:
        print(_as_text(study, store, progress, drawings))
    return progress


def _export(options: argparse.Namespace) -> int:
    target = Path(options.file)
    if target.suffix != SUFFIX or not target.parent.is_dir():
        raise InvalidInput("file", f"must end in {SUFFIX}, in a folder that exists")
    data = export_study(StudyStore.find(options.id))
    write_whole(target, lambda file: file.write(data), durable=True)
    print(f"{target}: {len(data) / MB:.1f} MB")
    return 0


def _import(options: argparse.Namespace) -> int:
    source = Path(options.file)
    if not source.is_file():
        raise InvalidInput("file", f"there is no file {source}", whole=True)
    Limits(max_bytes=most_file_bytes()).check_bytes(source.name, source.stat().st_size)
    store = read_study(source.read_bytes(), source.name).stored()
    if not options.json:
        print(f"{store.id}:")
    _show(store.study(), store, options.json)
    return 0


def _chosen(options: argparse.Namespace) -> Study:
    size = "quick" if options.quick else "full"
    if options.study in builtin_names():
        study = builtin_study(options.study).sized(size)
    else:
        if not Path(options.study).exists():
            raise InvalidInput(
                "study", f"there is no file {options.study}", f"built in are {', '.join(builtin_names())}", whole=True
            )
        study = _from_file(Path(options.study))
        if study.sizes:
            study = study.sized(size)
        elif options.quick:
            raise InvalidInput("quick", "this study has only one size", whole=True)
    if not options.data:
        return study
    word = str(Path(options.data).resolve()) if Path(options.data).exists() else options.data
    return study.on(source_from_word(word))


def _from_file(path: Path) -> Study:
    try:
        return Study.from_json(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise InvalidInput("study", f"{path.name} is not a text in UTF-8", "a study is a JSON file", whole=True) from None


def _carried_out(study: Study, options: argparse.Namespace, workers: int | None) -> StudyStore:
    """The store with all runs that can be had; what would stop every run is said before anything is created."""
    store = StudyStore.place(study)
    kept = store.has_results() and not options.fresh
    if kept and not _goes_on(store, options):
        return StudyStore.create(study)
    if not kept:
        load_source(study.cell(0).trial.model.dataset, default_home())
    with ExitStack() as opened:
        executor = make_executor(workers)
        opened.callback(executor.close)
        if store.has_results() and options.fresh:
            _throw_away(store)
        store = StudyStore.create(study)
        opened.pop_all()
    store.retry(every=True)
    store.ask("run")
    _run(store, executor)
    return store


def _goes_on(store: StudyStore, options: argparse.Namespace) -> bool:
    """Whether there is something to run; results from before are not continued without being asked for."""
    progress = store.progress()
    asked = options.resume or not progress.done
    if progress.state == "finished":
        return bool(progress.failed) and asked
    if not asked and not store.living():
        done = f"{progress.done} of {progress.total} runs are there from before"
        raise InvalidInput("study", done, "go on with --resume, or throw them away with --fresh", whole=True)
    return True


def _throw_away(store: StudyStore) -> None:
    if store.living() or store.waits():
        raise InvalidInput("fresh", "another process works on this study", "let it finish, or end it", whole=True)
    remove_folder(store.folder, default_home() / "trash")


def _run(store: StudyStore, executor: Executor) -> None:
    before = store.progress()
    done = before.done + before.failed
    with tqdm(total=before.total, initial=done, unit="run", disable=not sys.stderr.isatty(), leave=False) as bar:
        run_study(store, executor, on_progress=lambda recorded: bar.update(recorded) and None)


def _as_json(study: Study, store: StudyStore, progress: Progress, drawings: list[Drawing]) -> dict[str, Any]:
    return {
        "id": store.id,
        "name": study.name,
        "title": study.title,
        "size": study.size,
        "state": progress.state,
        "total": progress.total,
        "done": progress.done,
        "failed": progress.failed,
        "failures": [{"cell": number, "error": error} for number, error in store.failures()],
        "claim": study.claim.to_dict(),
        "views": [{"view": d.view.to_dict(), "title": d.title, "rows": d.rows()} for d in drawings],
    }


def _as_text(study: Study, store: StudyStore, progress: Progress, drawings: list[Drawing]) -> str:
    lines = [f"{study.title} ({_counted(progress)})"]
    if study.claim.text:
        lines.append(f"{study.claim.source}: {study.claim.text}")
    for drawing in drawings:
        lines += ["", f"{drawing.view.name}: {drawing.title}", *_aligned(drawing.rows(drawing.view.most_rows))]
    lines += [f"cell {number}: {error}" for number, error in store.failures(5)]
    if progress.failed:
        lines.append("--resume gives the failed runs another chance")
    return "\n".join(lines)


def _counted(progress: Progress) -> str:
    failed = f", {progress.failed} failed" if progress.failed else ""
    return f"{progress.done} of {_runs(progress.total)}{failed}"


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _aligned(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    cells = [[str(k) for k in rows[0]], *([_short(v) for v in row.values()] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _short(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _studies(options: argparse.Namespace) -> int:
    if options.best:
        rows = [setting.to_dict() for setting in best_settings(all_studies())]
    else:
        rows = [_builtin_row(name) for name in builtin_names()] + [_stored_row(store) for store in all_studies()]
    if options.json:
        print(json.dumps(rows, ensure_ascii=False))
    elif options.best:
        print(
            "\n".join(_aligned([{k: v for k, v in row.items() if k != "spec"} for row in rows]))
            or "no study has results to compare yet"
        )
    else:
        print("\n".join(f"{row['name']:<24}{row['summary']}" for row in rows))
    return 0


def _builtin_row(name: str) -> dict[str, Any]:
    study = builtin_study(name)
    sizes = {size: study.sized(size).count for size in study.sizes}
    counts = ", ".join(f"{size} {_runs(count)}" for size, count in sizes.items())
    return {"name": name, "summary": f"{study.title} ({counts})", "sizes": sizes, "claim": study.claim.to_dict()}


def _stored_row(store: StudyStore) -> dict[str, Any]:
    study, progress = store.study(), store.progress()
    size = f", {study.size}" if study.size else ""
    summary = f"{store.id}: {progress.state}, {_counted(progress)}{size}"
    row = {"name": study.name, "summary": summary, "id": store.id, "state": progress.state}
    return row | {"done": progress.done, "failed": progress.failed}
