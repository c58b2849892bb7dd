"""Several factorizations of the same data side by side: scores in one table, components in one order, curves in one chart."""

from semf_core.comparison.alignment import Aligned, align
from semf_core.comparison.figure import Montage, Shown, figure_html, figure_image, style_of
from semf_core.comparison.plans import Comparison, comparison, comparison_names
from semf_core.comparison.reading import Reader, Reference
from semf_core.comparison.scores import SCORES, Curve, Score, table_csv

__all__ = [
    "SCORES",
    "Aligned",
    "Comparison",
    "Curve",
    "Montage",
    "Reader",
    "Reference",
    "Score",
    "Shown",
    "align",
    "comparison",
    "comparison_names",
    "figure_html",
    "figure_image",
    "style_of",
    "table_csv",
]
