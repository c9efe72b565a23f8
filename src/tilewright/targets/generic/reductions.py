"""Kernels that reduce axes or normalise along them."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ir.types import COMPUTED
from tilewright.ops._elementwise import FLOATS, NUMBERS
from tilewright.ops.argmax import ArgMax
from tilewright.ops.argmin import ArgMin
from tilewright.ops.fft import FFT
from tilewright.ops.groupnormalization import GroupNormalization
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.logsoftmax import LogSoftmax
from tilewright.ops.lrn import LRN
from tilewright.ops.reducel1 import ReduceL1
from tilewright.ops.reducel2 import ReduceL2
from tilewright.ops.reducelogsum import ReduceLogSum
from tilewright.ops.reducelogsumexp import ReduceLogSumExp
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.reducemean import ReduceMean
from tilewright.ops.reducemin import ReduceMin
from tilewright.ops.reduceprod import ReduceProd
from tilewright.ops.reducesum import ReduceSum
from tilewright.ops.reducesumsquare import ReduceSumSquare
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.softmax import Softmax
from tilewright.ops.topk import TopK
from tilewright.target.kernel import Kernel


def reduction(op: type[Op], source: str, dtypes: frozenset[str] = NUMBERS) -> Kernel:
    return Kernel(op, source, "X -> Y", {"X": dtypes, "Y": dtypes}, header="reduce.h")


def extreme(op: type[Op], source: str) -> Kernel:
    return Kernel(op, source, "X -> Y:int64", {"X": NUMBERS}, header="extreme.h")


def floats(op: type[Op], source: str, signature: str, header: str = "") -> Kernel:
    return Kernel(op, source, signature, {}, header=header)


KERNELS = (
    reduction(ReduceSum, "reducesum.c"),
    reduction(ReduceMean, "reducemean.c"),
    reduction(ReduceMax, "reducemax.c", COMPUTED),
    reduction(ReduceMin, "reducemin.c", COMPUTED),
    reduction(ReduceProd, "reduceprod.c"),
    reduction(ReduceL1, "reducel1.c"),
    reduction(ReduceSumSquare, "reducesumsquare.c"),
    reduction(ReduceL2, "reducel2.c", FLOATS),
    reduction(ReduceLogSum, "reducelogsum.c", FLOATS),
    reduction(ReduceLogSumExp, "reducelogsumexp.c", FLOATS),
    extreme(ArgMax, "argmax.c"),
    extreme(ArgMin, "argmin.c"),
    Kernel(TopK, "topk.c", "X -> Y indices:int64", {"X": NUMBERS, "Y": NUMBERS}),
    floats(Softmax, "softmax.c", "X:float32 -> Y:float32"),
    floats(LogSoftmax, "softmax.c", "X:float32 -> Y:float32"),
    floats(
        LayerNormalization,
        "layer_norm.c",
        "X:float32 Scale:float32 B:float32 -> Y:float32 Mean:float32 InvStdDev:float32",
        "row_norm.h",
    ),
    floats(RMSNormalization, "rms_norm.c", "X:float32 scale:float32 -> Y:float32", "row_norm.h"),
    floats(GroupNormalization, "group_norm.c", "X:float32 scale:float32 bias:float32 -> Y:float32"),
    floats(FFT, "fft.c", "X:float32 W:float32 -> Y:float32"),
    floats(LRN, "lrn.c", "X:float32 -> Y:float32"),
)
