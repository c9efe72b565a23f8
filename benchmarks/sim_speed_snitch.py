"""Endless loops for the eight cores of the Snitch cluster, each on its own part of TCDM."""

from __future__ import annotations

from tests.sim.assembling import assemble, elf_of
from tests.sim.snitch.programs import FEATURES, MACROS, TCDM

from tilewright.sim.program.elf import Elf

START = f"""
    csrr t0, mhartid
    li   t1, 8
    bne  t0, t1, 1f
0:  wfi                              # the core with the DMA engine
    j    0b
1:  li   a0, {TCDM}
    slli t0, t0, 12
    add  a0, a0, t0
    csrr t0, mhartid
    slli t0, t0, 3
    add  a0, a0, t0                  # cores begin in different banks
    li   t0, 3
    fcvt.s.w fa5, t0
    li   t0, 7
    fcvt.s.w fa4, t0
    fdiv.s fa5, fa5, fa4             # inexact, as in most programs
    li   t0, 0
    li   t1, 256
5:  add  t2, a0, t0
    fsw  fa5, 0(t2)
    addi t0, t0, 4
    addi t1, t1, -1
    bnez t1, 5b
"""
INTEGER = """
2:  mv   a1, a0
    li   a2, 32
3:  lw   t0, 0(a1)
    lw   t1, 4(a1)
    addi a1, a1, 8
    addi a2, a2, -1
    add  t2, t2, t0
    xor  t3, t3, t1
    bnez a2, 3b
    j    2b
"""
PLAIN_FLOAT = """
2:  mv   a1, a0
    li   a2, 32
    fcvt.s.w fa0, zero
3:  flw  fa1, 0(a1)
    flw  fa2, 4(a1)
    addi a1, a1, 8
    addi a2, a2, -1
    fmadd.s fa0, fa1, fa2, fa0
    bnez a2, 3b
    j    2b
"""
STREAMS = """
2:  stream_set 1, 0, 7               # the first factor is used eight times
    stream_set 1, 1, 0
    stream_set 2, 0, 15
    stream_set 6, 0, 8
    stream_set 2, 1, 127
    stream_set 6, 1, 8
    .insn i 0x2b, 2, x0, a0, (24 << 5) | 0
    .insn i 0x2b, 2, x0, a0, (24 << 5) | 1
    csrsi 0x7c0, 1
    li   t1, 15
    .insn i 0x0b, 0, x1, t1, 7       # frep.o: eight instructions, sixteen times
    .irp r, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7
    .insn r 0x33, 0, 0x48, \\r, ft0, ft1   # vfmac.s
    .endr
    settle
    csrci 0x7c0, 1
    j    2b
"""
LOOPS = {"integer loop": INTEGER, "plain float loop": PLAIN_FLOAT, "packed float, frep, streams": STREAMS}


def snitch_program(loop: str) -> Elf:
    return elf_of(assemble(MACROS + START + loop, FEATURES))
