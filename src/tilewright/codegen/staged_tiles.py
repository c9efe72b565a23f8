"""Tiles of tensors that live behind the home, as C: through buffers there, one tile ahead if there are two."""

from __future__ import annotations

from tilewright.codegen.dma import Shaped, commands
from tilewright.codegen.expressions import Expression
from tilewright.codegen.functions import tile_function
from tilewright.codegen.slots import guarded, slot_address, slot_number
from tilewright.errors import InternalError
from tilewright.planner.schedule.layer_schedule import STAGED_STORE, LayerSchedule, Move, Slots
from tilewright.records import dataclass


def arena_address(memory: str, offset: int) -> str:
    """A place in the arena of a memory that no C array stands for, behind its constants."""
    arena = f"TW_{memory.upper()}_ARENA"
    return f"{arena} + {offset}" if offset else arena


@dataclass(frozen=True)
class Passage:
    """How parts of an operand or result come and go between such a memory and the tiles."""

    layer: LayerSchedule
    move: Move
    buffer: str
    """The address of its buffer among the tiles for a turn."""
    home: str
    """The array in which its parts are staged."""

    @property
    def _staging(self) -> Slots:
        if self.move.staging is None:
            raise InternalError(f"operand {self.move.operand.name}", "is not staged")
        return self.move.staging

    def _function(self, what: str) -> str:
        """Of the runtime, for the memory that it lives in."""
        return f"tw_{self.move.home.memory.lower()}_{what}"

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
        return slot_address(self.home, self._staging)

    @property
    def _mark(self) -> str:
        return f"{self._name}_marks[{slot_number(self._staging)}]"

    def functions(self) -> str:
        """The last transfer of each buffer, and the function that starts those of a tile."""
        marks = f"static uint32_t {self._name}_marks[{self._staging.count}];"
        return f"{marks}\n{tile_function(f'{self._name}_pass', self.layer.option.grid, self._passing())}"

    def _passing(self) -> list[str]:
        def command(staged: str, behind: str, rows: Expression, run: Expression, stride: int) -> str:
            ordered = f"{behind}, {staged}" if self.move.command == STAGED_STORE else f"{staged}, {behind}"
            return f"{self._mark} = {self._function(self.move.command)}({ordered}, {rows}, {run}, {stride});"

        arena = arena_address(self.move.home.memory, self.move.home.offset)
        return commands(self._window, self._staged, arena, command, {})

    def load(self) -> list[str]:
        """A tile's part comes to the home, unless it has come already, and goes on; the next one is sent for."""
        arrival = [
            f"  {self._function('wait')}({self._mark});",
            f"  tw_dma_in({self.buffer}, {self._staged}, {self._bytes});",
        ]
        if not self.move.ahead:
            return guarded(self.move.when, [f"  {self._name}_pass(tile, turn);", *arrival])
        first = "turn == 0" if self._per_core else "tile == 0"
        more = f"tile + {self._stride} < {self.layer.tiles}"
        following = f"{self._name}_pass(tile + {self._stride}, turn + {self.move.when.period});"
        lines = [f"  if ({first}) {self._name}_pass(tile, turn);", *arrival, f"  if ({more}) {following}"]
        return guarded(self.move.when, lines)

    def store(self) -> list[str]:
        """A tile's part leaves L1 when its staging buffer is free; after the last one, all have arrived."""
        last = f"tile + {'TW_CORES' if self._per_core else 1} >= {self.layer.tiles}"
        lines = [
            f"  {self._function('wait')}({self._mark});",
            f"  {self._function('put')}({self._staged}, {self.buffer}, {self._bytes});",
            f"  {self._name}_pass(tile, turn);",
            f"  if ({last}) {self._function('wait')}({self._mark});",
        ]
        return guarded(self.move.when, lines)

    @property
    def _bytes(self) -> Expression:
        return self._window.bytes()

    @property
    def _window(self) -> Shaped:
        return Shaped(self.layer.option.grid, self.move.shape)
