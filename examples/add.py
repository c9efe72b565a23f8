"""Builds the smallest network there is, one addition of int8 tensors: python add.py add.onnx"""

from __future__ import annotations

import sys

import onnx
from onnx import TensorProto, helper

SHAPE = [64, 256]


def build() -> onnx.ModelProto:
    a, b, y = (helper.make_tensor_value_info(name, TensorProto.INT8, SHAPE) for name in "aby")
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"], "sum")], "add", [a, b], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "add.onnx"
    onnx.save(build(), path)
    print(f"wrote {path}")
