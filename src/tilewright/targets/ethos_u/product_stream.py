"""Streams of products of two computed tensors: convolutions of one tap whose weights lie in the arena, where the core
has written them. Vela refuses such layers; its interface for single operations does not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tilewright.ir.types import Array
from tilewright.ops._ethosu import ARENA, WEIGHTS
from tilewright.records import dataclass
from tilewright.targets.ethos_u.single_operations import Block, driver_payload, fastest_block, vela_api

Places = tuple[tuple[int, int], ...]
"""Where bytes begin, and how many there are."""


@dataclass(frozen=True)
class Map:
    """Rows of bytes in the arena: one for each pixel."""

    at: int
    stride: int
    """Bytes from row to row."""
    dtype: str
    zero: int


@dataclass(frozen=True)
class Matrices:
    """One product: the inputs of a row and its results."""

    x: Map
    y: Map
    rows: int
    inputs: int
    results: int
    weights: Places
    """In the arena, of each core of the NPU."""
    scales: Places
    """The same among constants."""


@cache
def best_block(npu: str, one: Matrices) -> Block:
    """Of the blocks in which the product can be computed, the fastest."""
    api = vela_api()
    return fastest_block(api, npu, lambda: _operation(api, one))


def payload(npu: str, products: Sequence[Matrices], block: Block) -> Array:
    """Words of all of them, behind those for Arm's driver."""
    api = vela_api()
    return driver_payload(api, npu, [(_operation(api, one), block) for one in products])


def records(mul: Array, shift: int, cores: int) -> tuple[bytes, Places]:
    """Biases of 0 and scales of channels, and where each core's are."""
    made, places = b"", []
    for core in range(cores):
        own = b"".join(bytes(5) + int(one).to_bytes(4, "little") + bytes([shift]) for one in mul[core::cores])
        own += bytes(-len(own) % 16)
        places.append((len(made), len(own)))
        made += own
    return made, tuple(places)


def _operation(api: Any, one: Matrices) -> Any:
    made = api.NpuConv2DOperation()
    made.ifm, made.ofm = _map(api, one.x, one.rows, one.inputs), _map(api, one.y, one.rows, one.results)
    made.kernel, made.padding = api.NpuKernel(1, 1), api.NpuPadding(0, 0, 0, 0)
    made.weights = [api.NpuAddressRange(ARENA, *place) for place in one.weights]
    made.biases = [api.NpuAddressRange(WEIGHTS, *place) for place in one.scales]
    made.block_traversal = api.NpuBlockTraversal.DEPTH_FIRST
    made.rounding_mode = api.NpuRoundingMode.NATURAL
    return made


def _map(api: Any, given: Map, rows: int, channels: int) -> Any:
    made = api.NpuFeatureMap()
    made.data_type = api.NpuDataType[given.dtype.upper()]
    size = made.data_type.size_in_bytes()
    made.region, made.shape = ARENA, api.NpuShape3D(1, rows, channels)
    made.tiles = api.NpuTileBox(1, 0, rows, [given.at, 0, 0, 0])
    made.quantization = api.NpuQuantization(None, given.zero)
    made.strides = api.NpuShape3D(height=given.stride * rows, width=given.stride, depth=size)
    return made
