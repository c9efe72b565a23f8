"""Networks and kernels on the Snitch cluster: one core moves the data of all, floats come in streams of two."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.planner.networks import NETWORKS
from tests.support.models import model, node
from tests.targets.snitch.machine import SNITCH, floats, integers, kernel
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.sub import Sub
from tilewright.program import Program, compile_model
from tilewright.run.kernel_bench import Case, check
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.settings import Settings

pytestmark = pytest.mark.in_turns(6)


def compiled(name: str, settings: Settings) -> Program:
    return compile_model(NETWORKS[name](), target="snitch", settings=settings)


# ---- networks ---------------------------------------------------------------------------------------------------


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("residual", Settings(time_limit=1.0)),
        ("odd_sizes", Settings(memories=(("tcdm", 20_000),), time_limit=1.0)),
        ("quantised_residual", Settings(time_limit=1.0)),
        ("residual", Settings(cores=1, time_limit=1.0)),
        ("joined", Settings(cores=3, buffering="single", time_limit=1.0)),
    ],
    ids=str,
)
def test_networks_agree(name: str, settings: Settings) -> None:
    assert compiled(name, settings).check().first_difference is None


@pytest.mark.fast
def test_small_tensors_stay_where_they_are() -> None:
    """One core starts the transfers of all: eight tiles of four elements each are dearer than loads from outside."""
    copied = model([node("Reshape", "x shape", "y")], {"x": (4, 8)}, ["y"], {"shape": np.asarray([1, 8, 4])})
    (step,) = compile_model(copied, target="snitch").plan.steps
    assert step.option.mode == "in_place"


def test_a_run_breaks_no_rule() -> None:
    """No read of what nobody wrote, no access to what the DMA moves, no use of a device that it is not made for."""
    program = compiled("odd_sizes", Settings(memories=(("tcdm", 20_000),), time_limit=1.0))
    simulator = Simulator("snitch")
    simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
    simulator.load(read_elf(program.build_soc().build(program.random_inputs())))
    assert re.match(r"cycles \d+\noutput 0 fnv1a [0-9a-f]+\n$", simulator.run(100_000_000).stdout)


@pytest.mark.fast
def test_constant_factors_have_columns_side_by_side() -> None:
    weights = {"w": floats(6, 8)}
    made = compile_model(
        model([node("Gemm", "x w", "y", transB=1)], {"x": (4, 8)}, ["y"], weights), target="snitch"
    ).compiled
    (layer,) = made.lowered.nodes
    assert isinstance(layer.op, MatMul)
    assert not layer.op.trans_b
    assert np.array_equal(made.lowered.constants[layer.inputs[1]], weights["w"].T)


# ---- kernels ----------------------------------------------------------------------------------------------------


def test_products_of_floats() -> None:
    shapes = [(64, 64, 64), (8, 300, 48), (3, 7, 10), (1, 100, 128), (9, 70, 30), (5, 4, 34), (40, 5, 2)]
    streams = kernel("matmul_columns_f32.c")
    cases = [Case(streams, MatMul(), [floats(m, k), floats(k, n)]) for m, k, n in shapes]
    cases.append(Case(streams, MatMul(activation=Relu()), [floats(3, 5, 66), floats(3, 66, 18), floats(18)]))
    cases.append(Case(streams, MatMul(trans_a=True), [floats(20, 12), floats(20, 16)]))
    found = check(cases, SNITCH)
    assert 64**3 / 2 / 8 / found[0].cycles > 0.85, "of the cycles of 64 x 64 x 64, products of two"


@pytest.mark.parametrize("cores", [1, 3])
def test_products_of_floats_on_few_cores(cores: int) -> None:
    check([Case(kernel("matmul_columns_f32.c"), MatMul(), [floats(7, 9), floats(9, 22)])], SNITCH, cores)


def test_products_of_bytes() -> None:
    streams = kernel("matmul_bytes.c")
    few = integers("int32", 33) // 2**20
    cases = [
        Case(streams, MatMul(trans_b=True), [integers("int8", 17, 50), integers("int8", 33, 50), few]),
        Case(streams, MatMul(a_zero=3, b_zero=-7), [integers("uint8", 4, 1030), integers("int8", 1030, 9)]),
        Case(streams, MatMul(), [integers("int8", 2, 3, 66), integers("int8", 2, 66, 6)]),
        Case(streams, MatMul(), [integers("int8", 5, 2), integers("int8", 2, 9)]),
        # The largest totals of all, in several groups and in one.
        Case(streams, MatMul(), [np.full((2, 300), -128, np.int8), np.full((300, 2), -128, np.int8)]),
        Case(streams, MatMul(), [np.full((2, 255), -128, np.int8), np.full((255, 2), -128, np.int8)]),
    ]
    check(cases, SNITCH)


def test_convolutions() -> None:
    """With windows inside and outside the image, of one element and of more; sums in one run and in several."""
    of_bytes, of_floats = kernel("conv_bytes.c"), kernel("conv_streams_f32.c")
    around = Conv(padding=(1, 1, 1, 1))
    uneven = Conv(padding=(0, 1, 2, 1), strides=(2, 1), activation=Relu())
    apart = Conv(x_zero=4, padding=(1, 1, 1, 1), dilations=(2, 2))
    cases = [
        Case(of_floats, around, [floats(1, 9, 6, 7), floats(18, 9, 3, 3), floats(18)]),
        Case(of_floats, uneven, [floats(2, 3, 9, 8), floats(5, 3, 3, 2)]),
        Case(of_bytes, around, [integers("int8", 1, 33, 5, 5), integers("int8", 4, 33, 3, 3)]),
        Case(
            of_bytes, apart, [integers("uint8", 1, 4, 9, 8), integers("int8", 7, 4, 3, 3), integers("int32", 7) // 2**9]
        ),
        Case(of_bytes, Conv(strides=(2, 2)), [integers("int8", 1, 40, 6, 6), integers("int8", 6, 40, 1, 1)]),
    ]
    assert all(case.kernel.unsupported_reason(case.op, case.types) is None for case in cases)
    check(cases, SNITCH)


def test_groups() -> None:
    """Of several images; an odd number of filters; with and without a requantisation for each filter."""
    of_bytes, of_floats = kernel("conv_bytes.c"), kernel("conv_streams_f32.c")
    around, few = (1, 1, 1, 1), abs(integers("int32", 15)) // 2**16
    scaled = Conv(groups=5, x_zero=-3, padding=around, requant=Requant(18, "int8", -128, 127, 3, "half_even"))
    cases = [
        Case(of_floats, Conv(groups=3, padding=around), [floats(2, 6, 5, 4), floats(15, 2, 3, 3), floats(15)]),
        Case(of_floats, Conv(groups=2, activation=Relu()), [floats(1, 8, 3, 3), floats(2, 4, 1, 1)]),
        Case(
            of_bytes, scaled,
            [integers("int8", 1, 10, 5, 4), integers("int8", 15, 2, 3, 3), few - 99, few // 4 + 1, few],
        ),
        Case(
            of_bytes, Conv(groups=4, strides=(2, 2), w_zero=2),
            [integers("uint8", 2, 20, 5, 5), integers("int8", 8, 5, 1, 1), integers("int32", 8) // 2**9],
        ),
        Case(
            of_bytes, Conv(groups=2, strides=(3, 1), padding=(4, 4, 4, 4), dilations=(2, 1)),
            [integers("int8", 1, 66, 3, 2), integers("int8", 34, 33, 3, 3)],
        ),
        Case(of_bytes, Conv(groups=2), [integers("int8", 1, 2, 19, 18), integers("int8", 2, 1, 17, 17)]),
    ]  # fmt: skip
    assert all(case.kernel.unsupported_reason(case.op, case.types) is None for case in cases)
    check(cases, SNITCH)


@pytest.mark.parametrize("op", [Add(), Sub(), Mul()], ids=str)
def test_two_tensors(op: Op) -> None:
    shapes = [((130,), (130,)), ((33,), (33,)), ((9, 8), (8,)), ((50,), (1,)), ((3, 4, 6), (3, 1, 6)), ((6,), (4, 6))]
    streams = kernel(f"{op.kind.lower()}_streams.c")
    cases = [Case(streams, op, [floats(*a), floats(*b)]) for a, b in shapes]
    assert all(streams.unsupported_reason(op, case.types) is None for case in cases)
    check(cases, SNITCH)


@pytest.mark.fast
@pytest.mark.parametrize(("a", "b"), [((3, 5), (5,)), ((1,), (4,)), ((3, 4), (3, 1))])
def test_what_streams_do_not_take(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    case = Case(kernel("add_streams.c"), Add(), [floats(*a), floats(*b)])
    assert case.kernel.unsupported_reason(case.op, case.types) is not None
