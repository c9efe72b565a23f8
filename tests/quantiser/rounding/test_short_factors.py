"""Scales that hardware requantises by exactly: nothing differs, and weights are as good as before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.quantiser.networks import Net, classifier, images
from tilewright import pipeline
from tilewright.errors import instance
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Graph
from tilewright.ir.rounding import Rounding
from tilewright.ops.conv import Conv
from tilewright.ops.convtranspose import ConvTranspose
from tilewright.passes.quantise.values import Format
from tilewright.quantiser.quantise import Options, quantise
from tilewright.quantiser.rounding.short_factors import MOST_ERROR, Ends, short_scales
from tilewright.quantiser.weights import nearest, row_scales
from tilewright.target.settings import Settings


def test_scales_move_a_little_and_weights_stay_as_good() -> None:
    random = np.random.default_rng(3)
    rows, bias = random.normal(size=(32, 144)), random.normal(size=32)
    ends = Ends(Format("int8", (0.03,), (-128,)), Format("int8", (0.21,), (-128,)), bias)
    scales = row_scales(rows, 8)
    made = short_scales(rows, scales, 8, None, ends)
    assert not np.array_equal(made, scales)
    assert np.all(np.abs(made / scales - 1) < 1 / 64)
    before, after = (np.sum((nearest(rows, s, 8) * s[:, None] - rows) ** 2) for s in (scales, made))
    assert after <= MOST_ERROR * before


def _quantised(graph: Graph, numerics: str) -> Graph:
    return instance(pipeline.stage(graph, "generic", "quantised", settings=Settings(numerics=numerics)), Graph)


@pytest.mark.in_turns(5)
def test_exact_is_what_hardware_does() -> None:
    samples = images(16)
    found = {
        short: quantise(classifier(), samples, Options(short_factors=short, processes=1)) for short in (True, False)
    }
    exact, hardware = (_quantised(found[True].graph, numerics) for numerics in ("exact", "hardware"))
    convs = [node.op for node in exact.nodes if isinstance(node.op, Conv) and node.op.requant is not None]
    assert convs
    assert all(op.requant is not None and op.requant.rounding == Rounding.NATIVE for op in convs)
    assert all(one.share == 0 for one in hardware.numerics_records if one.native)
    assert any(one.share > 0 for one in _quantised(found[False].graph, "hardware").numerics_records)
    feeds = dict.fromkeys(exact.inputs, samples[:1])
    values = evaluate(exact, feeds), evaluate(hardware, feeds)
    assert all(np.array_equal(values[0][name], values[1][name]) for name in exact.outputs)


def test_transposed_convolutions_have_them_too() -> None:
    net = Net(1, 3, 6, 6)
    net.conv(8)
    weights = net.normal(8, 4, 2, 2, size=0.2)
    net.add(ConvTranspose(strides=(2, 2), before=(0, 0), spatial=(12, 12)), weights, net.normal(4, size=0.1), name="up")
    net.conv(2, name="last")
    made = quantise(net.graph(), images(8, 3, 6, 6), Options(processes=1)).graph
    (up,) = (one for one in _quantised(made, "hardware").numerics_records if one.layer == "up")
    assert (up.native, up.share) == (True, 0)
