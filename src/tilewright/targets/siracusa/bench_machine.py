"""What `kernel_bench` needs to measure this target's kernels."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

PLATFORM = "siracusa"
FOLDERS = (HERE, HERE.parent / "generic")
RUNTIME = HERE / "bench_runtime"
MACHINE = ("-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+a+c+f")
FLAGS = ("-O2", "-g0", "-fomit-frame-pointer", "-ffreestanding", "-ffunction-sections")
L1 = (0x1000_0000, 0x1004_0000)
