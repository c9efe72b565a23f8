"""Layers that several threads of a computer compute: which are worth it, and what each thread has of them.

A layer is cut along one loop. Every operand and result of a part lies in one piece, so that a kernel needs to know
nothing of threads: it is called with a part's parameters, and pointers to where the part begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.ir.affine import Span
from tilewright.ir.graph import Graph, Node
from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, Shape, TensorType
from tilewright.passes.aliasing import Owners
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Mapped
from tilewright.tiling.tiles import AxisWindow, Cut, TileGrid

LEAST_MACS, LEAST_BYTES = 64_000, 64_000
"""Of a layer that is worth a second thread: handing it over takes about as long as a fifth of that."""


@dataclass(frozen=True)
class Share:
    """What one thread has of a layer."""

    op: Op
    types: Mapping[str, TensorType]
    starts: Mapping[str, int]
    """Operand or result -> the elements before those of this share."""

    def first_byte(self, name: str) -> int:
        return self.starts[name] * BYTES[self.types[name].dtype]

    def bytes(self, name: str) -> range:
        """Which of an operand or result it touches."""
        start = self.first_byte(name)
        return range(start, start + self.types[name].bytes)


def shares_of(mapped: Mapped, owners: Owners) -> dict[str, tuple[Share, ...]]:
    """Node key -> the shares of those layers that are split."""
    if mapped.target.agents.threads < 2:
        return {}
    found = {}
    for node in mapped.graph.nodes:
        if not node.op.view and (shares := _shares(mapped, node, owners)):
            found[node.key] = shares
    return found


def _shares(mapped: Mapped, node: Node, owners: Owners) -> tuple[Share, ...]:
    kernel, types = mapped.choice(node).kernel, mapped.graph.all_types(node)
    if not _is_worth_it(mapped.graph, node) or not _may_be_split(mapped, node, kernel):
        return ()
    grid = TileGrid.of(node.op, types, tuple(node.results()))
    candidates = [tuple(_cut(grid.in_tiles((cut,)))) for cut in _cuts(kernel, grid, mapped.target.agents.threads)]
    fitting = [shares for shares in candidates if shares and _fits(kernel, node, shares, owners)]
    # The loops come outermost first: of equally even ones, the outermost.
    return min(fitting, key=lambda shares: _largest(node, shares), default=())


def _is_worth_it(graph: Graph, node: Node) -> bool:
    moved = sum(kind.bytes for kind in graph.all_types(node).values())
    return graph.macs(node) >= LEAST_MACS or moved >= LEAST_BYTES


def _may_be_split(mapped: Mapped, node: Node, kernel: Kernel) -> bool:
    """Not what leaves parts of a result as they were, and not what somebody else's kernel computes: it may keep
    something between its calls."""
    foreign = {name for one in mapped.target.external_kernels for name in one.files}
    variadic = any(argument.variadic for argument in kernel.arguments())
    return not (kernel.offloaded or variadic or node.op.overwrites or kernel.source in foreign)


def _cuts(kernel: Kernel, grid: TileGrid, threads: int) -> Iterator[Cut]:
    op, shapes = grid.op, grid.shapes
    if type(op).footprint is not Op.footprint or not all(kind.elements for kind in grid.types.values()):
        return
    try:
        fixed = op.unsplittable(shapes) | op.reductions(shapes) | kernel.unsplit_loops
    except NotImplementedError:
        return
    for loop, extent in grid.extents.items():
        multiple, least = kernel.multiples.get(loop, 1), kernel.min_tile.get(loop, 1)
        size = math.ceil(extent / threads / multiple) * multiple
        if loop not in fixed and size < extent and (extent % size or size) >= least:
            yield Cut(loop, extent, size)


def _cut(grid: TileGrid) -> Iterator[Share]:
    """The parts of a layer, if all of each lies in one piece and they have no result in common; none of an operand
    whose beginning is skipped."""
    (cut,) = grid.cuts
    if grid.axes is None or not all(map(_is_in_one_piece, grid.axes.values())):
        return
    if any(axis.span(0)[0] for axes in grid.axes.values() for axis in axes if not axis.loop):
        return
    if not all(cut.loop in grid.loops_of(name) for name in grid.results):
        return
    for number in range(cut.count):
        spans = {name: [_span(axis, number) for axis in axes] for name, axes in grid.axes.items()}
        types = {name: replace(grid.types[name], shape=tuple(b - a for a, b in spans[name])) for name in grid.types}
        starts = {name: _first_element(grid.types[name].shape, spans[name]) for name in grid.types}
        yield Share(grid.local_op({cut.loop: number}), types, starts)


def _span(axis: AxisWindow, number: int) -> Span:
    """An axis that the cut does not move is seen whole, also where nobody reads its end: what is in one piece stays so.
    The operator of a part counts from its beginning."""
    return axis.span(number) if axis.loop else (0, axis.size)


def _is_in_one_piece(axes: Sequence[AxisWindow]) -> bool:
    """Whether nothing lies before the moving axis."""
    moving = [position for position, axis in enumerate(axes) if axis.loop]
    return math.prod(axis.size for axis in axes[: moving[0]]) == 1 if moving else True


def _first_element(shape: Shape, spans: Sequence[Span]) -> int:
    start = 0
    for size, (first, _) in zip(shape, spans, strict=True):
        start = start * size + first
    return start


def _fits(kernel: Kernel, node: Node, shares: tuple[Share, ...], owners: Owners) -> bool:
    """Whether the kernel takes every share, and none writes what another one reads."""
    if not all(_is_taken(kernel, node, share) for share in shares):
        return False
    pairs = [
        (operand, result)
        for operand, read in node.operands().items()
        for result, made in node.results().items()
        if owners[read] == owners[made]
    ]
    return all(share.bytes(operand) == share.bytes(result) for share in shares for operand, result in pairs)


def _is_taken(kernel: Kernel, node: Node, share: Share) -> bool:
    results = node.results()
    found = share.op.infer({name: kind for name, kind in share.types.items() if name not in results})
    made = dict(zip(share.op.result_names(len(found)), found, strict=True))
    return all(made[name] == share.types[name] for name in results) and kernel.takes(share.op, share.types)


def _largest(node: Node, shares: tuple[Share, ...]) -> int:
    """The work of the longest share."""
    return max(_work(share, tuple(node.results())) for share in shares)


def _work(share: Share, results: tuple[str, ...]) -> int:
    shapes = {name: kind.shape for name, kind in share.types.items() if name not in results}
    return share.op.macs(shapes) or sum(share.types[name].elements for name in results)


def scratch_of(kernel: Kernel, shares: tuple[Share, ...], alignment: int) -> tuple[int, ...]:
    """Where the working memory of each share begins, and behind the last one where it ends."""
    starts = [0]
    for share in shares:
        size = kernel.scratch_bytes(share.op, share.types)
        starts.append(starts[-1] + math.ceil(size / alignment) * alignment)
    return tuple(starts)
