"""Networks and kernels on MemPool's small kin: all cores move and compute, stacks are in tiles, bytes in panels."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.planner.networks import NETWORKS
from tests.support.models import model, node
from tilewright import targets
from tilewright.errors import CompileError
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.planner.cluster.capacity import tile_budget
from tilewright.program import Program, compile_model
from tilewright.run.kernel_bench import Case, check
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.kernel import Kernel
from tilewright.target.settings import Settings

pytestmark = pytest.mark.in_turns(6)

MINPOOL = targets.find("minpool")
RNG = np.random.default_rng(23)


def compiled(name: str, settings: Settings) -> Program:
    return compile_model(NETWORKS[name](), target="minpool", settings=settings)


def kernel(source: str) -> Kernel:
    return next(one for one in MINPOOL.engines[0].kernels if one.source == source)


def integers(dtype: str, *shape: int) -> Array:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def scales(columns: int) -> list[Array]:
    """Factors and summands of a requantisation."""
    return [RNG.integers(1, 20, columns).astype(np.int32), RNG.integers(-99, 99, columns).astype(np.int32)]


# ---- networks ---------------------------------------------------------------------------------------------------


def test_layers_that_fit_no_tiles_are_predicted() -> None:
    """A mean of more numbers than L1 holds: one core reads them in L2."""
    network = model([node("ReduceMean", "x", "y", axes=[0, 1])], {"x": (2, 9_000)}, ["y"])
    program = compile_model(network, target="minpool")
    cycles = program.run({"x": np.ones((2, 9_000), np.float32)}).cycles
    assert cycles is not None
    assert 1 / 3 < program.analysis.predicted_cycles / cycles < 3


@pytest.mark.in_turns(6)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("quantised_residual", Settings(time_limit=1.0)),
        ("odd_sizes", Settings(l1=20_000, time_limit=1.0)),
        ("residual", Settings(cores=1, time_limit=1.0)),
        ("joined", Settings(cores=5, buffering="single", time_limit=1.0)),
    ],
    ids=str,
)
def test_networks_agree(name: str, settings: Settings) -> None:
    assert compiled(name, settings).check().first_difference is None


def test_256_cores_agree() -> None:
    made = compile_model(NETWORKS["quantised_residual"](), target="mempool", settings=Settings(time_limit=1.0))
    assert made.check().first_difference is None


def test_a_run_breaks_no_rule() -> None:
    """No read of what nobody wrote, no access to what the DMA moves, no use of a device that it is not made for."""
    program = compiled("odd_sizes", Settings(l1=20_000, time_limit=1.0))
    simulator = Simulator("minpool")
    simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
    simulator.load(read_elf(program.build_soc().build(program.random_inputs())))
    assert re.match(r"cycles \d+\noutput 0 fnv1a [0-9a-f]+\n$", simulator.run(100_000_000).stdout)


# ---- kernels ----------------------------------------------------------------------------------------------------

NARROW = Requant(12, "int8", -128, 127, 3)
EVEN = Requant(33, "int8", -100, 127, -3, "half_even")


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("cores", [1, 7, 16])
def test_products(cores: int) -> None:
    """Of all signs, with and without zeros, rows and columns that fill no panel, cut sums, several matrices."""
    panels = kernel("matmul_panels.c")
    to_bytes = MatMul(trans_b=True, a_zero=5, b_zero=-4, requant=NARROW)
    of_heads = MatMul(a_zero=1, b_zero=2, requant=NARROW)
    cases = [
        Case(panels, MatMul(trans_b=True), [integers("int8", 16, 32), integers("int8", 16, 32), integers("int32", 16)]),
        Case(panels, MatMul(), [integers("int8", 5, 7), integers("uint8", 7, 9), integers("int32", 5, 9)]),
        Case(panels, MatMul(trans_b=True, a_zero=3), [integers("uint8", 13, 21), integers("int8", 6, 21)]),
        Case(panels, MatMul(a_zero=3, b_zero=7), [integers("uint8", 1, 130), integers("uint8", 130, 3)]),
        Case(panels, to_bytes, [integers("int8", 17, 33), integers("int8", 19, 33), None, *scales(19)]),
        Case(panels, of_heads, [integers("int8", 3, 6, 12), integers("uint8", 3, 12, 10), None, *scales(10)]),
    ]
    check(cases, MINPOOL, cores)


@pytest.mark.parametrize("cores", [3, 16])
def test_convolutions(cores: int) -> None:
    """With windows inside and outside the image, in groups, of runs that are no whole words; all in one go, and not."""
    panels = kernel("conv_panels.c")
    around = Conv(padding=(1, 1, 1, 1), channels_last=True, requant=NARROW)
    uneven = Conv(padding=(0, 1, 2, 1), strides=(2, 1), channels_last=True, x_zero=7)
    apart = Conv(padding=(2, 2, 2, 2), dilations=(2, 2), groups=2, channels_last=True, x_zero=-5, w_zero=9)
    even = Conv(padding=(1, 1, 1, 1), channels_last=True, requant=EVEN)
    large = [np.full(8, 2**30 + 7, np.int32), np.zeros(8, np.int32)]
    cases = [
        Case(panels, around, [integers("int8", 1, 6, 6, 8), integers("int8", 8, 3, 3, 8), None, *scales(8)]),
        Case(panels, uneven, [integers("uint8", 2, 7, 5, 3), integers("int8", 6, 3, 3, 3)]),
        Case(
            panels, apart, [integers("int8", 1, 9, 9, 8), integers("uint8", 8, 3, 3, 4), integers("int32", 8) // 2**9]
        ),
        Case(panels, even, [integers("int8", 1, 2, 2, 64), integers("int8", 8, 3, 3, 64), None, *large]),
    ]
    assert all(case.kernel.unsupported_reason(case.op, case.types) is None for case in cases)
    check(cases, MINPOOL, cores)


@pytest.mark.parametrize("cores", [1, 16])
def test_depthwise_convolutions(cores: int) -> None:
    quads, few = kernel("depthwise_quads.c"), integers("int32", 8) // 2**9
    around = Conv(padding=(1, 1, 1, 1), groups=8, channels_last=True, requant=NARROW)
    uneven = Conv(padding=(2, 1, 0, 1), strides=(2, 1), dilations=(1, 2), groups=4, channels_last=True, x_zero=200)
    fives = Conv(padding=(3, 3, 4, 4), groups=5, channels_last=True, x_zero=3, requant=NARROW)
    cases = [
        Case(quads, around, [integers("int8", 2, 5, 6, 8), integers("int8", 8, 3, 3, 1), few, *scales(8)]),
        Case(quads, uneven, [integers("uint8", 1, 7, 9, 4), integers("int8", 4, 3, 2, 1)]),
        Case(quads, around, [integers("int8", 1, 4, 4, 8), integers("uint8", 8, 3, 3, 1), None, *scales(8)], skew=1),
        Case(quads, fives, [integers("int8", 2, 4, 9, 5), integers("int8", 5, 8, 8, 1), few[:5], *scales(5)]),
    ]  # fmt: skip
    assert all(case.kernel.unsupported_reason(case.op, case.types) is None for case in cases)
    check(cases, MINPOOL, cores)


# ---- what does not fit ------------------------------------------------------------------------------------------


def test_stacks_lie_near_cores_where_these_have_room() -> None:
    products = compile_model(NETWORKS["quantised_residual"](), target="minpool", settings=Settings(time_limit=1.0))
    budget = products.plan.budget
    assert budget.stacks_are_local
    assert budget.base == 192, "of L1, for the runtime alone"
    assert budget.stack <= 1008


def test_deep_stacks_lie_elsewhere() -> None:
    made = compile_model(
        model([node("Sin", "x", "y")], {"x": (4, 8)}, ["y"]), target="minpool", settings=Settings(time_limit=1.0)
    )
    assert not tile_budget(made.compiled.mapped, Settings()).stacks_are_local


@pytest.mark.fast
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(cores=17), "--cores 17: the cluster has 16\n  hint: choose 1 to 16"),
        (Settings(l1=60_000), "--l1 60000: L1 of minpool has 49152 bytes"),
        (Settings(memories=(("tcdm", 1),)), "--memory tcdm=1: is not a memory of minpool"),
        (Settings(code_in_l1=True), "--code-in-l1: target minpool runs no code from L1"),
    ],
)
def test_what_the_platform_has_not(settings: Settings, said: str) -> None:
    with pytest.raises(CompileError, match=re.escape(said)):
        compiled("residual", settings)


def test_a_network_that_does_not_fit() -> None:
    weights = {"w": RNG.integers(-9, 9, (4096, 1024)).astype(np.float32)}
    with pytest.raises(CompileError, match=r"L2, .*bytes are needed .* are there: \d+ are missing"):
        compile_model(model([node("MatMul", "x w", "y")], {"x": (1, 4096)}, ["y"], weights), target="mempool")
