"""Layers that several threads of a computer compute: which are worth it, and what each thread has of them.

A layer is cut along one loop. Every operand and result of a part lies in one piece, so that a kernel needs to know
nothing of threads: it is called with a part's parameters, and pointers to where the part begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.ir.at_sizes import is_sized
from tilewright.ir.graph import Graph, Node
from tilewright.ir.half_floats import infer
from tilewright.ir.types import BYTES
from tilewright.passes.aliasing import Owners
from tilewright.target.kernel import Kernel
from tilewright.target.mapping import Mapped
from tilewright.tiling.tiles import AxisWindow, Cut, TileGrid

LEAST_MACS, LEAST_BYTES = 64_000, 64_000
"""Of a layer that is worth a second thread: handing it over takes about as long as a fifth of that."""


def cut_for_threads(mapped: Mapped, owners: Owners) -> dict[str, TileGrid]:
    """Node key -> the parts of those layers that are split, as tiles."""
    if mapped.target.agents.threads < 2:
        return {}
    found = {}
    for node in mapped.graph.nodes:
        if not node.op.view and (grid := _parts(mapped, node, owners)):
            found[node.key] = grid
    return found


def _parts(mapped: Mapped, node: Node, owners: Owners) -> TileGrid | None:
    kernel, types = mapped.choice(node).kernel, mapped.graph.all_types(node)
    if any(map(is_sized, types.values())):
        return None  # where a part ends depends on a size
    if not _is_worth_it(mapped.graph, node) or not _may_be_split(mapped, node, kernel):
        return None
    grid = replace(TileGrid.of(node.op, types, tuple(node.results())), whole_axes=True)
    candidates = [grid.in_tiles((cut,)) for cut in _cuts(kernel, grid, mapped.target.agents.threads)]
    fitting = [one for one in candidates if _is_in_pieces(one) and _fits(kernel, node, one, owners)]
    # The loops come outermost first: of equally even ones, the outermost.
    return min(fitting, key=_largest, default=None)


def _is_worth_it(graph: Graph, node: Node) -> bool:
    moved = sum(kind.bytes for kind in graph.all_types(node).values())
    return graph.macs(node) >= LEAST_MACS or moved >= LEAST_BYTES


def _may_be_split(mapped: Mapped, node: Node, kernel: Kernel) -> bool:
    """Not what leaves parts of a result as they were, and not what somebody else's kernel computes: it may keep
    something between its calls."""
    foreign = {name for one in mapped.target.external_kernels for name in one.files}
    variadic = any(argument.variadic for argument in kernel.arguments())
    return not (kernel.offloaded or kernel.cooperative or variadic or node.op.overwrites or kernel.source in foreign)


def _cuts(kernel: Kernel, grid: TileGrid, threads: int) -> Iterator[Cut]:
    op, shapes = grid.op, grid.shapes
    if not op.can_be_cut or not all(kind.elements for kind in grid.types.values()):
        return
    fixed = op.unsplittable(shapes) | op.reductions(shapes) | kernel.unsplit_loops
    for loop, extent in grid.extents.items():
        multiple, least = kernel.multiples.get(loop, 1), kernel.min_tile.get(loop, 1)
        size = math.ceil(extent / threads / multiple) * multiple
        if loop not in fixed and size < extent and (extent % size or size) >= least:
            yield Cut(loop, extent, size)


def _is_in_pieces(grid: TileGrid) -> bool:
    """Whether all of each part lies in one piece, and parts have no result in common; none of an operand whose
    beginning is skipped, as the operator of a part counts from there."""
    (cut,), seen = grid.cuts, replace(grid, whole_axes=False).axes
    if seen is None or not all(map(_is_in_one_piece, seen.values())):
        return False
    if any(axis.span(0)[0] for axes in seen.values() for axis in axes if not axis.loop):
        return False
    return all(cut.loop in grid.loops_of(name) for name in grid.results)


def _is_in_one_piece(axes: Sequence[AxisWindow]) -> bool:
    """Whether nothing lies before the moving axis."""
    moving = [position for position, axis in enumerate(axes) if axis.loop]
    return math.prod(axis.size for axis in axes[: moving[0]]) == 1 if moving else True


def _fits(kernel: Kernel, node: Node, grid: TileGrid, owners: Owners) -> bool:
    """Whether the kernel takes every part, and none writes what another one reads."""
    parts = [grid.indices(part) for part in range(grid.tiles)]
    if not all(_is_taken(kernel, grid, part) for part in parts):
        return False
    pairs = [
        (operand, result)
        for operand, read in node.operands().items()
        for result, made in node.results().items()
        if owners[read] == owners[made]
    ]
    return all(_bytes(grid, operand, part) == _bytes(grid, result, part) for part in parts for operand, result in pairs)


def _bytes(grid: TileGrid, name: str, part: Mapping[str, int]) -> tuple[int, int]:
    """Of an operand or result, those before a part, and those of it."""
    kind = grid.local_types(part)[name]
    return grid.elements_before(name, part) * BYTES[kind.dtype], kind.bytes


def spans_of(grid: TileGrid, name: str, start: int = 0) -> list[tuple[int, int]]:
    """The bytes that each part has of an operand or result, which begins at `start`."""
    found = []
    for part in range(grid.tiles):
        before, size = _bytes(grid, name, grid.indices(part))
        found.append((start + before, start + before + size))
    return found


def _is_taken(kernel: Kernel, grid: TileGrid, part: Mapping[str, int]) -> bool:
    op, types = grid.local_op(part), grid.local_types(part)
    found = infer(op, {name: kind for name, kind in types.items() if name not in grid.results})
    made = dict(zip(op.result_names(len(found)), found, strict=True))
    return all(made[name] == types[name] for name in grid.results) and kernel.takes(op, types)


def _largest(grid: TileGrid) -> int:
    """The work of the longest part."""
    return max(_work(grid, grid.indices(part)) for part in range(grid.tiles))


def _work(grid: TileGrid, part: Mapping[str, int]) -> int:
    types = grid.local_types(part)
    shapes = {name: kind.shape for name, kind in types.items() if name not in grid.results}
    return grid.local_op(part).macs(shapes) or sum(types[name].elements for name in grid.results)
