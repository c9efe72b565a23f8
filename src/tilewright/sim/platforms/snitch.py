"""A Snitch cluster: 8 compute cores and one for DMA around 128 KiB, code and data in external memory.

Latencies are extra cycles of the path to a memory. [s01] ... name the calibration program that measures a number.
"""

from __future__ import annotations

from tilewright.sim.platform import Device, Flavour, Group, InstructionCache, Kind, Memory, Platform

CLUSTER = "cluster"
CORES = 9  # the last one has the DMA engine
OUTSIDE = {CLUSTER: 8}  # [s01] lw_dram_use, lw_periph_use, lw_zero_use
BOOT_WORD = 0x1020
NO_LINE = 0  # of ITA's events: there is no event unit
SOFTMAX_BITS = 0  # a share is halved for each unit of a score

SNITCH = Platform(
    name="snitch",
    summary="8 Snitch cores (RV32IMAFD, Xssr, Xfrep) and one with Xdma, ITA, 128 KiB TCDM, 64 MiB external memory",
    groups=(
        Group(
            CLUSTER,
            CORES,
            flavour=Flavour.SNITCH,
            boots=True,
            local_memory="tcdm",
            cache=InstructionCache(shared_banks=1, shared_sets=128, shared_ways=2, on_at_reset=True),  # [s10]
        ),
    ),
    memories=(
        Memory("boot rom", 0x1000, 0x1_0000, latency=OUTSIDE, is_loadable=False),
        Memory("tcdm", 0x1000_0000, 0x2_0000, banks=32, bank_bytes=8, is_loadable=False),  # [s06]
        Memory("dram", 0x8000_0000, 0x400_0000, latency=OUTSIDE),
    ),
    boot_word=BOOT_WORD,
    devices=(
        Device("dma", Kind.XDMA, 0, 0, parameters=("tcdm",)),
        Device("cluster peripherals", Kind.SNITCH_CONTROL, 0x1002_0000, 0x1_0000, OUTSIDE),
        Device("ita", Kind.ITA, 0x1004_0000, 0x100, OUTSIDE, ("tcdm", NO_LINE, SOFTMAX_BITS)),
        Device("zero memory", Kind.ZERO_MEMORY, 0x1003_0000, 0x1_0000, OUTSIDE),
    ),
)
