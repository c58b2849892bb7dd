"""Many runs as one thing: a base model, what varies, what is measured, how it is drawn."""

from semf_core.studies.axes import Axis, axis_from_dict
from semf_core.studies.best_start import Picked
from semf_core.studies.catalogue import all_studies, builtin_names, builtin_sized, builtin_study
from semf_core.studies.histories import Histories
from semf_core.studies.measures import MEASURES, Measure
from semf_core.studies.runner import run_study
from semf_core.studies.store import Finished, Progress, StudyStore
from semf_core.studies.study import Cell, Claim, Study
from semf_core.studies.tables import ResultTable
from semf_core.studies.trials import DataChanges, Trial
from semf_core.studies.views import VIEWS, View

__all__ = [
    "MEASURES",
    "VIEWS",
    "Axis",
    "Cell",
    "Claim",
    "DataChanges",
    "Finished",
    "Histories",
    "Measure",
    "Picked",
    "Progress",
    "ResultTable",
    "Study",
    "StudyStore",
    "Trial",
    "View",
    "all_studies",
    "axis_from_dict",
    "builtin_names",
    "builtin_sized",
    "builtin_study",
    "run_study",
]
