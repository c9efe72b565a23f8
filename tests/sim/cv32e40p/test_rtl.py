"""The simulated CORE-V core against the RTL of the CV32E40P: state after every instruction, and cycles."""

from __future__ import annotations

import random

import pytest

from tests.sim.assembling import BASE, COREV, FOREVER, assemble, elf_of
from tests.sim.cv32e40p.corev_programs import DATA_SIZE, program, sweep
from tests.sim.cv32e40p.kernels import FEATURES, KERNELS, measure
from tests.sim.cv32e40p.verilated import BENCH, Retired, Store, run_rtl, why_not
from tilewright.sim.simulator import Simulator

# One skip for all: what is missing is missing for each of them.
if why_not():
    pytest.skip(why_not(), allow_module_level=True)

DATA = BASE + 0x10000
TOLERANCE = 0.03
MASK = {lanes: sum(0xFF << 8 * i for i in range(4) if lanes >> i & 1) for lanes in range(16)}


def check(source: str, data: bytes) -> int:
    """Run on both, compare after each instruction; the number of instructions."""
    code = assemble(source, COREV.replace("+f", "").replace("+a", "")) + FOREVER
    image = code.ljust(DATA - BASE, b"\0") + data
    end = BASE + len(code) - 4
    rtl = run_rtl(image, BASE, BASE, end, trace=True, max_cycles=1_000_000)
    with Simulator("cv32e40p") as simulator:
        simulator.load(elf_of(code))
        simulator.write(DATA, data)
        follow(simulator, rtl.trace)
        assert simulator.register(0, "pc") == end
        assert simulator.read(DATA, len(data)) == rtl.memory[DATA - BASE :]
        cycles = simulator.report().cores[0].cycles
    assert abs(cycles - rtl.cycles) <= max(2, TOLERANCE * rtl.cycles), f"{cycles} cycles, in the RTL {rtl.cycles}"
    return len(rtl.trace)


def follow(simulator: Simulator, trace: list[Retired]) -> None:
    simulator.step(0)  # to before the first instruction
    registers = [0] * 32
    for done in trace:
        pc = simulator.register(0, "pc")
        assert pc == done.pc, f"at {pc:#x}, the RTL at {done.pc:#x}"
        simulator.step(0)
        for register, value in done.writes:
            registers[register] = value
        registers[0] = 0
        found = [simulator.register(0, i) for i in range(32)]
        assert found == registers, f"after {pc:#x}: {difference(found, registers)}"
        for store in done.stores:
            check_store(simulator, pc, store)


def check_store(simulator: Simulator, pc: int, store: Store) -> None:
    mask = MASK[store.lanes]
    found = simulator.read_word(store.address) & mask
    assert found == store.data & mask, f"{pc:#x} stored {found:#x}, the RTL {store.data & mask:#x}"


def difference(found: list[int], wanted: list[int]) -> str:
    pairs = enumerate(zip(found, wanted, strict=True))
    return ", ".join(f"x{i} = {a:#010x}, in the RTL {b:#010x}" for i, (a, b) in pairs if a != b)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    data = random.Random(seed).randbytes(DATA_SIZE)
    assert check(program(seed, 400, DATA), data) > 400


@pytest.mark.parametrize("kind", ["rv32", "scalar", "simd", "memory"])
def test_every_instruction(kind: str) -> None:
    assert check(sweep(kind, 8, DATA), bytes(range(DATA_SIZE))) > 100


DIRECTED = dict(text.strip().split("\n", 1) for text in (BENCH / "directed.S").read_text().split("\n#: ")[1:])


@pytest.mark.parametrize("name", DIRECTED)
def test_directed(name: str) -> None:
    """Pieces of directed.S, with the address of the data in s0."""
    assert check(f"li s0, {DATA}\n{DIRECTED[name]}\n.balign 4", bytes(range(DATA_SIZE)))


@pytest.mark.parametrize("name", KERNELS)
def test_cycles_of_kernels(name: str) -> None:
    found = measure(name, FEATURES)
    assert found.checksums[0] == found.checksums[1]
    assert abs(found.error) <= TOLERANCE, f"{found.ours} cycles, in the RTL {found.rtl}"
