"""Siracusa: fabric controller, cluster of 8 (+1) cores with XpulpV2, 256 KiB L1, 2 MiB L2, N-EUREKA, weight memory.

Latencies are extra cycles per access. Sources: [c03] ... name the calibration program that measures a number,
[S n] the section of the programmer's model that states it.
"""

from __future__ import annotations

from tilewright.sim.platform import Device, Group, InstructionCache, Kind, Memory, Platform, Window
from tilewright.sim.platforms.siracusa_energy import SIRACUSA_ENERGY

CLUSTER, FC = "cluster", "fc"
CLUSTER_CORES = 9  # 8 workers and the cluster controller
DMA_PORTS = CLUSTER_CORES + 1  # one from outside
TIMER_LINE = 10  # [S 3.2] and the next one

L1_LATENCY = {CLUSTER: 0, FC: 14}  # [c03, S 5]
L2_LATENCY = {CLUSTER: 14, FC: 0}  # [c03, S 5]
WMEM_LATENCY = {CLUSTER: 4, FC: 14}  # [c03]
DEMUX_LATENCY = {CLUSTER: 0, FC: 14}  # [c03] eu_demux, dma_status
PERIPHERAL_LATENCY = {CLUSTER: 2, FC: 14}  # [c03] npu_status, timer
APB_LATENCY = {CLUSTER: 22, FC: 8}  # [c03] apb_soc

L2_FETCH = {FC: 5}  # [S 4.1]
L2_UNCACHED = {CLUSTER: 14, FC: 5}  # [c32] nocache_l2, [S 4.1]
L1_UNCACHED = {CLUSTER: 8, FC: 14}  # [c32] nocache_tcdm
L1_REFILL_PORT = 4  # bytes of an access [S, whole programs]: one port for both banks of the cluster's cache

SIRACUSA = Platform(
    name="siracusa",
    energy=SIRACUSA_ENERGY,
    summary="fabric controller, 8-core XpulpV2 cluster, MCHAN DMA, N-EUREKA, 256 KiB L1, 2 MiB L2, 8 MiB weight memory",
    groups=(
        Group(
            CLUSTER,
            CLUSTER_CORES,
            local_memory="l1",
            fpus=4,  # [c19] cores i and i + 4 share one
            cache=InstructionCache(
                private_sets=8, private_ways=4, shared_banks=2, shared_sets=32, shared_ways=4, last_core_private_sets=32
            ),
        ),
        Group(
            FC,
            1,
            first_hart=0x3E0,
            has_float=False,
            boots=True,
            cache=InstructionCache(private_sets=32, private_ways=4),
        ),
    ),
    memories=(
        Memory(
            "l1",
            0x1000_0000,
            0x40000,
            banks=16,
            latency=L1_LATENCY,
            uncached_fetch=L1_UNCACHED,
            is_loadable=False,  # [S, whole programs]
            refill_port_bytes=L1_REFILL_PORT,
        ),
        Memory(
            "wmem", 0x1040_0000, 0x80_0000, banks=8, hides_wait=True, latency=WMEM_LATENCY, uncached_fetch=L2_UNCACHED
        ),
        Memory(
            "l2_private0", 0x1C00_0000, 0x8000, latency=L2_LATENCY, fetch_latency=L2_FETCH, uncached_fetch=L2_UNCACHED
        ),
        Memory(
            "l2_private1", 0x1C00_8000, 0x8000, latency=L2_LATENCY, fetch_latency=L2_FETCH, uncached_fetch=L2_UNCACHED
        ),
        Memory(
            "l2",
            0x1C01_0000,
            0x1F0000,
            banks=4,
            hides_wait=True,
            latency=L2_LATENCY,
            fetch_latency=L2_FETCH,
            uncached_fetch=L2_UNCACHED,
        ),
        Memory("l3", 0, 0x80_0000, is_mapped=False),
    ),
    windows=(
        Window(0x0000_0000, 0x40000, 0x1000_0000, (CLUSTER,)),
        Window(0x0010_0000, 0x40000, 0x1000_0000, (CLUSTER,), test_and_set=True),
        Window(0x0020_0000, 0x8000, 0x1020_0000, (CLUSTER,)),
        Window(0x1010_0000, 0x40000, 0x1000_0000, (CLUSTER, FC), test_and_set=True),
        Window(0x0000_0000, 0x8000, 0x1C00_0000, (FC,)),
    ),
    devices=(
        Device("cluster control", Kind.CLUSTER_CONTROL, 0x1020_0000, 0x400, PERIPHERAL_LATENCY),
        Device("cluster timer", Kind.TIMER, 0x1020_0400, 0x400, PERIPHERAL_LATENCY, (TIMER_LINE,)),
        Device("event unit", Kind.EVENT_UNIT, 0x1020_4000, 0x400, DEMUX_LATENCY, (CLUSTER_CORES,)),
        Device("event unit, outer view", Kind.EVENT_UNIT_OUTER, 0x1020_0800, 0x800, PERIPHERAL_LATENCY),
        # within a cycle N-EUREKA acts before the DMA [c30]
        Device("n-eureka", Kind.NEUREKA, 0x1020_1000, 0x400, PERIPHERAL_LATENCY, ("l1", "wmem")),
        Device("dma", Kind.MCHAN, 0x1020_4400, 0x400, DEMUX_LATENCY, ("l1", DMA_PORTS)),
        Device("dma, outer port", Kind.MCHAN_OUTER, 0x1020_1800, 0x400, PERIPHERAL_LATENCY),
        Device("cluster instruction cache", Kind.ICACHE_CONTROL, 0x1020_1400, 0x400, PERIPHERAL_LATENCY, (CLUSTER,)),
        Device("hyper", Kind.HYPER_UDMA, 0x1A10_2000, 0x2000, APB_LATENCY, ("l3", "l2_private0", "l2_private1", "l2")),
        Device("soc control", Kind.SOC_CONTROL, 0x1A10_4000, 0x1000, APB_LATENCY),
        Device("fc instruction cache", Kind.ICACHE_CONTROL, 0x1A10_8800, 0x800, APB_LATENCY, (FC,)),
        Device("fc interrupts", Kind.REGISTERS, 0x1A10_9800, 0x800, APB_LATENCY),
        Device("fc timer", Kind.TIMER, 0x1A10_B000, 0x800, APB_LATENCY),
        Device("stdout", Kind.CONSOLE, 0x1A10_F000, 0x1000, APB_LATENCY),
    ),
)
