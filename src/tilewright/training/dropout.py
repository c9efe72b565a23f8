"""Dropout that a seed decides: a counter and the number of each element, mixed until no pattern is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Node
from tilewright.ir.value import Value
from tilewright.ops.identity import Identity
from tilewright.records import dataclass
from tilewright.training.growing import Growing

COUNTER = "dropout.counter"
GOLDEN, STEP = 0x9E3779B9, 0x85EBCA6B
MIXING = ((16, 0x7FEB352D), (15, 0x846CA68B))
"""Shifts and factors of a mixing function of 32 bits."""


@dataclass(frozen=True)
class Dropout:
    """Drops elements of these tensors, each with its share, and scales the others up."""

    shares: Mapping[str, float]
    seed: int = 0
    _done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for tensor, share in self.shares.items():
            if not 0 <= share < 1:
                raise CompileError(f"dropout of '{tensor}'", f"the share is {share}", "it is 0 to below 1, as 0.5")

    def __call__(self, builder: Builder, node: Node) -> bool:
        wanted = [tensor for tensor in node.outputs if self.shares.get(tensor)]
        if not wanted:
            return False
        (tensor,) = wanted
        before = builder.fresh(f"{tensor}_kept")
        builder.add(node.op, node.inputs, [before if name == tensor else name for name in node.outputs], node.name)
        grow = Growing(builder, f"{node.name}_dropout")
        x, share = grow.value(before), self.shares[tensor]
        keeps = self._random(builder, grow, x) >= float(round(share * 2**32))
        scaled = (x * (1 / (1 - share))).only_where(keeps)
        builder.add(Identity(), [scaled.name], [tensor], node.name)
        return True

    def _random(self, builder: Builder, grow: Growing, x: Value) -> Value:
        """A number of 32 bits for each element, another one in every step."""
        if COUNTER not in builder.states:
            counter = grow.value(builder.state(COUNTER, np.asarray([self.seed % 2**32], np.uint32)))
            builder.set_next_state(COUNTER, (counter + counter.constant([1])).name)
        counter = grow.value(builder.states[COUNTER].before)
        place = len(self._done) * 0x51ED2701
        self._done.append(x.name)
        count = int(np.prod(x.shape))
        numbers = (np.arange(count, dtype=np.uint64) * GOLDEN + place) % 2**32
        mixed = counter.constant(numbers.reshape(x.shape)) + (counter * counter.constant([STEP])).reshape((1,) * x.rank)
        for shift, factor in MIXING:
            mixed = _shifted(mixed, shift) * mixed.constant(np.uint32(factor))
        return _shifted(mixed, 16)


def _shifted(mixed: Value, bits: int) -> Value:
    """x ^ (x >> bits)."""
    right = mixed.apply("BitShift", mixed.constant(np.uint32(bits)), direction="RIGHT")
    return mixed.apply("BitwiseXor", right)
