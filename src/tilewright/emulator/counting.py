"""blocks.c as an object: how often each block ran, and what all of them took."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.sim.library import build_library
from tilewright.toolchain.compiler import find_compiler

SOURCE = Path(__file__).parent / "blocks.c"
U32, U64, P = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
FOREVER = (1 << 64) - 1


class CCost(ctypes.Structure):
    """`tw_block_cost`."""

    _fields_ = [("instructions", U32), ("cycles", U32), ("leaving", U32)]


class CBlock(ctypes.Structure):
    """`tw_block`."""

    _fields_ = [
        ("executed", U64), ("address", U32), ("bytes", U32), ("cost", CCost), ("noted", U32), ("known", U32),
    ]  # fmt: skip


class CEvent(ctypes.Structure):
    """`tw_block_event`."""

    _fields_ = [("instructions", U64), ("cycles", U64), ("address", U32), ("pad", U32)]


COST_OF = ctypes.CFUNCTYPE(None, U32, U32, ctypes.POINTER(CCost))
ASKS = ctypes.CFUNCTYPE(ctypes.c_int)

_SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "tw_counter_new": (P, (COST_OF, ASKS, P)),
    "tw_counter_delete": (None, (P,)),
    "tw_counter_note": (None, (P, ctypes.POINTER(U32), U32)),
    "tw_counter_limit": (None, (P, U64)),
    "tw_counter_cycles": (U64, (P,)),
    "tw_counter_instructions": (U64, (P,)),
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


@dataclass(frozen=True)
class Event:
    """The core has come to a place."""

    address: int
    instructions: int
    cycles: int


@dataclass(frozen=True)
class Block:
    address: int
    bytes: int
    executed: int
    cost: BlockCost


class BlockCounter:
    """What a core has executed so far."""

    def __init__(self, cost_of: Callable[[int, int], BlockCost], asks: Callable[[], bool], stop: object) -> None:
        """`cost_of` an address and a size in bytes; `asks` whether to stop is called now and then, and `stop` the C
        function that does so is given the emulator."""

        def told(address: int, size: int, cost: ctypes._Pointer[CCost]) -> None:
            found = cost_of(address, size)
            cost[0] = CCost(found.instructions, found.cycles, found.leaving)

        self._library = _load()
        self._callbacks = COST_OF(told), ASKS(lambda: int(asks()))
        self._counter = self._library.tw_counter_new(*self._callbacks, ctypes.cast(stop, P))  # type: ignore[arg-type]

    def close(self) -> None:
        if self._counter:
            self._library.tw_counter_delete(self._counter)
            self._counter = None

    @property
    def hook(self) -> tuple[int, int]:
        """The C function that the emulator calls for every block, and what it is given."""
        return ctypes.cast(self._library.tw_block_entered, P).value or 0, self._counter

    def note(self, places: Iterable[int]) -> None:
        """Coming to one of these addresses is an event from now on."""
        wanted = list(places)
        self._library.tw_counter_note(self._counter, (U32 * max(1, len(wanted)))(*wanted), len(wanted))

    def limit(self, cycles: int = FOREVER) -> None:
        """Stop where so many have passed."""
        self._library.tw_counter_limit(self._counter, cycles)

    @property
    def cycles(self) -> int:
        return int(self._library.tw_counter_cycles(self._counter))

    @property
    def instructions(self) -> int:
        return int(self._library.tw_counter_instructions(self._counter))

    @property
    def events(self) -> list[Event]:
        count = U32()
        found = self._library.tw_counter_events(self._counter, ctypes.byref(count))
        return [Event(found[i].address, found[i].instructions, found[i].cycles) for i in range(count.value)]

    @property
    def blocks(self) -> list[Block]:
        count = self._library.tw_counter_blocks(self._counter, None, 0)
        found = (CBlock * max(1, count))()
        self._library.tw_counter_blocks(self._counter, found, count)
        return [
            Block(
                one.address,
                one.bytes,
                one.executed,
                BlockCost(one.cost.instructions, one.cost.cycles, one.cost.leaving),
            )
            for one in found[:count]
        ]


@cache
def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_library([SOURCE], find_compiler(None), "the block counter")))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
