"""Background execution: worker processes, the folders they write, and the queue in front of them."""

from semf_core.runs.uploads import Upload, add_upload

__all__ = ["Upload", "add_upload"]
