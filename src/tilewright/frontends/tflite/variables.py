"""Variables of a TensorFlow Lite file: each that is read before it is assigned is a state of the graph."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.errors import Refusal
from tilewright.ir.graph import Builder
from tilewright.ir.types import Array, TensorType, type_of
from tilewright.ops.reshape import Reshape

Key = tuple[str, str]
"""The names by which all subgraphs know a variable: its container's and its own."""


@dataclass
class Variables:
    """What the variables of a model are in one of its subgraphs."""

    builder: Builder
    initial: dict[Key, Array] = field(default_factory=dict)
    """What they hold before the first call; one for all subgraphs."""
    is_first: bool = False
    """Whether the subgraph runs once, before the first call, and says what they hold then."""
    handles: dict[int, Key] = field(default_factory=dict)
    """Tensors of the subgraph that stand for variables."""
    values: dict[Key, str] = field(default_factory=dict)
    """What they hold after the operators so far."""
    states: dict[Key, str] = field(default_factory=dict)
    """Names of the states that have been made of them."""

    def key(self, number: int) -> Key:
        if number not in self.handles:
            raise Refusal("its first input is no handle of a variable", "the file contradicts itself: convert it again")
        return self.handles[number]

    def read(self, number: int) -> str:
        """The tensor that a variable holds now."""
        key = self.key(number)
        if key not in self.values:
            self.values[key] = self._initial(key)
        return self.values[key]

    def _initial(self, key: Key) -> str:
        if key not in self.initial:
            raise Refusal(
                f"variable '{key[1]}' is read, but nothing gives it a first value",
                "convert the model with its initialiser: CALL_ONCE with an ASSIGN_VARIABLE",
            )
        if self.is_first:
            return self.builder.constant(self.initial[key], key[1])
        name = key[1] if key[1] not in self.builder.states else "/".join(key)
        self.states[key] = name
        return self.builder.state(name, self.initial[key])

    def assign(self, number: int, tensor: str) -> None:
        key, kind = self.key(number), self.builder.types[tensor]
        if not self.is_first:
            self.values[key] = self._in_shape_of(key, tensor, kind)
            return
        value = self.builder.constants.get(tensor)
        if value is None:
            raise Refusal(f"the first value of variable '{key[1]}' is not a constant", "initialise it with a constant")
        self.initial[key] = value
        self.values[key] = tensor

    def _in_shape_of(self, key: Key, tensor: str, kind: TensorType) -> str:
        """A variable's bytes have no shape: one that differs only in that is the same."""
        wanted = type_of(self.initial[key]) if key in self.initial else kind
        if (kind.dtype, kind.elements) != (wanted.dtype, wanted.elements):
            raise Refusal(
                f"variable '{key[1]}' begins as {wanted} and becomes {kind}",
                "the file contradicts itself: convert it again",
            )
        return tensor if kind == wanted else self.builder(Reshape(wanted.shape), [tensor])[0]

    def end(self) -> None:
        """What states are when a call ends is what variables hold then."""
        for key, name in self.states.items():
            self.builder.set_next_state(name, self.values[key])
