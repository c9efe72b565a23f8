"""The bench of the tests."""

from __future__ import annotations

from tilewright.kernel_bench import Bench
from tilewright.targets.siracusa import bench_machine as m

SIRACUSA = Bench(m.PLATFORM, m.FOLDERS, m.RUNTIME, m.MACHINE, m.FLAGS, m.L1)
