"""Signatures of sets, solvers and data sets: their base class makes them dataclasses, and griffe looks for the decorator."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import griffe

from semf_core.common.parameters import Parametrized


class DataclassSignatures(griffe.Extension):
    """Gives subclasses of `Parametrized` the decorator that they need not write."""

    def on_class_instance(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        found = getattr(importlib.import_module(cls.module.path), cls.name, None) if cls.bases else None
        if isinstance(found, type) and issubclass(found, Parametrized):
            own = [f.kw_only for f in dataclasses.fields(found) if f.name in found.__annotations__]
            keyword = griffe.ExprKeyword("kw_only", str(bool(own) and all(own)))
            decorator = griffe.ExprCall(griffe.ExprName("dataclasses.dataclass"), [keyword])
            cls.decorators.append(griffe.Decorator(decorator, lineno=None, endlineno=None))
