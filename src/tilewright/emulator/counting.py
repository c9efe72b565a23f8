"""blocks.c as an object: how often each block ran, and what all of them took."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import astuple
from functools import cache
from pathlib import Path

from tilewright.records import dataclass
from tilewright.sim.library import build_library
from tilewright.sim.platform import ReadPort
from tilewright.toolchain.compiler import find_compiler

SOURCE = Path(__file__).parent / "blocks.c"
WORD = 4
PAUSED, ARRIVED = 1, 2
PARTS = 256
"""Of a cycle, in which waits for reads are summed up."""
U32, U64, P = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p


COSTS = (
    "instructions", "cycles", "leaving", "entered", "extra", "extra_leaving", "wait", "read_waits",
)  # fmt: skip


class CCost(ctypes.Structure):
    """`tw_block_cost`."""

    _fields_ = [(name, U32) for name in COSTS]


class CBlock(ctypes.Structure):
    """`tw_block`."""

    _fields_ = [
        ("executed", U64), ("address", U32), ("bytes", U32), ("cost", CCost), ("noted", U32), ("known", U32),
    ]  # fmt: skip


class CTotal(ctypes.Structure):
    """`tw_total`."""

    _fields_ = [(name, U64) for name in ("instructions", "cycles", "extra", "waits", "read_waits")]


class CEvent(ctypes.Structure):
    """`tw_block_event`."""

    _fields_ = [("total", CTotal), ("address", U32), ("pad", U32)]


COST_OF = ctypes.CFUNCTYPE(None, U32, U32, ctypes.POINTER(CCost))

_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "tw_counter_new": (P, (COST_OF, P, U32, U32, U32, U32)),
    "tw_counter_delete": (None, (P,)),
    "tw_counter_note": (None, (P, ctypes.POINTER(U32), U32)),
    "tw_counter_pause": (None, (P, U64)),
    "tw_counter_stop_at": (None, (P, U32, U32)),
    "tw_counter_paused": (U32, (P,)),
    "tw_counter_total": (None, (P, ctypes.POINTER(CTotal))),
    "tw_counter_events": (ctypes.POINTER(CEvent), (P, ctypes.POINTER(U32))),
    "tw_counter_blocks": (U32, (P, ctypes.POINTER(CBlock), U32)),
}


@dataclass(frozen=True)
class BlockCost:
    """Of a block that is executed once."""

    instructions: int
    cycles: int
    leaving: int
    """Cycles more where the core goes on elsewhere than behind the block."""
    entered: int = 0
    """And where it comes from elsewhere than before it."""
    extra: int = 0
    """Of a core whose cycles are not exactly known: at most so many more."""
    extra_leaving: int = 0
    wait: int = 0
    """Cycles until a line of its code is there."""
    read_waits: int = 0
    """Cycles for what it reads from memories with wait states, in parts of PARTS."""


@dataclass(frozen=True)
class Total:
    """What has been executed."""

    instructions: int
    cycles: int
    """With those in which the core waits for memories."""
    most: int
    waits: int

    @staticmethod
    def of(c: CTotal) -> Total:
        waits = c.waits + c.read_waits // PARTS
        return Total(c.instructions, c.cycles + waits, c.cycles + c.extra + waits, waits)


@dataclass(frozen=True)
class Event:
    """The core has come to a place."""

    address: int
    total: Total


@dataclass(frozen=True)
class Block:
    address: int
    bytes: int
    executed: int
    cost: BlockCost


class BlockCounter:
    """What a core has executed so far."""

    failed: BaseException | None = None
    """What has gone wrong in `cost_of`."""
    _counter: int | None

    def __init__(
        self, cost_of: Callable[[int, int], BlockCost], stop: object, port: ReadPort, asked_every: int = 0
    ) -> None:
        """`cost_of` an address and a size in bytes, of a block that is about to be executed: for the first time, and
        every so many times; `stop` is the C function that stops the emulator; `port` is that of the memory of code."""

        def told(address: int, size: int, cost: ctypes._Pointer[CCost]) -> None:
            try:
                cost[0] = CCost(*astuple(cost_of(address, size)))
            except BaseException as error:  # C does not hand it on
                self.failed = self.failed or error
                self._library.tw_counter_pause(self._counter, 0)

        self._library = load()
        self._callback = COST_OF(told)
        line, stopping = port.line_bytes or WORD, ctypes.cast(stop, P)  # type: ignore[arg-type]
        cached = port.instruction_cache_bytes // line
        self._counter = self._library.tw_counter_new(self._callback, stopping, line, port.prefetch, cached, asked_every)

    def close(self) -> None:
        if self._counter:
            self._library.tw_counter_delete(self._counter)
            self._counter = None

    @property
    def hook(self) -> tuple[int, int | None]:
        """The C function that the emulator calls for every block, and what it is given."""
        return ctypes.cast(self._library.tw_block_entered, P).value or 0, self._counter

    def note(self, places: Iterable[int]) -> None:
        """Coming to one of these addresses is an event from now on."""
        wanted = list(places)
        self._library.tw_counter_note(self._counter, (U32 * max(1, len(wanted)))(*wanted), len(wanted))

    def pause_after(self, instructions: int) -> None:
        """Stop where so many more have been executed."""
        self._library.tw_counter_pause(self._counter, self.total.instructions + instructions)

    def stop_at(self, address: int, is_there: bool) -> None:
        """Stop where the core comes to the beginning of a block; not at once, if it is there."""
        self._library.tw_counter_stop_at(self._counter, address, is_there)

    @property
    def has_paused(self) -> bool:
        return bool(self._library.tw_counter_paused(self._counter) == PAUSED)

    @property
    def has_arrived(self) -> bool:
        return bool(self._library.tw_counter_paused(self._counter) == ARRIVED)

    @property
    def total(self) -> Total:
        total = CTotal()
        self._library.tw_counter_total(self._counter, ctypes.byref(total))
        return Total.of(total)

    @property
    def events(self) -> list[Event]:
        count = U32()
        found = self._library.tw_counter_events(self._counter, ctypes.byref(count))
        return [Event(found[i].address, Total.of(found[i].total)) for i in range(count.value)]

    @property
    def blocks(self) -> list[Block]:
        count = self._library.tw_counter_blocks(self._counter, None, 0)
        found = (CBlock * max(1, count))()
        self._library.tw_counter_blocks(self._counter, found, count)
        return [
            Block(one.address, one.bytes, one.executed, BlockCost(*(getattr(one.cost, name) for name in COSTS)))
            for one in found[:count]
        ]


@cache
def load() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_library([SOURCE], find_compiler(None), "the block counter")))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
