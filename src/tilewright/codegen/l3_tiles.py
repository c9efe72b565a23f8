"""Tiles of tensors that live in the store, as C: through buffers of the far memory, one tile ahead if there are two."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.codegen.dma import commands, window_bytes
from tilewright.codegen.expressions import Expression, plus, times
from tilewright.codegen.functions import indented, tile_function
from tilewright.planner.options import ALIGNMENT, Operand, TilingOption


@dataclass(frozen=True)
class Passage:
    """The way of an operand or result between the store and the near memory."""

    layer: int
    option: TilingOption
    operand: Operand
    buffer: str
    """The address of its near buffer for a turn."""
    l2: str
    """The array in which its buffers are staged."""
    offset: int
    """Of its buffers there."""
    home: int
    """Of its tensor in the arena of L3."""

    @property
    def _per_core(self) -> bool:
        return self.option.mode == "per_core"

    @property
    def _two(self) -> bool:
        """Whether there is a buffer for the next part too."""
        return self.option.double and self.operand.period > 0

    @property
    def _stride(self) -> Expression:
        """Tiles from one part to the next."""
        return "TW_CORES" if self._per_core else self.operand.period

    @property
    def _name(self) -> str:
        return f"layer_{self.layer}_{self.operand.name}"

    @property
    def _slot(self) -> Expression:
        """Which of its buffers a turn has."""
        if self._per_core:
            return "tw_core()" if self.operand.buffers > 1 else 0
        if not self._two:
            return 0
        return "tw_odd(turn)" if self.operand.period == 1 else f"tw_odd(turn / {self.operand.period})"

    @property
    def _l2(self) -> str:
        size = -(-self.operand.bytes // ALIGNMENT) * ALIGNMENT
        return f"{self.l2} + {plus(self.offset, times(self._slot, size))}"

    @property
    def _mark(self) -> str:
        return f"{self._name}_marks[{self._slot}]"

    def functions(self) -> str:
        """The last transfer of each buffer, and the function that starts those of a tile."""
        marks = f"static uint32_t {self._name}_marks[{self.operand.buffers}];"
        return f"{marks}\n{tile_function(f'{self._name}_pass', self.option.grid, self._passing())}"

    def _passing(self) -> list[str]:
        def command(l2: str, store: str, rows: Expression, run: Expression, stride: int) -> str:
            if self.operand.is_result:
                return f"{self._mark} = tw_l3_store({store}, {l2}, {rows}, {run}, {stride});"
            return f"{self._mark} = tw_l3_load({l2}, {store}, {rows}, {run}, {stride});"

        home = f"TW_L3_ARENA + {self.home}" if self.home else "TW_L3_ARENA"
        return commands(self.option.grid, self.operand.name, self._l2, home, command)

    def load(self) -> list[str]:
        """A tile's part comes from the store, unless it has come already, and goes on; the next one is sent for."""
        arrival = [f"  tw_l3_wait({self._mark});", f"  tw_dma_in({self.buffer}, {self._l2}, {self._bytes});"]
        first = "turn == 0" if self._per_core else "tile == 0"
        if not self.operand.period:
            return [f"  if ({first}) {{", *map(indented, [f"  {self._name}_pass(tile, turn);", *arrival]), "  }"]
        lines = [f"  {self._name}_pass(tile, turn);", *arrival]
        if self._two:
            more = f"tile + {self._stride} < {self.option.grid.tiles}"
            following = f"{self._name}_pass(tile + {self._stride}, turn + {self.operand.period});"
            lines = [f"  if ({first}) {self._name}_pass(tile, turn);", *arrival, f"  if ({more}) {following}"]
        if self._per_core or self.operand.period == 1:
            return lines
        return [f"  if (tile % {self.operand.period} == 0) {{", *map(indented, lines), "  }"]

    def store(self) -> list[str]:
        """A tile's part leaves the near memory when its far buffer is free; after the last one, all have arrived."""
        last = f"tile + {'TW_CORES' if self._per_core else 1} >= {self.option.grid.tiles}"
        return [
            f"  tw_l3_wait({self._mark});",
            f"  tw_l3_put({self._l2}, {self.buffer}, {self._bytes});",
            f"  {self._name}_pass(tile, turn);",
            f"  if ({last}) tw_l3_wait({self._mark});",
        ]

    @property
    def _bytes(self) -> Expression:
        return window_bytes(self.option.grid, self.operand.name)
