"""Streams of products of two computed tensors: convolutions of one tap whose weights lie in the arena, where the core
has written them. Vela refuses such layers; its interface for single operations does not."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.ops._ethosu import ARENA, WEIGHTS
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import find_configuration
from tilewright.sim.ethos_u.timing import stream_cycles
from tilewright.targets.ethos_u.vela import check_installed

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
    """One product: rows of so many inputs, which give so many results."""

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
def best_block(npu: str, one: Matrices) -> tuple[int, int, int]:
    """Height, width and channels of the blocks in which the product is predicted to take the fewest cycles."""
    api, chip = _api(), find_configuration(npu)
    with _quietly():
        found = [tuple(block) for block in api.npu_find_block_configs(_operation(api, one), _accelerator(api, npu))]
        cycles = {block: stream_cycles(_words(api, npu, [one], block), chip) for block in found}
    if not cycles:
        raise Refusal("Vela has no blocks for it")
    best: tuple[int, int, int] = min(cycles, key=lambda block: cycles[block])
    return best


def payload(npu: str, products: Sequence[Matrices], block: tuple[int, int, int]) -> Array:
    """Words of all of them, behind those for Arm's driver."""
    api = _api()
    with _quietly():
        words = _words(api, npu, products, block)
        made = bytes(api.npu_create_driver_payload(words, _accelerator(api, npu)))
    return np.frombuffer(made, "<u4").astype(np.uint32)


def records(mul: Array, shift: int, cores: int) -> tuple[bytes, Places]:
    """Biases of 0 and scales of channels, and where each core's are."""
    made, places = b"", []
    for core in range(cores):
        own = b"".join(bytes(5) + int(one).to_bytes(4, "little") + bytes([shift]) for one in mul[core::cores])
        own += bytes(-len(own) % 16)
        places.append((len(made), len(own)))
        made += own
    return made, tuple(places)


def _words(api: Any, npu: str, products: Sequence[Matrices], block: tuple[int, int, int]) -> list[int]:
    operations = [_operation(api, one) for one in products]
    for one in operations:
        one.block_config = api.NpuShape3D(*block)
    words: list[int] = api.npu_generate_register_command_stream(operations, _accelerator(api, npu))
    return words


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


def _accelerator(api: Any, npu: str) -> Any:
    return api.NpuAccelerator[npu.replace("ethos-u", "Ethos_U").replace("-", "_")]


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Vela says that it takes a default system, which no stream depends on; what it refuses is refused here."""
    errors = importlib.import_module("ethosu.vela.errors")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except errors.VelaError as error:
        raise Refusal(f"Vela does not take it: {error}") from None


def _api() -> Any:
    check_installed()
    return importlib.import_module("ethosu.vela.api")
