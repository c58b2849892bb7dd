"""Snapshots on the command line: verify | open | export | list, and `run --save`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from semf_core.datasets import Dataset, FileSource, source_from_word
from semf_core.exports import EXPORTS
from semf_core.parameters import InvalidInput, params_of
from semf_core.runs.files import write_whole
from semf_core.runs.folder import RunFolder
from semf_core.snapshots.cards import Card
from semf_core.snapshots.content import Content
from semf_core.snapshots.format import SUFFIX, read_file, snapshot_bytes
from semf_core.snapshots.gathering import Story, gather
from semf_core.snapshots.index import SORTS
from semf_core.snapshots.label import Label
from semf_core.snapshots.laying import lay_out
from semf_core.snapshots.reproduce import Reproduction, reproduce
from semf_core.snapshots.resolving import has_recipe
from semf_core.snapshots.store import SnapshotStore

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
    listing = commands.add_parser("list", help="list the snapshots in the dashboard's store")
    listing.add_argument("--search", default="", metavar="WORDS", help="only those with all these words")
    listing.add_argument("--sort", default="newest", choices=list(SORTS), help="order")
    listing.set_defaults(command=_list)
    for parser in (verify, opening, listing):
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
    _write(path, snapshot_bytes(gather(folder, dataset, label, Story(time.time()), include_data)))


def _write(path: Path, data: bytes) -> None:
    write_whole(path, lambda file: file.write(data), durable=True)


def checked_target(options: argparse.Namespace) -> tuple[Path, Label]:
    """Where to save and what to write on it, refused before the run begins if it cannot be meant."""
    label = Label(**{p.name: getattr(options, p.name) for p in params_of(Label)})
    path = Path(options.save)
    if path.suffix != SUFFIX:
        raise InvalidInput("save", f"{path.name} must end in {SUFFIX}")
    if not path.absolute().parent.is_dir():
        raise InvalidInput("save", f"there is no folder {path.parent}")
    return path, label


# ---------------------------------------------------------------------------------------------


def _verify(options: argparse.Namespace) -> int:
    content = read_file(Path(options.file))
    print(f"{options.file}: every checksum, shape and name is right.", file=sys.stderr if options.json else sys.stdout)
    if options.no_rerun:
        return 0
    dataset = _dataset(content, options.data)
    with tqdm(total=len(content.history), unit="it", disable=not sys.stderr.isatty(), leave=False) as bar:
        found = reproduce(content, dataset, lambda run: bar.update(1))
    print(json.dumps(_as_json(found)) if options.json else found.sentence())
    return 0 if found.reproduced else 1


def _as_json(found: Reproduction) -> dict[str, Any]:
    return {**vars(found), "reproduced": found.reproduced, "sentence": found.sentence()}


def _dataset(content: Content, given: str | None) -> Dataset:
    """The data to run on: given by hand, in the file, or made from its recipe. A path in a file is not followed."""
    source = content.spec.dataset
    if given is not None:
        there = source_from_word(given)
        if isinstance(source, FileSource) and isinstance(there, FileSource):
            return replace(source, path=there.path).load()
        return there.load()
    if content.dataset is not None:
        return content.dataset
    if not has_recipe(content.spec):
        raise InvalidInput("data", "is not in the snapshot, so the run cannot be repeated; name it with --data FILE")
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
        raise InvalidInput("export", f"say what to make: {', '.join(f'--{name} OUT' for name in EXPORTS)}")
    content = read_file(Path(options.file))
    dataset = content.dataset
    if dataset is None and has_recipe(content.spec):
        dataset = content.spec.dataset.load()
    with tempfile.TemporaryDirectory(prefix="semf-") as place:
        folder = RunFolder(Path(place))
        lay_out(content, folder)
        for name, out in wanted.items():
            made = EXPORTS[name].make(folder, dataset)
            _write(Path(out), made)
            print(f"{out}: {len(made) / 1024:.0f} kB")
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
    hidden = {"key", "upload"}
    return {name: value for name, value in card.to_dict().items() if name not in hidden}


def _described(card: Card) -> str:
    shown = card.headline
    error = f", relative error {shown['relative_error']:.3g}" if "relative_error" in shown else ""
    date = time.strftime("%Y-%m-%d %H:%M", time.localtime(card.created))
    tags = f" [{card.tags}]" if card.tags else ""
    return f"{card.id}  {date}  {card.title}{tags}: {card.data_title}, {shown['iterations']} iterations{error}"


