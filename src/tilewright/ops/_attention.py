"""What the attention operators share, in terms of simpler ones. Heads are [batch, head, step, channel]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.errors import Refusal
from tilewright.ir.types import Array
from tilewright.ops._compose import Compose, refuse_large
from tilewright.ops.gather import Gather
from tilewright.ops.less import Less
from tilewright.ops.neg import Neg
from tilewright.ops.softmax import Softmax
from tilewright.ops.tanh import Tanh

LOWEST = float(np.finfo(np.float32).min)
"""Added to the score of a step that must not be looked at."""


def split_heads(make: Compose, x: str, heads: int) -> str:
    """[batch, step, head * width] as [batch, head, step, width]."""
    batch, steps, hidden = make.shape(x)
    if heads < 1 or hidden % heads:
        raise Refusal(f"{hidden} channels for {heads} heads")
    return make.transpose(make.reshape(x, (batch, steps, heads, hidden // heads)), (0, 2, 1, 3))


def merge_heads(make: Compose, x: str) -> str:
    batch, heads, steps, width = make.shape(x)
    return make.reshape(make.transpose(x, (0, 2, 1, 3)), (batch, steps, heads * width))


def attend(
    make: Compose, q: str, k: str, v: str, scale: float, biases: Sequence[str] = (), softcap: float = 0.0
) -> str:
    """softmax(scale * q @ k' + biases) @ v. Several heads of q may share one of k and v."""
    batch, heads, steps, width = make.shape(q)
    _, shared, keys, _ = make.shape(k)
    if shared < 1 or heads % shared:
        raise Refusal(f"{heads} query heads cannot be divided evenly among {shared} KV heads")
    grouped = make.reshape(q, (batch, shared, heads // shared * steps, width))
    scores = make.scaled(make.matmul(grouped, k, trans_b=True), scale or 1.0 / math.sqrt(width))
    if softcap:
        scores = make.scaled(make(Tanh(), make.scaled(scores, 1.0 / softcap)), softcap)
    scores = make.reshape(scores, (batch, heads, steps, keys))
    for bias in biases:
        scores = make.add(scores, bias)
    shares = make.reshape(make(Softmax(-1), scores), (batch, shared, heads // shared * steps, keys))
    return make.reshape(make.matmul(shares, v), (batch, heads, steps, make.shape(v)[-1]))


def causal_bias(make: Compose, steps: int, keys: int, past: int, window: int = -1) -> str:
    """A constant for keys after each step, and for those more than a window before it."""
    refuse_large("the mask of later steps", steps, keys)
    distance = (past + np.arange(steps)[:, None]) - np.arange(keys)[None, :]
    hidden = (distance < 0) | ((distance >= window) if window > 0 else False)
    return make.constant(np.where(hidden, np.float32(LOWEST), np.float32(0)), "causal")


def masked_bias(make: Compose, mask: str, keys: int, value: float) -> str:
    """A mask of 1 (look) and 0 (do not): [batch, key] or [batch, step, key], as what is added to the scores.

    One number for each sequence is its length: keys from there on are not looked at.
    """
    shape, dtype = make.shape(mask), make.kind(mask).dtype
    if len(shape) == 1:
        lengths = make.cast(make.reshape(mask, (shape[0], 1)), "float32")
        looked = _below(make, make.constant(np.arange(keys, dtype=np.float32), "keys"), lengths)
        return make.reshape(make.scaled(make.sub(make.like(1.0, looked), looked), value), (shape[0], 1, 1, keys))
    if shape[-1] != keys or len(shape) not in (2, 3, 4):
        raise Refusal(f"a mask of shape {shape} for {keys} keys", "masks are [batch], [batch, key], [batch, step, key]")
    number = make.cast(mask, "float32")
    full = {2: (shape[0], 1, 1, keys), 3: (shape[0], 1, *shape[1:])}.get(len(shape), shape)
    bias = make.scaled(make.sub(make.like(1.0, number), number), value)
    if dtype not in ("bool", "int32", "int64"):
        raise Refusal(f"a mask of {dtype}", "masks are int32 or bool")
    return make.reshape(bias, full)


def _below(make: Compose, a: str, b: str) -> str:
    return make.cast(make(Less(), a, b), "float32")


def rotate(make: Compose, x: str, cosine: str, sine: str, interleaved: bool) -> str:
    """Pairs of channels turned by an angle; cosine and sine broadcast to x, with half as many channels as turn."""
    half, width = make.shape(cosine)[-1], make.shape(x)[-1]
    if 2 * half > width:
        raise Refusal(f"{2 * half} channels are rotated, but a head has {width}")
    turning = make.part(x, -1, 0, 2 * half)
    starts = ((0, 2 * half, 2), (1, 2 * half, 2)) if interleaved else ((0, half, 1), (half, 2 * half, 1))
    first, second = (make.part(turning, -1, *span) for span in starts)
    swapped = _paired(make, make(Neg(), second), first, interleaved)
    straight = make.mul(turning, _paired(make, cosine, cosine, interleaved))
    turned = make.add(straight, make.mul(swapped, _paired(make, sine, sine, interleaved)))
    return turned if 2 * half == width else make.join(-1, turned, make.part(x, -1, 2 * half, width))


def _paired(make: Compose, first: str, second: str, interleaved: bool) -> str:
    """The first and the second elements of pairs, as neighbours or in halves."""
    if not interleaved:
        return make.join(-1, first, second)
    shape = make.shape(first)
    apart = [make.reshape(part, (*shape, 1)) for part in (first, second)]
    return make.reshape(make.join(-1, *apart), (*shape[:-1], 2 * shape[-1]))


def table_rows(make: Compose, table: str, positions: str | Array) -> str:
    """The rows of a table of angles for the positions [batch or 1, step], as [batch or 1, 1, step, -]."""
    at = positions if isinstance(positions, str) else make.constant(positions.astype(np.int32), "positions")
    rows = make(Gather(0), table, at)
    batch, steps, half = make.shape(rows)
    return make.reshape(rows, (batch, 1, steps, half))
