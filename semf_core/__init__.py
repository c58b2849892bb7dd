"""SeMF: matrix factorization with structure enforced on the factors."""

from typing import TYPE_CHECKING, Any

from semf_core.common.errors import InvalidInput
from semf_core.factorization.api import factorize
from semf_core.factorization.problem import ScaleAmbiguityWarning
from semf_core.factorization.result import Certificate, Result
from semf_core.solvers import ADMM, Limits, Run

if TYPE_CHECKING:
    from semf_core.factorization.estimator import SeMF

__version__ = "0.2.0.dev5"
__all__ = ["ADMM", "Certificate", "InvalidInput", "Limits", "Result", "Run", "ScaleAmbiguityWarning", "SeMF", "factorize"]


def __getattr__(name: str) -> Any:
    """SeMF needs scikit-learn, which takes most of a second to import: it comes when it is asked for."""
    if name != "SeMF":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from semf_core.common.extras import optional

    with optional():
        from semf_core.factorization.estimator import SeMF
    return SeMF
