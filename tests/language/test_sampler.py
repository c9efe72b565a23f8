"""The sampler in C draws what the one in Python draws, token for token, and both draw what probabilities say."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sampler_in_c import Logits, SamplerInC, Settings, State, built
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.language.sampler import ONE, LogitScale, Sampler, Sampling, fixed_logits, weights_at

fast = pytest.mark.fast
RANDOM = np.random.default_rng(5)

INT8, INT16 = LogitScale.of(0.11, 3), LogitScale.of(0.0004)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return built(tmp_path_factory.mktemp("sampler"))


def draws(sampler: Sampler | SamplerInC, logits: Array, scale: LogitScale, count: int) -> list[int]:
    """Tokens in a row, each of which counts as seen; logits turn by one place from draw to draw."""
    found = []
    for step in range(count):
        found.append(sampler.next(np.roll(logits, step), scale))
        sampler.saw(found[-1])
    return found


def check(made: ctypes.CDLL, sampling: Sampling, logits: Array, scale: LogitScale, count: int = 12) -> list[int]:
    python = draws(Sampler(sampling, logits.size), logits, scale, count)
    assert draws(SamplerInC(made, sampling, logits.size), logits, scale, count) == python
    return python


def random_logits(kind: type[np.integer], size: int, spread: float = 1.0) -> Array:
    info = np.iinfo(kind)
    return np.clip(RANDOM.normal(0, spread * info.max / 3, size), info.min, info.max).astype(kind)


SETTINGS = [
    Sampling(), Sampling(penalty=1.3), Sampling(1.0), Sampling(0.7, seed=9), Sampling(100.0), Sampling(1e-4),
    Sampling(2e-5), Sampling(1e-7), Sampling(1.0, top_k=1), Sampling(1.0, top_k=5), Sampling(1.0, top_k=10**6),
    Sampling(1.0, top_p=0.9), Sampling(2.0, top_p=1e-5), Sampling(1.5, top_p=0.99999), Sampling(1.0, 40, 0.9, 1.1, 3),
    Sampling(0.8, 3, 0.5, 0.25, 2**64 - 1), Sampling(5.0, 200, 0.7, 64.0), Sampling(1.0, top_k=2, top_p=0.5),
    Sampling(1.0, min_p=0.1), Sampling(3.0, min_p=1.0), Sampling(0.9, 40, 0.9, 1.1, 3, min_p=0.05),
    Sampling(100.0, min_p=1e-5),
]  # fmt: skip


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("sampling", SETTINGS, ids=str)
@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        (np.int8, INT8),
        (np.int16, INT16),
        (np.int32, LogitScale()),
        (np.int32, LogitScale(1, 3)),
        (np.int32, LogitScale(7, 60)),
    ],
)
def test_c_draws_what_python_draws(
    made: ctypes.CDLL, sampling: Sampling, kind: type[np.integer], scale: LogitScale
) -> None:
    for size in (1, 2, 33, 512):
        for spread in (1.0, 0.01, 1e-4):
            check(made, sampling, random_logits(kind, size, spread), scale, 6)


def test_any_settings(made: ctypes.CDLL) -> None:
    @given(
        st.builds(
            Sampling,
            temperature=st.floats(0, 100), top_k=st.integers(0, 40), top_p=st.floats(0.00002, 1),
            penalty=st.floats(0.25, 64), min_p=st.floats(0, 1), seed=st.integers(0, 2**64 - 1),
        ),
        st.lists(st.integers(-128, 127), min_size=1, max_size=40),
        st.floats(1e-9, 1e9),
    )  # fmt: skip
    def property_(sampling: Sampling, values: list[int], scale: float) -> None:
        check(made, sampling, np.array(values, np.int8), LogitScale.of(scale, values[0]), 4)

    property_()


def test_a_large_vocabulary(made: ctypes.CDLL) -> None:
    """As large as those of models in use; each draw takes a few walks over it and no list of tokens."""
    for sampling in (Sampling(1.0, 40, 0.9, 1.1), Sampling(1.0), Sampling(1.0, top_p=0.95)):
        check(made, sampling, random_logits(np.int8, 151936), INT8, 3)
        check(made, sampling, random_logits(np.int16, 151936), INT16, 3)


def test_equal_logits(made: ctypes.CDLL) -> None:
    same = np.full(100, 5, np.int8)
    assert check(made, Sampling(), same, INT8, 3) == [0, 0, 0]
    assert set(check(made, Sampling(1.0, top_k=3), same, INT8, 60)) == {0, 1, 2}
    assert set(check(made, Sampling(1.0, top_p=0.0498), same, INT8, 90)) == {0, 1, 2, 3, 4}
    assert len(set(check(made, Sampling(1.0), same, INT8, 200))) > 60


def test_extremes_of_integers(made: ctypes.CDLL) -> None:
    """Logits and scales at the ends of what they can be."""
    ends = np.array([2**31 - 1, -(2**31), 0, 2**31 - 2, 1, -1] * 3, np.int32)
    for scale in (LogitScale(2**30 - 1, 0, -(2**31)), LogitScale(1, 62), LogitScale(2**30 - 1, 46, 2**31 - 1)):
        for sampling in (Sampling(), Sampling(1.0, penalty=64), Sampling(100.0, 5, 0.5, 0.25), Sampling(2e-5)):
            check(made, sampling, ends, scale)


def test_the_penalty_is_for_what_was_seen(made: ctypes.CDLL) -> None:
    """Greedily, the best token comes once, then the next best: all are above 0 and divided, or below and multiplied."""
    logits = (np.array([5.0, 4.9, 4.8, -3.0]) * ONE).astype(np.int32)
    for sampler in (Sampler(Sampling(penalty=2.0), 4), SamplerInC(made, Sampling(penalty=2.0), 4)):
        found = []
        for _ in range(4):
            found.append(sampler.next(logits, LogitScale()))
            sampler.saw(found[-1])
        assert found == [0, 1, 2, 0]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(1.0),
        Sampling(0.6),
        Sampling(3.0),
        Sampling(1.0, top_k=5),
        Sampling(1.0, top_p=0.8),
        Sampling(0.9, 12, 0.9),
        Sampling(1.0, min_p=0.2),
    ],
    ids=str,
)
def test_tokens_are_as_frequent_as_probabilities_say(made: ctypes.CDLL, sampling: Sampling) -> None:
    """Chi-square of 20,000 draws against the softmax in floating point; the seed is fixed."""
    values = RANDOM.normal(0, 1.5, 20)
    wanted = probabilities(values, sampling)
    sampler = SamplerInC(made, sampling, 20)
    logits = np.round(values * ONE).astype(np.int32)
    count = 20000
    found = np.bincount([sampler.next(logits, LogitScale()) for _ in range(count)], minlength=20)
    assert not found[wanted == 0].any()
    drawn = wanted > 0
    chi_square = float(np.sum((found - count * wanted)[drawn] ** 2 / (count * wanted[drawn])))
    freedom = int(drawn.sum()) - 1
    assert chi_square < freedom + 4 * np.sqrt(2 * freedom)


def probabilities(values: Array, sampling: Sampling) -> Array:
    """In floating point, as the words say it: temperature, then top-k, then top-p, then min-p."""
    weights = np.exp((values - values.max()) / sampling.temperature)
    order = np.argsort(-values, kind="stable")
    weights[order[sampling.top_k or len(values) :]] = 0
    shares = np.cumsum(weights[order]) / weights.sum()
    weights[order[int(np.searchsorted(shares, sampling.top_p)) + 1 :]] = 0
    weights[weights < sampling.min_p * weights.max()] = 0
    return weights / weights.sum()


@fast
def test_weights_are_exponentials() -> None:
    for scale, logits in (
        (INT8, np.int8),
        (INT16, np.int16),
        (LogitScale(), np.int32),
        (LogitScale.of(3e-7), np.int32),
    ):
        rate = Sampler(Sampling(0.7), 1).rate
        below = np.arange(0, 2**31, 1000003) if logits is np.int32 else np.arange(0, 2**24, 7919)
        fraction = 1 if logits is np.int32 else 256
        wanted = np.exp(-below / fraction * scale.multiplier / 2**scale.shift / 0.7)
        found = weights_at(below, *scale.step(rate, np.zeros(1, logits))) / 2**30
        assert np.max(np.abs(found - wanted)) < 1.6e-5
        assert found[0] == 1


@fast
def test_the_generator_is_pcg32() -> None:
    """A seed's first numbers, which must never change: texts of a seed would."""
    sampler = Sampler(Sampling(seed=42), 1)
    state = (0 * 6364136223846793005 + 1442695040888963407 + 42) % 2**64
    state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    word = ((state >> 18 ^ state) >> 27) % 2**32
    turn = state >> 59
    assert sampler._word() == (word >> turn | word << (32 - turn)) % 2**32
    words = [sampler._word() for _ in range(4000)]
    assert abs(np.mean(words) / 2**32 - 0.5) < 0.02
    assert len(set(words)) == 4000


