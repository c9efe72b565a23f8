"""What an NPU computes in place of what a quantised network says: TensorFlow Lite's requantisations, which round twice.

Layers, sums and products get factors that three float32 scales of a TensorFlow Lite file give, and stay what they are.
Means over whole images and requantisations of their own become convolutions with a filter for each channel. Functions
of 16 bits become tables of 513 words and a requantisation to bytes, and a softmax has numbers of 32 bits. The choice is
part of the operator, made before the reference is taken: it does not depend on who computes a layer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.frontends.tflite.quantisation import reduced
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import PLAIN, Rounding
from tilewright.ir.tflite_rounding import factors, multiplier
from tilewright.ir.types import Array, Shape
from tilewright.ops._rearranged import value_per_filter
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.qlinearadd import QLinearAdd, magnitude
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearfunction import QLinearFunction, fraction_bits
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.reshape import Reshape
from tilewright.ops.tfliteadd import Summand, TfliteAdd
from tilewright.passes import Complaint, Numbers, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.targets.ethos_u.padded_means import padded_mean
from tilewright.targets.ethos_u.scales import Meaning, is_close, meaning_of, product_ratio, ratios
from tilewright.targets.ethos_u.softmax_numbers import softmax_of_words

LEFT = 20
"""Bits by which TensorFlow Lite shifts summands of 8 bits."""
LARGEST_WEIGHT = 127
"""Of a requantisation of its own: the larger, the finer is its summand."""
FACTOR_BITS, MOST_SHIFT = 30, 62
"""Of factors, and of the shift behind them, before they are TensorFlow Lite's."""
IMAGES = (3, 4)
"""Axes of images and rows, with channels."""
MOST_TAPS, TALLEST = 4096, 64
"""Of a kernel."""
MOST_OFF = 0.01
"""Steps of the result that summands between two totals may be off."""
MOST_OFF_WIDE = 0.75
"""The same of 16 bits: their zero point is such a summand, because those of an NPU have none."""
WORD_BITS, STEP_BITS = 16, 7
WORD_STEPS = np.arange(-(2 ** (WORD_BITS - 1)), 2 ** (WORD_BITS - 1) + 1, 2**STEP_BITS)
"""Where a table of 16 bits has entries; between them are straight lines."""
WORDS = full_range(STEP_BITS, "int16", rounding=Rounding.HALF_UP)
MOST_BENT = 0.125
"""Steps that a line between two entries may be off from entries of a finer table."""
FARTHEST, MOST_FINE = 2.0**9, 8
"""Steps of bytes that entries are off at the most, and bits behind the point that they have at the most."""
KINDS = (
    "Conv",
    "MatMul",
    "QLinearFunction",
    "QLinearAdd",
    "QLinearMul",
    "QLinearReduceMean",
    "QLinearSoftmax",
    "QLinearAveragePool",
    "RequantShift",
)
NUMBERS = Numbers(steps_by_operator=dict.fromkeys((*KINDS, "TfliteAdd", "Reshape"), 1.0), share=MOST_OFF_WIDE)
"""Two roundings where there was one, and factors of 24 bits: a result near a tie may be the next one. Of bytes that are
few, of means of few elements up to a quarter; of 16 bits, whose zero point has been rounded to a total, it is the share
of a step by which that is off."""


def run(graph: Graph) -> Graph:
    """Means and requantisations first: their results have scales as those of layers; and sums, which say scales."""
    given = meaning_of(graph)
    layers = rewrite(graph, lambda node, builder: _as_layer(graph, given, node, builder))
    meaning = meaning_of(layers)
    return rewrite(layers, lambda node, builder: _rounded_twice(layers, meaning, node, builder))


def all_rounded_twice(graph: Graph) -> Iterator[Complaint]:
    meaning = meaning_of(graph)
    for node in graph.nodes:
        if isinstance(node.op, Conv | MatMul) and _layer(graph, meaning, node) is not None:
            yield node.where, "could round as the NPU does"


ETHOS_U_NUMERICS = Pass("requantisations of an Ethos-U", run, ensures=all_rounded_twice, numbers=NUMBERS)


