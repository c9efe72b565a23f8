"""MCHAN, the DMA engine that `runtime/dma.c` drives, as a link."""

from __future__ import annotations

from tilewright.target.memory import Link


def mchan(outer: str, inner: str) -> Link:
    """Between the cluster's own memory and one outside: 8 bytes a cycle each way, 16 transfer ids."""
    return Link("dma", outer, inner, longest=0x1FFF0, read=1 / 8, write=1 / 8, latency=20, command=20, groups=16)
