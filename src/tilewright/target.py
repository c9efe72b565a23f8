"""What a target is made of: plain data that the generic stages read. Generic code never names a target."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tilewright.ir import Graph, Node
from tilewright.op import Op, Params
from tilewright.passes import Pass
from tilewright.types import Array, TensorType

Types = Mapping[str, TensorType]
"""Operand and result types by their names in the operator."""

Features = Callable[[Op, Types, Mapping[str, int], int], tuple[float, ...]]
"""Of an operator, the types of a whole layer, the extents of the loops in a tile and the number of cores."""


@dataclass(frozen=True)
class Spent:
    """Cycles of a kernel call."""

    cores: float = 0.0
    """All of it, or what the cores finish when the accelerator has ended."""
    handing: float = 0.0
    """Until the core that hands the work to an accelerator returns."""
    engine: float = 0.0
    """From then until the accelerator has ended."""
    fills_queue: bool = False
    """Whether the core does not return before the accelerator has ended what it was handed earlier."""

    def plus(self, other: Spent, times: float = 1.0) -> Spent:
        return Spent(
            self.cores + times * other.cores, self.handing + times * other.handing, self.engine + times * other.engine,
            self.fills_queue or other.fills_queue,
        )  # fmt: skip


Cycles = Callable[[Op, Types, Mapping[str, int], int], Spent]
"""Arguments as those of features."""


def no_objection(op: Op, types: Types) -> str | None:
    return None


def own_params(op: Op, types: Types) -> Params:
    return op.params(types)


def no_scratch(op: Op, types: Types) -> int:
    return 0


@dataclass(frozen=True, eq=False)
class Kernel:
    """A C function that computes an operator.

    `signature` lists the pointer arguments in order, results after `->`: `X W B:int32 -> Y`. An argument with a type
    has always that type in C; the others are template parameters: `kernels/conv.c` is compiled once for every
    combination of their types, with TW_X, TW_W, TW_Y defined to the C types and TW_NAME to the function's name.
    """

    op: type[Op]
    source: str
    signature: str
    dtypes: Mapping[str, frozenset[str]]
    """The element types that each template argument may have."""
    params: Callable[[Op, Types], Params] = own_params
    scratch: Callable[[Op, Types], int] = no_scratch
    """Bytes of working memory that the function needs during the call."""
    objection: Callable[[Op, Types], str | None] = no_objection
    """Why this kernel cannot take a node, or None."""
    cooperative: bool = False
    """All cores of a cluster call it with the same arguments and split the work; otherwise each call is one core's."""
    whole: frozenset[str] = frozenset()
    """Loops of the operator that a tile of this kernel must cover."""
    multiples: Mapping[str, int] = field(default_factory=dict)
    """Loop -> what tile sizes along it should be multiples of."""
    least: Mapping[str, int] = field(default_factory=dict)
    """Loop -> what no tile along it may be smaller than, the last one included."""
    stack: int = 0
    """Bytes of stack that a call needs; 0 where the target's table of measured stacks says it."""
    features: Features | None = None
    """What the cycles of a call grow with; by default rows, points of the loop nest and elements of the results."""
    header: str = ""
    """The header with the parameter struct; by default the source's name with `.h`."""
    offloaded: bool = False
    """One core calls it, which only hands the work to an accelerator and returns; the runtime waits for the end."""
    prepares: bool = False
    """Until it has described its first job to the accelerator it looks at its parameters only: that may happen while
    its operands are still made."""
    finishes: bool = False
    """After an offloaded tile, all cores call the function's `_finish` with the same arguments: it makes the results
    from what the accelerator left in the working memory."""
    resident: frozenset[str] = frozenset()
    """Constants that the accelerator reads where they lie in the weight memory: they are never streamed."""
    cycles: Cycles | None = None
    """Known cycles of a call; otherwise features are fitted."""
    samples: Callable[[], Iterable[tuple[Op, Sequence[Array | None]]]] | None = None
    """Operators with operands to fit features with, of a kernel whose operator only its target has."""

    @cached_property
    def stem(self) -> str:
        return Path(self.source).stem

    @property
    def params_header(self) -> str:
        return self.header or f"{self.stem}.h"

    @property
    def params_type(self) -> str:
        return f"tw_{Path(self.params_header).stem}_params"

    def allowed(self, argument: Argument) -> frozenset[str] | None:
        """The element types that an argument may have; None for any."""
        return frozenset({argument.dtype}) if argument.dtype else self.dtypes.get(argument.stem)

    def arguments(self) -> tuple[Argument, ...]:
        inputs, outputs = self.signature.split("->")
        return (
            *(_argument(word, False) for word in inputs.split()),
            *(_argument(word, True) for word in outputs.split()),
        )


