"""What the kernels of the snitch target take on the virtual cluster, beside the portable ones.

    python benchmarks/snitch_kernels.py [--only softmax]

Operands are in TCDM and code in the caches. Every result is compared with numpy before its cycles are printed.
Portable kernels are one core's: theirs are an eighth of what one core takes for all of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright import targets
from tilewright.ir.op import Op
from tilewright.ir.requant import Requant
from tilewright.ir.types import Array, limits
from tilewright.ops.conv import Conv
from tilewright.ops.exp import Exp
from tilewright.ops.gelu import Gelu
from tilewright.ops.layernormalization import LayerNormalization
from tilewright.ops.matmul import MatMul
from tilewright.ops.rmsnormalization import RMSNormalization
from tilewright.ops.sigmoid import Sigmoid
from tilewright.ops.softmax import Softmax
from tilewright.ops.swish import Swish
from tilewright.ops.tanh import Tanh
from tilewright.run.kernel_bench import Case, check

SNITCH = targets.find("snitch")
KERNELS = {kernel.source: kernel for kernel in SNITCH.engines[0].kernels}
RANDOM = np.random.default_rng(1)
TO_BYTES = Requant(18, "int8", -128, 127, 3, "half_even")
CORES = 8


@dataclass(frozen=True)
class Compared:
    """An operator with its portable kernel and the one with streams."""

    name: str
    portable: str
    streams: str
    op: Op
    arrays: Sequence[Array | None]


def values(dtype: str, *shape: int) -> Array:
    if dtype == "float32":
        return RANDOM.standard_normal(shape).astype(np.float32)
    return RANDOM.integers(*limits(dtype), shape, dtype, endpoint=True)


def function(op: Op, stem: str) -> Compared:
    return Compared(f"{stem} of 1,024 floats", f"{stem}.c", f"{stem}_blocks.c", op, [values("float32", 1024)])


def scales(count: int) -> tuple[Array, Array]:
    return RANDOM.integers(1, 4096, count, np.int32), RANDOM.integers(-(2**15), 2**15, count, np.int32)


def depthwise(dtype: str, portable: str, streams: str) -> Compared:
    requant = TO_BYTES if dtype == "int8" else None
    arrays = [values(dtype, 1, 16, 25, 5), values(dtype, 16, 1, 3, 3), None, *(scales(16) if requant else ())]
    op = Conv(groups=16, padding=(1, 1, 1, 1), requant=requant)
    return Compared(f"depthwise 3 x 3, 16 x 25 x 5, {dtype}", portable, streams, op, arrays)


def compared() -> list[Compared]:
    rows, scale = values("float32", 64, 64), values("float32", 64)
    product = [values("int8", 64, 64), values("int8", 64, 64), None, *scales(64)]
    return [
        function(Exp(), "exp"), function(Sigmoid(), "sigmoid"), function(Tanh(), "tanh"),
        function(Swish(), "swish"), function(Gelu(), "gelu"), function(Gelu(approximate="tanh"), "gelu_tanh"),
        Compared("softmax 64 x 64", "softmax.c", "softmax_blocks.c", Softmax(axis=-1), [rows]),
        Compared(
            "LayerNorm 64 x 64", "layer_norm.c", "layer_norm_streams.c", LayerNormalization(), [rows, scale, scale]
        ),
        Compared("RMSNorm 64 x 64", "rms_norm.c", "rms_norm_streams.c", RMSNormalization(), [rows, scale]),
        Compared("product 64 x 64 x 64 of float32", "matmul_f32.c", "matmul_columns_f32.c", MatMul(), [rows, rows]),
        Compared(
            "the same, second factor turned", "matmul_f32.c", "matmul_strided_f32.c", MatMul(trans_b=True), [rows, rows]
        ),
        Compared(
            "product 64 x 64 x 64 of int8 to int8", "matmul_int8.c", "matmul_bytes.c", MatMul(requant=TO_BYTES), product
        ),
        depthwise("float32", "depthwise_f32.c", "depthwise_streams_f32.c"),
        depthwise("int8", "depthwise_int8.c", "depthwise_bytes.c"),
    ]  # fmt: skip


def cycles(source: str, op: Op, arrays: Sequence[Array | None]) -> int:
    (found,) = check([Case(KERNELS[source], op, arrays)], SNITCH, CORES)
    return found.cycles if KERNELS[source].cooperative else found.cycles // CORES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="part of a name")
    only = parser.parse_args().only
    print("| kernel | portable | with streams | factor |\n| --- | --- | --- | --- |")
    for one in compared():
        if only in one.name:
            before, after = (cycles(source, one.op, one.arrays) for source in (one.portable, one.streams))
            print(f"| {one.name} | {before:,} | {after:,} | {before / after:.1f} |", flush=True)


if __name__ == "__main__":
    main()
