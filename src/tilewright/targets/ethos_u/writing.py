"""Nodes of a network as operators of a TensorFlow Lite file, by a rule for each kind. A rule raises a `Refusal` where a
file cannot say what the node computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from tilewright.errors import Refusal, instance, present
from tilewright.ir.graph import Graph, Node
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.tflite_rounding import multiplier
from tilewright.ir.types import Array, Shape, limits
from tilewright.ops._linear import centred
from tilewright.ops._rearranged import value_per_filter
from tilewright.ops._windows import Windowed, reach
from tilewright.ops.concat import Concat
from tilewright.ops.conv import Conv
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.pad import Pad
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.reshape import Reshape
from tilewright.ops.slice import Slice
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.transpose import Transpose
from tilewright.records import dataclass
from tilewright.targets.ethos_u.exponential import exponential
from tilewright.targets.ethos_u.numerics import WORDS, layer_factors, tflite_sum
from tilewright.targets.ethos_u.scales import Meaning, words_ratio
from tilewright.targets.ethos_u.tables import Rectifier, Table, words_of
from tilewright.targets.ethos_u.tflite_file import FileGraph, FileTensor

SAME, VALID = 0, 1
NONE, RELU = 0, 1
OF_WORDS = (Conv, MatMul, QLinearFunction, RequantShift, Reshape, Transpose)
TO_WORDS = (Conv, MatMul, QLinearFunction, Reshape, Transpose)
ULPS = 2
"""Of float32, within which the scale of weights is that gives a factor."""
ROUNDS = "its results are rounded {}, an Ethos-U rounds as TensorFlow Lite does"


@dataclass
class Writing:
    """A part of a graph on its way into a file."""

    graph: Graph
    meaning: Meaning
    file: FileGraph = field(default_factory=FileGraph)
    known: dict[str, int] = field(default_factory=dict)
    """Tensors of the graph that are in the file."""
    makers: dict[str, str] = field(default_factory=dict)
    """Keys of the nodes for which tensors of the file are there."""
    tables: list[Table] = field(default_factory=list)
    """Of functions, which the file cannot hold."""

    def tensor(self, name: str) -> int:
        """With its scale; results of layers may have 16 bits."""
        if name not in self.known:
            kind = self.graph.types[name]
            if kind.dtype not in ("int8", "int16"):
                raise Refusal(f"'{name}' is {kind.dtype}; only int8 goes to the NPU")
            value = self.graph.constants.get(name)
            self.known[name] = self.like(name, kind.shape, f"t{len(self.file.tensors)}", value)
        return self.known[name]

    def like(self, name: str, shape: Shape, called: str = "", value: Array | None = None) -> int:
        """Another tensor with the scale of one of the graph; words have no zero point in files."""
        is_word = self.graph.types[name].dtype == "int16"
        scales, zero = (self.meaning.scale(name),), 0 if is_word else self.meaning.zero(name)
        called = called or f"n{len(self.file.tensors)}"
        return self.file.add(FileTensor(called, self.graph.types[name].dtype, shape, scales, zero, value=value))

    def constant(self, value: Array, scales: Sequence[float] = (), axis: int = 0, zero: int = 0) -> int:
        name = f"c{len(self.file.tensors)}"
        return self.file.add(FileTensor(name, value.dtype.name, value.shape, tuple(scales), zero, axis, value))

    def reshaped(self, given: int, made: int) -> int:
        shape = self.file.tensors[made].shape
        numbers = self.constant(np.array(shape, np.int32))
        return self.file.apply("RESHAPE", (given, numbers), made, "ReshapeOptions", NewShape=shape)


def written(graph: Graph, meaning: Meaning, nodes: Sequence[Node], inputs: Sequence[str] = ()) -> Writing:
    """A file of nodes, with a part's inputs first."""
    made = Writing(graph, meaning)
    for name in inputs:
        made.tensor(name)
    for node in nodes:
        first = len(made.file.tensors)
        write(made, node)
        made.makers.update((tensor.name, node.key) for tensor in made.file.tensors[first:])
    return made


