"""Every paper that something refers to is in the BibTeX file, once."""

import re

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import DATASETS
from semf_core.model import preset, preset_names
from semf_core.model.references import _named, bibliography, entries, entry, references_of
from semf_core.sets import SETS
from semf_core.solvers import SOLVERS


@pytest.mark.parametrize("key", entries())
def test_entries_are_whole(key):
    text = entry(key)
    assert re.match(r"@(article|inproceedings|techreport)\{[a-z0-9-]+,\n", text) and text.endswith("\n}")
    assert text.count("{") == text.count("}")
    for field in ("author", "title", "year"):
        assert re.search(rf"^  {field} *= \{{", text, re.MULTILINE)


def test_whatever_is_registered_names_papers_that_exist():
    for registry in (SOLVERS, SETS, DATASETS):
        for cls in registry.everything():
            for key in _named(cls.__new__(cls)):
                assert entry(key), f"{cls.__name__}: {key} is not in semf_core/references.bib"


def test_a_class_may_bring_the_entry_of_its_paper():
    paper = "@article{somebody,\n  author = {Some Body},\n  title = {A Paper},\n  year = {2026}\n}"
    assert entry(paper) == paper


@pytest.mark.parametrize("name", preset_names())
def test_presets_cite_their_method(name):
    spec = preset(name)
    assert references_of(spec)[: len(_named(spec.solver))] == _named(spec.solver) != ()
    assert bibliography(spec).count("@") == len(references_of(spec))


def test_an_unknown_key_is_refused():
    with pytest.raises(InvalidInput):
        entry("nobody2099")
