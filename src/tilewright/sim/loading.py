"""A program put into the memories of a simulator, and its entry point into the cores that boot."""

from __future__ import annotations

import ctypes

from tilewright.errors import CompileError
from tilewright.sim.platform import Platform
from tilewright.sim.platforms import other_platforms
from tilewright.sim.program.elf import Elf, allocated_ranges, read_only_ranges


def load_program(library: ctypes.CDLL, simulator: int, platform: Platform, elf: Elf) -> None:
    group = next((i for i, group in enumerate(platform.groups) if group.boots), 0)

    def check_fits(address: int, size: int) -> None:
        if size and not library.tw_is_memory(simulator, group, address, size):
            raise _outside(platform, elf, address, size)

    for segment in elf.segments:
        filled, zeros = len(segment.data), segment.size - len(segment.data)
        check_fits(segment.load_address, filled)
        check_fits(segment.address + filled, zeros)
        library.tw_write(simulator, group, segment.load_address, segment.data, filled)
        library.tw_write(simulator, group, segment.address + filled, bytes(zeros), zeros)
    if all(memory.is_mapped for memory in platform.memories):
        for start, end in allocated_ranges(elf):  # also what is not loaded
            check_fits(start, end - start)
    for start, end in read_only_ranges(elf):
        library.tw_protect(simulator, start, end)
    library.tw_flush_code(simulator)
    _boot(library, simulator, platform, elf, group)


def _boot(library: ctypes.CDLL, simulator: int, platform: Platform, elf: Elf, group: int) -> None:
    if "tohost" in elf.symbols:
        library.tw_set_tohost(simulator, elf.symbols["tohost"])
    library.tw_set_fromhost(simulator, elf.symbols.get("fromhost", 0))
    library.tw_boot(simulator, elf.entry)
    if word := platform.boot_word:
        library.tw_write(simulator, group, word, elf.entry.to_bytes(4, "little"), 4)
        library.tw_pass_hart(simulator, word + 4)


def _outside(platform: Platform, elf: Elf, address: int, size: int) -> CompileError:
    places = ", ".join(f"{m.name} {m.base:#x}..{m.base + m.size:#x}" for m in platform.memories if m.is_mapped)
    what = f"segment {address:#x}..{address + size:#x} lies outside the memories of {platform.name}"
    return CompileError(elf.path, what, f"{other_platforms(platform, elf)}link it into one of: {places}")
