"""A graph that grows by the operators that rules for gradients ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright import ops
from tilewright.errors import present
from tilewright.ir.graph import Builder
from tilewright.ir.types import Array, TensorType
from tilewright.ir.value import Value


@dataclass(eq=False)
class Growing:
    """Makes the nodes of one builder, under a name that says what they are for. What has been made is used again."""

    builder: Builder
    node_name: str = ""

    def __post_init__(self) -> None:
        self._made: dict[tuple[Any, ...], tuple[str, ...]] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def make(self, kind: str, inputs: Sequence[str], fields: dict[str, Any]) -> tuple[str, ...]:
        operator = present(ops.find(kind), kind, "is no operator")
        op = operator(**fields)
        key = (op, tuple(inputs))
        if key not in self._made:
            self._made[key] = self.builder.add(op, inputs, name=self.node_name)
        return self._made[key]

    def constant(self, array: Array, hint: str = "constant") -> str:
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.builder.constant(array, hint)
        return self._constants[key]

    def type_of(self, tensor: str) -> TensorType:
        return self.builder.types[tensor]

    def known(self, tensor: str) -> Array | None:
        return self.builder.constants.get(tensor)

    def value(self, tensor: str) -> Value:
        return Value(self, tensor)
