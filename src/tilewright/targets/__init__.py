"""One folder per target, found by its name: `find("generic")` is TARGET of `generic/target.py`.

A family of targets that differ in their core shares a folder, and has TARGETS there.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.target.target import Target

FAMILIES = {"cortex_m": ("cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")}
"""Folders, and the names of the targets there."""


def names() -> list[str]:
    """Folders with a target.py, or what lies there; others hold what several targets share."""
    folders = [path.parent.name for folder in __path__ for path in Path(folder).glob("*/target.py")]
    return sorted(name for folder in folders for name in FAMILIES.get(folder, (folder,)))


def find(name: str) -> Target:
    if name not in names():
        raise CompileError(f"target '{name}'", "is unknown", f"known targets: {', '.join(names())}")
    folder = next((folder for folder, members in FAMILIES.items() if name in members), name)
    module = importlib.import_module(f"{__name__}.{folder}.target")
    target: Target = module.TARGETS[name] if folder in FAMILIES else module.TARGET
    return target


def first_simulated() -> str:
    """The name of a target with a virtual SoC, for those to whom it does not matter which."""
    return next(name for name in names() if find(name).simulated and not find(name).emulated)