@dataclass(frozen=True)
class Argument:
    name: str
    dtype: str
    """The fixed element type, or empty for a template parameter."""
    is_result: bool

    @property
    def variadic(self) -> bool:
        return self.name.endswith("*")

    @property
    def stem(self) -> str:
        return self.name.rstrip("*")


@dataclass(frozen=True, eq=False)
class Offer:
    """A node as an engine would compute it: with an operator of its own, and constants in the form that it wants."""

    op: Op
    inputs: tuple[str, ...]
    """Tensors of the graph and names in `constants`; the results are those of the node."""
    constants: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Engine:
    """Something that runs kernels: a core, a cluster, an accelerator."""

    name: str
    kernels: tuple[Kernel, ...]
    offer: Callable[[Graph, Node], Offer] | None = None
    """What it makes of a node, or a `Refusal` that says why not; without it the kernels take nodes as they are."""


@dataclass(frozen=True)
class Memory:
    name: str
    bytes: int | None
    """None where the caller decides."""
    alignment: int = 16


Coefficients = tuple[float, ...]
"""Cycles for each unit of a kernel's features."""


@dataclass(frozen=True)
class Costs:
    """What things take on a cluster, in cycles; fitted by measurement."""

    kernels: Mapping[str, Coefficients] = field(default_factory=dict)
    """By the kernel's stem, or its stem and the width of its elements: `copy.8`."""
    cold: Mapping[str, float] = field(default_factory=dict)
    """What a kernel's first call in a layer takes longer, by its stem, where its code is far."""
    cold_part: float = 1.0
    """How much of that is paid."""
    layer: float = 100.0
    """Between the last kernel of a layer and the first of the next, without transfers."""
    tile: float = 60.0
    """Around each kernel call: waiting, barrier, addresses."""
    command: float = 20.0
    """Of a core, for one transfer command."""
    fetch: float = 250.0
    """Of the mover, for the commands that bring the constants of a later layer while an accelerator works."""
    latency: float = 20.0
    """Of what a tile loads or stores, beyond the bytes and the commands."""
    bytes_per_cycle: float = 8.0
    slow_access: float = 15.0
    """How many times longer a kernel takes that works in the far memory."""
    store_read: float = 1.0
    """For each byte from the store into the far memory."""
    store_write: float = 1.8
    """For each byte the other way."""
    store_setup: float = 40.0
    """Of each such transfer, beyond its bytes."""
    store_command: float = 200.0
    """Of a core, for the command of such a transfer."""
    far_stacks: float = 1.35
    """How many times longer code takes whose stack is not in the near memory."""
    near_code: float = 0.35
    """The part of cold code's cycles that is paid with code in L1, in what a plan leaves free: a missed line takes 5,
    not 9, and layers that come again find some of it in the caches; set by hand on those of a language model."""
    near_code_overheads: Mapping[str, float] = field(default_factory=dict)
    """What layers and tiles take with code in L1, by the names above."""

    def with_near_code(self) -> Costs:
        own = {"layer": self.layer, "tile": self.tile, "latency": self.latency, **self.near_code_overheads}
        return replace(self, cold_part=self.near_code, layer=own["layer"], tile=own["tile"], latency=own["latency"])

    def with_far_stacks(self) -> Costs:
        slower = self.far_stacks
        return replace(
            self, kernels={key: tuple(slower * one for one in known) for key, known in self.kernels.items()},
            cold={key: slower * one for key, one in self.cold.items()}, cold_part=1.0, layer=slower * self.layer,
            tile=slower * self.tile, command=slower * self.command,
        )  # fmt: skip

    @staticmethod
    def read(path: Path) -> Costs:
        """As `tilewright calibrate` has written them."""
        found = json.loads(path.read_text())
        kernels = {key: tuple(values) for key, values in found.pop("kernels").items()}
        return Costs(kernels, **found)


