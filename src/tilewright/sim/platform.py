"""A platform as data: cores, memories, devices at addresses. The C side gets the same in plain structs."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import field, replace
from enum import IntEnum

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.sim import core_timing
from tilewright.sim.activity import MAX_MEMORIES
from tilewright.sim.core_timing import CoreTiming
from tilewright.sim.energy import EnergyModel
from tilewright.sim.isa.declared import CustomInstruction

MAX_GROUPS, MAX_WINDOWS, MAX_DEVICES, PARAMETERS = 4, 16, 32, 6
NO_MEMORY = 255
EXTENSIONS = ("zba", "zbb", "zbs", "zbkb", "zcb", "zve32x")
"""Instructions that cores with CORE-V's encoding may have besides: bits in this order, that of isa/insn.h."""
PAGE = 0x1000
WORD = 4


class Flavour(IntEnum):
    """Encoding of the instructions, beyond RV32IMAFC where it is RISC-V's."""

    XPULPV2 = 0
    COREV = 1
    THUMB = 2
    """Arm's: programs run in an emulator, and the group is called like the core."""
    SNITCH = 3
    """RV32IMAFD with Xssr, Xfrep, packed floats and Xdma; all groups of a platform have it, or none."""
    MEMPOOL = 4
    """RV32IMA with Xpulpimg, in tiles; such a platform has one group."""


class Kind(IntEnum):
    """Device types, in the order of DEVICE_TYPES in engine/api.c."""

    EVENT_UNIT = 0
    EVENT_UNIT_OUTER = 1
    MCHAN = 2
    MCHAN_OUTER = 3
    NEUREKA = 4
    CLUSTER_CONTROL = 5
    ICACHE_CONTROL = 6
    SOC_CONTROL = 7
    CONSOLE = 8
    TIMER = 9
    REGISTERS = 10
    HYPER_UDMA = 11
    USER = 12
    XDMA = 13
    SNITCH_CONTROL = 14
    ZERO_MEMORY = 15
    ITA = 16
    ITA_VIEW = 17
    """Its busy flag and events, where a cluster shows them."""
    ITAPOOL = 18
    MEMPOOL_CONTROL = 19
    MEMPOOL_DMA = 20


@dataclass(frozen=True)
class InstructionCache:
    """A private level per core and a level shared by the group; lines of 16 bytes; at most 4 ways."""

    private_sets: int = 0
    private_ways: int = 0
    shared_banks: int = 0
    shared_sets: int = 0
    shared_ways: int = 0
    on_at_reset: bool = False
    last_core_private_sets: int = 0


@dataclass(frozen=True)
class Tiles:
    """How cores and banks of MemPool lie: in tiles of 16 banks, in groups of tiles. What is nearer answers sooner."""

    count: int
    per_group: int
    cores: int = 4
    """Of a tile."""
    with_cores: int = 0
    """The first tiles of each group, which have cores; 0: all of them."""
    sequential_bytes: int = 4096
    """Of a tile: the local memory begins with this much of the first tile, then as much of the second; what follows is
    interleaved, 64 bytes for each tile in turn."""


@dataclass(frozen=True)
class Group:
    """Cores that share an instruction set, a view of the memory map and an instruction cache."""

    name: str
    cores: int
    first_hart: int = 0
    flavour: Flavour = Flavour.XPULPV2
    has_float: bool = True
    boots: bool = False
    local_memory: str = ""
    """The memory that is reached inline: latency 0, banks a power of two."""
    fpus: int = 0
    """Floating-point units; core i uses unit i modulo this. 0: one per core."""
    cache: InstructionCache = field(default_factory=InstructionCache)
    loads_in_flight: int = 0
    """Loads of a Snitch core whose results are under way at a time; 0: any number. Of a MemPool core, stores too."""
    tiles: Tiles | None = None
    """Of MemPool."""
    extensions: frozenset[str] = frozenset()
    """Of EXTENSIONS."""
    timing: CoreTiming | None = None
    """Where it is not that of the core which the flavour stands for."""

    @property
    def float_bits(self) -> int:
        """Of a floating-point register."""
        return 64 if self.flavour == Flavour.SNITCH else 32


@dataclass(frozen=True)
class ReadPort:
    """What stands between a core and a memory with wait states, as far as a manual says."""

    line_bytes: int = 0
    """Bytes that an access gets, so that words behind the first need no other; 0 for a word."""
    prefetch: bool = False
    """Whether the line behind the one that is executed is read ahead."""
    instruction_cache_bytes: int = 0
    data_cache_bytes: int = 0
    cache_ways: int = 1
    one_cache: bool = False
    """Whether code and data share it."""
    wait: int = 0
    """Cycles of a line that no cache has, where the virtual SoC counts them."""


