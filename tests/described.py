"""What the tests say of a registered class whose description is not complete."""

from __future__ import annotations

from semf_core.common.parameters import params_of

ATTRIBUTES = {
    "title": "what menus call it",
    "summary": "what it is, in a sentence",
    "cost": "the order of the work of a projection, such as O(N log d)",
    "family": "the heading that it stands under in a list of algorithms",
    "enforces": "what U and V satisfy at every iteration, in words",
    "reference": "the key of its paper in semf_core/references.bib, or a BibTeX entry",
    "objective": "a method: what it minimises, as LaTeX",
    "half_steps": "a method: what an iteration does to the factors, one after the other",
}


def undescribed(cls: type, base: type, *names: str) -> str:
    """One sentence that names what is as the base class left it, and what it is for; empty if nothing is."""
    missing = [f"`{name}` ({ATTRIBUTES[name]})" for name in names if getattr(cls, name) is getattr(base, name)]
    missing += [f"`help` of its parameter {p.name}" for p in params_of(cls) if not p.help]
    if not (cls.__doc__ or "").strip() or (cls.__doc__ or "").startswith(f"{cls.__name__}("):
        missing.append("a docstring that states the mathematics")
    return f"{cls.__name__} in {cls.__module__} still needs {', '.join(missing)}" if missing else ""