def _rounded_twice(graph: Graph, meaning: Meaning, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if isinstance(node.op, QLinearAdd):
        return _one(builder, node, _sum(graph, meaning, node, node.op))
    if isinstance(node.op, QLinearMul):
        return _one(builder, node, _product(graph, meaning, node, node.op))
    if isinstance(node.op, QLinearSoftmax):
        return softmax_of_words(graph, node, builder)
    if isinstance(node.op, MatMul) and not set(node.inputs[:2]) & set(graph.constants):
        return _one(builder, node, _halves_up(node.op))
    found = _layer(graph, meaning, node)
    if found is None or not isinstance(node.op, Conv | MatMul):
        return None
    names = [builder.constant(values, f"{node.name}_{name}") for name, values in found.constants.items()]
    requant = replace(found.requant, shift=0, rounding=_layer_rounding(graph, node))
    (made,) = builder.add(replace(node.op, requant=requant), [*node.inputs[:2], *names], node.outputs, node.name)
    return {node.key: made}


def _halves_up(op: MatMul) -> MatMul | None:
    """Of two computed tensors: an NPU rounds as TensorFlow Lite does or so."""
    if op.requant is None or op.requant.rounding not in PLAIN or op.requant.rounding == Rounding.HALF_UP:
        return None
    return replace(op, requant=replace(op.requant, rounding=Rounding.HALF_UP))


def _one(
    builder: Builder, node: Node, op: TfliteAdd | QLinearAdd | QLinearMul | MatMul | None
) -> Mapping[str, str] | None:
    return None if op is None else {node.key: builder.add(op, node.inputs, node.outputs, node.name)[0]}


def _twice(requant: Requant) -> Requant:
    return replace(requant, shift=0, rounding=Rounding.DOUBLE)


# ---- layers ---------------------------------------------------------------------------------------------------------

LAYERS = (("int8", "int8"), ("int8", "int16"), ("int16", "int16"))
"""Element types of inputs and results, beside weights of int8."""


def _layer_rounding(graph: Graph, node: Node) -> Rounding:
    """Totals of words are rounded once, by factors of 16 bits."""
    return Rounding.SINGLE if graph.types[node.inputs[0]].dtype == "int16" else Rounding.DOUBLE


@dataclass(frozen=True, eq=False)
class Layer:
    requant: Requant
    constants: Mapping[str, Array]
    """Bias, multipliers, and exponents."""


def _layer(graph: Graph, meaning: Meaning, node: Node) -> Layer | None:
    """Of a layer of bytes or words with constant weights, in as many bits as scales of a file have."""
    op = node.op
    if not isinstance(op, Conv | MatMul) or op.requant is None or op.requant.rounding not in PLAIN:
        return None
    kinds = graph.types[node.inputs[0]].dtype, op.requant.dtype
    if kinds not in LAYERS or node.inputs[1] not in graph.constants or (kinds[0] == "int16" and _has_zeros(op)):
        return None
    operands, filters = node.operands(), _filters(graph, node)
    bias_name = "B" if isinstance(op, Conv) else "C"
    mul, add, bias = (value_per_filter(graph, operands.get(name), filters) for name in ("mul", "add", bias_name))
    if mul is None or add is None or bias is None or np.any(mul <= 0):
        return None
    wanted = mul * 2.0**-op.requant.shift
    requant, most = op.requant, MOST_OFF
    if requant.dtype == "int16":
        add, most = add + (requant.zero_point << requant.shift), MOST_OFF_WIDE
        requant = replace(requant, zero_point=0)
    bias = bias + np.rint(add / mul).astype(np.int64)
    is_far = np.any(np.abs(add - mul * np.rint(add / mul)) > most * 2.0**requant.shift)
    ends = meaning.scale(node.inputs[0]), meaning.scale(node.outputs[0])
    multipliers, exponents = layer_factors(wanted * ends[1] / ends[0], *ends, _layer_rounding(graph, node))
    if is_far or np.any(np.abs(bias) >= 2**31) or exponents is None or np.any(multipliers == 0):
        return None
    constants = {"bias": bias, "mul": multipliers, "exponent": exponents}
    return Layer(requant, {name: values.astype(np.int32) for name, values in constants.items()})


def _has_zeros(op: Conv | MatMul) -> bool:
    """Zero points of operands, which words do not have."""
    return bool(op.x_zero or op.w_zero if isinstance(op, Conv) else op.a_zero or op.b_zero)


def layer_factors(weights: Array, given: float, made: float, rounding: Rounding) -> tuple[Array, Array | None]:
    """Of totals over the result, by scales of weights, of inputs and of results."""
    found, exponents = factors(layer_scales(weights, given, made), rounding)
    return (reduced(found) if rounding == Rounding.SINGLE else found), exponents


def layer_scales(weights: Array, given: float, made: float) -> Array:
    """Of totals over the result, as TensorFlow Lite's runtimes compute them of scales in a file."""
    return np.float64(given) * weights.astype(np.float32).astype(np.float64) / np.float64(made)


def _filters(graph: Graph, node: Node) -> int:
    shape = graph.types[node.inputs[1]].shape
    if isinstance(node.op, Conv):
        return shape[0]
    return shape[-2] if isinstance(node.op, MatMul) and node.op.trans_b and len(shape) > 1 else shape[-1]


# ---- sums and products ----------------------------------------------------------------------------------------------


def _sum(graph: Graph, meaning: Meaning, node: Node, op: QLinearAdd) -> TfliteAdd | None:
    wanted = ratios(op)
    if not _are_bytes(graph, node, op.requant) or min(wanted) <= 0:
        return None
    scales = [meaning.scale(name) for name in (*node.inputs, node.outputs[0])]
    zeros = [meaning.zero(name) for name in node.inputs]
    if not all(is_close(scale / scales[2], ratio) for scale, ratio in zip(scales, wanted, strict=False)):
        return None
    off = op.offset + op.mul_a * zeros[0] + op.mul_b * zeros[1]
    if abs(off) > MOST_OFF * 2.0**op.requant.shift:
        return None
    return tflite_sum(scales, zeros, op.requant)


def _short_sum(graph: Graph, node: Node, op: QLinearAdd) -> QLinearAdd | None:
    """Of words, in 32 bits: the core's vectors have no more."""
    kinds = graph.types[node.inputs[0]].dtype, graph.types[node.inputs[1]].dtype
    if op.fits_32(*kinds) or op.requant.rounding not in PLAIN:
        return None
    for less in range(1, op.requant.shift + 1):
        made = _coarser(op, less)
        if made.fits_32(*kinds):
            off = zip((made.mul_a, made.mul_b, made.offset), (op.mul_a, op.mul_b, op.offset), strict=True)
            reach = (*map(magnitude, kinds), 1)
            most = sum(size * abs(one - wanted * 2.0**-less) for size, (one, wanted) in zip(reach, off, strict=True))
            limit = MOST_OFF if op.requant.dtype == "int8" else MOST_OFF_WIDE
            return made if most <= limit * 2.0**made.requant.shift else None
    return None


def _coarser(op: QLinearAdd, less: int) -> QLinearAdd:
    """With so many bits less behind the point."""
    mul_a, mul_b, offset = (round(one * 2.0**-less) for one in (op.mul_a, op.mul_b, op.offset))
    requant = replace(op.requant, shift=op.requant.shift - less, rounding=Rounding.HALF_UP)
    return replace(op, mul_a=mul_a, mul_b=mul_b, offset=offset, requant=requant)


def tflite_sum(scales: list[float], zeros: list[int], requant: Requant) -> TfliteAdd:
    """With the scales of two summands and of the sum."""
    twice = 2.0 * max(scales[:2])
    first, second = (Summand(zeros[k], *multiplier(scales[k] / twice)) for k in range(2))
    return TfliteAdd(LEFT, first, second, *multiplier(twice / (2.0**LEFT * scales[2])), _twice(requant))


def _product(graph: Graph, meaning: Meaning, node: Node, op: QLinearMul) -> QLinearMul | None:
    if not _are_bytes(graph, node, op.requant) or op.mul <= 0:
        return None
    a, b, made = (meaning.scale(name) for name in (*node.inputs, node.outputs[0]))
    is_off = abs(op.add) > MOST_OFF * 2.0**op.requant.shift
    if is_off or not is_close(a * b / made, product_ratio(op)) or not _zeros_are_said(meaning, node, op):
        return None
    mul, exponent = multiplier(a * b / made)
    return replace(op, mul=mul, add=exponent, requant=_twice(op.requant))


def _zeros_are_said(meaning: Meaning, node: Node, op: QLinearMul) -> bool:
    return [meaning.zero(name) for name in node.inputs] == [op.a_zero, op.b_zero]


def _are_bytes(graph: Graph, node: Node, requant: Requant) -> bool:
    """Of two tensors, neither a constant."""
    kinds = {graph.types[name].dtype for name in node.inputs} | {requant.dtype}
    is_constant = any(name in graph.constants for name in node.inputs)
    return kinds == {"int8"} and not is_constant and requant.rounding in PLAIN and node.inputs[0] != node.inputs[1]


# ---- what becomes a layer -------------------------------------------------------------------------------------------


def _as_layer(graph: Graph, meaning: Meaning, node: Node, builder: Builder) -> Mapping[str, str] | None:
    op, requant = node.op, getattr(node.op, "requant", None)
    if requant is None or requant.rounding not in PLAIN:
        return None
    if isinstance(op, QLinearFunction):
        return _function(meaning, node, op, builder)
    if isinstance(op, QLinearAdd):
        return _one(builder, node, _short_sum(graph, node, op))
    if not builder.type_of(node.inputs[0]).dtype == requant.dtype == "int8":
        return None
    if isinstance(op, QLinearReduceMean | QLinearAveragePool):
        return _mean(graph, node, op, builder)
    return _scaling(graph, node, op, builder) if isinstance(op, RequantShift) else None


def _mean(
    graph: Graph, node: Node, op: QLinearReduceMean | QLinearAveragePool, builder: Builder
) -> Mapping[str, str] | None:
    """A sum of all of a window, and one factor; of windows that padding cuts, one for each number of elements."""
    shape = builder.type_of(node.inputs[0]).shape
    if len(shape) not in IMAGES or op.mul <= 0:
        return None
    if isinstance(op, QLinearReduceMean):
        if tuple(axis % len(shape) for axis in op.axes) != tuple(range(2, len(shape))):
            return None
        found = _mean_conv(op, shape, shape[2:], (1,) * (len(shape) - 2))
        return None if found is None else _convolution(graph, node, builder, *found, node.inputs[0])
    if op.channels_last or set(op.dilations) != {1}:
        return None
    if not any(op.padding):
        found = _mean_conv(op, shape, op.kernel, op.strides)
        return None if found is None else _convolution(graph, node, builder, *found, node.inputs[0])
    results, mean = graph.types[node.key].shape[2:], partial(_part_mean, op, node, builder)
    made = padded_mean(op, builder, node, results, mean)
    return None if made is None else {node.key: made}


def _part_mean(
    op: QLinearAveragePool, node: Node, builder: Builder, image: str, taps: Shape, strides: Shape
) -> str | None:
    found = _mean_conv(op, builder.type_of(image).shape, taps, strides)
    if found is None:
        return None
    conv, constants = found
    names = [builder.constant(values, f"{node.name}_{name}") for name, values in constants.items()]
    return builder.add(conv, [image, *names], name=node.name)[0]


def _mean_conv(
    op: QLinearReduceMean | QLinearAveragePool, shape: Shape, taps: Shape, strides: Shape
) -> tuple[Conv, dict[str, Array]] | None:
    """A filter of ones for each channel of images of a shape."""
    count = math.prod(taps)
    if count > MOST_TAPS or (len(taps) > 1 and taps[0] > TALLEST):
        return None
    bits = FACTOR_BITS - op.mul.bit_length() + count.bit_length() - 1
    mul = np.full(shape[1], round(op.mul * 2.0**bits / count), np.int32)
    requant = replace(op.requant, shift=op.requant.shift + bits, rounding=Rounding.HALF_UP)
    weights = np.ones((shape[1], 1, *taps), np.int8)
    conv = replace(_filter_per_channel(shape), x_zero=op.x_zero, strides=strides, requant=requant)
    return None if requant.shift > MOST_SHIFT else (conv, {"weights": weights, "bias": np.zeros_like(mul), "mul": mul})


def _scaling(graph: Graph, node: Node, op: RequantShift, builder: Builder) -> Mapping[str, str] | None:
    """A factor and a summand for each channel."""
    shape = builder.type_of(node.inputs[0]).shape
    mul, add = (builder.constants.get(name) for name in node.inputs[1:3])
    if len(shape) not in (2, *IMAGES) or op.axis not in (-1, 1) or mul is None or add is None:
        return None
    channels = shape[1]
    mul, add = (np.broadcast_to(values.reshape(-1), channels).astype(np.int64) for values in (mul, add))
    if np.any(mul == 0):
        return None
    weights = np.where(mul > 0, LARGEST_WEIGHT, -LARGEST_WEIGHT).astype(np.int8).reshape(channels, 1, 1, 1)
    bits = FACTOR_BITS - int(np.abs(mul).max()).bit_length() + LARGEST_WEIGHT.bit_length() - 1
    factor = np.rint(np.abs(mul) * 2.0**bits / LARGEST_WEIGHT)
    bias = np.rint(add * float(LARGEST_WEIGHT) / np.abs(mul))
    if np.any(factor <= 0) or np.any(np.abs(bias) >= 2**31):
        return None
    image_shape = shape if len(shape) > 2 else (*shape, 1, 1)
    requant = replace(op.requant, shift=op.requant.shift + bits, rounding=Rounding.HALF_UP)
    conv = replace(_filter_per_channel(image_shape), requant=requant)
    weights = weights.reshape(channels, 1, *[1] * (len(image_shape) - 2))
    constants: dict[str, Array] = {"weights": weights, "bias": bias.astype(np.int32), "mul": factor.astype(np.int32)}
    image = node.inputs[0]
    if len(shape) == 2:
        (image,) = builder.add(Reshape(image_shape), [image])
    return _convolution(graph, node, builder, conv, constants, image)


def _function(meaning: Meaning, node: Node, op: QLinearFunction, builder: Builder) -> Mapping[str, str] | None:
    """Of 16 bits to bytes: a table of words as an NPU has them, and a requantisation of its own. The zero point may be
    in the table: it is what readers say."""
    table = builder.constants.get(node.inputs[1])
    if table is None or op.requant.dtype != "int8":
        return None
    per_entry = 2.0 ** (fraction_bits(table.shape) - op.requant.shift)
    places = np.linspace(WORD_STEPS[0], WORD_STEPS[-1], len(table))
    steps = np.interp(WORD_STEPS, places, table * per_entry)
    if np.abs(np.interp(places, WORD_STEPS, steps) - table * per_entry).max() > MOST_BENT:
        return None
    zero = meaning.zero(node.outputs[0])
    steps = steps + op.requant.zero_point - zero
    steps = np.clip(steps, -FARTHEST, FARTHEST)
    bits = min(WORD_BITS - 1 - math.frexp(max(float(np.abs(steps).max()), 1.0))[1], MOST_FINE)
    words = builder.constant(np.rint(steps * 2.0**bits).astype(np.int32), f"{node.name}_words")
    (fine,) = builder.add(QLinearFunction(WORDS), [node.inputs[0], words], name=node.name)
    factor = zip(("mul", "exponent"), multiplier(2.0**-bits), strict=True)
    names = [builder.constant(np.array([value], np.int32), f"{node.name}_{name}") for name, value in factor]
    (made,) = builder.add(
        RequantShift(replace(_twice(op.requant), zero_point=zero)), [fine, *names], node.outputs, node.name
    )
    return {node.key: made}


def _filter_per_channel(shape: tuple[int, ...]) -> Conv:
    """Over images of a shape."""
    axes = len(shape) - 2
    return Conv((1,) * axes, (1,) * axes, (0,) * (2 * axes), groups=shape[1])


def _convolution(
    graph: Graph, node: Node, builder: Builder, op: Conv, constants: Mapping[str, Array], image: str
) -> Mapping[str, str] | None:
    """One filter for each channel; the result as the node gives it."""
    if op.requant is None or op.requant.shift > MOST_SHIFT:
        return None
    names = [builder.constant(values, f"{node.name}_{name}") for name, values in constants.items()]
    wanted = graph.types[node.outputs[0]].shape
    if len(builder.type_of(image).shape) == len(wanted):
        (made,) = builder.add(op, [image, *names], node.outputs, node.name)
    else:
        (made,) = builder.add(Reshape(wanted), builder.add(op, [image, *names], name=node.name), node.outputs)
    return {node.key: made}
