"""Attention of one token over a cache writes that token's key and value into the cache itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import ClassVar

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import whole
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Limit
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.writerows import WriteRows
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.targets.gpu.turned import TABLES, Takes, TurnedAttention, WriteTurned

ROWS = {"K": "key", "V": "value"}
"""Cache -> what is written into it."""


@dataclass(frozen=True)
class CachedAttention(TurnedAttention):
    """Attention of one query over caches with a row written at its position before; with tables, query and key are
    rotated."""

    operands: ClassVar[tuple[str, ...]] = (*FusedAttention.operands, *(f"{name}?" for name in TABLES), *ROWS.values())
    results: ClassVar[tuple[str, ...]] = ("Y", "keys", "values")
    overwrites: ClassVar[Mapping[str, str]] = MappingProxyType({"keys": "K", "values": "V"})

    def index(self, shapes: Shapes) -> Index:
        found = super().index(shapes)
        rows = {name: tuple(map(whole, shapes[name])) for name in ROWS.values()}
        return {**found, **rows, "keys": found["K"], "values": found["V"]}

    def limits(self, shapes: Shapes) -> Mapping[str, Limit]:
        """All rows of a cache are there behind the new one too."""
        return {}

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        batch, queries, heads, _ = shapes["Q"]
        return (batch, queries, heads, shapes["V"][3]), shapes["K"], shapes["V"]

    def check(self, types: Mapping[str, TensorType]) -> None:
        plain = {name: kind for name, kind in types.items() if name not in ROWS.values()}
        attention = super().check if "cosine" in types else partial(FusedAttention.check, self)
        attention(plain)
        if "position" not in types or types["Q"].shape[:2] != (1, 1):
            raise Refusal(f"queries {types['Q']}; one with a position is expected")
        for cache, row in ROWS.items():
            WriteRows().check({"X": types[cache], "rows": types[row], "position": types["position"]})
            if types[row].shape[1] != 1:
                raise Refusal(f"rows {types[row]}; one is expected")

    def numpy(  # type: ignore[override]  # it has more operands, and more results
        self, Q: Array, K: Array, V: Array, position: Array, cosine: Array | None, sine: Array | None, key: Array,
        value: Array,
    ) -> tuple[Array, Array, Array]:  # fmt: skip
        values = WriteRows().numpy(V, value, position)
        if cosine is None or sine is None:
            keys = WriteRows().numpy(K, key, position)
            return FusedAttention.numpy(self, Q, keys, values, position), keys, values
        keys = WriteTurned(self.interleaved).numpy(K, key, position, cosine, sine)
        return super().numpy(Q, keys, values, position, cosine, sine), keys, values


# ---- the rewrite --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    op: CachedAttention
    inputs: tuple[str, ...]
    writers: tuple[Node, Node]


def caching(takes: Takes) -> Pass:
    return Pass("attention that writes its cache", partial(run, takes), ensures=partial(none_apart, takes))


def run(takes: Takes, graph: Graph) -> Graph:
    candidates = ((node.key, _cached(takes, graph, node)) for node in graph.nodes)
    found = {key: one for key, one in candidates if one is not None}
    written = {writer.key for one in found.values() for writer in one.writers}
    return rewrite(graph, partial(_join, found, written))


def none_apart(takes: Takes, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _cached(takes, graph, node) is not None:
            yield node.where, "could write the rows of its caches"


def _join(found: Mapping[str, _Found], written: set[str], node: Node, builder: Builder) -> Mapping[str, str] | None:
    if node.key in written:
        return {node.key: node.key}
    if node.key not in found:
        return None
    one = found[node.key]
    builder.add(one.op, one.inputs, [node.key, *(writer.key for writer in one.writers)], node.name)
    return {node.key: node.key}


def _cached(takes: Takes, graph: Graph, node: Node) -> _Found | None:
    operands = node.operands()
    if type(node.op) not in (FusedAttention, TurnedAttention) or "position" not in operands:
        return None
    keys, values = (graph.producers.get(operands[cache]) for cache in ROWS)
    if keys is None or values is None or not _are_written_together(graph, node, keys, values):
        return None
    attention = instance(node.op, FusedAttention)
    op = CachedAttention(attention.causal, attention.first, attention.scale, interleaved=_is_interleaved(node))
    tables = [operands.get(name, "") for name in TABLES]
    inputs = (
        operands["Q"], keys.inputs[0], values.inputs[0], operands["position"], *tables, keys.inputs[1],
        values.inputs[1],
    )  # fmt: skip
    types = op.bind([graph.types[name] if name else None for name in inputs])
    try:
        op.check(types)
    except Refusal:
        return None
    made = dict(zip(op.results, (graph.types[one] for one in (node.key, keys.key, values.key)), strict=True))
    return _Found(op, inputs, (keys, values)) if takes(op, types | made) else None


def _is_interleaved(node: Node) -> bool:
    return isinstance(node.op, TurnedAttention | WriteTurned) and node.op.interleaved


def _are_written_together(graph: Graph, node: Node, keys: Node, values: Node) -> bool:
    """Whether a token is written into both caches just for an attention, the key rotated as the query is."""
    wanted = WriteTurned if isinstance(node.op, TurnedAttention) else WriteRows
    if type(keys.op) is not wanted or type(values.op) is not WriteRows or keys.key == values.key:
        return False
    operands, written = node.operands(), keys.operands()
    are_turned_alike = _is_interleaved(keys) == _is_interleaved(node) and all(
        written.get(name) == operands.get(name) for name in TABLES
    )
    positions = {operands["position"], written["position"], values.operands()["position"]}
    readers = [reader.key for one in (keys, values) for reader in graph.consumers.get(one.key, ())]
    return are_turned_alike and len(positions) == 1 and readers == [node.key, node.key]
