"""The result of a run on disk: factors, certificate and scores, read back as the object a run in Python gives."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from semf_core.datasets import Dataset
from semf_core.factorization.ending import Ending
from semf_core.factorization.result import Certificate, Result, Violation, make_result
from semf_core.factorization.scores import truth_scores
from semf_core.mathematics.precision import single
from semf_core.model import ModelSpec
from semf_core.runs.files import read_json, reading, write_json, write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import FactorFrame, check_viewable, stored_shape
from semf_core.solvers import History, Run

NUMBERS = ("iterations", "seconds", "stop_reason", "residual_xy", "residual_uv", "norm", "starts")


def write_outcome(folder: RunFolder, run: Run, spec: ModelSpec, dataset: Dataset, state: str) -> Result:
    """Factors first: result.json is the mark that all of it is there."""
    result = make_result(run)
    factors = {"U": result.U, "V": result.V, "X": result.X, "Y": result.Y}
    write_whole(folder.result_factors, lambda file: np.savez(file, **factors), durable=True)  # type: ignore[arg-type]
    write_json(
        folder.result,
        {
            "state": state,
            **{name: getattr(result, name) for name in NUMBERS},
            **result.ending.to_dict(),
            **certificate_values(result.certificate),
            "truth": truth_scores(dataset, result.U, result.V, spec.y_set),
        },
        durable=True,
    )
    return result


def certificate_values(certificate: Certificate) -> dict[str, Any]:
    """A certificate as JSON types."""
    return {
        "violations": [asdict(v) for v in certificate.violations],
        "nonzeros_u": certificate.nonzeros_u.tolist(),
        "nonzeros_v": certificate.nonzeros_v.tolist(),
        "gap_x": certificate.gap_x,
        "gap_y": certificate.gap_y,
    }


def read_outcome(folder: RunFolder) -> Result:
    """The result; FileNotFoundError if there is none."""
    with reading(folder.result_factors):
        return _read_outcome(folder)


def _read_outcome(folder: RunFolder) -> Result:
    stored = read_json(folder.result)
    with np.load(folder.result_factors, allow_pickle=False) as file:
        factors = {name: file[name] for name in ("U", "V", "X", "Y")}
    certificate = Certificate(
        tuple(Violation(**v) for v in stored["violations"]),
        np.array(stored["nonzeros_u"]),
        np.array(stored["nonzeros_v"]),
        stored["gap_x"],
        stored["gap_y"],
    )
    recorded = folder.history()
    return Result(
        **factors,
        **{name: stored[name] for name in NUMBERS},
        history=History.stored(recorded.iterations, recorded.values),
        events=tuple(folder.events()),
        certificate=certificate,
        ending=Ending.from_dict(stored),
    )


def read_ending(folder: RunFolder) -> Ending:
    """How the run ended, without its factors; FileNotFoundError if it has not."""
    with reading(folder.result):
        return Ending.from_dict(read_json(folder.result))


def outcome_state(folder: RunFolder) -> str | None:
    """ "finished" or "stopped" if the result is there."""
    try:
        with reading(folder.result):
            return {"finished": "finished", "stopped": "stopped"}[read_json(folder.result)["state"]]
    except FileNotFoundError:
        return None


def final_frame(folder: RunFolder) -> FactorFrame:
    """The factors of the result, as a frame of the last iteration."""
    with reading(folder.result_factors):
        iterations = int(read_json(folder.result)["iterations"])
        (m, rank), (_, n) = (stored_shape(folder.result_factors, name) for name in "UV")
        check_viewable((m, n), rank)
        with np.load(folder.result_factors, allow_pickle=False) as file:
            U, V, X, Y = (single(file[name]) for name in ("U", "V", "X", "Y"))
        return FactorFrame(iterations, U, V, X, Y)


def remove_outcome(folder: RunFolder) -> None:
    """The run goes on: what it had come to is no longer its result."""
    folder.result.unlink(missing_ok=True)
    folder.result_factors.unlink(missing_ok=True)