def write(made: Writing, node: Node) -> None:
    rule = RULES.get(type(node.op))
    if rule is None:
        known = ", ".join(sorted(kind.__name__ for kind in RULES))
        raise Refusal(f"the NPU gets no {node.op.kind}; it gets {known}")
    dtype = made.graph.types[node.inputs[0]].dtype
    if dtype != "int8" and (dtype != "int16" or not isinstance(node.op, OF_WORDS)):
        raise Refusal(f"its input is {dtype}; only int8 goes to the NPU")
    if made.graph.types[node.outputs[0]].dtype == "int16" and not isinstance(node.op, TO_WORDS):
        raise Refusal("its results have 16 bits, which layers and functions have on the NPU")
    rule(made, node)


# ---- layers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weights:
    """Of a layer: a row for each filter, and what follows the sums."""

    rows: Array
    zero: int
    """Of the rows; the NPU takes 9 bits without it."""
    bias: Array
    scales: tuple[float, ...]


def _weights(made: Writing, node: Node, zero: int, given: Array, w_zero: int) -> Weights:
    """`given` has a row for each filter, `zero` is what inputs are less of."""
    rows = centred(given, w_zero).astype(np.int64).reshape(len(given), -1)
    w_zero = zero_of_bytes(rows, w_zero)
    values = [
        value_per_filter(made.graph, node.operands().get(name), len(rows)) for name in ("mul", "add", _bias(node))
    ]
    mul, exponent, bias = (present(value, node.where, "has constants of another shape") for value in values)
    shift = made.meaning.zero(node.inputs[0]) - zero
    bias = bias + shift * rows.sum(axis=1)
    if np.any(np.abs(bias) >= 2**31):
        raise Refusal("its bias does not fit 32 bits")
    is_word = made.graph.types[node.inputs[0]].dtype == "int16"
    ends = made.meaning.scale(node.inputs[0]), made.meaning.scale(node.outputs[0])
    scales = _scales_of(mul, exponent, *ends, Rounding.SINGLE if is_word else Rounding.DOUBLE)
    return Weights((rows + w_zero).astype(np.int8), w_zero, bias.astype(np.int64 if is_word else np.int32), scales)


def zero_of_bytes(rows: Array, given: int) -> int:
    """The zero point with which weights are bytes: none, or the one that is given."""
    for zero in (0, given):
        if _are_bytes(rows + zero):
            return zero
    ends = f"from {rows.min()} to {rows.max()}"
    raise Refusal(
        f"its weights go {ends} without their zero points; only int8 with one zero point for all goes to the NPU"
    )


def _are_bytes(values: Array) -> bool:
    low, high = limits("int8")
    return bool(values.min(initial=0) >= low and values.max(initial=0) <= high)


def _bias(node: Node) -> str:
    return "B" if isinstance(node.op, Conv) else "C"


def _scales_of(mul: Array, exponent: Array, given: float, made: float, rounding: Rounding) -> tuple[float, ...]:
    """Scales of weights that give these factors."""
    middle = (mul * 2.0 ** (exponent - 31) * made / given).astype(np.float32)
    found = middle.copy()
    missing = np.ones(len(mul), bool)
    for ulps in sorted(range(-ULPS, ULPS + 1), key=abs):
        tried = middle + ulps * np.spacing(middle)
        ours = layer_factors(tried, given, made, rounding)
        fits = missing & (ours[0] == mul) & (ours[1] == exponent)
        found[fits], missing = tried[fits], missing & ~fits
    if missing.any():
        raise Refusal("no scales of a file give its factors")
    return tuple(map(float, found))


def _is_tflite(requant: Requant | None) -> Requant:
    if requant is None:
        raise Refusal("its results are totals of 32 bits")
    if requant.rounding != Rounding.DOUBLE:
        raise Refusal(ROUNDS.format(requant.rounding))
    if requant.dtype not in ("int8", "int16"):
        raise Refusal(f"its results are {requant.dtype}; the NPU gives int8 and int16")
    return requant


def _of_layer(made: Writing, node: Node, requant: Requant | None) -> Requant:
    """Totals of words are rounded once, and give words."""
    if made.graph.types[node.inputs[0]].dtype != "int16":
        return _is_tflite(requant)
    if requant is None or requant.rounding != Rounding.SINGLE or requant.dtype != "int16":
        raise Refusal("it does not give words as TensorFlow Lite does of words")
    return requant


def _clamp(requant: Requant) -> int:
    """The activation of a file that clips results so."""
    lowest, highest = limits(requant.dtype)
    if (requant.low, requant.high) == (lowest, highest):
        return NONE
    if (requant.low, requant.high) == (max(requant.zero_point, lowest), highest):
        return RELU
    raise Refusal(f"its results are clipped to {requant.low}..{requant.high}, which no activation of a file does")


