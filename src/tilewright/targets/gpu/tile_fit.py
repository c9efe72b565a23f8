"""The numbers of the model of tiles for another GPU, from what products took there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.ir.types import Array
from tilewright.targets.gpu.tile_costs import Costs, TileCosts
from tilewright.targets.gpu.tiles import Choice, Product, groups, sharing

Measured = tuple[Product, Choice, float]
"""Microseconds."""
SWEEPS = 2000
LEAST = 0.001
"""No number is less, in microseconds."""
TRUST = 0.05
"""In what the numbers were before, as part of a measurement: it decides where nothing was measured."""


def fitted(measured: Sequence[Measured], start: Costs) -> Costs:
    """Numbers with the least relative distance from what was measured, none of them negative."""
    sizes = {product.size for product, _, _ in measured}
    tables = {size: _fit([one for one in measured if one[0].size == size], start, size) for size in sizes}
    return replace(start, by_size={**start.by_size, **tables})


def _fit(measured: Sequence[Measured], start: Costs, size: int) -> TileCosts:
    table = start.of(size)
    before = np.array([table.launch, table.step, table.split, *(n for own in table.tiles.values() for n in own)])
    rows = np.array([_row(product, choice, start) for product, choice, _ in measured])
    rows = rows / np.array([taken for *_, taken in measured])[:, None]
    scale = TRUST / np.maximum(before, LEAST)
    known = np.concatenate([rows, np.diag(scale)])
    wanted = np.concatenate([np.ones(len(rows)), scale * before])
    found = _least_squares(known, wanted, before)
    numbers = [float(number) for number in found]
    pairs = zip(table.tiles, zip(numbers[3::2], numbers[4::2], strict=True), strict=True)
    return TileCosts(numbers[0], numbers[1], numbers[2], dict(pairs))


def _row(product: Product, choice: Choice, start: Costs) -> list[float]:
    """What each number is multiplied with in the time of a choice, in the order of a table."""
    load = -(-groups(product, choice.tile) * choice.splits // start.busy(choice.splits))
    own = [(load * choice.steps, load) if tile == choice.tile else (0, 0) for tile in start.of(product.size).tiles]
    return [
        1.0,
        float(choice.steps),
        float(sharing(choice.splits)),
        *(float(number) for pair in own for number in pair),
    ]


def _least_squares(known: Array, wanted: Array, start: Array) -> Array:
    """Number by number, each at least LEAST."""
    squares, products = known.T @ known, known.T @ wanted
    found = np.maximum(start, LEAST)
    for _ in range(SWEEPS):
        for i in range(len(found)):
            found[i] = max(LEAST, found[i] - (squares[i] @ found - products[i]) / squares[i, i])
    return found
