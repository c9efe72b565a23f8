"""Several operators that a device computes as one job: an operator of its own, made of theirs.

The result of each is the first operand of the one behind it, and is never stored. What belongs to the second operator
has a 2 behind its name, what belongs to the third a 3: operands, results, numbers, and loops that it does not share
with those before. Loops are shared along axes that both sides walk element by element; others are not cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

from tilewright.accelerator.declaration import REQUANTISE, Pattern
from tilewright.accelerator.finding import find_operator
from tilewright.errors import Refusal
from tilewright.ir.affine import Affine, Box, Span
from tilewright.ir.op import Index, Op, Param, Params
from tilewright.ir.types import Array, Shape, Shapes, TensorType
from tilewright.records import dataclass
from tilewright.target.params import params_of

Types = Mapping[str, TensorType]


# ---- what a pattern names -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One operator of a pattern."""

    op: str
    requantises: bool = False


def steps_of(pattern: Pattern) -> tuple[Step, ...]:
    """A word of `chain` is an operator that follows, or says that the one before requantises."""
    found = [Step(pattern.op)]
    for word in pattern.chain:
        if word == REQUANTISE:
            found[-1] = replace(found[-1], requantises=True)
        else:
            found.append(Step(word))
    return tuple(found)


def may_requantise(kind: type[Op]) -> bool:
    """Whether an operator may requantise or not: of others it is what the operator is."""
    field = kind.__dataclass_fields__.get("requant")
    return field is not None and field.default is None


def kind_of(pattern: Pattern) -> type[Op] | None:
    """The operator that it computes, or the one that is made of several; None where one of them is unknown."""
    kinds = [find_operator(step.op) for step in steps_of(pattern)]
    known = tuple(kind for kind in kinds if kind is not None)
    if len(known) < len(kinds):
        return None
    return known[0] if len(known) == 1 else chained_kind(known)


def part_of(pattern: Pattern, number: int) -> Pattern:
    """What it says of the operator of that number, from 1 on."""
    step = steps_of(pattern)[number - 1]
    kind = find_operator(step.op)
    names = [] if kind is None else [name.rstrip("?*") for name in (*kind.operands, *kind.results)]
    types = {name: pattern.types[own] for name in names if (own := numbered(name, number)) in pattern.types}
    chain = (REQUANTISE,) if step.requantises else ()
    return Pattern(pattern.name, step.op, {}, types=types, chain=chain, layout=pattern.layout)


# ---- names ----------------------------------------------------------------------------------------------------------


def numbered(name: str, number: int) -> str:
    """As a chain calls what belongs to its operator of that number; `B?` stays optional."""
    return name if number == 1 else f"{name.rstrip('?')}{number}{'?' * name.endswith('?')}"


def kind_name(pattern: Pattern) -> str:
    """What the operator of a pattern is called."""
    return chained_name([step.op for step in steps_of(pattern)])


def chained_name(kinds: Sequence[str]) -> str:
    return "+".join(kinds)


@cache
def chained_kind(kinds: tuple[type[Op], ...]) -> type[Chained]:
    """The subclass for these operators, always the same; `Refusal` where they cannot follow each other."""
    for kind in kinds:
        if any(name.endswith("*") for name in (*kind.operands, *kind.results)) or len(kind.results) != 1:
            raise Refusal(f"{kind.__name__} cannot be part of a chain", "operators with one result, and named operands")
        if kind.footprint is not Op.footprint:
            raise Refusal(f"{kind.__name__} cannot be part of a chain: it reads its operands in no regular order")
    operands = [name for number, kind in enumerate(kinds, 1) for name in _own_operands(kind, number)]
    names: dict[str, Any] = {
        "operands": tuple(operands), "results": (numbered(kinds[-1].results[0], len(kinds)),),
        "multiplies": any(kind.multiplies for kind in kinds),
    }  # fmt: skip
    names["__annotations__"] = dict.fromkeys(names, ClassVar)
    made = type(chained_name([kind.__name__ for kind in kinds]), (Chained,), names)
    return dataclass(frozen=True)(made)


def _own_operands(kind: type[Op], number: int) -> list[str]:
    """All but the one that is the result before."""
    own = kind.operands if number == 1 else kind.operands[1:]
    return [numbered(name, number) for name in own]


def chained(parts: Sequence[Op], views: Sequence[Shape | None] = ()) -> Chained:
    return chained_kind(tuple(map(type, parts)))(tuple(parts), tuple(views) if any(views) else ())


