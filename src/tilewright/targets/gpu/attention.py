"""Attention in one kernel, which never stores its scores."""

from __future__ import annotations

from tilewright.ir.op import Op
from tilewright.ops._elementwise import FLOATS
from tilewright.ops.fusedattention import FusedAttention
from tilewright.target.kernel import Kernel, Types

MOST_CHANNELS = 128
"""Of a query, key or value: those of several tokens are in shared memory at once."""
FEW_QUERIES, MOST_KEYS = 4, 8192
"""Queries of which each has a group, and keys whose scores are in shared memory at once."""


def too_many_channels(op: Op, types: Types) -> str | None:
    found = max(types["Q"].shape[-1], types["V"].shape[-1])
    return None if found <= MOST_CHANNELS else f"heads have {found} channels, at most {MOST_CHANNELS} fit"


def too_many_queries(op: Op, types: Types) -> str | None:
    queries, keys = types["Q"].shape[1], types["K"].shape[1]
    if queries > FEW_QUERIES or keys > MOST_KEYS:
        return f"it takes up to {FEW_QUERIES} queries and {MOST_KEYS} keys, here are {queries} and {keys}"
    return too_many_channels(op, types)


KERNELS = (
    Kernel(
        FusedAttention, "gpu_attention_few.c", "Q K V position:int32 -> Y", dict.fromkeys("QKVY", FLOATS),
        unsupported_reason=too_many_queries, header="fusedattention.h",
    ),
    Kernel(
        FusedAttention, "gpu_attention.c", "Q:float32 K:float32 V:float32 position:int32 -> Y:float32", {},
        unsupported_reason=too_many_channels, header="fusedattention.h",
    ),
)  # fmt: skip
