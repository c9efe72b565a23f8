"""Small networks made from seeds, with the layers of trained networks of others, which are not everywhere: tests try
these wherever they run, and those besides where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper

from tests.support import tflite_cases
from tests.support.models import model, node
from tests.support.networks import label, stored
from tests.support.quantiser import quantise, run_onnxruntime
from tests.support.tflite_models import Graph, O, T, constant, write
from tilewright.ir.types import Array

SEED = 3
UNIT_STEPS = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}

Network = Path | Callable[[], Any]
"""A file of others, or what makes one here."""


def network_id(network: Network) -> str:
    return label(network) if isinstance(network, Path) else network.__name__


def tflite_bytes(network: Network) -> bytes:
    return network.read_bytes() if isinstance(network, Path) else network()


class _Net:
    """Tensors and operators of a file of TensorFlow Lite, one after another."""

    def __init__(self, seed: int = SEED) -> None:
        self.draw = np.random.default_rng(seed)
        self.tensors: list[T] = []
        self.operators: list[O] = []

    def tensor(self, *tensors: T) -> int:
        """The position of the first of them."""
        self.tensors += tensors
        return len(self.tensors) - len(tensors)

    def add(self, kind: str, inputs: Sequence[int], made: T, options: str = "", version: int = 1, **fields: Any) -> int:
        y = self.tensor(made)
        self.operators.append(O(kind, inputs, [y], options, fields, version))
        return y

    def weighted(self, kind: str, x: int, shape: tuple[int, ...], made: T, options: str, **fields: Any) -> int:
        """A layer whose weights have one scale."""
        weights = constant(self.draw.integers(-127, 128, shape).astype(np.int8), 0.01, 0, 3 * (kind[0] == "D"))
        units = float(np.float32(self.tensors[x].scale) * np.float32(0.01))
        bias = constant(self.draw.integers(-999, 999, made.shape[-1]).astype(np.int32), units)
        return self.add(
            kind, [x, self.tensor(weights), self.tensor(bias)], made, options, 4 - (kind[0] != "F"), **fields
        )

    def dense(self, x: int, columns: int, scale: float, activation: int = tflite_cases.NONE) -> int:
        zero = -128 if activation == tflite_cases.RELU else 5
        shape = (columns, self.tensors[x].shape[-1])
        made = T("int8", (1, columns), scale, zero)
        fields = {"FusedActivationFunction": activation}
        return self.weighted("FULLY_CONNECTED", x, shape, made, "FullyConnectedOptions", **fields)


def classifier() -> bytes:
    """Images: a convolution, a depthwise one, a sum, a mean, a product and a softmax."""
    return tflite_cases.network(np.random.default_rng(SEED))


def autoencoder(row: int = 40, wide: int = 24) -> bytes:
    """Products with ReLU through a narrow middle, and one without at the end."""
    net = _Net()
    x = first = net.tensor(T("int8", (1, row), 0.05, 3))
    for columns, scale in ((wide, 0.4), (6, 0.9), (wide, 0.9)):
        x = net.dense(x, columns, scale, tflite_cases.RELU)
    return write(net.tensors, net.operators, [first], [net.dense(x, row, 2.0)])


def wide_autoencoder() -> bytes:
    """Most of its time goes to weights."""
    return autoencoder(640, 128)


def wide_classifier() -> bytes:
    """Most of its time goes to products: a depthwise convolution between two others."""
    net = _Net()
    shape = (1, 24, 24, 32)
    x = first = net.tensor(T("int8", (1, 24, 24, 16), 0.05, 3))
    for kind, weights, channels in (("CONV_2D", (32, 3, 3, 16), 32), ("DEPTHWISE_CONV_2D", (1, 3, 3, 32), 32),
                                    ("CONV_2D", (64, 1, 1, 32), 64)):  # fmt: skip
        is_depthwise = kind[0] == "D"
        fields = {**UNIT_STEPS, "Padding": tflite_cases.SAME} | ({"DepthMultiplier": 1} if is_depthwise else {})
        options = "DepthwiseConv2DOptions" if is_depthwise else "Conv2DOptions"
        x = net.weighted(kind, x, weights, T("int8", (*shape[:3], channels), 0.4, -128), options, **fields)
    return write(net.tensors, net.operators, [first], [x])


def float_autoencoder() -> bytes:
    draw, sizes = np.random.default_rng(SEED), (40, 24, 6, 40)
    tensors, operators = [T("float32", (1, sizes[0]))], []
    for rows, columns in pairwise(sizes):
        weights = constant(draw.normal(0, rows**-0.5, (columns, rows)).astype(np.float32))
        bias = constant(draw.normal(size=columns).astype(np.float32))
        at = len(tensors)
        tensors += [weights, bias, T("float32", (1, columns))]
        fields = {"FusedActivationFunction": tflite_cases.NONE if columns == sizes[-1] else tflite_cases.RELU}
        operators.append(O("FULLY_CONNECTED", [at - 1, at, at + 1], [at + 2], "FullyConnectedOptions", fields))
    return write(tensors, operators, [0], [len(tensors) - 1])


STEP, BANDS, FILTERS = 3, 8, 6
"""New rows of a sound in each call, bands of each, and filters that look at three rows."""


@cache
def _detector() -> tuple[bytes, int, int]:
    """The file, and its tensors before the last function and of the last state's new value."""
    net = _Net()
    x = net.tensor(T("int8", (1, STEP, BANDS), 0.05, 3))
    handles = net.tensor(*[T("int8", (), kind="RESOURCE")] * 2)
    sound = T("int8", (1, STEP, 1, BANDS), 0.05, 3)
    heard = T("int8", (1, STEP, 1, FILTERS), 0.2, -128)
    net.operators += [_handle(handles, "heard"), _handle(handles + 1, "filtered")]
    net.operators.append(O("CALL_ONCE", [], [], "CallOnceOptions", {"InitSubgraphIndex": 1}))
    rows = net.add("RESHAPE", [x, net.tensor(tflite_cases.ints(sound.shape))], sound, "ReshapeOptions")
    rows, _ = _remembered(net, handles, rows, 2)
    valid = {**UNIT_STEPS, "Padding": tflite_cases.VALID}
    relu = {"FusedActivationFunction": tflite_cases.RELU}
    rows = net.weighted("CONV_2D", rows, (FILTERS, 3, 1, BANDS), heard, "Conv2DOptions", **valid, **relu)
    rows, kept = _remembered(net, handles + 1, rows, 3)
    seen = T("int8", (1, 1, 1, FILTERS), 0.3, -10)
    shape = (1, 6, 1, FILTERS)
    deep = {**valid, "DepthMultiplier": 1}
    rows = net.weighted("DEPTHWISE_CONV_2D", rows, shape, seen, "DepthwiseConv2DOptions", **deep)
    row = net.add(
        "RESHAPE", [rows, net.tensor(tflite_cases.ints([1, FILTERS]))], T("int8", (1, FILTERS), 0.3, -10),
        "ReshapeOptions",
    )  # fmt: skip
    logit = net.dense(row, 1, 0.2)
    share = net.add("LOGISTIC", [logit], T("int8", (1, 1), 1 / 256, -128))
    y = net.add("QUANTIZE", [share], T("uint8", (1, 1), 1 / 256), "QuantizeOptions")
    first = _initial([np.full((1, 2, 1, BANDS), 3, np.int8), np.full((1, 3, 1, FILTERS), -128, np.int8)])
    return write(net.tensors, net.operators, [x], [y], more=[first]), logit, kept


