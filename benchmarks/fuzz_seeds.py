"""Sound models to damage: small ones that between them use most of the importer, and the networks at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper, parser

MAX_BYTES = 60_000
"""Larger networks are left out: a case should take milliseconds."""


def seeds(with_networks: bool = True) -> list[tuple[str, bytes]]:
    built = [(name, make().SerializeToString()) for name, make in BUILDERS.items()]
    return built + (_networks() if with_networks else [])


def _networks() -> list[tuple[str, bytes]]:
    default = Path(__file__).parents[2] / "shared" / "networks"
    root = Path(os.environ.get("TILEWRIGHT_NETWORKS", default))
    paths = [path for path in sorted(root.rglob("*.onnx")) if path.stat().st_size <= MAX_BYTES]
    return [(path.parent.name, path.read_bytes()) for path in paths]


def _convolutions() -> ModelProto:
    nodes = [
        _node("Conv", "x w b", "c", strides=[2, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
        _node("BatchNormalization", "c s s s s", "n"), _node("Relu", "n", "r"),
        _node("Conv", "r d", "e", group=4, auto_pad="SAME_UPPER"), _node("Add", "e r", "a"),
        _node("MaxPool", "a", "m", kernel_shape=[2, 2]), _node("GlobalAveragePool", "m", "g"),
        _node("Flatten", "g", "f"), _node("Gemm", "f k", "y", transB=1),
    ]  # fmt: skip
    constants = {
        "w": _floats(4, 3, 3, 3),
        "b": _floats(4),
        "s": np.abs(_floats(4)),
        "d": _floats(4, 1, 3, 3),
        "k": _floats(5, 4),
    }
    return _model(nodes, {"x": (1, 3, 8, 8)}, ["y"], constants)


def _shapes() -> ModelProto:
    nodes = [
        _node("Shape", "x", "s"), _node("Gather", "s zero", "n", axis=0), _node("Unsqueeze", "n zero1", "u"),
        _node("Concat", "u minus", "t", axis=0), _node("Reshape", "x t", "r"), _node("Transpose", "r", "p", perm=[1,
        0]),
        _node("Slice", "p zero1 two zero1", "q"), _node("Pad", "q pads", "d"), _node("Expand", "d shape", "e"),
        _node("Split", "e", "f g", axis=0, num_outputs=2), _node("Tile", "f two2", "h"), _node("ReduceMean", "h", "y",
        keepdims=0),
        _node("ConstantOfShape", "two", "ones"), _node("Squeeze", "g", "z"), _node("Range", "zero three one", "v"),
    ]  # fmt: skip
    constants = {
        "zero": _ints(0).reshape(()), "zero1": _ints(0), "minus": _ints(-1), "two": _ints(2), "pads": _ints(0, 1, 0, 1),
        "shape": _ints(2, 1, 1), "two2": _ints(1, 2, 1), "three": _ints(3).reshape(()), "one": _ints(1).reshape(()),
    }  # fmt: skip
    return _model(nodes, {"x": (2, 3, 4)}, ["y", "z", "ones", "v"], constants)


def _attention() -> ModelProto:
    nodes = [
        _node("LayerNormalization", "x s b", "n"), _node("MatMul", "n w", "q"), _node("Transpose", "q", "t", perm=[0,
        2, 1]),
        _node("MatMul", "q t", "a"), _node("Mul", "a scale", "m"), _node("Softmax", "m", "p", axis=-1),
        _node("MatMul", "p q", "v"), _node("Gelu", "v", "g"), _node("Add", "g x", "r"), _node("Where", "mask r x", "c"),
        _node("ArgMax", "c", "i", axis=2), _node("Clip", "c low high", "y"), _node("Resize", "c4 - sizes", "z",
        mode="linear"),
        _node("Unsqueeze", "c zero", "c4"),
    ]  # fmt: skip
    constants = {
        "s": _floats(8), "b": _floats(8), "w": _floats(8, 8), "scale": _floats(1), "mask": _floats(1, 4, 8) > 0,
        "low": np.float32(-1).reshape(()), "high": np.float32(1).reshape(()), "zero": _ints(0),
        "sizes": np.asarray([1, 1, 2, 2], np.float32),
    }  # fmt: skip
    return _model(nodes, {"x": (1, 4, 8)}, ["y", "i", "z"], constants)


def _quantised() -> ModelProto:
    nodes = [
        _node("QuantizeLinear", "x xs xz", "xq"), _node("DequantizeLinear", "xq xs xz", "xd"),
        _node("DequantizeLinear", "w ws wz", "wd", axis=0), _node("DequantizeLinear", "b bs", "bd"),
        _node("Conv", "xd wd bd", "c"), _node("Relu", "c", "r"), _node("QuantizeLinear", "r xs xz", "rq"),
        _node("DequantizeLinear", "rq xs xz", "y"),
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    constants = {
        "xs": np.float32(0.05).reshape(()), "xz": np.uint8(128).reshape(()),
        "w": rng.integers(-127, 128, (2, 3, 1, 1)).astype(np.int8), "ws": np.asarray([0.01, 0.02], np.float32),
        "wz": np.zeros(2, np.int8), "b": np.asarray([3, -5], np.int32), "bs": np.float32(0.0005).reshape(()),
    }  # fmt: skip
    return _model(nodes, {"x": (1, 3, 4, 4)}, ["y"], constants)


def _integers() -> ModelProto:
    nodes = [
        _node("Conv", "x w", "c", pads=[1, 1, 1, 1]), _node("RequantShift", "c mul add", "q", div=256, n_levels=256,
        signed=1),
        _node("Relu", "q", "r"), _node("Flatten", "r", "f"), _node("MatMul", "f k", "m"),
        _node("RequantShift", "m mul1 add1", "s", div=64, n_levels=256, signed=1), _node("iSoftmax", "s", "y",
        **_SOFTMAX),
    ]  # fmt: skip
    rng = np.random.default_rng(2)
    constants = {
        "w": rng.integers(-8, 8, (2, 3, 3, 3)), "mul": rng.integers(1, 90, (1, 2, 1, 1)), "add": rng.integers(0, 9,
        (1, 2, 1, 1)),
        "k": rng.integers(-8, 8, (32, 5)), "mul1": np.asarray([7]), "add1": np.asarray([3]),
    }  # fmt: skip
    return _model(nodes, {"x": (1, 3, 4, 4)}, ["y"], {name: a.astype(np.float32) for name, a in constants.items()})


def _recurrent() -> ModelProto:
    nodes = [
        _node("LSTM", "x w r b n", "l h c", hidden_size=4, direction="bidirectional"),
        _node("GRU", "x w3 r3", "g", hidden_size=4, linear_before_reset=1), _node("Concat", "l g", "y", axis=1),
    ]  # fmt: skip
    constants = {"w": _floats(2, 16, 3), "r": _floats(2, 16, 4), "b": _floats(2, 32), "w3": _floats(1, 12, 3)}
    constants |= {"r3": _floats(1, 12, 4), "n": np.array([3, 5], np.int32)}
    return _model(nodes, {"x": (5, 2, 3)}, ["y", "h", "c"], constants)


def _control_flow() -> ModelProto:
    """A loop whose iterations decide which branch they take."""
    names = ("float[1, 4] a", "float[1, 4] b")
    branches = ", ".join(
        f"{which}_branch = {which} () => ({name}) {{ {name[-1]} = {kind}(next) }}"
        for which, name, kind in zip(("then", "else"), names, ("Neg", "Relu"), strict=True)
    )
    return parser.parse_model(f"""
    <ir_version: 8, opset_import: ["": 17]>
    g (float[1, 4] x) => (float[1, 4] y, float[3, 1, 4] s) {{
      trips = Constant <value = int64 {{3}}> ()
      y, s = Loop (trips, , x) <
      body = b (int64 i, bool c, float[1, 4] h) => (bool d, float[1, 4] next, float[1, 4] o) {{
        d = Identity(c)
        next = Add(h, x)
        one = Constant <value = int64 {{1}}> ()
        late = Less(one, i)
        o = If (late) <{branches}>
      }}>
    }}""")


_SOFTMAX = {"log2": 6, "coeffA": 3, "coeffB": 9, "coeffC": 40, "n_levels": 256}

BUILDERS = {
    "convolutions": _convolutions, "shapes": _shapes, "attention": _attention, "quantised": _quantised,
    "integers": _integers, "recurrent": _recurrent, "control_flow": _control_flow,
}  # fmt: skip


def _node(kind: str, inputs: str, outputs: str, **attributes: object) -> NodeProto:
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(kind, names, outputs.split(), name=f"{kind}_{outputs.split()[0]}", **attributes)


def _model(
    nodes: list[NodeProto], inputs: dict[str, tuple[int, ...]], outputs: list[str], constants: dict[str, np.ndarray]
) -> ModelProto:
    graph = helper.make_graph(
        nodes, "seed", [helper.make_tensor_value_info(name, 1, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, 1, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def _ints(*values: int) -> np.ndarray:
    return np.asarray(values, np.int64)
