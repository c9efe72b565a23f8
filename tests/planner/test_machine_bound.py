"""Cycles that no run can be below: from peak rates and dependencies alone, and never above what is simulated."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto

import tilewright as tw
from tests.accelerator.folders import REQUANT
from tests.accelerator.test_networks import branches, program
from tests.support.models import model, node
from tests.support.networks import models
from tests.support.stand_ins import Network, given_and_wanted, network_id, onnx_model, quantised_classifier
from tests.turn import TURN
from tilewright import pipeline, targets
from tilewright.errors import CompileError, InternalError
from tilewright.ops.conv import Conv
from tilewright.ops.convinputgrad import ConvInputGrad
from tilewright.planner.machine_bound import NO_BOUND, MachineBound
from tilewright.planner.schedule.schedule import Schedule
from tilewright.target.settings import Settings
from tilewright.tiling.inside import macs_inside

fast = pytest.mark.fast


def schedule_of(made: ModelProto, target: str, **settings: object) -> Schedule:
    found = pipeline.stage(pipeline.import_model(made), target, "schedule", settings=Settings(**settings))  # type: ignore[arg-type]
    assert isinstance(found, Schedule)
    return found


def product(*names: str, size: int = 64) -> ModelProto:
    """Products of an input with itself, the result with itself, and so on."""
    values = ["x", *names]
    nodes = [node("MatMul", f"{first} {first}", then) for first, then in zip(values, names, strict=False)]
    return model(nodes, {"x": (size, size)}, [names[-1]])


def side_by_side() -> ModelProto:
    nodes = [node("MatMul", "x x", "a"), node("MatMul", "z z", "b"), node("Add", "a b", "y")]
    return model(nodes, {"x": (64, 64), "z": (64, 64)}, ["y"])


@pytest.mark.asks_c
@fast
def test_work_at_the_peak_rate_layer_after_layer() -> None:
    """Four floats in a cycle, by eight cores that share four units, and by four cores alike; one by one core."""
    one, two = 64**3, 2 * 64**3
    assert schedule_of(product("y"), "siracusa").placed.least.cycles == one // 4
    assert schedule_of(product("a", "y"), "siracusa").placed.least.cycles == two // 4
    assert schedule_of(product("y"), "siracusa", cores=1).placed.least.cycles == one
    assert schedule_of(product("a", "y"), "rv32").placed.least.cycles == two


@pytest.mark.asks_c
@fast
def test_what_needs_nothing_of_each_other_is_still_the_work_of_one_engine() -> None:
    least = schedule_of(side_by_side(), "quad").placed.least
    assert least.cycles >= 2 * 64**3 // 4
    assert "cluster" in str(least)


@fast
def test_padding_is_no_work() -> None:
    shapes = {"X": (1, 3, 8, 9), "W": (5, 3, 3, 3)}
    padded, plain = Conv(padding=(1, 1, 1, 1)), Conv(padding=(0, 0, 0, 0))
    assert padded.macs(shapes) == 5 * 3 * 9 * 8 * 9
    assert macs_inside(padded, shapes) == 5 * 3 * (3 * 8 - 2) * (3 * 9 - 2)
    assert macs_inside(plain, shapes) == plain.macs(shapes)


@fast
def test_transformed_patches_multiply_less() -> None:
    """36 products in place of 144, by four units; with strides of two 25 in place of 36, with others all of them."""
    for stride, pixels, share in ((1, 18, 36 / 144), (2, 33, 25 / 36), (3, 48, 1.0)):
        conv = node("Conv", "x w", "y", strides=[stride, stride])
        made = model([conv], {"x": (1, 32, pixels, pixels)}, ["y"], {"w": np.ones((32, 32, 3, 3), np.float32)})
        macs = 16 * 16 * 9 * 32 * 32
        assert schedule_of(made, "siracusa").placed.least.cycles == math.floor(macs * share / 4)


@fast
def test_gradients_beside_the_operand_are_no_work() -> None:
    """Of three by three taps on one row of four pixels, one row of taps is inside, and ten of twelve taps along it."""
    op = ConvInputGrad(padding=(1, 1, 0, 0), size=(1, 4), channels_last=True)
    shapes = {"G": (2, 1, 4, 64), "W": (64, 3, 3, 32)}
    assert macs_inside(op, shapes) == 2 * 10 * 64 * 32
    strided = ConvInputGrad(padding=(0, 1, 0, 0), size=(5, 5), strides=(2, 2), channels_last=True)
    assert macs_inside(strided, {"G": (1, 2, 3, 8), "W": (8, 3, 3, 8)}) == 6 * 7 * 8 * 8


@pytest.mark.asks_c
@fast
def test_weights_come_over_links() -> None:
    """A row times a matrix: each weight is used once. From L3 a byte comes in a cycle, and cores have no other way."""
    rng = np.random.default_rng(1)
    made = model([node("MatMul", "x w", "y")], {"x": (1, 256)}, ["y"], {"w": rng.normal(size=(256, 512)).astype("f4")})
    near, far = (schedule_of(made, "siracusa", home=home).placed.least for home in ("L2", "L3"))
    assert near.cycles == 4 * 256 * 512 * 10 // 144  # eight bytes by DMA, and a word in five cycles by each of 8 cores
    assert (far.cycles, "udma" in far.limit) == (4 * 256 * 512, True)


@pytest.mark.asks_c
@fast
def test_without_peak_rates_there_is_no_bound() -> None:
    least = schedule_of(product("y"), "generic").placed.least
    assert (least, str(least)) == (NO_BOUND, "no bound of this machine: stated peak rates say nothing of its layers")


def test_engines_that_state_no_peak_are_said_to_count_as_nothing(tmp_path: Path) -> None:
    """A user's accelerator: a run with it may be as quick as its model."""
    silent = Path(shutil.copytree(REQUANT, tmp_path / "silent"))
    declared = silent / "accelerator.py"
    declared.write_text(declared.read_text().replace('    least_cycles_per_mac="cycles_per_mac",\n', ""))
    alone, beside, stated = (
        program(branches(), "rv32", *units).analysis.least for units in ((), (silent,), (REQUANT,))
    )
    assert beside.limit.endswith(", without layers that qvanilla_requant could compute")
    assert not any("without" in least.limit for least in (alone, stated))
    assert beside.cycles < stated.cycles <= alone.cycles


