"""One folder per target, found by its name: `find("generic")` is TARGET of `generic/target.py`."""

from __future__ import annotations

import importlib
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.target.target import Target


def names() -> list[str]:
    """Folders with a target.py; others hold what several targets share."""
    return sorted(path.parent.name for folder in __path__ for path in Path(folder).glob("*/target.py"))


def find(name: str) -> Target:
    if name not in names():
        raise CompileError(f"target '{name}'", "is unknown", f"known targets: {', '.join(names())}")
    target: Target = importlib.import_module(f"{__name__}.{name}.target").TARGET
    return target


def first_simulated() -> str:
    """The name of a target with a virtual SoC, for those to whom it does not matter which."""
    return next(name for name in names() if find(name).simulated)
