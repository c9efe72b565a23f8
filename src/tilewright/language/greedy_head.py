"""A head that keeps no scores, for programs that always take the most likely token.

Where plain cores multiply, they compare products as they come: of each block of words only the best is stored. Where
something else multiplies faster it stores scores: the vocabulary is worked through in parts, with an ArgMax for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node, rebuild
from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType
from tilewright.ir.unused import drop_unused
from tilewright.ops.add import Add
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmaxmatmul import OF_WORDS, ArgMaxMatMul
from tilewright.ops.bestblock import BestBlock
from tilewright.ops.concat import Concat
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.matmul import MatMul
from tilewright.passes.fit.split_constants import Split, add_parts
from tilewright.passes.pack_weights import packed_product
from tilewright.records import dataclass
from tilewright.target.kernel import Types
from tilewright.target.target import Target
from tilewright.tiling.tiles import Cut

Compares = Callable[[Op, Types], bool]
"""Whether products of a head are compared as they come, and not stored."""
PART, SMALL_PART = 16384, 2048
"""Words whose scores are there at once, at most: with a cluster, where each layer has its price, and without one."""
ANY_NUMBER = 2**31
"""Where scores stay in a memory that has room for all of them."""
BLOCK, LEAST_BLOCK, BLOCK_BYTES = 128, 8, 4096
"""Words of a block at most and at least, and bytes of weights that are enough for one: each core of a cluster has
blocks of its own, and near them is room for one of each, twice."""


def never(op: Op, types: Types) -> bool:
    return False


@dataclass(frozen=True)
class Finding:
    """How a target finds the most likely token."""

    compares: Compares = never
    part: int = PART

    @staticmethod
    def by(target: Target) -> Finding:
        """Products are compared as they come where no accelerator, nor vectors, multiply faster than that. An engine
        with a memory of its own has room for all scores."""
        if any(engine.transfers is not None for engine in target.engines):
            return Finding(part=ANY_NUMBER)
        multiplies_faster = target.agents.has_vectors or any(engine.offer is not None for engine in target.engines)
        part = PART if target.agents.has_runtime else SMALL_PART
        return Finding(never if multiplies_faster else target.fuses, part)


def best_alone(graph: Graph, name: str, finding: Finding) -> Graph:
    """The graph whose only output is the most likely token, under this name."""
    scores = graph.outputs[0]
    builder, best = rebuild(graph), ""
    for node in graph.nodes:
        if node is graph.producers[scores]:
            best = _best(graph, builder, node, name, finding)
        else:
            builder.copy_node(node, graph)
    builder.copy_outputs(graph, lambda tensor: best if tensor == scores else tensor)
    return drop_unused(builder.build())


def _best(graph: Graph, builder: Builder, head: Node, name: str, finding: Finding) -> str:
    axis = len(graph.types[head.key].shape) - 1
    if found := _compared(graph, head, finding.compares):
        op, inputs = found
        made = [builder.constant(one, f"{name}_words") if not isinstance(one, str) else one for one in inputs]
        return builder.add(BestBlock(op.block), builder.add(op, made, name=head.name), name=name)[0]
    if split := _split(graph, head, axis, finding.part):
        return _best_of_parts(builder, add_parts(graph, head, builder, split), split, name)
    builder.copy_node(head, graph)
    return builder.add(ArgMax(axis), [head.key], name=name)[0]


# ---- products that are compared as they come ------------------------------------------------------------------------


def _compared(graph: Graph, head: Node, compares: Compares) -> tuple[ArgMaxMatMul, list[str | Array]] | None:
    """The head without scores and what it reads, names or new constants; None where scores are stored.

    Weights of few bits are: kernels unpack them as they multiply.
    """
    product = head.op
    if not isinstance(product, MatMul) or not _is_plain(graph, head) or packed_product(graph, head) is not None:
        return None
    weights = graph.constants[head.inputs[1]]
    rows = weights if product.trans_b else weights.T
    op = ArgMaxMatMul(_block(rows[0].nbytes), product.requant)
    operands = [graph.types[tensor] if tensor else None for tensor in head.inputs]
    types = op.bind([operands[0], TensorType(rows.dtype.name, rows.shape), *operands[2:]])
    if not compares(op, {**types, **dict(zip(op.results, op.infer(types), strict=True))}):
        return None
    matrix = head.inputs[1] if product.trans_b else np.ascontiguousarray(rows)
    return op, [head.inputs[0], matrix, *head.inputs[2:]]


def _block(row_bytes: int) -> int:
    """Words of a block: as many as may be, four at a time."""
    return max(LEAST_BLOCK, min(BLOCK, BLOCK_BYTES // row_bytes) // 4 * 4)


def _is_plain(graph: Graph, head: Node) -> bool:
    """Rows of a constant matrix, and nothing else but one value for each of them."""
    operands = head.operands()
    matrix = graph.constants.get(operands["B"])
    if matrix is None or matrix.ndim != 2 or not isinstance(head.op, MatMul):
        return False
    words = matrix.shape[0 if head.op.trans_b else 1]
    is_each = all(graph.types[operands[name]].shape == (words,) for name in OF_WORDS if name in operands)
    return is_each and head.op == MatMul(trans_b=head.op.trans_b, requant=head.op.requant)


# ---- products that are stored in parts ------------------------------------------------------------------------------


def _split(graph: Graph, head: Node, axis: int, most: int) -> Split | None:
    """Along the words, if that is a loop which may be cut."""
    words = graph.types[head.key].shape[axis]
    shapes = graph.operand_shapes(head)
    (result,) = head.results()
    loops = head.op.index(shapes)[result][axis].loops
    fixed = head.op.unsplittable(shapes) | head.op.reductions(shapes)
    if words <= most or len(loops) != 1 or not fixed.isdisjoint(loops):
        return None
    (loop,) = loops
    return Split(Cut(loop, words, _even(words, most)), axis, 0)


def _even(words: int, most: int) -> int:
    """Of as few parts as may be, all but the last as large, and no smaller than they must be for that."""
    return -(-words // -(-words // most))


def _best_of_parts(builder: Builder, parts: Iterable[tuple[str, ...]], split: Split, name: str) -> str:
    """The first of the parts that has the highest score, and where it is there; one part is made after another."""
    axis = split.axis
    places: list[str] = []
    scores: list[str] = []
    for (part,) in parts:
        places += builder.add(ArgMax(axis), [part], name=name)
        scores += builder.add(GatherElements(axis), [part, places[-1]], name=name)
    (highest,) = builder.add(Concat(axis), scores, name=name)
    (which,) = builder.add(ArgMax(axis), [highest], name=name)
    starts = np.arange(split.cut.count, dtype=np.int64) * split.cut.size
    (inside,) = builder.add(Concat(axis), places, name=name)
    shape = (1,) * axis + (split.cut.count,)
    (words,) = builder.add(Add(), [inside, builder.constant(starts.reshape(shape), f"{name}_starts")], name=name)
    return builder.add(GatherElements(axis), [words, which], name=name)[0]
