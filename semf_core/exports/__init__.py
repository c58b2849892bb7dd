"""A run as something to hand on: a report, moving and still pictures, tables, BibTeX.

`EXPORTS` holds every kind by name; `make(folder, dataset)` gives the bytes of the file. The data may be
missing (None): what needs it is left out then, and the report says so.
"""

from __future__ import annotations

from semf_core.exports.registry import EXPORTS, Export, available
from semf_core.exports.thumbnail import thumbnail

__all__ = ["EXPORTS", "Export", "available", "thumbnail"]
