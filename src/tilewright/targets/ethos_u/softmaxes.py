"""Softmax of bytes on the NPU, by streams of ours: Vela's have one scale of results and three times as many cycles."""

from __future__ import annotations

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.graph import Graph, Node, rebuild
from tilewright.ir.types import Array, limits
from tilewright.ir.unused import drop_unused
from tilewright.ops._ethosu import EthosU
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.records import dataclass
from tilewright.sim.ethos_u.payload import read_payload
from tilewright.target.core_or_accelerator import fewest_cycles
from tilewright.target.target import Target
from tilewright.targets.ethos_u.costs import SLOWER, costs_of
from tilewright.targets.ethos_u.products import DIFFERS, SEED, add_job
from tilewright.targets.ethos_u.softmax_numbers import why_not_words
from tilewright.targets.ethos_u.softmax_stream import Rows, arenas_of, constants_of, payload


@dataclass(frozen=True, eq=False)
class Softmax:
    """A node, and what it becomes."""

    node: Node
    job: EthosU
    stream: Array
    constants: Array


def with_softmaxes(npu: str, core: Target | None, graph: Graph) -> tuple[Graph, dict[str, str]]:
    """The graph with jobs instead of each softmax that the NPU computes in fewer cycles, and why others stay."""
    found, reasons = dict[str, Softmax](), dict[str, str]()
    for node in graph.nodes:
        if isinstance(node.op, QLinearSoftmax):
            try:
                one = _softmax(npu, graph, node)
                _check_cost(core, graph, one)
                _check_results(graph, one)
                found[node.key] = one
            except Refusal as refusal:
                reasons[node.key] = refusal.what
    return (_joined(graph, found), reasons) if found else (graph, reasons)


def _softmax(npu: str, graph: Graph, node: Node) -> Softmax:
    op, kind = instance(node.op, QLinearSoftmax), graph.types[node.inputs[0]]
    if why := why_not_words(graph, node, op):
        raise Refusal(why)
    count = kind.shape[op.axis]
    rows = Rows(kind.elements // count, count, op.numerator, op.requant.shift, op.requant.zero_point)
    words, arenas = payload(npu, rows), arenas_of(rows)
    before = len(read_payload(words.astype("<u4").tobytes(), node.where).before)
    job = EthosU(
        npu, arenas.end, arenas.fast_end, (0,), (arenas.y_at,), (kind.elements,), kind.shape, "int8", first=before
    ).of_stream(words[before:])  # fmt: skip
    return Softmax(node, job, words, constants_of(rows, graph.constants[node.inputs[1]]))


def _check_cost(core: Target | None, graph: Graph, one: Softmax) -> None:
    """A refusal where the core is predicted to be faster; without costs of its kernels nobody knows."""
    if core is None or not core.costs.kernels:
        return
    costs, size = costs_of(core), graph.types[one.node.key].elements
    theirs, ours = costs.job + one.job.cycles + costs.copied(2 * size), fewest_cycles(graph, one.node, core)
    if theirs > ours:
        raise Refusal(SLOWER.format(theirs, ours))


def _check_results(graph: Graph, one: Softmax) -> None:
    """A refusal where the stream gives something else than the node, of bytes drawn at random."""
    kind, table = graph.types[one.node.inputs[0]], graph.constants[one.node.inputs[1]]
    x = np.random.default_rng(SEED).integers(*limits(kind.dtype), kind.shape, kind.dtype, True)
    found = one.job.numpy(one.stream.view(np.int32), one.constants, x)
    if not np.array_equal(found, instance(one.node.op, QLinearSoftmax).numpy(x, table)):
        raise Refusal(DIFFERS)


def _joined(graph: Graph, found: dict[str, Softmax]) -> Graph:
    builder = rebuild(graph)
    for node in graph.nodes:
        if node.key in found:
            one = found[node.key]
            add_job(builder, node.name, one.job, (one.stream, one.constants), node.inputs[:1], node.key)
        else:
            builder.copy_node(node, graph)
    builder.copy_outputs(graph)
    return drop_unused(builder.build())
