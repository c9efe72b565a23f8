"""Kernels between floats and quantised tensors, and of integer arithmetic on quantised tensors."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ops.dequantizelinear import DequantizeLinear
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.ops.lookup import Lookup
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearaveragepool import QLinearAveragePool
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlineargather import QLinearGather
from tilewright.ops.qlinearmaskedsoftmax import QLinearMaskedSoftmax
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.qlinearresize import QLinearResize
from tilewright.ops.qlinearrotate import QLinearRotate
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.qlinearsoftmax import QLinearSoftmax
from tilewright.ops.qlinearsteps import QLinearSteps
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.ops.tflitel2norm import TfliteL2Norm
from tilewright.ops.tflitesigmoid import TfliteSigmoid
from tilewright.ops.tflitesoftmax import TfliteSoftmax
from tilewright.ops.tflitesoftmax16 import TfliteSoftmax16
from tilewright.target.kernel import Kernel
from tilewright.targets.generic.linear import channels_last, channels_second
from tilewright.targets.generic.movement import INDICES
from tilewright.targets.generic.sizes import in_c

BYTE = frozenset({"int8", "uint8"})
NARROW = BYTE | {"int16", "uint16"}
INTEGER = NARROW | {"int32"}


def binary(op: type[Op], source: str, operands: frozenset[str]) -> Kernel:
    return Kernel(op, source, "A B -> Y", {"A": operands, "B": operands, "Y": INTEGER})


KERNELS = (
    Kernel(QuantizeLinear, "quantizelinear.c", "X:float32 scale:float32 zero -> Y", {"zero": NARROW, "Y": NARROW}),
    Kernel(
        DequantizeLinear, "dequantizelinear.c", "X scale:float32 zero -> Y:float32", {"X": INTEGER, "zero": INTEGER}
    ),
    Kernel(Lookup, "lookup.c", "X table -> Y", {"X": BYTE, "table": INTEGER, "Y": INTEGER}),
    binary(QLinearAdd, "qlinearadd.c", INTEGER),
    binary(QLinearMul, "qlinearmul.c", NARROW),
    binary(TfliteAdd, "tfliteadd.c", NARROW),
    Kernel(TfliteSoftmax, "tflitesoftmax.c", "X table:int32 -> Y", {"X": BYTE, "Y": NARROW}),
    Kernel(TfliteL2Norm, "tflitel2norm.c", "X:int8 -> Y:int8", {}),
    Kernel(TfliteSoftmax16, "tflitesoftmax16.c", "X:int16 exps:int16 shares:int16 -> Y:int16", {}),
    Kernel(TfliteSigmoid, "tflitesigmoid.c", "X:int16 table:uint16 -> Y:int16", {}),
    Kernel(QLinearReduceMean, "qlinearreducemean.c", "X -> Y", {"X": NARROW, "Y": INTEGER}),
    Kernel(
        QLinearAveragePool, "qlinearaveragepool.c", "X -> Y", {"X": NARROW, "Y": INTEGER},
        unsupported_reason=channels_second,
    ),
    Kernel(
        QLinearAveragePool, "qlinearaveragepool_channels_last.c", "X -> Y", {"X": NARROW, "Y": INTEGER},
        unsupported_reason=channels_last, header="qlinearaveragepool.h",
    ),
    Kernel(QLinearFunction, "qlinearfunction.c", "X:int16 table:int32 -> Y", {"Y": INTEGER}),
    Kernel(QLinearSteps, "qlinearsteps.c", "X:int16 table -> Y", {"table": NARROW, "Y": NARROW}),
    Kernel(QLinearResize, "qlinearresize.c", "X taps:int32 weight:int32 -> Y", {"X": NARROW, "Y": INTEGER}),
    Kernel(QLinearRowNorm, "qlinearrownorm.c", "X mul:int32 add:int32 -> Y", {"X": INTEGER, "Y": INTEGER}),
    Kernel(QLinearSoftmax, "qlinearsoftmax.c", "X table:int32 -> Y", {"X": BYTE, "Y": INTEGER}),
    Kernel(
        QLinearMaskedSoftmax, "qlinearmaskedsoftmax.c", "X mask:uint8 table:int32 -> Y",
        {"X": BYTE | {"int16"}, "Y": INTEGER},
    ),
    Kernel(
        QLinearAttention, "qlinearattention.c", "Q K V table:int32 position:int32 -> Y",
        {"Q": BYTE | {"int16"}, "K": BYTE | {"int16"}, "V": BYTE, "Y": INTEGER},
        scratch=in_c("tw_qlinearattention_scratch"), work=in_c.work("tw_qlinearattention_work"),
    ),
    Kernel(
        FusedAttention, "fusedattention.c", "Q:float32 K:float32 V:float32 position:int32 -> Y:float32", {},
        scratch=in_c("tw_fusedattention_scratch"), work=in_c.work("tw_fusedattention_work"),
    ),
    Kernel(
        LimitedAttention, "limitedattention.c", "Q:float32 K:float32 V:float32 position:int32 -> Y:float32", {},
        scratch=in_c("tw_limitedattention_scratch"), work=in_c.work("tw_limitedattention_work"),
    ),
    Kernel(
        QLinearGather, "qlineargather.c", "X indices rows:int32 columns:int32 -> Y",
        {"X": BYTE, "indices": INDICES, "Y": INTEGER},
    ),
    Kernel(QLinearRotate, "qlinearrotate.c", "X cosine:int16 sine:int16 -> Y", {"X": NARROW, "Y": INTEGER}),
)  # fmt: skip
