"""Files to keep, of runs, comparisons, studies and lessons: which there are, and a process beside the server that makes them."""

from semf_core.downloads.file_cache import Downloads
from semf_core.downloads.kinds import Wanted, comparison_file, lesson_file, run_file, study_file

__all__ = ["Downloads", "Wanted", "comparison_file", "lesson_file", "run_file", "study_file"]