def test_floats_become_integers(made: ctypes.CDLL) -> None:
    values = np.array(
        [0, -0.0, 1, -1, 0.5 / ONE, -0.5 / ONE, 1.5 / ONE, -1.5 / ONE, 3.14159, 1e30, -1e30, np.inf,
         -np.inf, np.nan, 32767.999],
        np.float32,
    )  # fmt: skip
    values = np.concatenate([values, RANDOM.normal(0, 20, 1000).astype(np.float32)])
    found = np.empty(values.size, np.int32)
    made.tw_logits_from_float(ctypes.c_void_p(values.ctypes.data), ctypes.c_void_p(found.ctypes.data), values.size)
    assert np.array_equal(found, fixed_logits(values))
    finite = np.abs(values) < 30000
    assert np.max(np.abs(found[finite] / ONE - values[finite].astype(np.float64))) <= 0.5001 / ONE
    assert found[13] == -(2**31)
    copy = values.copy()
    made.tw_logits_from_float(ctypes.c_void_p(copy.ctypes.data), ctypes.c_void_p(copy.ctypes.data), copy.size)
    assert np.array_equal(copy.view(np.int32), found)
    assert Sampler(Sampling(), 3).next(np.array([0.1, 0.3, 0.2], np.float32)) == 1


@fast
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("temperature", -0.1), ("temperature", float("nan")), ("temperature", float("inf")), ("temperature", "1"),
        ("top_k", -1), ("top_k", 1.5), ("top_k", 2**31), ("top_p", 0.0), ("top_p", 1.01), ("top_p", float("nan")),
        ("penalty", 0.0), ("penalty", -1.0), ("penalty", 65.0), ("min_p", -0.1), ("min_p", 1.1),
        ("seed", -1), ("seed", 2**64), ("seed", True),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(setting: str, value: object) -> None:
    with pytest.raises(CompileError) as refused:
        Sampling(**{setting: value})  # type: ignore[arg-type]
    assert setting in refused.value.where.replace(" ", "_")
    assert str(value) in refused.value.what
    assert refused.value.hint


