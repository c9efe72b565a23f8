"""OR-tools' solver, loaded when it is first needed: importing it takes longer than most problems."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

CLASHING = "tensorflow"
"""A package that shows its C++ libraries to all others, where the solver would take them for its own and crash."""


def load() -> Any:
    """The module `ortools.sat.python.cp_model`."""
    if CLASHING not in sys.modules or not hasattr(os, "RTLD_DEEPBIND"):
        return _module()
    before = sys.getdlopenflags()
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)  # its own libraries first
    try:
        return _module()
    finally:
        sys.setdlopenflags(before)


def _module() -> Any:
    return importlib.import_module("ortools.sat.python.cp_model")
