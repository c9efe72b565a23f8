"""How much stack all kernels of a target with a cluster need: writes targets/<name>/stacks.json. Of some of them,
`tilewright calibrate NAME --kernel STEM` does it.

    python scripts/measure_stacks.py siracusa

Run it after changing headers that kernels share, or the compiler's flags; the test of stacks says when. Then note what
was measured, so that the test need not compile it again:

    TILEWRIGHT_UPDATE_GOLDEN=1 python -m pytest tests/targets/test_stacks.py
"""

from __future__ import annotations

import sys

from tilewright import targets
from tilewright.calibration.some_kernels import as_stacks
from tilewright.calibration.stacks import FILE, kernel_stacks

if __name__ == "__main__":
    target = targets.find(sys.argv[1])
    found = kernel_stacks(target, [kernel for engine in target.engines for kernel in engine.kernels])
    (target.folder / FILE).write_text(as_stacks(found))
    print(f"{len(found)} kernels, the largest: {sorted(found.items(), key=lambda item: -item[1])[:8]}")
