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

WEIGHTS, ARENA, FAST = 0, 1, 2
"""Regions of a stream: what the base pointers of these numbers lead to."""
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
        if len(others) != len(self.inputs_at) or len({kind.dtype for kind in others}) > 1:
            raise Refusal(f"{len(others)} inputs of {len({kind.dtype for kind in others})} types are not supported")

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
        arena = _unwritten(self.arena)
        for at, x in zip(self.inputs_at, X, strict=True):
            row = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
            arena.bytes[at : at + row.size], _marks(arena)[at : at + row.size] = row, 1
        fast = _unwritten(self.fast) if self.fast else arena
        constants = Region(np.ascontiguousarray(weights), is_constant=True)
        _machine(self.npu).run(stream[self.first :].view(np.uint32), {WEIGHTS: constants, ARENA: arena, FAST: fast})
        parts = [arena.bytes[at : at + size] for at, size in zip(self.results_at, self.results_bytes, strict=True)]
        return np.concatenate(parts).view(self.dtype).reshape(self.shape)


def _unwritten(size: int) -> Region:
    return Region(np.zeros(size, np.uint8), np.zeros(size, np.uint8))


def _marks(region: Region) -> Array:
    return present(region.written, "the arena of a stream", "has no marks of what was written")


@cache
def _machine(npu: str) -> Machine:
    return Machine(npu, most_work=MOST_WORK)
