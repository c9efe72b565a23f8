"""An exported decoder as one graph of tokens and a position: what changes with positions becomes tables.

Everything about an export that does not depend on the tokens themselves is known once their number is: masks, places
of tokens, angles. Of such constants, those of more tokens begin with those of fewer, so that two imports tell which
axes count tokens. Rows of a table that the position chooses take their place; masks are left to the fused attention.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from tilewright import pipeline
from tilewright.errors import CompileError
from tilewright.frontends.past_key_values.fixing import Exported, fixed
from tilewright.frontends.past_key_values.signature import IDS
from tilewright.ir.digest import digest
from tilewright.ir.evaluate import evaluate_node
from tilewright.ir.graph import Builder, Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import Array, Shape, TensorType
from tilewright.ir.unused import drop_unused
from tilewright.language.caching import POSITION
from tilewright.ops._attention_rows import AttentionRows
from tilewright.ops.add import Add
from tilewright.ops.cast import Cast
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.gather import Gather
from tilewright.ops.softmax import Softmax
from tilewright.passes import apply
from tilewright.passes.canonicalize_attention import CANONICALIZE_LANGUAGE
from tilewright.passes.drop_identities import DROP_IDENTITIES
from tilewright.passes.fuse_attention import fuse_attention, unmasked
from tilewright.passes.patterns.attention import HIDING
from tilewright.passes.rewriting import rewrite
from tilewright.records import dataclass

NAME, TOKENS, PLACES = "decoder", "ids", "positions"


def lifted(exported: Exported, tokens: int, positions: int) -> Graph:
    """`ids` int32 [1, tokens] and `position` int32 [1] to scores; there are rows for so many positions."""
    graph, longer = (of_tokens(exported, count) for count in (tokens, positions))
    _Sizes(exported.where, tokens, positions).check(graph.nodes, longer.nodes)
    tables = _tables(exported.where, graph, longer, tokens, positions)
    return _with_position(graph, tables, tokens)


def of_tokens(exported: Exported, tokens: int) -> Graph:
    """So many tokens that nothing comes before, with all that is known computed."""
    model = fixed(exported, tokens)
    graph = pipeline.import_model(model.proto, shapes=model.shapes, bind=model.bind)
    if tuple(graph.inputs) != (IDS,):
        what = f"needs inputs {', '.join(graph.inputs)}; {IDS} alone is expected"
        raise CompileError(exported.where, what, "export the decoder with nothing but the tokens as input")
    return apply(folded(apply(graph, (DROP_IDENTITIES,))), (DROP_IDENTITIES, CANONICALIZE_LANGUAGE))


def folded(graph: Graph) -> Graph:
    """Without nodes of constants alone, however large their results are; integers of weights stay integers."""
    return rewrite(graph, partial(_fold, graph))


def _fold(graph: Graph, node: Node, builder: Builder) -> Mapping[str, str] | None:
    operands = [name for name in node.inputs if name]
    if isinstance(node.op, DequantizeLinear) or any(name not in builder.constants for name in operands):
        return None
    if isinstance(node.op, Gather):
        _check_rows(node, node.op, *(builder.constants[name] for name in operands))
    values = evaluate_node(graph, node, builder.constants)
    return {name: builder.constant(value, name) for name, value in zip(node.outputs, values, strict=False) if name}


class TooManyTokens(CompileError):
    """A table of positions ends before; there are rows for `most` tokens."""

    def __init__(self, where: str, what: str, most: int) -> None:
        super().__init__(where, what, f"choose a context of at most {most} tokens")
        self.most = most


def _check_rows(node: Node, op: Gather, table: Array, indices: Array) -> None:
    rows = table.shape[op.axis]
    if indices.size and not -rows <= int(indices.min()) <= int(indices.max()) < rows:
        last = int(indices.max())
        what = f"asks for row {last} of a table of {rows}"
        raise TooManyTokens(node.where, what, indices.size - (last - rows + 1))


# ---- what changes with the number of tokens -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sizes:
    """Two graphs of one decoder, with fewer and with more tokens."""

    where: str
    few: int
    many: int

    def check(self, short: Iterable[Node], long: Iterable[Node]) -> None:
        """The same nodes, but for sizes that count tokens."""
        one, other = [*short], [*long]
        if [(n.op.kind, n.inputs, n.outputs) for n in one] != [(n.op.kind, n.inputs, n.outputs) for n in other]:
            odd = next((n for n, m in zip(one, other, strict=False) if (n.key, n.inputs) != (m.key, m.inputs)), one[-1])
            raise CompileError(
                f"{self.where}, {odd.where}", f"differs between {self.many} and {self.few} tokens",
                "a graph whose nodes depend on the number of tokens cannot run token by token",
            )  # fmt: skip
        for node, longer in zip(one, other, strict=True):
            if not self._is_grown(node.op, longer.op):
                raise CompileError(
                    f"{self.where}, {node.where}", "depends on the number of tokens in a way that is not understood",
                    "does it select the last token? export the logits of all tokens",
                )  # fmt: skip

    def _is_grown(self, op: Op, longer: Op) -> bool:
        values = ((getattr(op, field.name), getattr(longer, field.name)) for field in fields(op))
        return all(short == long or self._are_sizes(short, long) for short, long in values)

    def _are_sizes(self, short: Any, long: Any) -> bool:
        """Those that count tokens, or tokens of several heads, are longer."""
        if not isinstance(short, tuple) or not isinstance(long, tuple) or len(short) != len(long):
            return False
        return all(
            a == b or (a % self.few == 0 and b == a // self.few * self.many) for a, b in zip(short, long, strict=True)
        )


def _tables(where: str, graph: Graph, longer: Graph, few: int, many: int) -> dict[str, tuple[Array, int]]:
    """Constants with a row for each token: the same for all positions, and their axis."""
    found: dict[str, tuple[Array, int]] = {}
    for name, short in graph.constants.items():
        long = longer.constants[name]
        axes = [axis for axis, sizes in enumerate(zip(short.shape, long.shape, strict=True)) if sizes == (few, many)]
        begins = np.array_equal(short, long[tuple(slice(size) for size in short.shape)], equal_nan=True)
        if not begins or len(axes) > 2:
            what = f"constant '{name}' is not the same at the start of {many} tokens as of {few}"
            raise CompileError(where, what, "positions that count from the end cannot run token by token")
        if len(axes) == 1:
            found[name] = long, axes[0]
        if len(axes) == 2:
            _check_mask(where, name, np.moveaxis(long, axes, (-2, -1)).reshape(-1, many, many))
    return found


def _check_mask(where: str, name: str, mask: Array) -> None:
    """A query sees all tokens up to its own, at any distance."""
    tokens = mask.shape[-1]
    hidden = mask <= HIDING if mask.dtype.kind == "f" else ~mask.astype(bool)
    later = np.arange(tokens)[None, :] > np.arange(tokens)[:, None]
    if np.array_equal(hidden, np.broadcast_to(later, hidden.shape)):
        return
    seen = ~hidden & ~later
    if np.any(~hidden & later):
        raise CompileError(where, f"mask '{name}' shows later tokens", "is it a decoder?")
    window = int(seen[0, -1].sum())
    raise CompileError(
        where, f"mask '{name}' has a sliding window of {window} of {tokens} tokens, which is not supported",
        f"choose a context of at most {window}, where it makes no difference",
    )  # fmt: skip


def _with_position(graph: Graph, tables: Mapping[str, tuple[Array, int]], tokens: int) -> Graph:
    """Rows of the tables from a position on, in the place of those from the first on."""
    builder = Builder(NAME, notes=list(graph.notes))
    builder.reserve(graph.types)
    builder.input(TOKENS, graph.types[IDS])
    builder.input(POSITION, TensorType("int32", (1,)))
    for name, array in graph.constants.items():
        if name not in tables:
            builder.types[name], builder.constants[name] = graph.types[name], array
    (places,) = builder.add(Add(), [POSITION, builder.constant(np.arange(tokens, dtype=np.int32), "offsets")], [PLACES])
    stands = {IDS: TOKENS}
    known: dict[tuple[str, Shape, int], str] = {}
    for name, (table, axis) in tables.items():
        # Layers may have the same angles each for itself.
        key = digest(table), table.shape, axis
        if key not in known:
            builder.add(Gather(axis), [builder.constant(table, f"{name}_table"), places], [name], name)
        stands[name] = known.setdefault(key, name)
    for node in graph.nodes:
        inputs = [stands.get(name, name) for name in node.inputs]
        builder.add(node.op, inputs, node.outputs, node.name)
    scores = graph.outputs[0]
    if graph.types[scores].dtype != "float32":
        (scores,) = builder.add(Cast("float32"), [scores], name="scores")
    builder.output(scores, graph.output_names[0])
    return drop_unused(builder.build())


# ---- attention ------------------------------------------------------------------------------------------------------


def attentions(where: str, graph: Graph) -> list[TensorType]:
    """The keys of every attention: [1, tokens, heads, channels]; refuses what is not recognised."""
    fused = apply(graph, (*pipeline.PASSES, fuse_attention(unmasked)))
    for node in fused.nodes:
        if isinstance(node.op, Softmax):
            raise CompileError(
                f"{where}, {node.where}", "is part of an attention that is not recognised",
                "supported: a softmax of scaled and masked products of queries and keys; look at the graph in Netron",
            )  # fmt: skip
    found = [node for node in fused.nodes if isinstance(node.op, AttentionRows)]
    if not found:
        raise CompileError(where, "has no attention, so there is no KV cache", "is it a decoder?")
    return [fused.types[node.operands()["K"]] for node in found]
