"""Names of RISC-V instruction sets, as far as the virtual SoC executes them: rv32imc, rv32imafc, rv32imac_zba_zbb."""

from __future__ import annotations

from tilewright.errors import CompileError
from tilewright.sim.platform import EXTENSIONS as LONG

BASE, LETTERS = "rv32i", "mafc"
"""What every core has, and what it may have besides, in the order in which names have them; then those of more than a
letter, each behind a `_`."""
VECTORS, VECTOR_BITS = "zve32x", "zvl128b"
"""Vectors of integers, and how long those of the virtual SoC are."""
COMPILER_CPU = "-mcpu="
"""How the compiler is told."""


def check_isa(name: str) -> str:
    """The name, if all that it stands for is known."""
    example = "for example --isa rv32imc"
    if not name.startswith(BASE):
        raise CompileError(f"--isa {name}", f"does not begin with {BASE}", example)
    letters, long = _parts(name)
    unknown = [letter for letter in letters if letter not in LETTERS] + [one for one in long if one not in LONG]
    if unknown:
        known = f"{', '.join(LETTERS)}; then {', '.join(f'_{one}' for one in LONG)}"
        raise CompileError(f"--isa {name}", f"'{unknown[0]}' is not known; known after {BASE}: {known}", example)
    ordered = _named(letters, long)
    if name != ordered:
        raise CompileError(f"--isa {name}", "its letters are not in their order, each once", f"write {ordered}")
    return name


def _parts(name: str) -> tuple[str, list[str]]:
    letters, *long = name.removeprefix(BASE).split("_")
    return letters, long


def _named(letters: str, long: list[str]) -> str:
    ordered = "".join(letter for letter in LETTERS if letter in letters)
    return "_".join([BASE + ordered, *(one for one in LONG if one in long)])


def has_float(isa: str) -> bool:
    return "f" in _parts(isa)[0]


def extensions(isa: str) -> frozenset[str]:
    """Those of more than a letter."""
    return frozenset(_parts(isa)[1])


def compiler_flag(isa: str) -> str:
    # The order is that of other targets' flags: programs with the same flags share the compiler's own library.
    letters, long = _parts(isa)
    found = [letter for letter in "mcfa" if letter in letters] + long + [VECTOR_BITS] * (VECTORS in long)
    return f"{COMPILER_CPU}generic_rv32" + "".join(f"+{one}" for one in found)