def test_a_run_below_what_a_user_declared_is_no_fault_of_ours(tmp_path: Path) -> None:
    slow = Path(shutil.copytree(REQUANT, tmp_path / "slow"))
    declared = slow / "accelerator.py"
    declared.write_text(declared.read_text().replace('per_mac="cycles_per_mac"', 'per_mac="1000 * cycles_per_mac"'))
    least = program(branches(), "rv32", slow).analysis.least
    with pytest.raises(CompileError, match="accelerator qvanilla_requant: least_cycles_per_mac: a run took"):
        least.hold(least.cycles - 1)


@fast
def test_a_run_below_is_our_fault() -> None:
    with pytest.raises(InternalError, match="99 cycles"):
        MachineBound(100, "work").hold(99)


@fast
@pytest.mark.parametrize("name", targets.names())
def test_every_simulated_target_states_its_peaks(name: str) -> None:
    target = targets.find(name)
    if target.runner.chip is not None:
        assert all(engine.peak is not None and engine.peak.source for engine in target.engines)


NETWORKS: list[Network] = [
    quantised_classifier, *models("peer/Models/MLPerf/*/network.onnx"), *models("qdq/*/int8.onnx"),
    *models("peer/Models/**/network.onnx"),
]  # fmt: skip
TARGETS = ("siracusa", "quad", "snitch", "mempool", "minpool", "itapool")
CASES = [(TARGETS[(number + TURN) % len(TARGETS)], network) for number, network in enumerate(dict.fromkeys(NETWORKS))]
"""Each change tries others."""
LARGEST = 20_000_000
"""Cycles of all cores together that are simulated here; benchmarks/bounds.py has no limit."""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("target", "network"), CASES, ids=lambda case: case if isinstance(case, str) else network_id(case)
)
def test_no_run_of_a_network_is_below(target: str, network: Network) -> None:
    inputs, _ = given_and_wanted(network)
    try:
        program = tw.compile(onnx_model(network), target=target, example_inputs=inputs)
    except CompileError as error:
        pytest.skip(f"refused: {error.what}")
    predicted, least = program.analysis.predicted_cycles, program.analysis.least.cycles
    assert least <= predicted or not predicted
    if predicted * program.compiled.schedule.target.agents.cores <= LARGEST:
        assert least <= (program.run(inputs).cycles or 0)
