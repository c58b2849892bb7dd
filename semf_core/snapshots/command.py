"""Snapshots on the command line: verify | open | export | list, and `run --save`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from semf_core.common.parameters import InvalidInput, params_of
from semf_core.datasets import Dataset, FileSource, source_from_word
from semf_core.exports import EXPORTS
from semf_core.factorization.retrieval import retrieve
from semf_core.runs.files import write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.uploads import Upload, file_again
from semf_core.snapshots.cards import Card
from semf_core.snapshots.content import Content
from semf_core.snapshots.data_source import has_recipe
from semf_core.snapshots.format import SUFFIX, read_file, snapshot_bytes
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.index import SORTS
from semf_core.snapshots.label import Label
from semf_core.snapshots.reproduce import Reproduction, reproduce
from semf_core.snapshots.store import SnapshotStore
from semf_core.snapshots.to_run_folder import to_run_folder

MOST_LISTED = 1000


def add_commands(commands: Any) -> None:
    """The commands that work on snapshot files and on the store."""
    verify = commands.add_parser("verify", help="check a snapshot and run its model again")
    verify.add_argument("file", metavar=f"FILE{SUFFIX}")
    verify.add_argument("--data", metavar="FILE|NAME", help="the data, where the snapshot neither holds nor makes it")
    verify.add_argument("--no-rerun", action="store_true", help="check the file only")
    verify.set_defaults(command=_verify)
    opening = commands.add_parser("open", help="check a snapshot and put it into the dashboard's store")
    opening.add_argument("file", metavar=f"FILE{SUFFIX}")
    opening.add_argument("--publish", action="store_true", help="show it to every visitor of the dashboard")
    opening.set_defaults(command=_open)
    export = commands.add_parser("export", help="make a report, pictures or tables from a snapshot")
    export.add_argument("file", metavar=f"FILE{SUFFIX}")
    for kind in EXPORTS.values():
        export.add_argument(f"--{kind.name}", metavar="OUT", help=kind.title)
    export.set_defaults(command=_export)
    query = commands.add_parser("query", help="where the rows are words: the samples of a snapshot nearest to some words")
    query.add_argument("file", metavar=f"FILE{SUFFIX}")
    query.add_argument("words", nargs="+", metavar="WORD")
    query.add_argument("--data", metavar="FILE|NAME", help="the data, where the snapshot neither holds nor makes it")
    query.set_defaults(command=_query)
    listing = commands.add_parser("list", help="list the snapshots in the dashboard's store")
    listing.add_argument("--search", default="", metavar="WORDS", help="only those with all these words")
    listing.add_argument("--sort", default="newest", choices=list(SORTS), help="order")
    listing.set_defaults(command=_list)
    for parser in (verify, opening, query, listing):
        parser.add_argument("--json", action="store_true", help="print JSON")


def add_saving(run: argparse.ArgumentParser) -> None:
    """What `run` needs to save a snapshot."""
    group = run.add_argument_group("snapshot")
    group.add_argument("--save", metavar=f"FILE{SUFFIX}", help="store the run as a snapshot")
    group.add_argument("--include-data", action="store_true", help="put the data into the snapshot")
    for p in params_of(Label):
        group.add_argument(f"--{p.name}", default=p.default, metavar="TEXT", help=p.help)


def save(path: Path, folder: RunFolder, dataset: Dataset, label: Label, include_data: bool) -> None:
    """Write the snapshot of a recorded run; a file that is there already is replaced only by a whole one."""
    _write(path, snapshot_bytes(from_run(folder, dataset, label, Story(time.time()), include_data)))


def _write(path: Path, data: bytes) -> None:
    write_whole(path, lambda file: file.write(data), durable=True)


def checked_target(options: argparse.Namespace) -> tuple[Path, Label]:
    """Where to save and what to write on it, rejected before the run begins if it cannot be meant."""
    label = Label(**{p.name: getattr(options, p.name) for p in params_of(Label)})
    path = Path(options.save)
    if path.suffix != SUFFIX:
        raise InvalidInput("save", f"{path.name} must end in {SUFFIX}", whole=True)
    if not path.absolute().parent.is_dir():
        raise InvalidInput("save", f"there is no folder {path.parent}", whole=True)
    return path, label


# ---------------------------------------------------------------------------------------------


def _verify(options: argparse.Namespace) -> int:
    content = read_file(Path(options.file))
    print(f"{options.file}: every checksum, shape and name is right.", file=sys.stderr if options.json else sys.stdout)
    if options.no_rerun:
        return 0
    found = _again(content, options.data)
    others = _variants_again(content, options.data)
    if options.json:
        told = {name: one if isinstance(one, str) else _as_json(one) for name, one in others.items()}
        print(json.dumps(_as_json(found) | ({"variants": told} if told else {})))
    else:
        print(found.sentence())
        for name, one in others.items():
            print(f"Variant “{name}”: {one if isinstance(one, str) else one.sentence()}")
    every = (found, *others.values())
    return 0 if all(not isinstance(one, str) and one.reproduced for one in every) else 1


def _again(content: Content, given: str | None) -> Reproduction:
    dataset = _dataset(content, given)
    with tqdm(total=content.iterations, unit="it", disable=not sys.stderr.isatty(), leave=False) as bar:
        return reproduce(content, dataset, lambda run: bar.update(1))


def _variants_again(content: Content, given: str | None) -> dict[str, Reproduction | str]:
    """The other variants by name, each run again; or why one cannot be."""
    found: dict[str, Reproduction | str] = {}
    variants = content.variants
    for k, one in variants.others.items() if variants is not None else ():
        same_data = one.data.fingerprint == content.data.fingerprint
        name = f"{k + 1}: {variants.names[k]}" if variants is not None else ""
        try:
            found[name] = _again(one, given if same_data else None)
        except InvalidInput as error:
            found[name] = f"Not run again: {error}"
    return found


def _as_json(found: Reproduction) -> dict[str, Any]:
    return {**vars(found), "reproduced": found.reproduced, "sentence": found.sentence()}


def _dataset(content: Content, given: str | None) -> Dataset:
    """The data to run on: given by hand, in the file, or made from its recipe. A path in a file is not followed."""
    source = content.spec.dataset
    if given is not None:
        there = source_from_word(given)
        if isinstance(there, FileSource) and isinstance(source, FileSource | Upload):
            return file_again(source, there.path).load()
        return there.load()
    if content.dataset is not None:
        return content.dataset
    if not has_recipe(content.spec):
        raise InvalidInput("data", "is not in the snapshot, so the run cannot be repeated", "name it with --data FILE")
    return source.load()


def _open(options: argparse.Namespace) -> int:
    path = Path(options.file)
    read_file(path)
    store = SnapshotStore()
    try:
        handle = store.add_file(path.name, path.read_bytes())
        card = store.publish(handle.id, True) if options.publish else store.card(handle.id)
    finally:
        store.close()
    if options.json:
        print(json.dumps({"id": handle.id, "key": handle.key, **_row(card)}))
    else:
        print(_described(card), f"  to look     /snapshots?snapshot={handle.id}", sep="\n")
        print(f"  to control  /snapshots?snapshot={handle.id}&key={handle.key}")
    return 0


def _export(options: argparse.Namespace) -> int:
    wanted = {name: getattr(options, name.replace("-", "_")) for name in EXPORTS}
    wanted = {name: out for name, out in wanted.items() if out is not None}
    if not wanted:
        raise InvalidInput("export", f"say what to make: {', '.join(f'--{name} OUT' for name in EXPORTS)}", whole=True)
    content = read_file(Path(options.file))
    dataset = content.dataset
    if dataset is None and has_recipe(content.spec):
        dataset = content.spec.dataset.load()
    with tempfile.TemporaryDirectory(prefix="semf-") as place:
        folder = RunFolder(Path(place))
        to_run_folder(content, folder)
        for name, out in wanted.items():
            made = EXPORTS[name].make(folder, dataset)
            _write(Path(out), made)
            print(f"{out}: {len(made) / 1024:.0f} kB")
    return 0


def _query(options: argparse.Namespace) -> int:
    content = read_file(Path(options.file))
    if content.result is None:
        raise InvalidInput("file", "holds a run without a result", "let it come to its end first")
    factors = content.result.factors["U"], content.result.factors["V"]
    found = retrieve(" ".join(options.words), content.spec, factors, content.axes, lambda: _dataset(content, options.data))
    print(json.dumps([vars(hit) for hit in found.hits]) if options.json else "\n".join(found.lines()))
    return 0


def _list(options: argparse.Namespace) -> int:
    store = SnapshotStore()
    try:
        cards, total = store.cards(None, options.search, options.sort, limit=MOST_LISTED)
    finally:
        store.close()
    if options.json:
        print(json.dumps([_row(card) for card in cards]))
        return 0
    for card in cards:
        print(_described(card))
    if total > len(cards):
        print(f"… and {total - len(cards)} more; narrow them down with --search")
    return 0


def _row(card: Card) -> dict[str, Any]:
    hidden = {"key", "upload", "strip"}
    return {name: value for name, value in card.to_dict().items() if name not in hidden} | {"variants": list(card.variants)}


def _described(card: Card) -> str:
    shown = card.headline
    error = f", relative error {shown['relative_error']:.3g}" if "relative_error" in shown else ""
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(card.created))
    tags = f" [{card.tags}]" if card.tags else ""
    return f"{card.id}  {date}  {card.title}{tags}: {card.data_title}, {shown['iterations']} iterations{error}"
