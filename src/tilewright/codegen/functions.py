"""C functions of a layer and its tiles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilewright.tiling.tiles import TileGrid

APART = "TW_APART "
"""Before functions that compilers must not make parts of others: profiles look for them."""


def function(name: str, arguments: str, lines: Sequence[str], kind: str = "") -> str:
    return f"static {kind}void {name}({arguments}) {{\n" + "\n".join(lines) + "\n}"


def tile_function(name: str, grid: TileGrid, lines: Sequence[str]) -> str:
    """A function of a tile, with the indices of the cut loops that it uses."""
    body = "\n".join(lines)
    used = [line for line in _indices(grid) if mentions(body, line.split()[2])]
    unused = [f"  (void){name};" for name in ("tile", "turn") if not mentions("\n".join([*used, body]), name)]
    return function(name, "int tile, int turn", [*used, *unused, *lines], APART)


def _indices(grid: TileGrid) -> list[str]:
    lines: list[str] = []
    inner = 1
    for position, cut in reversed(list(enumerate(grid.cuts))):
        value = f"tile / {inner}" if inner > 1 else "tile"
        if position > 0:
            value = f"{value} % {cut.count}"
        lines.insert(0, f"  const int {cut.loop} = {value};")
        inner *= cut.count
    return lines


def mentions(text: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", text) is not None
