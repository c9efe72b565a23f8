"""One ONNX node as plain data: what an operator sees when it is imported. Does not import onnx."""

from __future__ import annotations

from dataclasses import MISSING, field
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.records import dataclass


@dataclass(frozen=True)
class OnnxNode:
    kind: str
    domain: str
    name: str
    opset: int
    attributes: dict[str, Any]
    inputs: tuple[str, ...]
    """Names; an absent optional input is the empty string."""
    outputs: tuple[str, ...]
    types: tuple[TensorType | None, ...]
    constants: tuple[Array | None, ...]
    """For each input its value where it is known at compile time."""
    integers: bool = False
    """The node works on integers of the QuantLab-style dialect: sums and products are taken in int32."""
    unread: frozenset[str] = frozenset()
    """Outputs that nothing reads."""
    declared: tuple[Shape | None, ...] = ()
    """For each output the shape that the file declares, where it is made of numbers alone."""
    used: set[str] = field(default_factory=set)

    def attribute(self, name: str, default: Any = MISSING) -> Any:
        """An attribute (lists as tuples), or the default; without a default it is required."""
        self.used.add(name)
        if name not in self.attributes:
            if default is MISSING:
                raise Refusal(f"attribute '{name}' is missing")
            return default
        value = self.attributes[name]
        return _like(default, tuple(value) if isinstance(value, list) else value, name)

    def ignore(self, *names: str) -> None:
        """Attributes that have no bearing on the result."""
        self.used.update(names)

    def unused_attributes(self) -> list[str]:
        return sorted(set(self.attributes) - self.used - {"description"})

    def has(self, position: int) -> bool:
        return position < len(self.inputs) and self.inputs[position] != ""

    def must_give(self, position: int) -> bool:
        """Whether somebody reads that output."""
        return position < len(self.outputs) and self.outputs[position] not in {"", *self.unread}

    def type(self, position: int) -> TensorType:
        kind = self.types[position] if self.has(position) else None
        if kind is None:
            raise Refusal(f"input {position} is missing")
        return kind

    def rank(self, position: int = 0) -> int:
        return len(self.type(position).shape)

    def axis(self, value: int, rank: int) -> int:
        """A possibly negative axis as a position."""
        if not isinstance(value, int):
            raise Refusal(f"axis {value} is not a whole number")
        if not -rank <= value < rank:
            raise Refusal(f"axis {value} is outside a tensor of rank {rank}")
        return value % rank

    def constant(self, position: int, meaning: str) -> Array | None:
        """The value of an input that must be known at compile time; None where it is absent."""
        if not self.has(position):
            return None
        value = self.constants[position]
        if value is None:
            raise Refusal(
                f"{meaning} (input '{self.inputs[position]}') is computed at run time",
                "make it a constant: export the model with static shapes, or fold constants before",
            )
        return value

    def integers_at(self, position: int, meaning: str) -> tuple[int, ...] | None:
        """A constant input as a tuple of Python integers."""
        value = self.constant(position, meaning)
        return None if value is None else tuple(int(v) for v in value.reshape(-1))

    def integers_given(self, position: int, name: str) -> tuple[int, ...] | None:
        """Integers that some opsets pass as an input and others as an attribute; one integer may stand for a list."""
        found = self.integers_at(position, name)
        if found is not None:
            self.ignore(name)
            return found
        return self.integer_list(name)

    def integer_list(self, name: str) -> tuple[int, ...] | None:
        """An attribute that is a list of integers; one integer may stand for a list, and so may a tensor."""
        value = self.attribute(name, None)
        if isinstance(value, np.ndarray):
            value = tuple(value.reshape(-1).tolist())
        values = value if isinstance(value, tuple) or value is None else (value,)
        if values is not None and not all(isinstance(item, int) for item in values):
            raise Refusal(f"attribute '{name}' is {value!r}, but integers are expected")
        return values

    def scalar_at(self, position: int, meaning: str) -> float | None:
        value = self.constant(position, meaning)
        if value is None:
            return None
        if value.size != 1:
            raise Refusal(f"{meaning} has {value.size} elements, one expected")
        return value.reshape(-1)[0].item()


def _like(default: Any, value: Any, name: str) -> Any:
    """An attribute of the same kind as its default: a file may hold anything under its name."""
    if isinstance(value, np.ndarray) and isinstance(default, tuple):
        value = tuple(value.reshape(-1).tolist())
    if isinstance(value, np.ndarray) and isinstance(default, int | float) and value.size == 1:
        value = value.item()
    for kind in (str, tuple, (int, float)):
        if isinstance(default, kind) and not isinstance(value, kind):
            raise Refusal(f"attribute '{name}' is {value!r}, but {type(default).__name__} is expected")
    return float(value) if isinstance(default, float) else value
