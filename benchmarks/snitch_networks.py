"""Every shared network on the Snitch cluster, smallest first: what agrees, what is refused and why.

python benchmarks/snitch_networks.py [--minutes N] [--jobs N] [MODEL ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.quad_networks import main

if __name__ == "__main__":
    main("snitch", __doc__)
