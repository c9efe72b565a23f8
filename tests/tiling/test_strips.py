"""Every operator that has rows, alone: in strips equals whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.checks import Case, same
from tests.support.examples import examples
from tests.tiling.test_windows import CASES, INDEXED
from tilewright.ir.evaluate import evaluate
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.op import Op
from tilewright.ir.types import Array, type_of
from tilewright.passes.fit.strips import in_strips
from tilewright.tiling.strips import plan_strips, row_layers

pytestmark = pytest.mark.fast


def alone(case: Case, constant: bool) -> tuple[Graph, dict[str, Array]]:
    """A graph of one node; its operands but for the first one may be constants."""
    op, arrays = case
    builder, feeds = Builder("alone"), {}
    names = []
    for number, array in enumerate(arrays):
        if array is None:
            names.append("")
        elif number and constant:
            names.append(builder.constant(array, f"c{number}"))
        else:
            feeds[f"x{number}"] = array
            names.append(builder.input(f"x{number}", type_of(array)))
    for name in builder.add(op, names):
        builder.output(name)
    return builder.build(), feeds


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("operator", INDEXED, ids=lambda operator: operator.__name__)
@examples(4)
@given(data=st.data())
def test_in_strips_equals_whole(operator: type[Op], data: st.DataObject) -> None:
    graph, feeds = alone(data.draw(CASES[operator.__name__]), data.draw(st.booleans()))
    shape = graph.types[graph.nodes[0].key].shape
    for axis, size in enumerate(shape):
        layers = row_layers(graph, graph.nodes, axis) if size > 1 else None
        plan = None if layers is None else plan_strips(graph, layers, data.draw(st.integers(2, min(size, 4))))
        if plan is not None:
            with np.errstate(all="ignore"):
                found, wanted = (evaluate(one, feeds)[graph.outputs[0]] for one in (in_strips(graph, plan), graph))
            same(found, wanted)
