"""Operators to measure kernels for vectors with, as networks have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.requant import full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, Shape, type_of
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.passes.ranges.quantised_range import QuantisedRange
from tilewright.passes.ranges.symmetric_range import SymmetricRange
from tilewright.target.processors import Vectors
from tilewright.targets.cpu import float_offers, followed
from tilewright.targets.cpu.byte_sums import ByteSum
from tilewright.targets.cpu.concat_slices import ConcatSlices
from tilewright.targets.cpu.packed_forms import (
    Block,
    ComputedProduct,
    PackedConvolution,
    PackedForm,
    PackedProduct,
    RequantForm,
)
from tilewright.targets.cpu.packed_offers import offers
from tilewright.targets.cpu.quantised_concat import QuantisedConcat
from tilewright.targets.cpu.scaled_forms import ScaledProduct

Sample = tuple[Op, list[Array | None]]
REQUANT = full_range(40, "int8", -3, Rounding.HALF_EVEN)
"""As quantised ONNX has it."""
AGAIN, MIXED = full_range(22, "int8", 5, Rounding.HALF_EVEN), full_range(21, "int8", -7, Rounding.HALF_EVEN)
FACTOR, HALF, ALMOST = 500_000_001, 2_100_001, 1_900_001
IMAGES = (
    # height, width, channels, filters, kernel, stride
    (32, 32, 3, 16, 3, 1), (96, 96, 3, 16, 3, 2), (32, 32, 16, 16, 3, 1), (16, 16, 32, 32, 3, 1), (8, 8, 64, 64, 3, 1),
    (28, 28, 128, 128, 3, 1), (32, 32, 16, 32, 1, 2), (56, 56, 24, 144, 1, 1), (14, 14, 96, 576, 1, 1),
    (7, 7, 320, 1280, 1, 1), (28, 28, 144, 32, 1, 1), (25, 5, 64, 64, 1, 1),
)  # fmt: skip
SQUARES = ((56, 56, 64, 64, 3, 1), (14, 14, 256, 256, 3, 1), (7, 7, 512, 512, 3, 1))
DEEP = ((56, 56, 144, 3, 1), (112, 112, 32, 3, 1), (28, 28, 192, 3, 2), (14, 14, 576, 3, 1), (25, 5, 64, 3, 1))
"""Height, width, channels, kernel, stride."""
PRODUCTS = (
    (1, 128, 128),
    (1, 640, 128),
    (1, 288, 4096),
    (1, 768, 2048),
    (64, 288, 288),
    (128, 256, 1024),
    (64, 768, 288),
)
COMPUTED = ((6, 1, 48, 257), (6, 1, 257, 48), (4, 128, 32, 128), (4, 128, 128, 32), (6, 64, 48, 64))
"""Batch, rows, length, columns."""
CACHES = ((6, 256, 48), (4, 128, 32), (2, 16, 16))
COUNTS = (64, 2048, 16384, 150528)


def values(dtype: str, *shape: int) -> Array:
    random = np.random.default_rng(sum(shape))
    if dtype == "float32":
        return random.uniform(-2.0, 2.0, shape).astype(np.float32)
    return random.integers(-60, 60, shape).astype(dtype)


def packed_samples(block: Block) -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in IMAGES:
        op = Conv((stride, stride), padding=(kernel // 2,) * 4, requant=REQUANT, channels_last=True)
        x, w = (1, height, width, channels), (filters, kernel, kernel, channels)
        yield from _followed(block, op, x, w, filters)
    for height, width, channels, kernel, stride in DEEP:
        op = Conv(
            (stride, stride), padding=(kernel // 2,) * 4, requant=REQUANT, channels_last=True, groups=channels
        )  # fmt: skip
        yield from _alone(block, *_product(op, (1, height, width, channels), (channels, kernel, kernel, 1), channels))
    for rows, length, wide in PRODUCTS:
        yield from _followed(block, MatMul(requant=REQUANT), (rows, length), (length, wide), wide)


def _followed(block: Block, op: Op, x: Shape, w: Shape, filters: int) -> Iterator[Sample]:
    """Alone, requantised once more, and added to another tensor."""
    yield from _alone(block, *_product(op, x, w, filters))
    for requant, others in ((AGAIN, None), (MIXED, 1)):
        builder, made = _product(op, x, w, filters)
        shape = builder.type_of(made).shape
        if others is None:
            names = [builder.constant(np.full(filters, value, np.int32)) for value in (HALF, 1001)]
            (last,) = builder.add(RequantShift(requant, len(shape) - 1), [made, *names])
        else:
            more = builder.input("r", type_of(np.zeros(shape, np.int8)))
            (last,) = builder.add(QLinearAdd(HALF, ALMOST, 11, requant), [more, made])
        builder.output(last)
        graph = followed.run(block, builder.build())
        yield from (_sample(graph, node) for node in graph.nodes if isinstance(node.op, PackedForm | PackedProduct))


def _product(op: Op, x: Shape, w: Shape, filters: int) -> tuple[Builder, str]:
    builder = Builder("sample")
    operands = [
        builder.constant(np.full(filters, 100, np.int32)), builder.constant(np.full(filters, FACTOR, np.int32))
    ]  # fmt: skip
    given = [builder.input("x", type_of(values("int8", *x))), builder.constant(values("int8", *w)), *operands]
    return builder, builder.add(op, given)[0]


def _alone(block: Block, builder: Builder, made: str) -> Iterator[Sample]:
    builder.output(made)
    graph = builder.build()
    for offer in offers(block, graph, graph.nodes[0]):
        known = {**graph.constants, **offer.constants}
        yield offer.op, [known[name] if name in known else _random(graph, name) for name in offer.inputs]


def _sample(graph: Graph, node: Node) -> Sample:
    return node.op, [graph.constants[name] if name in graph.constants else _random(graph, name) for name in node.inputs]


def _random(graph: Graph, name: str) -> Array | None:
    return values(graph.types[name].dtype, *graph.types[name].shape) if name else None


def scaled_samples(block: Block) -> Iterator[Sample]:
    """Totals that become floats."""
    images = [
        (Conv((stride, stride), padding=(kernel // 2,) * 4, channels_last=True), (1, height, width, channels),
         (filters, kernel, kernel, channels))
        for height, width, channels, filters, kernel, stride in IMAGES
    ]  # fmt: skip
    products = [(MatMul(), (rows, length), (length, wide)) for rows, length, wide in PRODUCTS]
    for op, x, w in (*images, *products):
        builder = Builder("sample")
        given = [builder.input("x", type_of(values("int8", *x))), builder.constant(values("int8", *w))]
        builder.output(*builder.add(op, given))
        graph = builder.build()
        (offer,) = offers(block, graph, graph.nodes[0])
        packed = cast(PackedConvolution | PackedProduct, offer.op)
        weights, sums = offer.constants.values()
        scale, zero, bias = (
            np.float32(0.01),
            np.int8(3),
            values("float32", sums.size)[: graph.types[graph.outputs[0]].shape[-1]],
        )
        yield (
            ScaledProduct(packed),
            [values("int8", *x), weights, sums, np.asarray(scale), np.asarray(zero), None, bias],
        )


def range_samples() -> Iterator[Sample]:
    for count in COUNTS:
        yield QuantisedRange(), [values("float32", 1, count)]


def symmetric_samples() -> Iterator[Sample]:
    for count in COUNTS:
        yield SymmetricRange(1, 1e-30), [values("float32", 1, count)]


def float_samples(vectors: Vectors) -> Iterator[Sample]:
    for height, width, channels, filters, kernel, stride in (*IMAGES, *SQUARES):
        op = Conv((stride, stride), padding=(kernel // 2,) * 4, channels_last=True)
        w, bias = values("float32", filters, kernel, kernel, channels), values("float32", filters)
        yield from _in_vectors(vectors, op, values("float32", 1, height, width, channels), w, bias)
    for rows, length, wide in PRODUCTS:
        operands = [values("float32", length, wide), values("float32", wide)]
        yield from _in_vectors(vectors, MatMul(), values("float32", rows, length), *operands)


def _in_vectors(vectors: Vectors, op: Op, x: Array, *constants: Array) -> Iterator[Sample]:
    builder = Builder("sample")
    names = [builder.input("x", type_of(x)), *(builder.constant(array) for array in constants)]
    builder.output(builder.add(op, names)[0])
    graph = builder.build()
    for offer in float_offers.forms(vectors, graph, graph.nodes[0]):
        yield offer.op, [offer.constants.get(name, x) for name in offer.inputs]


def computed_samples() -> Iterator[Sample]:
    for batch, rows, length, wide in COMPUTED:
        a, b, mul = (
            values("int8", batch, rows, length),
            values("int8", batch, length, wide),
            np.array([FACTOR], np.int32),
        )
        for is_transposed in (False, True):
            op = ComputedProduct(requant=REQUANT, way=RequantForm.NEAR, trans_b=is_transposed, a_zero=-3, b_zero=2)
            yield op, [a, np.ascontiguousarray(b.swapaxes(1, 2)) if is_transposed else b, None, mul]


def sum_samples() -> Iterator[Sample]:
    for count in COUNTS:
        yield ByteSum(HALF, ALMOST, 11, MIXED), [values("int8", 1, count), values("int8", 1, count)]


def concat_samples() -> Iterator[Sample]:
    yield from _joined(lambda shapes: ConcatSlices(1, (0, 0), shapes))


def quantised_concat_samples() -> Iterator[Sample]:
    yield from _joined(lambda shapes: QuantisedConcat(1, (0, 0), shapes, 0.0137, 3, "int8"))


def _joined(op: Callable[[tuple[Shape, ...]], Op]) -> Iterator[Sample]:
    for heads, tokens, size in CACHES:
        shapes: Sequence[Shape] = ((heads, tokens, size), (heads, 1, size))
        yield op(tuple(shapes)), [values("float32", *shape) for shape in shapes]
