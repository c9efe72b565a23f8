"""Crossbars: what is ideal is exact, what is not is the same in C and numpy, and where layers are held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.accelerator.test_networks import chain, engines, program
from tilewright.accelerator import Crossbar
from tilewright.accelerator.crossbars.cells import DEVIATION, RANGE, Cells, byte_sum, conductances, drawn, products
from tilewright.accelerator.crossbars.operators import CrossbarConv
from tilewright.accelerator.crossbars.plan import Place, Wanted, plan
from tilewright.accelerator.folder import read_folder
from tilewright.bringup.check import check_folder
from tilewright.errors import CompileError
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.requant import full_range
from tilewright.ir.types import Array, TensorType
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes.fit.split_sums import most_parts
from tilewright.program import Program

CROSSBARS = Path(__file__).parents[2] / "examples" / "crossbars"
SMALL = Crossbar("small", rows=16, columns=32, cell_bits=2, input_bits=2)


def factors(length: int = 40, filters: int = 9) -> tuple[Array, Array]:
    random = np.random.default_rng(length)
    return random.integers(0, 256, (30, length)), random.integers(-128, 128, (length, filters)).astype(np.int8)


# ---- cells ----------------------------------------------------------------------------------------------------------


@pytest.mark.fast
@pytest.mark.parametrize("cell_bits", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("input_bits", [1, 3, 8])
def test_ideal_cells_multiply_exactly(cell_bits: int, input_bits: int) -> None:
    x, w = factors()
    made = replace(SMALL, cell_bits=cell_bits, input_bits=input_bits)
    np.testing.assert_array_equal(products(made.cells, x, w), x @ w.astype(np.int64))
    enough = replace(made, adc_bits=24)
    np.testing.assert_array_equal(products(enough.cells, x, w), x @ w.astype(np.int64))
    assert enough.cells.is_exact(len(w))


def error(changed: Crossbar) -> float:
    x, w = factors(200, 24)
    return float(np.abs(products(changed.cells, x, w) - x @ w.astype(np.int64)).mean())


@pytest.mark.fast
def test_errors_grow_with_noise_and_fewer_bits() -> None:
    wide = replace(SMALL, columns=64, rows=64)
    noisy = [np.mean([error(replace(wide, noise=noise, seed=seed)) for seed in range(4)]) for noise in (0, 0.02, 0.1)]
    assert noisy[0] == 0
    assert all(low < high for low, high in pairwise(noisy))
    coarse = [error(replace(wide, adc_bits=bits)) for bits in (12, 8, 6, 4)]
    assert coarse[0] == 0
    assert all(low < high for low, high in pairwise(coarse))
    assert error(replace(wide, stuck=0.05)) > error(replace(wide, stuck=0.001)) > 0


@pytest.mark.fast
def test_noise_is_as_wide_as_declared() -> None:
    random = byte_sum(drawn(5, np.arange(40)[:, None], np.arange(100), 3))
    assert abs(random.mean()) < 4 * DEVIATION / len(random.ravel()) ** 0.5
    assert np.isclose(random.std(), DEVIATION, rtol=0.05)
    w = np.full((16, 40), 85, np.int8)  # digits in the middle of the range: nothing is cut off at 0
    cells = replace(SMALL, rows=16, columns=32, cell_bits=2, noise=0.05).cells
    found = conductances(cells, w, 0, 0)[:, :, 0, :] / 256
    assert np.isclose((found - (85 >> np.arange(0, 8, 2) & 3)).std(), 0.05 * 3, rtol=0.1)


@pytest.mark.fast
def test_seeds_crossbars_and_copies_differ() -> None:
    cells = replace(SMALL, noise=0.1).cells
    _, w = factors(16, 4)
    first = conductances(cells, w, 0, 0)
    np.testing.assert_array_equal(conductances(cells, w, 0, 0), first)
    others = [(replace(cells, seed=1), 0), (replace(cells, first=1), 0), (cells, 1)]
    assert all((conductances(other, w, copy, 0) != first).any() for other, copy in others)


# ---- where layers are held ------------------------------------------------------------------------------------------

LAYERS = [Wanted("a", 2, 100, 20), Wanted("b", 3, 10, 30), Wanted("c", 1, 1, 5)]


@pytest.mark.fast
def test_free_crossbars_are_copies_of_what_waits_longest() -> None:
    assert plan(LAYERS, 6) == [Place(0, 1, True), Place(2, 1, True), Place(5, 1, True)]
    found = plan(LAYERS, 20)
    assert [place.copies for place in found if place] == [8, 1, 1]
    assert [place.first for place in found if place] == [0, 16, 19]


@pytest.mark.fast
@pytest.mark.parametrize("crossbars", range(1, 30))
def test_crossbars_of_layers_do_not_overlap(crossbars: int) -> None:
    places = plan(LAYERS, crossbars)
    for layer, place in zip(LAYERS, places, strict=True):
        assert (place is None) == (layer.crossbars > crossbars)
        assert place is None or place.first + place.copies * layer.crossbars <= crossbars
    spans = [
        set(range(place.first, place.first + place.copies * layer.crossbars))
        for layer, place in zip(LAYERS, places, strict=True) if place is not None and place.resident
    ]  # fmt: skip
    shared = [
        set(range(place.first, place.first + layer.crossbars))
        for layer, place in zip(LAYERS, places, strict=True) if place is not None and not place.resident
    ]  # fmt: skip
    apart = [*spans, set().union(*shared)]
    assert sum(map(len, apart)) == len(set().union(*apart))


@pytest.mark.fast
def test_what_does_not_fit_is_written_at_every_run() -> None:
    found = plan(LAYERS, 4)
    assert [place.resident for place in found if place] == [False, False, True]


# ---- networks -------------------------------------------------------------------------------------------------------


def dense() -> Graph:
    builder = Builder("dense")
    random = np.random.default_rng(0)
    x = builder.input("x", TensorType("uint8", (5, 40)))
    w = builder.constant(random.integers(-128, 128, (40, 12)).astype(np.int8))
    c = builder.constant(random.integers(-999, 999, 12).astype(np.int32))
    mul = builder.constant(random.integers(2**27, 2**28, 12).astype(np.int32))
    op = MatMul(a_zero=7, requant=full_range(36, "int8", 3, "half_even"))
    builder.output(builder.add(op, [x, w, c, mul], name="dense")[0])
    return builder.build()


def channels_last() -> Graph:
    """As TensorFlow Lite has it."""
    builder, random = Builder("last"), np.random.default_rng(0)
    x = builder.input("x", TensorType("int8", (1, 9, 7, 3)))
    w = builder.constant(random.integers(-128, 128, (5, 3, 2, 3)).astype(np.int8))
    b = builder.constant(random.integers(-999, 999, 5).astype(np.int32))
    mul = builder.constant(random.integers(2**27, 2**28, 5).astype(np.int32))
    requant = full_range(36, "int8", 3, "half_even")
    op = Conv((2, 1), (1, 1), (1, 0, 1, 1), 1, -7, 0, requant, channels_last=True)
    builder.output(builder.add(op, [x, w, b, mul], name="last")[0])
    return builder.build()


def held(made: Program) -> list[CrossbarConv]:
    return [node.op for node in made.compiled.quantised.nodes if isinstance(node.op, CrossbarConv)]


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("target", ["rv32", "cortex-m4", "quad"])
@pytest.mark.parametrize("made", [chain, dense])
def test_ideal_networks_are_exact(target: str, made: Callable[[], Graph]) -> None:
    graph = made()
    found = program(graph, target, f"{CROSSBARS}:rows=16,columns=64")
    assert "crossbars" in engines(found)
    assert found.check().agrees
    plain = program(graph, target)
    values = {name: np.random.default_rng(3).integers(0, 100, graph.types[name].shape).astype(graph.types[name].dtype)
              for name in graph.inputs}  # fmt: skip
    for name, wanted in plain.run(values).outputs.items():
        np.testing.assert_array_equal(found.run(values).outputs[name], wanted)


@pytest.mark.in_turns(6)
def test_layers_with_channels_last_are_held_too() -> None:
    """Without noise as without crossbars, with it as its reference."""
    for cells in ("rows=16,columns=64", "rows=7,columns=40,noise=0.1,seed=3,adc_bits=6"):
        found = program(channels_last(), "rv32", f"{CROSSBARS}:{cells}")
        assert [op.channels_last for op in held(found)] == [True]
        assert "crossbars" in engines(found)
        assert found.check().agrees


@pytest.mark.in_turns(10)
@pytest.mark.parametrize(
    "cells",
    [
        "noise=0.1,seed=3,crossbars=200",
        "noise=0.05,stuck=0.01,adc_bits=6,cell_bits=4,input_bits=2",
        "adc_bits=5,adc_range=0.5,cell_bits=3,input_bits=3",
        "noise=0.02,crossbars=40",
    ],
)
def test_noise_is_the_same_on_the_device(cells: str) -> None:
    found = program(chain(), "rv32", f"{CROSSBARS}:rows=16,columns=64,{cells}")
    assert len(held(found)) == 3
    assert found.check().agrees


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("noise", ["", ",noise=0.1,adc_bits=5"])
def test_a_layer_of_one_byte_is_not_left_to_the_cores(noise: str) -> None:
    """They have kernels for other forms of it, which know nothing of cells; moving channels saves nothing."""
    builder = Builder("one")
    x = builder.input("x", TensorType("uint8", (1, 1, 1, 1)))
    w = builder.constant(np.array([[[[89]]]], np.int8))
    builder.output(builder.add(Conv((1, 1), (1, 1), (0, 0, 0, 0), 1, 128), [x, w])[0])
    found = program(builder.build(), "rv32", f"{CROSSBARS}:rows=16,columns=64{noise}")
    assert set(engines(found)) == {"crossbars"}
    assert found.check().agrees


@pytest.mark.in_turns(3)
def test_taps_that_meet_no_pixel_keep_their_cells() -> None:
    """Without them the noise of all others would be another one."""
    builder, random = Builder("taps"), np.random.default_rng(0)
    x = builder.input("x", TensorType("int8", (1, 3, 1, 6)))
    w = builder.constant(random.integers(-128, 128, (8, 3, 3, 3)).astype(np.int8))
    builder.output(builder.add(Conv((1, 1), (1, 1), (1, 1, 1, 1), 1), [x, w])[0])
    assert program(builder.build(), "rv32", f"{CROSSBARS}:rows=16,columns=64,noise=0.1,adc_bits=5").check().agrees


@pytest.mark.fast
@pytest.mark.parametrize(("noise", "parts"), [(0.0, 8), (0.1, 1)])
def test_a_sum_with_noise_is_not_computed_in_parts(noise: float, parts: int) -> None:
    """They would stand in other cells."""
    builder = Builder("sum")
    x = builder.input("x", TensorType("int8", (1, 32, 3, 3)))
    w = builder.constant(np.ones((4, 32, 1, 1), np.int8))
    held_here = replace(SMALL, noise=noise).cells
    builder.output(builder.add(CrossbarConv((1, 1), (1, 1), (0, 0, 0, 0), 1, cells=held_here), [x, w])[0])
    graph = builder.build()
    assert most_parts(graph, graph.nodes[0]) == parts


@pytest.mark.in_turns(6)
def test_what_is_written_at_every_run_takes_longer() -> None:
    ample, scarce = (program(chain(), "rv32", f"{CROSSBARS}:rows=16,columns=64,crossbars={n}") for n in (40, 20))
    assert [op.held_in.resident for op in held(scarce)].count(0) > 0
    assert any("written at every run" in note for note in scarce.compiled.quantised.notes)
    cycles = [made.check().result.cycles for made in (ample, scarce)]
    assert cycles[0] is not None
    assert cycles[1] is not None
    assert cycles[0] < cycles[1]


@pytest.mark.in_turns(6)
def test_random_jobs() -> None:
    assert [found.jobs for found in check_folder(str(CROSSBARS), "rv32", jobs=10)] == [10, 10]


# ---- what is wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("columns=4", "a crossbar has 4 columns, and one filter takes 8: 2 signs x 4 slices of 2 bits"),
        ("cell_bits=1,columns=15", "one filter takes 16: 2 signs x 8 slices of 1 bits"),
        ("noise=2", "noise is 2"),
        ("rows=1.5", "rows is 1.5"),
        ("cell_bits=9", "cell_bits is 9"),
        ("voltage=1", "has no parameter 'voltage'"),
    ],
)
def test_faults(words: str, said: str) -> None:
    with pytest.raises(CompileError) as found:
        read_folder(f"{CROSSBARS}:{words}")
    assert said in str(found.value)


def test_beside_another_accelerator() -> None:
    with pytest.raises(CompileError, match="crossbars cannot be beside neureka"):
        program(chain(), "siracusa", CROSSBARS)


def test_a_layer_larger_than_all_crossbars_stays_on_the_cores() -> None:
    found = program(chain(), "rv32", f"{CROSSBARS}:rows=16,columns=8,crossbars=2")
    assert set(engines(found)) == {"cpu"}
    assert any("it stays on the cores" in note for note in found.compiled.quantised.notes)


def test_the_range_of_the_adc_is_a_share() -> None:
    full = Cells(16, 32, 2, 1, 4, RANGE, 0, 0, 0)
    assert [replace(full, adc_range=RANGE // part).full_scale(16) for part in (1, 2, 1024)] == [48, 24, 1]
