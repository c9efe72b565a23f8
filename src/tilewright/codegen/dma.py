"""Transfers of windows, as C: addresses, and the commands of the DMA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.codegen.expressions import Expression, count, plus, product, start, times
from tilewright.ir.types import BYTES
from tilewright.tiling.dma_shapes import Level, dma_shape
from tilewright.tiling.tiles import TileGrid


def window_address(grid: TileGrid, name: str, home: str, fixed: dict[str, int]) -> str:
    """The first byte of a tile's window in its tensor's home; `fixed` are loop indices that are known."""
    shape = dma_shape(grid, name)
    steps = (times(_start(level, fixed), level.factor * level.stride) for level in shape.levels)
    return _sum(home, plus(shape.start, *steps))


def transfer(grid: TileGrid, name: str, buffer: str, home: str, fixed: dict[str, int], direction: str) -> list[str]:
    """The commands that move a tile's window between its home and a buffer."""
    run, strided = _sizes(grid, name, fixed)
    return _loops(_dma(direction), buffer, window_address(grid, name, home, fixed), run, strided)


Command = Callable[[str, str, Expression, Expression, int], str]
"""One transfer as C: of the buffer's address, the home's, and how many rows of how many bytes are how far apart there;
not apart at all where that is 0."""


def commands(grid: TileGrid, name: str, buffer: str, home: str, command: Command) -> list[str]:
    """The transfers between a tile's window and a buffer."""
    run, strided = _sizes(grid, name, {})
    return _loops(command, buffer, window_address(grid, name, home, {}), run, strided)


def window_bytes(grid: TileGrid, name: str) -> Expression:
    """Bytes of a tile's window."""
    size, strided = _sizes(grid, name, {})
    for rows, _ in strided:
        size = product(rows, size)
    return size


def _sizes(grid: TileGrid, name: str, fixed: dict[str, int]) -> tuple[Expression, list[tuple[Expression, int]]]:
    """Bytes of a run, and how many there are how far apart, outermost first."""
    shape = dma_shape(grid, name)
    run = times(_count(grid, shape.run, fixed), BYTES[grid.types[name].dtype])
    return run, [(_count(grid, level, fixed), level.stride) for level in shape.strided]


def _dma(direction: str) -> Command:
    def command(l1: str, l2: str, rows: Expression, run: Expression, stride: int) -> str:
        ordered = f"{l1}, {l2}" if direction == "in" else f"{l2}, {l1}"
        if not stride:
            return f"tw_dma_{direction}({ordered}, {run});"
        return f"tw_dma_{direction}_rows({ordered}, {rows}, {run}, {stride});"

    return command


def move(grid: TileGrid, source: str, target: str, into_l1: bool) -> list[str]:
    """The commands that copy X to Y, one of which is in L1: from and to the first bytes of their homes."""
    run, strided = _sizes(grid, "Y", {})
    at = window_address(grid, "Y", target, {})
    if not into_l1:
        return _loops(_dma("out"), source, at, run, strided)
    if not strided:
        return _loops(_dma("in"), at, source, run, strided)
    return _strided_rows(at, source, run, strided)


def _strided_rows(l1: str, l2: str, run: Expression, strided: Sequence[tuple[Expression, int]]) -> list[str]:
    """Rows with gaps between them in L1 that are contiguous in the other memory."""
    around = _around(run, strided)
    rows, stride = strided[-1]
    places = f"{' + '.join([l1, *around.apart])}, {stride}, {' + '.join([l2, *around.packed])}, {run}"
    return [*around.lines, f"{around.indent}tw_dma_in_strided({places}, {rows}, {run});"]


def _loops(command: Command, l1: str, l2: str, run: Expression, strided: Sequence[tuple[Expression, int]]) -> list[str]:
    """One run, rows with a stride, or loops around rows."""
    rows, stride = strided[-1] if strided else (1, 0)
    around = _around(run, strided)
    packed, apart = " + ".join([l1, *around.packed]), " + ".join([l2, *around.apart])
    return [*around.lines, around.indent + command(packed, apart, rows, run, stride)]


@dataclass(frozen=True)
class _Around:
    """Loops around rows, and how far each has come: where rows lie side by side, and where they lie apart."""

    lines: list[str]
    indent: str
    packed: list[str]
    apart: list[str]


def _around(run: Expression, strided: Sequence[tuple[Expression, int]]) -> _Around:
    around = _Around([], "  " * max(1, len(strided)), [], [])
    for depth, (size, step) in enumerate(strided[:-1]):
        variable = f"i{depth}"
        around.lines.append(f"{'  ' * (depth + 1)}for (int {variable} = 0; {variable} < {size}; {variable}++)")
        passed = product(strided[-1][0], run)
        for later, _ in strided[depth + 1 : -1]:
            passed = product(passed, later)
        around.packed.append(str(product(variable, passed)))
        around.apart.append(str(times(variable, step)))
    return around


def _start(level: Level, fixed: dict[str, int]) -> Expression:
    if level.axis.loop in fixed:
        return level.axis.span(fixed[level.axis.loop])[0]
    return start(level.axis)


def _count(grid: TileGrid, level: Level, fixed: dict[str, int]) -> Expression:
    if level.axis.loop in fixed:
        return level.axis.elements(fixed[level.axis.loop]) * level.factor
    return times(count(grid, level.axis), level.factor)


def _sum(base: str, offset: Expression) -> str:
    return base if offset == 0 else f"{base} + {offset}"
