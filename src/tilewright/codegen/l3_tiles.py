"""Tiles of tensors that live in L3, as C: through buffers of L2, one tile ahead if there are two."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.codegen.dma import Shaped, commands
from tilewright.codegen.expressions import Expression
from tilewright.codegen.functions import tile_function
from tilewright.codegen.slots import guarded, slot_address, slot_number
from tilewright.errors import InternalError
from tilewright.planner.schedule.tile_schedule import L3_STORE, LayerSchedule, Move, Slots


@dataclass(frozen=True)
class Passage:
    """How parts of an operand or result come and go between L3 and L1."""

    layer: LayerSchedule
    move: Move
    buffer: str
    """The address of its L1 buffer for a turn."""
    l2: str
    """The array in which its parts are staged."""

    @property
    def _staging(self) -> Slots:
        if self.move.staging is None:
            raise InternalError(f"operand {self.move.operand.name}", "is not staged in L2")
        return self.move.staging

    @property
    def _per_core(self) -> bool:
        return self.layer.is_per_core

    @property
    def _stride(self) -> Expression:
        """Tiles from one part to the next."""
        return "TW_CORES" if self._per_core else self.move.when.period

    @property
    def _name(self) -> str:
        return f"layer_{self.layer.number}_{self.move.operand.name}"

    @property
    def _staged(self) -> str:
        return slot_address(self.l2, self._staging)

    @property
    def _mark(self) -> str:
        return f"{self._name}_marks[{slot_number(self._staging)}]"

    def functions(self) -> str:
        """The last transfer of each buffer, and the function that starts those of a tile."""
        marks = f"static uint32_t {self._name}_marks[{self._staging.count}];"
        return f"{marks}\n{tile_function(f'{self._name}_pass', self.layer.option.grid, self._passing())}"

    def _passing(self) -> list[str]:
        def command(l2: str, l3: str, rows: Expression, run: Expression, stride: int) -> str:
            ordered = f"{l3}, {l2}" if self.move.command == L3_STORE else f"{l2}, {l3}"
            return f"{self._mark} = tw_{self.move.command}({ordered}, {rows}, {run}, {stride});"

        home = self.move.home.offset
        arena = f"TW_L3_ARENA + {home}" if home else "TW_L3_ARENA"
        return commands(self._window, self._staged, arena, command, {})

    def load(self) -> list[str]:
        """A tile's part comes from L3, unless it has come already, and goes on; the next one is sent for."""
        arrival = [f"  tw_l3_wait({self._mark});", f"  tw_dma_in({self.buffer}, {self._staged}, {self._bytes});"]
        if not self.move.ahead:
            return guarded(self.move.when, [f"  {self._name}_pass(tile, turn);", *arrival])
        first = "turn == 0" if self._per_core else "tile == 0"
        more = f"tile + {self._stride} < {self.layer.tiles}"
        following = f"{self._name}_pass(tile + {self._stride}, turn + {self.move.when.period});"
        lines = [f"  if ({first}) {self._name}_pass(tile, turn);", *arrival, f"  if ({more}) {following}"]
        return guarded(self.move.when, lines)

    def store(self) -> list[str]:
        """A tile's part leaves L1 when its L2 buffer is free; after the last one, all have arrived."""
        last = f"tile + {'TW_CORES' if self._per_core else 1} >= {self.layer.tiles}"
        lines = [
            f"  tw_l3_wait({self._mark});",
            f"  tw_l3_put({self._staged}, {self.buffer}, {self._bytes});",
            f"  {self._name}_pass(tile, turn);",
            f"  if ({last}) tw_l3_wait({self._mark});",
        ]
        return guarded(self.move.when, lines)

    @property
    def _bytes(self) -> Expression:
        return self._window.bytes()

    @property
    def _window(self) -> Shaped:
        return Shaped(self.layer.option.grid, self.move.shape)