def _conv(made: Writing, node: Node) -> None:
    op = instance(node.op, Conv)
    given = made.graph.constants.get(node.inputs[1])
    if given is None:
        raise Refusal("its weights are computed")
    requant = _of_layer(made, node, op.requant)
    if not op.channels_last:
        raise Refusal("has channels as the second axis")
    slid = _plane(op)
    shape, kind = (len(given), *_rows(given.shape[1:-1]), given.shape[-1]), "CONV_2D"
    image = _window(made, node, slid, shape[1:3], op.x_zero)
    weights = _weights(made, node, op.x_zero, given, op.w_zero)
    attributes = {
        "StrideH": slid.strides[0], "StrideW": slid.strides[1], "DilationHFactor": slid.dilations[0],
        "DilationWFactor": slid.dilations[1], "FusedActivationFunction": _clamp(requant), "Padding": image[1],
    }  # fmt: skip
    rows = weights.rows.reshape(shape)
    if op.groups > 1 and shape[3] == 1:
        kind, rows = "DEPTHWISE_CONV_2D", rows.reshape(shape[:3]).transpose(1, 2, 0)[None]
        attributes["DepthMultiplier"] = shape[0] // op.groups
    axis = 3 if kind != "CONV_2D" else 0
    operands = (image[0], made.constant(rows, weights.scales, axis, weights.zero), _bias_of(made, node, weights))
    options = "Conv2DOptions" if kind == "CONV_2D" else "DepthwiseConv2DOptions"
    _apply_to_image(made, node, kind, operands, options, attributes)


def _rows(sizes: Shape) -> Shape:
    """Those of an image; one axis is its only row."""
    return sizes if len(sizes) == 2 else (1, *sizes)


def _plane(op: Windowed) -> Windowed:
    """The same windows over an image."""
    if op.rank == 2:
        return op
    before, after = op.padding
    return replace(op, strides=(1, *op.strides), dilations=(1, *op.dilations), padding=(0, before, 0, after))


def _image_shape(made: Writing, name: str) -> Shape:
    first, *sizes, channels = made.graph.types[name].shape
    return (first, *_rows(tuple(sizes)), channels)


def _apply_to_image(
    made: Writing, node: Node, kind: str, operands: Sequence[int], options: str, attributes: Mapping[str, int]
) -> None:
    """An operator whose result is an image in the file; in the graph it may be a row."""
    result = made.tensor(node.outputs[0])
    shape = _image_shape(made, node.outputs[0])
    image = result if made.file.tensors[result].shape == shape else made.like(node.outputs[0], shape)
    made.file.apply(kind, operands, image, options, **attributes)
    if image != result:
        made.reshaped(image, result)


def _bias_of(made: Writing, node: Node, weights: Weights) -> int:
    scale = made.meaning.scale(node.inputs[0])
    return made.constant(weights.bias, [scale * one for one in weights.scales])


def _window(made: Writing, node: Node, op: Windowed, kernel: Shape, zero: int | None) -> tuple[int, int]:
    """The image that windows slide over, padded by an operator of its own where a file has no word for it, and that
    word. `zero` is what stands for nothing; None where padding does not count."""
    shape = _image_shape(made, node.inputs[0])
    if shape[0] != 1:
        raise Refusal(f"has {shape[0]} images at once, the NPU takes one")
    image = made.tensor(node.inputs[0])
    if made.file.tensors[image].shape != shape:
        image = made.reshaped(image, made.like(node.inputs[0], shape))
    if not any(op.padding):
        return image, VALID
    if zero is not None and zero != made.meaning.zero(node.inputs[0]):
        raise Refusal(f"pads with {zero}, and its input has the zero point {made.meaning.zero(node.inputs[0])}")
    if _same(op, shape[1:3], kernel) == tuple(op.padding):
        return image, SAME
    if zero is None and made.meaning.zero(node.inputs[0]) != -128:
        raise Refusal(f"pads by {op.padding}, which a file cannot say of a pool")
    top, left, bottom, right = op.padding
    padded = made.like(node.inputs[0], (1, shape[1] + top + bottom, shape[2] + left + right, shape[3]))
    pads = made.constant(np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32))
    return made.file.apply("PAD", (image, pads), padded, "PadOptions"), VALID


