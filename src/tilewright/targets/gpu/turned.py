"""Rotations of one token's queries and keys are computed where these are read: by attention, and by what writes rows of
a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import ClassVar

from tilewright.errors import Refusal, instance
from tilewright.ir.affine import whole
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Index, Op, Params
from tilewright.ir.types import Array, Shapes, TensorType
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.writerows import WriteRows
from tilewright.passes import Complaint, Pass
from tilewright.passes.aliasing import is_only_reader
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.gpu.plain import stored
from tilewright.targets.gpu.rotate import Rotate

TABLES = ("cosine", "sine")
Takes = Callable[[Op, Types], bool]


def _tables(shapes: Shapes) -> Index:
    return {name: tuple(map(whole, shapes[name])) for name in TABLES if name in shapes}


def _check_tables(rotated: TensorType, types: Mapping[str, TensorType]) -> None:
    """A row of each, for a single token."""
    Rotate().check({"X": rotated, **{name: types[name] for name in TABLES}})
    if rotated.shape[:2] != (1, 1) or any(types[name].elements != rotated.shape[-1] for name in TABLES):
        raise Refusal(f"tables {types['cosine']} and {types['sine']} for {rotated}; one token is expected")


@dataclass(frozen=True)
class TurnedAttention(FusedAttention):
    """Attention of one query, which is rotated before."""

    operands: ClassVar[tuple[str, ...]] = (*FusedAttention.operands, *TABLES)
    interleaved: bool = field(default=False, kw_only=True)

    def index(self, shapes: Shapes) -> Index:
        return {**super().index(shapes), **_tables(shapes)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check({name: kind for name, kind in types.items() if name not in TABLES})
        _check_tables(types["Q"], types)

    def numpy(self, Q: Array, K: Array, V: Array, position: Array | None = None, *tables: Array) -> Array:
        cosine, sine = tables
        return super().numpy(Rotate(self.interleaved).numpy(Q, cosine, sine), K, V, position)


@dataclass(frozen=True)
class WriteTurned(WriteRows):
    """A row of a cache, which is rotated before it is written."""

    operands: ClassVar[tuple[str, ...]] = (*WriteRows.operands, *TABLES)
    interleaved: bool = False

    def index(self, shapes: Shapes) -> Index:
        return {**super().index(shapes), **_tables(shapes)}

    def check(self, types: Mapping[str, TensorType]) -> None:
        super().check(types)
        _check_tables(types["rows"], types)

    def numpy(  # type: ignore[override]  # the tables are never absent
        self, X: Array, rows: Array, position: Array, cosine: Array, sine: Array
    ) -> Array:
        return super().numpy(X, Rotate(self.interleaved).numpy(rows, cosine, sine), position)

    def params(self, types: Mapping[str, TensorType]) -> Params:
        rows = types["rows"]
        return {
            "held": types["X"].shape[1], "length": rows.elements, "row": rows.shape[-1],
            "interleaved": int(self.interleaved),
        }  # fmt: skip


KERNELS = stored(
    Kernel(
        WriteTurned, "gpu_write_turned.c", "X rows position:int32 cosine sine -> Y", {}, header="gpu_write_turned.h"
    ),
    "X rows Y",
    "cosine sine",
)


# ---- the rewrite --------------------------------------------------------------------------------------------------


def turning(takes: Takes) -> Pass:
    return Pass("rotations where they are read", partial(run, takes), ensures=partial(none_apart, takes))


def run(takes: Takes, graph: Graph) -> Graph:
    return rewrite(graph, partial(_turn, takes, graph))


def none_apart(takes: Takes, graph: Graph) -> Iterator[Complaint]:
    for node in graph.nodes:
        if _turned(takes, graph, node) is not None:
            yield node.where, "could rotate what it reads"


def _turn(takes: Takes, graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    found = _turned(takes, graph, node)
    if found is None:
        return None
    op, inputs = found
    builder.add(op, inputs, node.outputs, node.name)
    return {node.key: node.key}


def _turned(takes: Takes, graph: Graph, node: Node) -> tuple[Op, list[str]] | None:
    """A reader of a rotated tensor with the rotation, and its operands."""
    place = {FusedAttention: 0, WriteRows: 1}.get(type(node.op))
    rotation = None if place is None else graph.producers.get(node.inputs[place])
    if place is None or rotation is None or not isinstance(rotation.op, Rotate):
        return None
    if not is_only_reader(graph, node, rotation.key):
        return None
    inputs = [*node.inputs, *[""] * (len(node.op.operands) - len(node.inputs)), *rotation.inputs[1:]]
    inputs[place] = rotation.inputs[0]
    op = _with_rotation(node.op, rotation.op.interleaved)
    types = op.bind([graph.types[name] if name else None for name in inputs])
    try:
        op.check(types)
    except Refusal:
        return None
    return (op, inputs) if takes(op, types | {"Y": graph.types[node.key]}) else None


def _with_rotation(op: Op, interleaved: bool) -> Op:
    if isinstance(op, WriteRows):
        return WriteTurned(interleaved)
    attention = instance(op, FusedAttention)
    return TurnedAttention(attention.causal, attention.first, attention.scale, interleaved=interleaved)