@fast
def test_bad_logits_are_refused() -> None:
    with pytest.raises(CompileError, match="are 3 for 4 tokens"):
        Sampler(Sampling(), 4).next(np.zeros(3, np.int8), INT8)
    for scale in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(CompileError, match="must be above 0"):
            LogitScale.of(scale)
    with pytest.raises(CompileError, match=r"their scale is 0 / 2\^3"):
        LogitScale(0, 3)


@pytest.mark.parametrize(
    "settings",
    [(-1, 0, ONE, ONE, 0), (101 * ONE, 0, ONE, ONE, 0), (ONE, -1, ONE, ONE, 0), (ONE, 0, 0, ONE, 0),
     (ONE, 0, ONE + 1, ONE, 0), (ONE, 0, ONE, 0, 0), (ONE, 0, ONE, 65 * ONE, 0), (ONE, 0, ONE, ONE, -1),
     (ONE, 0, ONE, ONE, ONE + 1)],
)  # fmt: skip
def test_c_refuses_bad_settings(made: ctypes.CDLL, settings: tuple[int, ...]) -> None:
    seen = (ctypes.c_uint32 * 1)()
    state, fine = State(), Settings(ONE, 0, ONE, ONE)
    assert (
        made.tw_sampler_init(ctypes.byref(state), ctypes.byref(Settings(*settings)), ctypes.c_uint64(0), 4, seen) == -1
    )
    assert made.tw_sampler_init(ctypes.byref(state), ctypes.byref(fine), ctypes.c_uint64(0), 0, seen) == -1
    assert made.tw_sampler_init(ctypes.byref(state), ctypes.byref(fine), ctypes.c_uint64(0), 4, None) == 0
    penalty = Settings(ONE, 0, ONE, 2 * ONE)
    assert made.tw_sampler_init(ctypes.byref(state), ctypes.byref(penalty), ctypes.c_uint64(0), 4, None) == -1


def test_c_refuses_bad_logits(made: ctypes.CDLL) -> None:
    sampler = SamplerInC(made, Sampling(), 4)
    values = np.zeros(4, np.int8)
    for bits, multiplier, shift in ((7, 1, 16), (8, 0, 16), (8, 2**30, 16), (8, 1, -1), (8, 1, 63)):
        logits = Logits(values.ctypes.data, bits, 0, multiplier, shift)
        assert made.tw_sampler_next(ctypes.byref(sampler.state), ctypes.byref(logits)) == -1


def test_tokens_that_do_not_exist_are_not_seen(made: ctypes.CDLL) -> None:
    sampler = SamplerInC(made, Sampling(penalty=2.0), 40)
    for token in (-1, 40, 64, 2**31 - 1):
        sampler.saw(token)
    assert list(sampler.seen) == [0, 0, 7]


def test_only_one_file_has_floats() -> None:
    """The integer part of the sampler names no floating-point type."""
    folder = Path(__file__).parents[2] / "src" / "tilewright" / "language"
    paths = [folder / "c" / "sampler.c", *(folder / "text").glob("tokenizer*.c")]
    assert len(paths) > 4
    for path in paths:
        text = path.read_text()
        assert "float" not in text.replace("floating", "")
        assert "double" not in text
