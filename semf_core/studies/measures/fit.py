"""How well UV fits the data, shown or hidden."""

from __future__ import annotations

import numpy as np

from semf_core.mathematics import metrics
from semf_core.studies.measures.base import MEASURES, Measure, Outcome


@MEASURES.register
class RelativeError(Measure):
    """‖M − UV‖ / ‖M‖ over the entries that were shown."""

    name, title, better = "relative_error", "Relative error", "low"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return metrics.relative_error(outcome.norm, outcome.run.best_uv)


@MEASURES.register
class Snr(Measure):
    """20 log₁₀ ‖M‖ / ‖M − UV‖ of the feasible factors (SeMF §4.3)."""

    name, title, unit, better = "snr_db", "SNR of UV", "dB", "high"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.snr_db(outcome.norm, outcome.run.best_uv)


@MEASURES.register
class SnrFree(Measure):
    """20 log₁₀ ‖M‖ / ‖M − XY‖ of the last iteration: the figures of SeMF's Table 1, whose factors need not be feasible."""

    name, title, unit, better = "snr_xy_db", "SNR of XY", "dB", "high"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.snr_db(outcome.norm, outcome.run.history.last("residual_xy"))


@MEASURES.register
class Rmse(Measure):
    """‖M − UV‖ / √(mn) (SeMF §4.1)."""

    name, title, better = "rmse", "RMSE of UV", "low"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return metrics.rmse(outcome.run.best_uv, outcome.entries)


@MEASURES.register
class RmseFree(Measure):
    """‖M − XY‖ / √(mn) of the last iteration: the quantity of SeMF §4.1, whose factors need not be feasible."""

    name, title, better = "rmse_xy", "RMSE of XY", "low"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return metrics.rmse(outcome.run.history.last("residual_xy"), outcome.entries)


@MEASURES.register
class Residual(Measure):
    """‖M − UV‖, in the units of the data."""

    name, title, better = "residual", "Error ‖M − UV‖", "low"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.best_uv


@MEASURES.register
class SquaredError(Measure):
    """‖M − UV‖², what Table 3 of the reverse-convex paper is said to hold."""

    name, title, better = "squared_error", "Squared error", "low"
    orders = True

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.best_uv**2


@MEASURES.register
class SampleError(Measure):
    """‖M − UV‖² / n, the mean squared error of a sample (CSMF, Table 7)."""

    name, title, better = "sample_error", "Squared error of a sample", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.best_uv**2 / outcome.data.dataset.shape[1]


@MEASURES.register
class HeldOutError(Measure):
    """‖M − UV‖ / ‖M‖ over the entries that were hidden from the run."""

    name, title, better = "held_out_error", "Held-out error", "low"

    def value(self, outcome: Outcome) -> float | None:
        hidden, values = outcome.data.hidden, outcome.data.values
        if hidden is None or values is None:
            return None
        rows, columns = np.divmod(hidden, outcome.data.dataset.shape[1])
        fitted = np.empty(len(hidden))
        for i in range(0, len(hidden), 100_000):
            part = slice(i, i + 100_000)
            fitted[part] = np.einsum("ij,ji->i", outcome.U[rows[part]], outcome.V[:, columns[part]])
        return metrics.relative_error(float(np.linalg.norm(values)), float(np.linalg.norm(values - fitted)))


@MEASURES.register
class TrueError(Measure):
    """‖AB − UV‖ / ‖AB‖ against the true parts A and activations B, without the noise."""

    name, title, better = "true_error", "Error against the truth", "low"

    def value(self, outcome: Outcome) -> float | None:
        truth = outcome.data.dataset
        if truth.parts is None or truth.activations is None:
            return None
        clean = truth.parts @ truth.activations
        return metrics.relative_error(float(np.linalg.norm(clean)), metrics.residual(clean, outcome.U, outcome.V))
