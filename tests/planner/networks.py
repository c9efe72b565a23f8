"""Small networks that are awkward to plan: odd sizes, shared tensors, views, scalars, nothing at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import ModelProto, TensorProto

from tests.support import dialect
from tests.support.models import model, node, residual
from tests.support.quantiser import quantise
from tilewright.ir.types import Array


def _array(dtype: str, *shape: int) -> Array:
    random = np.random.default_rng(sum(shape) + len(dtype))
    if dtype == "float32":
        return random.normal(0, 0.5, shape).astype(np.float32)
    return random.integers(-100, 100, shape).astype(dtype)


def odd_sizes() -> ModelProto:
    """A padded, strided convolution with prime sizes, then one that is depthwise."""
    nodes = [
        node("Conv", "x w b", "c", pads=[2, 1, 0, 3], strides=[2, 1]),
        node("Relu", "c", "r"),
        node("Conv", "r d", "y", pads=[1, 1, 1, 1], group=7),
    ]
    constants = {"w": _array("float32", 7, 5, 3, 3), "b": _array("float32", 7), "d": _array("float32", 7, 1, 3, 3)}
    return model(nodes, {"x": (1, 5, 13, 11)}, ["y"], constants)


def lopsided_padding() -> ModelProto:
    """Far more padding on one side than on the other: no window at an end or in the middle is the largest."""
    constants = {"w": _array("float32", 3, 2, 11, 3)}
    return model([node("Conv", "x w", "y", pads=[5, 1, 10, 1])], {"x": (1, 2, 12, 9)}, ["y"], constants)


def other_parameters_in_every_tile() -> ModelProto:
    """A triangle is cut off, and many rows see padding: few tiles have the same parameters."""
    nodes = [node("Trilu", "x", "t", upper=1), node("Conv", "t w", "y", pads=[6, 6, 6, 6])]
    return model(nodes, {"x": (1, 1, 15, 17)}, ["y", "t"], {"w": _array("float32", 2, 1, 13, 13)})


def broadcasts() -> ModelProto:
    nodes = [
        node("Add", "x row", "a"),
        node("Mul", "a column", "b"),
        node("Sub", "b one", "c"),
        node("Mul", "c x", "y"),
    ]
    constants = {"row": _array("float32", 37), "column": _array("float32", 29, 1), "one": np.float32(0.25)}
    return model(nodes, {"x": (3, 29, 37)}, ["y"], constants)


def same_operand_twice() -> ModelProto:
    nodes = [node("Add", "x x", "a"), node("Mul", "a a", "b"), node("MatMul", "b b", "y")]
    return model(nodes, {"x": (24, 24)}, ["y"])


def many_readers() -> ModelProto:
    """One tensor is read at once, later and much later, and is an output too."""
    nodes = [
        node("Relu", "x", "a"), node("Neg", "a", "b"), node("Abs", "b", "c"), node("Add", "a c", "d"),
        node("Sqrt", "c", "e"), node("Sub", "a e", "f"), node("Add", "d f", "y"),
    ]  # fmt: skip
    return model(nodes, {"x": (31, 33)}, ["y", "a", "d"])


def joined() -> ModelProto:
    """Concats of inputs, of constants, of the same tensor twice, of each other, and of what others read too."""
    nodes = [
        node("Relu", "x", "a"), node("Concat", "a x a k", "c", axis=1), node("Neg", "x", "b"),
        node("Concat", "b a", "d", axis=0), node("Concat", "c c", "e", axis=0), node("Abs", "e", "y"),
        node("Transpose", "d", "z", perm=[1, 0]), node("Add", "a b", "w"),
    ]  # fmt: skip
    return model(nodes, {"x": (17, 19)}, ["y", "z", "w", "c"], {"k": _array("float32", 17, 3)})


def joined_after_upsampling() -> ModelProto:
    """As in a network for segmentation: what makes the Concat's operands cannot be cut."""
    nodes = [
        node("ConvTranspose", "x w", "a", strides=[2, 2], dilations=[2, 2]),
        node("Concat", "a y", "c", axis=1),
        node("Relu", "c", "z"),
    ]
    return model(nodes, {"x": (1, 4, 9, 9), "y": (1, 3, 19, 19)}, ["z"], {"w": _array("float32", 4, 5, 2, 2)})


