"""What steps and groups of tiles take on a GPU, by the bytes of an element: the numbers of the model in `tiles.py`.

Those of an H200 are fitted to what layers of ResNets, MobileNetV2, EfficientNet-B0, BERT and a vision transformer took,
one image at a time. `python benchmarks/gpu_kernels.py --keep` measures the GPU at hand, beginning with these scaled to
it, and keeps what fits best (`tile_fit.py`), which is used on this machine from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.toolchain.compiler import cache_folder

FILE = "gpu_tiles.json"


@dataclass(frozen=True)
class Tile:
    rows: int
    columns: int
    teams: int = 1
    """Of items, which have the whole tile each, and a part of every row."""
    row_bytes: int = 128
    """Of the inner dimension, at a time."""
    by_four: bool = False
    """Whether four warps multiply 64 rows together, where the GPU has instructions for that."""

    @property
    def name(self) -> str:
        teams, row = f"x{self.teams}" * (self.teams > 1), f"_{self.row_bytes}" * (self.row_bytes != 128)
        return f"{self.rows}x{self.columns}{teams}{row}{'_4w' * self.by_four}"

    @property
    def header(self) -> str:
        return f"gpu_tile_{self.name}.h"


@dataclass(frozen=True)
class TileCosts:
    """Microseconds."""

    launch: float
    step: float
    split: float
    """For each group that shares a tile, and some for their meeting."""
    tiles: Mapping[Tile, tuple[float, float]]
    """A step, and a group, on a multiprocessor."""


@dataclass(frozen=True)
class Costs:
    chip: str
    multiprocessors: int
    by_size: Mapping[int, TileCosts]
    clustered: Mapping[int, float] = field(default_factory=lambda: {4: 0.91, 8: 0.75})
    """Groups of a cluster -> the part of the multiprocessors that get some of them at first: those of a cluster are
    neighbours."""

    def busy(self, splits: int) -> int:
        """Multiprocessors that have a group before others have a second one, where so many groups share a tile."""
        part = min((part for groups, part in self.clustered.items() if groups <= splits), default=1.0)
        return round(self.multiprocessors * part)

    def of(self, size: int) -> TileCosts:
        """Of elements of so many bytes; wider ones take as long as the widest."""
        return self.by_size.get(size) or self.by_size[max(self.by_size)]


TINY, SMALL, WIDE, LARGE, TALL = Tile(16, 32), Tile(32, 32), Tile(32, 64), Tile(64, 64), Tile(128, 64)
SMALL_4 = Tile(32, 32, 4)
LARGE_FOUR, TALL_FOUR = Tile(64, 64, by_four=True), Tile(128, 64, by_four=True)
CLOCK = 1.98
"""GHz of an H200."""
H200 = Costs(
    "NVIDIA H200", 132,
    {
        1: TileCosts(1.975, 0.115, 0.069, {
            TINY: (0.056, 0.187), SMALL: (0.228, 0.143), SMALL_4: (0.172, 0.575), WIDE: (0.295, 0.435),
            LARGE: (0.366, 0.741),
        }),
        2: TileCosts(0.819, 0.155, 0.09, {
            TINY: (0.038, 0.384), SMALL: (0.07, 0.466), WIDE: (0.156, 0.816), LARGE: (0.226, 1.257),
            TALL: (0.32, 1.978), LARGE_FOUR: (0.1, 1.72), TALL_FOUR: (0.165, 2.1),
        }),
        4: TileCosts(1.708, 0.18, 0.035, {
            TINY: (0.128, 0.29), SMALL: (0.208, 0.337), SMALL_4: (0.118, 0.776), WIDE: (0.37, 0.435),
            LARGE: (0.569, 0.922), TALL: (0.984, 1.927),
        }),
    },
)  # fmt: skip


def scaled(known: Costs, chip: str, multiprocessors: int, faster: float) -> Costs:
    """What another GPU takes, where it has been measured nowhere: its multiprocessors are so many times as fast."""
    tables = {
        size: replace(
            table, step=table.step / faster,
            tiles={tile: (step / faster, group / faster) for tile, (step, group) in table.tiles.items()},
        )
        for size, table in known.by_size.items()
    }  # fmt: skip
    return Costs(chip, multiprocessors, tables)


# ---- what is kept -------------------------------------------------------------------------------------------------


def kept_file() -> Path:
    return cache_folder() / FILE


@cache
def costs() -> Costs:
    """Those that were measured on this machine, or an H200's."""
    path = kept_file()
    if not path.is_file():
        return H200
    try:
        return read(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CompileError(
            str(path), f"what was measured of a GPU cannot be read: {error!r}",
            "measure again (python benchmarks/gpu_kernels.py --keep), or remove the file",
        ) from None  # fmt: skip


def read(data: Mapping[str, Any]) -> Costs:
    """Of what is measured, what there are tiles for."""
    tables = {}
    for size, table in H200.by_size.items():
        own = data["by_size"][str(size)]
        tiles = {tile: (float(own["tiles"][tile.name][0]), float(own["tiles"][tile.name][1])) for tile in table.tiles}
        tables[size] = TileCosts(float(own["launch"]), float(own["step"]), float(own["split"]), tiles)
    return Costs(str(data["chip"]), int(data["multiprocessors"]), tables)


def write(known: Costs) -> str:
    tables = {
        str(size): {
            "launch": table.launch, "step": table.step, "split": table.split,
            "tiles": {tile.name: [round(number, 4) for number in own] for tile, own in table.tiles.items()},
        }
        for size, table in known.by_size.items()
    }  # fmt: skip
    return json.dumps({"chip": known.chip, "multiprocessors": known.multiprocessors, "by_size": tables}, indent=1)
