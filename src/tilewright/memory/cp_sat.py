"""OR-tools' solver, loaded when it is first needed: importing it takes longer than most problems."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from types import ModuleType
from typing import Any

MODULE = "ortools.sat.python.cp_model"

CLASHING = "tensorflow"
"""A package that shows its C++ libraries to all others, where the solver would take them for its own and crash."""

TABLES = "pandas"
"""A package that its module imports for tables of variables, of which we have none: two thirds of its start."""


def load() -> Any:
    """The solver's module."""
    if CLASHING not in sys.modules or not hasattr(os, "RTLD_DEEPBIND"):
        return _module()
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)  # its own libraries first
    try:
        return _module()
    finally:
        sys.setdlopenflags(before)


def _module() -> Any:
    is_safe = threading.active_count() == 1  # nobody else can meet what stands in for the package
    if MODULE in sys.modules or TABLES in sys.modules or not is_safe:
        return importlib.import_module(MODULE)
    return _without_tables() or importlib.import_module(MODULE)


def _without_tables() -> Any:
    """The module, to which the package comes when it is first asked for something; None where it wants it at once."""
    sys.modules[TABLES] = _OnlyTypes(TABLES)
    try:
        module = importlib.import_module(MODULE)
    except (AttributeError, ImportError):
        return None
    finally:
        del sys.modules[TABLES]
    for name, value in vars(module).items():
        if isinstance(value, _OnlyTypes):
            setattr(module, name, _Later(TABLES))
            return module
    return module


class _OnlyTypes(ModuleType):
    """Stands in for the package where annotations name its types."""

    class Index: ...

    class Series: ...


class _Later(ModuleType):
    """A package that is imported when somebody asks for something of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)
