"""Models in words: names by difference, titles from data and constraints, proposals and values to try."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import DATASETS, Dataset, Digits, Paatero, Swimmer
from semf_core.datasets.counting_noise import above_counting_noise
from semf_core.datasets.summary import Spectrum, facts, spectrum
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.model.proposals import GAP, SPARSE_COST, WORK, keeps_to, presets_for, propose, ready_models
from semf_core.model.sweeps import numbers_of, sweep, with_value
from semf_core.model.variants import differences, name_by_difference, same_model, title_of, titled, words_of_difference
from semf_core.runs.descriptions import Description
from semf_core.sets import SETS, GroupSparse, Nonnegative, Sparse, in_rounds
from semf_core.solvers import ADMM, DEFAULT, Limits, MultiplicativeNMF

BASE = ModelSpec(Digits(), 16, (Nonnegative(), Sparse(k=16)), (Nonnegative(),), ADMM())
GROUPS = GroupSparse(groups=(tuple(range(8)), tuple(range(8, 16))))


@pytest.mark.parametrize(
    ("after", "name", "words"),
    [
        (replace(BASE, x=(Nonnegative(), Sparse(k=8))), "k = 8", "k 16 → 8"),
        (replace(BASE, y=(Nonnegative(), GROUPS)), "+ k per group on Y", "k per group added on Y"),
        (replace(BASE, x=(Nonnegative(),)), "− k-sparse on X", "k-sparse removed from X"),
        (replace(BASE, x=(Sparse(k=16), Nonnegative())), "other order on X", "order of the constraints on X"),
        (replace(BASE, x=in_rounds(BASE.x, 1)), "X: one after the other", "projections on X at once → one after the other"),
        (replace(BASE, solver=ADMM(alpha0=ADMM().alpha0 / 4)), "α₀ ÷ 4", "α₀ 0.01 → 0.0025"),
        (replace(BASE, rank=8), "rank = 8", "rank 16 → 8"),
        (replace(BASE, seed=7), "seed = 7", "seed 0 → 7"),
        (replace(BASE, limits=Limits(kick=True)), "kick", "kick automatic → on"),
        (replace(BASE, solver=MultiplicativeNMF(), x=(), y=()), "NMF (multiplicative)", f"{ADMM.title} → NMF (multiplicative)"),
        (replace(BASE, dataset=Swimmer(), rank=3), "Swimmer", "Handwritten digits → Swimmer"),
        (replace(BASE, title="Another"), "the same again", ""),
    ],
)
def test_a_variant_is_named_by_what_is_new_in_it(after, name, words):
    assert name_by_difference(BASE, after) == name
    assert words_of_difference(BASE, after) == words
    assert same_model(BASE, after) == (not differences(BASE, after))


def test_what_is_projected_in_rounds_keeps_its_words_and_its_numbers():
    turns = replace(BASE, x=in_rounds(BASE.x, 2))
    assert title_of(turns) == "Handwritten digits, X ≥ 0 with 16 per column (2 rounds), Y ≥ 0"
    sparser = with_value(turns, "x.1.k", 8)
    assert sparser.x == in_rounds((Nonnegative(), Sparse(k=8)), 2) and name_by_difference(turns, sparser) == "k = 8"
    assert [n.path for n in numbers_of(turns)] == [n.path for n in numbers_of(BASE)]


def test_two_sets_of_one_kind_say_which_factor():
    both = replace(BASE, y=(Sparse(k=2),))
    assert name_by_difference(both, replace(both, y=(Sparse(k=3),))) == "k of Y = 3"


@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_every_set_has_words_for_a_title(cls):
    title = title_of(ModelSpec(Digits(), 4, (cls.from_params(dict(cls.example)),)))
    assert title.startswith("Handwritten digits, X ") and "{" not in title and "None" not in title


def test_titles_come_from_data_and_constraints():
    assert title_of(replace(BASE, x=(Nonnegative(), Sparse(k=8)))) == "Handwritten digits, X ≥ 0 with 8 per column, Y ≥ 0"
    assert title_of(ModelSpec(Swimmer(), 3, (Nonnegative(),), (Nonnegative(),))) == "Swimmer, X, Y ≥ 0"
    known = preset("digits-parts")
    assert titled(replace(known, title="Something", watch="old")) == known, "a preset has its own name"
    changed = titled(replace(known, rank=5))
    assert changed.title.startswith("Handwritten digits, X ≥ 0") and not changed.watch


# -- proposals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [c for c in DATASETS if c.built_in], ids=lambda cls: cls.name)
def test_a_proposal_fits_its_data_and_has_nothing_of_another_model(cls):
    source = cls()
    dataset = source.load()
    proposal = propose(source, dataset, facts(dataset), spectrum(dataset.data))
    spec = proposal.spec
    spec.solver.check(spec.problem(dataset))
    assert (spec.x == spec.y == (Nonnegative(),)) == bool(np.nanmin(dataset.data.min()) >= 0)
    assert spec.limits == Limits(max_iter=1000) and spec.solver == DEFAULT() and f"rank {spec.rank}" in proposal.why
    assert spec.rank == {"swimmer": 13, "paatero": 4, "hidden_factors": 2, "dna": 20}.get(cls.name, spec.rank)
    assert all(type(preset(name).dataset) is cls for name in presets_for(source))


@pytest.mark.parametrize("negative", [False, True])
def test_data_without_presets_has_models_to_begin_with(negative):
    dataset = Dataset(np.random.default_rng(0).random((12, 20)) - negative)
    proposed = replace(propose(Digits(), dataset, facts(dataset), spectrum(dataset.data)).spec, rank=9)
    ready = ready_models(proposed, dataset.shape)
    signs = () if negative else (Nonnegative(),)
    assert [(m.x, m.y) for m in ready.values()] == [
        (signs, signs), ((*signs, Sparse(3)), signs), (signs, (*signs, Sparse(2))), (signs, (*signs, Sparse(1)))
    ]  # fmt: skip
    for model in ready.values():
        model.solver.check(model.problem(dataset))
        assert (model.dataset, model.rank, model.limits) == (proposed.dataset, 9, proposed.limits)
    assert len(ready_models(replace(proposed, rank=1), (3, 20))) == 1, "nothing that cannot be"


def test_ones_own_model_can_be_kept_on_other_data():
    kept = keeps_to(BASE, Paatero())
    assert (kept.rank, kept.x, kept.dataset, kept.title) == (16, BASE.x, Paatero(), "")


def test_data_without_any_structure_gets_a_rank_all_the_same():
    flat = Dataset(np.ones((5, 7)))
    assert propose(Digits(), flat, facts(flat), spectrum(flat.data)).spec.rank >= 1
    unknown = Spectrum(np.empty(0), False, 0, "too large")
    assert propose(Digits(), flat, facts(flat), unknown).spec.rank == 5


def test_singular_values_that_sink_into_rounding_are_no_exact_rank():
    sinking = Dataset(np.diag(10.0 ** -np.linspace(0, 8, 60)).astype(np.float32))
    found = spectrum(sinking.data)
    assert found.complete and 30 < found.rank < 60
    assert "above rounding" not in propose(Digits(), sinking, facts(sinking), found).why
    exact = Dataset((np.eye(60)[:, :40] @ np.eye(40, 60)).astype(np.float32))
    assert propose(Digits(), exact, facts(exact), spectrum(exact.data)).spec.rank == 40


@pytest.mark.parametrize("twice", [0, 2], ids=["all differ", "two rows are there twice"])
def test_noise_of_counts_is_not_taken_for_components(twice):
    counts = np.random.default_rng(2).poisson(1.0, (38, 60)).astype(float)
    noise = Dataset(np.vstack([counts, counts[:twice]]))
    proposal = propose(Digits(), noise, facts(noise), spectrum(noise.data))
    assert "nothing stands out of the noise that counting makes" in proposal.why and proposal.spec.rank <= 10


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize("shape", [(80, 120), (150, 60)])
def test_what_stands_out_of_counting_noise_is_proposed(form, shape):
    rng = np.random.default_rng(8)
    weak = rng.gamma(0.5, 1, (shape[0], 3)) @ rng.gamma(0.5, 1, (3, shape[1]))
    counts = Dataset(form(rng.poisson(0.5 * weak / weak.mean()).astype(float)))
    found = spectrum(counts.data)
    proposal = propose(Digits(), counts, facts(counts), found)
    assert proposal.spec.rank == 3 and "noise that counting makes" in proposal.why
    without = replace(found, above_noise=0, noise_level=0.0)
    assert propose(Digits(), counts, facts(counts), without).spec.rank > 20
    kept = Description("", facts(counts), found)
    assert Description.from_dict(kept.to_dict()).spectrum.above_noise == 3


def test_a_gap_is_surer_than_noise_that_is_more_than_that_of_counting():
    flat = Dataset(np.ones((40, 40)))
    values = np.r_[9.0, 8, 7, np.linspace(2, 1, 37)]
    for level, rank in ((1.0, 6), (1.5, 3)):
        found = Spectrum(values, True, 40, above_noise=6, noise_level=level)
        assert propose(Digits(), flat, facts(flat), found).spec.rank == rank
    values = np.linspace(2, 1, 40)
    found = Spectrum(values, True, 40, above_noise=6, noise_level=1.5)
    assert propose(Digits(), flat, facts(flat), found).spec.rank == 6


@pytest.mark.parametrize("shape", [(80, 120), (40, 200)])
def test_what_is_no_table_of_counts_has_no_counting_noise(shape):
    rng = np.random.default_rng(0)
    smooth = np.rint(200 * np.exp(-(np.subtract.outer(np.linspace(0, 4, shape[0]), np.linspace(0, 4, shape[1])) ** 2)))
    counts = rng.poisson(3.0, shape).astype(float)
    for other in (smooth, counts + 0.5, counts - 1, np.zeros(shape), counts[:15]):
        assert above_counting_noise(other) == (0, 0.0)
    assert above_counting_noise(counts)[1] == pytest.approx(1, abs=0.1)


def test_large_sparse_data_get_few_components_and_iterations_and_it_is_said():
    counts = sparse.csc_array(np.ones((1500, 1600)))
    large = Dataset(counts)
    leading = Spectrum(np.linspace(2.0, 1.0, 30), False, 30, "")
    proposal = propose(Digits(), large, facts(large), leading)
    assert proposal.spec.rank == 10 and "show no gap" in proposal.why
    assert proposal.spec.limits.max_iter == int(WORK / (SPARSE_COST * counts.nnz * 10)) < 1000
    assert f"ends after {proposal.spec.limits.max_iter} iterations" in proposal.why


# -- several values ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", preset_names())
def test_every_number_of_every_preset_has_values_to_try(name):
    spec = preset(name)
    if name == "patch-dictionary":
        pytest.skip("its data takes a while to make, and the others have all of its kinds of numbers")
    dataset = spec.dataset.load()
    for number in numbers_of(spec)[:4]:
        if number.path == "rank" or number.p.kind == "integers":  # groups may leave no choice
            with suppress(InvalidInput):
                sweep(spec, number, dataset)
            continue
        models = sweep(spec, number, dataset)
        values = [value for value, _ in models]
        assert 1 <= len(values) <= 6 and values == sorted(set(values)) and number.value not in values
        assert all(len(differences(spec, model)) == 1 for _, model in models)


def test_a_number_that_has_no_other_value_is_rejected_in_words():
    spec = ModelSpec(Digits(), 3, (Sparse(k=1),))
    number = numbers_of(spec)[0]
    with pytest.raises(InvalidInput, match="no other value"):
        sweep(replace(spec, x=(Sparse(k=1),)), replace(number, value=10**9), Dataset(np.ones((1, 9))))
    assert with_value(spec, "x.0.k", 4).x == (Sparse(k=4),)


def test_missing_entries_do_not_lower_the_singular_values():
    M = np.outer(np.arange(1.0, 9.0), np.ones(12))
    holes = M.copy()
    holes[::2, ::3] = np.nan
    found = spectrum(holes)
    assert found.values[0] == pytest.approx(np.linalg.norm(M)) and found.values[1] < 1e-9 * found.values[0]
    assert not found.complete and "not known" in found.note


@pytest.mark.parametrize("shape", [(40, 30), (25, 90)])
def test_missing_entries_have_no_say_in_singular_values_rank_and_range(shape):
    rng = np.random.default_rng(0)
    M = rng.random((shape[0], 3)) @ rng.random((3, shape[1]))
    holes = M.copy()
    holes[rng.random(shape) < 0.15] = np.nan
    found, dataset = spectrum(holes), Dataset(holes)
    np.testing.assert_allclose(found.values[:3], np.linalg.svd(M, compute_uv=False)[:3], rtol=1e-3)
    proposal = propose(Digits(), dataset, facts(dataset), found)
    rounded = np.round(holes, 4)
    assert propose(Digits(), dataset, facts(dataset), spectrum(rounded)).spec.rank == 3, "digits that a file leaves out are noise"
    assert proposal.spec.rank == 3 and "after number 3" in proposal.why and "e+" not in proposal.why
    assert found.describe().startswith(f"The {found.rank} leading") and "e-" not in found.describe()
    assert (facts(dataset).low, facts(dataset).high) == (np.nanmin(holes), np.nanmax(holes))


def test_the_last_singular_values_of_counts_are_no_gap():
    rng = np.random.default_rng(2)
    counts = Dataset(rng.poisson(5 * rng.random((30, 4)) @ rng.random((4, 40))).astype(float))
    sigma = spectrum(counts.data).values
    assert sigma[-2] > GAP * sigma[-1]
    assert "after number" not in propose(Digits(), counts, facts(counts), spectrum(counts.data)).why
