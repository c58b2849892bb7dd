"""Limits come from the environment, are stricter for the public, and are told in the documentation."""

import dataclasses
from pathlib import Path

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import ServerLimits, server_limits

FIELDS = dataclasses.fields(ServerLimits)[1:]


def test_limits_are_read_at_each_call(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "7")
    assert server_limits().store_mb == 7
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "inf")
    assert server_limits().store_mb == float("inf")
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "many")
    with pytest.raises(InvalidInput, match="SEMF_MAX_STORE_MB"):
        server_limits()


def test_the_public_set_is_never_looser_and_a_variable_goes_before_it(monkeypatch):
    alone = server_limits()
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    public = server_limits()
    assert public.public and not alone.public
    for field in FIELDS:
        assert getattr(public, field.name) <= getattr(alone, field.name), field.name
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "8")
    assert server_limits().store_mb == 8


@pytest.mark.parametrize("field", FIELDS, ids=lambda f: f.name)
def test_every_limit_is_told_in_the_documentation(field):
    page = (Path(__file__).parent.parent / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert f"`{field.metadata['name']}`" in page
