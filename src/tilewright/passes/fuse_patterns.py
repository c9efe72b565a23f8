"""Functions and normalisations that were written out in several nodes become the one operator that they are.

What a tensor is computed by is read back as a formula of an earlier tensor (`patterns/reading.py`), in a normal form
(`patterns/algebra.py`) that does not depend on how an exporter has arranged it, and compared with those that operators
compute. Only where nothing else reads what lies between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array
from tilewright.passes import Complaint, Pass
from tilewright.passes.fold_constants import nothing_left
from tilewright.passes.patterns import functions, normalisations
from tilewright.passes.patterns.algebra import NoForm
from tilewright.passes.patterns.group_norm import grouped
from tilewright.passes.patterns.reading import ARITHMETIC, MOST_NODES, READ, Reading
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

FEWEST_NODES = 2
"""One node is what it is."""


@dataclass(frozen=True)
class Match:
    op: Op
    source: str
    constants: Sequence[Array]
    inside: frozenset[str]
    """The nodes that the operator stands for, by their keys."""


def run(graph: Graph) -> Graph:
    # What has become one node may be part of a longer formula that was too long before.
    while (fused := _fused(graph)).nodes != graph.nodes:
        graph = fused
    return fused


def _fused(graph: Graph) -> Graph:
    matches = _matches(graph)
    fused = rewrite(graph, lambda node, builder: _emitted(matches, node, builder)) if matches else graph
    return rewrite(fused, lambda node, builder: grouped(fused, node, builder))


def _emitted(matches: Mapping[str, Match], node: Node, builder: Builder) -> Mapping[str, str] | None:
    match = matches.get(node.key)
    if match is None:
        return None
    constants = [builder.constant(value, f"{node.name}_constant") for value in match.constants]
    builder.add(match.op, [match.source, *constants], node.outputs)
    return {node.key: node.key}


def _matches(graph: Graph) -> dict[str, Match]:
    """From the end on, so that the longest formula wins: with a scale and a bias if there are any."""
    found: dict[str, Match] = {}
    taken: set[str] = set()
    for node in reversed(graph.nodes):
        match = None if node.key in taken or type(node.op) not in READ else _match(graph, node)
        if match is not None:
            found[node.key] = match
            taken |= match.inside
    return found


def _match(graph: Graph, root: Node) -> Match | None:
    region = _region(graph, root)
    if graph.types[root.key].dtype != "float32" or all(type(node.op) in ARITHMETIC for node in region):
        return None
    operands = dict.fromkeys(name for node in region for name in node.inputs if name and name not in graph.constants)
    alike = [source for source in operands if graph.types[source] == graph.types[root.key]]
    matches = [match for source in alike if (match := _match_from(graph, root, source)) is not None]
    # A normalisation of what is centred already is one of what is not.
    return max(matches, key=lambda match: len(match.inside), default=None)


def _region(graph: Graph, root: Node) -> list[Node]:
    """The nodes behind one that a formula may be made of, nearest first."""
    found = [root]
    for node in found:
        makers = [graph.producers.get(name) for name in node.inputs]
        for maker in makers:
            if maker is not None and type(maker.op) in READ and maker not in found and len(found) < MOST_NODES:
                found.append(maker)
    return found


def _match_from(graph: Graph, root: Node, source: str) -> Match | None:
    reading = Reading(graph, source)
    try:
        formula = reading.formula(root.key)
    except NoForm:
        return None
    inside = frozenset(reading.nodes)
    if len(inside) < FEWEST_NODES or not _is_private(graph, root, inside):
        return None
    op = functions.recognised(formula) or normalisations.softmax(formula, reading.shape)
    if op is not None:
        return Match(op, source, (), inside)
    normal = normalisations.normalisation(formula)
    found = normal.operator(graph, reading.shape) if normal else None
    return Match(found[0], source, found[1], inside) if found else None


def _is_private(graph: Graph, root: Node, inside: frozenset[str]) -> bool:
    """Whether nothing outside reads what is computed on the way."""
    between = inside - {root.key}
    if not between.isdisjoint(graph.sinks):
        return False
    return all(reader.key in inside for key in between for reader in graph.consumers.get(key, ()))


def nothing_written_out(graph: Graph) -> Iterator[Complaint]:
    nodes = {node.key: node for node in graph.nodes}
    for key, match in _matches(graph).items():
        yield nodes[key].where, f"ends {len(match.inside)} nodes that one {match.op.kind} could be"


FUSE_PATTERNS = Pass("fuse functions and normalisations", run, requires=nothing_left, ensures=nothing_written_out)
