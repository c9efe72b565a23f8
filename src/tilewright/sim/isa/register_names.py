"""Names of registers, as debuggers and assemblers write them."""

from __future__ import annotations

from tilewright.errors import CompileError

ABI_NAMES = (
    ["zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"]
    + [f"a{i}" for i in range(8)]
    + [f"s{i}" for i in range(2, 12)]
    + [f"t{i}" for i in range(3, 7)]
    + ["pc"]
)
REGISTERS = {name: number for number, name in enumerate(ABI_NAMES)}
REGISTERS |= {f"x{i}": i for i in range(32)} | {f"f{i}": 33 + i for i in range(32)} | {"fp": 8}
REGISTERS |= {"fflags": 65, "frm": 66, "fcsr": 67}
COUNT = 68


def register_number(name: str | int) -> int:
    """0..31 integer registers, 32 the PC, 33..64 floating-point registers, 65..67 fflags, frm and fcsr."""
    if isinstance(name, int) and 0 <= name < COUNT:
        return name
    if name not in REGISTERS:
        raise CompileError(str(name), "is not a register", "use x0..x31, their ABI names, f0..f31, fcsr or pc")
    return REGISTERS[str(name)]
