"""One line for every tile."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.errors import printable
from tilewright.profiling.profile import LayerProfile, Profile


def tile_lines(profile: Profile) -> Iterator[str]:
    for layer in profile.layers:
        yield from layer_lines(layer)


def layer_lines(layer: LayerProfile) -> Iterator[str]:
    name = printable(layer.name).replace("\n", "\\n")
    head = f"[{name} {layer.home}][{'DB' if layer.double else 'SB'}][{layer.operations} ops]"
    for tile in layer.tiles:
        yield (
            f"{head}[Tile {tile.number}] Input DMA took {tile.input.cycles} cycles | "
            f"Kernel took {tile.kernel.cycles} cycles | Output DMA took {tile.output.cycles} cycles"
        )
