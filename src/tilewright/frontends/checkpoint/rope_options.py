"""What a `config.json` says of the angles by which positions turn queries and keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilewright.frontends.checkpoint.config import Rotary
from tilewright.frontends.checkpoint.options import Options

SCALINGS = {
    "default": "", "linear": "linear", "llama3": "llama3", "dynamic": "", "yarn": "yarn", "longrope": "longrope",
    "su": "longrope",
}  # fmt: skip
"""Of angles, by their names in files. What is dynamic begins behind the context that a model has by its file."""
OLD = ("rope_theta", "partial_rotary_factor")
"""How older files call the base of angles, and the share of a head that is turned."""
TRAINED = "original_max_position_embeddings"


def read_rotary(
    options: Options, head: int, share: float | None = None, old: Sequence[str] = OLD, theta: float = Rotary.theta
) -> Rotary:
    """Older files have `rope_theta` and `rope_scaling`, newer ones `rope_parameters` with all of it.

    `share` is that of a head's elements that the family turns if nothing is said; None: all of them, always.
    """
    given = options.inner(options.one_of("rope_parameters", "rope_scaling"))
    base, part = old
    outer = options.number(base, theta)
    said = given.number("rope_theta", outer)
    options.check(said == outer or not options.has(base), f"{base} is {outer}, and {said} elsewhere")
    return scaled(options, given, Rotary(said, turned=_turned(options, given, part, head, share)), head)


def scaled(options: Options, given: Options, plain: Rotary, head: int) -> Rotary:
    """With what an object says of its scaling."""
    kind = given.choice(given.one_of("rope_type", "type"), SCALINGS, "default")
    found = plain
    if kind == "linear":
        found = replace(plain, scaling=kind, factor=given.number("factor"))
        given.has(TRAINED)
    if kind == "llama3":
        factor, low, high = (given.number(key) for key in ("factor", "low_freq_factor", "high_freq_factor"))
        given.check(low < high, f"low_freq_factor {low} is not below high_freq_factor {high}")
        found = replace(plain, scaling=kind, factor=factor, low=low, high=high, trained=given.size(TRAINED))
    if kind == "yarn":
        found = _yarn(options, given, plain, plain.turned or head)
    if kind == "longrope":
        found = _long(options, given, plain, plain.turned or head)
    if not kind:
        given.has("factor")
        given.has(TRAINED)
    given.finish()
    return found


def _turned(options: Options, given: Options, part: str, head: int, share: float | None) -> int:
    """Elements of a head that are turned; 0 for all."""
    if share is None:
        options.fixed(part, 1.0)
        given.fixed("partial_rotary_factor", 1.0)
        return 0
    share = given.number("partial_rotary_factor", options.number(part, share))
    options.check(share <= 1.0, f"{part} {share} is more than a whole head")
    return 0 if share == 1.0 else int(share * head)


def _yarn(options: Options, given: Options, plain: Rotary, turned: int) -> Rotary:
    """Pairs that turn often as they are, slow ones as if the context were shorter, and what is turned longer."""
    trained = given.size(TRAINED, options.size("max_position_embeddings"))
    factor = given.number("factor", options.size("max_position_embeddings") / trained)
    fast, slow = given.number("beta_fast", 32.0), given.number("beta_slow", 1.0)
    found = yarn(plain, turned, factor, fast, slow, trained, given.flag("truncate", True))
    if given.has("attention_factor"):
        given.has("mscale")
        given.has("mscale_all_dim")
        return replace(found, amplitude=given.number("attention_factor"))
    if given.has("mscale") and given.has("mscale_all_dim"):
        both = [lengthening(factor, given.number(key)) for key in ("mscale", "mscale_all_dim")]
        return replace(found, amplitude=both[0] / both[1])
    return found


def yarn(
    plain: Rotary, turned: int, factor: float, fast: float, slow: float, trained: int, in_whole: bool = True
) -> Rotary:
    """By how many turns a pair makes within the first training's context: from `fast` on as they are, up to `slow`
    divided by the factor, and a mixture between."""
    low, high = (
        turned * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(plain.theta)) for turns in (fast, slow)
    )
    if in_whole:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, turned - 1)
    ramp = np.clip((np.arange(turned // 2) - low) / (high - low if high != low else 0.001), 0, 1)
    divisors = 1 / (ramp / factor + 1 - ramp)
    return replace(plain, divisors=tuple(divisors.tolist()), amplitude=lengthening(factor))


def lengthening(factor: float, share: float = 1.0) -> float:
    return 1.0 if factor <= 1 else 0.1 * share * math.log(factor) + 1.0


def _long(options: Options, given: Options, plain: Rotary, turned: int) -> Rotary:
    """With the divisors for contexts up to those of the first training: longer ones have others, which are not read."""
    given.has("long_factor")
    listed = [float(one) for one in given.sequence("short_factor") if isinstance(one, int | float) and one > 0]
    given.check(len(listed) == turned // 2, f"short_factor has {len(listed)} positive numbers, not {turned // 2}")
    longest = options.size("max_position_embeddings")
    trained = given.size(TRAINED, options.size(TRAINED, longest))
    factor = given.number("factor", longest / trained)
    longer = math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0
    amplitude = given.number("attention_factor", longer)
    return replace(plain, divisors=tuple(listed), amplitude=amplitude, trained=trained)