def detector() -> bytes:
    """A streaming network with two states."""
    return _detector()[0]


def detector_insides() -> tuple[int, int]:
    """Tensors of the detector that vary more than its answer: before the last function, and the last state's."""
    return _detector()[1:]


def _handle(number: int, name: str) -> O:
    return O("VAR_HANDLE", [], [number], "VarHandleOptions", {"Container": "", "SharedName": name})


def _remembered(net: _Net, handle: int, rows: int, kept: int) -> tuple[int, int]:
    """Rows of the calls before with the new ones behind them, and the last of all, which are kept."""
    new = net.tensors[rows]
    old = net.add("READ_VARIABLE", [handle], T("int8", (1, kept, 1, new.shape[3]), new.scale, new.zero))
    count = kept + new.shape[1]
    both = T("int8", (1, count, 1, new.shape[3]), new.scale, new.zero)
    joined = net.add("CONCATENATION", [old, rows], both, "ConcatenationOptions", 2, Axis=1)
    begin = net.tensor(tflite_cases.ints([0, count - kept, 0, 0]), tflite_cases.ints(net.tensors[old].shape))
    last = net.add("SLICE", [joined, begin, begin + 1], net.tensors[old], "SliceOptions", 2)
    net.operators.append(O("ASSIGN_VARIABLE", [handle, last], []))
    return joined, last