def joined_in_little_room() -> ModelProto:
    """Where L1 is small, no tile of the Concat's operands fits, and in L2 their rows would have to be apart."""
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1]),
        node("Softmax", "a", "s", axis=1),
        node("Concat", "a s x", "c", axis=1),
        node("Conv", "c v", "y"),
    ]
    constants = {"w": _array("float32", 130, 40, 3, 3), "v": _array("float32", 3, 300, 1, 1)}
    return model(nodes, {"x": (1, 40, 4, 3)}, ["y"], constants)


def parts() -> ModelProto:
    """Several results of one node, of which one is not read."""
    nodes = [
        node("Split", "x", "a b c", axis=1, num_outputs=3),
        node("Add", "a c", "y"),
        node("Slice", "x from to axes steps", "z"),
    ]
    constants = {
        "from": np.array([1, 2]), "to": np.array([18, 30]), "axes": np.array([0, 1]), "steps": np.array([3, 2])
    }  # fmt: skip
    return model(nodes, {"x": (20, 33)}, ["y", "z"], constants, opset=18)


def only_views() -> ModelProto:
    nodes = [node("Reshape", "x shape", "a"), node("Unsqueeze", "a axes", "y")]
    return model(nodes, {"x": (4, 6)}, ["y"], {"shape": np.array([2, 12]), "axes": np.array([1])})


def outputs_that_are_inputs() -> ModelProto:
    nodes = [node("Identity", "x", "y"), node("Relu", "x", "z"), node("Identity", "k", "w")]
    return model(nodes, {"x": (5, 7)}, ["y", "z", "w", "x"], {"k": _array("float32", 3)})


def scalars() -> ModelProto:
    nodes = [node("ReduceSum", "x", "s", keepdims=0), node("Mul", "s half", "t"), node("Add", "x t", "y")]
    return model(nodes, {"x": (6, 50)}, ["y", "t"], {"half": np.float32(0.5)})


def nothing_in_it() -> ModelProto:
    nodes = [node("Relu", "x", "a"), node("Concat", "a k", "b", axis=0), node("Neg", "b", "y"), node("Abs", "a", "z")]
    return model(nodes, {"x": (0, 5)}, ["y", "z"], {"k": _array("float32", 4, 5)})


def wide_integers() -> ModelProto:
    """int64 and bool, copied between the memories."""
    nodes = [
        node("Add", "x k", "a"), node("Greater", "a k", "g"), node("Not", "g", "n"), node("Where", "n x a", "w"),
        node("Gather", "w at", "y", axis=1),
    ]  # fmt: skip
    constants = {"k": _array("int64", 23), "at": np.array([5, 0, 22, 5])}
    return model(nodes, {"x": (19, 23)}, ["y", "g"], constants, dtype=TensorProto.INT64)


def leftovers() -> ModelProto:
    """Channels and columns of which one is left over by tiles of four."""
    nodes = [
        node("QLinearConv", "x xs xz w ws wz ys yz b", "c", group=33, strides=[2, 2], pads=[1, 0, 0, 1]),
        node("DequantizeLinear", "c ys yz", "d"), node("Flatten", "d", "f"), node("QuantizeLinear", "f ys yz", "q"),
        node("QLinearMatMul", "q ys yz m ws wz zs yz", "y"),
    ]  # fmt: skip
    constants = {
        "xs": np.float32(0.02), "xz": np.uint8(122), "w": _array("int8", 33, 1, 3, 3), "ws": np.float32(0.01),
        "wz": np.int8(0), "ys": np.float32(0.04), "yz": np.uint8(100), "b": _array("int32", 33),
        "m": _array("int8", 1320, 37), "zs": np.float32(0.9),
    }  # fmt: skip
    return model(nodes, {"x": (1, 33, 11, 17)}, ["y"], constants, dtype=TensorProto.UINT8)


