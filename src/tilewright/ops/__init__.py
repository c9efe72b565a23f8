"""One operator per file, found by its name: `find("Conv")` is the class Conv of `conv.py`. There is no registry."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from tilewright.ir.op import Op


@cache
def find(kind: str) -> type[Op] | None:
    """The operator of that name, or None."""
    module = next((name for name in (kind.lower(), f"{kind.lower()}_") if name in _modules()), None)
    if module is None:
        return None
    found = getattr(importlib.import_module(f"{__name__}.{module}"), kind, None)
    return found if isinstance(found, type) and issubclass(found, Op) else None


def names() -> list[str]:
    """The names of all operators."""
    return sorted((operator.__name__ for operator in all_operators()), key=str.lower)


def all_operators() -> list[type[Op]]:
    return [_operator_of(module) for module in sorted(_modules())]


def _operator_of(module: str) -> type[Op]:
    loaded = importlib.import_module(f"{__name__}.{module}")
    wanted = module.rstrip("_")
    return next(
        value
        for name, value in vars(loaded).items()
        if name.lower() == wanted and isinstance(value, type) and issubclass(value, Op)
    )


@cache
def _modules() -> frozenset[str]:
    """File names that are operators; those with a leading underscore are shared bases."""
    return frozenset(info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_"))
