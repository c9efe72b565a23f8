"""Convolutions with a window, or with strides, as N-EUREKA takes them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.graph import Graph, Node
from tilewright.ir.types import Array, Shape, Shapes
from tilewright.ops._windows import pair
from tilewright.ops.conv import Conv
from tilewright.target.target import Offer
from tilewright.targets.hwpe.conv import WINDOW, NeurekaConv
from tilewright.targets.hwpe.encoding import ONE_TAP, TAPS, depthwise_words, window_words
from tilewright.targets.hwpe.gathered import NeurekaGathered
from tilewright.targets.hwpe.jobs import DENSE, DEPTHWISE, POINTWISE
from tilewright.targets.hwpe.op import BY_NPU
from tilewright.targets.hwpe.parts import MOST_PARTS, NeurekaParts, part_words
from tilewright.targets.hwpe.results import named, results
from tilewright.targets.hwpe.sums import Sums
from tilewright.targets.hwpe.taken import Taken, taken

MOST_STRIDE = 2
COLD = 700.0
"""Cycles to fetch the code that gathers, which hardly two layers of a network share."""
OPTIMISM = 1.1
"""Gathering takes so many times what is predicted: it shares the DMA and the banks of L1."""


def window_offer(graph: Graph, node: Node, conv: Conv, sums: Sums, cores: int) -> Offer:
    shapes = graph.operand_shapes(node)
    kernel = conv.taps(shapes)
    mode = _mode(conv, kernel, sums)
    padding = _used_padding(conv, shapes)
    if any(step != 1 for taps, step in zip(kernel, conv.dilations, strict=True) if taps > 1):
        raise Refusal(f"its dilations are {conv.dilations}")
    unsupported_reason = _unsupported_reason(conv, kernel, mode, padding)
    if unsupported_reason and mode == DEPTHWISE:
        return _in_parts(graph, node, conv, kernel, padding, sums, unsupported_reason)
    if unsupported_reason:
        return _gathered(graph, node, conv, kernel, padding, sums, cores).named
    windows = _windows(graph, node, conv, kernel, mode, padding, sums, cores)
    if mode != DENSE or windows.op.made == BY_NPU:
        return windows.named
    gathered = _gathered(graph, node, conv, kernel, padding, sums, cores)
    is_faster = OPTIMISM * (COLD + gathered.cycles) < windows.cycles
    return (gathered if is_faster else windows).named


def _windows(
    graph: Graph, node: Node, conv: Conv, kernel: Shape, mode: int, padding: Shape, sums: Sums, cores: int
) -> Taken:
    plain = NeurekaConv(
        strides=conv.strides, dilations=conv.dilations, padding=padding, channels_last=True, kernel=kernel, mode=mode,
        bits=sums.bits, offset=sums.offset, dtype=sums.dtype, pad_value=sums.x_zero,
    )  # fmt: skip
    thinned = mode != POINTWISE and set(conv.strides) != {1}
    op, constants = results(sums, plain, _biases(plain, sums), thinned)
    return _taken(graph, node, sums, op, {"W": _words(op, sums), **constants}, cores)


def _mode(conv: Conv, kernel: Shape, sums: Sums) -> int:
    filters, channels, _ = sums.stored.shape
    if conv.groups > 1 and (channels, filters) != (1, conv.groups):
        raise Refusal(
            f"it has {conv.groups} groups of {channels} channels and {filters // conv.groups} filters; "
            "N-EUREKA has one group, or one channel and filter in each"
        )
    if conv.groups > 1:
        return DEPTHWISE
    return POINTWISE if set(kernel) == {1} else DENSE


def _used_padding(conv: Conv, shapes: Shapes) -> Shape:
    """Without what strides never reach."""
    box = {loop: (0, extent) for loop, extent in conv.extents(shapes).items()}
    return conv.local_padding(shapes, box, shapes["X"])


def _unsupported_reason(conv: Conv, kernel: Shape, mode: int, padding: Shape) -> str:
    """Why the array has no such windows."""
    if max(kernel) > WINDOW:
        return f"its kernel is {'x'.join(map(str, kernel))}, N-EUREKA has 1x1 and 3x3"
    if mode != POINTWISE and max(conv.strides) > MOST_STRIDE:
        return f"its strides are {conv.strides}; of more than {MOST_STRIDE}, too many results would be dropped"
    most = [min(1, taps - 1) for taps in kernel]
    if any(pad > limit for pad, limit in zip(padding, [*most, *most], strict=True)):
        return f"its padding is {padding}, N-EUREKA has at most 1 on each side of 3x3"
    return ""


def _taken(graph: Graph, node: Node, sums: Sums, op: NeurekaConv, constants: Mapping[str, Array], cores: int) -> Taken:
    return taken(graph, node, node.operands()["X"], graph.operand_shapes(node)["X"], sums, op, constants, cores)


def _gathered(graph: Graph, node: Node, conv: Conv, kernel: Shape, padding: Shape, sums: Sums, cores: int) -> Taken:
    plain = NeurekaGathered(
        strides=conv.strides, dilations=conv.dilations, padding=padding, channels_last=True, kernel=kernel,
        bits=sums.bits, offset=sums.offset, dtype=sums.dtype, pad_value=sums.x_zero,
    )  # fmt: skip
    op, constants = results(sums, plain, [sums.bias_without([])])
    codes = sums.codes.transpose(0, 2, 1)
    words = ONE_TAP.pack(codes.reshape(len(codes), -1))
    return _taken(graph, node, sums, op, {"W": words, **constants}, cores)


def _in_parts(
    graph: Graph, node: Node, conv: Conv, kernel: Shape, padding: Shape, sums: Sums, unsupported_reason: str
) -> Offer:
    plain = NeurekaParts(
        strides=conv.strides, dilations=conv.dilations, padding=padding, channels_last=True, kernel=kernel,
        mode=DEPTHWISE, bits=sums.bits, offset=sums.offset, dtype=sums.dtype, pad_value=sums.x_zero,
    )  # fmt: skip
    if max(conv.strides) > MOST_STRIDE or math.prod(plain.counts) > MOST_PARTS:
        raise Refusal(unsupported_reason)
    # The second bias is that of the parts behind the first: what it has more, which is nothing.
    op, constants = results(sums, plain, [sums.bias_without([])] * 2, in_parts=True)
    return named(node, node.operands()["X"], op, {"W": part_words(op, sums), **constants})


def _biases(op: NeurekaConv, sums: Sums) -> list[Array]:
    """Inside, and where X has a zero point but windows over the right edge, the bottom or both see 0 instead."""
    inside = sums.bias_without([])
    if not sums.x_zero or not any(op.edges()):
        return [inside]
    height, width = pair(op.kernel)
    taps = [(r, s) for r in range(height) for s in range(width)]
    right = [i for i, (_, s) in enumerate(taps) if s == width - 1]
    bottom = [i for i, (r, _) in enumerate(taps) if r == height - 1]
    return [inside, *(sums.bias_without(seen) for seen in (right, bottom, sorted({*right, *bottom})))]


def _words(op: NeurekaConv, sums: Sums) -> Array:
    codes = sums.codes
    if op.mode == POINTWISE:
        return ONE_TAP.pack(codes[:, :, 0])
    window = np.zeros((*codes.shape[:2], TAPS), np.int64)
    window[:, :, op.positions()] = codes
    return depthwise_words(window[:, 0], op.bits) if op.mode == DEPTHWISE else window_words(window, op.bits)
