"""Constants that an accelerator beside a core reads itself: what copies of them in RAM save, and what changes then."""

from __future__ import annotations

from tilewright.errors import present
from tilewright.ir.op import Op
from tilewright.planner.board.memory import board_memory
from tilewright.planner.cluster.capacity import rounded
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import COPY_UNIT, Schedule

LEAST_SAVED = 0.05
"""Of the predicted cycles, that are worth a note."""


def is_read_by_accelerator(call: LayerSchedule) -> bool:
    return call.kernel.where_copied is not None


def advice(schedule: Schedule) -> str:
    """Where accelerators wait for constants that RAM has room for, what to ask for; nothing elsewhere."""
    saved = {
        number: saved_by_copy(schedule, call)
        for number, call in enumerate(schedule.layers)
        if is_read_by_accelerator(call)
    }
    worth = [number for number, cycles in saved.items() if cycles > 0]
    if not worth:
        return ""
    names = {constants_of(schedule, schedule.layers[number]) for number in worth}
    size = sum(rounded(schedule.graph.constants[name].nbytes, COPY_UNIT) for name in names)
    total, ram = sum(saved[number] for number in worth), board_memory(schedule)[0]
    if size > ram.bytes - ram.needed or total < LEAST_SAVED * schedule.placed.predicted:
        return ""
    return (
        f"accelerators wait {total:,.0f} cycles for constants in flash: --copy-weights {size} copies them to "
        f"{ram.memory.name} at start"
    )


def constants_of(schedule: Schedule, call: LayerSchedule) -> str:
    """That it reads itself."""
    return schedule.homes[call.node.operands()[call.kernel.copied_operand]].owner


def saved_by_copy(schedule: Schedule, call: LayerSchedule) -> float:
    """Cycles of the accelerator."""
    types, cycles = schedule.graph.all_types(call.node), present(call.kernel.cycles, call.node.where, "has no cycles")
    before, after = (cycles(op, types, {}, 1).engine for op in (call.node.op, copied_op(schedule, call)))
    return before - after


def copied_op(schedule: Schedule, call: LayerSchedule) -> Op:
    """The layer's operator where its constants lie in RAM."""
    constants, operands = schedule.graph.constants, call.node.operands()
    given = {name: constants[tensor] for name, tensor in operands.items() if tensor in constants}
    return present(call.kernel.where_copied, call.node.where, "is not read by an accelerator")(call.node.op, given)
