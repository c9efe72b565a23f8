"""Parts of a block that one instruction could compute: connected, one result, at most three registers read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from tilewright.instruction.search.blocks import Block
from tilewright.instruction.search.decoded import Kind
from tilewright.records import dataclass

INPUTS, MOST, TRIED = 3, 12, 400
"""Registers that an instruction reads; instructions that it stands for; parts that are looked at below one result."""
C = {
    "add": "({0} + {1})", "sub": "({0} - {1})", "and": "({0} & {1})", "or": "({0} | {1})", "xor": "({0} ^ {1})",
    "sll": "({0} << ({1} & 31))", "srl": "({0} >> ({1} & 31))", "sra": "(uint32_t)((int32_t){0} >> ({1} & 31))",
    "slt": "(uint32_t)((int32_t){0} < (int32_t){1})", "sltu": "(uint32_t)({0} < {1})", "mul": "({0} * {1})",
    "mulh": "(uint32_t)(((int64_t)(int32_t){0} * (int32_t){1}) >> 32)",
    "mulhu": "(uint32_t)(((uint64_t){0} * {1}) >> 32)",
    "mulhsu": "(uint32_t)(((int64_t)(int32_t){0} * (int64_t){1}) >> 32)",
}  # fmt: skip
SHIFTS = {"sll": "({0} << {1})", "srl": "({0} >> {1})", "sra": "(uint32_t)((int32_t){0} >> {1})"}
"""By constants."""
NOTHING = ("0u", "0x0u")
COMMUTATIVE = ("add", "and", "or", "xor", "mul", "mulh", "mulhu")
Value = tuple[int, int]
"""A register, and the place in the block where it was written; -1: before."""


@dataclass(frozen=True)
class Cone:
    """A part, where it was found."""

    semantics: str
    """Of rd.u32 (where it is read), rs1.u32 and rs2.u32."""
    places: tuple[int, ...]
    """In the block, ascending; the last one has the result."""
    rs1: int
    rs2: int | None
    accumulates: bool

    @property
    def saved(self) -> int:
        return len(self.places) - 1


class BlockParts:
    """What a block computes, and its cones."""

    def __init__(self, block: Block) -> None:
        self.code, self.live = block.code, block.live

    @cached_property
    def made_by(self) -> list[tuple[Value, ...]]:
        """Of each instruction: the values that it reads."""
        last: dict[int, int] = {}
        found = []
        for at, one in enumerate(self.code):
            found.append(tuple((register, last.get(register, -1)) for register in one.sources))
            if one.rd:
                last[one.rd] = at
        self._last = last
        return found

    @cached_property
    def users(self) -> Mapping[int, frozenset[int]]:
        """Of each instruction whose value is read in the block; len(code) stands for whoever is behind it."""
        found: dict[int, set[int]] = defaultdict(set)
        for at, values in enumerate(self.made_by):
            for _, maker in values:
                found[maker].add(at)
        for register, at in self._last.items():
            if self.live >> register & 1:
                found[at].add(len(self.code))
        return {at: frozenset(users) for at, users in found.items()}

    def cones(self) -> Iterator[Cone]:
        """All, of all results."""
        for root, one in enumerate(self.code):
            if one.kind is Kind.COMPUTES and one.rd:
                for places in self._grown(root):
                    if len(places) > 1 and (cone := self._cone(places)):
                        yield cone

    def _grown(self, root: int) -> set[frozenset[int]]:
        """With ever more of what makes its operands, where nobody else reads that."""
        found = {frozenset({root})}
        waiting = list(found)
        while waiting and len(found) < TRIED:
            part = waiting.pop()
            for place in part:
                for _, maker in self.made_by[place]:
                    larger = part | {maker}
                    if larger not in found and len(larger) <= MOST and self._may_join(maker, part):
                        found.add(larger)
                        waiting.append(larger)
        return found

    def _may_join(self, maker: int, part: frozenset[int]) -> bool:
        return maker >= 0 and self.code[maker].kind is Kind.COMPUTES and self.users[maker] <= part

    def _cone(self, places: frozenset[int]) -> Cone | None:
        order = tuple(sorted(places))
        root = order[-1]
        inputs: list[Value] = []
        text = _Text(self, places, inputs).of(root)
        if not 1 <= len(inputs) <= INPUTS or not all(self._holds(value, root, places) for value in inputs):
            return None
        own = [value for value in inputs if value[0] == self.code[root].rd]
        if len(inputs) == INPUTS and not own:
            return None
        added = own[0] if len(inputs) == INPUTS else None
        others = [value for value in inputs if value != added]
        names = {value: f"rs{number}.u32" for number, value in enumerate(others, 1)} | {added: "rd.u32"}
        semantics = text.format(*(names[value] for value in inputs))
        return Cone(semantics, order, others[0][0], others[1][0] if len(others) > 1 else None, added is not None)

    def _holds(self, value: Value, root: int, places: frozenset[int]) -> bool:
        """Whether the register still has it where the result is made."""
        register, maker = value
        return all(
            self.code[at].rd != register and self.code[at].kind is not Kind.CALLS
            for at in range(maker + 1, root)
            if at not in places
        )


class _Text:
    """An expression with {0}, {1} ... for the inputs, which are told as they come."""

    def __init__(self, parts: BlockParts, places: frozenset[int], inputs: list[Value]) -> None:
        self._parts, self._places, self._inputs = parts, places, inputs

    def of(self, at: int) -> str:
        one = self._parts.code[at]
        operands = list(self._parts.made_by[at])
        if one.name in COMMUTATIVE and one.constant is None:
            operands.sort(key=self._rank)
        texts = [self._operand(value) for value in operands]
        texts += [] if one.constant is None else [f"{one.constant:#x}u"]
        if one.name == "add" and (added := [text for text in texts if text not in NOTHING]) != texts:
            return added[0] if added else "0u"
        if one.name in SHIFTS and one.constant is not None:
            return SHIFTS[one.name].format(texts[0], one.constant & 31)
        return C[one.name].format(*texts)

    def _rank(self, value: Value) -> tuple[int, int]:
        """What is computed within comes last, what is larger behind what is smaller: sums are written in one way."""
        return (0, 0) if value[1] not in self._places else (1, len(self._parts.code[value[1]].name))

    def _operand(self, value: Value) -> str:
        register, maker = value
        if maker in self._places:
            return self.of(maker)
        if register == 0:
            return "0u"
        if value not in self._inputs:
            self._inputs.append(value)
        return f"{{{self._inputs.index(value)}}}"


def apart(cones: Sequence[Cone]) -> list[Cone]:
    """Those that have no instruction in common, the earlier ones first."""
    taken: set[int] = set()
    kept = []
    for cone in cones:
        if taken.isdisjoint(cone.places):
            taken.update(cone.places)
            kept.append(cone)
    return kept
