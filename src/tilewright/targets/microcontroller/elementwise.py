"""Kernels of requantisations, of sums, products and functions of quantised tensors, and of pools."""

from __future__ import annotations

from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.rounding import UP_OR_EVEN
from tilewright.ops._linear import NARROW
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearattention import QLinearAttention
from tilewright.ops.qlinearfunction import QLinearFunction
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearrownorm import QLinearRowNorm
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.tfliteadd import TfliteAdd
from tilewright.requant.high_word import LARGEST_SUMMAND, is_plain
from tilewright.target.kernel import Kernel, Types
from tilewright.target.params import params_of
from tilewright.targets.generic.linear import TOTALS, channels_second
from tilewright.targets.generic.sizes import in_c as portable
from tilewright.targets.microcontroller import samples
from tilewright.targets.microcontroller.sizes import in_c

SHORT = TOTALS - {"int32"}
WORD = 32
LONGEST = 1 << 14
"""Elements of a row whose units, times 2**13, fit a word."""


def not_shifted(op: Op, types: Types) -> str | None:
    shift = cast(QLinearFunction, op).requant.shift
    return None if 0 < shift < WORD else f"a shift of {shift} bits"


def sum_fits(op: Op, types: Types) -> str | None:
    return None if cast(QLinearAdd, op).fits_32(types["A"].dtype, types["B"].dtype) else "its sum may exceed 32 bits"


def not_in_words(op: Op, types: Types) -> str | None:
    """Of a normalisation of rows."""
    norm, fields = cast(QLinearRowNorm, op), cast("dict[str, int]", params_of(op, types))
    shift, repeat, length = norm.requant.shift - WORD, fields["repeat"], fields["length"]
    if repeat != 1 or not 0 < length <= LONGEST or not norm.lift:
        return f"rows of {length} elements, {repeat} for each factor, summands lifted by {norm.lift}"
    if not is_plain(norm.requant) or not 0 < shift < WORD - 1:
        return "its results are not rounded from the upper word of a product"
    zero = (abs(norm.requant.zero_point) + 1) << shift
    return None if zero < LARGEST_SUMMAND else "its zero point does not fit the upper word"


IN_WORDS = (
    Kernel(
        QLinearMul, "qlinearmul_rows.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": SHORT}, header="qlinearmul.h",
        work=in_c.work("tw_qlinearmul_rows_work"), samples=samples.product_samples,
    ),
    Kernel(
        QLinearFunction, "qlinearfunction_words.c", "X:int16 table:int32 -> Y", {"Y": SHORT}, roundings=UP_OR_EVEN,
        unsupported_reason=not_shifted, header="qlinearfunction.h",
    ),
    Kernel(
        QLinearRowNorm, "qlinearrownorm_words.c", "X mul:int32 add:int32 -> Y", {"X": SHORT, "Y": SHORT},
        unsupported_reason=not_in_words, header="qlinearrownorm.h",
    ),
)  # fmt: skip
"""Of quantised tensors, one result at a time."""
WITHOUT_VECTORS = (
    Kernel(
        QLinearAdd, "qlinearadd_rows.c", "A B -> Y", {"A": SHORT, "B": SHORT, "Y": SHORT}, roundings=UP_OR_EVEN,
        unsupported_reason=sum_fits, header="qlinearadd.h",
    ),
)  # fmt: skip
"""Where there are vectors, compilers make some of the portable kernel."""
KERNELS = (
    *IN_WORDS,
    Kernel(
        RequantShift, "requantshift_rows.c", "X mul:int32 add:int32 -> Y", {"X": TOTALS, "Y": SHORT},
        header="requantshift.h", work=in_c.work("tw_requantshift_rows_work"),
    ),
    Kernel(
        MaxPool, "maxpool_windows.c", "X -> Y", {"X": NARROW, "Y": NARROW}, unsupported_reason=channels_second,
        header="pool.h",
    ),
    Kernel(
        TfliteAdd, "tfliteadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW},
        scratch=in_c("tw_tfliteadd_bytes_scratch"), header="tfliteadd.h", work=in_c.work("tw_tfliteadd_bytes_work"),
    ),
    Kernel(
        RequantizedAdd, "requantizedadd_bytes.c", "A B -> Y", {"A": NARROW, "B": NARROW, "Y": NARROW},
        scratch=in_c("tw_requantizedadd_bytes_scratch"), header="requantizedadd.h",
        work=in_c.work("tw_requantizedadd_bytes_work"),
    ),
)  # fmt: skip
ATTENTION_SCRATCH = in_c("tw_qlinearattention_bytes_scratch")
ATTENTION_WORK = portable.work("tw_qlinearattention_work")
PLAIN = (
    *WITHOUT_VECTORS,
    Kernel(
        QLinearAttention, "qlinearattention_bytes.c", "Q K V table:int32 position:int32 -> Y",
        {"Q": NARROW, "K": NARROW, "V": NARROW, "Y": SHORT}, scratch=ATTENTION_SCRATCH, work=ATTENTION_WORK,
        header="qlinearattention.h",
    ),
    Kernel(
        QuantizeLinear, "quantizelinear_integers.c", "X:float32 scale:float32 zero -> Y",
        {"zero": NARROW, "Y": NARROW}, header="quantizelinear.h",
    ),
)  # fmt: skip
"""Of cores without pairs of products that compute floats by functions."""
