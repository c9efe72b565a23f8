"""What a description must keep to, so that the C side can be built from it: all objections at once. And what a
program file must keep to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from tilewright.errors import CompileError
from tilewright.sim.activity import MAX_MEMORIES, activity_names
from tilewright.sim.platform import (
    MAX_DEVICES,
    MAX_GROUPS,
    MAX_WINDOWS,
    PAGE,
    PARAMETERS,
    Device,
    Flavour,
    Group,
    InstructionCache,
    Kind,
    Memory,
    Platform,
    Tiles,
)
from tilewright.sim.program.elf import Elf, loaded_ranges

MAX_CORES = 1024
MAX_WAYS, MAX_SHARED_BANKS = 4, 16
MAX_DMA_PORTS = 40
"""MAX_PORTS of devices/mchan.c."""
EVENT_LINES = 32
MAX_LOADS = 16
"""MOST_LOADS of snitch/snitch.h, ACCESSES_IN_FLIGHT of mempool/mempool.h."""
MAX_TILES, MAX_TILE_GROUPS, TILE_BANKS = 64, 4, 16
"""Bits of `used`, MOST_TILE_GROUPS and TILE_BANKS of mempool/mempool.h."""
MIN_SEQUENTIAL = 64
MAX_DMA_BYTES = 1024
"""WIDEST of mempool/dma.c."""
LINE_BYTES = 16
"""FETCH_LINE_BYTES of engine/timing.h."""
ITA_PORT_BYTES = 128
"""ITA_PORT of ita/ita.h."""
END = 1 << 32
_REACHED_BY_INSTRUCTIONS = (Kind.XDMA,)


def check_platform(platform: Platform) -> None:
    """Raise one error with everything that is wrong."""
    found = [*_amounts(platform), *_names(platform)]
    if not found:  # what follows looks names up
        for rule in _RULES:
            found += rule(platform)
    if found:
        raise CompileError(f"platform {platform.name}", "; ".join(found), "correct its description")


def check_headers(platform: Platform, elf: Elf) -> None:
    """A program file must have nothing to load, not even no bytes, where the platform's loader does not take it."""
    for start, end in loaded_ranges(elf):
        for memory in platform.memories:
            if not memory.is_loadable and start < memory.base + memory.size and max(end, start + 1) > memory.base:
                raise CompileError(
                    elf.path, f"has a program header for {start:#x}..{end:#x}, in {memory.name}, at which the chip's "
                    "public simulator hangs before the program begins",
                    "name PHDRS in the linker script, and put :NONE after the sections there",
                )  # fmt: skip


def _amounts(platform: Platform) -> Iterator[str]:
    for what, count, least, most in (
        ("groups", len(platform.groups), 1, MAX_GROUPS),
        ("cores", platform.cores, 1, MAX_CORES),
        ("memories", len(platform.memories), 1, MAX_MEMORIES),
        ("windows", len(platform.windows), 0, MAX_WINDOWS),
        ("devices", len(platform.devices), 0, MAX_DEVICES),
    ):
        if not least <= count <= most:
            yield f"it has {count} {what}, and there may be {least} to {most}"
    if not any(group.boots for group in platform.groups):
        yield "no group boots"


def _names(platform: Platform) -> Iterator[str]:
    """Every name is unique, and what is named exists."""
    groups, memories = {g.name for g in platform.groups}, {m.name for m in platform.memories}
    for what, names in (
        ("group", [group.name for group in platform.groups]),
        ("memory", [memory.name for memory in platform.memories]),
        ("device", [device.name for device in platform.devices]),
    ):
        yield from (f"there are two of {what} {name}" for name in sorted({n for n in names if names.count(n) > 1}))
    for group in platform.groups:
        if group.local_memory and group.local_memory not in memories:
            yield f"group {group.name}: {group.local_memory} is not a memory"
    parts: list[Memory | Device] = [*platform.memories, *platform.devices]
    for part in parts:
        fetch = (*part.fetch_latency, *part.uncached_fetch) if isinstance(part, Memory) else ()
        for name in sorted({*part.latency, *fetch} - groups):
            yield f"{part.name}: {name} is not a group"
    for window in platform.windows:
        yield from (f"window {window.base:#x}: {name} is not a group" for name in window.groups if name not in groups)
    for device in platform.devices:
        named = [value for value in device.parameters if isinstance(value, str)]
        yield from (f"{device.name}: {name} is no memory or group" for name in named if name not in groups | memories)


def _groups(platform: Platform) -> Iterator[str]:
    if len({group.flavour == Flavour.SNITCH for group in platform.groups}) > 1:
        yield "Snitch cores and others are not simulated together"
    for group in platform.groups:
        if group.flavour == Flavour.SNITCH and group.cache.shared_banks != 1:
            yield f"group {group.name}: Snitch cores share an instruction cache of one bank"
        if not 0 <= group.loads_in_flight <= MAX_LOADS:
            yield f"group {group.name}: {group.loads_in_flight} loads in flight, and there may be 0 to {MAX_LOADS}"
    for group in platform.groups:
        if group.cores < 1:
            yield f"group {group.name} has no cores"
        yield from (f"group {group.name}: {what}" for what in (*_near(platform, group), *_cache(group.cache)))


