"""What a platform has done until a moment, as counts: what energy is computed from."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator

from tilewright.records import dataclass

MAX_MEMORIES = 16
"""Of a platform; engine/sim.h knows as many."""

CLASSES = ("alu", "mul", "mulh", "mac", "dot", "div", "load", "store", "branch", "jump", "float", "float_div")
"""Instructions by what they use, in the order of CLASS_* in engine/sim.h."""
OF_MEMORIES = ("words", "code_words", "dma_bytes", "npu_bytes")
ENGINES = ("dma_bytes", "npu_cycles", "npu_macs", "npu_mac_bits")

STALL_CAUSES = ("load_use", "branch", "muldiv", "conflict", "memory", "fetch", "sleep", "fpu")
"""In the order of STALL_* in engine/sim.h."""

U64 = ctypes.c_uint64


class CMemoryActivity(ctypes.Structure):
    _fields_ = [(name, U64) for name in OF_MEMORIES]


class CActivity(ctypes.Structure):
    """`activity` in engine/sim.h."""

    _fields_ = [
        ("cycles", U64),
        ("instruction", U64 * len(CLASSES)),
        *((name, U64) for name in ("stalled", "asleep")),
        ("stall", U64 * len(STALL_CAUSES)),
        *((name, U64) for name in ("private_refills", "shared_refills")),
        ("memory", CMemoryActivity * MAX_MEMORIES),
        *((name, U64) for name in ENGINES),
    ]


@dataclass(frozen=True)
class Activity:
    """Counts by name: `dot` instructions, cycles of cores `asleep`, `l2.words`."""

    counts: dict[str, int]

    def since(self, before: Activity) -> Activity:
        return Activity({name: count - before.counts[name] for name, count in self.counts.items()})

    def cycles_read_as(self, word: int) -> int:
        """What a program has counted meanwhile, of which it knows the lower 32 bits."""
        return whole_count(word, self.counts["cycles"])


def whole_count(word: int, about: int) -> int:
    """A count by its lower 32 bits and by a number near it."""
    return word + round(max(0, about - word) / 2**32) * 2**32


def activity_names(memories: Iterable[str]) -> list[str]:
    """What is counted on a platform with these memories."""
    of_memories = [f"{memory}.{kind}" for memory in memories for kind in OF_MEMORIES]
    general = ["cycles", "instructions", "stalled", "asleep", "private_refills", "shared_refills"]
    return [*general, *CLASSES, *of_memories, *ENGINES, *(f"stall.{cause}" for cause in STALL_CAUSES)]


def activity_of(c: CActivity, memories: Iterable[str]) -> Activity:
    """What the simulator has counted, with the names of a platform's memories."""
    names = list(memories)
    return Activity(dict(zip(activity_names(names), _counts(c, len(names)), strict=True)))


def _counts(c: CActivity, memories: int) -> Iterator[int]:
    by_class = [int(count) for count in c.instruction]
    yield from (int(c.cycles), sum(by_class), int(c.stalled), int(c.asleep))
    yield from (int(c.private_refills), int(c.shared_refills), *by_class)
    yield from (int(getattr(c.memory[i], kind)) for i in range(memories) for kind in OF_MEMORIES)
    yield from (int(getattr(c, name)) for name in ENGINES)
    yield from (int(cycles) for cycles in c.stall)
