"""Which tensors of a QuantLab-style graph are integers, although they are declared as floats.

Such exporters store integers in FLOAT tensors. The graph's own operators prove it: what RequantShift gives or takes is
an integer, and so is everything that only integer arithmetic lies between. Sample values are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array, narrowest
from tilewright.records import dataclass

DIALECT = frozenset({
    "RequantShift", "RequantizedConv", "RequantizedGemm", "RQMatMul", "RequantizedAdd", "iSoftmax", "ITAMax",
    "ITAPartialMax", "iLayerNorm", "iRMSNorm", "iNoNorm", "iGELU", "RequantizediGELU", "iHardswish", "IntegerDiv",
    "TrueIntegerDiv", "IntegerMean",
})  # fmt: skip
"""Operators that take integers and give integers."""

CLOSED = frozenset({
    "Abs", "Add", "Concat", "Conv", "DepthToSpace", "Expand", "Flatten", "Gather", "Gemm", "GlobalMaxPool", "Identity",
    "MatMul", "Max", "MaxPool", "Min", "Mul", "Neg", "Pad", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum",
    "Relu", "Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze", "Sub", "Sum", "Tile", "Transpose", "Unsqueeze",
    "Clip", "Where",
})  # fmt: skip
"""Standard operators that give integers for integers."""

MOVEMENT = frozenset({
    "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "SpaceToDepth", "Split",
    "Squeeze", "Tile", "Transpose", "Unsqueeze",
})  # fmt: skip
"""Those that only move values: on constants they mean the same before and after the values become integers."""

DATA_INPUTS = {
    "Expand": (0,), "Gather": (0,), "Pad": (0, 2), "Reshape": (0,), "Slice": (0,), "Split": (0,), "Squeeze": (0,),
    "Tile": (0,), "Unsqueeze": (0,), "Where": (1, 2), "ReduceMax": (0,), "ReduceMean": (0,), "ReduceMin": (0,),
    "ReduceSum": (0,),
}  # fmt: skip
"""Where not every input is a value: which ones are."""


@dataclass(frozen=True)
class Arc:
    """What the analysis needs of a node."""

    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def data(self) -> tuple[str, ...]:
        positions = DATA_INPUTS.get(self.kind, range(len(self.inputs)))
        return tuple(self.inputs[i] for i in positions if i < len(self.inputs) and self.inputs[i])


def integer_tensors(
    arcs: Sequence[Arc], constants: Mapping[str, Array], candidates: Collection[str], given: Collection[str]
) -> frozenset[str]:
    """The tensors that are dialect integers; `given` are those the user says are.

    Only `candidates` can be: inputs and constants that are declared (or default to) FLOAT, and what nodes make.
    """
    proven = set(given)
    for arc in arcs:
        if arc.kind in DIALECT:
            proven.update(name for name in (*arc.data, *arc.outputs) if name in candidates)
        if arc.kind == "Quant":
            proven.update(arc.outputs)
        if arc.kind == "Dequant":
            proven.update(name for name in arc.data[:1] if name in candidates)
    _spread(arcs, constants, candidates, proven)
    _refuse_fractions(arcs, constants, proven)
    _refuse_contradictions(arcs, constants, given)
    return frozenset(proven)


def as_integers(array: Array) -> Array:
    """An integer-valued float array in the smallest of the usual types."""
    low, high = (array.min(), array.max()) if array.size else (0, 0)
    return array.astype(narrowest(low, high, ("int8", "uint8", "int16", "int32")) or "int64")


def is_integral(array: Array) -> bool:
    """Whether all values are whole numbers that an int64 can hold."""
    return bool(np.all(np.abs(array.astype(np.float64)) < 2**63) and np.all(array == np.round(array)))


def _spread(arcs: Sequence[Arc], constants: Mapping[str, Array], candidates: Collection[str], proven: set[str]) -> None:
    """To a fixed point: an integer result needs integer operands, and integer operands give an integer result."""
    touching: dict[str, list[Arc]] = {}
    for arc in arcs:
        if arc.kind in CLOSED:
            for name in {*arc.data, *arc.outputs}:
                touching.setdefault(name, []).append(arc)
    fits = cache(lambda name: is_integral(constants[name]) and _is_small(constants[name]))
    news = list(proven)
    while news:
        for arc in touching.get(news.pop(), ()):
            if any(name in proven for name in arc.outputs) or _only_integers(arc, constants, proven, fits):
                found = {name for name in (*arc.data, *arc.outputs) if name in candidates and name not in proven}
                proven |= found
                news += found


def _only_integers(
    arc: Arc, constants: Mapping[str, Array], proven: Collection[str], fits: Callable[[str], bool]
) -> bool:
    """Every operand is an integer by proof, or a constant that can be one."""
    return all(name in proven or (name in constants and fits(name)) for name in arc.data)


def _is_small(array: Array) -> bool:
    return array.size == 0 or float(np.abs(array).max()) < 2**31


def _refuse_fractions(arcs: Sequence[Arc], constants: Mapping[str, Array], proven: set[str]) -> None:
    for arc in arcs:
        for name in arc.inputs:
            if name in proven and name in constants and not is_integral(constants[name]):
                raise _fractions(arc, name)


def _refuse_contradictions(arcs: Sequence[Arc], constants: Mapping[str, Array], given: Collection[str]) -> None:
    """What the user says to be an integer meets a constant that cannot be one."""
    for arc in arcs:
        if arc.kind in CLOSED and any(name in given for name in arc.data):
            for name in arc.data:
                if name in constants and not is_integral(constants[name]):
                    raise _fractions(arc, name)


def _fractions(arc: Arc, constant: str) -> CompileError:
    return CompileError(
        f"node '{arc.name}' ({arc.kind})",
        f"works on integers, but constant '{constant}' holds other values",
        "an integer graph needs integer constants: check the export, or drop --dtype",
    )