# ---- the operator ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chained(Op):
    """Of each sequence of operators there is a subclass with their operands."""

    parts: tuple[Op, ...] = ()
    views: tuple[Shape | None, ...] = ()
    """Of each part the shape in which it reads the result before, where that is another one; empty without any."""

    def _numbered(self) -> Iterator[tuple[int, Op]]:
        return enumerate(self.parts, 1)

    def _given(self, number: int, op: Op, values: Mapping[str, Any], before: Any) -> dict[str, Any]:
        """Operands of a part among those of the chain, by the part's own names."""
        found = {} if number == 1 else {op.operands[0].rstrip("?"): before}
        names = [name.rstrip("?") for name in (op.operands if number == 1 else op.operands[1:])]
        return found | {name: values[own] for name in names if (own := numbered(name, number)) in values}

    def _view(self, number: int) -> Shape | None:
        return self.views[number - 1] if self.views else None

    def _same_axes(self, number: int, before: Shape) -> list[tuple[int, int]]:
        """Axes of the result before, and those of the part's operand that they are."""
        view = self._view(number)
        return [(axis, axis) for axis in range(len(before))] if view is None else same_axes(before, view)

    def part_shapes(self, shapes: Shapes) -> list[dict[str, Shape]]:
        """Of every part's operands."""
        found: list[dict[str, Shape]] = []
        before: Shape = ()
        for number, op in self._numbered():
            found.append(self._given(number, op, shapes, before if (view := self._view(number)) is None else view))
            (before,) = op.result_shapes(found[-1])
        return found

    def part_types(self, types: Types) -> list[dict[str, TensorType]]:
        """Of every part's operands and result."""
        found: list[dict[str, TensorType]] = []
        before: TensorType | None = None
        for number, op in self._numbered():
            view = self._view(number)
            seen = replace(before, shape=view) if before is not None and view is not None else before
            own = self._given(number, op, types, seen)
            (before,) = op.infer(own)
            found.append({**own, op.results[0]: before})
        return found

    # ---- geometry ---------------------------------------------------------------------------------------------------

    def _loops(self, shapes: Sequence[Shapes]) -> tuple[list[dict[str, str]], frozenset[str]]:
        """Of every part what its loops are called here, and those that only the whole of a result in between has."""
        names: list[dict[str, str]] = []
        fixed: set[str] = set()
        extents: dict[str, int] = {}
        made: tuple[Affine, ...] = ()
        before: Shape = ()
        for (number, op), own in zip(self._numbered(), shapes, strict=True):
            index, sizes = op.index(own), op.extents(own)
            read_axes = index[op.operands[0].rstrip("?")]
            same = self._same_axes(number, before)
            links = [(read_axes[read], made[written]) for written, read in same]
            pairs = [(_only_loop(read, sizes), _only_loop(written, extents)) for read, written in links]
            # A window that covers the whole axis may cover padding, too: that is another loop.
            pairs = [pair if sizes.get(pair[0]) == extents.get(pair[1]) else ("", "") for pair in pairs]
            shared = {read: written for read, written in pairs if read and written}
            called = {loop: shared.get(loop) or numbered(loop, number) for loop in sizes}
            for (read, written), pair in zip(links, pairs, strict=True):
                fixed |= set() if all(pair) else {called[loop] for loop in read.loops} | set(written.loops)
            fixed |= {loop for at, axis in enumerate(made) if at not in dict(same) for loop in axis.loops}
            others = set(range(len(read_axes))).difference(read for _, read in same) if number > 1 else set()
            fixed |= {called[loop] for at in others for loop in read_axes[at].loops}
            fixed |= {called[loop] for loop in (*op.unsplittable(own), *op.reductions(own))}
            extents |= {called[loop]: size for loop, size in sizes.items()}
            made = tuple(_renamed(axis, called) for axis in index[op.results[0]])
            (before,) = op.result_shapes(own)
            names.append(called)
        return names, frozenset(fixed)

    def index(self, shapes: Shapes) -> Index:
        own = self.part_shapes(shapes)
        names, _ = self._loops(own)
        found: dict[str, tuple[Affine, ...]] = {}
        for (number, op), part, called in zip(self._numbered(), own, names, strict=True):
            for name, axes in op.index(part).items():
                if numbered(name, number) in (*shapes, *self.results):
                    found[numbered(name, number)] = tuple(_renamed(axis, called) for axis in axes)
        return found

    def mixed_by_view(self, shapes: Shapes) -> str:
        """The first part whose operand's axes are not those of the result before, though its own result has them; a
        sum over several of them is the same sum. Empty without one."""
        before: Shape = ()
        for (number, op), own in zip(self._numbered(), self.part_shapes(shapes), strict=True):
            axes, sizes = op.index(own)[op.operands[0].rstrip("?")], op.extents(own)
            same = {read for _, read in self._same_axes(number, before)}
            loops = {loop for at, axis in enumerate(axes) if at not in same for loop in axis.loops}
            kept = {loop for loop in loops - set(op.reductions(own)) if sizes[loop] > 1}
            if number > 1 and kept:
                return op.kind
            (before,) = op.result_shapes(own)
        return ""

    def padding_of(self, shapes: Shapes) -> Mapping[tuple[str, int], Span]:
        found = zip(self._numbered(), self.part_shapes(shapes), strict=True)
        return {
            (numbered(name, number), axis): span
            for (number, op), own in found
            for (name, axis), span in op.padding_of(own).items()
            if numbered(name, number) in shapes
        }

    def unsplittable(self, shapes: Shapes) -> frozenset[str]:
        return self._loops(self.part_shapes(shapes))[1]

    def extents(self, shapes: Shapes) -> dict[str, int]:
        own = self.part_shapes(shapes)
        parts = zip(self.parts, own, self._loops(own)[0], strict=True)
        return {called[loop]: extent for op, part, called in parts for loop, extent in op.extents(part).items()}

    def at(self, shapes: Shapes, box: Box) -> Op:
        own = self.part_shapes(shapes)
        parts = list(zip(self.parts, own, self._loops(own)[0], strict=True))
        boxes = [{loop: box[name] for loop, name in called.items()} for _, _, called in parts]
        local = tuple(op.at(part, mine) for (op, part, _), mine in zip(parts, boxes, strict=True))
        views = (_local(view, self.parts[at], own[at], boxes[at]) for at, view in enumerate(self.views))
        return replace(self, parts=local, views=tuple(views))

    def macs(self, shapes: Shapes) -> int:
        return sum(op.macs(own) for op, own in zip(self.parts, self.part_shapes(shapes), strict=True))

    # ---- meaning ----------------------------------------------------------------------------------------------------

    def check(self, types: Types) -> None:
        self.part_types(types)

    def result_shapes(self, shapes: Shapes) -> tuple[Shape, ...]:
        return self.parts[-1].result_shapes(self.part_shapes(shapes)[-1])

    def infer(self, types: Types) -> tuple[TensorType, ...]:
        return (self.part_types(types)[-1][self.parts[-1].results[0]],)

    def numpy(self, *arrays: Any, **named: Any) -> Any:
        values = dict(zip(self.operand_names(len(arrays)), arrays, strict=True))
        before: Array | None = None
        for number, op in self._numbered():
            view = self._view(number)
            seen = before.reshape(view) if before is not None and view is not None else before
            own = self._given(number, op, values, seen)
            before = op.numpy(*(own.get(name.rstrip("?")) for name in op.operands))
        return before

    def params(self, types: Types) -> Params:
        """Of all parts, flat."""
        found: Params = {}
        for (number, op), own in zip(self._numbered(), self.part_types(types), strict=True):
            found |= {numbered(name, number): value for name, value in flat(params_of(op, own))}
        return found

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))


