"""What is measured on a finished run. A measure is a class, its registration and one formula."""

from semf_core.studies.measures import effort, fit, labels, recovery, structure
from semf_core.studies.measures.base import (
    MEASURES,
    Measure,
    Outcome,
    measure_form,
    measure_from_form,
    measured,
    measures_from_form,
)

__all__ = [
    "MEASURES",
    "Measure",
    "Outcome",
    "effort",
    "fit",
    "labels",
    "measure_form",
    "measure_from_form",
    "measured",
    "measures_from_form",
    "recovery",
    "structure",
]
