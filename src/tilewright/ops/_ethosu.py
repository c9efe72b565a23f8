from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal, present
from tilewright.ir.affine import whole
from tilewright.ir.op import Index
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops._internal import Internal
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import find_configuration
from tilewright.sim.ethos_u.npu import EthosU as Machine
from tilewright.sim.ethos_u.npu import Region
from tilewright.sim.ethos_u.stream import products_of
from tilewright.sim.ethos_u.timing import stream_cycles

WEIGHTS, ARENA, FAST, BANKS = 0, 1, 2, 3
"""Regions of a stream: what the base pointers of these numbers lead to; behind them, constants of other memories."""
MOST_WORK = 1 << 32


@dataclass(frozen=True)
class EthosU(Internal):
    """Part of a network that an Ethos-U computes: a command stream, its constants, and inputs and results that lie in
    the stream's arena. Several results come one behind the other, as bytes."""

    operands: ClassVar[tuple[str, ...]] = ("stream", "weights", "X*")
    npu: str = "ethos-u55-128"
    arena: int = 0
    """Bytes, with inputs and results."""
    fast: int = 0
    """Bytes of a second arena; 0 where it is the first."""
    inputs_at: tuple[int, ...] = ()
    """Where the arena has the inputs."""
    results_at: tuple[int, ...] = ()
    results_bytes: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    """Of the result."""
    dtype: str = "int8"
    cycles: int = 0
    """Estimated, of the stream: `of_stream` counts them."""
    products: int = 0
    """Of the layers that it stands for."""
    banks: int = 0
    """Of the last operands: constants that do not lie beside the others."""
    first: int = 0
    """The word with which the stream begins; those before it are for Arm's driver."""

    def index(self, shapes: Shapes) -> Index:
        maps = {name: tuple(map(whole, shape)) for name, shape in shapes.items()}
        return {**maps, "Y": tuple(map(whole, self.shape))}

    def check(self, types: Mapping[str, TensorType]) -> None:
        others = [kind for name, kind in types.items() if name not in ("stream", "weights")]
        if types["stream"].dtype != "int32" or types["weights"].dtype != "uint8":
            raise Refusal(
                f"the stream is {types['stream']}, its constants {types['weights']}; words and bytes are expected"
            )
        given, kinds = len(others) - self.banks, {kind.dtype for kind in others}
        if given != len(self.inputs_at) or len(kinds) > 1:
            raise Refusal(f"{given} inputs of {len(kinds)} types are not supported")

    def inputs(self, types: Mapping[str, TensorType]) -> list[TensorType]:
        """Of operands, those that are no constants."""
        others = [kind for name, kind in types.items() if name not in ("stream", "weights", "Y")]
        return others[: len(others) - self.banks]

    def macs(self, shapes: Shapes) -> int:
        return self.products

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        return (self.dtype,)

    def of_stream(self, words: Array) -> EthosU:
        """The same part, with the cycles of its stream, and its products where the layers are not known."""
        stream = words.view(np.uint32)
        cycles = stream_cycles(stream, find_configuration(self.npu))
        return replace(self, cycles=cycles, products=self.products or products_of(stream))

    def numpy(self, stream: Array, weights: Array, *X: Array) -> Array:
        arena, count = _unwritten(self.arena), len(self.inputs_at)
        for at, x in zip(self.inputs_at, X[:count], strict=True):
            row = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
            arena.bytes[at : at + row.size], _marks(arena)[at : at + row.size] = row, 1
        fast = _unwritten(self.fast) if self.fast else arena
        regions = {WEIGHTS: _constant(weights), ARENA: arena, FAST: fast}
        regions |= {BANKS + number: _constant(bank) for number, bank in enumerate(X[count:])}
        _machine(self.npu).run(stream[self.first :].view(np.uint32), regions)
        parts = [arena.bytes[at : at + size] for at, size in zip(self.results_at, self.results_bytes, strict=True)]
        return np.concatenate(parts).view(self.dtype).reshape(self.shape)


def _constant(values: Array) -> Region:
    return Region(np.ascontiguousarray(values).reshape(-1).view(np.uint8), is_constant=True)


def _unwritten(size: int) -> Region:
    return Region(np.zeros(size, np.uint8), np.zeros(size, np.uint8))


def _marks(region: Region) -> Array:
    return present(region.written, "the arena of a stream", "has no marks of what was written")


@cache
def _machine(npu: str) -> Machine:
    return Machine(npu, most_work=MOST_WORK)
