"""Small ONNX models for the tests of the API, the command line and errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tilewright.types import Array

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
        nodes, "test", [helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def small() -> ModelProto:
    """y = relu(x + w) + x."""
    nodes = [node("Add", "x w", "a"), node("Relu", "a", "b"), node("Add", "b x", "y")]
    return model(nodes, {"x": (2, 3)}, ["y"], {"w": np.asarray([[1, -2, 3]], np.float32)})


def quantised_input() -> ModelProto:
    """An int8 input, its ReLU."""
    return model([node("Relu", "x", "y")], {"x": (4,)}, ["y"], dtype=TensorProto.INT8)
