"""Siracusa: eight RISC-V cores with XpulpV2 around 256 KiB of L1, fed by DMA from L2 and, behind that, HyperRAM."""

from __future__ import annotations

import json
from pathlib import Path

from tilewright.passes.fit.join_in_place import JOIN_IN_PLACE, TABLES_FIRST
from tilewright.passes.int8_to_uint8 import INT8_TO_UINT8
from tilewright.passes.layout.absorb_transposes import ABSORB_TRANSPOSES
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.layout.transpose_weights import TRANSPOSE_WEIGHTS
from tilewright.passes.tabulate import TABULATE
from tilewright.sim.platform import Platform
from tilewright.sim.platforms.siracusa import SIRACUSA
from tilewright.target.agents import BY_PORTS, Agents
from tilewright.target.costs import Costs
from tilewright.target.memory import CORES, Link, Memory
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.runner import VirtualSoc
from tilewright.target.target import Target
from tilewright.targets.cluster.mchan import mchan
from tilewright.targets.hwpe import neureka
from tilewright.targets.pulp.engine import cluster
from tilewright.targets.pulp.fuse_accumulation import FUSE_ACCUMULATION
from tilewright.targets.pulp.fuse_channel_sums import FUSE_CHANNEL_SUMS
from tilewright.targets.pulp.fuse_masked_softmax import FUSE_MASKED_ATTENTION, FUSE_MASKED_SOFTMAX
from tilewright.targets.pulp.fuse_scaled_sums import FUSE_SCALED_SUMS
from tilewright.targets.pulp.patches import multiplied

FOLDER = Path(__file__).parent
KIB = 1024

PEAK = Peak(
    CoreMacs(((8, 4), (16, 2), (32, 1)), floats=1, float_units=4, share=multiplied),
    "XpulpV2: a dot product of four bytes or two halfwords in a cycle, an FPU for two cores; a word from L1 in a "
    "cycle, from the weight memory in five",
    bytes=4, outside=4 / 5,
)  # fmt: skip


def siracusa(platform: Platform) -> Target:
    """A chip like it: its cluster may have another number of cores. The last one moves data."""
    cores = platform.groups[0].cores - 1
    return Target(
        name="siracusa",
        summary=f"{cores} RISC-V cores with XpulpV2 and an NPU around 256 KiB of L1, 2 MiB of L2, HyperRAM; on the "
        "virtual SoC",
        engines=(cluster(cores, PEAK), neureka(cores)),
        passes=(
            INT8_TO_UINT8, CHANNELS_LAST, ABSORB_TRANSPOSES, TRANSPOSE_WEIGHTS, TABLES_FIRST, TABULATE,
            FUSE_MASKED_SOFTMAX, FUSE_MASKED_ATTENTION, FUSE_SCALED_SUMS, FUSE_ACCUMULATION,
            FUSE_CHANNEL_SUMS, JOIN_IN_PLACE,
        ),
        numerics="hardware",
        memories=(
            Memory("L1", platform.memory("l1").size, 8, ".l1", reachable_by=frozenset({CORES, "dma", "neureka"})),
            Memory(
                "L2", platform.memory("l2").size, 16, ".l2", reachable_by=frozenset({CORES, "dma", "udma"}),
                slowdown=15.0, reserved=96 * KIB,
            ),
            Memory(
                "WMEM", platform.memory("wmem").size, 16, ".wmem", ".weights", 32, frozenset({CORES, "dma", "neureka"}),
                slowdown=5.0, reserved=512 * KIB,
            ),
            Memory("L3", platform.memory("l3").size, 16, "", ".l3", reachable_by=frozenset({"udma"}), image="WMEM"),
        ),
        links=(
            mchan("L2", "L1"),
            mchan("WMEM", "L1"),
            Link("udma", "L3", "L2", longest=0xFFFFF, read=1.0, write=1.8, latency=40, command=200, queue=8),
        ),
        folder=FOLDER,
        bases=tuple(FOLDER.parent / name for name in ("pulp", "hwpe", "accelerated", "cluster", "bare", "generic")),
        flags=(
            "-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c+f", "-O2", "-g0", "-fomit-frame-pointer",
            "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all",
        ),
        agents=Agents(
            cores=cores, dma_core=cores, state=64, stack=224, prefetch_slots=8, offload_slots=4,
            every_layer=("pipeline.c", "dma.c", "offload.c", "accelerator.c"), transfers=BY_PORTS,
        ),
        runner=VirtualSoc(platform),
        costs=Costs.read(FOLDER / "costs.json"),
        stacks=json.loads((FOLDER / "stacks.json").read_text()),
    )  # fmt: skip


TARGET = siracusa(SIRACUSA)
