"""Attention in one kernel, which never stores its scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tilewright.errors import instance
from tilewright.ir.op import Op, Params
from tilewright.ops.fusedattention import FusedAttention
from tilewright.ops.limitedattention import LimitedAttention
from tilewright.target.kernel import Kernel, Types
from tilewright.targets.gpu import turned
from tilewright.targets.gpu.cached_attention import CachedAttention, caching
from tilewright.targets.gpu.joined_attention import JoinedAttention, join_projections
from tilewright.targets.gpu.plain import stored
from tilewright.targets.gpu.turned import TurnedAttention, turning

CHANNELS = (64, 128)
"""Most of a query, key or value: those of several tokens are in shared memory at once. Kernels for fewer of them need
fewer registers."""
FEW_QUERIES = 4
"""Of which each has a group."""


def parts(op: Op, types: Types) -> Types:
    """The types of queries, keys and values."""
    return op.parts(types) if isinstance(op, JoinedAttention) else types


def attention_params(op: Op, types: Types) -> Params:
    own = parts(op, types)
    joined = types["Q"].shape[2] * types["Q"].shape[3] if isinstance(op, JoinedAttention) else 0
    steps = {f"{name.lower()}_token": joined or own[name].shape[2] * own[name].shape[3] for name in "QKV"}
    attention = op.attention if isinstance(op, JoinedAttention) else instance(op, FusedAttention)
    interleaved = int(isinstance(op, TurnedAttention) and op.interleaved)
    limits: Params = {}
    if isinstance(attention, LimitedAttention):
        limits = {"window": attention.window, "cap": attention.cap}
    return {"rows": attention.geometry(own), "scale": attention.scale, **steps, "interleaved": interleaved, **limits}


def too_many_channels(most: int, op: Op, types: Types) -> str | None:
    own = parts(op, types)
    found = max(own["Q"].shape[-1], own["V"].shape[-1])
    return None if found <= most else f"heads have {found} channels, at most {most} fit"


def too_many_queries(most: int, op: Op, types: Types) -> str | None:
    queries = parts(op, types)["Q"].shape[1]
    if queries > FEW_QUERIES:
        return f"it takes up to {FEW_QUERIES} queries, here are {queries}"
    return too_many_channels(most, op, types)


def kernels(source: str, reason: Callable[[Op, Types], str | None], around: str = "") -> tuple[Kernel, ...]:
    return tuple(
        short
        for op in (FusedAttention, LimitedAttention, JoinedAttention)
        for short in stored(
            Kernel(
                op, source, "Q K V position:int32 -> Y", {}, attention_params, unsupported_reason=reason,
                header="gpu_attention.h", around=around,
            ),
            "Q K V Y",
        )
    )  # fmt: skip


def few_queries(op: type[Op], most: int) -> tuple[Kernel, ...]:
    kernel = Kernel(
        op, "gpu_attention_few.c", "Q K V position:int32 cosine sine key value -> Y keys values", {}, attention_params,
        unsupported_reason=partial(too_many_queries, most), header="gpu_attention.h", around=f"gpu_channels_{most}.h",
    )  # fmt: skip
    return stored(kernel, "Q K V key value Y keys values", "cosine sine")


FEW = (FusedAttention, LimitedAttention, JoinedAttention, TurnedAttention, CachedAttention)
KERNELS = (
    *(kernel for op in FEW for most in CHANNELS for kernel in few_queries(op, most)),
    *(
        kernel
        for most in CHANNELS
        for kernel in kernels("gpu_attention.c", partial(too_many_channels, most), f"gpu_channels_{most}.h")
    ),
    *turned.KERNELS,
)


def takes(op: Op, types: Types) -> bool:
    return any(kernel.op is type(op) and kernel.takes(op, types) for kernel in KERNELS)


PASSES = (join_projections(takes), turning(takes), caching(takes))
