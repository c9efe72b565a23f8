"""One folder per target, found by its name: `find("generic")` is TARGET of `generic/target.py`."""

from __future__ import annotations

import importlib
import pkgutil

from tilewright.errors import CompileError
from tilewright.target.target import Target


def names() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules(__path__) if info.ispkg)


def find(name: str) -> Target:
    if name not in names():
        raise CompileError(f"target '{name}'", "is unknown", f"known targets: {', '.join(names())}")
    target: Target = importlib.import_module(f"{__name__}.{name}.target").TARGET
    return target
