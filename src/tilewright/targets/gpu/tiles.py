"""Which tiles a product is made of, and among how many groups one is shared: by the microseconds that a model predicts.

The model: a launch, steps that every group waits for, and what a step and a group of this tile take on a
multiprocessor, as often as the fullest of them has a group; groups that share a tile leave sums in memory and read them
back. Its numbers are fitted to what layers of ResNets, MobileNetV2 and a vision transformer took on an H200, one image
at a time: half of them are within 10 %, and what it chooses takes 5 % more than the best, all in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

MULTIPROCESSORS = 132
MOST_SPLITS = 16
MOST_SHARED_TILES = 1024
"""TW_MOST_SHARED_TILES in C."""
FEWEST_STEPS = 2
"""Of a part of the inner dimension."""


@dataclass(frozen=True)
class Tile:
    rows: int
    columns: int
    row_bytes: int
    """Of the inner dimension, at a time."""

    @property
    def header(self) -> str:
        return f"gpu_tile_{self.rows}x{self.columns}.h"


@dataclass(frozen=True)
class Costs:
    """Microseconds."""

    launch: float
    step: float
    split: float
    """For each group that shares a tile."""
    tiles: dict[Tile, tuple[float, float]]
    """A step, and a group, on a multiprocessor."""


SMALL, WIDE, LARGE = Tile(32, 32, 128), Tile(32, 64, 128), Tile(64, 64, 64)
FLOATS = Costs(1.76, 0.22, 0.88, {SMALL: (0.465, 0.21), WIDE: (0.694, 0.45), LARGE: (0.54, 2.0)})
BYTES = Costs(3.39, 0.18, 0.81, {SMALL: (0.063, 0.47), WIDE: (0.117, 1.35), LARGE: (0.085, 3.7)})
"""Of a large tile a row is half as long as it was when it was measured: a step is taken as half as long."""


@dataclass(frozen=True)
class Product:
    rows: int
    columns: int
    inner: int
    size: int
    """Bytes of an element."""


@dataclass(frozen=True)
class Choice:
    tile: Tile
    splits: int
    steps: int
    """Of each part of the inner dimension."""
    scratch: int
    """Bytes."""


@cache
def chosen(product: Product) -> Choice:
    costs = FLOATS if product.size > 1 else BYTES
    return min(choices(product), key=lambda choice: predicted(product, choice, costs))


def choices(product: Product) -> list[Choice]:
    return [choice for tile in (SMALL, WIDE, LARGE) for choice in _choices(product, tile)]


def groups(product: Product, tile: Tile) -> int:
    return -(-product.rows // tile.rows) * -(-product.columns // tile.columns)


def _choices(product: Product, tile: Tile) -> list[Choice]:
    all_steps = max(1, -(-product.inner * product.size // tile.row_bytes))
    tiles, found = groups(product, tile), []
    for wanted in range(1, MOST_SPLITS + 1):
        steps = -(-all_steps // wanted)
        splits = -(-all_steps // steps)
        if wanted > 1 and (steps < FEWEST_STEPS or tiles > MOST_SHARED_TILES or splits != wanted):
            continue
        scratch = 4 * tile.rows * tile.columns * tiles * splits if splits > 1 else 0
        found.append(Choice(tile, splits, steps, scratch))
    return found


def predicted(product: Product, choice: Choice, costs: Costs) -> float:
    """Microseconds."""
    step, group = costs.tiles[choice.tile]
    load = -(-groups(product, choice.tile) * choice.splits // MULTIPROCESSORS)
    shared = costs.split * choice.splits if choice.splits > 1 else 0.0
    return costs.launch + costs.step * choice.steps + load * (group + step * choice.steps) + shared
