"""How long the cores take to finish what N-EUREKA has left, as measured."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tilewright.target import Types
from tilewright.targets.siracusa.neureka.op import Neureka


def finish_cycles(op: Neureka, types: Types, extents: Mapping[str, int], cores: int) -> float:
    shape = op.tile_types(types, extents)["Y"].shape
    return float(math.prod(shape))
