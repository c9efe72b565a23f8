"""Kernels that move elements without computing with them (and those that follow an index)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from tilewright.ir.op import Op
from tilewright.ir.types import BYTES, COMPUTED
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops.concat import Concat
from tilewright.ops.cumprod import CumProd
from tilewright.ops.cumsum import CumSum
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.gathernd import GatherND
from tilewright.ops.gridsample import GridSample
from tilewright.ops.onehot import OneHot
from tilewright.ops.pad import Pad
from tilewright.ops.placerows import PlaceRows
from tilewright.ops.resize import Resize
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.ops.trilu import Trilu
from tilewright.ops.writerows import WriteRows
from tilewright.target.kernel import Kernel, Types

ALL = COMPUTED
MOVED = frozenset(BYTES)
"""What is moved as it is, whatever the bytes mean."""
INDICES = frozenset({"int32", "int64"})


def kept_axes(op: Op, types: Types) -> int:
    """How many of the last axes lie in the result as they do in X."""
    if isinstance(op, Transpose):
        shape = types["X"].shape
        moved = [axis for axis in op.perm if shape[axis] != 1]
        same = zip(reversed(moved), sorted(moved, reverse=True), strict=True)
        return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], same)))
    if isinstance(op, Slice):
        return int(op.steps[-1] == 1) if op.steps else 0
    return int(types["X"].shape[-1:] == types["Y"].shape[-1:])


def copy_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; runs of neighbours and their elements; rows of elements that are apart, and those elements."""
    elements, kept = math.prod(extents.values()), kept_axes(op, types)
    wide = [f"d{axis}" for axis, size in enumerate(types["Y"].shape) if size != 1]
    rows = elements / max(math.prod(extents.get(loop, 1) for loop in wide[-max(kept, 1) :]), 1)
    together, apart = float(kept > 0), float(kept == 0)
    return 1.0, rows * together, elements * together, rows * apart, elements * apart


def written_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, and the elements that are written where the result has the place of X."""
    return 1.0, float(types["rows"].elements)


def copy(op: type[Op]) -> Kernel:
    return Kernel(op, "copy.c", "X -> Y", {"X": MOVED, "Y": MOVED}, features=copy_features)


def gather(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "X indices -> Y", {"X": MOVED, "indices": INDICES, "Y": MOVED})


def scatter(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "X indices updates -> Y", {"X": ALL, "indices": INDICES, "updates": ALL, "Y": ALL})


KERNELS = (
    copy(Transpose),
    copy(Slice),
    copy(Expand),
    Kernel(Concat, "concat.c", "X* -> Y", {"X": MOVED, "Y": MOVED}),
    gather(Gather, "gather.c"),
    gather(GatherElements, "gather_elements.c"),
    gather(GatherND, "gather_nd.c"),
    scatter(ScatterElements, "scatter_elements.c"),
    scatter(ScatterND, "scatter_nd.c"),
    Kernel(
        WriteRows,
        "write_rows.c",
        "X rows position:int32 -> Y",
        {"X": MOVED, "rows": MOVED, "Y": MOVED},
        features=written_features,
    ),
    Kernel(
        PlaceRows, "place_rows.c", "X rows -> Y", {"X": MOVED, "rows": MOVED, "Y": MOVED}, features=written_features
    ),
    Kernel(Pad, "pad.c", "X -> Y", {"X": ALL, "Y": ALL}),
    Kernel(Trilu, "trilu.c", "X -> Y", {"X": ALL, "Y": ALL}),
    Kernel(OneHot, "onehot.c", "indices values -> Y", {"indices": INDICES, "values": ALL, "Y": ALL}),
    Kernel(CumSum, "cumsum.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}),
    Kernel(CumProd, "cumprod.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}, header="cumsum.h"),
    Kernel(GridSample, "grid_sample.c", "X:float32 grid:float32 -> Y:float32", {}),
    Kernel(Resize, "resize.c", "X:float32 taps:int32 weight:float32 -> Y:float32", {}),
)
