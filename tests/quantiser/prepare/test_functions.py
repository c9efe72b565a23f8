"""A function that is written out in several operators is one table of bytes."""

from __future__ import annotations

import numpy as np

from tests.quantiser.networks import Net, images
from tilewright.ir.graph import Graph
from tilewright.ops.greater import Greater
from tilewright.ops.lookup import Lookup
from tilewright.ops.mul import Mul
from tilewright.ops.softplus import Softplus
from tilewright.ops.sqrt import Sqrt
from tilewright.ops.where import Where
from tilewright.passes import apply
from tilewright.passes.quantise.rules import QUANTISE
from tilewright.quantiser.prepare.functions import inside_functions
from tilewright.quantiser.quantise import Options, quantise


def with_threshold() -> Graph:
    """A softplus that is the identity where that makes no difference any more."""
    net = Net(1, 3, 6, 6)
    x = net.conv(4)
    soft = net.add(Softplus())
    is_large = net.add(Greater(), net.constant(np.array(1.5)), of=x)
    net.at = net.builder.add(Where(), [is_large, x, soft], name="chosen")[0]
    net.conv(2, name="last")
    return net.graph()


def test_nothing_inside_is_rounded_or_a_float() -> None:
    found = quantise(with_threshold(), images(16, 3, 6, 6), Options(processes=1))
    assert found.report.floats == ()
    assert len(found.report.layers) == 4
    kinds = [node.op.kind for node in apply(found.graph, (QUANTISE,)).nodes]
    assert kinds.count(Lookup.__name__) == 1
    assert found.report.snr_db > 35


def test_what_others_read_too_is_rounded() -> None:
    net = Net(1, 2, 4, 4)
    x = net.conv(3)
    square = net.add(Mul(), x)
    root = net.add(Sqrt())
    product = net.builder.add(Mul(), [root, x])[0]
    total = net.builder.add(Mul(), [product, net.builder.input("other", net.builder.types[x])])[0]
    net.builder.output(total)
    assert inside_functions(net.builder.build()) == {square, root}
