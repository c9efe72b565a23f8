"""Layers that N-EUREKA requantises from below and from above: TensorFlow Lite's results, whole, in tiles and in C."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.tiled import evaluate_tiled
from tests.targets.hwpe.neureka_layers import Layer, layer, operands
from tests.targets.pulp.machine import SIRACUSA
from tests.targets.pulp.random_cases import CORES, Draw
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.tflite_rounding import factors
from tilewright.ir.types import Array
from tilewright.ops.conv import Conv
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import check
from tilewright.targets.hwpe import taken
from tilewright.targets.hwpe.bracketed import Bracketed, BracketedConv, BracketedGathered, BracketedLinear

COUNT = 24


def requant(draw: Draw, filters: int, products: int) -> tuple[Requant, list[Array | None]]:
    """One of TensorFlow Lite's, with results that are seldom saturated."""
    dtype, rounding = draw.byte(), str(draw.one_of("double", "double", "double_up", "single"))
    scales = 2.0 ** (-4 - 3 * draw.random.random(filters if draw.flag() else 1)) / products**0.5
    found = [None if each is None else np.broadcast_to(each, filters).copy() for each in factors(scales, rounding)]
    return full_range(0, dtype, draw.zero(dtype), rounding), found


def linear_layer(draw: Draw) -> Layer:
    channels, filters = draw.size(100), 4 * draw.size(18)
    x, w = draw.array(draw.byte(), draw.size(130), channels), draw.array("int8", filters, channels)
    bias = draw.between(-20000, 20000, filters) if draw.flag() else None
    found, rest = requant(draw, filters, channels)
    return layer(MatMul(trans_b=True, a_zero=draw.zero(x.dtype.name), requant=found), x, w, bias, *rest)


def conv_layer(draw: Draw, depthwise: bool = False) -> Layer:
    """Without a zero point, or padded above and on the left only."""
    kernel = draw.size(3), draw.size(3)
    strides = (1, 1) if draw.flag() else (draw.size(2), draw.size(2))
    zero = draw.flag()
    padding = tuple(int(taps > 1 and (at < 2 or not zero)) for at, taps in enumerate((*kernel, *kernel)))
    channels, filters = 4 * draw.size(10), 4 * draw.size(10)
    groups, filters, taken_channels = (channels, channels, 1) if depthwise else (1, filters, channels)
    x = draw.array(draw.byte(), draw.size(2), 3 + draw.size(10), 3 + draw.size(10), channels)
    w = draw.array("int8", filters, *kernel, taken_channels)
    bias = draw.between(-2000, 2000, filters) if draw.flag() else None
    found, rest = requant(draw, filters, w[0].size)
    x_zero = draw.zero(x.dtype.name) if zero else 0
    return layer(Conv(strides, (1, 1), padding, groups, x_zero, 0, found, channels_last=True), x, w, bias, *rest)


def depthwise_layer(draw: Draw) -> Layer:
    return conv_layer(draw, depthwise=True)


def gathered_layer(draw: Draw) -> Layer:
    kernel, strides = (3 + draw.size(3), draw.size(4)), (draw.size(3), draw.size(3))
    padding = tuple(draw.size(3) - 1 for _ in range(4))
    channels, filters = draw.size(5), 4 * draw.size(10)
    x = draw.array(draw.byte(), draw.size(2), 6 + draw.size(8), 4 + draw.size(8), channels)
    w = draw.array("int8", filters, *kernel, channels)
    found, rest = requant(draw, filters, w[0].size)
    op = Conv(strides, (1, 1), padding, 1, draw.zero(x.dtype.name), 0, found, channels_last=True)
    return layer(op, x, w, None, *rest)


KINDS: dict[Callable[[Draw], Layer], type[Bracketed]] = {
    linear_layer: BracketedLinear, conv_layer: BracketedConv, depthwise_layer: BracketedConv,
    gathered_layer: BracketedGathered,
}  # fmt: skip
any_kind = pytest.mark.parametrize("draw_layer", KINDS, ids=lambda kind: kind.__name__)


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "is_quicker", lambda one, other: True)


def layers(draw_layer: Callable[[Draw], Layer]) -> list[Layer]:
    """Most of what is drawn has lines within 32 bits."""
    drawn = [draw_layer(Draw(seed)) for seed in range(COUNT)]
    found = [each for each in drawn if isinstance(each.offer.op, Bracketed)]
    assert len(found) > COUNT // 2
    assert any(type(each.offer.op) is KINDS[draw_layer] for each in found)
    return found


@pytest.mark.in_turns(6)
@any_kind
def test_the_same_whole_and_in_tiles(draw_layer: Callable[[Draw], Layer]) -> None:
    for seed, each in enumerate(layers(draw_layer)):
        offer, draw = each.offer, Draw(seed)
        arrays = operands(offer, each.image)
        np.testing.assert_array_equal(offer.op.numpy(*arrays), each.expected, str(each.node.op))
        names = offer.op.bind([None if array is None else array.shape for array in arrays])
        tile = {loop: draw.size(extent) for loop, extent in offer.op.extents(names).items() if loop not in "rs"}
        (found,) = evaluate_tiled(offer.op, arrays, tile)
        np.testing.assert_array_equal(found, each.expected, f"{offer.op} {tile}")


@pytest.mark.in_turns(10)
@any_kind
@pytest.mark.parametrize("cores", [CORES[0], CORES[-1]])
def test_kernels(draw_layer: Callable[[Draw], Layer], cores: int) -> None:
    found = layers(draw_layer)
    check([case for i, each in enumerate(found[:10]) for case in each.cases(i % 4)], SIRACUSA, cores)


@pytest.mark.in_turns(6)
@any_kind
def test_the_lines_are_on_either_side(draw_layer: Callable[[Draw], Layer]) -> None:
    """And differ for few results: what the cores mend is the exception."""
    for each in layers(draw_layer):
        offer = each.offer
        op, (x, w, scale, bias, _, shifts, _) = offer.op, operands(offer, each.image)
        assert isinstance(op, Bracketed)
        assert scale is not None
        assert bias is not None
        assert shifts is not None
        values = [(op.totals(x, w) * scale[i].astype(np.int64) + bias[i]) >> shifts for i in (0, 1)]
        assert all(np.abs(value << shifts).max() < 1 << 31 for value in values)
        limits = np.iinfo(each.expected.dtype)
        lower, upper = (np.clip(value, limits.min, limits.max) for value in values)
        assert np.all(lower <= each.expected)
        assert np.all(each.expected <= upper)
        assert np.mean(lower != upper) < 0.2