def normalised() -> ModelProto:
    """Rows that may not be cut, attention's products, and heads that are transposed."""
    nodes = [
        node("LayerNormalization", "x scale bias", "n", axis=-1), node("MatMul", "n w", "q"),
        node("Reshape", "q heads", "h"), node("Transpose", "h", "t", perm=[1, 0, 2]),
        node("Transpose", "h", "u", perm=[1, 2, 0]), node("MatMul", "t u", "s"), node("Softmax", "s", "p", axis=-1),
        node("MatMul", "p t", "o"), node("Transpose", "o", "r", perm=[1, 0, 2]), node("Reshape", "r flat", "f"),
        node("Add", "f x", "y"),
    ]  # fmt: skip
    constants = {
        "scale": _array("float32", 36), "bias": _array("float32", 36), "w": _array("float32", 36, 36),
        "heads": np.array([21, 3, 12]), "flat": np.array([21, 36]),
    }  # fmt: skip
    return model(nodes, {"x": (21, 36)}, ["y"], constants)


def _quantised(made: ModelProto) -> ModelProto:
    feeds = {value.name: _array("float32", *(d.dim_value for d in value.type.tensor_type.shape.dim))
             for value in made.graph.input}  # fmt: skip
    return quantise(made, feeds)


def quantised_residual() -> ModelProto:
    return _quantised(residual())


def quantised_convolutions() -> ModelProto:
    return _quantised(odd_sizes())


def long_sums() -> ModelProto:
    """Where L1 is small, not even one row and one column of these factors fit."""
    nodes = [node("MatMul", "x w", "a"), node("Conv", "z k", "c", pads=[1, 1, 1, 1])]
    constants = {"w": _array("float32", 1100, 5), "k": _array("float32", 2, 120, 3, 3)}
    return _quantised(model(nodes, {"x": (2, 1100), "z": (1, 120, 3, 2)}, ["a", "c"], constants))


def narrow_products() -> ModelProto:
    """Products of one row and of few columns, which whole words do not divide."""
    nodes = [node("MatMul", "x w", "a"), node("MatMul", "a v", "b"), node("MatMul", "z w", "c")]
    constants = {"w": _array("float32", 64, 70), "v": _array("float32", 70, 13)}
    return _quantised(model(nodes, {"x": (1, 64), "z": (19, 64)}, ["b", "c"], constants))


def branches() -> ModelProto:
    """Products and convolutions that do not depend on each other, with work for cores between them."""
    nodes = [
        node("MatMul", "x q", "a"), node("Sigmoid", "a", "s"), node("MatMul", "x k", "b"), node("Mul", "s b", "m"),
        node("MatMul", "x v", "c"), node("Tanh", "b", "t"), node("Add", "t c", "d"), node("Mul", "d m", "y"),
    ]  # fmt: skip
    return _quantised(model(nodes, {"x": (30, 48)}, ["y"], {name: _array("float32", 48, 40) for name in "qkv"}))


def gates() -> ModelProto:
    """The same in the integer dialect, whose results an NPU makes by itself."""
    made = dialect.Model(3, {"x": _array("int8", 1, 72, 128)})
    gate, up, rest = (made.linear("x", 110) for _ in range(3))
    curve = dialect.hardswish(made.values[gate], 60, 120, 11)
    gate = made.requant(made.node("iHardswish", [gate], curve, three=60, six=120, one_over_six=11))
    gated = made.requant(made.node("Mul", [gate, up], made.values[gate] * made.values[up]))
    return made.proto(made.linear(made.requant(made.add(gated, rest)), 10))


