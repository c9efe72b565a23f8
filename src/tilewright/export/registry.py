"""Where rules are: one function per operator, found by the operator's name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias

from tilewright.export.writer import NodeWriter
from tilewright.ir.op import Op

Rule: TypeAlias = "Callable[[NodeWriter, Any], None]"
"""(what writes, the operator): writes the nodes that the operator stands for, or refuses."""

RULES: dict[str, Rule] = {}


def rule(*kinds: type[Op] | str) -> Callable[[Rule], Rule]:
    """Make a function the rule of these operators."""

    def register(found: Rule) -> Rule:
        RULES.update((kind if isinstance(kind, str) else kind.__name__, found) for kind in kinds)
        return found

    return register


def attributes_of(op: Op) -> dict[str, Any]:
    """An operator's fields as ONNX's attributes of the same names."""
    values = {field.name: getattr(op, field.name) for field in dataclasses.fields(op)}
    return {name: int(value) if isinstance(value, bool) else value for name, value in values.items()}
