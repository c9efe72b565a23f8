"""A plan executed by numpy on real bytes, so that a wrong window, buffer, lifetime or offset shows.

Transfers happen as early as the hardware might do them when they fill buffers, and as late as it might when they empty
them; cores that work apart do so one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilewright.errors import InternalError
from tilewright.ir.types import Array, TensorType
from tilewright.planner.home import ARENA, Home
from tilewright.planner.keys import SCRATCH
from tilewright.planner.options import ALIGNMENT, Operand
from tilewright.planner.plan import Plan, Step
from tilewright.tiling.windows import window

NEVER_WRITTEN = 0xA5
SPOILT = 0x5A


def interpret_plan(plan: Plan, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of the graph."""
    machine = _Machine(plan, inputs)
    for number, step in enumerate(plan.steps):
        machine.wait_for(plan.waited_before(number))
        if not step.prefetch_distance:
            machine.fetch(step)
        machine.run(step, plan.fetched_during(number))
    machine.wait_for(plan.waited_before(len(plan.steps)))
    graph = plan.mapped.graph
    return {name: machine.read_tensor(name) for name in graph.outputs}


class _Machine:
    def __init__(self, plan: Plan, inputs: Mapping[str, Array]) -> None:
        graph = plan.mapped.graph
        self.plan = plan
        self.memory = {name: np.full(arena.peak, NEVER_WRITTEN, np.uint8) for name, arena in plan.arenas.items()}
        self.l1, self.l2 = self.memory[plan.memories.l1.name], self.memory[plan.memories.l2.name]
        self.own = {name: np.full(graph.types[name].bytes, NEVER_WRITTEN, np.uint8) for name in graph.outputs}
        self.own |= {name: _bytes(array) for name, array in graph.constants.items()}
        self.own |= {name: _bytes(inputs[name]) for name in graph.inputs}

    # ---- layers -----------------------------------------------------------------------------------------------------

    def fetch(self, step: Step) -> None:
        """Constants of the first tile."""
        for name, offset in step.staged.items():
            data = self.own[name]
            self.l2[offset : offset + data.size] = data
        if self._is_copied_to_l1(step):
            self._compute(step, 0, 0, 0)
        for operand in step.option.operands:
            if operand.streamed and operand.is_ready and not _is_per_core(step, operand):
                self._load(step, operand, 0, 0, 0)

    def wait_for(self, numbers: Sequence[int]) -> None:
        """What an accelerator was left with is computed as late as it may be: its operands must still be there."""
        for number in numbers:
            self._compute(self.plan.steps[number], 0, 0, 0)

    def run(self, step: Step, following: Sequence[int]) -> None:
        if step.option.mode == "dma_copy":
            for number in following:
                self.fetch(self.plan.steps[number])
            if not self._is_copied_to_l1(step):
                self._compute(step, 0, 0, 0)
        elif step.in_flight:
            self._load_all(step, 0, 0, 0)
            for number in following:
                self.fetch(self.plan.steps[number])
        elif step.option.mode == "per_core":
            for number in following:
                self.fetch(self.plan.steps[number])
            for core in range(self.plan.budget.cores):
                self._run_tiles(step, list(range(core, step.option.grid.tiles, self.plan.budget.cores)), core, ())
        else:
            self._run_tiles(step, list(range(step.option.grid.tiles)), 0, following)

    def _is_copied_to_l1(self, step: Step) -> bool:
        return step.option.mode == "dma_copy" and self.plan.homes[step.option.node.key].is_in(
            self.plan.memories.l1.name
        )

    def _run_tiles(self, step: Step, tiles: list[int], core: int, following: Sequence[int]) -> None:
        for turn, tile in enumerate(tiles):
            if turn == 0 or not step.option.double:
                self._load_all(step, tile, turn, core)
            if step.option.double and turn + 1 < len(tiles):
                self._load_all(step, tiles[turn + 1], turn + 1, core)
            if turn > 0 and step.option.double:
                self._store_all(step, tiles[turn - 1], turn - 1, core)
            for number in following if turn + 1 == len(tiles) else ():
                self.fetch(self.plan.steps[number])
            self._compute(step, tile, turn, core)
            if not step.option.double or turn + 1 == len(tiles):
                self._store_all(step, tile, turn, core)

    def _load_all(self, step: Step, tile: int, turn: int, core: int) -> None:
        for operand in step.option.operands:
            if operand.streamed and not operand.is_result and _is_due(step, operand, tile, turn):
                self._load(step, operand, tile, turn, core)

    def _store_all(self, step: Step, tile: int, turn: int, core: int) -> None:
        for operand in step.option.operands:
            if operand.streamed and operand.is_result:
                kind = self._local(step, operand, tile)
                data = self._buffer(step, operand, turn, core, kind.bytes)
                if operand.l3:
                    staging_bytes = self._buffer(step, operand, turn, core, kind.bytes, staging=True)
                    staging_bytes[:] = data
                    data = staging_bytes
                self._whole(step, operand)[self._window(step, operand, tile)] = _array(data, kind)

    def _load(self, step: Step, operand: Operand, tile: int, turn: int, core: int) -> None:
        if not operand.l3:
            part = _bytes(self._whole(step, operand)[self._window(step, operand, tile)])
            self._buffer(step, operand, turn, core, part.size)[:] = part
            return
        # With two buffers the next part is on its way before this one goes on.
        stride = operand.period if step.option.double else 0
        for later in (0, stride) if tile == 0 and stride else (stride,):
            if tile + later < step.option.grid.tiles:
                self._send_for(step, operand, tile + later, turn + later, core)
        size = self._local(step, operand, tile).bytes
        passed = self._buffer(step, operand, turn, core, size, staging=True)
        self._buffer(step, operand, turn, core, size)[:] = passed

    def _send_for(self, step: Step, operand: Operand, tile: int, turn: int, core: int) -> None:
        """A part of a tensor comes from the store into the far memory."""
        part = _bytes(self._whole(step, operand)[self._window(step, operand, tile)])
        self._buffer(step, operand, turn, core, part.size, staging=True)[:] = part

    def _compute(self, step: Step, tile: int, turn: int, core: int) -> None:
        option = step.option
        indices = option.grid.indices(tile)
        op = option.grid.local_op(indices)
        operands = {o.name: self._operand(step, o, tile, turn, core).copy() for o in option.operands if not o.is_result}
        if SCRATCH in step.offsets:
            self.l1[step.offsets[SCRATCH] : step.offsets[SCRATCH] + option.scratch] = SPOILT
        with np.errstate(all="ignore"):
            found = op.numpy(*(operands.get(name) for name in op.operand_names(len(option.node.inputs))))
        results = found if isinstance(found, tuple) else (found,)
        # Results that nothing uses have no names.
        values = dict(zip(op.result_names(len(option.node.outputs)), results, strict=False))
        for operand in option.operands:
            if operand.is_result:
                self._operand(step, operand, tile, turn, core)[...] = values[operand.name]

    # ---- bytes ------------------------------------------------------------------------------------------------------

    def _operand(self, step: Step, operand: Operand, tile: int, turn: int, core: int) -> Array:
        """What a kernel sees of an operand or result."""
        if not operand.streamed:
            whole = self._whole(step, operand)
            # A window of a scalar would be a copy, and kernels write into it.
            return whole[self._window(step, operand, tile)] if whole.ndim else whole
        kind = self._local(step, operand, tile)
        return _array(self._buffer(step, operand, turn, core, kind.bytes), kind)

    def _buffer(self, step: Step, operand: Operand, turn: int, core: int, size: int, staging: bool = False) -> Array:
        """The near buffer for a turn, or the far one through which its bytes pass."""
        budget = -(-operand.bytes // ALIGNMENT) * ALIGNMENT
        if size > operand.bytes:
            raise InternalError(step.option.node.where, f"{operand.name} takes {size} bytes of {operand.bytes}")
        memory, offsets = (self.l2, step.l2_staging) if staging else (self.l1, step.offsets)
        start = offsets[operand.name]
        if _is_per_core(step, operand):
            copies = 2 if step.option.double and operand.period else 1
            start += budget * (copies * core + turn % copies)
        elif operand.buffers > 1:
            start += budget * (turn // operand.period % 2)
        return memory[start : start + size]

    def _whole(self, step: Step, operand: Operand) -> Array:
        home = self.plan.homes[operand.tensor]
        l2, offset = self.plan.memories.l2.name, step.staged.get(home.owner)
        staged = home if offset is None else Home(ARENA, home.owner, l2, offset)
        place = step.option.grid.inside.get(operand.name)
        if place is None:
            return _array(self._home(staged, operand.tensor), self.plan.mapped.graph.types[operand.tensor])
        kind = step.option.grid.types[operand.name]
        larger = TensorType(kind.dtype, place.shape)
        taken = slice(place.start, place.start + kind.shape[place.axis])
        return _array(self._bytes_of(staged, larger.bytes), larger)[(slice(None),) * place.axis + (taken,)]

    def _home(self, home: Home, tensor: str) -> Array:
        return self._bytes_of(home, self.plan.mapped.graph.types[tensor].bytes)

    def _bytes_of(self, home: Home, size: int) -> Array:
        if home.kind == ARENA:
            return self.memory[home.memory][home.offset : home.offset + size]
        return self.own[home.owner][:size]

    def _window(self, step: Step, operand: Operand, tile: int) -> tuple[slice, ...]:
        grid = step.option.grid
        shape = grid.types[operand.name].shape
        if not grid.cuts:
            return tuple(slice(0, size) for size in shape)
        footprint = grid.op.footprint(grid.shapes, grid.box(grid.indices(tile)))
        return window(footprint[operand.name], shape)

    def _local(self, step: Step, operand: Operand, tile: int) -> TensorType:
        spans = self._window(step, operand, tile)
        return TensorType(step.option.grid.types[operand.name].dtype, tuple(s.stop - s.start for s in spans))

    def read_tensor(self, name: str) -> Array:
        kind = self.plan.mapped.graph.types[name]
        return _array(self._home(self.plan.homes[name], name), kind).copy()


def _is_per_core(step: Step, operand: Operand) -> bool:
    return step.option.mode == "per_core" and (operand.period > 0 or not operand.is_ready)


def _is_due(step: Step, operand: Operand, tile: int, turn: int) -> bool:
    """Whether a tile needs another part than the one before; constants of the first tile are there already."""
    if _is_per_core(step, operand):
        return turn == 0 or operand.period > 0
    if operand.period == 0:
        return tile == 0 and not operand.is_ready
    return tile % operand.period == 0 and not (tile == 0 and operand.is_ready)


def _array(data: Array, kind: TensorType) -> Array:
    return data.view(kind.dtype).reshape(kind.shape)


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
