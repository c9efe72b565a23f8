"""Small ONNX models that tests build for themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tilewright.ir.types import Array

Shape = Sequence[int | str | None]


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """`node("Add", "x w", "y")`; a dash is an absent input."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(kind, names, outputs.split(), name=attributes.pop("name", outputs.split()[0]), **attributes)


def model(
    nodes: Sequence[NodeProto], inputs: Mapping[str, Shape], outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None, dtype: int = TensorProto.FLOAT, opset: int = 17,
) -> ModelProto:  # fmt: skip
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def small() -> ModelProto:
    """y = relu(x + w) + x."""
    nodes = [node("Add", "x w", "a"), node("Relu", "a", "b"), node("Add", "b x", "y")]
    return model(nodes, {"x": (2, 3)}, ["y"], {"w": np.asarray([[1, -2, 3]], np.float32)})


def quantised_input() -> ModelProto:
    """An int8 input, its ReLU."""
    return model([node("Relu", "x", "y")], {"x": (4,)}, ["y"], dtype=TensorProto.INT8)


def residual() -> ModelProto:
    """Conv, Relu, Conv, a shortcut, Relu, pooling, Gemm: two branches and a view."""
    random = np.random.default_rng(1)

    def weights(*shape: int) -> Array:
        return random.normal(0, 0.3, shape).astype(np.float32)

    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["c1"], "stem", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], "stem/relu"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], "body", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["sum"], "shortcut"),
        helper.make_node("Relu", ["sum"], ["r2"], "out/relu"),
        helper.make_node("GlobalAveragePool", ["r2"], ["pool"], "pool"),
        helper.make_node("Flatten", ["pool"], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "w3", "b3"], ["scores"], "classifier", transB=1),
    ]
    constants = {
        "w1": weights(4, 3, 3, 3),
        "b1": weights(4),
        "w2": weights(4, 4, 3, 3),
        "w3": weights(5, 4),
        "b3": weights(5),
    }
    return model(nodes, {"image": [1, 3, 8, 8]}, ["scores"], constants)
