"""What GCC is told of a target's core, from what clang is told."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.target.isa import has_float
from tilewright.target.target import Target

CPU = "-mcpu="
UNITS = {"vfp4d16sp": "fpv4-sp-d16", "fp_armv8d16sp": "fpv5-sp-d16", "fp_armv8d16": "fpv5-d16"}
"""Floating-point units: as clang and as GCC call them."""


def cpu_of(target: Target) -> str:
    """As Arm spells it, for example cortex-m4; empty where it is not Arm's."""
    if not _is_arm(target):
        return ""
    return _clang_cpu(target)[0].replace("_", "-")


def has_float_unit(target: Target) -> bool:
    """Whether the core is known to have one."""
    return _is_hard(target) if _is_arm(target) else has_float(target.agents.isa)


def gnu_flags(target: Target) -> list[str]:
    """Of the core that is known, and what its target defines."""
    isa = target.agents.isa
    if not isa:
        raise CompileError(
            f"target {target.name}",
            "has no core to compile for",
            "choose a microcontroller, for example --target cortex-m4",
        )
    if not _is_arm(target):
        return [f"-march={isa}", f"-mabi={'ilp32f' if has_float(isa) else 'ilp32'}"]
    cpu, *features = _clang_cpu(target)
    units = [UNITS[feature] for feature in features if feature in UNITS]
    hard = [f"-mfpu={unit}" for unit in units]
    floats = ["-mfloat-abi=hard", *hard] if _is_hard(target) else ["-mfloat-abi=soft"]
    return [f"{CPU}{cpu.replace('_', '-')}", "-mthumb", *floats, *target.definitions]


def _is_arm(target: Target) -> bool:
    return target.agents.isa.startswith("cortex")


def _is_hard(target: Target) -> bool:
    return any(flag.endswith("eabihf") for flag in target.flags)


def _clang_cpu(target: Target) -> list[str]:
    return next(flag for flag in target.flags if flag.startswith(CPU)).removeprefix(CPU).split("+")