def _initial(values: Sequence[np.ndarray[Any, Any]]) -> Graph:
    tensors = [T("int8", (), kind="RESOURCE")] * 2 + [constant(value, 0.05) for value in values]
    names = ("heard", "filtered")
    assigned = [O("ASSIGN_VARIABLE", [n, n + 2], []) for n in range(2)]
    return tensors, [*(_handle(n, name) for n, name in enumerate(names)), *assigned], [], []


# ---- ONNX -----------------------------------------------------------------------------------------------------------

TOKENS, WIDTH, HEADS = 6, 16, 2
CHANNELS = 20
"""That fill vectors of 8 and 16 floats, with some left."""


def onnx_model(network: Network) -> ModelProto:
    return onnx.load(network) if isinstance(network, Path) else network()


def given_and_wanted(network: Network) -> tuple[dict[str, Array], list[Array]]:
    """Inputs by name, and outputs in order: stored beside a file, or what ONNX Runtime gives."""
    if isinstance(network, Path):
        return stored(network)
    made = network()
    feeds = _feeds(made)
    found = run_onnxruntime(made, feeds)
    return feeds, [found[value.name] for value in made.graph.output]


def _feeds(made: ModelProto) -> dict[str, Array]:
    draw, floats = np.random.default_rng(SEED), {}
    for value in made.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        floats[value.name] = draw.standard_normal(shape).astype(np.float32)
    return floats


def float_classifier() -> ModelProto:
    """Images: a convolution, a residual block of a depthwise and a pointwise one, a mean and a product."""
    draw = np.random.default_rng(SEED)
    many = CHANNELS
    shapes = {"stem_w": (many, 3, 3, 3), "deep_w": (many, 1, 3, 3), "point_w": (many, many, 1, 1)}
    shapes["scores_w"] = (5, many)
    constants = {name: draw.normal(0, np.prod(shape[1:]) ** -0.5, shape) for name, shape in shapes.items()}
    constants |= {name.replace("_w", "_b"): draw.normal(size=shape[0]) for name, shape in shapes.items()}
    nodes = [
        node("Conv", "image stem_w stem_b", "stem", pads=[1, 1, 1, 1], strides=[2, 2]), node("Relu", "stem", "first"),
        node("Conv", "first deep_w deep_b", "deep", pads=[1, 1, 1, 1], group=many), node("Relu", "deep", "second"),
        node("Conv", "second point_w point_b", "point"), node("Add", "point first", "sum"),
        node("Relu", "sum", "third"), node("GlobalAveragePool", "third", "mean"), node("Flatten", "mean", "row"),
        node("Gemm", "row scores_w scores_b", "scores", transB=1),
    ]  # fmt: skip
    arrays = {name: array.astype(np.float32) for name, array in constants.items()}
    return model(nodes, {"image": (1, 3, 12, 12)}, ["scores"], arrays)


def quantised_classifier() -> ModelProto:
    """The same with quantisers, in int8."""
    made = float_classifier()
    return quantise(made, _feeds(made))


