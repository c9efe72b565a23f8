"""Toolchain files for CMake, for a processor that few machines have on which networks are compiled: RISC-V."""

from __future__ import annotations

from pathlib import Path

from tilewright.emulator.user_mode import qemu_cpu
from tilewright.target.processors import PROCESSORS, RISCV, processor_flags
from tilewright.target.runner import host_process
from tilewright.target.target import Target

FOLDER, PLACE = Path(__file__).parent / "cross", "cmake"


def is_cross(target: Target) -> bool:
    name = host_process(target.runner).cpu
    return name in PROCESSORS and PROCESSORS[name].machine == RISCV


def files(target: Target) -> dict[str, str]:
    """By their names in a folder; nothing where the machine's own compiler will do."""
    if not is_cross(target):
        return {}
    processor = PROCESSORS[host_process(target.runner).cpu]
    words = {"@emulator@": f"qemu-{RISCV} -cpu {qemu_cpu(processor.vector_bits)}", "@zig@": processor.zig}
    found = {}
    for name in ("gcc.cmake", "zig.cmake"):
        text = (FOLDER / name).read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(word, value)
        found[f"{PLACE}/{name}"] = text
    return found


def cmake_flags(target: Target) -> tuple[str, ...]:
    """What compilers are told of the processor; zig has names of its own for that."""
    name = host_process(target.runner).cpu
    plain = processor_flags(name, False)
    if not is_cross(target):
        return plain
    march, *others = plain
    return (f"$<IF:$<BOOL:${{ZIG_CPU}}>,-mcpu=${{ZIG_CPU}},{march}>", *others)
