"""Places in a network's program whose passing tells what a core is doing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.sim.elf import Elf

LAYER_FUNCTION = re.compile(r"layer_(\d+)_(load|run|finish|store|stage)")
RUNNERS = frozenset({"tw_together", "tw_apart", "tw_direct", "tw_offload", "tw_hand_over"})
"""What layers are run with."""
STARTS = frozenset({"tw_take_back", "tw_from_store", "tw_first"}) | RUNNERS
"""What layers begin with."""
FETCH = "tw_fetch_begin"
"""What a layer's constants are fetched with; the functions that call it may be parts of others."""
WAITS = frozenset({"tw_dma_wait", "tw_store_wait"})
ENGINE_WAIT = "tw_npu_wait"
"""Where a core waits for an accelerator."""
CALLERS = (
    *sorted(STARTS), "tw_fork", "tw_serve", "tw_begin", "tw_finish", "tw_take_turn", "fetch", "first", "start",
    "computed", "moved",
)  # fmt: skip
"""Functions of the runtime that call what is of interest."""
RETURN = "return"


@dataclass(frozen=True)
class Place:
    kind: str
    """load, run, finish, store, stage: of a layer; a function of the runtime; or that a call of it has returned."""
    layer: int = -1


def places(elf: Elf, network: str) -> dict[int, Place]:
    """By address. `network` is the function that runs it."""
    found = {address: Place(RETURN) for name in CALLERS for address in _returns(elf, name)}
    for name, address in elf.symbols.items():
        layer = LAYER_FUNCTION.fullmatch(name)
        if layer:
            found[address] = Place(layer[2], int(layer[1]))
        elif name in STARTS or name in WAITS or name in (FETCH, ENGINE_WAIT):
            found[address] = Place(name)
    return {**found, elf.symbols[network]: Place(network)}


def _returns(elf: Elf, name: str) -> Iterator[int]:
    """The addresses behind the calls in a function."""
    if name not in elf.symbols:
        return
    start = elf.symbols[name]
    end = min((address for address, _ in elf.functions if address > start), default=start)
    code = _code(elf, start, end)
    at = 0
    while at + 2 <= len(code):
        half = int.from_bytes(code[at : at + 2], "little")
        size = 4 if half & 3 == 3 else 2
        if _is_call(int.from_bytes(code[at : at + size], "little"), size):
            yield start + at + size
        at += size


def _is_call(instruction: int, size: int) -> bool:
    """jal and jalr that leave the way back in ra, in both lengths."""
    if size == 4:
        return instruction & 0xFFF in (0x0EF, 0x0E7)
    is_jalr = instruction & 0xF07F == 0x9002 and instruction & 0x0F80 != 0
    return is_jalr or instruction & 0xE003 == 0x2001


def _code(elf: Elf, start: int, end: int) -> bytes:
    for segment in elf.segments:
        if segment.address <= start < segment.address + len(segment.data):
            return segment.data[start - segment.address : end - segment.address]
    return b""
