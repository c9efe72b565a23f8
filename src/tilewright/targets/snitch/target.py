"""Snitch: eight cores with streams and hardware loops around 128 KiB of TCDM, and a ninth that moves data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tilewright.passes.layout.channels_second import CHANNELS_SECOND
from tilewright.sim.platforms.snitch import SNITCH
from tilewright.target.agents import BY_REQUESTS, Agents
from tilewright.target.costs import Costs
from tilewright.target.memory import CORES, Link, Memory
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.runner import VirtualSoc
from tilewright.target.target import Engine, Target
from tilewright.targets.generic import target as generic
from tilewright.targets.generic.work import WORK
from tilewright.targets.ita.engine import ENGINE as ITA
from tilewright.targets.ita.gelu import GELU_BY_TABLES
from tilewright.targets.ita.kernels import CORE_KERNELS
from tilewright.targets.ita.numerics import ITA_NUMERICS
from tilewright.targets.microcontroller.elementwise import IN_WORDS, WITHOUT_VECTORS
from tilewright.targets.snitch import (
    byte_sums,
    depthwise,
    elementwise,
    functions,
    linear,
    quantised_rows,
    reductions,
    requantising,
    rows,
)
from tilewright.targets.snitch.weights import COLUMNS_SIDE_BY_SIDE

FOLDER = Path(__file__).parent
KIB = 1024

PORTABLE = tuple(replace(kernel, work=WORK.get(kernel.stem, kernel.work)) for kernel in generic.KERNELS)
KERNELS = (
    *depthwise.KERNELS, *linear.KERNELS, *elementwise.KERNELS, *functions.KERNELS, *rows.KERNELS,
    *quantised_rows.KERNELS, *requantising.KERNELS, *byte_sums.KERNELS, *reductions.KERNELS, *IN_WORDS,
    *WITHOUT_VECTORS, *CORE_KERNELS, *PORTABLE,
)  # fmt: skip

PEAK = Peak(
    CoreMacs(((8, 8), (16, 4), (32, 2)), floats=2),
    "Snitch: an FPU of 64 bits that multiplies two float32, four of 16 or eight of 8 bits in a cycle; three ports of 8 "
    "bytes to TCDM, one outwards",
    bytes=24, outside=8,
)  # fmt: skip

TARGET = Target(
    name="snitch",
    language_models=False,
    summary="8 Snitch cores with streams and ITA around 128 KiB of TCDM, 64 MiB of DRAM; on the virtual SoC",
    engines=(Engine("cluster", KERNELS, peak=PEAK), ITA),
    passes=(CHANNELS_SECOND, COLUMNS_SIDE_BY_SIDE, GELU_BY_TABLES),
    hardware=(ITA_NUMERICS,),
    memories=(
        Memory("TCDM", SNITCH.memory("tcdm").size, 8, ".tcdm", reachable_by=frozenset({CORES, "dma", ITA.name})),
        Memory(
            "DRAM", SNITCH.memory("dram").size, 16, ".dram", reachable_by=frozenset({CORES, "dma"}), slowdown=3.0,
            reserved=2048 * KIB,
        ),
    ),
    links=(
        Link(
            "dma", "DRAM", "TCDM", longest=1 << 24, read=1 / 64, write=1 / 64, latency=10, command=12, groups=30,
            proxy_cycles=150,
        ),
    ),
    folder=FOLDER,
    bases=tuple(
        FOLDER.parent / name
        for name in ("ita", "ita/queue", "accelerated", "cluster", "microcontroller", "bare", "generic")
    ),
    flags=(
        "-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+a+f+d", "-O2", "-g0", "-fomit-frame-pointer",
        "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all",
    ),
    agents=Agents(
        cores=8, dma_core=8, state=560, stack=224, waiting_stack=64, prefetch_slots=8, offload_slots=4,
        every_layer=("pipeline.c", "dma.c"), transfers=BY_REQUESTS,
    ),
    runner=VirtualSoc("snitch"),
    costs=Costs.read(FOLDER / "costs.json"),
    stacks=json.loads((FOLDER / "stacks.json").read_text()),
)  # fmt: skip
