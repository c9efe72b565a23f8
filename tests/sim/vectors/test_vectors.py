"""Zve32x: every instruction as QEMU computes it; what is illegal, what it takes, what a sanitizer says."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace

import pytest

from tests.sim.assembling import FOREVER, assemble, elf_of
from tests.sim.vectors.cases import FEATURES, MEMORY_BYTES, Case, cases, program
from tests.sim.vectors.qemu import DATA, MOVED, RESULTS, SEED, SUMS, batches, start, sums
from tilewright.errors import CompileError
from tilewright.sim.platforms.microcontroller import MICROCONTROLLER
from tilewright.sim.simulator import Simulator

CODE, RAM = 0x2000_0000, 0x8000_0000


def core(*extensions: str) -> Simulator:
    (group,) = MICROCONTROLLER.groups
    return Simulator(replace(MICROCONTROLLER, groups=(replace(group, extensions=frozenset(extensions)),)))


def run(source: str, simulator: Simulator, cycles: int = 10_000_000) -> Simulator:
    code = assemble(source, FEATURES)
    simulator.load(elf_of(code + FOREVER, CODE))
    simulator.write(RAM, DATA)
    assert simulator.run_until(CODE + len(code), cycle=cycles)
    return simulator


def results(batch: list[Case]) -> bytes:
    with core("zve32x") as simulator:
        run(start(RAM) + program(batch), simulator)
        written = simulator.register(0, "a3") - RAM - RESULTS
        return simulator.read(RAM + RESULTS, written) + simulator.read(RAM + MOVED, MEMORY_BYTES)


@pytest.mark.in_turns(3)
def test_every_instruction_computes_what_qemu_computes() -> None:
    listed = cases(SEED)
    found = [results(batch) for batch in batches(listed)]
    own = sums(listed, b"".join(one[:-MEMORY_BYTES] for one in found))
    own |= {f"memory {number}": zlib.crc32(one[-MEMORY_BYTES:]) for number, one in enumerate(found)}
    theirs = json.loads(SUMS.read_text())
    assert {name for name in theirs if own.get(name) != theirs[name]} == set()
    assert own.keys() == theirs.keys()
    assert len(own) > 250


M2, M8 = "vsetvli t0, zero, e8, m2, ta, ma\n", "vsetvli t0, zero, e8, m8, ta, ma\n"
VV, MVV, VI = 0, 2, 3


def word(function: int, form: int, d: int, second: int, first: int, is_masked: bool = False) -> str:
    """An instruction that no assembler lets pass."""
    return (
        f".word {function << 26 | (not is_masked) << 25 | second << 20 | first << 15 | form << 12 | d << 7 | 0x57:#x}"
    )


ILLEGAL = {
    "no type was chosen": word(0x00, VV, 8, 9, 10),
    "elements of 64 bits": "li t0, 0x18\nvsetvl t0, zero, t0\n" + word(0x00, VV, 8, 9, 10),
    "an eighth of a register": "vsetvli t0, zero, e8, mf8, ta, ma\n" + word(0x00, VV, 8, 9, 10),
    "no group begins there": M2 + word(0x00, VV, 9, 2, 4),
    "over the mask": M2 + word(0x00, VV, 0, 2, 4, is_masked=True),
    "over the beginning of an operand": M2 + word(0x31, MVV, 8, 8, 4),
    "longer than any group": M8 + word(0x3B, MVV, 8, 16, 24),
    "wider than any element": "vsetvli t0, zero, e32, m1, ta, ma\n" + word(0x3B, MVV, 8, 16, 24),
    "narrower than any element": M2 + word(0x12, MVV, 8, 16, 6),
    "a quotient by an immediate": M2 + word(0x21, VI, 8, 16, 6) + "\n" + word(0x22, VI, 8, 16, 6),
    "before the first, over itself": M2 + word(0x14, MVV, 8, 8, 1),
    "slid up over itself": M2 + word(0x0E, VI, 8, 8, 1),
    "gathered by what it overwrites": M2 + word(0x0C, VV, 8, 2, 8),
    "more fields than registers": M2 + "li a2, 0x80000000\n.word 0xe2060407",
    "no such function": M2 + word(0x3F, VV, 8, 16, 24),
}


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("text", list(ILLEGAL.values()), ids=list(ILLEGAL))
def test_what_the_specification_reserves_is_illegal(text: str) -> None:
    with core("zve32x") as simulator, pytest.raises(CompileError, match="illegal"):
        run(text, simulator)


def test_a_core_without_vectors_refuses_them() -> None:
    with core("zba") as simulator, pytest.raises(CompileError, match="illegal"):
        run(M2, simulator)


def test_the_microcontroller_runs_programs_with_vectors() -> None:
    with Simulator("microcontroller") as simulator:
        run("vsetivli t0, 4, e32, m1, ta, ma\nvid.v v1\nvredsum.vs v2, v1, v1\nvmv.x.s a0, v2", simulator)
        assert simulator.register(0, "a0") == 1 + 2 + 3


def cycles_of(text: str) -> int:
    """Of an instruction, behind what chooses a type."""
    counted = "li a2, 0x80000000\nli a5, 4\n{}csrr s0, mcycle\n{}\ncsrr s1, mcycle\n"
    found = []
    for inside in ("", text):
        with core("zve32x") as simulator:
            run(counted.format("vsetvli t0, zero, e8, m4, ta, ma\n", inside), simulator)
            found.append(simulator.register(0, "s1") - simulator.register(0, "s0"))
    return found[1] - found[0]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("vadd.vv v8, v12, v16", 64 // 8),
        ("vwmul.vv v8, v16, v20", 2 * 64 // 8),
        ("vle8.v v8, (a2)", 64 // 4),
        ("vlse8.v v8, (a2), a5", 64),
        ("vrgather.vv v8, v12, v16", 64),
        ("vdiv.vv v8, v12, v16", 32 * 64),
        ("vredsum.vs v8, v12, v16", 64 // 8 + 1),
        ("vmand.mm v8, v9, v10", 1),
        ("vsetivli t0, 4, e8, m1, ta, ma", 1),
    ],
)
def test_an_instruction_takes_what_is_stated(text: str, cycles: int) -> None:
    assert cycles_of(text) == cycles


def test_an_element_outside_of_memory_stops_the_run_with_its_address() -> None:
    with core("zve32x") as simulator, pytest.raises(CompileError, match="0x80080000"):
        run(M2 + "li a2, 0x8007fff8\nvsetvli t0, zero, e32, m4, ta, ma\nvle32.v v8, (a2)", simulator)


def test_a_load_whose_first_element_alone_may_fault_ends_before_the_first_that_does() -> None:
    with core("zve32x") as simulator:
        run("li a2, 0x8007fff8\nvsetvli t0, zero, e32, m4, ta, ma\nvle32ff.v v8, (a2)\ncsrr a0, vl", simulator)
        assert simulator.register(0, "a0") == 2


def test_elements_that_lie_across_words_are_refused() -> None:
    with core("zve32x") as simulator, pytest.raises(CompileError, match="align"):
        run("li a2, 0x80000002\nvsetvli t0, zero, e32, m1, ta, ma\nvle32.v v8, (a2)", simulator)


def test_a_snapshot_keeps_vectors() -> None:
    first = "li a2, 0x80000000\nvsetivli t0, 4, e32, m1, ta, ma\nvid.v v8\n"
    then = "vmv.v.i v8, 9\nvsetivli t0, 1, e8, m1, ta, ma\n"
    stored = "vse32.v v8, (a2)\n"
    code = assemble(first + then + stored, FEATURES)
    with core("zve32x") as simulator:
        simulator.load(elf_of(code + FOREVER, CODE))
        assert simulator.run_until(CODE + len(assemble(first, FEATURES)), cycle=1000)
        kept = simulator.snapshot()
        assert simulator.run_until(CODE + len(assemble(first + then, FEATURES)), cycle=1000)
        simulator.restore(kept)
        simulator.set_register(0, "pc", CODE + len(assemble(first + then, FEATURES)))
        assert simulator.run_until(CODE + len(code), cycle=1000)
        assert simulator.read(RAM, 16) == struct.pack("<4I", 0, 1, 2, 3)
