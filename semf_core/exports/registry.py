"""Every kind of export by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from semf_core.datasets import Dataset
from semf_core.exports import animation, report, tables
from semf_core.exports.story import gather
from semf_core.references import bibliography
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


def available(folder: RunFolder) -> dict[str, Export]:
    """The exports that make sense for a run: an algorithm that does not split has neither penalties nor gaps."""
    splits = gather(folder).splits
    return {name: e for name, e in EXPORTS.items() if splits or name.partition("-")[0] not in NEED_SPLITTING}


def _bibtex(folder: RunFolder, dataset: Dataset | None) -> bytes:
    return bibliography(gather(folder, dataset).spec).encode()


def _figure(name: str, form: str) -> Make:
    def make(folder: RunFolder, dataset: Dataset | None) -> bytes:
        from semf_core.exports.figures import draw  # matplotlib takes most of a second to import

        return draw(gather(folder, dataset), name, form)

    return make


def _figures(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """All figures, each as PNG and as SVG."""
    from semf_core.exports.figures import draw, names

    story = gather(folder, dataset)
    wanted = [(name, form) for name in names(story.splits) for form in PICTURE_TYPES]
    return tables.zipped({f"figure-{name}.{form}": draw(story, name, form) for name, form in wanted})


_ALL = (
    Export("html", "Report (one HTML file)", ".html", "text/html", report.html),
    Export("gif", "Animation (GIF)", ".gif", "image/gif", animation.gif),
    Export("webp", "Animation (WebP)", ".webp", "image/webp", animation.webp),
    Export("figures", "All figures (PNG and SVG in a ZIP)", "-figures.zip", "application/zip", _figures),
    *(
        Export(f"{name}-{form}", f"{title} ({form.upper()})", f"-{name}.{form}", PICTURE_TYPES[form], _figure(name, form))
        for name, title in FIGURES.items()
        for form in PICTURE_TYPES
    ),
    Export("csv", "Factors and history (CSV in a ZIP)", "-csv.zip", "application/zip", tables.csv_tables),
    Export("npz", "Factors and history (NumPy)", ".npz", "application/octet-stream", tables.npz),
    Export("mat", "Factors and history (MATLAB)", ".mat", "application/octet-stream", tables.mat),
    Export("bibtex", "References (BibTeX)", ".bib", "application/x-bibtex", _bibtex),
)
EXPORTS: dict[str, Export] = {export.name: export for export in _ALL}
