"""Samples in the forms that a target's kernels take them in: with constants arranged as they want them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.calibration.values import Sample
from tilewright.errors import present
from tilewright.ir.graph import Builder, Graph
from tilewright.ir.types import Array, type_of
from tilewright.target.target import Offer, Target


def in_forms(target: Target, found: Iterable[Sample]) -> Iterator[Sample]:
    """What engines make of samples whose operands but for the first are constants. Where a runtime brings tiles,
    samples of forms are the target's own."""
    forms = [engine.forms for engine in target.engines if engine.forms is not None]
    if target.agents.has_runtime or not forms:
        return
    for sample in found:
        graph = _graph(sample)
        for form in forms:
            for offer in form(graph, graph.nodes[0]):
                yield offer.op, [_operand(graph, offer, name, sample) for name in offer.inputs]


def _graph(sample: Sample) -> Graph:
    op, (first, *others) = sample
    builder = Builder("sample")
    names = [builder.input("x", type_of(present(first, "sample", "has no first operand")))]
    names += ["" if array is None else builder.constant(array) for array in others]
    for tensor in builder.add(op, names):
        builder.output(tensor)
    return builder.build()


def _operand(graph: Graph, offer: Offer, name: str, sample: Sample) -> Array | None:
    if name in offer.constants:
        return offer.constants[name]
    return graph.constants[name] if name in graph.constants else sample[1][0] if name else None
