"""The choice of the next token, and what it means in integers: `sampler.c` computes the same.

A token's weight is exp((logit - best) / temperature), / 2^30, by powers of two with straight lines between 64 of them.
Of the tokens in order of their logits, of equal ones the first in the vocabulary first, top-k keeps the first k, and
top-p of those the fewest whose weights are that share of all, and min-p of these the ones whose weight is that share of
the best one's. One of them is drawn with numbers of PCG32.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.records import dataclass

ONE = 1 << 16
LOG2_E = round(math.log2(math.e) * 2**40)
POWERS = np.array([round(2.0 ** (30 - i / 64)) for i in range(65)], np.int64)
MULTIPLIER, INCREMENT = 6364136223846793005, 1442695040888963407
WORD, LONG = (1 << 32) - 1, (1 << 64) - 1

FOLDER = Path(__file__).parent / "c"
SOURCES, HEADERS, FLOAT_SOURCE = ("sampler.c",), ("sampler.h",), "sampler_float.c"


def sampler_files(floats: bool = False, greedy: bool = False) -> dict[str, str]:
    """The sampler in C: networks that compute in floating point need one file more, greedy programs only settings."""
    names = HEADERS if greedy else (*HEADERS, *SOURCES, *((FLOAT_SOURCE,) if floats else ()))
    return {name: (FOLDER / name).read_text() for name in names}


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen: greedily where the temperature is 0."""

    temperature: float = 0.0
    top_k: int = 0
    """So many of the best tokens; 0: all."""
    top_p: float = 1.0
    """The best tokens that have so much of the probability."""
    penalty: float = 1.0
    """Logits of tokens in the prompt or the text are divided by it, or multiplied where they are below 0."""
    seed: int = 0
    min_p: float = 0.0
    """Tokens that have so much of the most likely one's probability; 0: all."""

    def __post_init__(self) -> None:
        _check("temperature", self.temperature, 0, 100, "0 is greedy, 0.8 is usual")
        _check("top_k", self.top_k, 0, 2**31 - 1, "0 keeps all tokens, 40 is usual")
        _check("top_p", self.top_p, 1e-6, 1, "1 keeps all tokens, 0.9 is usual")
        _check("repetition penalty", self.penalty, 0.25, 64, "1 is none, 1.1 is usual")
        _check("min_p", self.min_p, 0, 1, "0 keeps all tokens, 0.05 is usual")
        _check("seed", self.seed, 0, LONG, "any whole number from 0 on")
        for name, value in (("top_k", self.top_k), ("seed", self.seed)):
            if value != int(value):
                raise CompileError(name, f"is {value}, which is no whole number", f"try {int(value)}")

    @property
    def is_greedy(self) -> bool:
        """Always the most likely token of the network."""
        return self.penalty == 1 and (self.temperature == 0 or self.top_k == 1)

    @property
    def fixed(self) -> tuple[int, int, int, int, int]:
        """Temperature, top-k, top-p, penalty and min-p as C takes them."""
        p = max(1, _fixed(self.top_p))
        return _fixed(self.temperature), int(self.top_k), p, _fixed(self.penalty), _fixed(self.min_p)


def _check(name: str, value: float, least: float, most: float, hint: str) -> None:
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise CompileError(name, f"is {value}, and must be from {least} to {most}", hint)


def _fixed(value: float) -> int:
    return math.floor(value * ONE + 0.5)


@dataclass(frozen=True)
class LogitScale:
    """What logits are worth: (q - zero_point) * multiplier / 2^shift."""

    multiplier: int = 1
    shift: int = 16
    zero_point: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.multiplier < 2**30 and 0 <= self.shift <= 62):
            raise CompileError(
                "logits",
                f"their scale is {self.multiplier} / 2^{self.shift}, beyond what the sampler computes with",
                "the multiplier is from 1 to 2^30 - 1, the shift from 0 to 62",
            )

    @classmethod
    def of(cls, scale: float, zero_point: int = 0) -> LogitScale:
        """The nearest one to a scale, as precise as there is room for."""
        if not (math.isfinite(scale) and scale > 0):
            raise CompileError("logits", f"their scale is {scale}, and must be above 0", "calibrate the network again")
        _, exponent = math.frexp(scale)
        shift = min(max(29 - exponent, 0), 62)
        return cls(round(math.ldexp(scale, shift)), shift, zero_point)

    def values(self, logits: Array) -> Array:
        """Logits without their zero point; those of 8 and 16 bits with room for fractions."""
        return _clamped(logits.astype(np.int64) - self.zero_point << _fraction_bits(logits))

    def step(self, rate: int, logits: Array) -> tuple[int, int]:
        """What a distance of one is worth as an exponent of two, / 2^40: a factor below 2^31, and its shift."""
        shift = 16 - self.shift - _fraction_bits(logits)
        up = max(rate.bit_length() - 32, 0)
        factor = (rate >> up) * self.multiplier
        more = max(factor.bit_length() - 31, 0)
        return factor >> more, min(max(shift + up + more, -63), 63)