def _tiles(platform: Platform) -> Iterator[str]:
    """MemPool's cores come in tiles around one memory at address 0."""
    for group in platform.groups:
        if group.flavour != Flavour.MEMPOOL:
            continue
        if len(platform.groups) > 1:
            yield "MemPool's cores and others are not simulated together"
        if group.tiles is None or not group.local_memory:
            yield f"group {group.name}: MemPool's cores need tiles and a local memory"
            continue
        if not group.loads_in_flight:
            yield f"group {group.name}: a MemPool core has 1 to {MAX_LOADS} accesses in flight"
        yield from (
            f"group {group.name}: {what}" for what in _tiling(group, group.tiles, platform.memory(group.local_memory))
        )


def _tiling(group: Group, tiles: Tiles, local: Memory) -> Iterator[str]:
    if not all(_is_power(n) for n in (tiles.count, tiles.per_group, tiles.sequential_bytes)):
        yield "tiles, tiles of a group and sequential bytes are powers of two"
        return
    if tiles.count > MAX_TILES:
        yield f"there are 1 to {MAX_TILES} tiles"
    if not 1 <= tiles.count // tiles.per_group <= MAX_TILE_GROUPS or tiles.sequential_bytes < MIN_SEQUENTIAL:
        yield f"there are 1 to {MAX_TILE_GROUPS} groups of tiles, with at least {MIN_SEQUENTIAL} sequential bytes each"
    with_cores = tiles.with_cores or tiles.per_group
    if group.cores != tiles.count // tiles.per_group * with_cores * tiles.cores or with_cores > tiles.per_group:
        yield f"{group.cores} cores do not fill its tiles"
    if local.base or local.banks != tiles.count * TILE_BANKS or tiles.count * tiles.sequential_bytes > local.size:
        what = f"with {TILE_BANKS} banks for each tile, and hold what is sequential"
        yield f"its local memory {local.name} must lie at 0, {what}"


def _near(platform: Platform, group: Group) -> Iterator[str]:
    if not group.local_memory:
        return
    local = platform.memories[platform.memory_index(group.local_memory)]
    if local.latency.get(group.name, 0) or not _is_power(local.banks):
        yield f"its local memory {local.name} must have no latency and a power of two of banks"


def _cache(cache: InstructionCache) -> Iterator[str]:
    if not 0 <= min(cache.private_ways, cache.shared_ways) <= max(cache.private_ways, cache.shared_ways) <= MAX_WAYS:
        yield f"a cache has 0 to {MAX_WAYS} ways"
    for sets in (cache.private_sets, cache.last_core_private_sets):
        if sets and not _is_power(sets):
            yield f"{sets} sets of a private cache are not a power of two"
    if not 0 <= cache.shared_banks <= MAX_SHARED_BANKS:
        yield f"a shared cache has 0 to {MAX_SHARED_BANKS} banks"
    if cache.shared_banks and (cache.shared_sets < 1 or cache.shared_ways < 1):
        yield "its shared cache has banks without lines"


def _memories(platform: Platform) -> Iterator[str]:
    for memory in platform.memories:
        if not _is_power(memory.bank_bytes):
            yield f"{memory.name}: {memory.bank_bytes} bytes of a bank are no power of two"
        if memory.banks < 1:
            yield f"{memory.name} has {memory.banks} banks"
        if memory.refill_port_bytes and LINE_BYTES % memory.refill_port_bytes:
            yield f"{memory.name}: {memory.refill_port_bytes} bytes of its port are no part of a line of {LINE_BYTES}"
        if memory.size < 1 or not 0 <= memory.base <= END - memory.size:
            yield f"{memory.name} cannot be at {memory.base:#x}..{memory.base + memory.size:#x}"
        elif memory.is_mapped and (memory.base % PAGE or memory.size % PAGE):
            yield f"{memory.name} does not begin and end at multiples of {PAGE:#x}"


def _devices(platform: Platform) -> Iterator[str]:
    for device in platform.devices:
        least = 0 if device.kind in _REACHED_BY_INSTRUCTIONS else 1
        if device.size < least or not 0 <= device.base <= END - device.size:
            yield f"{device.name} cannot be at {device.base:#x}..{device.base + device.size:#x}"
        if len(device.parameters) > PARAMETERS:
            yield f"{device.name} has {len(device.parameters)} parameters, at most {PARAMETERS} fit"
        elif rule := _BY_KIND.get(device.kind):
            yield from (f"{device.name}: {what}" for what in rule(platform, device))


