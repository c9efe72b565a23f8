"""Streams of softmax: exponentials by a table, their sums, quotients by Newton's method, and products with them.

Quotients are exact: what Newton's method gives is the floor or one more, and the remainder tells which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cache
from typing import Any

import numpy as np

from tilewright.ir.types import Array
from tilewright.ops._ethosu import ARENA, FAST, WEIGHTS
from tilewright.records import dataclass
from tilewright.sim.ethos_u.configurations import find_configuration
from tilewright.targets.ethos_u.single_operations import Block, driver_payload, fastest_block, vela_api

SHARED = 0x103
"""The region of the buffer that has the tables."""
TABLE_BYTES = 1024
ALIGNMENT = 16
MOST_STRIP = 1 << 16
"""Bytes of exponentials that lie in the arena at once."""
FEW = 8
"""Elements of a row that one window of a pool has."""
TO_INDEX = 127
"""Added to a distance from the largest element, so that a table of bytes has them all."""
SLOPE, OFFSET, ONE = 1010580540, 1515870810, 1 << 30
"""Of the first guess at a reciprocal, 48/17 - 32/17 x, with 31 and 29 bits behind the point; 1 with 30."""
GUESS_BITS = 29
STEPS = 2
"""Of Newton's method: a guess that is off by 1/17 is off by less than 2**-16 then."""


@dataclass(frozen=True)
class Rows:
    """A softmax: the elements of a row, and how the numbers are computed."""

    rows: int
    count: int
    numerator: int
    shift: int
    zero: int


@dataclass(frozen=True)
class Place:
    """A map in a region."""

    at: int
    shape: tuple[int, int, int]
    dtype: str = "INT32"
    region: int = ARENA
    zero: int = 0
    pitch: int = 0
    """Elements from one place along the width to the next, where they are not the channels."""


@dataclass(frozen=True)
class Arenas:
    """The first has elements and results, the second what a strip needs: exponentials, words and bytes of its rows."""

    rows: Rows
    strip: int

    @property
    def y_at(self) -> int:
        return _up(self.rows.rows * self.rows.count)

    @property
    def end(self) -> int:
        return 2 * self.y_at

    def words(self, number: int) -> int:
        """A word for each row of the strip."""
        return _up(4 * self.strip * self.rows.count) + number * _up(4 * self.strip)

    @property
    def largest(self) -> int:
        return self.words(_Strip.REGISTERS)

    @property
    def fast_end(self) -> int:
        return self.largest + _up(self.strip)