def _fraction_bits(logits: Array) -> int:
    return 0 if logits.dtype.itemsize == 4 else 8


def _clamped(values: Array) -> Array:
    clamped: Array = np.clip(values, -(2**31), 2**31 - 1)
    return clamped


def fixed_logits(logits: Array) -> Array:
    """Logits of a network that computes in floating point, as integers / 65536."""
    with np.errstate(over="ignore"):
        scaled = (np.asarray(logits, np.float32) * np.float32(ONE)).astype(np.float64)
    nearest = np.floor(np.nan_to_num(scaled, nan=-np.inf, posinf=np.inf, neginf=-np.inf) + 0.5)
    return _clamped(nearest).astype(np.int32)


def weights_at(below: Array, factor: int, shift: int) -> Array:
    """exp(-distance * scale / temperature), / 2^30."""
    reach = min(((31 << 40 + max(-shift, 0)) - 1 >> max(shift, 0)) // factor, WORD)
    product = np.minimum(below, reach) * factor
    exponent = product << shift if shift >= 0 else product >> -shift
    fraction = exponent >> 8 & WORD
    i, rest = fraction >> 26, fraction & 0x3FFFFFF
    powers = POWERS[i] - ((POWERS[i] - POWERS[i + 1]) * rest >> 26)
    return np.where(below > reach, 0, powers >> (exponent >> 40))


class Sampler:
    """Tokens one after another; the same seed gives the same ones everywhere."""

    def __init__(self, sampling: Sampling, vocabulary: int) -> None:
        self.temperature, self.top_k, self.top_p, self.penalty, self.min_p = sampling.fixed
        self.seen = np.zeros(vocabulary, bool)
        self.rate = LOG2_E // self.temperature if self.temperature else 0
        self.random = 0
        self._word()
        self.random = (self.random + sampling.seed) & LONG
        self._word()

    def saw(self, token: int) -> None:
        """A token of the prompt or of what followed."""
        self.seen[token] = True

    def next(self, logits: Array, scale: LogitScale | None = None) -> int:
        """The next token, of logits in integers of a scale, or in floating point."""
        if scale is None:
            logits, scale = fixed_logits(logits), LogitScale()
        flat = logits.reshape(-1)
        if flat.size != self.seen.size:
            raise CompileError("logits", f"are {flat.size} for {self.seen.size} tokens", "give those of one token")
        is_greedy = self.temperature == 0 or self.top_k == 1
        if is_greedy and self.penalty == ONE:
            return int(np.argmax(flat))
        values = self._penalised(scale.values(flat))
        return int(np.argmax(values)) if is_greedy else self._drawn(values, scale.step(self.rate, flat))

    def _penalised(self, values: Array) -> Array:
        if self.penalty == ONE:
            return values
        changed = np.where(values > 0, values * ((1 << 46) // self.penalty) >> 30, values * self.penalty >> 16)
        return np.where(self.seen, _clamped(changed), values)

    def _drawn(self, values: Array, step: tuple[int, int]) -> int:
        below = values.max() - values
        kept = self._most_likely(below)
        weights = weights_at(below[kept], *step)
        if self.top_p < ONE:
            order = np.argsort(below[kept], kind="stable")
            sums = np.cumsum(weights[order])
            wanted = -(-int(sums[-1]) * self.top_p // ONE)
            chosen = np.sort(order[: int(np.searchsorted(sums, wanted)) + 1])
            kept, weights = kept[chosen], weights[chosen]
        # The best one weighs 2^30.
        sums = np.cumsum(np.where(weights >= self.min_p << 14, weights, 0))
        return int(kept[np.searchsorted(sums, self._below(int(sums[-1])), side="right")])

    def _most_likely(self, below: Array) -> Array:
        """As many tokens as top-k says, in their order in the vocabulary; of equal ones the first."""
        k = self.top_k
        if not 0 < k < below.size:
            return np.arange(below.size)
        limit = np.partition(below, k - 1)[k - 1]
        nearer, at_limit = np.flatnonzero(below < limit), np.flatnonzero(below == limit)
        return np.sort(np.concatenate([nearer, at_limit[: k - nearer.size]]))

    def _word(self) -> int:
        """The next 32 random bits."""
        old = self.random
        mixed, turn = ((old >> 18 ^ old) >> 27) & WORD, old >> 59
        self.random = (old * MULTIPLIER + INCREMENT) & LONG
        return (mixed >> turn | mixed << (-turn & 31)) & WORD

    def _below(self, end: int) -> int:
        """Each number below an end as likely as the others."""
        mask = (1 << (end - 1).bit_length()) - 1
        while True:
            number = self._word() << 32
            number = (number | self._word()) & mask
            if number < end:
                return number
