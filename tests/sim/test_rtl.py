"""The simulated CORE-V core against the RTL of the CV32E40P: state after every instruction, and cycles."""

from __future__ import annotations

import random

import pytest

from tests.sim.assembling import BASE, COREV, FOREVER, assemble, elf_of
from tests.sim.corev_programs import DATA_SIZE, program
from tests.sim.kernels import FEATURES, KERNELS, measure
from tests.sim.verilated import Retired, Store, run_rtl, why_not
from tilewright.simulate import Simulator

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())

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


@pytest.mark.parametrize("name", KERNELS)
def test_cycles_of_kernels(name: str) -> None:
    found = measure(name, FEATURES)
    assert found.checksums[0] == found.checksums[1]
    assert abs(found.error) <= TOLERANCE, f"{found.ours} cycles, in the RTL {found.rtl}"
