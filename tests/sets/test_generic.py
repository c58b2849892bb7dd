"""What every set promises, checked on all registered sets and compositions alike."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.exports.mathml import condition
from semf_core.sets import SETS, Custom, GroupSparse, Intersection, StructureSet, members_of, set_from_dict
from tests.described import undescribed
from tests.helpers import of
from tests.sets.cases import EVERY, SHAPE, SINGLE, matrices, name_of, settles, thin_examples

every_set = pytest.mark.parametrize("s", EVERY, ids=name_of)
every_closed = pytest.mark.parametrize("s", [s for s in EVERY if settles(s)], ids=name_of)
SCALES = (1.0, 1e-150, 1e150)


def tolerance(s: StructureSet, A: np.ndarray) -> float:
    """Rounding in the units of A and of the set; what is only iterated to gets the accuracy it is stopped at."""
    loose = 1e-8 if (isinstance(s, Intersection) and "closed form is known" in s.reason) or "Dykstra" in s.reason else 1e-11
    return loose * (1 + float(np.linalg.norm(A)))


@every_closed
def test_membership_idempotence_and_members_stay(s: StructureSet) -> None:
    s.check_shape(SHAPE)
    for A in matrices():
        P = s.project(A)
        assert P.shape == A.shape and np.isfinite(P).all()
        assert s.violation(P) <= tolerance(s, A)
        assert np.linalg.norm(s.project(P) - P) <= tolerance(s, A)


@every_closed
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_looser_set_holds_it(s: StructureSet, share: float) -> None:
    looser = s.looser(SHAPE, share)
    looser.check_shape(SHAPE)
    for A in matrices():
        member = s.project(A)
        assert looser.violation(member) <= tolerance(s, A)


@every_set
def test_its_condition_can_be_typeset(s: StructureSet) -> None:
    for member in members_of(s):
        latex = member.condition("X")
        try:
            condition("X", member)
        except Exception as error:
            pytest.fail(
                f"{latex} is no formula ({type(error).__name__}); x has an index already, so write ({{x}})_i for its entries"
            )


@every_set
def test_input_is_left_alone_and_not_shared(s: StructureSet) -> None:
    for A in (*matrices(1), np.zeros(SHAPE), s.project(matrices(1)[0]), np.asfortranarray(matrices(2)[1])):
        before = A.copy()
        P = s.project(A)
        assert not np.shares_memory(P, A)
        P += 1
        np.testing.assert_array_equal(A, before)


@every_set
def test_single_precision_stays_and_agrees(s: StructureSet) -> None:
    A = matrices(1)[0].astype(np.float32)
    P = s.project(A)
    assert P.dtype == np.float32 and isinstance(s.violation(A), float)
    np.testing.assert_allclose(P, s.project(A.astype(float)), atol=3e-5)


@every_closed
def test_degenerate_matrices(s: StructureSet) -> None:
    """Zeros, ties and single nonzeros, at ordinary, tiny and huge scale, without warnings."""
    lone = np.zeros(SHAPE)
    lone[2, 1] = -1
    kinds = (np.ones(SHAPE), -np.ones(SHAPE), lone, matrices(4)[3])
    for A in (np.zeros(SHAPE), *(A * scale for A in kinds for scale in SCALES)):
        with np.errstate(all="raise", under="ignore"):
            P = s.project(A)
        assert np.isfinite(P).all() and s.violation(P) <= tolerance(s, A)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_one_row_or_one_column(shape: tuple[int, int]) -> None:
    taken = 0
    for s in thin_examples(shape):
        try:
            s.check_shape(shape)
        except InvalidInput as error:
            assert error.field in ("low", "groups", "axis"), s
            continue
        taken += 1
        for A in (np.zeros(shape), np.ones(shape), -np.ones(shape), np.random.default_rng(0).normal(size=shape)):
            assert s.violation(s.project(A)) <= tolerance(s, A), s
    assert taken >= 45


@pytest.mark.parametrize("s", [s for s in EVERY if s.exact], ids=name_of)
def test_no_member_is_nearer(s: StructureSet) -> None:
    """Members far away and around the answer; those around it are what uncovers a wrong claim."""
    rng = np.random.default_rng(1)
    for A in matrices(5):
        P = s.project(A)
        distance = np.linalg.norm(A - P)
        for spread in (0.01, 0.1, 0.5, 2.0):
            for centre in (A, P):
                member = s.project(centre + spread * rng.normal(size=SHAPE))
                assert np.linalg.norm(A - member) >= distance - tolerance(s, A)


@pytest.mark.parametrize("s", [s for s in EVERY if s.convex], ids=name_of)
def test_variational_inequality(s: StructureSet) -> None:
    """For convex sets P is the nearest point if and only if ⟨A − P, Z − P⟩ ≤ 0 for every member Z."""
    rng = np.random.default_rng(2)
    for A in matrices(5):
        P = s.project(A)
        for spread in (0.1, 3.0):
            Z = s.project(P + spread * rng.normal(size=SHAPE))
            assert np.vdot(A - P, Z - P) <= tolerance(s, A) * (1 + np.linalg.norm(A - P))


@every_closed
def test_size_and_polish_sign_are_as_stated(s: StructureSet) -> None:
    """Multiples of a member, and other values of the stated sign on the same support, are members too."""
    P = s.project(matrices(2)[1])
    for factor in {"fixed": (), "ball": (0.5, 0.01), "free": (0.5, 7.0)}[s.size]:
        assert s.violation(factor * P) <= tolerance(s, factor * P)
    if s.polish_sign is not None:
        values = np.random.default_rng(3).normal(size=SHAPE)
        Q = (np.abs(values) if s.polish_sign == "nonnegative" else values) * (P != 0 if s.binds_support else 1)
        assert s.violation(Q) <= 1e-12


@pytest.mark.parametrize("s", [s for s in EVERY if all(m.storable for m in members_of(s))], ids=name_of)
def test_round_trips(s: StructureSet) -> None:
    """Through JSON, through pickle and, for a single set, through a command-line word."""
    A = matrices(1)[0]
    expected = s.project(A)
    again = set_from_dict(json.loads(json.dumps(s.to_dict())))
    assert again == s and hash(again) == hash(s) and again.to_dict() == s.to_dict()
    np.testing.assert_array_equal(again.project(A), expected)
    copied = pickle.loads(pickle.dumps(s))
    assert copied == s
    np.testing.assert_array_equal(copied.project(A), expected)
    if not isinstance(s, Intersection):
        values = {k: v for k, v in s.to_dict().items() if k != "name"}
        word = s.name + ":" + ",".join(f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in values.items())
        assert SETS.parse(word) == s


def test_short_command_line_spelling() -> None:
    assert SETS.parse("sparse:k=3,columns=0-2+5").to_dict() == {"name": "sparse", "k": 3, "columns": [0, 1, 2, 5]}
    assert of(GroupSparse, SETS.parse("group_sparse:groups=0-1|2|3-5,k=1+1+2")).k == (1, 1, 2)


@pytest.mark.parametrize("cls", list(SETS.everything()), ids=lambda cls: cls.name)
def test_description_is_complete(cls: type[StructureSet]) -> None:
    missing = undescribed(cls, StructureSet, "title", "summary", "cost")
    assert not missing, missing


@every_set
def test_formula_is_balanced_and_the_reason_one_line(s: StructureSet) -> None:
    for symbol in ("X", "Y"):
        text = s.latex(symbol)
        assert symbol in text and unbalanced(text) == ""
    assert len(s.reason) > 5 and "\n" not in s.reason


def unbalanced(text: str) -> str:
    """What is wrong with the brackets of a formula; nothing if all of them close in order."""
    closing = {"{": "}", r"\{": r"\}", "left": "right"}
    open_ones: list[str] = []
    for token in re.findall(r"\\left\\?.|\\right\\?.|\\[a-zA-Z]+|\\.|[{}]|\\$", text):
        found = token[1:5] if token.startswith(r"\left") else token[1:6] if token.startswith(r"\right") else token
        if token in ("\\", r"\left", r"\right"):
            return f"nothing follows {token}"
        if found in closing:
            open_ones.append(found)
        elif found in closing.values() and (not open_ones or closing[open_ones.pop()] != found):
            return f"{token} closes nothing"
    return "".join(open_ones)


@pytest.mark.parametrize("text", ["{", r"\left\{ x \right", "}{", r"\{ {x \} }", "x\\"])
def test_the_balance_check_can_fail(text: str) -> None:
    assert unbalanced(text)


@pytest.mark.parametrize("s", SINGLE, ids=name_of)
def test_only_real_matrices_are_taken(s: StructureSet) -> None:
    for wrong in (np.zeros(3), np.zeros((2, 2, 2)), np.array([["a"]]), np.ones((2, 2), complex)):
        with pytest.raises(InvalidInput, match="matrix"):
            s.project(wrong)
    if not isinstance(s, Custom):
        whole = np.arange(24).reshape(SHAPE)
        np.testing.assert_array_equal(s.project(whole), s.project(whole.astype(float)))
