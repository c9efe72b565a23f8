"""Quantisers of whole graphs quantise the value of a border too; it is a constant all the same."""

from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw

CONSTANTS = {
    "scale": np.float32(0.1),
    "zero": np.int8(3),
    "border": np.int8(7),
    "pads": np.array([0, 0, 1, 2, 0, 0, 1, 1], np.int64),
}


def test_pad() -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "scale", "zero"], ["xd"]),
        helper.make_node("DequantizeLinear", ["border", "scale", "zero"], ["value"]),
        helper.make_node("Pad", ["xd", "pads", "value"], ["padded"]),
        helper.make_node("QuantizeLinear", ["padded", "scale", "zero"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "scale", "zero"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")
    x.type.tensor_type.shape.CopyFrom(helper.make_tensor_type_proto(1, (1, 2, 4, 5)).tensor_type.shape)
    constants = [numpy_helper.from_array(value, name) for name, value in CONSTANTS.items()]
    graph = helper.make_graph(nodes, "padded", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    feeds = {"x": np.random.default_rng(1).normal(size=(1, 2, 4, 5)).astype(np.float32)}
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    program = tw.compile(model)
    assert [layer.operator for layer in program.analysis.layers] == ["QuantizeLinear", "Pad", "DequantizeLinear"]
    np.testing.assert_array_equal(program.run(feeds).outputs["y"], wanted)
