"""Quad: four RISC-V cores around 64 KiB of TCDM, fed by DMA from 1 MiB of RAM; portable kernels, one tile a core."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tilewright.sim.platforms.quad import QUAD
from tilewright.target.agents import BY_PORTS, Agents
from tilewright.target.costs import Costs
from tilewright.target.memory import CORES, Memory
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.runner import VirtualSoc
from tilewright.target.target import Engine, Target
from tilewright.targets.bare import dots
from tilewright.targets.cluster.mchan import mchan
from tilewright.targets.generic import target as generic
from tilewright.targets.generic.work import WORK

FOLDER = Path(__file__).parent
KIB = 1024

KERNELS = tuple(replace(kernel, work=WORK.get(kernel.stem, kernel.work)) for kernel in generic.KERNELS)

PEAK = Peak(
    CoreMacs(((8, 2), (16, 1)), floats=1),
    "RV32IMFC: a product of 32 bits in a cycle, which has room for two of bytes; a word from TCDM in a cycle, from RAM "
    "in nine",
    bytes=4, outside=4 / 9,
)  # fmt: skip

TARGET = Target(
    name="quad",
    summary="4 RISC-V cores around 64 KiB of TCDM, 1 MiB of RAM; portable kernels; on the virtual SoC",
    engines=(Engine("cluster", KERNELS, peak=PEAK, extended=dots.extended),),
    memories=(
        Memory("TCDM", QUAD.memory("tcdm").size, 8, ".tcdm", reachable_by=frozenset({CORES, "dma"})),
        Memory(
            "RAM", QUAD.memory("ram").size, 16, ".ram", reachable_by=frozenset({CORES, "dma"}), slowdown=5.0,
            reserved=256 * KIB,
        ),
    ),
    links=(mchan("RAM", "TCDM"),),
    folder=FOLDER,
    bases=(FOLDER.parent / "cluster", FOLDER.parent / "bare", generic.TARGET.folder),
    flags=(
        "-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c+f", "-O2", "-g0", "-fomit-frame-pointer",
        "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all",
    ),
    agents=Agents(
        cores=4, dma_core=4, state=48, stack=224, prefetch_slots=8, offload_slots=4,
        every_layer=("pipeline.c", "dma.c"), transfers=BY_PORTS,
    ),
    runner=VirtualSoc("quad"),
    costs=Costs.read(FOLDER / "costs.json"),
    stacks=json.loads((FOLDER / "stacks.json").read_text()),
)  # fmt: skip