def _overlaps(platform: Platform) -> Iterator[str]:
    """Memories own whole pages, devices share pages with devices only."""
    mapped = [m for m in platform.memories if m.is_mapped]
    parts: list[Memory | Device] = [*mapped, *platform.devices]
    for a, b in combinations(parts, 2):
        unit = PAGE if isinstance(a, Memory) or isinstance(b, Memory) else 1
        if a.base // unit * unit < b.base + b.size and b.base // unit * unit < a.base + a.size:
            yield f"{a.name} and {b.name} lie over each other"


def _energy(platform: Platform) -> Iterator[str]:
    counted = activity_names(memory.name for memory in platform.memories)
    costs = platform.energy.costs if platform.energy else ()
    yield from (f"energy: {cost.activity} is not counted" for cost in costs if cost.activity not in counted)


def _number(device: Device, at: int) -> int:
    value = device.parameters[at] if at < len(device.parameters) else 0
    return value if isinstance(value, int) else -1


def _dma(platform: Platform, device: Device) -> Iterator[str]:
    yield from _has_memories(platform, device, 1)
    if not platform.cores <= _number(device, 1) <= MAX_DMA_PORTS:
        yield f"its second parameter, the ports, is from the number of cores to {MAX_DMA_PORTS}"


def _npu(platform: Platform, device: Device) -> Iterator[str]:
    yield from _has_memories(platform, device, 2)
    for name in device.parameters:
        memory = next((m for m in platform.memories if m.name == name), None)
        if memory and not _is_power(memory.size):
            yield f"the size of {name} is not a power of two"


def _ita(platform: Platform, device: Device) -> Iterator[str]:
    yield from _has_memories(platform, device, 1)
    memory = next((m for m in platform.memories if m.name in device.parameters[:1]), None)
    if memory and memory.banks * memory.bank_bytes < ITA_PORT_BYTES:
        yield f"{memory.name} has fewer banks than the {ITA_PORT_BYTES} bytes that it reads at once take"
    if not 0 <= _number(device, 1) < EVENT_LINES:
        yield f"its second parameter, the line of its events, lies below {EVENT_LINES}"
    if not 0 <= _number(device, 2) < 8:
        yield "its third parameter, bits of a step of its softmax, is 0 to 7"


def _hyper(platform: Platform, device: Device) -> Iterator[str]:
    yield from _has_memories(platform, device, 4)


def _has_memories(platform: Platform, device: Device, count: int) -> Iterator[str]:
    names = {memory.name for memory in platform.memories}
    if len(device.parameters) < count or not names.issuperset(map(str, device.parameters[:count])):
        yield f"its first {count} parameters name memories"


def _icache(platform: Platform, device: Device) -> Iterator[str]:
    if not device.parameters or device.parameters[0] not in {group.name for group in platform.groups}:
        yield "its parameter names a group"


def _timer(_: Platform, device: Device) -> Iterator[str]:
    if not 0 <= _number(device, 0) < EVENT_LINES - 1:
        yield f"its line and the next one lie below {EVENT_LINES}"


def _of_mempool(platform: Platform, _: Device) -> Iterator[str]:
    if any(group.flavour != Flavour.MEMPOOL for group in platform.groups):
        yield "only MemPool has it"


def _mempool_dma(platform: Platform, device: Device) -> Iterator[str]:
    yield from _of_mempool(platform, device)
    if not 4 <= _number(device, 0) <= MAX_DMA_BYTES or _number(device, 0) % 4:
        yield f"its parameter, the bytes of a cycle, is a multiple of 4 up to {MAX_DMA_BYTES}"


def _needs(kind: Kind) -> Callable[[Platform, Device], Iterator[str]]:
    def rule(platform: Platform, _: Device) -> Iterator[str]:
        if all(device.kind != kind for device in platform.devices):
            yield f"it is a view of {kind.name}, which is not there"

    return rule


def _is_power(number: int) -> bool:
    return number > 0 and not number & (number - 1)


_RULES = (_groups, _tiles, _memories, _devices, _overlaps, _energy)
_BY_KIND: dict[Kind, Callable[[Platform, Device], Iterator[str]]] = {
    Kind.MCHAN: _dma,
    Kind.MCHAN_OUTER: _needs(Kind.MCHAN),
    Kind.EVENT_UNIT_OUTER: _needs(Kind.EVENT_UNIT),
    Kind.NEUREKA: _npu,
    Kind.XDMA: lambda platform, device: _has_memories(platform, device, 1),
    Kind.ITA: _ita,
    Kind.ITA_VIEW: _needs(Kind.ITA),
    Kind.HYPER_UDMA: _hyper,
    Kind.ICACHE_CONTROL: _icache,
    Kind.TIMER: _timer,
    Kind.MEMPOOL_CONTROL: _of_mempool,
    Kind.MEMPOOL_DMA: _mempool_dma,
}
