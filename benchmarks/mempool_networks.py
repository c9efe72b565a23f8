"""Every shared network on MemPool's small kin, or on another of the family, smallest first: what agrees, what is
refused and why.

python benchmarks/mempool_networks.py [--target minpool|mempool] [--minutes N] [--jobs N] [MODEL ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quad_networks import main

if __name__ == "__main__":
    main("minpool", __doc__)
