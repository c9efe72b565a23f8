"""Kernels: C functions that compute operators, what they take and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path

from tilewright.ir.op import Op, Params
from tilewright.ir.requant import roundings_of
from tilewright.ir.rounding import ALL, Rounding, names
from tilewright.ir.types import Array
from tilewright.records import dataclass
from tilewright.target.in_c import InC, WorkInC
from tilewright.target.params import Types as Types
from tilewright.target.params import params_of

Features = Callable[[Op, Types, Mapping[str, int], int], tuple[float, ...]]
"""Of an operator, the types of a whole layer, the extents of the loops in a tile and the number of cores."""


@dataclass(frozen=True)
class CycleEstimate:
    """Cycles of a kernel call."""

    cores: float = 0.0
    """All of it, or what the cores finish when the accelerator has ended."""
    submitting: float = 0.0
    """Until the core that submits the work to an accelerator returns."""
    engine: float = 0.0
    """From then until the accelerator has ended."""
    fills_queue: bool = False
    """Whether the core does not return before the accelerator has finished what was submitted earlier."""

    def plus(self, other: CycleEstimate, times: float = 1.0) -> CycleEstimate:
        return CycleEstimate(
            self.cores + times * other.cores, self.submitting + times * other.submitting,
            self.engine + times * other.engine, self.fills_queue or other.fills_queue,
        )  # fmt: skip


Cycles = Callable[[Op, Types, Mapping[str, int], int], CycleEstimate]
"""Arguments as those of features."""


def always_supported(op: Op, types: Types) -> str | None:
    return None


def nothing_in_place(op: Op, types: Types) -> frozenset[str]:
    return frozenset()


def no_operand(op: Op) -> frozenset[str]:
    return frozenset()


def all_of_it(op: Op, types: Types) -> object:
    return op


@dataclass(frozen=True)
class ConstantPiece:
    """Bytes of a constant that an accelerator reads together."""

    ranges: tuple[tuple[int, int], ...]
    """First bytes, and those behind the last."""
    cycles: float
    """That an accelerator takes less where it finds them in RAM."""

    @property
    def bytes(self) -> int:
        return sum(last - first for first, last in self.ranges)


@dataclass(frozen=True, eq=False)
class DividedOp:
    """An operator that reads its constants in several memories."""

    op: Op
    constants: Mapping[str, Array]
    """By the operands that have others now."""
    further: tuple[Array, ...]
    """Of each further memory: operands behind all others."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A C function that computes an operator.

    `signature` lists the pointer arguments in order, results after `->`: `X W B:int32 -> Y`. An argument with a type
    has always that type in C; the others are template parameters: `kernels/gather.c` is compiled once for every
    combination of their types, with TW_X, TW_W, TW_Y defined to the C types and TW_NAME to the function's name.
    """

    op: type[Op]
    source: str
    signature: str
    dtypes: Mapping[str, frozenset[str]]
    """The element types that each template argument may have."""
    params: Callable[[Op, Types], Params] = params_of
    scratch: InC | Callable[[Op, Types], int] | None = None
    """What says the bytes of working memory that the function needs during the call: a function in C beside it, or in
    Python of a kernel that is made from a declaration or comes from outside. Without one it takes no pointer to any."""
    unsupported_reason: Callable[[Op, Types], str | None] = always_supported
    """Why this kernel cannot take a node, or None."""
    roundings: frozenset[Rounding] = ALL
    """Those that the C has, of an operator that requantises."""
    cooperative: bool = False
    """All cores of a cluster call it with the same arguments and split the work; otherwise each call is one core's."""
    unsplit_loops: frozenset[str] = frozenset()
    """Loops of the operator that a tile of this kernel must cover."""
    multiples: Mapping[str, int] = field(default_factory=dict)
    """Loop -> what tile sizes along it should be multiples of."""
    at_once: Mapping[str, int] = field(default_factory=dict)
    """Loop -> how many of it are computed together. Any number is, but one that is no multiple takes longer."""
    min_tile: Mapping[str, int] = field(default_factory=dict)
    """Loop -> what no tile along it may be smaller than, the last one included."""
    instead: str = ""
    """The source of a kernel that computes the same in smaller tiles: stacks have room for it, so that it can take what
    this one leaves no room for in L1."""
    in_place: Callable[[Op, Types], frozenset[str]] = nothing_in_place
    """Operands whose place the result may take, besides what the operator allows all kernels: it has read what it still
    needs before it writes there."""
    stack: int = 0
    """Bytes of stack that a call needs; 0 where the target's table of measured stacks says it."""
    features: Features | None = None
    work: WorkInC | None = None
    """What says the units of work that the cycles of a call are a weighted sum of: a function in C beside it. Without
    one they are rows, points of the loop nest and elements of the results."""
    activations: tuple[type[Op], ...] = ()
    """Those that it applies to its results where the operator has one."""
    header: str = ""
    """The header with the parameter struct; by default the source's name with `.h`."""
    around: str = ""
    """A header that comes before all of the source and makes another kernel of it, which has both names."""
    offloaded: bool = False
    """One core calls it, which only submits the work to an accelerator and returns; the runtime waits for the end."""
    can_preprogram: bool = False
    """Until it has described its first job to the accelerator it looks at its parameters only: that may happen while
    its operands are still made."""
    in_order: bool = False
    """Its jobs read and write nothing before those that the accelerator got earlier have ended: a layer may be
    submitted while what it reads is still to be made there. It may have more jobs than wait at once."""
    single_buffered: frozenset[str] = frozenset()
    """Operands of which one buffer may do where all else has two: another part of one comes when the accelerator has
    ended the last tile with the part before."""
    has_prologue: bool = False
    """Before an offloaded tile, all cores call the function's `_gather` with the same arguments: it brings operands
    into the working memory in the form in which the accelerator reads them."""
    has_epilogue: bool = False
    """After an offloaded tile, all cores call the function's `_finish` with the same arguments: it makes the results
    from what the accelerator left in the working memory."""
    waits: bool = False
    """Whether that function waits for the accelerator too, as no runtime does: it has one job at a time."""
    copies_operands: bool = False
    """Of a kernel that submits work: it has read its operands when it returns."""
    has_several: bool = False
    """Of such a kernel: there may be several jobs all the same, each of which is waited for by itself."""
    epilogue_operands: Callable[[Op], frozenset[str]] = no_operand
    """Operands that nobody but `_finish` reads."""
    prefer_adjacent: tuple[str, str] | None = None
    """Two operands that it likes to have one right behind the other in L1, in either order."""
    resident: frozenset[str] = frozenset()
    """Constants that the accelerator reads where they lie in the weight memory: they are never streamed."""
    copied_operand: str = ""
    """Constants that an accelerator reads itself, and sooner where they lie in RAM."""
    where_copied: Callable[[Op, Mapping[str, Array]], Op] | None = None
    """The operator where they do, which takes other cycles, of it and of its constants."""
    constant_pieces: Callable[[Op, Mapping[str, Array]], Sequence[ConstantPiece]] | None = None
    """Parts of them that may lie in memories of their own; `divided` makes the operator that finds them there, of the
    pieces that stay and those that go to each further memory."""
    divided: Callable[[Op, Mapping[str, Array], Sequence[Sequence[ConstantPiece]]], DividedOp] | None = None
    cycles: Cycles | None = None
    """Known cycles of a call; otherwise features are fitted."""
    picojoules: Callable[[Op, Types, Mapping[str, int]], float] | None = None
    """What a call spends on an accelerator whose energy no simulator counts, if that is declared."""
    planning_key: Callable[[Op, Types], object] = all_of_it
    """What of an operator decides, besides types, how it is cut into tiles, how many parameter structs and how much
    working memory they need, and their cycles. Nodes in which that is equal are planned once: a kernel says less than
    all of it where operators of one network differ in numbers that only results depend on."""
    samples: Callable[[], Iterable[tuple[Op, Sequence[Array | None]]]] | None = None
    """Operators with operands to fit features with, of a kernel whose operator only its target has."""

    @cached_property
    def stem(self) -> str:
        return "_".join(Path(name).stem for name in (self.around, self.source) if name)

    @property
    def params_header(self) -> str:
        return self.header or f"{Path(self.source).stem}.h"

    @property
    def params_type(self) -> str:
        return f"tw_{Path(self.params_header).stem}_params"

    def allowed(self, argument: Argument) -> frozenset[str] | None:
        """The element types that an argument may have; None for any."""
        return frozenset({argument.dtype}) if argument.dtype else self.dtypes.get(argument.stem)

    @property
    def takes_floats(self) -> bool:
        """Whether its first operand and its first result may be floats."""
        arguments = self.arguments()
        ends = [arguments[0], next(argument for argument in arguments if argument.is_result)]
        return all(allowed is None or "float32" in allowed for allowed in map(self.allowed, ends))

    def takes(self, op: Op, types: Types) -> bool:
        """Whether it computes an operator of its kind with operands and results of these types."""
        for argument in self.arguments():
            allowed, kind = self.allowed(argument), types.get(argument.stem)
            if allowed is not None and kind is not None and kind.dtype not in allowed:
                return False
        return self.unsupported_rounding(op) is None and self.unsupported_reason(op, types) is None

    def unsupported_rounding(self, op: Op) -> str | None:
        """Why it does not round as the operator does, or None."""
        others = frozenset[Rounding]() if self.roundings is ALL else roundings_of(op) - self.roundings
        return f"it is rounded {names(others)}, the kernel has {names(self.roundings)}" if others else None

    def scratch_bytes(self, op: Op, types: Types) -> int:
        """Of working memory that a call needs."""
        if self.scratch is None:
            return 0
        if isinstance(self.scratch, InC):
            return self.scratch(self.params(op, types), types)
        return self.scratch(op, types)

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


def _argument(word: str, is_result: bool) -> Argument:
    name, _, dtype = word.partition(":")
    return Argument(name, dtype, is_result)
