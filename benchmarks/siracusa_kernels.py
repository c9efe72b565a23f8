"""What the fast kernels of the siracusa target take on the virtual SoC, operands in L1 and code in the caches.

    python benchmarks/siracusa_kernels.py [--cores 8] [--only matmul]

Every result is compared with numpy before its cycles are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright import targets
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant, full_range
from tilewright.ir.rounding import Rounding
from tilewright.ir.types import Array, limits
from tilewright.ops._scaling import Scaling
from tilewright.ops.add import Add
from tilewright.ops.conv import Conv
from tilewright.ops.erf import Erf
from tilewright.ops.exp import Exp
from tilewright.ops.gather import Gather
from tilewright.ops.gelu import Gelu
from tilewright.ops.identity import Identity
from tilewright.ops.ilayernorm import iLayerNorm
from tilewright.ops.irmsnorm import iRMSNorm
from tilewright.ops.isoftmax import iSoftmax
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.lookup import Lookup
from tilewright.ops.matmul import MatMul
from tilewright.ops.maxpool import MaxPool
from tilewright.ops.mul import Mul
from tilewright.ops.qlinearadd import QLinearAdd
from tilewright.ops.qlinearmul import QLinearMul
from tilewright.ops.qlinearreducemean import QLinearReduceMean
from tilewright.ops.quantizelinear import QuantizeLinear
from tilewright.ops.reducemax import ReduceMax
from tilewright.ops.relu import Relu
from tilewright.ops.requantizedadd import RequantizedAdd
from tilewright.ops.requantshift import RequantShift
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softmax import Softmax
from tilewright.ops.tanh import Tanh
from tilewright.ops.transpose import Transpose
from tilewright.run.kernel_bench import Case, Measured, check
from tilewright.targets.pulp.masked_softmax_operator import MaskedSoftmax

SIRACUSA = targets.find("siracusa")
RANDOM = np.random.default_rng(1)
NARROW = full_range(16, "int8")
TIES_TO_EVEN = replace(NARROW, rounding=Rounding.HALF_EVEN)
HIGH = Requant(38, "int8", -128, 127, -128, "half_even")
"""As quantisers of ONNX models give it: a factor of 30 bits, ties to even."""


def values(dtype: str, *shape: int) -> Array:
    if dtype == "float32":
        return RANDOM.standard_normal(shape).astype(np.float32)
    return RANDOM.integers(*limits(dtype), shape, dtype, endpoint=True)


def case(op: Op, *arrays: Array | None) -> Case:
    """With the first kernel of the target that takes it."""
    for kernel in SIRACUSA.engines[0].kernels:
        if kernel.op is type(op):
            made = Case(kernel, op, arrays)
            kinds = made.types
            named = [(a, kinds[a.stem].dtype) for a in kernel.arguments() if a.stem in kinds]
            fits = all(dtype in (kernel.allowed(argument) or {dtype}) for argument, dtype in named)
            if fits and kernel.unsupported_reason(op, kinds) is None:
                return made
    raise LookupError(str(op))


def matmul(rows: int, inner: int, columns: int, *batch: int, by_columns: bool = True) -> Case:
    b = (columns, inner) if by_columns else (inner, columns)
    op = MatMul(trans_b=by_columns, requant=NARROW)
    return case(op, values("int8", *batch, rows, inner), values("int8", *batch, *b), None, _one(120), _one(0))


def conv(size: int, channels: int, filters: int, taps: int, stride: int = 1, requant: Requant = NARROW) -> Case:
    op = Conv((stride, stride), padding=(taps // 2,) * 4, requant=requant, channels_last=True)
    mul = 257 if requant is NARROW else 500_000_000
    x, w = values("uint8", 1, size, size, channels), values("int8", filters, taps, taps, channels)
    return case(op, x, w, None, np.full(filters, mul, np.int32))


def depthwise(height: int, width: int, channels: int, stride: int = 1, kernel: int = 3) -> Case:
    op = Conv((stride, stride), padding=(kernel // 2,) * 4, groups=channels, requant=NARROW, channels_last=True)
    x, w = values("uint8", 1, height, width, channels), values("int8", channels, kernel, kernel, 1)
    return case(op, x, w, None, np.full(channels, 257, np.int32))


def _one(value: int) -> Array:
    return np.array([value], np.int32)


def integer_cases() -> list[Case]:
    def scaling(mul: int) -> Scaling:
        return Scaling(mul, 0, NARROW)

    additions = RequantizedAdd(scaling(32764), scaling(3092129), scaling(65536))
    small_softmax = iSoftmax(n_levels=256, ln2=14, b=19, c=192, out=scaling(88823))
    steep_softmax = iSoftmax(n_levels=256, ln2=6, b=8, c=31, out=scaling(88823))
    factors = values("int8", 16, 16, 4), values("int8", 16, 64, 4)
    triangle = np.where(np.arange(64) > 4 * np.arange(16)[:, None], -128, 0).astype(np.int8)
    weights = RANDOM.integers(1, 2**20, 128).astype(np.int32)
    return [
        case(additions, values("int8", 16, 64, 64), values("int8", 64, 64)),
        case(additions, values("int8", 32, 64), values("int8", 32, 64)),
        case(QLinearMul(0, 0, 1271, NARROW), values("int8", 64, 256), values("int8", 64, 256)),
        case(QLinearAdd(1927406, 702548, 0, Requant(21, "int8", -128, 127)), *(values("int8", 64, 256),) * 2),
        case(RequantShift(NARROW), values("int32", 64, 64), _one(8), _one(0)),
        case(Lookup(0), values("int8", 64, 256), values("int8", 256)),
        case(iSoftmax(n_levels=256, ln2=47, b=64, c=2136, out=scaling(88823)), values("int8", 256, 64)),
        case(small_softmax, values("int8", 256, 64)),
        case(MaskedSoftmax(scaling(400), additions, small_softmax), *factors, np.zeros((16, 64), np.int8)),
        case(MaskedSoftmax(scaling(400), additions, small_softmax), *factors, triangle),
        case(MaskedSoftmax(scaling(400), additions, steep_softmax), *factors, triangle),
        case(iRMSNorm(shift=16), values("int8", 64, 64), weights[:64]),
        case(iLayerNorm(shift=14), values("int8", 64, 128), weights, weights),
        case(MaxPool((2, 2), kernel=(3, 3), channels_last=True), values("uint8", 1, 18, 18, 64)),
        case(QuantizeLinear(), values("float32", 64, 64), np.array(0.02, np.float32), np.array(3, np.int8)),
    ]


def moved_cases() -> list[Case]:
    return [
        case(Identity(True), values("int8", 1, 16, 64, 4)),
        case(Transpose((0, 2, 3, 1)), values("int8", 1, 64, 16, 16)),
        case(Transpose((0, 2, 1, 3)), values("int8", 1, 64, 16, 4)),
        case(Gather(0), values("int8", 256, 64), np.arange(32, dtype=np.int64) * 7),
        case(ReduceMax((1, 2)), values("uint8", 1, 20, 5, 64)),
        case(QLinearReduceMean((1, 2), mul=1271, requant=TIES_TO_EVEN), values("int8", 1, 8, 8, 64)),
    ]


def float_cases() -> list[Case]:
    x, row = values("float32", 64, 64), values("float32", 64)
    return [
        *(case(op, x) for op in (Exp(), Sigmoid(), Tanh(), Erf(), Gelu(), Gelu("tanh"), Softmax(), Relu())),
        case(LayerNormalization(), x, row, row),
        case(RMSNormalization(), x, row),
        case(Add(), x, x),
        case(Mul(), x, row),
    ]


def cases() -> list[Case]:
    return [
        *(matmul(*sizes) for sizes in ((64, 64, 64), (64, 64, 256), (64, 256, 64), (128, 128, 128))),
        matmul(64, 64, 64, by_columns=False),
        *(matmul(*sizes) for sizes in ((64, 4, 64, 16), (1, 64, 64), (1, 64, 256), (1, 256, 64))),
        *(matmul(*sizes) for sizes in ((1, 4, 65, 16), (16, 4, 4), (16, 4, 4, 64))),
        *(matmul(*sizes, 4, 16, by_columns=False) for sizes in ((1, 65), (64, 64))),
        *(conv(*sizes) for sizes in ((16, 32, 32, 3), (16, 16, 16, 3), (8, 64, 64, 3), (32, 3, 16, 3))),
        *(conv(*sizes) for sizes in ((16, 32, 64, 3, 2), (12, 64, 64, 1), (16, 32, 32, 1), (4, 64, 64, 3))),
        conv(16, 32, 32, 3, requant=HIGH),
        *(depthwise(*sizes) for sizes in ((16, 16, 32), (20, 5, 64), (12, 12, 64, 2), (6, 6, 128))),
        *(depthwise(24, 24, 32, 1, kernel) for kernel in (5, 7)),
        *integer_cases(),
        *moved_cases(),
        *float_cases(),
        case(MatMul(trans_b=True), values("float32", 64, 64), values("float32", 64, 64)),
        case(
            Conv(padding=(1, 1, 1, 1), channels_last=True),
            values("float32", 1, 8, 8, 16),
            values("float32", 16, 3, 3, 16),
        ),
    ]


def line(one: Case, found: Measured, cores: int) -> str:
    shapes = {name: array.shape for name, array in one.op.bind(list(one.arrays)).items()}
    macs = one.op.macs(shapes)
    kinds = " ".join(str(kind) for name, kind in one.types.items() if name not in ("mul", "add"))
    rate = f"{macs / found.cycles:.2f} MAC/cycle" if macs else ""
    per_element = f"{found.cycles * cores / one.types['Y'].elements:.1f}"
    return f"{one.kernel.stem:<24} {kinds:<62} {found.cycles:>8} {found.cold:>8} {per_element:>7}  {rate}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--only", default="", help="kernels whose names contain this")
    options = parser.parse_args(arguments)
    chosen = [one for one in cases() if options.only in one.kernel.stem]
    print(f"{'kernel':<24} {'operands and result':<62} {'cycles':>8} {'cold':>8} {'core cycles/element':>7}")
    for one, found in zip(chosen, check(chosen, SIRACUSA, options.cores), strict=True):
        print(line(one, found, options.cores))


if __name__ == "__main__":
    main()