def arenas_of(rows: Rows) -> Arenas:
    most = max(1, MOST_STRIP // (4 * rows.count))
    strips = -(-rows.rows // most)
    return Arenas(rows, -(-rows.rows // strips))


def constants_of(rows: Rows, table: Array) -> Array:
    """The table, from the farthest distance to the nearest, and words that are too wide to stand in a stream."""
    words = np.zeros((5, ALIGNMENT // 4), np.int32)
    words[:, 0] = SLOPE, OFFSET, ONE, rows.numerator, rows.numerator - ONE
    return np.concatenate([table[::-1].astype("<i4").view(np.uint8), words.reshape(-1).astype("<i4").view(np.uint8)])


def payload(npu: str, rows: Rows) -> Array:
    """Words of the stream, behind those for Arm's driver."""
    arenas = arenas_of(rows)
    operations: list[tuple[Any, Block | None]] = []
    for first in range(0, rows.rows, arenas.strip):
        operations += _Strip(npu, arenas, first, min(arenas.strip, rows.rows - first)).operations()
    return driver_payload(vela_api(), npu, operations)


def _up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass
class _Strip:
    """Some rows, and the operations that they need."""

    npu: str
    arenas: Arenas
    first: int
    rows: int
    made: list[tuple[Any, Block | None]] = field(default_factory=list)

    REGISTERS = 7
    SUM, ROOM, SCALED, GUESS, ERROR, QUOTIENT, SPARE = range(REGISTERS)

    def operations(self) -> list[tuple[Any, Block | None]]:
        self._exponentials()
        self._quotients()
        self._products()
        return self.made

    # ---- places ------------------------------------------------------------------------------------------------------

    def _elements(self, base: int, shape: tuple[int, int, int], dtype: str = "INT8", zero: int = 0) -> Place:
        return Place(base + self.first * self.arenas.rows.count, shape, dtype, zero=zero)

    @property
    def _flat(self) -> tuple[int, int, int]:
        return 1, self.rows, self.arenas.rows.count

    @property
    def _powers(self) -> Place:
        return Place(0, self._flat, region=FAST)

    def _word(self, number: int) -> Place:
        """One for each row, as channels of one pixel."""
        return Place(self.arenas.words(number), (1, 1, self.rows), region=FAST)

    def _column(self, number: int) -> Place:
        """The same, for all elements of a row."""
        return Place(self.arenas.words(number), (1, self.rows, 1), region=FAST)

    def _constant(self, number: int) -> Place:
        return Place(TABLE_BYTES + ALIGNMENT * number, (1, 1, 1), region=WEIGHTS)

    # ---- parts -------------------------------------------------------------------------------------------------------

    def _largest(self) -> Place:
        """Of each row: of both halves the larger ones, again and again, and of few the largest."""
        count = self.arenas.rows.count
        found, places = self._elements(0, self._flat), (0, _up(self.rows * -(-count // 2)))
        while count > FEW:
            half = -(-count // 2)
            kept = replace(found, shape=(1, self.rows, half), pitch=count)
            target = Place(places[0], (1, self.rows, half), "INT8", FAST)
            self._add("MAX", kept, replace(kept, at=kept.at + count - half), target)
            found, places, count = target, places[::-1], half
        pooled = replace(found, shape=(self.rows, count, 1), pitch=0)
        target = Place(self.arenas.largest, (self.rows, 1, 1), "INT8", FAST)
        self.made.append(_Pool(self.npu, "MAX", pooled, target, count).made())
        return replace(target, shape=(1, self.rows, 1))

    def _exponentials(self) -> None:
        """And their sums."""
        api, largest = vela_api(), self._largest()
        target = api.NpuAddressRange(SHARED, find_configuration(self.npu).table_address, TABLE_BYTES)
        self.made.append((api.NpuDmaOperation(api.NpuAddressRange(WEIGHTS, 0, TABLE_BYTES), target), None))
        distances = replace(self._powers, zero=TO_INDEX)
        self._add("SUB", self._elements(0, self._flat), largest, distances, has_table=True)
        self.made.append(_Pool(self.npu, "REDUCE_SUM", self._powers, self._column(self.SUM)).made())

    def _quotients(self) -> None:
        """numerator // sum, of 2**30 > numerator and 2**16 <= sum <= 2**30."""
        sums, room, scaled, guess, error, quotient, spare = map(self._word, range(self.REGISTERS))
        slope, offset, one, numerator, numerator_less_one = map(self._constant, range(5))
        self._add("CLZ", sums, None, room)
        self._add("SUB", room, 1, room)
        self._add("SHL", sums, room, scaled)
        self._add("MUL", scaled, slope, spare, shift=31)
        self._add("SUB", spare, offset, guess, is_reversed=True)
        for _ in range(STEPS):
            self._add("MUL", scaled, guess, spare, shift=30)
            self._add("SUB", spare, one, error, is_reversed=True)
            self._add("MUL", guess, error, spare, shift=30)
            self._add("ADD", guess, spare, guess)
        self._add("MUL", guess, numerator, guess, shift=31)
        self._add("SUB", room, GUESS_BITS, room, is_reversed=True)
        self._add("SHR", guess, room, quotient)
        self._add("MUL", quotient, sums, spare)
        self._add("SUB", spare, numerator_less_one, spare, is_reversed=True)
        self._add("SHR", spare, 31, spare)
        self._add("ADD", quotient, spare, quotient)

    def _products(self) -> None:
        self._add("MUL", self._powers, self._column(self.QUOTIENT), self._powers)
        rows = self.arenas.rows
        result = self._elements(self.arenas.y_at, self._flat, zero=rows.zero)
        self._add("SHR", self._powers, rows.shift, result)

    def _add(self, kind: str, a: Place, b: Place | int | None, y: Place, **options: Any) -> None:
        self.made.append(_Elementwise(self.npu, kind, a, b, y, **options).made())


@dataclass(frozen=True)
class _Pool:
    npu: str
    kind: str
    x: Place
    y: Place
    width: int = 1
    """Of its windows, which are one high."""

    def made(self) -> tuple[Any, Block]:
        anywhere = replace(self, x=replace(self.x, at=0), y=replace(self.y, at=0))
        return self.operation(), _block(anywhere)

    def operation(self) -> Any:
        api = vela_api()
        made = api.NpuPoolingOperation(api.NpuPoolingOp[self.kind])
        made.ifm, made.ofm = _map(api, self.x), _map(api, self.y)
        made.kernel, made.padding = api.NpuKernel(self.width, 1), api.NpuPadding(0, 0, 0, 0)
        return made


@dataclass(frozen=True)
class _Elementwise:
    """Halves go up. A second operand may be a number that stands in the stream."""

    npu: str
    kind: str
    a: Place
    b: Place | int | None
    y: Place
    shift: int = 0
    is_reversed: bool = False
    """The second operand is the first."""
    has_table: bool = False

    def made(self) -> tuple[Any, Block]:
        b = replace(self.b, at=0) if isinstance(self.b, Place) else self.b
        anywhere = replace(self, a=replace(self.a, at=0), b=b, y=replace(self.y, at=0))
        return self.operation(), _block(anywhere)

    def operation(self) -> Any:
        api = vela_api()
        made = api.NpuElementWiseOperation(api.NpuElementWiseOp[self.kind])
        made.ifm, made.ofm = _map(api, self.a), _map(api, self.y)
        made.rounding_mode, made.reversed_operands = api.NpuRoundingMode.NATURAL, self.is_reversed
        if isinstance(self.b, Place):
            made.ifm2 = _map(api, self.b)
        elif self.b is not None:
            made.ifm2, made.ifm2_scalar = _map(api, Place(0, (1, 1, 1))), self.b
        if self.kind == "MUL":
            made.rescale = (1, self.shift)
        if self.has_table:
            made.activation = api.NpuActivation(api.NpuActivationOp.TABLE_LOOKUP)
        return made


@cache
def _block(one: _Pool | _Elementwise) -> Block:
    """Of an operation, wherever its maps lie."""
    make: Callable[[], Any] = one.operation
    return fastest_block(vela_api(), one.npu, make)


def _map(api: Any, given: Place) -> Any:
    made = api.NpuFeatureMap()
    made.data_type, made.region = api.NpuDataType[given.dtype], given.region
    made.shape = api.NpuShape3D(*given.shape)
    height, width, channels = given.shape
    size, pitch = made.data_type.size_in_bytes(), given.pitch or channels
    made.strides = api.NpuShape3D(height=width * pitch * size, width=pitch * size, depth=size)
    made.tiles = api.NpuTileBox(height, 0, width, [given.at, 0, 0, 0])
    made.quantization = api.NpuQuantization(None, given.zero)
    return made