def float_transformer() -> ModelProto:
    """One block: layer norms, attention of two heads, GELU by Erf, residual sums."""
    draw, nodes, constants = np.random.default_rng(SEED), [], {}

    def weight(*shape: int) -> str:
        constants[f"c{len(constants)}"] = draw.normal(0, shape[0] ** -0.5, shape).astype(np.float32)
        return f"c{len(constants) - 1}"

    def fixed(*values: float, dtype: type = np.float32) -> str:
        constants[f"c{len(constants)}"] = np.array(values if len(values) > 1 else values[0], dtype)
        return f"c{len(constants) - 1}"

    def add(kind: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, inputs, [f"t{len(nodes)}"], f"{kind} {len(nodes)}", **attributes))
        return str(nodes[-1].output[0])

    def linear(x: str, rows: int, columns: int) -> str:
        return add("Add", add("MatMul", x, weight(rows, columns)), weight(columns))

    def heads(x: str) -> str:
        split = add("Reshape", linear(x, WIDTH, WIDTH), fixed(1, TOKENS, HEADS, -1, dtype=np.int64))
        return add("Transpose", split, perm=[0, 2, 1, 3])

    normed = add("LayerNormalization", "tokens", weight(WIDTH), weight(WIDTH), axis=-1)
    query, key, value = (heads(normed) for _ in range(3))
    scores = add("Mul", add("MatMul", query, add("Transpose", key, perm=[0, 1, 3, 2])), fixed((WIDTH / HEADS) ** -0.5))
    mixed = add("Transpose", add("MatMul", add("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
    x = add("Add", "tokens", linear(add("Reshape", mixed, fixed(1, TOKENS, WIDTH, dtype=np.int64)), WIDTH, WIDTH))
    wide = linear(add("LayerNormalization", x, weight(WIDTH), weight(WIDTH), axis=-1), WIDTH, 2 * WIDTH)
    curve = add("Add", add("Erf", add("Div", wide, fixed(2**0.5))), fixed(1.0))
    gelu = add("Mul", add("Mul", wide, curve), fixed(0.5))
    y = add("Add", x, linear(gelu, 2 * WIDTH, WIDTH))
    return model(nodes, {"tokens": (1, TOKENS, WIDTH)}, [y], constants)


def _convolutions(
    image: int, layers: Sequence[tuple[str, str, int, int]], joins: Mapping[str, Sequence[NodeProto]]
) -> ModelProto:
    """Convolutions from `x` to `y`, of so many channels to so many, each with the nodes that follow it; then the mean
    of `last`. With quantisers, in int8."""
    draw = np.random.default_rng(SEED)
    nodes, constants = [], {}
    for x, y, channels, filters in layers:
        weights = draw.normal(0, (9 * channels) ** -0.5, (filters, channels, 3, 3))
        constants[f"{y}_w"] = weights.astype(np.float32)
        nodes.append(node("Conv", f"{x} {y}_w", y, pads=[1, 1, 1, 1]))
        nodes += joins[y]
    nodes += [node("GlobalAveragePool", "last", "mean"), node("Flatten", "mean", "row")]
    made = model(nodes, {"image": (1, 3, image, image)}, ["row"], constants)
    return quantise(made, _feeds(made))


def quantised_stem() -> ModelProto:
    """A convolution of three channels, with more results than fit the fast memory of a cluster at once."""
    pool = node("MaxPool", "stem", "last", kernel_shape=[2, 2], strides=[2, 2])
    return _convolutions(32, [("image", "stem", 3, 64)], {"stem": [pool]})


def quantised_residual() -> ModelProto:
    """Three sums, each of what comes out of a ReLU and of what comes out of a convolution."""
    layers, joins = [("image", "stem", 3, 16)], {"stem": [node("Relu", "stem", "block0")]}
    for before, name in pairwise(("block0", "block1", "block2", "last")):
        layers += [(before, f"{name}_a", 16, 16), (f"{name}_b", f"{name}_c", 16, 16)]
        joins[f"{name}_a"] = [node("Relu", f"{name}_a", f"{name}_b")]
        joins[f"{name}_c"] = [node("Add", f"{before} {name}_c", f"{name}_sum"), node("Relu", f"{name}_sum", name)]
    return _convolutions(16, layers, joins)
