"""Small programs for one core of the virtual Snitch cluster; the others sleep."""

from __future__ import annotations

from tests.sim.assembling import ALONE, BASE, FOREVER, assemble, elf_of
from tilewright.sim.simulator import Simulator

FEATURES = "+m+a+f+d"
TCDM, PERIPHERALS, ZEROS = 0x1000_0000, 0x1002_0000, 0x1003_0000
DATA = BASE + 0x10_0000
DMA_HART = 8
MACROS = """
    .option norvc
    .macro stream_set reg, mover, value          # a register of a data mover
    li   t6, \\value
    .insn i 0x2b, 2, x0, t6, (\\reg << 5) | \\mover
    .endm
    .macro settle                                # until the floating-point unit has done everything
    fmv.x.w t6, fa0
    mv   t6, t6
    .endm
"""


def program(body: str, hart: int | None = 0) -> tuple[bytes, int]:
    """The code, and the address behind it. Without a hart all cores run it."""
    start = "" if hart is None else ALONE.format(hart=hart)
    code = assemble(MACROS + start + body, FEATURES)
    return code + FOREVER, BASE + len(code)


def loaded(body: str, hart: int | None = 0, **checks: bool) -> tuple[Simulator, int]:
    code, end = program(body, hart)
    simulator = Simulator("snitch")
    simulator.check(**checks)
    simulator.load(elf_of(code))
    return simulator, end


def run(body: str, hart: int = 0, data: dict[int, bytes] | None = None, **checks: bool) -> Simulator:
    """From the first to behind the last instruction of one core."""
    simulator, end = loaded(body, hart, **checks)
    for address, content in (data or {}).items():
        simulator.write(address, content)
    assert simulator.run_until(end, cycle=1_000_000, core=hart)
    assert simulator.register(hart, "pc") == end
    return simulator


def cycles(body: str, before: str = "", hart: int = 0) -> int:
    """Between two readings of the counter around some code, the second time that it runs."""
    again = f"li s11, 2\n{before}\n2: csrr s10, mcycle\n{body}\n csrr s9, mcycle\n addi s11, s11, -1\n bnez s11, 2b"
    simulator = run(again, hart)
    return simulator.register(hart, "s9") - simulator.register(hart, "s10")
