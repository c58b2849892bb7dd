"""The command semf, also as python -m semf_core."""

import sys


def main() -> int:
    """Run the command line where it can run."""
    if sys.platform == "win32":  # file locks and worker processes are those of POSIX
        where = "the command line and the dashboard need Linux or macOS; on Windows use WSL 2 or the container"
        print(f"semf: {where}. The library itself works here: from semf_core import factorize", file=sys.stderr)
        return 2
    from semf_core.command_line.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