@dataclass(frozen=True)
class Memory:
    name: str
    base: int
    size: int
    banks: int = 1
    bank_bytes: int = 4
    """Bytes of a word; only Snitch cores look at it."""
    hides_wait: bool = False
    """Bank conflicts disappear behind the latency."""
    latency: Mapping[str, int] = field(default_factory=dict)
    """Extra cycles per access, by group."""
    fetch_latency: Mapping[str, int] = field(default_factory=dict)
    """Extra cycles for a line that an instruction cache asks for, by group; those of accesses if not given."""
    uncached_fetch: Mapping[str, int] = field(default_factory=dict)
    """Cycles per 16 bytes of code while the instruction cache is off, by group."""
    is_mapped: bool = True
    is_loadable: bool = True
    """Whether a program file may have something to load there."""
    refill_port_bytes: int = 0
    """Where all banks of a shared instruction cache reach it through one port: bytes of one access, one each cycle. 0:
    they do not wait for each other."""
    is_flash: bool = False
    """Whether programs do not write to it: code and constants lie there."""
    npu_address: int | None = None
    """Where an accelerator beside a core finds it, if that is another address than the core's."""
    port: ReadPort = ReadPort()
    """Of a board's: latency alone does not say what a microcontroller's flash takes. Emulators look at it, and the
    virtual SoC where it says how long a line takes."""


@dataclass(frozen=True)
class Window:
    """A second address range for something, seen by some groups."""

    base: int
    size: int
    target: int
    groups: tuple[str, ...]
    test_and_set: bool = False


@dataclass(frozen=True)
class Device:
    name: str
    kind: Kind
    base: int
    size: int
    latency: Mapping[str, int] = field(default_factory=dict)
    parameters: tuple[int | str, ...] = ()
    """Numbers, or names of memories and groups, which become their index."""


@dataclass(frozen=True)
class Platform:
    name: str
    summary: str
    groups: tuple[Group, ...]
    memories: tuple[Memory, ...]
    windows: tuple[Window, ...] = ()
    devices: tuple[Device, ...] = ()
    boot_word: int = 0
    """Where a boot ROM has the entry point of the program; 0 where nobody looks for it."""
    energy: EnergyModel | None = None
    """What it spends, if anybody knows."""
    instructions: tuple[CustomInstruction, ...] = ()
    """Of its cores, which a user has declared."""

    def group_index(self, name: str) -> int:
        return [group.name for group in self.groups].index(name)

    def memory(self, name: str) -> Memory:
        return self.memories[self.memory_index(name)]

    def is_flash(self, address: int) -> bool:
        """Whether it is of a memory that programs do not write to."""
        return any(m.is_flash and m.base <= address < m.base + m.size for m in self.memories)

    def memory_index(self, name: str) -> int:
        return [memory.name for memory in self.memories].index(name)

    @property
    def cores(self) -> int:
        return sum(group.cores for group in self.groups)

    def device_index(self, name: str) -> int:
        names = [device.name for device in self.devices]
        if name not in names:
            raise CompileError(name, f"is not a device of {self.name}", "add it with Platform.with_device()")
        return names.index(name)

    def with_device(self, name: str, base: int, size: int = 0x1000, latency: int = 0) -> Platform:
        """The same platform with room for a user's device, which Simulator.attach() fills."""
        self._check_place(name, base, size)
        latencies = {group.name: latency for group in self.groups}
        return replace(self, devices=(*self.devices, Device(name, Kind.USER, base, size, latencies)))

    def outside(self, at: int, size: int) -> CompileError:
        """Of bytes that someone wants to read or write from outside."""
        known = ", ".join(f"{one.name} {one.base:#x} to {one.base + one.size:#x}" for one in self.memories)
        return CompileError(
            f"{at:#x}", f"{size} bytes there are not in one memory of {self.name}", f"there are {known}"
        )

    def _check_place(self, name: str, base: int, size: int) -> None:
        if any(device.name == name for device in self.devices):
            raise CompileError(name, f"is a device of {self.name} already", "give it another name")
        if len(self.devices) == MAX_DEVICES:
            what = f"{self.name} has {MAX_DEVICES} devices already, the most there may be"
            raise CompileError(name, what, "leave one out, or give one device the registers of several")
        if base < 0 or size < 1 or base + size > 1 << 32 or base % PAGE:
            what = f"cannot be at {base:#x}..{base + size:#x}"
            raise CompileError(name, what, f"choose a multiple of {PAGE:#x} below {1 << 32:#x}")
        mapped = [(m.name, m.base, m.size) for m in self.memories if m.is_mapped]
        for other, start, extent in mapped + [(d.name, d.base, d.size) for d in self.devices]:
            if base < start + extent and start < base + size:
                raise CompileError(name, f"lies over {other} at {start:#x}", "choose a free address")

    def core_name(self, core: int) -> str:
        for group in self.groups:
            if core < group.cores:
                return f"{group.name} {core}" if group.cores > 1 else group.name
            core -= group.cores
        return f"core {core}"


U32 = ctypes.c_uint32


