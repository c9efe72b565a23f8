"""Operations of TensorFlow that tf2onnx lacks, or takes for others, as operators of ONNX.

A complex tensor is a real one with an axis more, the last, of both parts: as ONNX has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TAKES_COMPLEX = frozenset({"Real", "Imag", "ComplexAbs"})
"""What may read a spectrum: other operations would take the axis of both parts for one of the tensor's own."""


def _erfc(context: Any, node: Any, name: str, arguments: Any) -> None:
    """1 - erf(x): ONNX has only that one."""
    one = context.make_const(f"{name}_one", np.asarray(1, np.float32)).output[0]
    erf = context.make_node("Erf", [node.input[0]], name=f"{name}_erf").output[0]
    _replace(context, node, "Sub", [one, erf])


def _expm1(context: Any, node: Any, name: str, arguments: Any) -> None:
    one = context.make_const(f"{name}_one", np.asarray(1, np.float32)).output[0]
    power = context.make_node("Exp", [node.input[0]], name=f"{name}_exp").output[0]
    _replace(context, node, "Sub", [power, one])


def _replace(context: Any, node: Any, kind: str, inputs: list[str], **attributes: object) -> None:
    """A node of that kind in the place of another."""
    results, shapes, dtypes = list(node.output), node.output_shapes, node.output_dtypes
    context.remove_node(node.name)
    context.make_node(kind, inputs, attributes, outputs=results, name=node.name, shapes=shapes, dtypes=dtypes)


def _rfft(context: Any, node: Any, name: str, arguments: Any) -> None:
    """Left as it is, and so refused, where its length or what is done with it is not known."""
    readers = {reader.type for reader in context.find_output_consumers(node.output[0])}
    shape = context.get_shape(node.input[0])
    if not node.inputs[1].is_const() or not readers <= TAKES_COMPLEX or shape is None:
        return
    last = context.make_const(f"{name}_last", np.asarray([len(shape)], np.int64)).output[0]
    length = np.asarray(node.inputs[1].get_tensor_value(as_list=False), np.int64).reshape(())
    points = context.make_const(f"{name}_points", length).output[0]
    parts = context.make_node("Unsqueeze", [node.input[0], last], name=f"{name}_parts").output[0]
    results = list(node.output)
    context.remove_node(node.name)
    context.make_node("DFT", [parts, points], {"axis": len(shape) - 1, "onesided": 1}, outputs=results, name=name)


def _part(which: int) -> Callable[..., None]:
    def handler(context: Any, node: Any, name: str, arguments: Any) -> None:
        if node.inputs[0].type == "DFT":
            index = context.make_const(f"{name}_index", np.asarray(which, np.int64)).output[0]
            _replace(context, node, "Gather", [node.input[0], index], axis=-1)

    return handler


def _magnitude(context: Any, node: Any, name: str, arguments: Any) -> None:
    """Of a spectrum that tf2onnx has made, as tf2onnx has it."""
    from tf2onnx.onnx_opset.signal import ComplexAbsOp

    if node.inputs[0].type != "DFT":
        ComplexAbsOp.version_13(context, node)
        return
    axes = context.make_const(f"{name}_axes", np.asarray([-1], np.int64)).output[0]
    _replace(context, node, "ReduceL2", [node.input[0], axes], keepdims=0)


def _bitcast(context: Any, node: Any, name: str, arguments: Any) -> None:
    """Keras asks for the sign of a zero in argmax; tf2onnx leaves TensorFlow's node as it is."""
    _replace(context, node, "BitCast", list(node.input), to=node.get_attr_int("type"))


def _select(context: Any, node: Any, name: str, arguments: Any) -> None:
    """By Where: tf2onnx would multiply with 0 and 1, so that what is not selected makes NaN of the result."""
    from tf2onnx.onnx_opset.controlflow import Select

    node.set_attr("handles_nan", 1)
    Select.version_9(context, node)


HANDLERS: dict[str, tuple[Callable[..., None], list[Any]]] = {
    "Erfc": (_erfc, []), "Expm1": (_expm1, []), "Bitcast": (_bitcast, []), "Select": (_select, []),
    "SelectV2": (_select, []), "RFFT": (_rfft, []), "Real": (_part(0), []), "Imag": (_part(1), []),
    "ComplexAbs": (_magnitude, []),
}  # fmt: skip