@dataclass(frozen=True)
class Cluster:
    """Cores that share a small software-managed memory, which a DMA engine fills from a larger one."""

    cores: int
    near: str
    """The memory that kernels work in."""
    far: str
    """Where tensors live that do not fit there; cores reach it too, slowly."""
    store: str
    """Where constants and activations go that do not fit the others. Cores do not reach it: constants are staged in the
    far memory, activations come and go through buffers there, tile by tile."""
    spare: str
    """Where activations go that do not fit the far memory; the code lies there too."""
    spare_reserved: int
    """Bytes of it for code, and stacks where the near memory is too small for them."""
    platform: str
    """The simulated SoC that programs for this target run on."""
    reserved: int
    """Bytes of the far memory for code, stacks of other cores and the program around the network."""
    state: int
    """Bytes of the near memory for the runtime's variables."""
    stack: int
    """Bytes of stack for each core beyond what kernels need."""
    mover: int
    """The number of the core that moves data and drives accelerators; it computes nothing."""


@dataclass(frozen=True)
class Settings:
    """What a user may ask of a target with a cluster."""

    cores: int | None = None
    l1: int | None = None
    l2: int | None = None
    home: str = ""
    """The memory that constants live in; empty for the nearest that has room."""
    buffering: str = "auto"
    """single, double or auto."""
    engines: tuple[str, ...] = ()
    time_limit: float = 10.0
    weight_memory: bool = True
    """Whether accelerators may have their weights, and activations be, in the memory that is theirs."""
    placed: tuple[tuple[str, str], ...] = ()
    """Names of nodes and the engines that they are for."""
    code_in_l1: bool = False
    """Whether what L1 has free holds code. The chip's public simulator does not take it: unconfirmed."""


@dataclass(frozen=True)
class Target:
    name: str
    summary: str
    engines: tuple[Engine, ...]
    memories: tuple[Memory, ...]
    folder: Path
    """Where `kernels/` and `runtime/` lie."""
    fallback: Path | None = None
    """The folder of a target whose kernels this one also uses."""
    flags: tuple[str, ...] = ()
    """Compiler flags beyond the language standard."""
    libraries: tuple[str, ...] = ()
    cluster: Cluster | None = None
    """None where one core works in one memory."""
    costs: Costs = field(default_factory=Costs)
    stacks: Mapping[str, int] = field(default_factory=dict)
    """Bytes of stack that a call needs, by the kernel's stem."""
    passes: tuple[Pass, ...] = ()
    """Rewrites that bring a lowered graph into the form that the target's kernels want, in order."""

    def kernel_file(self, name: str) -> Path:
        """A source or header of the kernels."""
        own = self.folder / "kernels" / name
        return own if self.fallback is None or own.is_file() else self.fallback / "kernels" / name


def costs_of(target: Target, settings: Settings) -> Costs:
    """With the code where the settings have it."""
    return target.costs.with_near_code() if settings.code_in_l1 else target.costs


def _argument(word: str, is_result: bool) -> Argument:
    name, _, dtype = word.partition(":")
    return Argument(name, dtype, is_result)
