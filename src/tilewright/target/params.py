"""The fields of kernels' parameter structs: what the kernels of an operator are told besides pointers.

Functions in `structs/` fill them for the operators that any target may have:

    @params_for(Clip)
    def clip_params(op: Clip, types: Types) -> Params: ...

An operator that only some targets have, in the form of their kernels, has a method `params`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from tilewright.ir.half_floats import computed
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType

Types = Mapping[str, TensorType]
"""Operand and result types by their names in the operator."""
AnyOp = TypeVar("AnyOp", bound=Op)
Fill = Callable[[AnyOp, Types], Params]

_fills: dict[type[Op], Fill[Any]] = {}


def params_for(kind: type[AnyOp]) -> Callable[[Fill[AnyOp]], Fill[AnyOp]]:
    """The function below it fills the struct for operators of a kind, and of those derived from it that have none."""

    def known(fill: Fill[AnyOp]) -> Fill[AnyOp]:
        _fills[kind] = fill
        return fill

    return known


def params_of(op: Op, types: Types) -> Params:
    """The fields of the struct that kernels of an operator take, if they say no other; floats of 16 bits count as what
    they are computed as."""
    types = {name: computed(kind) for name, kind in types.items()}
    own: Callable[[Types], Params] | None = getattr(op, "params", None)
    if own is not None:
        return own(types)
    if (fill := fill_of(type(op))) is None:
        raise NotImplementedError(type(op).__name__)
    return fill(op, types)


def fill_of(kind: type[Op]) -> Fill[Any] | None:
    """The function for a kind of operators, or for what it is derived from."""
    _read_structs()
    return next((_fills[base] for base in kind.__mro__ if base in _fills), None)


@cache
def _read_structs() -> None:
    """The functions in `structs/`: any kernel may be one of the operators that these are for."""
    for path in sorted((Path(__file__).parent / "structs").glob("[a-z]*.py")):
        importlib.import_module(f"{__package__}.structs.{path.stem}")
