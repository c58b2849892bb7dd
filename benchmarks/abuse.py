"""One visitor who does a server harm, in a loop, as far as it lets him: the abuser of the soak.

    python -m benchmarks.abuse URL SECONDS OUT.json

Only a server on this computer is asked, and only for the time given. Every step is one of the ways in which a single
visitor once took the server down; what counts is that the others do not notice.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image
from websockets.exceptions import InvalidStatus

from benchmarks.browsing import endless
from benchmarks.course import ENDLESS, start_run
from benchmarks.visiting import Visitor, arrive
from semf_core.exports.registry import FIGURES, PICTURE_TYPES
from semf_core.runs.folder import RunFolder
from semf_core.snapshots.archive import canonical_json, packed, unpacked
from semf_core.snapshots.format import snapshot_bytes
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record as record_run

STEP_SECONDS = 180
KNOCK_SECONDS = 1.0
AT_ONCE, STARTS = 5, 12
"""Pages that start runs at a time, and how many each starts in a round."""
DOWNLOADS = 60
STORED = 4
"""Files of 20 MB that are stored in a round, and copies of a snapshot."""
Step = Callable[[Visitor], Awaitable[str]]


# -- files -------------------------------------------------------------------------------------


@cache
def pictures() -> bytes:
    """A small ZIP of 49 large black pictures."""
    picture = io.BytesIO()
    Image.new("L", (2000, 2000)).save(picture, "PNG")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(49):
            archive.writestr(f"{number}.png", picture.getvalue())
    return file.getvalue()


@cache
def matrix_of_nothing() -> bytes:
    """A small NPZ that unpacks to more than a gigabyte."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (12_500, 12_500)})
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("m.npy", "w", force_zip64=True) as member:
        member.write(head.getvalue())
        for _ in range(125):
            member.write(bytes(10_000_000))
    return file.getvalue()


def noise(seed: int) -> bytes:
    """An honest file of 20 MB."""
    file = io.BytesIO()
    np.save(file, np.random.default_rng(seed).random((1000, 2500)))
    return file.getvalue()


@cache
def snapshots() -> tuple[bytes, bytes]:
    """A snapshot, and one that declares 10⁸ rows of which its frames hold only a few."""
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        dataset = record_run(endless(40), folder).dataset
        honest = snapshot_bytes(from_run(folder, dataset, Label("Mine"), Story(1.7e9)))
    members = {n: d for n, d in unpacked("s", io.BytesIO(honest), 1 << 30).items() if not n.startswith(("result", "checkpoint"))}
    about = json.loads(members["about.json"])
    about["data"] |= {"shape": [100_000_000, about["data"]["shape"][1]], "image_shape": None}
    return honest, packed(members | {"about.json": canonical_json(about | {"state": "paused"})})


# -- steps -------------------------------------------------------------------------------------


async def upload(visitor: Visitor, name: str, data: bytes) -> str:
    await visitor.open("data")
    await visitor.choose("data.way", 1)
    status = await visitor.send_file("data.files", name, data)
    return f"{status} {_said(visitor)}"


async def bombs(visitor: Visitor) -> str:
    """1. Files that are small on their way and large in memory."""
    said = [await upload(visitor, "pictures.zip", pictures()), await upload(visitor, "nothing.npz", matrix_of_nothing())]
    said += [await upload(visitor, "commas.csv", b"," * 95_000_000), await upload(visitor, "na.csv", b"NA," * 19_000_000)]
    return " / ".join(said)


async def tall_snapshot(visitor: Visitor) -> str:
    """2. A snapshot that is small on disk and large to look at."""
    await visitor.open("snapshots")
    status = await visitor.send_file("A .semf file", "tall.semf", snapshots()[1])
    return f"{status} {_said(visitor)}"


async def heavy_model(visitor: Visitor) -> str:
    """3. A model whose factors alone would take gigabytes."""
    data = {"name": "sparse_codes", "rows": 4000, "atoms": 4000, "samples": 5000, "nonzeros": 3}
    model = {"dataset": data, "rank": 3900, "limits": {"max_iter": 1000}}
    await visitor.open("workbench")
    await visitor.write("text_area", "semf_paste", json.dumps(model))
    await visitor.press("paste.use")
    return _said(visitor)


async def downloads(visitor: Visitor) -> str:
    """4. Sixty figures at once."""
    run_id = await start_run(visitor, 400)
    kinds = [f"{name}-{form}" for name in FIGURES for form in PICTURE_TYPES]
    ways = [f"/studio/download/{run_id}/{kinds[n % len(kinds)]}?{n}" for n in range(DOWNLOADS)]
    answers = await asyncio.gather(*(visitor.http.get(way) for way in ways), return_exceptions=True)
    return str(dict(Counter(a.status_code if isinstance(a, httpx.Response) else type(a).__name__ for a in answers)))


