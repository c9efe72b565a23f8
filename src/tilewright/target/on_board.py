"""A core's target on a board that a file describes: the platform with all its memories, and what of them is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tilewright.sim.platform import Memory as Place
from tilewright.sim.platform import Platform, ReadPort
from tilewright.target.board_file import BoardFile, BoardMemory
from tilewright.target.memory import ARENA, CODE, CONSTANTS, STACK, Memory, holding
from tilewright.target.runner import virtual_soc
from tilewright.target.target import Target

RAM = "RAM"
"""What the memory for all that changes is called where there is only one."""


def on_board(core: Target, file: BoardFile) -> Target:
    """The target of a core with the memories and the clock of a board; of several memories for a purpose the first in
    the file is preferred."""
    groups = tuple(replace(group, local_memory=_local(core, file)) for group in core.platform.groups)
    places = tuple(_place(memory, groups[0].name) for memory in file.memory)
    platform = Platform(file.name, f"{file.summary}; {file.cpu}", groups, places, devices=core.platform.devices)
    used, code = holding(core.memories, STACK)[0], holding(core.memories, CODE)[0]
    return replace(
        core, name=file.name, summary=file.summary,
        memories=(*_ram(file.memory, used), *_read_only(file.memory, code)),
        runner=replace(virtual_soc(core.runner, core.name), platform=platform, clock_mhz=float(file.clock_mhz)),
    )  # fmt: skip


def _local(core: Target, file: BoardFile) -> str:
    """Of the virtual SoC: the largest memory without wait states that programs write to."""
    if core.runner.emulator:
        return ""
    found = [memory for memory in file.memory if ARENA in memory.holds and not memory.wait_states]
    return max(found, key=lambda memory: memory.kib).name.lower() if found else ""


def _place(memory: BoardMemory, core: str) -> Place:
    port = ReadPort(
        memory.line_bytes, memory.prefetch, memory.instruction_cache_bytes, memory.data_cache_bytes, memory.cache_ways,
        memory.one_cache, memory.wait_states,
    )  # fmt: skip
    latency = {core: memory.wait_states} if memory.wait_states else {}
    is_flash = not {ARENA, STACK} & set(memory.holds)
    other = memory.npu_address if memory.npu_address >= 0 else None
    return Place(
        memory.name.lower(), memory.base, memory.bytes, latency=latency, is_flash=is_flash, npu_address=other, port=port
    )  # fmt: skip


def _ram(memories: Sequence[BoardMemory], like: Memory) -> Iterator[Memory]:
    """Regions for what changes: memories that adjoin are one; those that the stack may lie in come first."""
    regions = list(_adjoining(memory for memory in memories if ARENA in memory.holds))
    regions.sort(key=lambda banks: (STACK not in banks[0].holds, min(memories.index(bank) for bank in banks)))
    for banks in regions:
        name = RAM if len(regions) == 1 else "_".join(bank.name for bank in banks)
        yield replace(
            like, name=name, bytes=sum(bank.bytes for bank in banks), section=f".bank_{name.lower()}",
            holds=frozenset({ARENA, STACK} & set(banks[0].holds)), banks=tuple(bank.name.lower() for bank in banks),
        )  # fmt: skip


def _adjoining(memories: Iterable[BoardMemory]) -> Iterator[list[BoardMemory]]:
    found: list[BoardMemory] = []
    for memory in sorted(memories, key=lambda memory: memory.base):
        if found and (memory.base != found[-1].end or (STACK in memory.holds) != (STACK in found[-1].holds)):
            yield found
            found = []
        found.append(memory)
    yield found


def _read_only(memories: Sequence[BoardMemory], like: Memory) -> Iterator[Memory]:
    """The memory of code, and that of constants where it is another one."""
    code, constants = (next(memory for memory in memories if use in memory.holds) for use in (CODE, CONSTANTS))
    for memory in (constants, code) if code is not constants else (code,):
        uses = frozenset([CODE] * (memory is code) + [CONSTANTS] * (memory is constants))
        yield replace(
            like, name=memory.name, bytes=memory.bytes, section=f".bank_{memory.name.lower()}", holds=uses,
            reserved=like.reserved if CODE in uses else 0, banks=(memory.name.lower(),),
        )  # fmt: skip
