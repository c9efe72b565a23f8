from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import axis_loops, loops, whole
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Index, Op
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.add import Add
from tilewright.records import dataclass

WIDTHS = (2, 4, 8)
"""Bits of a weight; whole numbers of them fill a byte."""


@dataclass(frozen=True)
class MatMulNBits(Op):
    """A[..., k] times weights of few bits: (b - zero) * scale, with a scale and a zero for each block of a column.

    B[n, block, byte] holds the weights of each column, the first in the lowest bits. Without zeros, half the range is.
    """

    operands: ClassVar[tuple[str, ...]] = ("A", "B", "scales", "zeros?")
    inner: int = 0
    bits: int = 4
    block: int = 32

    def index(self, shapes: Shapes) -> Index:
        (n,) = loops("n")
        rows = axis_loops(len(shapes["A"]) - 1)
        _, blocks, length = shapes["B"]
        tables = {name: (n, whole(blocks)) for name in ("scales", "zeros") if name in shapes}
        weights = (n, whole(blocks), whole(length))
        return {"A": (*rows, whole(self.inner)), "B": weights, **tables, "Y": (*rows, n)}

    def extents(self, shapes: Shapes) -> dict[str, int]:
        return {f"d{axis}": size for axis, size in enumerate(shapes["A"][:-1])} | {"n": shapes["B"][0]}

    def macs(self, shapes: Shapes) -> int:
        return math.prod(self.extents(shapes).values()) * self.inner

    def check(self, types: Mapping[str, TensorType]) -> None:
        a, b = types["A"], types["B"]
        if self.bits not in WIDTHS or self.block < 8 // self.bits or self.block * self.bits % 8:
            raise Refusal(f"{self.bits} bits in blocks of {self.block}", f"bits are one of {WIDTHS}")
        if a.dtype != "float32" or b.dtype != "uint8" or not a.shape or a.shape[-1] != self.inner:
            raise Refusal(f"A is {a}, B {b}, with {self.inner} weights a column")
        blocks = -(-self.inner // self.block)
        if len(b.shape) != 3 or b.shape[1:] != (blocks, self.block * self.bits // 8):
            raise Refusal(f"B has shape {b.shape} for {blocks} blocks of {self.block} weights of {self.bits} bits")
        for name, dtype in (("scales", "float32"), ("zeros", "uint8")):
            if name in types and types[name] != TensorType(dtype, b.shape[:2]):
                raise Refusal(f"{name} are {types[name]} for B {b}")

    def numpy(self, A: Array, B: Array, scales: Array, zeros: Array | None = None) -> Array:
        columns = (self._codes(B, zeros) * scales[..., None]).reshape(B.shape[0], -1)[:, : self.inner]
        return np.asarray(A @ columns.T, np.float32)

    def _codes(self, B: Array, zeros: Array | None) -> Array:
        """Weights before they are scaled: columns, blocks, and what these have."""
        centre = np.float32(2 ** (self.bits - 1)) if zeros is None else zeros[..., None].astype(np.float32)
        found: Array = unpacked(B, self.bits).astype(np.float32) - centre
        return found

    def gradients(self, at: Adjoint) -> Gradients:
        """By the rows, which meet the weights as floats, and by the scales."""
        g, a, scales, packed = at.gradient, at["A"], at["scales"], at["B"].known
        zeros = at["zeros"].known if "zeros" in at else None
        if packed is None or ("zeros" in at and zeros is None):
            raise Refusal("weights of few bits that are computed have no gradient")
        codes = self._codes(packed, zeros)
        columns, blocks, block = codes.shape
        rows = math.prod(a.shape[:-1])
        found = {}
        if at.wants("A"):
            scaled = g.constant(codes) * scales.reshape((columns, blocks, 1))
            weights = scaled.reshape((columns, blocks * block)).part(1, 0, self.inner)
            found["A"] = g.reshape((rows, columns)).times_matrix(weights).reshape(a.shape)
        if at.wants("scales"):
            met = g.reshape((rows, columns)).times_matrix(a.reshape((rows, self.inner)), trans_a=True)
            whole = met.pad([(0, 0), (0, blocks * block - self.inner)]).reshape(codes.shape)
            found["scales"] = (whole * g.constant(codes)).sum([-1]).reshape(scales.shape)
        return found

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        node.ignore("accuracy_level", "weight_prepacked")
        inner, columns = node.attribute("K"), node.attribute("N")
        op = cls(inner, node.attribute("bits", 4), node.attribute("block_size"))
        if node.has(4):
            raise Refusal("g_idx (an order of weights) is not supported", "export without it")
        blocks = -(-inner // max(op.block, 1))
        weights, scales = node.constant(1, "the weights"), node.inputs[2]
        if weights is None or weights.size * 8 != columns * blocks * op.block * op.bits:
            raise Refusal(f"the weights do not hold {columns} columns of {blocks} blocks")
        tables = [emit.constant(_constant(node, 2, (columns, blocks)), scales)]
        if node.has(3):
            tables.append(emit.constant(_zeros(node, columns, blocks, op.bits), node.inputs[3]))
        packed = emit.constant(weights.reshape(columns, blocks, -1), node.inputs[1])
        operands = [node.inputs[0], packed, *tables]
        if not node.has(5):
            return emit(op, operands, node.outputs)
        (y,) = emit(op, operands)
        return emit(Add(), [y, node.inputs[5]], node.outputs)


def unpacked(packed: Array, bits: int) -> Array:
    """The numbers in bytes, the first in the lowest bits."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (packed[..., None] >> shifts) & np.uint8(2**bits - 1)
    return parts.reshape(*packed.shape[:-1], -1)


def _constant(node: OnnxNode, position: int, shape: tuple[int, int]) -> Array:
    value = node.constant(position, "a table of the weights")
    if value is None or value.size != math.prod(shape):
        raise Refusal(f"input {position} does not have {shape[0]} x {shape[1]} elements")
    return value.reshape(shape)


def _zeros(node: OnnxNode, columns: int, blocks: int, bits: int) -> Array:
    """Zero points, a byte each; in the file they are packed as the weights are."""
    value = node.constant(3, "the zero points")
    if value is None or value.dtype != np.uint8:
        raise Refusal("zero points that are no bytes", "quantise with whole zero points")
    return np.ascontiguousarray(unpacked(value.reshape(columns, -1), bits)[:, :blocks])
