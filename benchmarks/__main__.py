"""Every benchmark, one after the other, each in a process of its own: `python -m benchmarks [--quick] [--peers PYTHON]`.

A full run writes its tables into docs/results.md; a quick one, and a benchmark that fails, leave the page as it is.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.common import REPOSITORY, machine, parser
from benchmarks.results import record

NAMES = (
    "iteration",
    "robustness",
    "swimmer",
    "penalties",
    "orl",
    "nmf",
    "sparse_nmf",
    "csmf",
    "reverse_convex",
    "dictionary",
    "memory",
    "distributed",
    "exports",
    "snapshots",
    "studies",
)
RIVALS = ("rivals", "rivals_sparseness")
"""Those that need the packages of others."""
PEERED = frozenset({"dictionary", *RIVALS})
"""Those that can use them."""


def main(argv: list[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--only", nargs="+", choices=(*NAMES, *RIVALS), metavar="NAME", help="only these")
    options.add_argument("--peers", metavar="PYTHON", help="also the rivals; interpreter of an environment with their packages")
    chosen = options.parse_args(argv)
    print("# SeMF Studio: benchmarks", "", f"Machine: {machine()}.", sep="\n", flush=True)
    flags = ["--quick"] if chosen.quick else []
    peers = ["--peers", chosen.peers] if chosen.peers else []
    wanted = chosen.only or (*NAMES, *(RIVALS if peers else ()))
    tasks = [(name, [*flags, *(peers if name in PEERED else [])]) for name in wanted]
    failed, missed = [], 0
    for name, arguments in tasks:
        command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
        done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="", flush=True)
        missed += done.stdout.count("| FAIL |")
        failed += [name] if done.returncode else []
        if not (chosen.quick or done.returncode):
            record(name, done.stdout)
    print(f"\n{missed} targets missed." if missed else "\nAll targets met.")
    if chosen.quick:
        print("Small sizes and few repeats: this shows that everything runs, not how good it is.")
    if failed:
        print(f"These did not run: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
