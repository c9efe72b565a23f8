"""One row times a matrix of bytes, with several columns in each filter of a window: the same numbers in less time."""

from __future__ import annotations

import re
from typing import cast

import numpy as np
import pytest

from tests.support.tiled import evaluate_tiled
from tests.targets.hwpe.narrow_layers import cases, forms_of
from tests.targets.hwpe.neureka_layers import Layer, layer, operands
from tests.targets.hwpe.test_neureka import check_cycles
from tests.targets.pulp.machine import NEUREKA, SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw, share
from tilewright import pipeline
from tilewright.ir.requant import full_range
from tilewright.ops.matmul import MatMul
from tilewright.pipeline import Compiled
from tilewright.program import Program
from tilewright.run.kernel_bench import check
from tilewright.target.settings import Settings
from tilewright.targets.hwpe.columns import NeurekaColumns
from tilewright.targets.hwpe.cycles import job_cycles
from tilewright.targets.hwpe.linear import NeurekaLinear
from tilewright.targets.hwpe.row import NeurekaRow

CHANNELS = (20, 28, 60, 64, 68, 83, 84, 128, 150, 252, 256, 500)
"""Rows that are one, three or nine pixels in the shortest job, some of them with a rest for the cores."""


def drawn(seed: int) -> Layer:
    """Results by high words, with and without ties, or exactly; of 8 and 16 bits."""
    draw = Draw(seed)
    channels = CHANNELS[seed % len(CHANNELS)]
    columns = min(1200, 100_000 // channels) + draw.size(100)
    x, w = draw.array(draw.byte(), 1, channels), draw.array("int8", columns, channels)
    bias = draw.between(-20000, 20000, columns) if draw.flag() else None
    dtype, rounding = cast(str, draw.one_of("int8", "uint8", "int16")), draw.one_of("half_even", "half_up")
    mul = draw.between(2**29, 2**30, columns)
    requant = full_range(30 + draw.size(8), dtype, draw.zero(dtype), cast(str, rounding))
    return layer(MatMul(trans_b=True, a_zero=draw.zero(x.dtype.name), requant=requant), x, w, bias, mul)


@pytest.mark.in_turns(3)
def test_forms_mean_what_the_graph_means() -> None:
    kinds = set()
    for seed in range(40):
        one = drawn(seed)
        for offer in forms_of(NEUREKA, one):
            np.testing.assert_array_equal(offer.op.numpy(*operands(offer, one.image)), one.expected, str(offer.op))
            kinds.add((type(offer.op), getattr(offer.op, "shared", 1), getattr(offer.op, "rest", 0)))
    assert {(NeurekaColumns, 9, rest) for rest in (0, 4, 8)} < kinds
    assert {(NeurekaColumns, 3, 0), (NeurekaColumns, 1, 4), (NeurekaRow, 1, 0)} < kinds


def test_tiles_of_forms_are_parts_of_the_whole() -> None:
    for seed in range(20):
        one, draw = drawn(seed), Draw(seed)
        for offer in forms_of(NEUREKA, one):
            arrays = operands(offer, one.image)
            shapes = {name: array.shape for name, array in offer.op.bind(arrays).items()}
            tile = {loop: draw.size(extent) for loop, extent in offer.op.extents(shapes).items()}
            (made,) = evaluate_tiled(offer.op, arrays, tile)
            np.testing.assert_array_equal(made, one.expected, f"{offer.op} {tile}")


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("cores", CORES)
def test_kernels(cores: int) -> None:
    found = [case for seed in range(20) for case in cases(NEUREKA, drawn(seed), seed % 4)]
    assert {case.kernel.stem for case in found} >= {"neureka_resident_columns", "neureka_streamed_columns"}
    found = share(found, cores)
    for case, measured in zip(found, check(found, SIRACUSA, cores), strict=True):
        check_cycles(case, measured, cores)


def test_jobs_are_shorter() -> None:
    """A row of 64 takes N-EUREKA half of the time."""
    one = drawn(CHANNELS.index(64))
    (form,) = forms_of(NEUREKA, one)
    took = [
        sum(job_cycles(job) for job in case.op.jobs(case.types, resident=True))
        for case in (one.cases()[0], cases(NEUREKA, one)[0])
        if isinstance(case.op, NeurekaLinear)
    ]
    assert isinstance(form.op, NeurekaColumns)
    assert took[1] <= 0.5 * took[0]


@pytest.mark.in_turns(5)
def test_tiles_are_submitted_before_the_constants_of_the_cores_are_there() -> None:
    random = np.random.default_rng(7)
    x, w = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 64), (20_000, 64)))
    bias, mul = (random.integers(-(2**14), 2**14, 20_000).astype(np.int32), np.full(20_000, 2**29 + 1, np.int32))
    one = layer(MatMul(trans_b=True, a_zero=3, requant=full_range(33, "int16", 0, "half_even")), x, w, bias, mul)
    made = Compiled(*pipeline.stages(one.graph, "siracusa", "model", Settings()))
    (tiles,) = made.schedule.layers
    assert tiles.submits_early
    assert re.search(r"layer_0_run\(tile \+ 1, .*\n.*\n +tw_accelerator_wait", made.files["network.c"])
    (found,) = Program(made, "model", None, 0.0).run({"x": x}).outputs.values()
    np.testing.assert_array_equal(found, one.expected)
