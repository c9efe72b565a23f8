"""Layers that several threads of a computer compute: which are worth it, and what each thread has of them.

A layer is cut along one loop. Every operand and result of a part lies in one piece, so that a kernel needs to know
nothing of threads: it is called with a part's parameters, and pointers to where the part begins. Long layers have
several parts for each thread, so that one whose processor is slower for a while leaves some to the others.
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
FINEST_MACS, FINEST_BYTES = 1_000_000, 100_000
"""Of a part that is worth being one of several of a thread."""
FINEST_ROWS = 32
"""Of a result, in such a part: kernels compute several at a time."""
TURNS = (4, 3, 5, 2, 7)
"""Parts for each thread that are tried."""


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
    even = min(fitting, key=_largest, default=None)
    return None if even is None else next(_finer(mapped, node, even, owners), even)


def _finer(mapped: Mapped, node: Node, even: TileGrid, owners: Owners) -> Iterator[TileGrid]:
    """With more parts, of which each thread has as much as before."""
    kernel, (cut,) = mapped.choice(node).kernel, even.cuts
    least, together = kernel.min_tile.get(cut.loop, 1), kernel.multiples.get(cut.loop, 1)
    together = math.lcm(together, kernel.at_once.get(cut.loop, 1))
    for turns in TURNS:
        size = cut.size // turns
        if cut.size % (turns * together) == 0 and (cut.extent % size or size) >= least <= size:
            grid = even.in_tiles((Cut(cut.loop, cut.extent, size),))
            if _is_worth_turns(mapped, even, grid, turns) and _is_in_pieces(grid) and _fits(kernel, node, grid, owners):
                yield grid


def _rows(grid: TileGrid) -> int:
    """Of the smallest result of a whole part, along all axes but the last."""
    types = grid.local_types(grid.indices(0))
    return min(math.prod(types[name].shape[:-1]) for name in grid.results)


def _is_worth_turns(mapped: Mapped, even: TileGrid, grid: TileGrid, turns: int) -> bool:
    """Whether so many parts instead of one are worth it: each reads all of what is not cut, which has to be near."""
    if _rows(grid) < FINEST_ROWS:
        return False
    types, caches = even.local_types(even.indices(0)), mapped.target.work_memory.caches
    near = caches.private.bytes // 2 if caches is not None else FINEST_BYTES
    if sum(kind.bytes for name, kind in types.items() if not even.loops_of(name) & {even.cuts[0].loop}) > near:
        return False
    shapes = {name: kind.shape for name, kind in types.items() if name not in even.results}
    moved = sum(kind.bytes for kind in types.values())
    return even.local_op(even.indices(0)).macs(shapes) >= turns * FINEST_MACS or moved >= turns * FINEST_BYTES


def parts_of_threads(parts: int, threads: int) -> list[range]:
    """The parts that each thread begins with, as threads.c deals them out."""
    used = min(parts, threads)
    return [range(parts * thread // used, parts * (thread + 1) // used) for thread in range(used)]


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