async def studies(visitor: Visitor) -> str:
    """5. Studies that take minutes to be checked, and many of them."""
    base = {"preset": "swimmer-groups"}
    seeds = {"name": "seed", "path": "seed", "range": [0, 20_000]}
    masks = {"name": "mask", "path": "data.held_out", "values": [0.01 * n for n in range(1, 21)]}
    sizes = {f"size {n}": {"axes": {"seed": {"range": [0, 100_000]}}} for n in range(300)}
    forms: list[dict[str, Any]] = [{"base": base, "axes": [seeds, masks], "measures": ["relative_error"]}]
    forms.append({"base": base, "axes": [seeds], "measures": ["relative_error"], "sizes": sizes})
    forms += [{"base": base, "axes": [{**seeds, "range": [n, n + 500]}], "measures": ["relative_error"]} for n in range(6)]
    said = []
    for form in forms:
        await visitor.open("studies")
        if visitor.has("button", "All studies"):  # the one before was taken, and is open
            await visitor.press("All studies")
        await visitor.choose("studies-part", 1)
        await visitor.write("text_area", "study-json", json.dumps(form))
        await visitor.press("study-json-start")
        said.append(_said(visitor))
    return " / ".join(said)


async def many_runs(visitor: Visitor) -> str:
    """6. Endless runs from several pages, one after the other."""
    outcomes: Counter[str] = Counter()

    async def flood(page: Visitor) -> None:
        for _ in range(STARTS):
            try:
                await start_run(page, ENDLESS)
                outcomes["started"] += 1
            except (RuntimeError, LookupError):
                outcomes["rejected"] += 1
        await page.leave()

    await asyncio.gather(*(flood(visitor.again()) for _ in range(AT_ONCE)))
    return str(dict(outcomes))


async def fill_the_store(visitor: Visitor) -> str:
    """7. Data and copies of snapshots, until there is no more room."""
    said: Counter[str] = Counter()
    for seed in range(STORED):
        await upload(visitor, f"noise-{seed}.npy", noise(seed + int(time.time())))
        await visitor.press("data.use")
        said[_said(visitor)[:80]] += 1
    await visitor.open("snapshots")
    await visitor.send_file("A .semf file", "honest.semf", snapshots()[0])
    for _ in range(STORED):
        await visitor.press("snapshot-copy")
    return str(dict(said))


async def many_pages(visitor: Visitor) -> str:
    """As many open pages as one gets."""
    pages = [visitor.again() for _ in range(60)]
    outcomes = await asyncio.gather(*(page.open("") for page in pages), return_exceptions=True)
    await asyncio.gather(*(page.leave() for page in pages))
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if len(failures) == len(pages):
        raise failures[0]
    return f"{len(pages) - len(failures)} of {len(pages)} opened"


STEPS: tuple[Step, ...] = (
    bombs, tall_snapshot, heavy_model, downloads, studies, many_runs, fill_the_store, many_pages,
)  # fmt: skip


def _said(visitor: Visitor) -> str:
    """What the page says to it."""
    return "; ".join(visitor.complaints() + visitor.warnings())[:160] or "taken"


async def abuse(url: str, seconds: float) -> dict[str, Any]:
    """Round after round; what came of each step the last time, and how often it was done."""
    done: Counter[str] = Counter()
    said: dict[str, str] = {}
    until = time.monotonic() + seconds
    for file in (pictures, matrix_of_nothing, snapshots):
        file()  # before anybody waits for this process
    async with arrive(url) as visitor:  # one visitor, with one cookie, in all rounds
        while time.monotonic() < until:
            for step in STEPS:
                try:
                    async with asyncio.timeout(min(STEP_SECONDS, max(1.0, until - time.monotonic()))):
                        said[step.__name__] = await step(visitor)
                        done[step.__name__] += 1
                except InvalidStatus:  # too many pages of this visitor are open, or were a moment ago
                    done["not let in"] += 1
                    await visitor.leave()
                    await asyncio.sleep(KNOCK_SECONDS)
                except Exception as problem:
                    said[step.__name__] = f"{problem!r}"[:300]
                    await visitor.leave()
                if time.monotonic() > until:
                    break
    return {"done": done, "said": said}


def main(url: str, seconds: str, out: str) -> None:
    if httpx.URL(url).host not in {"127.0.0.1", "localhost", "::1"}:
        raise SystemExit("only a server on this computer is abused")
    Path(out).write_text(json.dumps(asyncio.run(abuse(url, float(seconds)))), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
