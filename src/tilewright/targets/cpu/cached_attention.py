"""Attention over a cache as vectors want it: keys of a block of tokens side by side, floats of 16 or 32 bits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import whole
from tilewright.ir.graph import Builder, Graph, Node, State
from tilewright.ir.op import Index, Limit, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.cast import Cast
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.ops.writerows import WriteRows
from tilewright.passes import Complaint, Pass
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel
from tilewright.targets.cpu.sizes import in_c

BLOCK = 64
"""Tokens whose keys lie side by side: TW_KEY_BLOCK in C."""
STORED = frozenset({"float16", "float32"})


# ---- operators ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WriteCache(WriteRows):
    """As WriteRows, with rows of floats that are stored as X is. With a panel, X is [1, block, head, channel, token]
    with so many tokens in a block."""

    names_type: ClassVar[bool] = True
    panel: int = 1
    tokens: int = 1
    """That there is room for."""

    @property
    def tokens_together(self) -> int:
        return self.panel

    def check(self, types: Mapping[str, TensorType]) -> None:
        kind, rows = types["X"], types["rows"]
        if kind.shape != self._stored(rows) or kind.dtype not in STORED or rows.dtype != "float32":
            raise Refusal(f"rows of {rows} cannot be written into {kind}")
        if rows.shape[1] > self.tokens or types["position"] != TensorType("int32", (1,)):
            raise Refusal(f"{rows.shape[1]} rows at {types['position']} do not fit into {self.tokens}")

    def _stored(self, rows: TensorType) -> tuple[int, ...]:
        one, _, heads, channels = rows.shape
        if self.panel == 1:
            return (one, self.tokens, heads, channels)
        return (one, -(-self.tokens // self.panel), heads, channels, self.panel)

    def numpy(self, X: Array, rows: Array, position: Array) -> Array:
        short = rows.astype(X.dtype)
        if self.panel == 1:
            return super().numpy(X, short, position)
        return in_panels(super().numpy(in_rows(X, self.tokens), short, position), X)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        _, rows, heads, channels = types["rows"].shape
        return {"held": self.tokens, "rows": rows, "length": heads * channels, "panel": self.panel}


@dataclass(frozen=True)
class CacheAttention(LimitedAttention):
    """As LimitedAttention, with keys [1, block, head, channel, token of the block]; keys and values may be float16."""

    names_type: ClassVar[bool] = True

    def index(self, shapes: Shapes) -> Index:
        return {**super().index(shapes), "K": tuple(map(whole, shapes["K"]))}

    def limits(self, shapes: Shapes) -> Mapping[str, Limit]:
        return {name: limit for name, limit in super().limits(shapes).items() if name != "K"}

    def check(self, types: Mapping[str, TensorType]) -> None:
        (one, blocks, groups, channels, together), tokens = types["K"].shape, types["V"].shape[1]
        if together != BLOCK or blocks != -(-tokens // BLOCK) or {types["K"].dtype, types["V"].dtype} - STORED:
            raise Refusal(f"keys {types['K']} for values {types['V']}; blocks of {BLOCK} tokens are expected")
        if one != 1 or "position" not in types:
            raise Refusal("a position and one text are expected")
        plain = TensorType("float32", (one, tokens, groups, channels))
        super().check({**types, "K": plain, "V": replace(types["V"], dtype="float32")})

    def numpy(self, Q: Array, K: Array, V: Array, position: Array | None = None) -> Array:
        keys = in_rows(K, V.shape[1]).astype(np.float32)
        return super().numpy(Q, keys, V.astype(np.float32), position)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        rows, limits = self.geometry(types), {"window": self.window, "cap": self.cap}
        return {"rows": rows, "scale": self.scale, **limits, "part": 0, "parts": 1}


def in_rows(panels: Array, tokens: int) -> Array:
    """[1, block, head, channel, token] as [1, token, head, channel]."""
    _, blocks, heads, channels, together = panels.shape
    return panels.transpose(0, 1, 4, 2, 3).reshape(1, blocks * together, heads, channels)[:, :tokens]


def in_panels(rows: Array, like: Array) -> Array:
    """Back; what lies behind the last token is as it was."""
    _, blocks, heads, channels, together = like.shape
    filled = in_rows(like, blocks * together).copy()
    filled[:, : rows.shape[1]] = rows
    return np.ascontiguousarray(filled.reshape(1, blocks, together, heads, channels).transpose(0, 1, 3, 4, 2))


# ---- the rewrite ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cache:
    """Of keys or values: who writes it, and the rows of float32 that are written."""

    state: State
    writer: Node
    rows: str


def run(graph: Graph) -> Graph:
    candidates = {node.key: _caches(graph, node) for node in graph.nodes}
    found = {key: caches for key, caches in candidates.items() if caches}
    if not found:
        return graph
    parts = [part for caches in found.values() for part in caches.items()]
    writers = {cache.writer.key: (cache, BLOCK if name == "K" else 1) for name, cache in parts}
    states = {cache.state.name: _stored(cache.state, panel) for cache, panel in writers.values()}
    changed = replace(graph, states=tuple(states.get(state.name, state) for state in graph.states))
    return rewrite(changed, partial(_change, found, writers))


def _change(
    found: Mapping[str, Mapping[str, _Cache]], writers: Mapping[str, tuple[_Cache, int]], node: Node, builder: Builder
) -> Mapping[str, str] | None:
    if node.key in writers:
        cache, panel = writers[node.key]
        op = WriteCache(panel, cache.state.initial.shape[1])
        builder.add(op, [cache.state.before, cache.rows, node.inputs[2]], node.outputs, node.name)
    elif node.key in found:
        operands = node.operands() | {name: cache.writer.key for name, cache in found[node.key].items()}
        inputs = [operands[name] for name in ("Q", "K", "V", "position")]
        builder.add(_attention(instance(node.op, FusedAttention)), inputs, node.outputs, node.name)
    else:
        return None
    return {node.key: node.key}


def _attention(op: FusedAttention) -> CacheAttention:
    window, cap = (op.window, op.cap) if isinstance(op, LimitedAttention) else (0, 0.0)
    return CacheAttention(op.causal, op.first, op.scale, window, cap)


def _stored(state: State, panel: int) -> State:
    one, tokens, heads, channels = state.initial.shape
    if panel == 1:
        return state
    shape = (one, math.ceil(tokens / panel), heads, channels, panel)
    return replace(state, initial=np.zeros(shape, state.initial.dtype))


def _caches(graph: Graph, node: Node) -> dict[str, _Cache]:
    """Of keys and of values; none where one of them is not kept as it should be."""
    if type(node.op) not in (FusedAttention, LimitedAttention) or "position" not in node.operands():
        return {}
    found = {name: cache for name in "KV" if (cache := _cache(graph, node, node.operands()[name]))}
    return found if len(found) == len("KV") and found["K"].state is not found["V"].state else {}


def _cache(graph: Graph, attention: Node, tensor: str) -> _Cache | None:
    """What an attention alone reads, all of it zeros at first."""
    read = graph.producers.get(tensor)
    readers = {attention.key}
    if read is not None and read.op == Cast("float32"):
        if [one.key for one in graph.consumers[tensor]] != [attention.key]:
            return None
        readers, read = {read.key}, graph.producers.get(read.inputs[0])
    if read is None or type(read.op) is not WriteRows or {one.key for one in graph.consumers[read.key]} != readers:
        return None
    state = next((one for one in graph.states if (one.before, one.after) == (read.inputs[0], read.key)), None)
    if state is None or len(graph.consumers[state.before]) != 1 or read.key in graph.outputs or state.initial.any():
        return None
    rows = _rows(graph, read)
    return _Cache(state, read, rows) if rows and len(state.initial.shape) == 4 else None


def _rows(graph: Graph, writer: Node) -> str:
    """Of float32 that are written, perhaps in 16 bits."""
    rows = writer.inputs[1]
    if graph.types[rows].dtype == "float32":
        return rows
    cast = graph.producers.get(rows)
    is_short = cast is not None and cast.op == Cast("float16") and graph.types[cast.inputs[0]].dtype == "float32"
    return cast.inputs[0] if cast is not None and is_short else ""


def all_stored(graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _caches(graph, node):
            yield node.where, "reads a cache token by token"


STORE_CACHES = Pass("caches as vectors want them", run, ensures=all_stored)


# ---- kernels --------------------------------------------------------------------------------------------------------

KERNELS = (
    Kernel(
        CacheAttention, "cached_attention.c", "Q:float32 K V position:int32 -> Y:float32", {"K": STORED, "V": STORED},
        scratch=in_c("tw_cached_attention_scratch"), cooperative=True,
    ),
    Kernel(WriteCache, "write_cache.c", "X rows:float32 position:int32 -> Y", {"X": STORED, "Y": STORED}),
)  # fmt: skip
