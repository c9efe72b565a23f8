"""Kernels that work element by element."""

from __future__ import annotations

from tilewright.op import Op
from tilewright.ops._elementwise import FLOATS, NUMBERS
from tilewright.ops.add import Add
from tilewright.ops.identity import Identity
from tilewright.ops.relu import Relu
from tilewright.target import Kernel
from tilewright.types import BYTES

ALL = frozenset(BYTES)


def unary(op: type[Op], source: str, dtypes: frozenset[str] = FLOATS) -> Kernel:
    return Kernel(op, source, "X -> Y", {"X": dtypes, "Y": dtypes}, header="unary.h")


def binary(op: type[Op], source: str, dtypes: frozenset[str] = NUMBERS) -> Kernel:
    return Kernel(op, source, "A B -> Y", {"A": dtypes, "B": dtypes, "Y": dtypes}, header="binary.h")


KERNELS = (
    unary(Identity, "identity.c", ALL),
    unary(Relu, "relu.c", NUMBERS),
    binary(Add, "add.c"),
)
