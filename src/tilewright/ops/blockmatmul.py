from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.block_formats import FORMATS, SMALL, Block
from tilewright.ir.op import Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.records import dataclass

DOMAIN = "tilewright"
"""Of operators that the readers of checkpoints write."""
OF_BYTES, OF_FLOATS = "q8", "f32"
"""What rows are multiplied as."""
MOST, LEAST_RANGE = 127, 1e-30
"""Of a byte; and of the largest element of 32 that are not all taken as zero."""


@dataclass(frozen=True)
class BlockMatMul(Op):
    """Rows X[..., k] times rows of weights in blocks, W[n, bytes], plus a bias.

    With activations of `q8`, 32 neighbours of a row of X are first rounded to whole numbers of -127 to 127 times a
    scale of their own. Weights that are floats are multiplied with floats.
    """

    domains: ClassVar[tuple[str, ...]] = (DOMAIN,)
    operands: ClassVar[tuple[str, ...]] = ("X", "W", "bias?")
    multiplies: ClassVar[bool] = True
    format: str = "Q8_0"
    activations: str = OF_BYTES

    @property
    def block(self) -> Block:
        return FORMATS[self.format]

    @property
    def rounds_rows(self) -> bool:
        return self.activations == OF_BYTES and self.block.elements > 1

    def index(self, shapes: Shapes) -> Index:
        (n,) = loops("n")
        rows = axis_loops(len(shapes["X"]) - 1)
        bias = {"bias": (n,)} if "bias" in shapes else {}
        return {"X": (*rows, whole(shapes["X"][-1])), "W": (n, whole(shapes["W"][1])), **bias, "Y": (*rows, n)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["X"][:-1])} | {"n": shapes["W"][0]}

    def macs(self, shapes: Shapes) -> int:
        return math.prod(shapes["X"]) * shapes["W"][0]

    def check(self, types: Mapping[str, TensorType]) -> None:
        x, w = types["X"], types["W"]
        check_format(self.format)
        if self.activations not in (OF_BYTES, OF_FLOATS):
            raise Refusal(f"activations are '{self.activations}'", f"use {OF_BYTES} or {OF_FLOATS}")
        if x.dtype != "float32" or w.dtype != "uint8" or not x.shape or len(w.shape) != 2:
            raise Refusal(f"X is {x} and W {w}; floats and rows of bytes are expected")
        inner, block = x.shape[-1], self.block
        if inner % block.elements or w.shape[1] != block.bytes_of(inner):
            raise Refusal(f"rows of W have {w.shape[1]} bytes, which are not {inner} elements in {self.format}")
        if "bias" in types and types["bias"] != TensorType("float32", w.shape[:1]):
            raise Refusal(f"the bias is {types['bias']} for {w.shape[0]} rows of weights")

    def numpy(self, X: Array, W: Array, bias: Array | None = None) -> Array:
        rows = rounded(X) if self.rounds_rows else X
        made = rows @ self.block.values(W).T
        return np.asarray(made if bias is None else made + bias, np.float32)


def check_format(name: str) -> None:
    if name not in FORMATS:
        raise Refusal(f"the format '{name}' is unknown", f"known: {', '.join(FORMATS)}")


def quantised(x: Array) -> tuple[Array, Array]:
    """Whole numbers as floats [..., blocks, 32], and the scale of each block."""
    blocks = x.reshape(*x.shape[:-1], -1, SMALL)
    most = np.abs(blocks).max(-1)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = np.where(most > LEAST_RANGE, np.float32(MOST) / most, np.float32(0)).astype(np.float32)
    scale = np.where(most > LEAST_RANGE, most * np.float32(1 / MOST), np.float32(0)).astype(np.float32)
    return np.rint(blocks * inverse[..., None]), scale


def rounded(x: Array) -> Array:
    """What is left of rows that are quantised."""
    whole_numbers, scale = quantised(x)
    return np.asarray((whole_numbers * scale[..., None]).reshape(x.shape), np.float32)
