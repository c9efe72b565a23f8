"""ITAPool's ITAs as an engine beside the cores."""

from __future__ import annotations

from tilewright.target.target import Engine
from tilewright.targets.mempool.ita.heads import HEADS_ON_ITAPOOL, left
from tilewright.targets.mempool.ita.kernels import KERNELS

ALIGNMENT = 64
"""What an ITA reads at once: a word of each bank of a tile."""

ENGINE = Engine("ita", KERNELS, passes=(HEADS_ON_ITAPOOL,), left=left, starts=ALIGNMENT)
