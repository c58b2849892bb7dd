"""SeMF as printed: Algorithm 1 with penalties that start at a multiple of ‖M‖ and are adapted by Algorithm 2."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.solvers.base import SOLVERS, Array, Problem, Solver, State
from semf_core.solvers.splitting import Splitting
from semf_core.solvers.starts import Start


@SOLVERS.register
class ADMM(Splitting):
    """α = α₀‖M‖ and β = β₀‖M‖ at the start, as in the paper; so the result depends on the units of M."""

    name: ClassVar[str] = "semf"
    title: ClassVar[str] = "SeMF as printed"
    summary: ClassVar[str] = "the paper's own scheme: penalties in the units of the data, with its settings to be chosen"

    penalty: str = param(
        "choice",
        "adaptive",
        choices=("adaptive", "fixed", "scale"),
        help="Algorithm 2, constant penalties, or following the factors' scale",
    )
    alpha0: float = param("number", 0.01, low=0, open_low=True, symbol=r"\alpha_0", help="starting α as a multiple of ‖M‖")
    beta0: float = param("number", 0.01, low=0, open_low=True, symbol=r"\beta_0", help="starting β as a multiple of ‖M‖")
    epsilon: float = param(
        "number",
        5e-4,
        low=0,
        high=1,
        open_low=True,
        open_high=True,
        symbol=r"\varepsilon",
        help="smaller relative changes are a stall to Algorithm 2 (conditions 10 to 13)",
    )
    scale: float = param("number", 0.3, low=0, open_low=True, symbol="c", help="scale rule: α = c·tr(YYᵀ)/p, β = c·tr(XᵀX)/p")
    start: str = param(
        "choice", "uniform", choices=("uniform", "normal", "svd"), help="the first Y: random, or from the SVD of M"
    )
    kick_size: float = param("number", 0.3, low=0, open_low=True, help="noise of a kick, as a multiple of the largest entry of V")
    kick_penalty: str = param(
        "choice", "start", choices=("start", "keep"), help="penalties after a kick: the starting ones, or those reached by then"
    )

    @property
    def first(self) -> Start:
        return Start(self.start, scaled=False)

    @property
    def kick_noise(self) -> float:
        return self.kick_size

    @property
    def adapts(self) -> bool:
        return self.penalty == "adaptive"

    def _reset_penalties(self, problem: Problem, state: State) -> None:
        if "alpha" in state.numbers and self.kick_penalty == "keep":
            return
        norm = problem.matrix.norm or 1.0
        state.numbers.update(alpha=self.alpha0 * norm, beta=self.beta0 * norm)

    def _follow(self, numbers: dict[str, float], penalty: str, gram: Array) -> None:
        """The scale rule: c·tr(gram)/p."""
        if self.penalty == "scale":
            numbers[penalty] = self.scale * max(float(gram.trace()) / len(gram), np.finfo(gram.dtype).tiny)

    def _epsilon(self, problem: Problem, state: State) -> float:
        return self.epsilon

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """Penalties whose starting value was changed start again from it; Algorithm 2 averages from here on."""
        norm = problem.matrix.norm or 1.0
        for option, number in (("alpha0", "alpha"), ("beta0", "beta")):
            if getattr(self, option) != getattr(before, option):
                state.numbers[number] = getattr(self, option) * norm
        return self._averaging_afresh(state)
