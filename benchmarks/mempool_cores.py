"""A matrix product of bytes on MemPool with operands in L1: how many times faster are so many cores than one?

python benchmarks/mempool_cores.py [--target mempool] [--size 256] [--cores 1 4 16 64 256]
"""

from __future__ import annotations

import argparse

import numpy as np

from tilewright import targets
from tilewright.ir.requant import Requant
from tilewright.ops.matmul import MatMul
from tilewright.run.kernel_bench import Case, check
from tilewright.target.target import Target


def product(target: Target, size: int, narrow: bool) -> Case:
    """Of random bytes, to int32 totals or, requantised, to bytes."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, (size, size)).astype(np.int8) for _ in "ab")
    requant = Requant(12, "int8", -128, 127) if narrow else None
    op = MatMul(trans_b=True, requant=requant)
    scales = [np.full(1, 3, np.int32), np.zeros(1, np.int32)] if narrow else []
    kernel = next(k for e in target.engines for k in e.kernels if k.op is MatMul)
    return Case(kernel, op, [a, b, *([None, *scales] if narrow else [])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="mempool")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 4, 16, 64, 256])
    options = parser.parse_args()
    target, macs = targets.find(options.target), options.size**3
    for narrow in (False, True):
        alone = 0
        print(f"{options.size} x {options.size} x {options.size}, int8 to {'int8' if narrow else 'int32'}")
        for cores in options.cores:
            cycles = check([product(target, options.size, narrow)], target, cores)[0].cycles
            alone = alone or cycles
            print(
                f"{cores:4} cores {cycles:12,} cycles {macs / cycles:8.1f} MACs a cycle {alone / cycles:7.1f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
