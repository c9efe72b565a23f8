"""Streams of all cores at once: results and cycles do not depend on how a run is cut."""

from __future__ import annotations

from tests.sim.snitch_programs import TCDM, loaded
from tilewright.sim.simulator import Simulator

CORES, ELEMENTS = 8, 48
SCALE = f"""
    csrr t0, mhartid
    li   a0, {TCDM}
    slli t1, t0, 4                   # sources of two cores at a time share banks, so streams wait for each other
    add  a0, a0, t1
    li   a1, {TCDM + 0x8000}
    slli t1, t0, 10
    add  a1, a1, t1
    li   t1, 3
    fcvt.s.w fa1, t1
    stream_set 1, 0, 0
    stream_set 2, 0, {ELEMENTS - 1}
    stream_set 6, 0, 8
    stream_set 2, 1, {ELEMENTS - 1}
    stream_set 6, 1, 8
    .insn i 0x2b, 2, x0, a0, (24 << 5) | 0
    .insn i 0x2b, 2, x0, a1, (28 << 5) | 1
    csrsi 0x7c0, 1
    li   t1, {ELEMENTS - 1}
    .insn i 0x0b, 0, x1, t1, 0       # frep.o: one instruction
    .insn r 0x33, 4, 0x43, ft1, ft0, fa1   # vfmul.r.s
    settle
    .rept 16
    nop
    .endr
    csrci 0x7c0, 1
    csrr s9, mcycle
    csrr t0, 0x7c2
"""


def results(simulator: Simulator) -> tuple[list[int], bytes]:
    return [simulator.register(core, "s9") for core in range(CORES)], simulator.read(TCDM + 0x8000, CORES * 1024)


def test_streams_of_all_cores_in_slices() -> None:
    found = []
    for cuts in ([], [60, 61, 62, 75, 90], [66, 71, 83, 97, 111]):
        simulator, _ = loaded(SCALE, hart=None)
        numbers = range(0x3F80_0000, 0x3F80_0000 + 2 * (ELEMENTS + 2 * CORES))
        simulator.write(TCDM, b"".join(number.to_bytes(4, "little") for number in numbers))
        for cycle in [*cuts, 300]:
            simulator.run_until(cycle=cycle)
        found.append(results(simulator))
        simulator.close()
    assert found[0] == found[1] == found[2]
    assert all(found[0][0])
    assert found[0][1][:4] == (0x4040_0000).to_bytes(4, "little")
