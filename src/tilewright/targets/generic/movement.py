"""Kernels that move elements without computing with them (and those that follow an index)."""

from __future__ import annotations

from tilewright.op import Op
from tilewright.ops._elementwise import NUMBERS
from tilewright.ops.concat import Concat
from tilewright.ops.cumsum import CumSum
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.gatherelements import GatherElements
from tilewright.ops.gathernd import GatherND
from tilewright.ops.onehot import OneHot
from tilewright.ops.pad import Pad
from tilewright.ops.resize import Resize
from tilewright.ops.scatterelements import ScatterElements
from tilewright.ops.scatternd import ScatterND
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.ops.trilu import Trilu
from tilewright.target import Kernel
from tilewright.types import BYTES

ALL = frozenset(BYTES)
INDICES = frozenset({"int32", "int64"})


def copy(op: type[Op]) -> Kernel:
    return Kernel(op, "copy.c", "X -> Y", {"X": ALL, "Y": ALL})


def gather(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "X indices -> Y", {"X": ALL, "indices": INDICES, "Y": ALL})


def scatter(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "X indices updates -> Y", {"X": ALL, "indices": INDICES, "updates": ALL, "Y": ALL})


KERNELS = (
    copy(Transpose),
    copy(Slice),
    copy(Expand),
    Kernel(Concat, "concat.c", "X* -> Y", {"X": ALL, "Y": ALL}),
    gather(Gather, "gather.c"),
    gather(GatherElements, "gather_elements.c"),
    gather(GatherND, "gather_nd.c"),
    scatter(ScatterElements, "scatter_elements.c"),
    scatter(ScatterND, "scatter_nd.c"),
    Kernel(Pad, "pad.c", "X -> Y", {"X": ALL, "Y": ALL}),
    Kernel(Trilu, "trilu.c", "X -> Y", {"X": ALL, "Y": ALL}),
    Kernel(OneHot, "onehot.c", "indices values -> Y", {"indices": INDICES, "values": ALL, "Y": ALL}),
    Kernel(CumSum, "cumsum.c", "X -> Y", {"X": NUMBERS, "Y": NUMBERS}),
    Kernel(Resize, "resize.c", "X:float32 taps:int32 weight:float32 -> Y:float32", {}),
)
