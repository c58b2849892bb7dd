"""What the limited child process does with studies: unpack what their runs have kept, which strangers may have made.

Everything here takes and gives JSON types, because it is called through `semf_core.sandbox`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from semf_core.studies.atlas import atlas_of
from semf_core.studies.store import StudyStore
from semf_core.studies.views import VIEWS


def draw(view: dict[str, Any], study_id: str, home: str) -> dict[str, Any]:
    """What a view shows of the results so far."""
    return VIEWS.build(view).draw(StudyStore.find(study_id, Path(home)).table()).to_dict()


def compare(numbers: Sequence[int], study_id: str, home: str) -> dict[str, Any] | None:
    """The atlas of some cells; None if they have kept no factors."""
    atlas = atlas_of(StudyStore.find(study_id, Path(home)), numbers)
    return None if atlas is None else atlas.to_dict()