def _same(op: Windowed, sizes: Shape, kernel: Shape) -> tuple[int, ...]:
    """What a file means by it: as many results as strides begin in the image, the larger half of the rest behind."""
    given = zip(sizes, kernel, op.strides, op.dilations, strict=True)
    needed = [max((-(-size // step) - 1) * step + reach(taps, apart) - size, 0) for size, taps, step, apart in given]
    return (*(one // 2 for one in needed), *(one - one // 2 for one in needed))


def _matmul(made: Writing, node: Node) -> None:
    """A convolution of one tap over a row of as many pixels as there are rows."""
    op = instance(node.op, MatMul)
    given = made.graph.constants.get(node.inputs[1])
    if given is None:
        raise Refusal("multiplies two tensors that are computed; the NPU takes constant weights")
    requant = _of_layer(made, node, op.requant)
    if given.ndim != 2 or op.perm_a or op.perm_b or op.perm_y or op.trans_a:
        raise Refusal("reads or writes its operands in another order")
    weights = _weights(made, node, op.a_zero, given if op.trans_b else given.T, op.b_zero)
    filters, channels = weights.rows.shape
    rows = made.graph.types[node.inputs[0]].elements // channels
    image = made.reshaped(made.tensor(node.inputs[0]), made.like(node.inputs[0], (1, 1, rows, channels)))
    result = made.like(node.outputs[0], (1, 1, rows, filters))
    kernel = made.constant(weights.rows.reshape(filters, 1, 1, channels), weights.scales, zero=weights.zero)
    one = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1, "Padding": VALID}
    operands = (image, kernel, _bias_of(made, node, weights))
    made.file.apply("CONV_2D", operands, result, "Conv2DOptions", FusedActivationFunction=_clamp(requant), **one)
    made.reshaped(result, made.tensor(node.outputs[0]))


# ---- elements -------------------------------------------------------------------------------------------------------


def _sum(made: Writing, node: Node) -> None:
    op = instance(node.op, TfliteAdd)
    scales = [made.meaning.scale(name) for name in (*node.inputs, node.outputs[0])]
    zeros = [made.meaning.zero(name) for name in node.inputs]
    if tflite_sum(scales, zeros, op.requant) != op:
        raise Refusal("no scales of a file give its factors")
    _both(made, node, "ADD", "AddOptions", _is_tflite(op.requant))


def _product(made: Writing, node: Node) -> None:
    op = instance(node.op, QLinearMul)
    requant = _is_tflite(op.requant)
    a, b, result = (made.meaning.scale(name) for name in (*node.inputs, node.outputs[0]))
    zeros = [made.meaning.zero(name) for name in node.inputs]
    if multiplier(a * b / result) != (op.mul, op.add) or zeros != [op.a_zero, op.b_zero]:
        raise Refusal("no scales of a file give its factor")
    _both(made, node, "MUL", "MulOptions", requant)


def _both(made: Writing, node: Node, kind: str, options: str, requant: Requant) -> None:
    """Operands of one rank, as the result has it."""
    result = made.graph.types[node.outputs[0]].shape
    operands = []
    for name in node.inputs:
        shape = made.graph.types[name].shape
        tensor = made.tensor(name)
        if len(shape) < len(result):
            tensor = made.reshaped(tensor, made.like(name, (*(1,) * (len(result) - len(shape)), *shape)))
        operands.append(tensor)
    made.file.apply(kind, operands, made.tensor(node.outputs[0]), options, FusedActivationFunction=_clamp(requant))


def _pool(made: Writing, node: Node) -> None:
    op = instance(node.op, MaxPool)
    if not op.channels_last or set(op.dilations) != {1}:
        raise Refusal("has channels as the second axis, or gaps in its windows")
    slid, kernel = _plane(op), _rows(op.kernel)
    image, padding = _window(made, node, slid, kernel, None)
    attributes = {
        "FilterHeight": kernel[0], "FilterWidth": kernel[1], "StrideH": slid.strides[0], "StrideW": slid.strides[1],
        "Padding": padding,
    }  # fmt: skip
    _apply_to_image(made, node, "MAX_POOL_2D", (image,), "Pool2DOptions", attributes)


def _table(made: Writing, node: Node) -> None:
    """A function of one byte. Its entries are a constant of the file, too: files of other functions are other files."""
    entries = made.graph.constants.get(node.inputs[1])
    if entries is None or entries.shape != (ENTRIES,) or entries.dtype != np.int8:
        raise Refusal("its table is not one of 256 constants of int8")
    x, y = node.inputs[0], node.outputs[0]
    ends = [(made.meaning.scale(one), made.meaning.zero(one)) for one in (x, y)]
    rectifier = Rectifier(ends[0], ends[1], len(made.tables))
    made.tables.append(Table(entries.view(np.uint8), rectifier.entries()))
    made.constant(entries)
    made.file.apply("LEAKY_RELU", (made.tensor(x),), made.tensor(y), "LeakyReluOptions", Alpha=rectifier.alpha)


def _function(made: Writing, node: Node) -> None:
    op, table = instance(node.op, QLinearFunction), made.graph.constants.get(node.inputs[1])
    if table is None or op.requant != WORDS:
        raise Refusal("its table is not one of words with 7 bits between two of them")
    x, y = node.inputs[0], node.outputs[0]
    made.tables.append(Table(words_of(table), exponential(made.meaning.scale(x), made.meaning.scale(y))))
    made.constant(table)
    made.file.apply("EXP", (made.tensor(x),), made.tensor(y), "ExpOptions")


def _requantised(made: Writing, node: Node) -> None:
    """Words to bytes."""
    requant, x, y = _is_tflite(instance(node.op, RequantShift).requant), node.inputs[0], node.outputs[0]
    ratio = words_ratio(made.graph, node)
    if (
        not ratio
        or requant.dtype != "int8"
        or multiplier(made.meaning.scale(x) / made.meaning.scale(y)) != multiplier(ratio)
    ):
        raise Refusal("no scales of a file give its factor")
    if _clamp(requant) != NONE:
        raise Refusal("its results are clipped, which a file cannot say of it")
    made.file.apply("QUANTIZE", (made.tensor(x),), made.tensor(y), "QuantizeOptions")


# ---- moves ----------------------------------------------------------------------------------------------------------


def _reshape(made: Writing, node: Node) -> None:
    made.reshaped(made.tensor(node.inputs[0]), made.tensor(node.outputs[0]))


def _transpose(made: Writing, node: Node) -> None:
    perm = made.constant(np.array(instance(node.op, Transpose).perm, np.int32))
    made.file.apply("TRANSPOSE", (made.tensor(node.inputs[0]), perm), made.tensor(node.outputs[0]), "TransposeOptions")


def _concat(made: Writing, node: Node) -> None:
    if any(name in made.graph.constants for name in node.inputs):
        raise Refusal("joins a constant, of which Vela's streams make something else")
    axis, operands = instance(node.op, Concat).axis, [made.tensor(name) for name in node.inputs]
    axis %= len(made.graph.types[node.outputs[0]].shape)
    made.file.apply("CONCATENATION", operands, made.tensor(node.outputs[0]), "ConcatenationOptions", Axis=axis)


def _slice(made: Writing, node: Node) -> None:
    op = instance(node.op, Slice)
    if set(op.steps) != {1}:
        raise Refusal(f"takes elements {op.steps} apart; the NPU reads those side by side")
    ends = [start + size for start, size in zip(op.starts, op.sizes, strict=True)]
    numbers = [made.constant(np.array(one, np.int32)) for one in (op.starts, ends, op.steps)]
    given = (made.tensor(node.inputs[0]), *numbers)
    made.file.apply("STRIDED_SLICE", given, made.tensor(node.outputs[0]), "StridedSliceOptions")


def _pad(made: Writing, node: Node) -> None:
    op = instance(node.op, Pad)
    if op.value != made.meaning.zero(node.inputs[0]):
        raise Refusal(f"pads with {op.value}, and its input has the zero point {made.meaning.zero(node.inputs[0])}")
    half = len(op.pads) // 2
    pads = made.constant(np.array(list(zip(op.pads[:half], op.pads[half:], strict=True)), np.int32))
    made.file.apply("PAD", (made.tensor(node.inputs[0]), pads), made.tensor(node.outputs[0]), "PadOptions")


Rule = Callable[[Writing, Node], None]
RULES: Mapping[type, Rule] = {
    Concat: _concat, Conv: _conv, Lookup: _table, MatMul: _matmul, MaxPool: _pool, Pad: _pad,
    QLinearFunction: _function, QLinearMul: _product, RequantShift: _requantised, Reshape: _reshape,
    Slice: _slice, TfliteAdd: _sum, Transpose: _transpose,
}  # fmt: skip
