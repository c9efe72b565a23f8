"""What a target is made of: plain data that the generic stages read. Generic code never names a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.op import Op, Params
from tilewright.passes import Pass
from tilewright.types import TensorType

Types = Mapping[str, TensorType]
"""Operand and result types by their names in the operator."""


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
    header: str = ""
    """The header with the parameter struct; by default the source's name with `.h`."""

    @property
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


@dataclass(frozen=True)
class Engine:
    """Something that runs kernels: a core, a cluster, an accelerator."""

    name: str
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True)
class Memory:
    name: str
    bytes: int | None
    """None where the caller decides."""
    alignment: int = 16


@dataclass(frozen=True)
class Target:
    name: str
    summary: str
    engines: tuple[Engine, ...]
    memories: tuple[Memory, ...]
    folder: Path
    """Where `kernels/` and `runtime/` lie."""
    flags: tuple[str, ...] = ()
    """Compiler flags beyond the language standard."""
    libraries: tuple[str, ...] = ()
    passes: tuple[Pass, ...] = ()
    """Rewrites that bring a lowered graph into the form that the target's kernels want, in order."""


def _argument(word: str, is_result: bool) -> Argument:
    name, _, dtype = word.partition(":")
    return Argument(name, dtype, is_result)
