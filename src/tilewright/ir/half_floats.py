"""Floats of 16 bits as what tensors are stored in: operators compute with float32, and round each result once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tilewright.ir.op import Op
from tilewright.ir.types import Array, TensorType, as_computed, dtype_name, element

HALF = ("float16", "bfloat16")
FLOATS = ("float32", *HALF)
LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
"""The largest number of a type."""


def infer(op: Op, types: Mapping[str, TensorType]) -> tuple[TensorType, ...]:
    """The types of results: what an operator makes of float32, stored as its operands are."""
    stored = stored_as(op, (kind.dtype for kind in types.values()))
    if op.names_type or all(kind.dtype not in HALF for kind in types.values()):
        return op.infer(types)
    made = op.infer({name: computed(kind) for name, kind in types.items()})
    return tuple(replace(kind, dtype=stored) if stored and kind.dtype == "float32" else kind for kind in made)


def compute(op: Op, operands: Sequence[Array | None]) -> tuple[Array, ...]:
    """The results of an operator in the types that `infer` gives them."""
    dtypes = [dtype_name(array.dtype) for array in operands if array is not None]
    stored = stored_as(op, dtypes)
    is_plain = op.names_type or all(dtype not in HALF for dtype in dtypes)
    given = operands if is_plain else [None if array is None else as_computed(array) for array in operands]
    found = op.numpy(*given)
    results = found if isinstance(found, tuple) else (found,)
    if is_plain or not stored:
        return results
    return tuple(array.astype(element(stored)) if array.dtype == "float32" else array for array in results)


def stored_as(op: Op, dtypes: Iterable[str]) -> str:
    """The short type of float results, given those of operands in order: that of any of them. Weights of sums of
    products may be shorter than what they are multiplied with, which says it there. Empty for float32."""
    floats = [dtype for dtype in dtypes if dtype in FLOATS]
    return next((dtype for dtype in floats[: 1 if op.multiplies else None] if dtype in HALF), "")


def computed(kind: TensorType) -> TensorType:
    """What a tensor is computed as."""
    return replace(kind, dtype="float32") if kind.dtype in HALF else kind
