"""Small networks on the virtual Siracusa: right outputs, within their memories, and nothing that a sanitizer minds."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from benchmarks.siracusa_matrix import Case, Matrix, cases, verdict
from onnx import ModelProto

import tilewright as tw
from tests.planner.networks import NETWORKS, large_constants, large_tables
from tests.planner.simulating import L1_BYTES, LOADED, in_noise, painted, program_of, sanitized
from tests.support.networks import label, models
from tests.support.stand_ins import quantised_classifier, quantised_residual
from tilewright.target.settings import Settings

pytestmark = pytest.mark.in_turns(6)

SETTINGS = [
    Settings(cores, l1, None, home, buffering, engines, 1.0, weight_memory)
    for cores, l1, home, buffering in itertools.product(
        (1, 3, 8), (2_000, 4_000, 16_000, 256 * 1024), ("L2", "L3"), ("single", "double", "auto")
    )
    for engines, weight_memory in ((("cluster",), True), ((), True), ((), False))
]
CHOSEN = dict(zip(NETWORKS, random.Random(9).sample(SETTINGS, len(NETWORKS)), strict=True))
"""Each network with other settings."""

LIGHT = [
    path
    for path in models("peer/**/*.onnx")
    if label(path).startswith(("peer/Kernels", "peer/Models/MLPerf/Key", "peer/Models/CNN", "peer/Models/mini"))
]
"""Networks that are simulated in about a second."""


FOR_NPU = [path for path in LIGHT if any(part in label(path) for part in ("MLPerf", "_RQ", "Attention", "CNN", "mini"))]
"""Of these, such as the NPU can compute something of."""
NPU_CASES = cases(FOR_NPU, Matrix(buffering=("auto",), homes=("",), engines=("npu", "streamed")))


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("name", NETWORKS)
def test_awkward_networks(name: str) -> None:
    settings = CHOSEN[name]
    program = tw.compile(NETWORKS[name](), target="siracusa", settings=settings)
    check = program.check()
    assert check.agrees, str(check.first_difference)
    elf = program_of(program, program.random_inputs())
    allowed = settings.l1 or L1_BYTES
    for segment in elf.segments:
        end = segment.address + segment.size
        assert any(start <= segment.address and end <= limit for start, limit in LOADED)
        assert segment.load_address == segment.address, "loaders look at the one or at the other"
    printed = sanitized(elf)
    assert printed.startswith(f"cycles {check.result.cycles}\n"), (
        "the same program takes the same cycles, watched or not"
    )
    assert printed == in_noise(elf), "no result and no cycle depends on what memories hold after a reset"
    after = painted(program, elf)
    assert after.touched() <= allowed
    assert min(after.unused()) >= 16, "a stack was used to its end"


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(("cores", "l1"), [(2, None), (4, 20_000), (8, None), (8, 9_000)])
def test_tiles_that_leave_less_than_a_kernel_takes(cores: int, l1: int | None) -> None:
    check = tw.compile(NETWORKS["leftovers"](), target="siracusa", settings=Settings(cores, l1, time_limit=1.0)).check()
    assert check.agrees, str(check.first_difference)


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("l1", [1_200, 2_000, 6_000, 16_000])
def test_operands_of_concats_that_fit_in_no_part(l1: int) -> None:
    """Beside convolutions in L2, of single cores, and of all of them in many parts and in few."""
    settings = Settings(3, l1, time_limit=1.0)
    check = tw.compile(NETWORKS["joined_in_little_room"](), target="siracusa", settings=settings).check()
    assert check.agrees, str(check.first_difference)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("network", "l2", "ahead"), [(large_tables, 400_000, 0), (large_tables, 650_000, 1), (large_constants, 170_000, 1)]
)
def test_constants_come_from_l3_one_by_one_where_two_do_not_fit(
    network: Callable[[], ModelProto], l2: int, ahead: int
) -> None:
    settings = Settings(8, None, l2, time_limit=1.0, weight_memory=False)
    program = tw.compile(network(), target="siracusa", settings=settings)
    assert {step.staged_ahead for step in program.plan.steps if step.staged} == {ahead}
    check = program.check()
    assert check.agrees, str(check.first_difference)


def test_a_program_runs_twice_with_the_same_cycles() -> None:
    program = tw.compile(NETWORKS["residual"](), target="siracusa")
    inputs = program.random_inputs()
    first, second = program.run(inputs), program.run(inputs)
    assert first.cycles == second.cycles
    assert all((first.outputs[name] == second.outputs[name]).all() for name in first.outputs)


def test_kernels_are_optimised_in_any_build() -> None:
    """Instructions with constants do not compile without inlining, and CMake optimises nothing by default."""
    files = tw.compile(NETWORKS["residual"](), target="siracusa").files
    assert "target_compile_options(small_network PRIVATE -O2)" in files["CMakeLists.txt"]


def test_the_same_model_gives_the_same_files() -> None:
    first, second = (tw.compile(NETWORKS["normalised"](), target="siracusa").files for _ in range(2))
    assert first == second


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    "case",
    [
        *random.Random(2).sample(cases([quantised_classifier, quantised_residual]), 8),
        *random.Random(0).sample(cases(LIGHT), 16 if LIGHT else 0),
        *random.Random(1).sample(NPU_CASES, 6 if LIGHT else 0),
    ],
    ids=str,
)
def test_networks_agree(case: Case) -> None:
    text, cycles = verdict(case)
    assert text == "agrees"
    assert cycles > 0
