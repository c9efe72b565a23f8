"""A TrueIntegerDiv before a RequantShift is part of its multiplier.

The quotient that the exporter calibrated with is floor(Delta * eta / (y * eta + eps)), not the exact division: only the
two operators together have the meaning that was exported. This is why the rewrite belongs to the import of a model,
before anything evaluates the graph. Exporters scale the multiplier and the divisor by 256, which changes nothing
where `add` is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from tilewright.errors import CompileError, instance
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.types import limits
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.trueintegerdiv import TrueIntegerDiv
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite


def run(graph: Graph) -> Graph:
    while any(_division(graph, node) for node in graph.nodes):
        graph = rewrite(graph, partial(_fuse, graph))
    return graph


def _fuse(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    division = _division(graph, node)
    if division is None:
        return None
    op = instance(division.op, TrueIntegerDiv)
    factor = op.numerator // op.denominator if op.denominator > 0 else 0
    mul = int(graph.constants[node.inputs[1]][0]) * factor
    low, high = limits("int32")
    if not low <= mul <= high:
        raise CompileError(
            node.where,
            f"its multiplier times that of '{division.name}' is {mul}, more than 32 bits",
            "use a smaller div",
        )
    constant = builder.constant(np.array([mul], np.int32), node.inputs[1])
    builder.add(node.op, [division.inputs[0], constant, node.inputs[2]], node.outputs, node.name)
    return {name: name for name in node.outputs}


def _division(graph: Graph, node: Node) -> Node | None:
    """What gives a RequantShift its operand, if that is a division which it could do."""
    division = graph.producers.get(node.inputs[0]) if isinstance(node.op, RequantShift) else None
    if division is None or not isinstance(division.op, TrueIntegerDiv) or not _is_plain_factor(graph, node):
        return None
    return division


def _is_plain_factor(graph: Graph, node: Node) -> bool:
    """One multiplier and nothing to add: where exporters join the two operators."""
    mul, add = (graph.constants.get(name) for name in node.inputs[1:])
    return mul is not None and add is not None and mul.size == 1 and not add.any()


def no_divisions(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if (division := _division(graph, node)) is not None:
            yield node.where, f"requantises what {division.where} divides"


FUSE_INTEGER_DIV = Pass("fuse integer divisions", run, ensures=no_divisions)
