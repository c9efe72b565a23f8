"""Any function of one byte is a table, computed at compile time by the graph's own operators for all 256 values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tilewright.ir.graph import Node
from tilewright.ir.types import Array, limits
from tilewright.ops._elementwise import Elementwise
from tilewright.ops._per_axis import PerAxis
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.lookup import ENTRIES, Lookup
from tilewright.passes.quantise.values import Context, Format

MAX_TABLE_BYTES = 2**15
"""Where every channel has a table of its own."""

MAX_NODES = 64


@dataclass
class TabulatedNodes:
    """The element-by-element operators between one tensor, of bytes unless it was chosen before, and a float tensor."""

    source: str = ""
    nodes: list[Node] = field(default_factory=list)
    axes: set[int] = field(default_factory=set)
    """Axes along which constants vary."""


def by_table(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    """One table for all elements."""
    region = region_of(context, tensor, to)
    return None if region is None or region.axes else _emit(context, region, tensor, to, output)


def by_channel_tables(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    """A table for each channel, if that does not take too much memory."""
    region = region_of(context, tensor, to)
    shape = context.shape(tensor)
    if region is None or len(region.axes) > 1 or len(shape) < 2:
        return None
    if ENTRIES * max((shape[axis] for axis in region.axes), default=1) > MAX_TABLE_BYTES:
        return None
    return _emit(context, region, tensor, to, output)


def region_of(context: Context, tensor: str, to: Format) -> TabulatedNodes | None:
    region = TabulatedNodes()
    if not to.is_per_tensor:
        region.axes.add(to.axis)
    return grown(context, region, tensor)


def grown(context: Context, region: TabulatedNodes, tensor: str) -> TabulatedNodes | None:
    """The region with all that a tensor is computed by; None where that is no function of its source."""
    return region if _grow(context, region, tensor, set()) and region.source else None


def _grow(context: Context, region: TabulatedNodes, tensor: str, seen: set[str]) -> bool:
    """Add what a tensor is computed by, operands first; False where that is no function of the source."""
    if tensor in seen or tensor == region.source or context.known(tensor) is not None:
        return True
    seen.add(tensor)
    node = context.producer(tensor)
    if node is None or len(seen) > MAX_NODES or not _belongs(context, region, node, seen):
        return False
    region.axes |= _varying_axes(context, node)
    region.nodes.append(node)
    return context.shape(node.key) == context.shape(region.source)


def _belongs(context: Context, region: TabulatedNodes, node: Node, seen: set[str]) -> bool:
    if isinstance(node.op, DequantizeLinear):
        return _starts_at(context, region, node)
    if not isinstance(node.op, Elementwise | BatchNormalization):
        return False
    return all(_grow(context, region, name, seen) for name in node.inputs if name)


def _starts_at(context: Context, region: TabulatedNodes, node: Node) -> bool:
    source = node.inputs[0]
    constants = all(context.known(name) is not None for name in node.inputs[1:])
    region.source = region.source or source
    return constants and source == region.source and context.graph.types[source].dtype in ("int8", "uint8")


def _varying_axes(context: Context, node: Node) -> set[int]:
    """The axes of the result along which a node's constants vary."""
    rank, axes = len(context.shape(node.key)), set[int]()
    for position, name in enumerate(node.inputs):
        value = context.known(name) if name else None
        if value is None or value.size == 1:
            continue
        if position and isinstance(node.op, PerAxis | BatchNormalization):
            axes.add(node.op.axis if isinstance(node.op, PerAxis) else 1)
        else:
            axes |= {rank - value.ndim + axis for axis, size in enumerate(value.shape) if size > 1}
    return axes


def _emit(context: Context, region: TabulatedNodes, tensor: str, to: Format, output: str | None) -> str:
    dtype = context.graph.types[region.source].dtype
    axis = next(iter(region.axes), 0)
    table = _table(context, region, tensor, to, dtype, axis)
    name = context.builder.constant(table, f"{output or tensor}_table")
    return context.emit(Lookup(axis), [region.source, name], output)


def _table(context: Context, region: TabulatedNodes, tensor: str, to: Format, dtype: str, axis: int) -> Array:
    """All values of a byte along one axis of the tensor, all channels along another; every other axis is 1 long."""
    shape = context.shape(tensor)
    channels = shape[axis] if region.axes else 1
    probe = [1] * max(len(shape), 1)
    along = 1 if region.axes and axis == 0 else 0
    probe[along] = ENTRIES
    low, high = limits(dtype)
    source = np.arange(low, high + 1).astype(dtype).reshape(probe)
    if region.axes:
        probe[axis] = channels
        source = np.broadcast_to(source, probe)
    found = to.quantise(evaluate(context, region, tensor, source))
    rows = np.moveaxis(np.broadcast_to(found, probe), along, -1).reshape(channels, ENTRIES)
    return np.ascontiguousarray(rows if region.axes else rows[0])


def evaluate(context: Context, region: TabulatedNodes, tensor: str, source: Array) -> Array:
    values = {region.source: source}
    for node in region.nodes:
        operands = [values.get(name, context.known(name)) if name else None for name in node.inputs]
        with np.errstate(all="ignore"):
            values[node.key] = node.op.numpy(*operands)
    return values[tensor]
