"""Some of the mutated files of the benchmark: none breaks its reader, and the readers take some of them."""

from benchmarks.mutated_files import MOST_MB, run


def test_mutated_files_break_nothing():
    tally = run(120, seed=7_000_000)
    assert tally.broken == []
    assert tally.most_mb[0] < MOST_MB
    assert tally.outcomes["value"] > 10 and tally.outcomes["rejected"] > 60
