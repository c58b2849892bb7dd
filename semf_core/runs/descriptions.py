"""What is worth knowing of a dataset before it is used, worked out once and kept beside its files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.datasets import Dataset
from semf_core.datasets.summary import Facts, Spectrum, facts, spectrum
from semf_core.runs.files import read_json, write_json

FILE = "description.json"


@dataclass(frozen=True, eq=False)
class Description:
    """SHA-256, range and zeros, singular values."""

    fingerprint: str
    facts: Facts
    spectrum: Spectrum

    def to_dict(self) -> dict[str, Any]:
        values = vars(self.spectrum) | {"values": self.spectrum.values.tolist()}
        return {"fingerprint": self.fingerprint, "facts": asdict(self.facts), "spectrum": values}

    @classmethod
    def from_dict(cls, values: Any) -> Description:
        shown = values["spectrum"]
        return cls(values["fingerprint"], Facts(**values["facts"]), Spectrum(**{**shown, "values": np.array(shown["values"])}))


def describe(dataset: Dataset) -> Description:
    """Takes a few seconds at most, and little memory."""
    return Description(dataset.fingerprint(), facts(dataset), spectrum(dataset.data))


def write_description(dataset: Dataset, folder: Path) -> None:
    write_json(folder / FILE, describe(dataset).to_dict())


def read_description(folder: Path) -> Description | None:
    """What was kept; None if nothing was."""
    try:
        return Description.from_dict(read_json(folder / FILE))
    except FileNotFoundError:
        return None
