"""Transfers of a schedule, as C: addresses of windows, and the commands of the DMA with the loops around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.codegen.expressions import Expression, count, plus, product, start, times
from tilewright.errors import InternalError
from tilewright.planner.schedule.layer_schedule import DMA_IN, DMA_IN_ROWS, DMA_IN_STRIDED, DMA_OUT, DMA_OUT_ROWS
from tilewright.records import dataclass
from tilewright.tiling.dma_shapes import DmaShape, Level
from tilewright.tiling.tiles import TileGrid


@dataclass(frozen=True)
class Shaped:
    """A window's shape, and the grid whose tiles it is written for."""

    grid: TileGrid
    shape: DmaShape
    told: Callable[[str], str] = str
    """The element of the operand that says how much of the window is there, as C."""

    def address(self, home: str, fixed: dict[str, int]) -> str:
        """The window's first byte in its tensor's home; `fixed` are loop indices that are known."""
        steps = (times(_start(level, fixed), level.factor * level.stride) for level in self.shape.levels)
        return _sum(home, plus(self.shape.start, *steps))

    def bytes(self) -> Expression:
        """Of the window."""
        size, strided = self.sizes({})
        for rows, _ in strided:
            size = product(rows, size)
        return size

    def sizes(self, fixed: dict[str, int]) -> tuple[Expression, list[tuple[Expression, int]]]:
        """Bytes of a run, and how many there are how far apart, outermost first."""
        shape = self.shape
        run = times(self._count(shape.run, fixed), shape.run.stride)
        return run, [(self._count(level, fixed), level.stride) for level in shape.strided]

    def _count(self, level: Level, fixed: dict[str, int]) -> Expression:
        """Elements of a level: as many as a tile sees, or as are there."""
        seen = _seen(self.grid, level, fixed)
        if level.limit is not None:
            seen = f"tw_clamp({plus(self.told(level.limit.operand), level.limit.more)}, 0, {seen})"
        return times(seen, level.factor)


Command = Callable[[str, str, Expression, Expression, int], str]
"""One transfer as C: of the addresses where rows lie side by side and where they may lie apart, and how many rows of
how many bytes are how far apart there; not apart at all where that is 0."""


def commands(window: Shaped, buffer: str, home: str, command: Command, fixed: dict[str, int]) -> list[str]:
    """The transfers between a tile's window and a buffer."""
    run, strided = window.sizes(fixed)
    return _loops(command, buffer, window.address(home, fixed), run, strided)


def dma_command(name: str) -> Command:
    """That of a schedule, by its name."""

    def command(packed: str, apart: str, rows: Expression, run: Expression, stride: int) -> str:
        arguments = {
            DMA_IN: f"{packed}, {apart}, {run}",
            DMA_IN_ROWS: f"{packed}, {apart}, {rows}, {run}, {stride}",
            DMA_OUT: f"{apart}, {packed}, {run}",
            DMA_OUT_ROWS: f"{apart}, {packed}, {rows}, {run}, {stride}",
            DMA_IN_STRIDED: f"{apart}, {stride}, {packed}, {run}, {rows}, {run}",
        }
        if name not in arguments:
            raise InternalError("schedule", f"{name} is no command of the DMA")
        return f"tw_{name}({arguments[name]});"

    return command


def copy(window: Shaped, source: str, target: str, command: str) -> list[str]:
    """The commands that copy X, which lies side by side, to Y's window: from and to the first bytes of their homes."""
    if command == DMA_IN:
        # Both are one run: the command wants what is in L1 first, which is the window here.
        return [f"  {dma_command(command)(window.address(target, {}), source, 1, window.bytes(), 0)}"]
    return commands(window, source, target, dma_command(command), {})


def _loops(
    command: Command, packed: str, apart: str, run: Expression, strided: Sequence[tuple[Expression, int]]
) -> list[str]:
    """One run, rows with a stride, or loops around rows."""
    rows, stride = strided[-1] if strided else (1, 0)
    around = _around(run, strided)
    first, second = " + ".join([packed, *around.packed]), " + ".join([apart, *around.apart])
    return [*around.lines, around.indent + command(first, second, rows, run, stride)]


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


def _seen(grid: TileGrid, level: Level, fixed: dict[str, int]) -> Expression:
    if level.axis.loop in fixed:
        return level.axis.elements(fixed[level.axis.loop])
    return count(grid, level.axis)


def _sum(base: str, offset: Expression) -> str:
    return base if offset == 0 else f"{base} + {offset}"
