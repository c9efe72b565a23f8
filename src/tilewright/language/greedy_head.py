"""A head that keeps no scores: words of the vocabulary in parts, and of each part only the likeliest one.

For programs that always take the most likely token: the scores of a large vocabulary are then never all there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tilewright.ir.graph import Builder, Graph, Node, rebuild
from tilewright.ops.add import Add
from tilewright.ops.argmax import ArgMax
from tilewright.ops.concat import Concat
from tilewright.ops.gatherelements import GatherElements
from tilewright.passes.fit.split_constants import Split, add_parts
from tilewright.passes.rewriting import drop_unused
from tilewright.tiling.tiles import Cut

PART = 16384
"""Words whose scores are there at once, at most. Each part costs the layers that find its likeliest word."""


def best_alone(graph: Graph, name: str) -> Graph:
    """The graph whose only output is the most likely token, under this name."""
    scores = graph.outputs[0]
    builder, best, axis = rebuild(graph), "", len(graph.types[scores].shape) - 1
    for node in graph.nodes:
        split = _split(graph, node, axis) if node is graph.producers[scores] else None
        if split is None:
            builder.keep(node, graph)
            continue
        best = _best_of_parts(builder, add_parts(graph, node, builder, split), split, name)
    if not best:
        (best,) = builder.add(ArgMax(axis), [scores], name=name)
    builder.ends_like(graph, lambda tensor: best if tensor == scores else tensor)
    return drop_unused(builder.build())


def _split(graph: Graph, head: Node, axis: int) -> Split | None:
    """Along the words, if that is a loop which may be cut."""
    words = graph.types[head.key].shape[axis]
    shapes = graph.operand_shapes(head)
    (result,) = head.results()
    loops = head.op.index(shapes)[result][axis].loops
    fixed = head.op.unsplittable(shapes) | head.op.reductions(shapes)
    if words <= PART or len(loops) != 1 or not fixed.isdisjoint(loops):
        return None
    (loop,) = loops
    return Split(Cut(loop, words, _even(words)), axis, 0)


def _even(words: int) -> int:
    """Of as few parts as may be, all but the last as large, and no smaller than they must be for that."""
    return -(-words // -(-words // PART))


def _best_of_parts(builder: Builder, parts: Iterable[str], split: Split, name: str) -> str:
    """The first of the parts that has the highest score, and where it is there; one part is made after another."""
    axis = split.axis
    places: list[str] = []
    scores: list[str] = []
    for part in parts:
        places += builder.add(ArgMax(axis), [part], name=name)
        scores += builder.add(GatherElements(axis), [part, places[-1]], name=name)
    (highest,) = builder.add(Concat(axis), scores, name=name)
    (which,) = builder.add(ArgMax(axis), [highest], name=name)
    starts = np.arange(split.cut.count, dtype=np.int64) * split.cut.size
    (inside,) = builder.add(Concat(axis), places, name=name)
    shape = (1,) * axis + (split.cut.count,)
    (words,) = builder.add(Add(), [inside, builder.constant(starts.reshape(shape), f"{name}_starts")], name=name)
    return builder.add(GatherElements(axis), [words, which], name=name)[0]
