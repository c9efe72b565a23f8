"""A board as a user asks for it: other instructions, other sizes of memories, another clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.errors import CompileError
from tilewright.sim.platform import PAGE, Platform
from tilewright.target.isa import COMPILER_CPU, check_isa, compiler_flag, has_float
from tilewright.target.memory import Memory
from tilewright.target.settings import Settings
from tilewright.target.target import Target

SMALLEST_STACK, STACK_UNIT = 256, 16
LARGEST = 1 << 28
"""Bytes of a memory: as far as the next one begins."""


def adapted(target: Target, settings: Settings) -> Target:
    """The target with what the settings say; what they do not speak of stays."""
    if target.board is None:
        return target
    if target.emulated and settings.isa:
        raise CompileError(
            f"--isa {settings.isa}", f"{target.name} is one core", "leave it out, or choose another target"
        )
    isa = target.board.isa if target.emulated else check_isa(settings.isa or target.board.isa)
    sizes = dict(settings.memories)
    known = [memory.symbol for memory in target.memories]
    for name, size in sizes.items():
        if name not in known:
            where = f"--memory {name}={size}"
            raise CompileError(where, f"is not a memory of {target.name}", f"its memories: {', '.join(known)}")
    memories = tuple(_resized(target, memory, sizes) for memory in target.memories)
    stack = target.board.stack if settings.stack is None else settings.stack
    if stack < SMALLEST_STACK or stack % STACK_UNIT:
        raise CompileError(
            f"--stack {stack}", f"is not a multiple of {STACK_UNIT} of at least {SMALLEST_STACK} bytes",
            f"for example --stack {target.board.stack}",
        )  # fmt: skip
    clock = settings.clock_mhz if settings.clock_mhz is not None else target.board.clock_mhz
    if not 0 < clock < float("inf"):
        raise CompileError(f"--clock {clock:g}", "is not a number of MHz above 0", "for example --clock 100")
    platform = _platform(target.platform, {memory.symbol: memory.bytes or 0 for memory in memories})
    flags = target.flags
    if not target.emulated:
        groups = tuple(replace(group, has_float=has_float(isa)) for group in platform.groups)
        platform = replace(platform, groups=groups)
        flags = tuple(compiler_flag(isa) if flag.startswith(COMPILER_CPU) else flag for flag in target.flags)
    measured = target.board.measured_isa or target.board.isa
    board = replace(target.board, platform=platform, isa=isa, clock_mhz=clock, measured_isa=measured, stack=stack)
    return replace(target, memories=memories, flags=flags, board=board)


def _resized(target: Target, memory: Memory, sizes: Mapping[str, int]) -> Memory:
    if memory.symbol not in sizes:
        return memory
    size = sizes[memory.symbol]
    if not 0 < size <= LARGEST:
        raise CompileError(
            f"--memory {memory.symbol}={size}", f"{target.name} may have 1 to {LARGEST} bytes of it",
            f"for example --memory {memory.symbol}={memory.bytes}",
        )  # fmt: skip
    return replace(memory, bytes=size)


def _platform(platform: Platform, sizes: Mapping[str, int]) -> Platform:
    """Simulated memories have whole pages."""
    memories = tuple(
        replace(memory, size=-(-sizes[memory.name] // PAGE) * PAGE) if memory.name in sizes else memory
        for memory in platform.memories
    )
    return replace(platform, memories=memories)
