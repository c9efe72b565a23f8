"""Angles by which positions turn queries and keys, and the order of the elements that are turned together."""

from __future__ import annotations

import numpy as np

from tilewright.frontends.checkpoint.config import Rotary
from tilewright.ir.types import Array


def tables(rotary: Rotary, head: int, context: int) -> tuple[Array, Array]:
    """Cosines and sines, [context, head]: an element and the one half a head away are turned together."""
    angles = np.outer(np.arange(context), frequencies(rotary, head))
    longer = np.pad(np.full((rotary.turned or head) // 2, rotary.amplitude), (0, (head - (rotary.turned or head)) // 2),
                    constant_values=1.0)  # fmt: skip
    cosine, sine = ((longer * turn(angles)).astype(np.float32) for turn in (np.cos, np.sin))
    return np.concatenate([cosine, cosine], 1), np.concatenate([sine, sine], 1)


def frequencies(rotary: Rotary, head: int) -> Array:
    """By how much each pair is turned per token; those behind the ones that are turned at all, not."""
    turned = rotary.turned or head
    return np.pad(_of_turned(rotary, turned), (0, (head - turned) // 2))


def _of_turned(rotary: Rotary, turned: int) -> Array:
    plain = np.asarray(rotary.theta ** -(np.arange(0, turned, 2) / turned))
    if rotary.divisors:
        plain = plain / np.asarray(rotary.divisors)
    if rotary.scaling == "linear":
        return plain / rotary.factor
    if rotary.scaling == "llama3":
        return _by_turns(rotary, plain)
    return plain


def _by_turns(rotary: Rotary, plain: Array) -> Array:
    """Slow pairs as if the context were shorter, fast ones as they are, and a mixture between."""
    turns = rotary.trained * plain / (2 * np.pi)
    kept = np.clip((turns - rotary.low) / (rotary.high - rotary.low), 0.0, 1.0)
    return np.asarray(kept * plain + (1 - kept) * plain / rotary.factor)


def halves_from_neighbours(weight: Array, head: int) -> Array:
    """Rows of a projection of which neighbours were turned together, such that those half a head apart are."""
    pairs = weight.reshape(-1, head // 2, 2, weight.shape[-1])
    return np.ascontiguousarray(pairs.transpose(0, 2, 1, 3)).reshape(weight.shape)


def halves_from_part(rows: Array, rotary: Rotary, head: int) -> Array:
    """Rows of a projection of which the first elements of a head were turned, in halves of their own, such that pairs
    are half a head apart; scores stay the same if queries and keys are both in this order."""
    heads = rows.reshape(-1, head, *rows.shape[1:])
    return np.ascontiguousarray(heads[:, _part_first(rotary, head)]).reshape(rows.shape)


def _part_first(rotary: Rotary, head: int) -> list[int]:
    """The elements of a head whose first ones are turned, each pair of them half a head apart."""
    half, turned = head // 2, rotary.turned // 2
    return [*range(turned), *range(2 * turned, turned + half), *range(turned, 2 * turned), *range(turned + half, head)]


def neighbours_from_halves(rows: Array, head: int) -> Array:
    """The other way round than `halves_from_neighbours`, of rows of any kind."""
    halves = rows.reshape(-1, 2, head // 2, *rows.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(rows.shape)


def part_from_halves(rows: Array, rotary: Rotary, head: int) -> Array:
    """The other way round than `halves_from_part`."""
    heads = rows.reshape(-1, head, *rows.shape[1:])
    return np.ascontiguousarray(heads[:, np.argsort(_part_first(rotary, head))]).reshape(rows.shape)
