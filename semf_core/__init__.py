"""SeMF: matrix factorization with structure enforced on the factors."""

from semf_core.api import factorize
from semf_core.parameters import InvalidInput
from semf_core.problem import ScaleAmbiguityWarning
from semf_core.result import Certificate, Result
from semf_core.solvers import ADMM, Limits, Run

__version__ = "0.1.0"
__all__ = ["ADMM", "Certificate", "InvalidInput", "Limits", "Result", "Run", "ScaleAmbiguityWarning", "factorize"]
