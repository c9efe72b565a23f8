"""Names of RISC-V instruction sets, as far as the virtual SoC executes them: rv32imc, rv32imac, rv32imafc."""

from __future__ import annotations

from tilewright.errors import CompileError

BASE, EXTENSIONS = "rv32i", "mafc"
"""What every core has, and what it may have besides, in the order in which names have them."""
COMPILER_CPU = "-mcpu="
"""How the compiler is told."""


def check_isa(name: str) -> str:
    """The name, if all that it stands for is known."""
    letters = name.removeprefix(BASE)
    unknown = [letter for letter in letters if letter not in EXTENSIONS]
    example = "for example --isa rv32imc"
    if not name.startswith(BASE):
        raise CompileError(f"--isa {name}", f"does not begin with {BASE}", example)
    if unknown:
        known = ", ".join(EXTENSIONS)
        raise CompileError(f"--isa {name}", f"'{unknown[0]}' is not known; known after {BASE}: {known}", example)
    if letters != "".join(letter for letter in EXTENSIONS if letter in letters):
        ordered = BASE + "".join(letter for letter in EXTENSIONS if letter in letters)
        raise CompileError(f"--isa {name}", "its letters are not in their order, each once", f"write {ordered}")
    return name


def has_float(isa: str) -> bool:
    return "f" in isa.removeprefix(BASE)


def compiler_flag(isa: str) -> str:
    # The order is that of other targets' flags: programs with the same flags share the compiler's own library.
    letters = [letter for letter in "mcfa" if letter in isa.removeprefix(BASE)]
    return f"{COMPILER_CPU}generic_rv32" + "".join(f"+{letter}" for letter in letters)
