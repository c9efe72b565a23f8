"""Quantised constants of 4 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import ml_dtypes
import numpy as np
from onnx import NodeProto

from tilewright.ir.types import Array

SHORT = {"int8": (np.dtype(ml_dtypes.int4), -8, 7), "uint8": (np.dtype(ml_dtypes.uint4), 0, 15)}
"""What bytes are stored as, and the values that fit."""


def shortened(
    nodes: Iterable[NodeProto], constants: Mapping[str, Array], fresh: Callable[[str], str]
) -> tuple[list[NodeProto], dict[str, Array]]:
    """Constants that DequantizeLinear alone reads, and whose values and zero points all fit, in 4 bits."""
    nodes, values = list(nodes), dict(constants)
    readers = _readers(nodes)
    return [_short(node, values, fresh) if _fits(node, constants, readers) else node for node in nodes], values


def _short(node: NodeProto, values: dict[str, Array], fresh: Callable[[str], str]) -> NodeProto:
    """The node with shorter operands. The zero points, which others may read, are a constant of their own."""
    stored, _, zero = node.input
    kind = SHORT[values[stored].dtype.name][0]
    short = NodeProto()
    short.CopyFrom(node)
    short.input[2] = fresh(f"{zero}_{kind.name}")
    values[short.input[2]] = values[zero].astype(kind)
    values[stored] = values[stored].astype(kind)
    return short


def _readers(nodes: Iterable[NodeProto]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        for position, name in enumerate(node.input):
            found.setdefault(name, []).append(f"{node.op_type}:{position}")
    return found


def _fits(node: NodeProto, constants: Mapping[str, Array], readers: Mapping[str, list[str]]) -> bool:
    if node.op_type != "DequantizeLinear" or len(node.input) != 3:
        return False
    stored, _, zero = node.input
    if stored not in constants or zero not in constants or readers[stored] != ["DequantizeLinear:0"]:
        return False
    if constants[stored].dtype.name not in SHORT:
        return False
    _, low, high = SHORT[constants[stored].dtype.name]
    return all(bool(np.all((array >= low) & (array <= high))) for array in (constants[stored], constants[zero]))
