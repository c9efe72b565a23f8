"""Kernels that move elements, all cores together and a word at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import cast

from tilewright.ir.op import Op
from tilewright.ir.rounding import Rounding
from tilewright.ops._linear import NARROW
from tilewright.ops.concat import Concat
from tilewright.ops.expand import Expand
from tilewright.ops.gather import Gather
from tilewright.ops.identity import Identity
from tilewright.ops.pad import Pad
from tilewright.ops.qlineargather import QLinearGather
from tilewright.ops.slice import Slice
from tilewright.ops.transpose import Transpose
from tilewright.ops.writerows import WriteRows
from tilewright.requant.arithmetic import Arithmetic
from tilewright.requant.solver import Form
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.generic.movement import ALL, INDICES, MOVED, copy_features, written_features
from tilewright.targets.pulp.sizes import in_c


def shared_copy_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; of one core: runs of neighbours and their elements, rows of elements apart, and those elements."""
    call, *rest = copy_features(op, types, extents, cores)
    return call, *(count / cores for count in rest)


def gather_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call; rows that are copied and their elements, of one core; elements that are rows themselves."""
    inner = [f"d{axis}" for axis in range(cast(Gather, op).axis + 1, len(types["X"].shape))]
    length = math.prod(extents.get(loop, 1) for loop in inner)
    elements = math.prod(extents.values()) / cores
    return (1.0, elements / length, elements, 0.0) if length > 1 else (1.0, 0.0, 0.0, elements)


def shared_written_features(op: Op, types: Types, extents: Mapping[str, int], cores: int) -> tuple[float, ...]:
    """The call, and the elements that one core writes."""
    call, written = written_features(op, types, extents, cores)
    return call, written / cores


LARGE_TABLE = 16 * 1024
"""Bytes, of which rows are read where they lie."""


def small_table(op: Op, types: Types) -> str | None:
    return None if types["X"].bytes >= LARGE_TABLE else f"a table of {types['X'].bytes} bytes is too small"


UPPER_WORD = Form(
    "upper_word", frozenset({Arithmetic.ONCE}), dict.fromkeys(("int8", "uint8", "int16", "uint16", "int32")),
    frozenset({Rounding.HALF_UP}), (33, 62),
)  # fmt: skip


def upper_word(op: Op, types: Types) -> str | None:
    return UPPER_WORD.reason_of(cast(QLinearGather, op).requant)


def small_rows(op: Op, types: Types) -> str | None:
    return upper_word(op, types) or small_table(op, types)


def look_up(
    source: str, unsupported_reason: Callable[[Op, Types], str | None], resident: frozenset[str] = frozenset()
) -> Kernel:
    return Kernel(
        QLinearGather, source, "X indices rows:int32 columns:int32 -> Y",
        {"X": NARROW, "indices": INDICES, "Y": NARROW | {"int16"}}, unsupported_reason=unsupported_reason,
        cooperative=True, work=in_c.work("tw_qlineargather_work"), header="qlineargather.h", resident=resident,
    )  # fmt: skip


def copy(op: type[Op]) -> Kernel:
    types = {"X": MOVED, "Y": MOVED}
    return Kernel(
        op, "copy_words.c", "X -> Y", types, cooperative=True, features=shared_copy_features, header="copy.h"
    )  # fmt: skip


KERNELS = (
    Kernel(Identity, "identity_words.c", "X -> Y", {"X": MOVED, "Y": MOVED}, cooperative=True, header="unary.h"),
    copy(Transpose),
    copy(Slice),
    copy(Expand),
    Kernel(Pad, "pad_words.c", "X -> Y", {"X": ALL, "Y": ALL}, cooperative=True, header="pad.h"),
    Kernel(Concat, "concat_words.c", "X* -> Y", {"X": MOVED, "Y": MOVED}, cooperative=True, header="concat.h"),
    Kernel(
        Gather, "gather_rows.c", "X indices -> Y", {"X": MOVED, "indices": INDICES, "Y": MOVED}, cooperative=True,
        features=gather_features, header="gather.h",
    ),
    Kernel(
        WriteRows, "write_rows_words.c", "X rows position:int32 -> Y", {"X": MOVED, "rows": MOVED, "Y": MOVED},
        cooperative=True, features=shared_written_features, header="write_rows.h",
    ),
    Kernel(
        Gather, "gather_resident.c", "X indices -> Y", {"X": MOVED, "indices": INDICES, "Y": MOVED},
        unsupported_reason=small_table, cooperative=True, features=gather_features, header="gather.h",
        resident=frozenset({"X"}),
    ),
    look_up("qlineargather_rows.c", upper_word),
    look_up("qlineargather_resident.c", small_rows, frozenset({"X", "rows"})),
)  # fmt: skip
