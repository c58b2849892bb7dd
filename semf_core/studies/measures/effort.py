"""What a run took."""

from __future__ import annotations

from semf_core.studies.measures.base import MEASURES, Measure, Outcome


@MEASURES.register
class Iterations(Measure):
    """Iterations of all starts together."""

    name, title, better = "iterations", "Iterations", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.iterations


@MEASURES.register
class Seconds(Measure):
    """Time inside the algorithm."""

    name, title, unit, better = "seconds", "Time", "s", "low"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.seconds


@MEASURES.register
class ProcessorSeconds(Measure):
    """Processor time of the run, which other programs on the machine do not lengthen."""

    name, title, unit, better = "cpu_seconds", "Processor time", "s", "low"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return outcome.cpu_seconds


@MEASURES.register
class Starts(Measure):
    """Starting points that were used."""

    name, title, better = "starts", "Starts", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.start + 1


@MEASURES.register
class Kicks(Measure):
    """Kicks out of a stagnation."""

    name, title, better = "kicks", "Kicks", "low"

    def value(self, outcome: Outcome) -> float | None:
        return sum(event.kind == "kick" for event in outcome.run.events)
