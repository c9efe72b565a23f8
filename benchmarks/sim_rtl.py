"""Cycles of small kernels: the CV32E40P's RTL under Verilator, the simulator, and the difference.

    TILEWRIGHT_RTL=1 python benchmarks/sim_rtl.py [kernel ...]

Needs verilator, a C++ compiler and the package pythondata-cpu-cv32e40p.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.sim.cv32e40p.kernels import FEATURES, KERNELS, measure
from tests.sim.cv32e40p.verilated import why_not

VARIANTS = {"xcv -O2": (FEATURES, "-O2"), "rv32imc -O2": ("+m+c", "-O2"), "rv32im -O1": ("+m", "-O1")}
NEED_COREV = {"dot_simd", "dot_loop", "nested_loops", "matmul_simd"}


def main() -> None:
    if reason := why_not():
        raise SystemExit(reason)
    print(f"{'kernel':14} {'compiled for':12} {'RTL':>9} {'ours':>9} {'error':>7}")
    for name in sys.argv[1:] or KERNELS:
        for label, (features, level) in VARIANTS.items():
            if name in NEED_COREV and features != FEATURES:
                continue
            found = measure(name, features, level)
            wrong = "" if found.checksums[0] == found.checksums[1] else "  WRONG RESULT"
            print(f"{name:14} {label:12} {found.rtl:9,} {found.ours:9,} {found.error:+7.2%}{wrong}", flush=True)


if __name__ == "__main__":
    main()
