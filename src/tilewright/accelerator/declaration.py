"""What an accelerator is, as plain data: `accelerator.py` of its folder makes one of these and calls it ACCELERATOR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tilewright.passes import Pass
from tilewright.records import dataclass

MADE = "Generated from the accelerator's declaration: change that instead."
"""What files say that are written from it."""
WORD = 4
"""Bytes of a register."""
READ_WRITE, READ_ONLY = "rw", "r"
CHANNELS_FIRST, CHANNELS_LAST = "channels first", "channels last"
REQUANTISE = "requantise"


@dataclass(frozen=True)
class Register:
    name: str
    offset: int
    access: str = READ_WRITE
    """rw, r or w, as the core sees it."""
    says: str = ""
    """For the documentation."""


def registers(words: str, first: int = 0) -> tuple[Register, ...]:
    """One word each, one behind the other: `registers("input output control:w status:r")`."""
    pairs = (word.partition(":") for word in words.split())
    return tuple(Register(name, first + WORD * i, access or READ_WRITE) for i, (name, _, access) in enumerate(pairs))


@dataclass(frozen=True)
class Condition:
    """What a layer must fulfil; where it does not, the name is what the user reads."""

    name: str
    holds: str
    """An expression over the numbers of the whole layer."""


@dataclass(frozen=True)
class Poll:
    """The core reads a register until the bits are set; the device clears them when a job starts."""

    register: str
    bits: int = 1


@dataclass(frozen=True)
class Event:
    """The same, but where cores can sleep they do: the device raises a line of the event unit besides."""

    register: str
    line: int
    bits: int = 1


@dataclass(frozen=True)
class Scratchpad:
    """The device's own memory. A job's operands and results must fit: layers are cut into jobs that do."""

    bytes: int
    holds: tuple[str, ...] = ()
    """Operands and results that a job has there as a whole; all of them where none is named."""


@dataclass(frozen=True)
class Packing:
    """A constant operand in the order in which the device reads it, packed when the network is compiled.

    `order` names loops of the operator, outermost first; `f:16` is the part of loop f inside blocks of 16, `f/16` the
    block. `"f/16 c r s f:16"` has sixteen filters side by side; what blocks have too much is filled with zeros.
    """

    order: str


@dataclass(frozen=True)
class Pattern:
    """An operator, or a chain of one and what is fused to it, that the device computes as one job."""

    name: str
    op: str
    """The operator's name, as `tilewright ops` lists it."""
    writes: Mapping[str, str]
    """Register -> what is written there: an operand or result (its address), or an expression."""
    types: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    """Operand or result -> the element types that the device takes."""
    chain: tuple[str, ...] = ()
    """What else is part of the job, in order: `requantise`, operators that follow (`QLinearAdd`, `MaxPool`, `Relu`).
    What belongs to the second operator has a 2 behind its name in all that is said of it (`B2`, `Y2`, `kernel_h2`). A
    layer that requantises fits a pattern that does not: the device gives the totals, and cores requantise them."""
    conditions: tuple[Condition, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    """Loop -> the most that a job has of it; layers are cut into jobs."""
    multiples: Mapping[str, int] = field(default_factory=dict)
    """Loop -> what parts of it should be multiples of where they are cut."""
    cuts: tuple[str, ...] = ()
    """Loops along which a layer may be cut into jobs."""
    layout: str = ""
    """channels first or channels last, of operators that have channels."""
    required: tuple[str, ...] = ()
    """Optional operands that the device always reads: zeros where a layer has none, one value for each filter."""
    packings: Mapping[str, Packing] = field(default_factory=dict)
    cycles: str = ""
    """Of one job, an expression; that of the accelerator where it is empty."""
    picojoules: str = ""
    """As `cycles`."""


@dataclass(frozen=True)
class Bus:
    """What the device's own accesses to memory cost."""

    bytes_per_cycle: float
    overlapped: bool = True
    """Whether they go on while it computes: the longer of both counts, or else the sum."""
    contends: bool = True
    """Whether they compete for the banks of memories, with the cores and with each other."""


@dataclass(frozen=True)
class Rtl:
    """The device in Verilog, where it is not one file `device.v` or `device.sv` whose module is called like the
    accelerator."""

    files: tuple[str, ...] = ()
    """In the folder, in the order in which they are read; device.v or device.sv where none is named."""
    top: str = ""
    """The module; the accelerator's name where it is empty."""
    clock_divider: int = 1
    """Cycles of the SoC in one of the device."""


@dataclass(frozen=True)
class Accelerator:
    name: str
    summary: str
    registers: tuple[Register, ...]
    patterns: tuple[Pattern, ...]
    start: str
    """The register whose writing starts a job."""
    done: Poll | Event
    start_value: int = 1
    base: int = 0
    """Its first address; 0 for the first free page from 0x70000000 on."""
    latency: int = 0
    """Extra cycles of the core for each access to a register."""
    cycles: str = "macs"
    """Of one job, an expression."""
    picojoules: str = ""
    """That a job spends, an expression such as `40 + 0.3 * macs + 1.5 * bytes`. Where it is empty, tables of energy say
    that the accelerator is not counted."""
    scratchpad: Scratchpad | None = None
    bus: Bus | None = None
    parameters: Mapping[str, int | float] = field(default_factory=dict)
    """What may be changed from outside (`--accelerator FOLDER:name=value`): names for expressions and the model."""
    area: str = ""
    """A proxy of its area in any unit, an expression over its parameters and `scratchpad_bytes`: a column of sweeps."""
    least_cycles_per_mac: str = ""
    """Cycles of a multiply-accumulate that is no padding, at best, an expression as `area` is: what no run of a network
    can be below follows from it. Where it is empty, layers that the device could compute count as nothing there."""
    rtl: Rtl | None = None
    reference_passes: tuple[Pass, ...] = ()
    """Rewrites of the quantised graph that say what is right, where the device computes something else than that."""
    passes: tuple[Pass, ...] = ()
    """Rewrites of the lowered graph, after those of the target: for what patterns cannot say."""

    def register(self, name: str) -> Register:
        return next(register for register in self.registers if register.name == name)

    @property
    def bytes(self) -> int:
        """Of its register file."""
        return max((register.offset + WORD for register in self.registers), default=WORD)

    def cycles_of(self, pattern: Pattern) -> str:
        return pattern.cycles or self.cycles

    def picojoules_of(self, pattern: Pattern) -> str:
        return pattern.picojoules or self.picojoules


def texts(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
