"""Which tiles a product is made of, and among how many groups one is shared: by the microseconds that a model predicts.

The model (`tile_costs.py` has its numbers): a launch, steps that every group waits for, and what a step and a group of
this tile take on a multiprocessor, as often as the fullest of them has a group; groups that share a tile read each
other's sums.
"""

from __future__ import annotations

from functools import cache

from tilewright.records import dataclass
from tilewright.targets.gpu.tile_costs import H200, Costs, Tile, costs

SPLITS = (1, 2, 4, 8)
"""Up to TW_MOST_CLUSTERED in C. Clusters of other sizes leave multiprocessors without a group: 7 take longer than 8."""
MOST_SHARED_TILES = 1024
"""TW_MOST_SHARED_TILES in C."""
MEETING = 8
"""What it takes groups that share a tile to meet, in the time of one that is read."""
FEWEST_STEPS = 2
"""Of a part of the inner dimension."""
SIZES_OF_PARTS = {16: range(1 << 20), 8: range(32 * 64 + 1), 4: range(32 * 32 + 1), 0: range(32 * 32, 32 * 64 + 1)}
"""Elements of tiles, by the bytes that are copied at once: an item has registers for so many copies."""


@dataclass(frozen=True)
class Product:
    rows: int
    columns: int
    inner: int
    size: int
    """Bytes of an element."""
    copied: int = 16
    """Bytes that are copied at once; 0: an element."""


@dataclass(frozen=True)
class Choice:
    tile: Tile
    splits: int
    steps: int
    """Of each part of the inner dimension."""
    scratch: int
    """Bytes."""


def tiles_of(size: int, copied: int) -> tuple[Tile, ...]:
    """Those that there are for elements of so many bytes. Only those of 16 bits are copied one by one: 32 bits are
    words, and plain kernels are faster with bytes."""
    if copied == 0 and size != 2:
        return ()
    return tuple(
        tile
        for tile in H200.of(size).tiles
        if (copied == 16 or not tile.by_four) and tile.rows * tile.columns in SIZES_OF_PARTS[copied]
    )


@cache
def chosen(product: Product) -> Choice:
    return min(choices(product), key=lambda choice: predicted(product, choice))


def choices(product: Product) -> list[Choice]:
    return [choice for tile in tiles_of(product.size, product.copied) for choice in _choices(product, tile)]


def groups(product: Product, tile: Tile) -> int:
    return -(-product.rows // tile.rows) * -(-product.columns // tile.columns)


def _choices(product: Product, tile: Tile) -> list[Choice]:
    all_steps = max(1, -(-product.inner * product.size // tile.row_bytes))
    tiles, found = groups(product, tile), []
    for wanted in SPLITS:
        steps = -(-all_steps // wanted)
        splits = -(-all_steps // steps)
        if wanted > 1 and (steps < FEWEST_STEPS or tiles > MOST_SHARED_TILES or splits != wanted):
            continue
        scratch = 4 * tile.rows * tile.columns * tiles * splits if splits > 1 else 0
        found.append(Choice(tile, splits, steps, scratch))
    return found


def predicted(product: Product, choice: Choice, using: Costs | None = None) -> float:
    """Microseconds."""
    known = using or costs()
    table = known.of(product.size)
    step, group = table.tiles[choice.tile]
    load = -(-groups(product, choice.tile) * choice.splits // known.busy(choice.splits))
    shared = table.split * sharing(choice.splits)
    return table.launch + table.step * choice.steps + load * (group + step * choice.steps) + shared


def sharing(splits: int) -> int:
    """What groups that share a tile spend on meeting and reading each other's sums, in units of `TileCosts.split`."""
    return MEETING + splits if splits > 1 else 0
