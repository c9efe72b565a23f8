"""Layers that a device computes as one job become one node, where that is predicted to take no longer or asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.accelerator.following import Chain, found_chain
from tilewright.accelerator.jobs import Declared
from tilewright.accelerator.offers import Weigh, chain_unsupported
from tilewright.accelerator.sinking import following_pairs, sink_reshapes
from tilewright.accelerator.unit import Unit
from tilewright.errors import CompileError, Refusal
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.passes import Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.core_or_accelerator import fewest_cycles
from tilewright.target.target import Target


@dataclass(frozen=True)
class Pins:
    """Which layers a user has put on which engines."""

    engines: Mapping[str, str]
    """By a layer's name, or what tables call it."""
    own: frozenset[str]
    """The units whose chains are looked for."""

    def wants(self, graph: Graph, found: Chain) -> bool | None:
        """Whether a chain is asked for; None where nothing is said of its layers."""
        names = {found.joined.name, *(name for node in found.nodes for name in (node.name, graph.short_name(node)))}
        said = {engine in self.own for name, engine in self.engines.items() if name in names}
        return None if not said else all(said)


def joining_passes(unit: Unit, weigh: Weigh, pins: Pins) -> tuple[Pass, ...]:
    """None where no pattern has several operators."""
    forms = [form for form in unit.forms() if form.is_chain]
    return (Pass(f"chains for {unit.name}", partial(_joined, forms, weigh, pins)),) if forms else ()


def sinking_passes(unit: Unit) -> tuple[Pass, ...]:
    """Before layouts are chosen: a Reshape between two layers may need a copy in another one."""
    pairs = following_pairs([form.pattern for form in unit.forms()])
    return (Pass(f"views behind chains for {unit.name}", partial(sink_reshapes, pairs)),) if pairs else ()


def weighing(target: Target) -> Weigh:
    """Predicted cycles of layers joined and apart, on a target with the device; without end apart where no engine takes
    one of them."""

    def weigh(graph: Graph, found: Chain) -> tuple[float, float]:
        try:
            apart = sum(fewest_cycles(graph, node, target) for node in found.nodes)
        except CompileError:
            apart = float("inf")
        return fewest_cycles(graph, found.joined, target), apart

    return weigh


def _joined(forms: list[Declared], weigh: Weigh, pins: Pins, graph: Graph) -> Graph:
    found = {chain.nodes[-1].key: chain for chain in _chains(forms, weigh, pins, graph)}

    def change(node: Node, builder: Builder) -> Mapping[str, str] | None:
        chain = found.get(node.key)
        if chain is None:
            return None
        builder.add(chain.joined.op, chain.joined.inputs, chain.joined.outputs, chain.joined.name)
        return {node.key: node.key}

    return rewrite(graph, change) if found else graph


def _chains(forms: list[Declared], weigh: Weigh, pins: Pins, graph: Graph) -> Iterator[Chain]:
    """Each node in one of them; the pattern that is declared first is preferred."""
    taken: set[str] = set()
    for node in graph.nodes:
        for form in forms:
            found = _taken(form, weigh, pins, graph, node)
            if found is not None and taken.isdisjoint(one.key for one in found.nodes):
                taken |= {one.key for one in found.nodes}
                yield found


def _taken(form: Declared, weigh: Weigh, pins: Pins, graph: Graph, node: Node) -> Chain | None:
    """What one layer is already, an engine offers by itself."""
    if form.pattern.op != node.op.kind:
        return None
    try:
        found = found_chain(form.pattern, graph, node)
    except Refusal:
        return None
    if len(found.nodes) == 1 or chain_unsupported(form, graph, found) is not None:
        return None
    if (wanted := pins.wants(graph, found)) is not None:
        return found if wanted else None
    joined, apart = weigh(graph, found)
    return found if joined <= apart else None
