"""Native requantisations: the cores' kernels and N-EUREKA give what numpy gives, also for extreme totals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.targets.hwpe.neureka_layers import Layer, layer, operands
from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import Draw, share
from tilewright.calibration.measuring import cases
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.passes.numerics.hardware import run
from tilewright.run.kernel_bench import check
from tilewright.targets.hwpe.op import BY_NPU

COUNT = 24


def extremes(draw: Draw, dtype: str, *shape: int) -> Array:
    """Many of the smallest and largest, which give the largest totals."""
    drawn = draw.array(dtype, *shape)
    ends = np.array(limits(dtype), drawn.dtype)[draw.between(0, 1, *shape)]
    return np.where(draw.between(0, 1, *shape) > 0, drawn, ends)


def requant(draw: Draw, products: int, filters: int) -> tuple[Requant, Array]:
    """As quantised networks have them: 31 bits of factors, shifted far."""
    dtype = draw.byte()
    low, high = limits(dtype)
    zero = low if draw.flag() else low + draw.size(250)
    scale = 256 / (products * 128 * 64) ** 0.5 / draw.size(30)
    mul = np.rint(scale * 2.0**36 * (0.5 + draw.between(0, 1000, filters) / 2000) / 2**6).astype(np.int64)
    return Requant(36, dtype, low, high, zero, "half_even"), np.minimum(mul, 2**31 - 1).astype(np.int32)


def drawn(seed: int) -> Layer:
    draw = Draw(seed)
    kind, x_type = seed % 3, draw.byte()
    channels, filters = 4 + draw.size(60), 4 + draw.size(40)
    zero = draw.zero(x_type)
    if kind == 0:
        found, mul = requant(draw, channels, filters)
        op: Op = MatMul(trans_b=True, a_zero=zero, requant=found)
        x, w = extremes(draw, x_type, draw.size(9), channels), draw.array("int8", filters, channels)
    else:
        filters = channels if kind == 1 else filters
        found, mul = requant(draw, 9 if kind == 1 else 9 * channels, filters)
        conv = Conv(padding=(1, 1, 1, 1), groups=channels if kind == 1 else 1, x_zero=zero, requant=found)
        op = replace(conv, channels_last=True)
        x = extremes(draw, x_type, 1, 4 + draw.size(6), 4 + draw.size(6), channels)
        w = draw.array("int8", filters, 3, 3, 1 if kind == 1 else channels)
    bias = draw.between(-3000, 3000, filters) if draw.flag() else None
    return layer(op, x, w, bias, mul)


def native_layers() -> list[Layer]:
    made = [Layer(run(one.graph, tflite=True), one.image) for one in map(drawn, range(2 * COUNT))]
    found = [one for one in made if one.graph.numerics_records[0].native]
    assert len(found) >= COUNT
    # Those with many products have totals that are clipped first.
    roundings = [one.node.op.requant.rounding for one in found]  # type: ignore[attr-defined]
    assert set(roundings) == {Rounding.NATIVE, "half_up"}
    assert min(roundings.count(Rounding.NATIVE), roundings.count("half_up")) >= COUNT // 6
    return found


@pytest.fixture(scope="module")
def layers() -> list[Layer]:
    return native_layers()


@pytest.mark.in_turns(8)
def test_the_cores_agree(layers: list[Layer]) -> None:
    samples = []
    for one in layers:
        constants = [one.graph.constants[name] if name else None for name in one.node.inputs[1:]]
        samples.append((one.node.op, [one.image, *constants]))
    tried = cases(SIRACUSA, samples)
    kernels = {case.kernel.stem for case in tried}
    assert {"conv_dots", "depthwise_dots", "matmul_dots", "matvec_dots"} <= kernels
    check(share(tried, 8), SIRACUSA, 8)


@pytest.mark.in_turns(6)
def test_n_eureka_agrees(layers: list[Layer]) -> None:
    for one in layers:
        offer = one.offer
        np.testing.assert_array_equal(offer.op.numpy(*operands(offer, one.image)), one.expected)
    alone = [one for one in layers if one.offer.op.made == BY_NPU]  # type: ignore[attr-defined]
    assert len(alone) >= len(layers) // 4
    check(share([case for one in layers for case in one.cases()], 8), SIRACUSA, 8)
