"""What a traced function of TensorFlow holds besides its operations: tensors from outside, and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from onnx import GraphProto, numpy_helper

from tilewright.errors import CompileError

CHANGES = re.compile(r"(Assign(Add|Sub)?VariableOp|ResourceScatter\w+|ResourceApply\w+)")
"""Operations that leave a variable with another value."""


def refuse_changed_variables(title: str, graph: Any) -> None:
    """Variables become constants: one that a call changes would be wrong from then on."""
    found = next((node for node in _nodes(graph) if CHANGES.fullmatch(node.op)), None)
    if found is not None:
        raise CompileError(
            title, f"changes a variable when it is called ('{found.name}', {found.op})",
            "take its value as an input and return the next one: states={input: output} keeps it between calls",
        )  # fmt: skip


def _nodes(graph: Any) -> Iterator[Any]:
    """Those of the function and of all that it calls."""
    whole = graph.as_graph_def()
    yield from whole.node
    for function in whole.library.function:
        yield from function.node_def


def fix_captured(onnx: GraphProto, graph: Any) -> None:
    """Tensors that the function took from outside, which tf2onnx makes inputs of, are constants."""
    values = {inside.name: outside for outside, inside in graph.captures if hasattr(outside, "numpy")}
    own = [value for value in onnx.input if value.name in values]
    for value in own:
        onnx.initializer.append(numpy_helper.from_array(values[value.name].numpy(), value.name))
        onnx.input.remove(value)
