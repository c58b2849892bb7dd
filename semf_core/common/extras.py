"""Packages that only some features need: which extra of the distribution brings each, and what to say where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from semf_core.common.errors import InvalidInput

OPTIONAL: dict[str, tuple[str, str]] = {
    "matplotlib": ("matplotlib", "exports"),
    "plotly": ("plotly", "exports"),
    "jinja2": ("jinja2", "exports"),
    "markupsafe": ("jinja2", "exports"),
    "latex2mathml": ("latex2mathml", "exports"),
    "markdown_it": ("markdown-it-py", "exports"),
    "sklearn": ("scikit-learn", "peers"),
    "clarabel": ("clarabel", "peers"),
    "pywt": ("pywavelets", "peers"),
    "skimage": ("scikit-image", "formats"),
    "h5py": ("h5py", "formats"),
    "pyarrow": ("pyarrow", "formats"),
    "tifffile": ("tifffile", "formats"),
    "numba": ("numba", "fast"),
    "dask": ("dask", "cluster"),
    "distributed": ("distributed", "cluster"),
    "streamlit": ("streamlit", "app"),
    "segno": ("segno", "app"),
}
"""Name of the module → name of the package, and the extra that it belongs to."""


def missing(module: str, field: str = "installation") -> InvalidInput:
    """What to do about an optional module that is not there."""
    package, extra = OPTIONAL[module]
    problem = f"this needs {package}, which is not installed"
    return InvalidInput(field, problem, f'run: pip install "semf-studio[{extra}]"', whole=True)


@contextmanager
def optional() -> Iterator[None]:
    """Around an import of optional packages: one that is missing is named together with its extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in OPTIONAL:
            raise
        raise missing(module) from None
