"""ITA with plain cores, to drive and measure it: where a Snitch cluster has its memories, its registers and its view.

It is nobody's chip. Memories, ITA and its busy flag stand at the addresses of the public Snitch cluster, so that what
uses nothing else runs on both; the TCDM has as many bytes per cycle (64 banks of 4 for 32 of 8).
"""

from __future__ import annotations

from tilewright.sim.platform import Device, Group, InstructionCache, Kind, Memory, Platform

CLUSTER = "cluster"
CORES = 5  # the last one moves data
DMA_PORTS = CORES + 1  # one from outside
ITA_LINE = 12
SNITCH_TCDM = 0x2_0000
ROOM = 0x2000_0000  # where a larger TCDM lies
PERIPHERAL_LATENCY = {CLUSTER: 2}  # on a Snitch core stores wait for nothing, loads for 10 cycles
RAM_LATENCY = {CLUSTER: 8}


def ita_bench(tcdm_bytes: int = SNITCH_TCDM, softmax_bits: int = 0) -> Platform:
    """`softmax_bits`: 0 for the version in the Snitch cluster, 5 for the softmax of the first one."""
    parameters = ("tcdm", ITA_LINE, softmax_bits)
    base = 0x1000_0000 if tcdm_bytes <= SNITCH_TCDM else ROOM
    return Platform(
        name="ita_bench",
        summary=f"4 cores and one for DMA, ITA, {tcdm_bytes // 1024} KiB TCDM",
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
            Memory("tcdm", base, tcdm_bytes, banks=64),
            Memory("ram", 0x8000_0000, 0x80_0000, banks=8, hides_wait=True, latency=RAM_LATENCY),
        ),
        devices=(
            Device("busy flag", Kind.ITA_VIEW, 0x1002_01A0, 0x10, PERIPHERAL_LATENCY),
            Device("ita", Kind.ITA, 0x1004_0000, 0x100, PERIPHERAL_LATENCY, parameters),
            Device("itapool", Kind.ITAPOOL, 0x4000_0040, 0xC0, PERIPHERAL_LATENCY),
            Device("event unit", Kind.EVENT_UNIT, 0x3000_0000, 0x400, parameters=(CORES,)),
            Device("dma", Kind.MCHAN, 0x3000_1000, 0x400, parameters=("tcdm", DMA_PORTS)),
            Device("soc control", Kind.SOC_CONTROL, 0x3010_0000, 0x1000, PERIPHERAL_LATENCY),
            Device("stdout", Kind.CONSOLE, 0x3010_1000, 0x1000, PERIPHERAL_LATENCY),
        ),
    )


ITA_BENCH = ita_bench()
