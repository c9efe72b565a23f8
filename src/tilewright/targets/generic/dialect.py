"""Kernels of the QuantLab-style integer dialect."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ops._dialect import INTEGERS
from tilewright.ops.dequant import Dequant
from tilewright.ops.igelu import iGELU
from tilewright.ops.ihardswish import iHardswish
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.inonorm import iNoNorm
from tilewright.ops.integerdiv import IntegerDiv
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.itamax import ITAMax
from tilewright.ops.itapartialmax import ITAPartialMax
from tilewright.ops.quant import Quant
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.trueintegerdiv import TrueIntegerDiv
from tilewright.target.kernel import Kernel


def dialect(op: type[Op], signature: str, header: str = "") -> Kernel:
    """Integers of at most 32 bits wherever the signature leaves the type open."""
    return Kernel(op, f"{op.__name__.lower()}.c", signature, dict.fromkeys("XWBAY", INTEGERS), header=header)


KERNELS = (
    dialect(RequantShift, "X mul:int32 add:int32 -> Y"),
    dialect(RequantizedAdd, "A B -> Y"),
    dialect(iSoftmax, "X -> Y"),
    dialect(ITAMax, "X -> Y"),
    dialect(ITAPartialMax, "X -> Y"),
    dialect(iLayerNorm, "X W:int32 B:int32 -> Y:int8", "integernorm.h"),
    dialect(iRMSNorm, "X W:int32 -> Y:int8", "integernorm.h"),
    dialect(iNoNorm, "X W B -> Y:int8"),
    dialect(iGELU, "X -> Y:int32"),
    dialect(iHardswish, "X -> Y:int32"),
    dialect(IntegerDiv, "A B -> Y"),
    dialect(TrueIntegerDiv, "X -> Y:int32"),
    dialect(Quant, "X:float32 -> Y"),
    dialect(Dequant, "X -> Y:float32"),
)
