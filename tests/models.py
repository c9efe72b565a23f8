"""Small ONNX models that tests build for themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tilewright.types import Array


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    """Float inputs of the given shapes, outputs of any type."""
    graph = helper.make_graph(
        list(nodes), "small",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def residual() -> onnx.ModelProto:
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
