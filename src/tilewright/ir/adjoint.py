"""What a rule for gradients is given: an operator's operands and results, and the gradients by its results."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.errors import Refusal
from tilewright.ir.types import Shapes
from tilewright.ir.value import Value
from tilewright.records import dataclass

Gradients = Mapping[str, Value]
"""The gradient by each operand, in its shape or in one that it was broadcast to; what is left out is zero."""


@dataclass(frozen=True)
class Adjoint:
    operands: Mapping[str, Value]
    results: Mapping[str, Value]
    by: Mapping[str, Value]
    """The gradient by each result, where the loss depends on it."""
    wanted: frozenset[str]
    """The operands whose gradients are asked for."""

    def __getitem__(self, name: str) -> Value:
        return self.operands[name]

    def __contains__(self, name: str) -> bool:
        return name in self.operands

    def wants(self, name: str) -> bool:
        return name in self.wanted

    @property
    def y(self) -> Value:
        """The first result."""
        return next(iter(self.results.values()))

    @property
    def gradient(self) -> Value:
        """By the only result that may be differentiated."""
        first = next(iter(self.results))
        if set(self.by) != {first}:
            raise Refusal(f"there are gradients by its first result only, not by {', '.join(self.by.keys() - {first})}")
        return self.by[first]

    @property
    def shapes(self) -> Shapes:
        """Of the operands."""
        return {name: value.shape for name, value in self.operands.items()}
