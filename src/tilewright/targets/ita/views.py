"""Tiles that are nothing but transfers: rows that cannot be in the TCDM are brought from there tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ops.identity import Identity
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.sim.platforms.snitch import SNITCH
from tilewright.targets.ita.layout import SIDE
from tilewright.targets.ita.op import Ita
from tilewright.targets.ita.tiling import ItaRows, ItaTiles, RowsOfTiles, TilesOfRows

TCDM_BYTES = SNITCH.memory("tcdm").size
ROOM = 8
"""The part of the TCDM that tiles of several readers may take."""


def run(graph: Graph) -> Graph:
    return rewrite(graph, partial(_as_view, graph))


def _as_view(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    if not _only_moves(graph, node):
        return None
    if isinstance(node.op, ItaRows):
        builder.add(RowsOfTiles(), node.inputs, node.outputs, node.name)
    elif _is_brought_once(graph, node):
        (tiles,) = builder.add(TilesOfRows(), node.inputs, name=node.name)
        builder.add(Identity(copy=True), [tiles], node.outputs, node.name)
    else:
        builder.add(TilesOfRows(), node.inputs, node.outputs, node.name)
    return {name: name for name in node.outputs}


def _only_moves(graph: Graph, node: Node) -> bool:
    return isinstance(node.op, ItaTiles | ItaRows) and _is_plain(graph, node) and _is_fed(graph, node)


def none_only_moves(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _only_moves(graph, node):
            yield node.where, "only moves bytes between ITA and rows outside of the TCDM"


def _is_brought_once(graph: Graph, node: Node) -> bool:
    """Whether several read the tiles, and the TCDM has room for them beside much else."""
    return len(graph.consumers.get(node.key, [])) > 1 and graph.types[node.key].bytes <= TCDM_BYTES // ROOM


def _is_plain(graph: Graph, node: Node) -> bool:
    """Whether its bytes only move: whole tiles, and none of them is flipped."""
    rows = graph.types[_rows(node)].shape[-2:]
    flips = isinstance(node.op, ItaTiles | ItaRows) and node.op.flips
    return not flips and not any(size % SIDE for size in rows)


def _rows(node: Node) -> str:
    return node.inputs[0] if isinstance(node.op, ItaTiles) else node.outputs[0]


def _is_fed(graph: Graph, node: Node) -> bool:
    """Whether rows lie outside, and nobody but ITA has to do with the tiles."""
    rows = _rows(node)
    if isinstance(node.op, ItaTiles):
        readers = graph.consumers.get(node.key, [])
        is_outside = rows in graph.inputs or graph.types[rows].bytes > TCDM_BYTES
        return is_outside and node.key not in graph.sinks and all(isinstance(one.op, Ita) for one in readers)
    maker = graph.producers.get(node.inputs[0])
    is_made_for_it = maker is not None and isinstance(maker.op, Ita) and is_only_reader(graph, node, node.inputs[0])
    is_outside = rows in graph.outputs and not graph.consumers.get(rows)
    return is_made_for_it and (is_outside or graph.types[rows].bytes > TCDM_BYTES)


TILES_BY_TRANSFERS = Pass("tiles by transfers", run, ensures=none_only_moves)
"""What only moves between rows outside of the TCDM and ITA is moved by those who bring it anyway."""
