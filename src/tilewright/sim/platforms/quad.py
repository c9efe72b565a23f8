"""A small cluster: four cores and one for DMA around 64 KiB, 1 MiB behind that; all start at the entry point.

It is nobody's chip. It is there to show that nothing but descriptions speaks of one: other addresses, other memories,
no controller, no accelerator. Latencies are chosen, not measured.
"""

from __future__ import annotations

from tilewright.sim.platform import Device, Group, InstructionCache, Kind, Memory, Platform

CLUSTER = "cluster"
CORES = 5  # the last one moves data
DMA_PORTS = CORES + 1  # one from outside
PERIPHERAL_LATENCY = {CLUSTER: 4}
RAM_LATENCY = {CLUSTER: 8}

QUAD = Platform(
    name="quad",
    summary="4 cores and one for DMA, MCHAN DMA, 64 KiB TCDM, 1 MiB RAM",
    groups=(
        Group(
            CLUSTER,
            CORES,
            boots=True,
            local_memory="tcdm",
            cache=InstructionCache(
                private_sets=16, private_ways=2, shared_banks=2, shared_sets=32, shared_ways=4, on_at_reset=True
            ),
        ),
    ),
    memories=(
        Memory("tcdm", 0x2000_0000, 0x1_0000, banks=8),
        Memory("ram", 0x8000_0000, 0x10_0000, banks=2, hides_wait=True, latency=RAM_LATENCY),
    ),
    devices=(
        Device("event unit", Kind.EVENT_UNIT, 0x3000_0000, 0x400, parameters=(CORES,)),
        Device("dma", Kind.MCHAN, 0x3000_1000, 0x400, parameters=("tcdm", DMA_PORTS)),
        Device("soc control", Kind.SOC_CONTROL, 0x4000_0000, 0x1000, PERIPHERAL_LATENCY),
        Device("stdout", Kind.CONSOLE, 0x4000_1000, 0x1000, PERIPHERAL_LATENCY),
    ),
)
