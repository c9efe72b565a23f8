"""Energy is the sum of what was done, exactly, and every constant is written down with where it comes from."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.sim.assembling import BASE, FOREVER, assemble, built, elf_of, run_code
from tests.sim.neureka.model import DEPTHWISE, POINTWISE, Case, Job, random_job
from tests.sim.neureka.test_neureka import Bench
from tilewright.errors import CompileError
from tilewright.sim.activity import CLASSES, activity_names
from tilewright.sim.energy import Cost, Energy, EnergyModel
from tilewright.sim.platforms import PLATFORMS
from tilewright.sim.platforms.manycore import manycore
from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.sim.platforms.siracusa_energy import SIRACUSA_ENERGY
from tilewright.sim.simulator import Simulator

TABLE = Path(__file__).parents[2] / "docs" / "energy.md"
PRICES = EnergyModel(
    1.0,
    10**6,
    (
        Cost("alu", "cores", 1.0, 0.5, "made up"),
        Cost("load", "cores", 3.0, 0.1, "made up"),
        Cost("stalled", "cores", 0.25, 0.0, "made up"),
        Cost("ram.words", "ram", 7.5, 0.2, "made up"),
        Cost("cycles", "leakage", 0.001, 1.0, "made up"),
    ),
)
PRICED = replace(manycore(1), energy=PRICES)
OPERANDS = 5 << 7 | 10 << 15 | 11 << 20
MAC, DOT, VECTOR_ADD = (word | OPERANDS for word in (0x42000033, 0x98001057, 0x00001057))
"""p.mac, pv.dotsp.b, pv.add.b t0, a0, a1."""
HERE = {"a0": BASE + 0x1000, "a1": 3}


def classes(code: str) -> dict[str, int]:
    """What a piece of code counts as, without the zeros."""
    counts = run_code(assemble(code), HERE).activity().counts
    return {name: counts[name] for name in CLASSES if counts[name]}


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("add t0, a0, a1", {"alu": 1}),
        ("csrr t0, mcycle", {"alu": 1}),
        ("fence", {"alu": 1}),
        ("mul t0, a0, a1", {"mul": 1}),
        ("mulhu t0, a0, a1", {"mulh": 1}),
        ("div t0, a0, a1\n remu t0, a0, a1", {"div": 2}),
        ("lw t0, 0(a0)\n lbu t0, 3(a0)\n flw ft0, 4(a0)", {"load": 3}),
        ("lw t0, 1(a0)", {"load": 1}),
        ("sw t0, 0(a0)\n sh t0, 2(a0)", {"store": 2}),
        ("amoadd.w t0, a1, (a0)", {"load": 1}),
        ("beqz a1, 1f\n bnez a1, 1f\n nop\n 1: nop", {"alu": 1, "branch": 2}),
        ("jal t0, 1f\n nop\n 1: nop", {"alu": 1, "jump": 1}),
        ("fadd.s ft0, ft1, ft2\n fmadd.s ft0, ft1, ft2, ft3\n fcvt.w.s t0, ft0", {"float": 3}),
        ("fdiv.s ft0, ft1, ft2", {"float_div": 1}),
        (f".word {MAC:#x}", {"mac": 1}),
        (f".word {DOT:#x}\n .word {VECTOR_ADD:#x}", {"alu": 1, "dot": 1}),
    ],
)
def test_instructions_are_counted_by_class(code: str, expected: dict[str, int]) -> None:
    assert classes(code) == expected


@pytest.mark.parametrize("count", [1, 17, 100])
def test_additions_cost_their_sum(count: int) -> None:
    with Simulator(PRICED) as simulator:
        energy = spent(simulator, "add t0, t0, a1\n" * count)
    assert energy.spent["cores"] == count * 1000
    assert energy.spent["ram"] == 0


@pytest.mark.parametrize("count", [1, 17, 100])
def test_loads_cost_instruction_and_access(count: int) -> None:
    with Simulator(PRICED) as simulator:
        energy = spent(simulator, "lw t0, 0(a0)\n" * count)
    assert energy.spent["cores"] == count * 3000
    assert energy.spent["ram"] == count * 7500


def test_an_access_to_two_words_costs_twice_and_waits_cost() -> None:
    with Simulator(PRICED) as simulator:
        energy = spent(simulator, "lw t0, 2(a0)\n addi t0, t0, 1")
    assert energy.spent["ram"] == 2 * 7500
    assert energy.spent["cores"] == 3000 + 1000 + 250 * 2  # the second access, and the use of its result


def spent(simulator: Simulator, code: str) -> Energy:
    """By some code alone: with and without it."""
    setup, body = assemble(f"li a0, {BASE + 0x1000}\n"), assemble(code)
    simulator.load(elf_of(setup + body + FOREVER))
    assert simulator.run_until(BASE + len(setup))
    before = simulator.activity()
    assert simulator.run_until(BASE + len(setup) + len(body))
    return simulator.energy(simulator.activity().since(before))


def test_the_uncertainty_adds_up_within_a_component_and_not_between_them() -> None:
    energy = Energy({"cores": 3000, "ram": 7000}, {"cores": 300.0, "ram": 400.0}, 1, 1)
    assert energy.uncertainty == pytest.approx(500 / 10000)
    assert energy.picojoules == {"cores": 3.0, "ram": 7.0}
    assert energy.microjoules == pytest.approx(1e-5)


def test_average_power_is_energy_over_time() -> None:
    assert Energy({"cores": 2 * 10**9}, {}, 1000, 10**6).milliwatts == pytest.approx(2.0)  # 2 uJ in 1 ms


def test_runs_cost_the_same_each_time_and_components_add_up() -> None:
    reports = []
    for _ in range(2):
        with Simulator("siracusa") as simulator:
            simulator.load(built("sum.c"))
            reports.append(simulator.run())
    first, second = reports
    assert first.energy is not None
    assert first.energy == second.energy
    assert first.energy.femtojoules == sum(first.energy.spent.values()) > 0
    assert {"cores", "fetch", "L1", "L2", "static"} <= {name for name, part in first.energy.spent.items() if part}
    assert 0 < first.energy.uncertainty < 1


def test_every_cycle_of_a_core_is_an_instruction_a_stall_or_sleep() -> None:
    with Simulator("siracusa") as simulator:
        simulator.load(built("sum.c"))
        report, counts = simulator.run(), simulator.activity().counts
    assert counts["instructions"] == report.instructions
    assert counts["asleep"] == sum(core.stalls["sleep"] for core in report.cores)
    assert counts["instructions"] + counts["stalled"] + counts["asleep"] == sum(core.cycles for core in report.cores)
    assert counts["stalled"] == sum(cycles for name, cycles in counts.items() if name.startswith("stall."))
    assert counts["stall.conflict"] == sum(core.stalls["conflict"] for core in report.cores)


def products(job: Job) -> int:
    taps = 1 if job.mode == POINTWISE else 9 - bin(job.mask & 0x1FF).count("1")
    return job.ho * job.wo * taps * job.kout * (1 if job.mode == DEPTHWISE else job.kin)


def test_the_products_of_the_npu_are_those_of_the_layer() -> None:
    for seed in range(12):
        rng = random.Random(seed)
        job, bench = random_job(rng), Bench(rng)
        bench.add(Case(job, seed))
        with Simulator("siracusa") as simulator:
            report = bench.run(simulator)
            counts = simulator.activity().counts
        assert counts["npu_macs"] == products(job), job
        assert counts["npu_mac_bits"] == products(job) * job.bits
        assert counts["npu_cycles"] == report.busy["n-eureka"]
        assert (counts["wmem.npu_bytes"] > 0) == job.in_wmem


def test_a_platform_without_a_model_says_so() -> None:
    with Simulator("rv32") as simulator, pytest.raises(CompileError, match="has no model of its energy"):
        simulator.energy()
    assert sum(platform.energy is not None for platform in PLATFORMS.values()) == 1


def test_a_cost_of_what_is_not_counted_is_refused() -> None:
    prices = replace(PRICES, costs=(Cost("l9.words", "ram", 1.0, 0.1, "made up"),))
    with pytest.raises(CompileError, match=r"energy: l9\.words is not counted"):
        Simulator(replace(PRICED, energy=prices))


def test_every_constant_has_a_count_a_source_and_an_uncertainty() -> None:
    names = activity_names(memory.name for memory in SIRACUSA.memories)
    for cost in SIRACUSA_ENERGY.costs:
        assert cost.activity in names
        assert cost.source
        assert cost.femtojoules > 0
        assert 0 < cost.uncertainty < 1
    assert set(CLASSES) <= {cost.activity for cost in SIRACUSA_ENERGY.costs}


def row(cost: Cost) -> str:
    return f"| {cost.component} | {cost.activity} | {cost.picojoules:.4g} | {cost.uncertainty:.0%} | {cost.source} |"


def test_the_documentation_has_the_constants_of_the_model() -> None:
    cells = [line.split("|") for line in TABLE.read_text().splitlines()]
    rows = ["|".join(line) for line in cells if len(line) == 7 and line[4].strip().endswith("%")]
    assert rows == [row(cost) for cost in SIRACUSA_ENERGY.costs]
