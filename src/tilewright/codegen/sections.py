"""Where the linker puts constants, by where a schedule has them: what C says of it, and what bytes have instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.planner.board.accelerator_reads import is_read_by_accelerator
from tilewright.planner.home import COPY, Home
from tilewright.planner.schedule.layer_schedule import LayerSchedule
from tilewright.planner.schedule.schedule import Schedule
from tilewright.records import dataclass
from tilewright.target.memory import Memory

COPIED = ".data.weights"
"""The section of constants that a board's start-up code copies to RAM."""


@dataclass(frozen=True)
class Section:
    macro: str
    """What stands before a constant in C."""
    name: str
    """Of one that is bytes rather than C."""
    alignment: int
    """Of the bytes: as compilers do it with C."""


def section_of(schedule: Schedule, name: str) -> Section:
    """Vectors of constants are read in whole lines of a cache, where there is one, and by accelerators where those can
    read."""
    home, work = schedule.homes[name], schedule.target.work_memory
    memory = next((one for one in schedule.target.memories if one.name == home.memory), None)
    if home.kind != COPY and memory is not None and memory.constants:
        return Section(_macro(memory), memory.constants, memory.constants_alignment)
    copied, apart = home.kind == COPY, memory.copies if memory is not None else ""
    macro = COPIES_APART if copied and apart else "TILEWRIGHT_COPIED_WEIGHTS" if copied else "TILEWRIGHT_WEIGHTS"
    asked = max(work.alignment if work.caches else 1, _base_alignment(schedule, name))
    aligned = f" __attribute__((aligned({asked})))" if asked > 1 else ""
    alignment = asked if asked > 1 else schedule.graph.constants[name].dtype.itemsize
    section = (apart or COPIED) if copied else "TILEWRIGHT_WEIGHTS_SECTION"
    return Section(macro + aligned, section, alignment)


def _base_alignment(schedule: Schedule, name: str) -> int:
    """Of what accelerators read themselves in the memory of constants."""
    wanted = {engine.name: engine.base_alignment for engine in schedule.target.engines if engine.base_alignment > 1}
    jobs = (layer for layer in schedule.layers if layer.engine in wanted and is_read_by_accelerator(layer))
    return max((wanted[layer.engine] for layer in jobs if _reads(schedule, layer, name)), default=1)


def _reads(schedule: Schedule, layer: LayerSchedule, name: str) -> bool:
    return any(schedule.homes[tensor].owner == name for tensor in layer.node.inputs if tensor)


def definitions(schedule: Schedule, constants: Iterable[str]) -> str:
    """Of the macros, besides that of all weights."""
    homes = [schedule.homes[name] for name in constants]
    used = {home.memory for home in homes if home.kind != COPY}
    placed = (memory for memory in schedule.target.paths.memories if memory.constants and memory.name in used)
    return "".join(map(_definition, placed)) + "".join(_copies(schedule, homes))


def _copies(schedule: Schedule, homes: Iterable[Home]) -> Iterator[str]:
    """One for each section of copies that is used."""
    used = {home.memory for home in homes if home.kind == COPY}
    apart = [memory for memory in schedule.target.memories if memory.copies and memory.name in used]
    if used - {memory.name for memory in apart}:
        yield COPIES.format("", "TILEWRIGHT_COPIED_WEIGHTS", COPIED)
    for memory in apart:
        yield COPIES.format(f" in {memory.name}", COPIES_APART, memory.copies)


def _macro(memory: Memory) -> str:
    return f"TILEWRIGHT_{memory.name.upper()}"


def _definition(memory: Memory) -> str:
    macro = _macro(memory)
    placed = f'section("{memory.constants}"), aligned({memory.constants_alignment})'
    return f"""
/* Constants in {memory.name}. */
#ifndef {macro}
#define {macro} __attribute__(({placed}))
#endif
"""


COPIES_APART = "TILEWRIGHT_COPIES_APART"
"""Of copies in a memory that has no variables."""
COPIES = """
/* Those that are read most{0}: start-up code copies this section from flash to RAM, as it does variables. */
#ifndef {1}
#define {1} __attribute__((section("{2}")))
#endif
"""
