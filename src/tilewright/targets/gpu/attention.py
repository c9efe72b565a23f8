"""Attention in one kernel, which never stores its scores."""

from __future__ import annotations

import math
from functools import partial

from tilewright.errors import instance
from tilewright.ir.op import Op, Params
from tilewright.ir.types import TensorType
from tilewright.ops._masked_attention import MaskedAttention
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
MASKS = frozenset({"float32", "bool"})
"""Which stay so where floats have 16 bits, whose range is too small for what hides a score."""
FORMS: dict[type[Op], str] = {LimitedAttention: "_limited", MaskedAttention: "_masked"}
"""Of a kernel: only what an operator needs is compiled."""
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
    if isinstance(attention, MaskedAttention):
        limits = mask_params(attention, types["mask"])
    return {"rows": attention.geometry(own), "scale": attention.scale, **steps, "interleaved": interleaved, **limits}


def mask_params(attention: MaskedAttention, mask: TensorType) -> Params:
    names = ("mask_batch", "mask_head", "mask_query", "mask_key")
    steps = [math.prod(mask.shape[axis + 1 :]) if size > 1 else 0 for axis, size in enumerate(mask.shape)]
    empty_is_zero = int(attention.empty_is_zero)
    return {
        **dict(zip(names, steps, strict=True)), "shows": int(attention.shows), "hidden": attention.hidden,
        "empty_is_zero": empty_is_zero,
    }  # fmt: skip


def too_many_channels(most: int, op: Op, types: Types) -> str | None:
    own = parts(op, types)
    found = max(own["Q"].shape[-1], own["V"].shape[-1])
    return None if found <= most else f"heads have {found} channels, at most {most} fit"


def too_many_queries(most: int, op: Op, types: Types) -> str | None:
    queries = parts(op, types)["Q"].shape[1]
    if queries > FEW_QUERIES:
        return f"it takes up to {FEW_QUERIES} queries, here are {queries}"
    return too_many_channels(most, op, types)


def channels(op: type[Op], most: int) -> str:
    """The header of kernels for heads with so many."""
    return f"gpu_channels_{most}{FORMS.get(op, '')}.h"


def any_queries(op: type[Op], most: int) -> tuple[Kernel, ...]:
    signature, masks = "Q K V position:int32 -> Y", dict[str, frozenset[str]]()
    if op is MaskedAttention:
        signature, masks = "Q K V position:int32 mask -> Y", {"mask": MASKS}
    kernel = Kernel(
        op, "gpu_attention.c", signature, masks, attention_params,
        unsupported_reason=partial(too_many_channels, most), header="gpu_attention.h", around=channels(op, most),
    )  # fmt: skip
    return stored(kernel, "Q K V Y")


def few_queries(op: type[Op], most: int) -> tuple[Kernel, ...]:
    kernel = Kernel(
        op, "gpu_attention_few.c", "Q K V position:int32 cosine sine key value -> Y keys values", {}, attention_params,
        unsupported_reason=partial(too_many_queries, most), header="gpu_attention.h", around=channels(op, most),
    )  # fmt: skip
    return stored(kernel, "Q K V key value Y keys values", "cosine sine")


FEW = (FusedAttention, LimitedAttention, JoinedAttention, TurnedAttention, CachedAttention)
ANY = (FusedAttention, LimitedAttention, JoinedAttention, MaskedAttention)
KERNELS = (
    *(kernel for op in FEW for most in CHANNELS for kernel in few_queries(op, most)),
    *(kernel for most in CHANNELS for op in ANY for kernel in any_queries(op, most)),
    *turned.KERNELS,
)


def takes(op: Op, types: Types) -> bool:
    return any(kernel.op is type(op) and kernel.takes(op, types) for kernel in KERNELS)


PASSES = (join_projections(takes), turning(takes), caching(takes))
