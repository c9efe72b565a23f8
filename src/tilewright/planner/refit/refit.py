"""The graph of which every layer fits the memories, as far as rewrites can bring that about.

Without links, layers are computed in strips where the arena would not fit, is to be small, where that is cheap, or
where what is between them would leave the cache. With some:

Constants that are staged from L3 come in parts, recurrences and reductions that are too long for L1 are split, operands
that cannot be made inside a Concat's result are copied there, and small outputs are made in L1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from tilewright.ir.graph import Graph, Node
from tilewright.ops._cells import Cells
from tilewright.passes import Pass, apply
from tilewright.passes.aliasing import all_owners, insides
from tilewright.passes.fit.even_rows import even_rows
from tilewright.passes.fit.join_in_place import copying_operands
from tilewright.passes.fit.split_constants import splitting_constants
from tilewright.passes.fit.split_steps import can_be_split, can_multiply_apart, splitting_steps, steps_at_once
from tilewright.passes.fit.split_sums import most_parts, splitting_sums
from tilewright.passes.fit.tile_outputs import copied_outputs
from tilewright.passes.reorder import reorder
from tilewright.passes.separate_states import separate_states
from tilewright.planner.cluster.candidates import layers_of, limits_of, signature
from tilewright.planner.cluster.capacity import most_copied, tile_budget
from tilewright.planner.cluster.enumerate import fits, has_options
from tilewright.planner.cluster.home_buffers import most_staged
from tilewright.planner.cluster.lifetimes import steps_of
from tilewright.planner.cluster.tiling_option import Layer, Limits
from tilewright.planner.refit.depth_first import depth_first
from tilewright.planner.refit.strips import fits_board, predicts_cycles, with_strips
from tilewright.records import dataclass
from tilewright.target.mapping import Mapped, map_nodes, without_offers
from tilewright.target.settings import RAM, Settings
from tilewright.target.target import Target

MOST_HALVINGS = 8


def refit_arena(graph: Graph, target: Target, settings: Settings) -> Graph:
    """The graph with layers in strips where that is asked for, needed or cheap, and with even parts for threads; else
    the same one."""
    found = _in_strips(graph, target, settings)
    threads = target.agents.threads
    return apply(found, (even_rows(threads),)) if threads > 1 else found


def _in_strips(graph: Graph, target: Target, settings: Settings) -> Graph:
    if settings.optimise == RAM or not fits_board(graph, target):
        return with_strips(graph, target)
    return with_strips(graph, target, cheap=True) if predicts_cycles(target) else depth_first(graph, target)


def refit_tiles(graph: Graph, target: Target, settings: Settings) -> Graph:
    """The graph with layers of which tiles fit; the same one where all of them do."""
    found = Refitting(graph, without_offers(target, graph), settings)
    found = copy_concat_operands(split_reductions(split_recurrences(split_staged_constants(found))))
    return apply(found.graph, (copied_outputs(most_copied(target, settings)),))


@dataclass(frozen=True)
class Refitting:
    """A graph between two rewrites."""

    graph: Graph
    target: Target
    settings: Settings

    @cached_property
    def mapped(self) -> Mapped:
        return map_nodes(self.graph, self.target)

    def rewritten(self, step: Pass) -> Refitting:
        """With another graph; a graph that nothing was changed in is not mapped again."""
        # A layer in parts may write a state too early.
        found = reorder(apply(self.graph, (step, separate_states(joins=True))))
        return self if found is self.graph else replace(self, graph=found)


def split_staged_constants(found: Refitting) -> Refitting:
    """Large constants that are staged from L3 come in parts."""
    most = most_staged(found.mapped, found.settings)
    return found if most is None else found.rewritten(splitting_constants(most))


def split_reductions(found: Refitting) -> Refitting:
    """Reductions that are too long for L1 are halved until their tiles fit, or can be halved no more."""
    for _ in range(MOST_HALVINGS):
        nodes = needs_reduction_split(found.mapped, found.settings)
        halved = {node.key: 2 for node in nodes if most_parts(found.graph, node) > 1}
        if not halved:
            break
        found = found.rewritten(splitting_sums(found.graph, halved))
    return found


def split_recurrences(found: Refitting) -> Refitting:
    """Recurrent cells that L1 does not hold with all their steps come in parts of as many as it does."""
    nodes = [node for node in found.graph.nodes if isinstance(node.op, Cells)]
    if not nodes:
        return found
    limits = _limits(found.mapped, found.settings)
    oversized = [node for node, layers in _layers(found.mapped, found.settings, nodes) if not fits(layers[0], limits)]
    sizes = {node.key: steps_at_once(found.graph, node, limits.tile_bytes) for node in oversized}
    wanted = {
        node.key: sizes[node.key]
        for node in oversized
        if (can_be_split(found.graph, node) if sizes[node.key] else can_multiply_apart(found.graph, node))
    }
    return found.rewritten(splitting_steps(wanted)) if wanted else found


def copy_concat_operands(found: Refitting) -> Refitting:
    """Operands of Concats that cannot be made in their places are copied there."""
    names = {node.key for node in needs_concat_copy(found.mapped, found.settings)}
    return found.rewritten(copying_operands(names)) if names else found


def needs_reduction_split(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers of which no tile fits L1 with the kernel that is preferred."""
    limits, known, found = _limits(mapped, settings), dict[object, bool](), list[Node]()
    for node, (preferred, *_) in _layers(mapped, settings, steps_of(mapped.graph)):
        key = signature(preferred)
        if key not in known:
            known[key] = fits(preferred, limits)
        if not known[key]:
            found.append(node)
    return found


def needs_concat_copy(mapped: Mapped, settings: Settings) -> list[Node]:
    """Layers that cannot be run at all: no tile fits L1, and their results are parts of a Concat's, which kernels that
    work in L2 cannot write."""
    limits, inside = _limits(mapped, settings), insides(mapped.graph)
    nodes = [node for node in steps_of(mapped.graph) if any(name in inside for name in node.outputs)]
    found = _layers(mapped, settings, nodes)
    return [node for node, layers in found if not any(has_options(layer, limits) for layer in layers)]


def _limits(mapped: Mapped, settings: Settings) -> Limits:
    return limits_of(tile_budget(mapped, settings), mapped, settings)


def _layers(mapped: Mapped, settings: Settings, nodes: Iterable[Node]) -> Iterator[tuple[Node, list[Layer]]]:
    """Each node with the kernels that could compute it, all tensors being in L2."""
    budget, inside = tile_budget(mapped, settings), insides(mapped.graph)
    owners = all_owners(mapped.graph, inside)
    for node in nodes:
        yield node, layers_of(mapped, settings, budget, node, owners, frozenset(), inside)
