"""Integer expressions of generated C: plain numbers as long as they are known."""

from __future__ import annotations

from tilewright.tiling.tiles import AxisWindow, TileGrid

Expression = int | str


def times(value: Expression, factor: int) -> Expression:
    if isinstance(value, int):
        return value * factor
    if factor in (0, 1):
        return value if factor else 0
    return f"{factor} * {_grouped(value)}"


def plus(*values: Expression) -> Expression:
    number = sum(value for value in values if isinstance(value, int))
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        return number
    tail = f" + {number}" if number > 0 else f" - {-number}" if number < 0 else ""
    return " + ".join(texts) + tail


def product(left: Expression, right: Expression) -> Expression:
    if isinstance(left, int):
        return times(right, left)
    if isinstance(right, int):
        return times(left, right)
    return f"{_grouped(left)} * {_grouped(right)}"


def start(axis: AxisWindow) -> Expression:
    """Where a tile's window of an axis starts."""
    if not axis.loop:
        return axis.span(0)[0]
    raw = plus(times(axis.loop, axis.step), axis.base)
    return f"tw_max({raw}, 0)" if axis.base < 0 else raw


def count(grid: TileGrid, axis: AxisWindow) -> Expression:
    """How many elements of an axis a tile sees."""
    if not axis.loop:
        return axis.elements(0)
    indices = next(cut.count for cut in grid.cuts if cut.loop == axis.loop)
    if len({axis.elements(i) for i in range(indices)}) == 1:
        return axis.elements(0)
    stop = plus(times(axis.loop, axis.step), axis.base + axis.length)
    if axis.base + axis.step * (indices - 1) + axis.length > axis.end:
        stop = f"tw_min({stop}, {axis.end})"
    first = start(axis)
    return f"{stop} - {first if isinstance(first, int) else _grouped(first)}" if first != 0 else stop


def _grouped(text: str) -> str:
    simple = text.replace("_", "").isalnum() or (text.startswith("tw_") and text.endswith(")") and text.count("(") == 1)
    return text if simple else f"({text})"
