"""Geometry that convolutions and pools share: strides, dilations, pads, auto_pad."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import Refusal
from tilewright.ir.affine import Affine, Span
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.types import Shape

Padding = tuple[int, ...]
"""ONNX order: all the starts, then all the ends."""


def window_axis(out: Affine, tap: Affine, stride: int, dilation: int, before: int) -> Affine:
    """Where a sliding window reads: output position and kernel tap give an input position."""
    return out * stride + tap * dilation - before


def read_strides(node: OnnxNode, rank: int) -> tuple[Shape, Shape]:
    """Strides and dilations of an ONNX node."""
    strides = tuple(node.attribute("strides", (1,) * rank))
    dilations = tuple(node.attribute("dilations", (1,) * rank))
    if len(strides) != rank or len(dilations) != rank:
        raise Refusal(f"strides {strides} and dilations {dilations} do not fit {rank} spatial axes")
    if min((*strides, *dilations), default=1) < 1:
        raise Refusal(f"strides {strides} and dilations {dilations} must be at least 1")
    return strides, dilations


def read_pads(node: OnnxNode, rank: int) -> Padding:
    pads = tuple(node.attribute("pads", (0,) * (2 * rank)))
    if len(pads) != 2 * rank:
        raise Refusal(f"pads {pads} do not fit {rank} spatial axes")
    if min(pads, default=0) < 0:
        raise Refusal(f"negative pads {pads} are not supported", "put a Slice before the node instead")
    return pads


def read_window(node: OnnxNode, kernel: Sequence[int], spatial: Shape) -> tuple[Shape, Shape, Padding]:
    """Strides, dilations and explicit pads of an ONNX node, `auto_pad` resolved."""
    rank = len(kernel)
    if len(spatial) != rank:
        raise Refusal(f"a window over {rank} axes on a tensor with {len(spatial)} spatial axes")
    strides, dilations = read_strides(node, rank)
    pads, mode = read_pads(node, rank), node.attribute("auto_pad", "NOTSET")
    if mode == "VALID":
        return strides, dilations, (0,) * (2 * rank)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        return strides, dilations, same_padding(spatial, kernel, strides, dilations, mode == "SAME_UPPER")
    if mode != "NOTSET":
        raise Refusal(f"auto_pad {mode} is unknown", "use NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    return strides, dilations, pads


def same_padding(
    spatial: Shape, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], upper: bool
) -> Padding:
    """Pads that make the output ceil(input / stride) long; the odd element goes to the end if `upper`."""
    starts, ends = [], []
    for size, taps, stride, dilation in zip(spatial, kernel, strides, dilations, strict=True):
        total = max((-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
        less, more = total // 2, total - total // 2
        starts.append(less if upper else more)
        ends.append(more if upper else less)
    return (*starts, *ends)


def pad_spans(padding: Padding) -> list[Span]:
    """(before, after) of each spatial axis."""
    rank = len(padding) // 2
    return [(padding[i], padding[rank + i]) for i in range(rank)]