class CGroup(ctypes.Structure):
    _fields_ = [
        (name, U32)
        for name in [
            "cores",
            "first_hart",
            "flavour",
            "has_float",
            "boots",
            "local_memory",
            "private_sets",
            "private_ways",
            "shared_banks",
            "shared_sets",
            "shared_ways",
            "cache_on_at_reset",
            "fpus",
            "last_core_private_sets",
            "loads_in_flight",
            "tiles",
            "tile_cores",
            "tiles_per_group",
            "tiles_with_cores",
            "sequential_bytes",
            "extensions",
            "has_timing",
        ]
    ] + [("timing", core_timing.CTiming)]


class CMemory(ctypes.Structure):
    _fields_ = [
        *(
            (name, U32)
            for name in ["base", "size", "banks", "hides_wait", "is_mapped", "bank_bytes", "refill_port_bytes"]
        ),
        ("latency", U32 * MAX_GROUPS),
        ("fetch_latency", U32 * MAX_GROUPS),
        ("uncached_fetch", U32 * MAX_GROUPS),
        *(
            (name, U32)
            for name in [
                "line_wait",
                "line_bytes",
                "line_ways",
                "reads_ahead",
                "code_cache_bytes",
                "data_cache_bytes",
                "is_one_cache",
            ]
        ),
    ]


class CWindow(ctypes.Structure):
    _fields_ = [(name, U32) for name in ["base", "size", "target", "groups", "test_and_set"]]


class CDevice(ctypes.Structure):
    _fields_ = [
        *((name, U32) for name in ["kind", "base", "size"]),
        ("latency", U32 * MAX_GROUPS),
        ("parameters", U32 * PARAMETERS),
    ]


class CPlatform(ctypes.Structure):
    _fields_ = [
        *((name, U32) for name in ["groups", "memories", "windows", "devices"]),
        ("group", CGroup * MAX_GROUPS),
        ("memory", CMemory * MAX_MEMORIES),
        ("window", CWindow * MAX_WINDOWS),
        ("device", CDevice * MAX_DEVICES),
    ]


def to_c(platform: Platform) -> CPlatform:
    c = CPlatform(len(platform.groups), len(platform.memories), len(platform.windows), len(platform.devices))
    for i, group in enumerate(platform.groups):
        c.group[i] = _group(platform, group)
    for i, memory in enumerate(platform.memories):
        c.memory[i] = CMemory(
            memory.base, memory.size, memory.banks, memory.hides_wait, memory.is_mapped, memory.bank_bytes,
            memory.refill_port_bytes,
        )  # fmt: skip
        _by_group(platform, memory.latency, c.memory[i].latency)
        _by_group(platform, {**memory.latency, **memory.fetch_latency}, c.memory[i].fetch_latency)
        _by_group(platform, memory.uncached_fetch, c.memory[i].uncached_fetch)
        _set_port(c.memory[i], memory.port)
    for i, window in enumerate(platform.windows):
        mask = sum(1 << platform.group_index(name) for name in window.groups)
        c.window[i] = CWindow(window.base, window.size, window.target, mask, window.test_and_set)
    for i, device in enumerate(platform.devices):
        c.device[i] = CDevice(device.kind, device.base, device.size)
        _by_group(platform, device.latency, c.device[i].latency)
        for j, value in enumerate(device.parameters):
            c.device[i].parameters[j] = value if isinstance(value, int) else _index(platform, value)
    return c


def _group(platform: Platform, group: Group) -> CGroup:
    local = platform.memory_index(group.local_memory) if group.local_memory else NO_MEMORY
    cache, tiles = group.cache, group.tiles or Tiles(0, 0)
    return CGroup(
        group.cores, group.first_hart, group.flavour, group.has_float, group.boots, local,
        cache.private_sets, cache.private_ways, cache.shared_banks, cache.shared_sets, cache.shared_ways,
        cache.on_at_reset, group.fpus, cache.last_core_private_sets, group.loads_in_flight,
        tiles.count, tiles.cores, tiles.per_group, tiles.with_cores or tiles.per_group, tiles.sequential_bytes,
        sum(1 << EXTENSIONS.index(name) for name in group.extensions), group.timing is not None,
        core_timing.to_c(group.timing),
    )  # fmt: skip


def _set_port(memory: CMemory, port: ReadPort) -> None:
    memory.line_wait, memory.line_bytes, memory.line_ways = port.wait, port.line_bytes or WORD, port.cache_ways
    memory.reads_ahead, memory.is_one_cache = port.prefetch, port.one_cache
    memory.code_cache_bytes, memory.data_cache_bytes = port.instruction_cache_bytes, port.data_cache_bytes


def _by_group(platform: Platform, values: Mapping[str, int], target: ctypes.Array[ctypes.c_uint32]) -> None:
    for name, value in values.items():
        target[platform.group_index(name)] = value


def _index(platform: Platform, name: str) -> int:
    names = [memory.name for memory in platform.memories]
    return names.index(name) if name in names else platform.group_index(name)
