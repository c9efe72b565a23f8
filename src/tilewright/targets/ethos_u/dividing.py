"""A stream's constants in several memories: which bytes of them it reads where, what it saves to have some in RAM, and
the stream that finds them there."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._ethosu import BANKS
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import Configuration
from tilewright.sim.ethos_u.payload import STREAM
from tilewright.sim.ethos_u.stream import CODE, IS_LONG, Command, commands, is_operation, registers_of
from tilewright.sim.ethos_u.timing import ARENA, CONSTANTS, moved, operation_cycles, transfer_cycles
from tilewright.target.kernel import ConstantPiece

UNIT = 16
"""Of addresses in registers."""
REGION_BITS = 7
READS = {
    "CONV": (("WEIGHT_REGION", "WEIGHT_BASE", "WEIGHT_LENGTH"), ("SCALE_REGION", "SCALE_BASE", "SCALE_LENGTH")),
    "DEPTHWISE": (("WEIGHT_REGION", "WEIGHT_BASE", "WEIGHT_LENGTH"), ("SCALE_REGION", "SCALE_BASE", "SCALE_LENGTH")),
    "DMA_START": (("DMA0_SRC_REGION", "DMA0_SRC", "DMA0_LEN"),),
}
"""Registers of what operations read of constants: region, address and bytes."""
SET = frozenset(name for reads in READS.values() for region, base, _ in reads for name in (region, base))
LAYERS = ("CONV", "DEPTHWISE", "POOL")
MAPS = {"ELEMENTWISE": ("IFM_REGION", "IFM2_REGION"), **dict.fromkeys(LAYERS, ("IFM_REGION",))}
"""Regions of feature maps that operations read."""

Ends = tuple[int, int]
"""The first byte and the one behind the last."""


def pieces(words: Array, npu: Configuration) -> tuple[ConstantPiece, ...]:
    """What operations read together, and the cycles that they take less if it lies in RAM. None of a U65, whose tensors
    and constants share a memory, nor where a feature map is a constant: what is read of it follows from strides."""
    if npu.is_u65:
        return ()
    reads: list[tuple[Ends, ...]] = []
    saved: list[float] = []
    for one in commands(words):
        if any(one.registers.get(name) == CONSTANTS for name in MAPS.get(one.name, ())):
            return ()
        found = tuple((start, start + size) for _, start, size in _constants(one))
        if found:
            reads.append(found)
            saved.append(_saved(one, npu))
    return tuple(_together(reads, saved))


def _constants(one: Command) -> Iterator[tuple[str, int, int]]:
    """Registers of addresses, with what they lead to in the region of constants."""
    for region, base, length in READS.get(one.name, ()):
        if one.get(region) & REGION_BITS == CONSTANTS and one.get(length):
            yield base, one.get(base), one.get(length)


def _saved(one: Command, npu: Configuration) -> float:
    cycles = transfer_cycles if one.name == "DMA_START" else operation_cycles
    return cycles(one, npu) - cycles(moved(one, ARENA), npu)


def _together(reads: Sequence[Sequence[Ends]], saved: Sequence[float]) -> Iterator[ConstantPiece]:
    """Ranges that overlap, or that one operation reads, are one piece."""
    ranges = _merged(end for read in reads for end in read)
    starts, group = [first for first, _ in ranges], list(range(len(ranges)))
    for read in reads:
        numbers = [_root(group, bisect(starts, first) - 1) for first, _ in read]
        for number in numbers:
            group[number] = min(numbers)
    members: dict[int, list[Ends]] = {}
    for number, one in enumerate(ranges):
        members.setdefault(_root(group, number), []).append(one)
    cycles = dict.fromkeys(members, 0.0)
    for read, less in zip(reads, saved, strict=True):
        cycles[_root(group, bisect(starts, read[0][0]) - 1)] += less
    for root, found in members.items():
        yield ConstantPiece(tuple(found), cycles[root])


def _root(group: Sequence[int], number: int) -> int:
    while group[number] != number:
        number = group[number]
    return number


def _merged(ends: Iterator[Ends]) -> list[Ends]:
    """In whole units: what begins in one belongs to it."""
    found: list[Ends] = []
    for first, last in sorted((first // UNIT * UNIT, -(-last // UNIT) * UNIT) for first, last in ends):
        if found and first < found[-1][1]:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


@dataclass(frozen=True, eq=False)
class Divided:
    words: Array
    """Of the stream."""
    banks: tuple[Array, ...]
    """Constants: those that stay, and those of further regions."""


def divided(words: Array, constants: Array, banks: Sequence[Sequence[ConstantPiece]]) -> Divided:
    """`banks` are the pieces that stay, and those that go to each further region."""
    places: dict[int, tuple[int, int]] = {}
    made: list[Array] = []
    for number, bank in enumerate(banks):
        parts, at = [np.zeros(0, np.uint8)], 0
        for first, last in (ends for piece in bank for ends in piece.ranges):
            places[first] = (BANKS + number - 1 if number else CONSTANTS), at
            parts.append(np.resize(constants[first:last], last - first))
            at += last - first
        made.append(np.concatenate(parts))
    return Divided(np.array(list(_rewritten(words, places)), np.uint32), tuple(made))


def _rewritten(words: Array, places: Mapping[int, tuple[int, int]]) -> Iterator[int]:
    """The same commands, with other regions and addresses of constants: each operation gets those that it reads."""
    starts, names, said = sorted(places), registers_of(), dict[str, int]()
    operations, given = commands(words), iter(words.tolist())
    for word in given:
        taken = [word, next(given)] if word & IS_LONG else [word]
        if is_operation(word):
            for register, value in _wanted(next(operations), places, starts).items():
                if said.get(register) != value:
                    yield from _command(register, value)
                    said[register] = value
        if names.get(word & (CODE | IS_LONG)) not in SET:
            yield from taken


def _wanted(one: Command, places: Mapping[int, tuple[int, int]], starts: Sequence[int]) -> dict[str, int]:
    """Regions and addresses that an operation reads by."""
    found: dict[str, int] = {}
    for region, base, length in READS.get(one.name, ()):
        word, address = one.get(region), one.get(base)
        if word & REGION_BITS == CONSTANTS and one.get(length):
            first = starts[bisect(starts, address) - 1]
            number, begin = places[first]
            word, address = word & ~REGION_BITS | number, begin + address - first
        found |= {region: word, base: address}
    return found


def _command(register: str, value: int) -> Iterator[int]:
    (code,) = (code for code, name in registers_of().items() if name == register)
    if code & IS_LONG:
        yield code | (value >> 32 & 0xFFFF) << 16
        yield value & 0xFFFF_FFFF
    else:
        yield code | value << 16


def payload_of(before: Array, words: Array) -> Array:
    """Behind the words for Arm's driver, the last of which has the stream's length."""
    if not len(before):
        return words
    size = len(words)
    tag = STREAM | (size >> 16 & 0xFF) << 8 | (size & 0xFFFF) << 16
    return np.concatenate([before[:-1], np.array([tag], np.uint32), words])
