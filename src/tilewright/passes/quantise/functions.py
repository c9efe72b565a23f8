"""Functions of results that are not quantised themselves, such as an activation right behind a convolution.

The result is kept as int16, over the range in which the function changes at all; the function becomes a table with
straight lines between its values, as short as it can be without an error that shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops._elementwise import Elementwise
from tilewright.ops.batchnormalization import BatchNormalization
from tilewright.ops.qlinearfunction import LOWEST, X_BITS, QLinearFunction
from tilewright.passes.quantise.absorb import pending
from tilewright.passes.quantise.pending import Pending, Target
from tilewright.passes.quantise.tables import MAX_NODES, TabulatedNodes, evaluate, grown
from tilewright.passes.quantise.values import Context, Format, NoIntegerForm

LINE_ERROR, EDGE_ERROR, EDGES = 1 / 128, 3 / 8, 0.02
"""In units of the result: how far straight lines may be from the function, and how far in the small part of its range
where it has edges. An edge needs a much longer table to be as close, and few elements lie there."""

STEP = 1 / 16
"""How far the function may go from one 16-bit number to the next, in units of the result."""

SHIFT = 21
"""Fraction bits of the sums: values of the table, which has twice the range of a byte, times differences of x."""

TABLE_RANGE = 2**8
"""How far from the middle of the result's range the values of a table go; further out they would not matter."""

SIZES = range(6, 13)
"""The logarithms of the tables' lengths that are tried."""

PROBES_PER_OCTAVE, OCTAVES = 32, 120
"""Where it is looked for changes of the function: the distance grows with that from zero."""

MAX_ZERO = 2**30

TIES = Rounding.HALF_UP
"""No network says how numbers on a line between two values of a table are rounded: as cores do it with the fewest
instructions."""


def by_function(context: Context, tensor: str, to: Format, output: str | None) -> str | None:
    """The function of the tensor that is furthest back; what is nearer to a quantised one has fewer roundings."""
    if not to.is_per_tensor or to.dtype not in ("int8", "uint8"):
        return None
    reasons = []
    for cut in _cuts(context, tensor):
        region = grown(context, TabulatedNodes(cut), tensor)
        if region is None or region.axes or not region.nodes:
            continue
        try:
            return _emit(context, region, pending(context, cut), tensor, to, output)
        except NoIntegerForm as refusal:
            reasons.append(str(refusal))
    context.reason = next(iter(reasons), context.reason)
    return None


def _cuts(context: Context, tensor: str) -> list[str]:
    """The tensors that one is computed from element by element, operands first."""
    seen: set[str] = set()
    found: list[str] = []

    def visit(name: str) -> None:
        node = context.producer(name)
        if name in seen or node is None or context.known(name) is not None or len(seen) > MAX_NODES:
            return
        seen.add(name)
        if isinstance(node.op, Elementwise | BatchNormalization):
            for operand in filter(None, node.inputs):
                visit(operand)
        found.append(name)

    visit(tensor)
    return found


def _emit(
    context: Context, region: TabulatedNodes, source: Pending, tensor: str, to: Format, output: str | None
) -> str:
    probe = (-1, *(1,) * (len(context.shape(tensor)) - 1))

    def function(x: Array) -> Array:
        """In units of the result; its zero point is not added."""
        values = evaluate(context, region, tensor, x.astype(np.float32).reshape(probe)).reshape(-1)
        return values.astype(np.float64) / to.scale

    unit, zero = _grid(*_range(function, source, to))
    # One more than there are: the last line ends behind the last x.
    table = _table(to.zero + function((np.arange(LOWEST, 1 - LOWEST) - zero) * unit), to.dtype)
    name = context.builder.constant(table, f"{context.builder.node_name}_table")
    value = source.stored(context, unit, "int16", zero, TIES)
    op = QLinearFunction(Target(to.dtype, _middle(to.dtype), *limits(to.dtype), TIES).requant(SHIFT))
    return context.emit(op, [value.tensor, name], output)


def _range(function: Callable[[Array], Array], source: Pending, to: Format) -> tuple[float, float]:
    """The numbers between which the quantised function changes: outside, it has one value to either side."""
    sizes = source.largest * 2.0 ** -(np.arange(OCTAVES * PROBES_PER_OCTAVE) / PROBES_PER_OCTAVE)
    x = np.unique(np.clip(np.concatenate([-sizes, [0.0], sizes]), source.low, source.high))
    levels = np.rint(np.clip(to.zero + function(x), *limits(to.dtype)))
    if not np.all(np.isfinite(levels)):
        raise NoIntegerForm("it is not a number somewhere")
    changes = np.flatnonzero(np.diff(levels))
    if not changes.size:
        return float(x[0]), float(x[-1])
    return float(x[changes[0]]), float(x[changes[-1] + 1])


def _grid(low: float, high: float) -> tuple[float, int]:
    """A unit and a zero point with which 16 bits cover a range.

    Zero is where a line ends in a table of any length: there many functions have an edge.
    """
    step = 2 ** (X_BITS - SIZES[0])
    unit = (high - low) / (2**X_BITS - 1 - step)
    if not 0 < unit < math.inf or abs(low) > MAX_ZERO * unit:
        raise NoIntegerForm("its range is not finite, too small, or too far from zero")
    zero = LOWEST + math.ceil(-low / unit / step) * step
    return unit, zero


def _table(levels: Array, dtype: str) -> Array:
    """The shortest table that gives these levels closely enough, counted from the middle one."""
    wanted = np.clip(levels, *limits(dtype))
    if not np.all(np.isfinite(wanted)) or np.abs(np.diff(wanted)).max() > STEP:
        raise NoIntegerForm("it changes too fast for 16-bit numbers")
    centred, places = np.clip(levels - _middle(dtype), -TABLE_RANGE, TABLE_RANGE), np.arange(levels.size)
    for size in SIZES:
        step = 2 ** (X_BITS - size)
        lines = np.interp(places, places[::step], centred[::step]) + _middle(dtype)
        if _is_close(np.abs(np.clip(lines, *limits(dtype)) - wanted)):
            return np.rint(centred[::step] * (2.0**SHIFT / step)).astype(np.int32)
    raise NoIntegerForm("it bends too much for a table")


def _is_close(errors: Array) -> bool:
    return bool(errors.max() <= EDGE_ERROR and np.mean(errors > LINE_ERROR) <= EDGES)


def _middle(dtype: str) -> int:
    """Of the levels of a type, rounded up."""
    low, high = limits(dtype)
    return (low + high + 1) // 2
