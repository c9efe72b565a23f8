"""The base of all operators: geometry, meaning and import, each stated once.

An operator is a frozen dataclass whose fields are its attributes. It names its operands and results, says how each
of them is indexed by named loops, and what it computes in numpy. Shapes, tile footprints, reductions and work follow.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias

from tilewright.errors import Refusal
from tilewright.ir.adjoint import Adjoint, Gradients
from tilewright.ir.affine import Affine, Box, Span
from tilewright.ir.onnx_node import OnnxNode
from tilewright.ir.requant import roundings_of
from tilewright.ir.rounding import ALL, Rounding, names
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.records import dataclass

Index = Mapping[str, tuple[Affine, ...]]
"""For each operand and result, one expression per axis."""
REMEMBERED = "_index"

Param: TypeAlias = "int | float | tuple[int, ...] | list[int] | Mapping[str, Param]"
Params = dict[str, Param]
"""The fields of a kernel's C parameter struct: a tuple is an array inside the struct, a list an array that the field
points to (any length), a dict a struct inside the struct."""


@dataclass(frozen=True)
class Limit:
    """How much of an axis of an operand is looked at, which is known only when the operator runs."""

    axis: int
    operand: str
    """The one whose single element, an int32, says it."""
    more: int
    """Added to that."""

    def elements(self, value: int, size: int) -> int:
        """Of an axis of that size; `value` is the operand's element."""
        return min(max(value + self.more, 0), size)


