"""A board as a user asks for it: other instructions, other sizes of memories, another clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.emulator.qemu_machines import moved
from tilewright.errors import CompileError
from tilewright.sim.platform import PAGE, Platform
from tilewright.target.isa import COMPILER_CPU, check_isa, compiler_flag, extensions, has_float
from tilewright.target.memory import ARENA, STACK, Memory, holding
from tilewright.target.runner import EMULATORS, QEMU, UNICORN, VirtualSoc, virtual_soc
from tilewright.target.settings import Settings
from tilewright.target.target import Target

RAM = "ram"
"""Stands for whatever memory of a board has what changes."""
SMALLEST_STACK, STACK_UNIT = 256, 16
LARGEST = 1 << 28
"""Bytes of a memory: as far as the next one begins."""


def adapted(target: Target, settings: Settings) -> Target:
    """The target with what the settings say of its core and memories; what they do not speak of stays."""
    if not target.agents.isa:
        return target
    _check_emulator(target, settings.emulator)
    runner, agents = virtual_soc(target.runner, f"target {target.name}"), target.agents
    if runner.emulator and settings.isa:
        raise CompileError(
            f"--isa {settings.isa}",
            f"{target.name} has a fixed instruction set",
            "leave it out, or choose --target rv32",
        )
    isa = agents.isa if runner.emulator else check_isa(settings.isa or agents.isa)
    memories = _memories(target, dict(settings.memories))
    stack = agents.stack if settings.stack is None else settings.stack
    if stack < SMALLEST_STACK or stack % STACK_UNIT:
        raise CompileError(
            f"--stack {stack}", f"is not a multiple of {STACK_UNIT} of at least {SMALLEST_STACK} bytes",
            f"for example --stack {agents.stack}",
        )  # fmt: skip
    clock = settings.clock_mhz if settings.clock_mhz is not None else runner.clock_mhz
    if clock is None or not 0 < clock < float("inf"):
        raise CompileError(f"--clock {clock:g}", "is not a number of MHz above 0", "for example --clock 100")
    resized = {memory.symbol: memory.bytes or 0 for memory in memories if not memory.banks}
    platform = _platform(target.platform, resized)
    flags = target.flags
    if not runner.emulator:
        groups = tuple(
            replace(group, has_float=has_float(isa), extensions=extensions(isa)) for group in platform.groups
        )
        platform = replace(platform, groups=groups)
        flags = tuple(compiler_flag(isa) if flag.startswith(COMPILER_CPU) else flag for flag in target.flags)
    agents = replace(agents, isa=isa, measured_isa=agents.measured_isa or agents.isa, stack=stack)
    runner = replace(runner, platform=platform, clock_mhz=clock)
    if QEMU in (settings.emulator, runner.emulator):
        runner = in_qemu(runner)
    return replace(target, memories=memories, flags=flags, agents=agents, runner=runner)


def in_qemu(runner: VirtualSoc) -> VirtualSoc:
    """The same core and memories on one of QEMU's boards, which has them at addresses of its own."""
    return replace(runner, platform=moved(runner.chip), emulator=QEMU)


def _check_emulator(target: Target, wanted: str) -> None:
    if wanted not in ("", *EMULATORS):
        raise CompileError(f"--emulator {wanted}", "is unknown", f"use {' or '.join(EMULATORS)}")
    if wanted and not target.runner.emulator:
        raise CompileError(f"--emulator {wanted}", f"{target.name} runs on the virtual SoC", "leave the option out")
    if wanted == UNICORN and target.runner.emulator != wanted:
        raise CompileError(
            f"--emulator {wanted}", f"does not emulate {target.name}", "leave the option out: QEMU runs it"
        )


def _memories(target: Target, sizes: Mapping[str, int]) -> tuple[Memory, ...]:
    known = [memory.symbol for memory in target.memories]
    if RAM in sizes and RAM not in known:
        return _memories(_with_one_ram(target, sizes[RAM]), {name: size for name, size in sizes.items() if name != RAM})
    for name, size in sizes.items():
        if name not in known:
            where = f"--memory {name}={size}"
            raise CompileError(where, f"is not a memory of {target.name}", f"its memories: {', '.join(known)}")
    return tuple(_resized(target, memory, sizes) for memory in target.memories)


def _with_one_ram(target: Target, size: int) -> Target:
    """Of several memories for what changes, the first of at least that size, and no more of it."""
    found = holding(target.memories, STACK)
    largest = max(found, key=lambda memory: memory.bytes or 0)
    chosen = next((memory for memory in found if size <= (memory.bytes or 0)), largest)
    others = [memory for memory in target.memories if ARENA not in memory.holds]
    return replace(target, memories=(_resized(target, chosen, {chosen.symbol: size}, RAM), *others))


def _resized(target: Target, memory: Memory, sizes: Mapping[str, int], asked: str = "") -> Memory:
    """A chip's memory may be used in part."""
    if memory.symbol not in sizes:
        return memory
    size, most = sizes[memory.symbol], memory.bytes if memory.banks else LARGEST
    if not 0 < size <= (most or 0):
        name = asked or memory.symbol
        raise CompileError(
            f"--memory {name}={size}", f"{target.name} may have 1 to {most} bytes of it",
            f"for example --memory {name}={memory.bytes}",
        )  # fmt: skip
    return replace(memory, bytes=size)


def _platform(platform: Platform, sizes: Mapping[str, int]) -> Platform:
    """Simulated memories have whole pages."""
    memories = tuple(
        replace(memory, size=-(-sizes[memory.name] // PAGE) * PAGE) if memory.name in sizes else memory
        for memory in platform.memories
    )
    return replace(platform, memories=memories)
