"""Functions of bytes become tables that give the same bits; what is no function of bytes, or cheap, stays."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.small import Small, changed_by, integers, kinds
from tilewright.ir.graph import Graph
from tilewright.ir.op import Op
from tilewright.ops.add import Add
from tilewright.ops.clip import Clip
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.lookup import ENTRIES
from tilewright.ops.mul import Mul
from tilewright.ops.relu import Relu
from tilewright.ops.trueintegerdiv import TrueIntegerDiv
from tilewright.passes.tabulate import TABULATE

pytestmark = pytest.mark.fast

GELU, SWISH = iGELU(-40, 1743), iHardswish(765, 1530, 33)


def tabulated(graph: Graph) -> list[str]:
    return kinds(changed_by(graph, TABULATE))


@pytest.mark.parametrize("op", [GELU, SWISH, TrueIntegerDiv(1024, 7000, 1, 3)], ids=lambda op: op.kind)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("to", ["int8", "uint8", "int16"])
def test_activations(op: Op, dtype: str, to: str) -> None:
    small = Small()
    x = small.input("x", 2, 300, dtype=dtype)
    assert tabulated(small.graph(small.requant(small.add(op, x), shift=12, dtype=to))) == ["Lookup"]


def test_every_byte() -> None:
    """The table has an entry for each value, in order."""
    small = Small()
    graph = small.graph(small.requant(small.add(SWISH, small.input("x", 300)), shift=16))
    (table,) = changed_by(graph, TABULATE).constants.values()
    assert table.shape == (ENTRIES,)
    assert table.dtype == np.int8
    assert table[128] == np.clip((graph.constants[graph.nodes[1].inputs[2]][0] + (1 << 15)) >> 16, -128, 127)


def test_chains_are_one_table() -> None:
    small = Small()
    x = small.requant(small.input("x", 300), shift=5)
    for _ in range(3):
        x = small.add(Clip(-100, 100), small.requant(x, shift=6))
    x = small.requant(small.add(Mul(wide=True), x, small.constant(integers("int8", 1))), shift=12)
    assert tabulated(small.graph(x)) == ["Lookup"]


def test_what_others_read_in_between_is_a_table_too() -> None:
    small = Small()
    first = small.requant(small.input("x", 300), shift=5)
    assert tabulated(small.graph(first, small.requant(first, shift=5))) == ["Lookup", "Lookup"]


def test_what_stays() -> None:
    small = Small()
    x, wide = small.input("x", 300), small.input("wide", 300, dtype="int16")
    outputs = [
        small.add(Relu(), x),
        small.add(Clip(-3, 3), small.add(Relu(), x)),
        small.add(GELU, x),
        small.requant(wide),
        small.requant(small.input("few", 63)),
        small.requant(small.input("channels", 2, 300), axis=0),
        small.add(Add(), x, small.constant(integers("int8", 300))),
        small.add(Mul(wide=True), x, x),
    ]
    assert "Lookup" not in tabulated(small.graph(*outputs))
