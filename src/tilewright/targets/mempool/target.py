"""MemPool: 256 small RISC-V cores in tiles of four around one L1 in 1024 banks, fed by DMA from L2; and smaller kin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tilewright.errors import present
from tilewright.passes.layout.absorb_transposes import ABSORB_TRANSPOSES
from tilewright.passes.layout.channels_last import CHANNELS_LAST
from tilewright.passes.layout.transpose_weights import TRANSPOSE_WEIGHTS
from tilewright.records import dataclass
from tilewright.sim.platform import Platform
from tilewright.sim.platforms.mempool import ITAPOOL, MEMPOOL, MINPOOL
from tilewright.target.agents import BY_ALL_CORES, Agents
from tilewright.target.costs import Costs
from tilewright.target.memory import CORES, Link, Memory
from tilewright.target.peak import CoreMacs, Peak
from tilewright.target.runner import VirtualSoc
from tilewright.target.target import COSTS_OF_A_FAMILY, Engine, Target
from tilewright.targets.generic import target as generic
from tilewright.targets.generic.work import WORK
from tilewright.targets.ita.kernels import CORE_KERNELS
from tilewright.targets.ita.pool.engine import ENGINE as ITAS
from tilewright.targets.ita.pool.numerics import ITAPOOL_NUMERICS
from tilewright.targets.mempool import elementwise, linear, rows
from tilewright.targets.microcontroller.elementwise import IN_WORDS

FOLDER = Path(__file__).parent
KIB = 1024

LOCAL_STACK = 1008
"""Bytes of a core's stack beside L1, as in platform.h."""

WORD_ALIGNED = ".rodata.constants"
"""The section of constants, which the DMA engine reads in whole words: cores copy what begins elsewhere, ten times
slower. A section of their own, so that each is aligned as the memory says."""

STACKS_IN_L2 = 6.0
"""How many times longer code takes whose stack is there: a load of it takes 30 cycles. Set by hand."""

WORKING_IN_L2 = 3.0
"""How many times longer kernels take whose operands are there, at most: 1.1 to 2.7 times was measured of layers without
tiles, on 16 cores and on 256, as each core has eight loads under way."""

STACKS: Mapping[str, int] = json.loads((FOLDER / "stacks.json").read_text())
"""Of all variants: they compile the same kernels, and numbers of cores and tiles change no frame."""

PACKED = (*elementwise.KERNELS, *rows.KERNELS, *IN_WORDS)
PORTABLE = tuple(replace(kernel, work=WORK.get(kernel.stem, kernel.work)) for kernel in generic.KERNELS)

PEAK = Peak(
    CoreMacs(((8, 4), (16, 2), (32, 1)), floats=1),
    "Xpulpimg: a dot product of four bytes or two halfwords in a cycle; a word of any memory in a cycle",
    bytes=4, outside=4,
)  # fmt: skip


@dataclass(frozen=True)
class Variant:
    platform: Platform
    dma_bytes: int
    """That the DMA engine moves in a cycle."""
    definitions: tuple[str, ...] = ()
    """For the compiler, where it differs from the others in more than sizes."""
    has_ita: bool = False

    @property
    def cores(self) -> int:
        return self.platform.groups[0].cores

    @property
    def local_bytes(self) -> int:
        """Of L1, at its beginning: what tiles have for their own cores."""
        tiles = present(self.platform.groups[0].tiles, self.platform.name, "has no tiles")
        return tiles.count * tiles.sequential_bytes


VARIANTS = (
    Variant(MEMPOOL, 256),
    Variant(MINPOOL, 256),
    Variant(ITAPOOL, 64, ("-DTW_TILES_WITH_CORES=12", "-DTW_NO_GROUP_CACHE"), has_ita=True),
)


def _costs(name: str) -> Costs:
    path = FOLDER / COSTS_OF_A_FAMILY / f"{name}.json"
    return replace(Costs.read(path) if path.is_file() else Costs(), stacks_outside=STACKS_IN_L2)


def _groups(variant: Variant) -> int:
    """Of transfers: those that the engine's core keeps apart, and those of cores that copy for themselves."""
    return 30 + 2 * variant.cores


def _engines(variant: Variant, l1: int) -> tuple[Engine, ...]:
    own = (*linear.kernels(l1), *PACKED)
    if not variant.has_ita:
        return (Engine("cluster", (*own, *PORTABLE), peak=PEAK),)
    return Engine("cluster", (*own, *CORE_KERNELS, *PORTABLE), peak=PEAK), ITAS


def _target(variant: Variant) -> Target:
    platform, local = variant.platform, variant.local_bytes
    l1, l2 = platform.memory("l1").size, platform.memory("l2").size
    engines, parts = _engines(variant, l1 - local), " and four ITAs" if variant.has_ita else ""
    return Target(
        name=platform.name,
        summary=f"{variant.cores} RISC-V cores with Xpulpimg{parts} around {l1 // KIB} KiB of L1, {l2 >> 20} MiB of "
        "L2; on the virtual SoC",
        engines=engines,
        passes=(CHANNELS_LAST, ABSORB_TRANSPOSES, TRANSPOSE_WEIGHTS),
        memories=(
            Memory(
                "L1", l1 - local, 8, ".l1", reachable_by=frozenset({CORES, "dma", *(one.name for one in engines[1:])}),
                base_offset=local,
            ),
            Memory(
                "L2", l2, 16, ".l2", WORD_ALIGNED, reachable_by=frozenset({CORES, "dma"}), slowdown=WORKING_IN_L2,
                reserved=384 * KIB,
            ),
        ),
        links=(
            Link(
                "dma", "L2", "L1", longest=1 << 20, read=1 / variant.dma_bytes, write=1 / variant.dma_bytes,
                latency=40, command=40, strided=False, groups=_groups(variant),
            ),
        ),
        numerics="hardware",
        hardware=ITAPOOL_NUMERICS if variant.has_ita else (),
        folder=FOLDER,
        bases=(
            *((FOLDER.parent / "ita" / "pool", FOLDER.parent / "ita") if variant.has_ita else ()),
            *(FOLDER.parent / name for name in ("cluster", "microcontroller", "bare")), generic.TARGET.folder,
        ),
        flags=(
            "-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+a", "-O2", "-g0", "-fomit-frame-pointer",
            "-ffreestanding", "-ffunction-sections", "-fno-sanitize=all", "-fno-delete-null-pointer-checks",
            f"-DTW_LOCAL_END={local}", *variant.definitions,
        ),
        agents=Agents(
            cores=variant.cores, dma_core=0, state=192, stack=224, local_stack=LOCAL_STACK, prefetch_slots=8,
            offload_slots=4, every_layer=("pipeline.c", "dma.c"), transfers=BY_ALL_CORES,
        ),
        runner=VirtualSoc(platform.name),
        costs=_costs(platform.name),
        stacks=STACKS,
    )  # fmt: skip


TARGETS = {variant.platform.name: _target(variant) for variant in VARIANTS}
