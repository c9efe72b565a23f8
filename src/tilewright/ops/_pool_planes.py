"""Pools over three spatial axes: first over the planes, then along the first axis, which gives the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.errors import Refusal
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.op import Emit, Op
from tilewright.ops._compose import Compose

PER_AXIS = {"kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 0}
"""Attributes with a value for each axis, and what it is where nothing shall happen."""


def has_planes(node: OnnxNode) -> bool:
    return len(node.integer_list("kernel_shape") or ()) == 3


def pooled_planes(kind: type[Op], node: OnnxNode, emit: Emit) -> Sequence[str]:
    """The largest of the largest; and a mean of means, for how many elements count is a product over the axes."""
    make = Compose(node, emit)
    if node.rank() != 5:
        raise Refusal(f"a window over 3 axes on a tensor with {node.rank() - 2} spatial axes")
    n, c, d, h, w = node.type(0).shape
    planes = _pooled(kind, make, make.reshape(node.inputs[0], (n, c * d, h, w)), (None, 1, 2))
    height, width = make.shape(planes)[2:]
    y = _pooled(kind, make, make.reshape(planes, (n, c, d, height * width)), (0, None))
    return make.give(make.reshape(y, (n, c, make.shape(y)[2], height, width)))


def _pooled(kind: type[Op], make: Compose, x: str, axes: tuple[int | None, ...]) -> str:
    """A pool of two spatial axes with the attributes of some of the three; None is none of them."""
    chosen = axes[-2:]
    node = make.node
    rest = {name: value for name, value in node.attributes.items() if name not in PER_AXIS}
    found = {
        name: _chosen(node.attributes[name], chosen, PER_AXIS[name]) for name in PER_AXIS if name in node.attributes
    }
    node.ignore(*node.attributes)
    part = replace(
        node, inputs=(x,), outputs=("",), types=(make.kind(x),), constants=(None,), attributes={**rest, **found}
    )
    op, _ = kind.from_onnx(part)
    return make(op, x)


def _chosen(values: Any, axes: tuple[int | None, ...], nothing: int) -> list[int]:
    """Of a value for each of three axes, or for the start and the end of each."""
    parts = [values[at : at + 3] for at in range(0, len(values), 3)]
    return [nothing if axis is None else part[axis] for part in parts for axis in axes]