def windows() -> ModelProto:
    """Convolutions of every kind that an accelerator might take, and some that it might not."""
    nodes = [
        node("Conv", "x a", "c0", pads=[1, 1, 1, 1]), node("Relu", "c0", "r0"),
        node("Conv", "r0 b", "c1", pads=[1, 1, 1, 1], group=34), node("Relu", "c1", "r1"),
        node("Conv", "r1 c", "c2"), node("Conv", "c2 d", "c3", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", "c3", "r3"), node("Conv", "r3 e", "c4", strides=[2, 2]),
        node("Conv", "r3 f", "c5", pads=[2, 2, 2, 2], dilations=[2, 2]),
    ]  # fmt: skip
    constants = {
        "a": _array("float32", 34, 3, 3, 3), "b": _array("float32", 34, 1, 3, 3), "c": _array("float32", 37, 34, 1, 1),
        "d": _array("float32", 30, 37, 3, 3), "e": _array("float32", 33, 30, 1, 1), "f": _array("float32", 8, 30, 3, 3),
    }  # fmt: skip
    return _quantised(model(nodes, {"x": (2, 3, 11, 9)}, ["c4", "c5"], constants))


def large_windows() -> ModelProto:
    """Windows that a core gathers for an NPU, whose results it makes by itself."""
    made = dialect.Model(5, {"x": _array("int8", 1, 8, 30, 30)})
    return made.proto(made.requant(made.conv("x", 32, 5, 1), (32, 1, 1)))


def many_inputs_and_outputs() -> ModelProto:
    """More than registers can pass to a function."""
    count = 14
    nodes = [node("Conv", f"x{i} w", f"y{i}", pads=[1, 1, 1, 1]) for i in range(count)]
    return model(
        nodes, {f"x{i}": (1, 2, 5, 5) for i in range(count)}, [f"y{i}" for i in range(count)],
        {"w": _array("float32", 3, 2, 3, 3)},
    )  # fmt: skip


def large_constants() -> ModelProto:
    """Three products, each with a matrix of 250 kB."""
    nodes = [node("MatMul", f"x{i} w{i}", f"x{i + 1}") for i in range(3)]
    return model(nodes, {"x0": (1, 250)}, ["x3"], {f"w{i}": _array("float32", 250, 250) for i in range(3)})


def large_tables() -> ModelProto:
    """Three tables of 250 kB, of which only a whole can be staged."""
    nodes = [node("Gather", f"t{i} at", f"y{i}") for i in range(3)]
    tables = {f"t{i}": _array("float32", 62_500 + i) for i in range(3)}
    return model(nodes, {"at": (5,)}, ["y0", "y1", "y2"], tables, dtype=TensorProto.INT64)


def cached() -> ModelProto:
    """A token's row is appended to those of the tokens before, head by head, for the caller and for this token."""
    nodes = [
        node("MatMul", "x w", "row"),
        node("Concat", "cache row", "rows", axis=1),
        node("Relu", "x", "q"),
        node("MatMul", "q m", "scores"),
        node("MatMul", "scores rows", "y"),
        node("Concat", "older y", "kept", axis=0),
        node("Neg", "kept", "z"),
    ]
    constants = {"w": _array("float32", 6, 4), "m": _array("float32", 6, 10)}
    return model(nodes, {"x": (4, 1, 6), "cache": (4, 9, 4), "older": (3, 1, 4)}, ["rows", "y", "kept", "z"], constants)


NETWORKS: dict[str, Callable[[], ModelProto]] = {
    make.__name__: make
    for make in (
        residual, odd_sizes, lopsided_padding, other_parameters_in_every_tile, broadcasts, same_operand_twice,
        many_readers, joined, joined_after_upsampling, joined_in_little_room, parts, only_views,
        outputs_that_are_inputs, scalars, nothing_in_it,
        wide_integers, normalised, quantised_residual, quantised_convolutions, long_sums, narrow_products,
        many_inputs_and_outputs, leftovers, branches, gates, windows, large_windows, cached,
    )
}  # fmt: skip
