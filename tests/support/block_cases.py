"""Random weights in blocks, and operators that read them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from tests.support.checks import Case
from tilewright.ir.block_formats import FORMATS
from tilewright.ir.types import Array
from tilewright.ops.blockgather import BlockGather
from tilewright.ops.blockmatmul import OF_BYTES, OF_FLOATS, BlockMatMul


def blocks(random: Generator, name: str, rows: int, inner: int, largest: float = 2.0) -> Array:
    """Any bytes, with scales that are numbers up to the largest."""
    block = FORMATS[name]
    if block.elements == 1:
        floats = random.uniform(-largest, largest, (rows, inner)).astype(np.float32)
        short = (floats.view(np.uint32) >> 16).astype(np.uint16)
        stored = {"F32": floats, "F16": floats.astype(np.float16), "BF16": short}[name]
        return stored.view(np.uint8).reshape(rows, -1)
    raw = random.integers(0, 256, (rows, inner // block.elements, block.bytes), dtype=np.uint8)
    for at in block.scales:
        raw[:, :, at : at + 2] = (
            random.uniform(-largest, largest, (*raw.shape[:2], 1)).astype(np.float16).view(np.uint8)
        )
    return raw.reshape(rows, -1)


def product(random: Generator, name: str, rows: int, inner: int, columns: int, activations: str = OF_BYTES) -> Case:
    x = random.standard_normal((rows, inner)).astype(np.float32)
    bias = random.standard_normal(columns).astype(np.float32) if random.integers(0, 2) else None
    return BlockMatMul(name, activations), [x, blocks(random, name, columns, inner), bias]


def any_product(random: Generator) -> Case:
    name = str(random.choice(list(FORMATS)))
    inner = FORMATS[name].elements * int(random.integers(1, 3)) * (1 if FORMATS[name].elements > 1 else 7)
    activations = str(random.choice([OF_BYTES, OF_FLOATS]))
    return product(random, name, int(random.integers(1, 4)), inner, int(random.integers(1, 6)), activations)


def any_gather(random: Generator) -> Case:
    name, words = str(random.choice(list(FORMATS))), int(random.integers(1, 6))
    shape = tuple(random.integers(1, 4, int(random.integers(0, 3))))
    indices = random.integers(-words, words, shape).astype(str(random.choice(["int32", "int64"])))
    return BlockGather(name), [blocks(random, name, words, 256), indices]


MAKERS: dict[str, Callable[[Generator], Case]] = {"BlockMatMul": any_product, "BlockGather": any_gather}