def _local(view: Shape | None, op: Op, shapes: Shapes, box: Box) -> Shape | None:
    """What a tile has of an operand's shape."""
    if view is None:
        return None
    axes, sizes = op.index(shapes)[op.operands[0].rstrip("?")], op.extents(shapes)
    loops = [_only_loop(axis, sizes) for axis in axes]
    spans = [box[loop] if loop else (0, size) for loop, size in zip(loops, view, strict=True)]
    return tuple(stop - start for start, stop in spans)


def same_axes(before: Shape, after: Shape) -> list[tuple[int, int]]:
    """Axes that a Reshape leaves as they are, by their numbers before and after it."""
    found: list[tuple[int, int]] = []
    first, second = 0, 0
    while first < len(before) and second < len(after):
        starts, left, right = (first, second), before[first], after[second]
        while left != right and (first + 1 < len(before) if left < right else second + 1 < len(after)):
            if left < right:
                first, left = first + 1, left * before[first + 1]
            else:
                second, right = second + 1, right * after[second + 1]
        found += [(first, second)] if (first, second) == starts and left == right else []
        first, second = first + 1, second + 1
    return found


def _only_loop(axis: Affine, extents: Mapping[str, int]) -> str:
    """The loop that walks along an axis element by element, if it is one alone; those with one value walk nowhere."""
    terms = [term for term in axis.terms if extents[term[0]] > 1] or list(axis.terms[-1:])
    is_plain = len(terms) == 1 and terms[0][1] == 1 and axis.offset == 0 and axis.width == 1
    return terms[0][0] if is_plain else ""


def _renamed(axis: Affine, names: Mapping[str, str]) -> Affine:
    return Affine(tuple((names[loop], factor) for loop, factor in axis.terms), axis.offset, axis.width)


def flat(params: Mapping[str, Param], prefix: str = "") -> Iterator[tuple[str, int | float]]:
    """Fields that are numbers; those of structs inside the struct by both names."""
    for name, value in params.items():
        if isinstance(value, int | float):
            yield f"{prefix}{name}", value
        elif isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}_")


def parts_of(op: Op) -> tuple[Op, ...]:
    """Of a chain, in order; any other operator is its only part."""
    return op.parts if isinstance(op, Chained) else (op,)
