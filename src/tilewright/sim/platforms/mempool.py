"""MemPool: small cores in tiles around one banked memory. And ITAPool, where four ITAs stand for some of its tiles.

Latencies inside are in mempool/timing.h. Sizes are those of the public configurations: 256 cores (mempool), 16
(minpool), 192 with ITA (itapool).
"""

from __future__ import annotations

from tilewright.sim.platform import Device, Flavour, Group, Kind, Memory, Platform, Tiles

CLUSTER = "cluster"
TILE_BANKS, BANK_BYTES = 16, 1024
CORE_SEQUENTIAL_BYTES = 1024  # of each core; its stack lies there
TILE_CORES = 4
CONTROL, ITA_REGISTERS, DMA_REGISTERS = 0x4000_0000, 0x4000_0040, 0x4001_0000
L2, BOOT_ROM, UART = 0x8000_0000, 0xA000_0000, 0xC000_0000
OUTSIDE = {CLUSTER: 30}  # [own] there and back
NEW_REGISTERS, OLD_REGISTERS = 0, 1


def mempool(
    name: str,
    tiles: Tiles,
    l2_bytes: int = 0x40_0000,
    dma_bytes: int = 256,
    has_ita: bool = False,
) -> Platform:
    """`dma_bytes`: that the DMA moves each cycle."""
    cores = tiles.count // tiles.per_group * (tiles.with_cores or tiles.per_group) * tiles.cores
    banks = tiles.count * TILE_BANKS
    size = banks * BANK_BYTES
    parts = f"{cores} cores (RV32IMA, Xpulpimg){', 4 ITAs' if has_ita else ''}"
    return Platform(
        name=name,
        summary=f"{parts}, {size >> 10} KiB L1 in {banks} banks, {l2_bytes >> 20} MiB L2",
        groups=(
            Group(
                CLUSTER,
                cores,
                flavour=Flavour.MEMPOOL,
                has_float=False,
                boots=True,
                local_memory="l1",
                loads_in_flight=8,
                tiles=tiles,
            ),
        ),
        memories=(
            Memory("l1", 0, size, banks=banks),
            Memory("l2", L2, l2_bytes, latency=OUTSIDE),
            Memory("boot rom", BOOT_ROM, 0x1000, latency=OUTSIDE, is_loadable=False),
        ),
        devices=(
            *((Device("ita", Kind.ITAPOOL, ITA_REGISTERS, 0xC0, OUTSIDE),) if has_ita else ()),
            Device(
                "control",
                Kind.MEMPOOL_CONTROL,
                CONTROL,
                ITA_REGISTERS - CONTROL if has_ita else 0x1_0000,
                OUTSIDE,
                (OLD_REGISTERS if has_ita else NEW_REGISTERS,),
            ),
            Device("dma", Kind.MEMPOOL_DMA, DMA_REGISTERS, 0x1C, OUTSIDE, (dma_bytes,)),
            Device("uart", Kind.CONSOLE, UART, 0x100, OUTSIDE),
        ),
    )


SEQUENTIAL_BYTES = TILE_CORES * CORE_SEQUENTIAL_BYTES
MEMPOOL = mempool("mempool", Tiles(64, 16, TILE_CORES, 0, SEQUENTIAL_BYTES))
MINPOOL = mempool("minpool", Tiles(4, 1, TILE_CORES, 0, SEQUENTIAL_BYTES))
ITAPOOL = mempool("itapool", Tiles(64, 16, TILE_CORES, 12, SEQUENTIAL_BYTES), 0x100_0000, 64, has_ita=True)