@dataclass(frozen=True)
class Op:
    operands: ClassVar[tuple[str, ...]] = ("X",)
    """Input names in ONNX order; `B?` may be absent, `X*` stands for X0, X1, ..."""
    results: ClassVar[tuple[str, ...]] = ("Y",)
    elementwise: ClassVar[bool] = False
    """Element i of the result needs only element i of each operand, so that the result may take an operand's place."""
    overwrites: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Result -> the operand whose place it may take although it is not element by element: the kernel leaves there what
    it does not write."""
    view: ClassVar[bool] = False
    """The result is the first operand's bytes under another shape: nothing is computed."""
    domains: ClassVar[tuple[str, ...]] = ()
    """The ONNX domains in which the name means this operator; any where there are none."""
    roundings: ClassVar[frozenset[Rounding]] = ALL
    """Those that it has a meaning for, where it requantises."""
    multiplies: ClassVar[bool] = False
    """Each point of the loop nest is one multiply-accumulate."""
    uneven: ClassVar[frozenset[str]] = frozenset()
    """Loops of whose parts `footprint` says what they read. Parts of all others see what the index says."""
    names_type: ClassVar[bool] = False
    """It says itself which element type its result has; of others it is that of operands (`ir/half_floats.py`)."""

    def __init_subclass__(cls) -> None:
        """An index follows from the shapes alone, and is asked for again and again with the same ones."""
        super().__init_subclass__()
        if "index" in cls.__dict__:
            cls.index = _remembered(cls.index)  # type: ignore[method-assign, assignment]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled or copied: not the index, which is remembered beside a function that cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != REMEMBERED}

    # ---- geometry -------------------------------------------------------------------------------------------------

    def index(self, shapes: Shapes) -> Index:
        """How each operand and result is indexed. A loop absent from every result is a reduction."""
        raise NotImplementedError(type(self).__name__)

    @property
    def has_loops(self) -> bool:
        """Whether it says how operands and results are indexed."""
        return type(self).index is not Op.index

    @property
    def can_be_cut(self) -> bool:
        """Whether a part of its loops sees what the index says, and no more."""
        return self.has_loops and type(self).footprint is Op.footprint

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        """(operand, axis) -> how far its index may run before and after the axis."""
        return {}

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        """Loops that a tile must cover whole."""
        return frozenset()

    def extents(self, shapes: Shapes) -> dict[str, int]:
        """The number of values of each loop, solved from the operands' shapes."""
        extents: dict[str, int] = {}
        index, padding = self.index(shapes), self.padding_of(shapes)
        axes = [
            (expression, size + padding.get((name, axis), (0, 0))[1])
            for name, shape in shapes.items()
            for axis, (expression, size) in enumerate(zip(index[name], shape, strict=True))
        ]
        while solved := [axis for axis in axes if len(_unknown(axis[0], extents)) == 1]:
            expression, end = solved[0]
            (loop,) = _unknown(expression, extents)
            extents[loop] = _room(expression, loop, end, extents)
        return extents

    def footprint(self, shapes: Shapes, box: Box) -> dict[str, tuple[Span, ...]]:
        """The range of every axis of every operand and result that a box of loop values touches.

        Ranges may run over the edge of a tensor: the part outside is padding (or another operand's, in a Concat).
        """
        index = self.index(shapes)
        return {name: tuple(axis.span(box) for axis in axes) for name, axes in index.items()}

    def at(self, shapes: Shapes, box: Box) -> Op:
        """The operator as seen from inside one tile, where operands are clipped to their tensors."""
        return self

    def bytes_order(self, shapes: Shapes) -> tuple[str, tuple[int, ...]] | None:
        """Of a view whose operand and result have their elements in different orders: the one of them that is not as
        its bytes lie, and its axes as these have them, outermost first."""
        return None

    def limits(self, shapes: Shapes) -> Mapping[str, Limit]:
        """Operands of which what lies behind a limit need not be there."""
        return {}

    def reductions(self, shapes: Shapes) -> frozenset[str]:
        """Loops that no result is indexed by."""
        index = self.index(shapes)
        used = {loop for axes in index.values() for axis in axes for loop in axis.loops}
        kept = {loop for name in index if name not in shapes for axis in index[name] for loop in axis.loops}
        return frozenset(used - kept)

    def macs(self, shapes: Shapes) -> int:
        return math.prod(self.extents(shapes).values()) if self.multiplies else 0

    def least_macs(self, shapes: Shapes) -> int:
        """Those that every run needs, whatever values operands have; none where values say how much is looked at."""
        return 0 if self.limits(shapes) else self.macs(shapes)

    # ---- types ----------------------------------------------------------------------------------------------------

    def check(self, types: Mapping[str, TensorType]) -> None:
        """Raise `Refusal` for operands that this operator cannot take."""

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        index, extents = self.index(shapes), self.extents(shapes)
        if (least := min(extents.values(), default=0)) < 0:
            raise Refusal(f"an axis of the result would have {least} elements", "check sizes, pads and strides")
        box = {loop: (0, extent) for loop, extent in extents.items()}
        names = [name for name in index if name not in shapes]
        return tuple(tuple(axis.span(box)[1] for axis in index[name]) for name in names)

    def result_dtypes(self, dtypes: Mapping[str, str]) -> tuple[str, ...]:
        """One per result; the first operand's unless an operator says otherwise."""
        first = next(iter(dtypes.values()))
        return (first,) * len(self.results)

    def infer(self, types: Mapping[str, TensorType]) -> tuple[TensorType, ...]:
        if self.roundings is not ALL and (others := roundings_of(self) - self.roundings):
            raise Refusal(f"it is rounded {names(others)}; it has {names(self.roundings)}")
        self.check(types)
        shapes = self.result_shapes({name: kind.shape for name, kind in types.items()})
        dtypes = self.result_dtypes({name: kind.dtype for name, kind in types.items()})
        return tuple(TensorType(dtype, shape) for dtype, shape in zip(dtypes, shapes, strict=True))

    # ---- meaning --------------------------------------------------------------------------------------------------

    # `Any` lets a subclass name its operands: def numpy(self, X, W, B=None).
    def numpy(self, *arrays: Any, **named: Any) -> Any:
        """The meaning, on whole tensors or on one tile (of `self.at(tile)`); several results are a tuple."""
        return self.finish(self.accumulate(*arrays), _shapes_of(self, arrays), *arrays)

    def accumulate(self, *arrays: Any, **named: Any) -> Array:
        """The wide partial result over one part of the reduction loops."""
        raise NotImplementedError(type(self).__name__)

    def combine(self, left: Array, right: Array) -> Array:
        """Two partial results of the same output tile as one."""
        return left + right

    def finish(self, total: Array, shapes: Shapes, *arrays: Any, **named: Any) -> Array:
        """From the complete wide result to the result: bias, division, requantisation."""
        return total

    def gradients(self, at: Adjoint) -> Gradients:
        """The gradients by operands, from those by results."""
        raise Refusal("it has no gradient")

    @classmethod
    def has_rule(cls) -> bool:
        """Whether there are gradients, though the rule may refuse some attributes."""
        return cls.gradients is not Op.gradients

    def swapped(self) -> Op | None:
        """The same with its first two operands exchanged; None where nothing is."""
        return None

    # ---- import and code ------------------------------------------------------------------------------------------

    @classmethod
    def from_onnx(cls, node: OnnxNode) -> tuple[Op, Sequence[str]]:
        """The operator for an ONNX node and the tensors it keeps as operands. Fields are attributes of that name."""
        values = {field.name: node.attribute(field.name, field.default) for field in dataclasses.fields(cls)}
        return cls(**values), node.inputs

    @classmethod
    def expand(cls, node: OnnxNode, emit: Emit) -> Sequence[str]:
        """Emit what stands for an ONNX node; operators that are shorthand for others override this."""
        op, inputs = cls.from_onnx(node)
        return emit(op, inputs, node.outputs)

    @property
    def bodies(self) -> tuple[Any, ...]:
        """Graphs that are part of what it means: of control flow."""
        return ()

    # ---- names ----------------------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return type(self).__name__

    def operand_names(self, count: int) -> tuple[str, ...]:
        """The names of the first `count` inputs."""
        return _operand_names(self.operands, count)

    def bind(self, values: Sequence[Any | None]) -> dict[str, Any]:
        """Operand name -> value, without the absent ones."""
        names = self.operand_names(len(values))
        for name, value in zip(names, values, strict=True):
            if value is None and f"{name}?" not in self.operands:
                raise Refusal(f"input {name} is missing")
        required = [name for name in self.operands if not name.endswith(("?", "*"))]
        for name in required[len(names) :]:
            raise Refusal(f"input {name} is missing")
        return {name: value for name, value in zip(names, values, strict=True) if value is not None}

    def result_names(self, count: int) -> tuple[str, ...]:
        if self.results[-1].endswith("*"):
            return tuple(f"{self.results[-1][:-1]}{i}" for i in range(count))
        return self.results[:count]

    def attributes(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __str__(self) -> str:
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{self.kind}({', '.join(changed)})" if changed else self.kind


@functools.cache
def _operand_names(operands: tuple[str, ...], count: int) -> tuple[str, ...]:
    if operands[-1].endswith("*"):
        fixed = [name.rstrip("?") for name in operands[:-1]]
        return (*fixed, *(f"{operands[-1][:-1]}{i}" for i in range(count - len(fixed))))
    if count > len(operands):
        raise Refusal(f"{count} inputs given, at most {len(operands)} expected")
    return tuple(name.rstrip("?") for name in operands[:count])


def _remembered(index: Callable[[Any, Shapes], Index]) -> Callable[[Any, Shapes], Index]:
    """The last result stays with the operator, for the shapes that it was asked with."""

    @functools.wraps(index)
    def remembering(self: Op, shapes: Shapes) -> Index:
        asked = (index, tuple(shapes.items()))
        known = self.__dict__.get(REMEMBERED)
        if known is None or known[0] != asked:
            self.__dict__[REMEMBERED] = known = (asked, index(self, shapes))
        return known[1]

    return remembering


def _unknown(expression: Affine, extents: Mapping[str, int]) -> list[str]:
    return [loop for loop in expression.loops if loop not in extents]


def _room(expression: Affine, loop: str, end: int, extents: Mapping[str, int]) -> int:
    """How many values of `loop` keep the expression below `end`, the others being known."""
    used = expression.offset + expression.width - 1
    coefficient = 1
    for name, factor in expression.terms:
        if name == loop:
            coefficient = factor
        else:
            used += factor * (extents[name] - 1)
    return (end - 1 - used) // coefficient + 1


def _shapes_of(op: Op, arrays: Sequence[Array | None]) -> Shapes:
    names = op.operand_names(len(arrays))
    return {name: array.shape for name, array in zip(names, arrays, strict=True) if array is not None}


class Emit(Protocol):
    """Adds operators to the graph that is being built."""

    def __call__(self, op: Op, inputs: Sequence[str], outputs: Sequence[str] | None = None) -> Sequence[str]: ...

    def constant(self, array: Array, hint: str = "constant") -> str: ...

    def type_of(self, tensor: str) -> TensorType: ...

    def fresh(self, hint: str) -> str: ...

    def word(self, text: str) -> int: ...

    def note(self, text: str) -> None: ...
