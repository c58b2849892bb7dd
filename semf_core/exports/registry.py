"""Every kind of export by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semf_core.common.extras import optional
from semf_core.datasets import Dataset
from semf_core.exports import animation, h5ad, tables
from semf_core.exports.story import from_run
from semf_core.model.references import bibliography
from semf_core.runs.folder import RunFolder

Make = Callable[[RunFolder, Dataset | None], bytes]
FIGURES = {
    "residuals": "Residuals",
    "penalties": "Penalties",
    "gaps": "Feasibility gaps",
    "basis": "Basis",
    "coefficients": "Coefficients",
}
PICTURE_TYPES = {"png": "image/png", "svg": "image/svg+xml"}
NEED_SPLITTING = frozenset({"penalties", "gaps"})


@dataclass(frozen=True)
class Export:
    """One kind of file. `suffix` is the end of its name: a file is called `<title of the run><suffix>`."""

    name: str
    title: str
    suffix: str
    media_type: str
    make: Make


def available(splits: bool) -> dict[str, Export]:
    """The exports that make sense for a run.

    Parameters
    ----------
    splits : bool
        Whether its algorithm splits variables (`run.solver.splits`); one that does not has neither penalties nor gaps.

    Returns
    -------
    dict of str to Export
        `make(folder, dataset)` of each gives the bytes of the file.

    Examples
    --------
    >>> from semf_core.exports import available
    >>> sorted(set(available(True)) - set(available(False)))
    ['gaps-png', 'gaps-svg', 'penalties-png', 'penalties-svg']
    """
    return {name: e for name, e in EXPORTS.items() if splits or name.partition("-")[0] not in NEED_SPLITTING}


def _bibtex(folder: RunFolder, dataset: Dataset | None) -> bytes:
    return bibliography(from_run(folder, dataset).spec).encode()


def _html(folder: RunFolder, dataset: Dataset | None) -> bytes:
    with optional():
        from semf_core.exports import report

    return report.html(folder, dataset)


def _figure(name: str, form: str) -> Make:
    def make(folder: RunFolder, dataset: Dataset | None) -> bytes:
        with optional():
            from semf_core.exports.figures import draw  # matplotlib takes most of a second to import

        return draw(from_run(folder, dataset), name, form)

    return make


def _figures(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """All figures, each as PNG and as SVG."""
    with optional():
        from semf_core.exports.figures import draw, names

    story = from_run(folder, dataset)
    wanted = [(name, form) for name in names(story.splits) for form in PICTURE_TYPES]
    return tables.zipped({f"figure-{name}.{form}": draw(story, name, form) for name, form in wanted})


_ALL = (
    Export("html", "Report (one HTML file)", ".html", "text/html", _html),
    Export("gif", "Animation (GIF)", ".gif", "image/gif", animation.gif),
    Export("webp", "Animation (WebP)", ".webp", "image/webp", animation.webp),
    Export("figures", "All figures (PNG and SVG in a ZIP)", "-figures.zip", "application/zip", _figures),
    *(
        Export(f"{name}-{form}", f"{title} ({form.upper()})", f"-{name}.{form}", PICTURE_TYPES[form], _figure(name, form))
        for name, title in FIGURES.items()
        for form in PICTURE_TYPES
    ),
    Export("csv", "Factors and history (CSV in a ZIP)", "-csv.zip", "application/zip", tables.csv_tables),
    Export("parquet", "Factors (Parquet in a ZIP)", "-parquet.zip", "application/zip", tables.parquet),
    Export("h5ad", "Data and factors (AnnData)", ".h5ad", "application/x-hdf5", h5ad.h5ad),
    Export("top", "Top rows and samples of each component (CSV)", "-top.csv", "text/csv", tables.top_rows),
    Export("npz", "Factors and history (NumPy)", ".npz", "application/octet-stream", tables.npz),
    Export("mat", "Factors and history (MATLAB)", ".mat", "application/octet-stream", tables.mat),
    Export("bibtex", "References (BibTeX)", ".bib", "application/x-bibtex", _bibtex),
)
EXPORTS: dict[str, Export] = {export.name: export for export in _ALL}
