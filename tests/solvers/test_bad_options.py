"""Bad options, made from the descriptions of the good ones, are rejected with the name of the option."""

from __future__ import annotations

from typing import Any

import pytest

from semf_core.common.parameters import InvalidInput, params_of
from semf_core.solvers import SOLVERS
from tests.sets.test_bad_parameters import bad_values

ALL = [pytest.param(cls, id=cls.name) for cls in SOLVERS]


@pytest.mark.parametrize("cls", ALL)
def test_bad_values_are_refused(cls: Any) -> None:
    for p in params_of(cls):
        for value in bad_values(p):
            with pytest.raises(InvalidInput) as error:
                cls.from_params({p.name: value})
            assert error.value.field == p.name and str(error.value).startswith(f"{p.name}: "), value


@pytest.mark.parametrize("cls", ALL)
def test_every_option_has_a_default_and_a_help_text(cls: Any) -> None:
    for p in params_of(cls):
        assert not p.required and p.help, p.name
    with pytest.raises(InvalidInput, match=r"^colour: is not a parameter"):
        cls.from_params({"colour": "red"})
