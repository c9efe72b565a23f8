"""Keys and values as float16 on a computer: rows have the same results alone and among others, and states fit."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import GEMMA2, LLAMA, Json
from tests.language.weights.test_quantise_file import folder_of, written
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.language.model import LanguageModel
from tilewright.language.reference import ReferenceSession, _Reading
from tilewright.language.sampler import Sampler, Sampling
from tilewright.target.settings import Settings

STORIES = Path(__file__).parents[2] / "examples" / "stories"
"""A trained model."""
TOKENS = np.random.default_rng(3).integers(3, 300, 21).tolist()
MODELS = {
    "llama": LLAMA | {"hidden_size": 64, "intermediate_size": 96},
    "gemma2": GEMMA2 | {"query_pre_attn_scalar": GEMMA2["head_dim"]},
}


def compiled(place: Path, config: Json, form: str, **options: object) -> LanguageModel:
    made = place / f"{form}.gguf"
    if not made.exists():
        written(folder_of(place, config), made, form)
    return LanguageModel.load(made).compile("cpu", context=24, **options)  # type: ignore[arg-type]


def read_in(lm: LanguageModel, *sizes: int) -> Array:
    session, at = lm.session(), 0
    for size in sizes:
        session.read(TOKENS[at : at + size])
        at += size
    return session.scores()


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("form", ["q8_0", "f16"])
@pytest.mark.parametrize("name", MODELS)
def test_tokens_have_the_same_scores_however_they_are_read(name: str, form: str, tmp_path: Path) -> None:
    """With a window and a cap, too; and those of the reference but for rounding."""
    lm = compiled(tmp_path, MODELS[name], form, settings=Settings(threads=2))
    kept = lm.compiled.modes.decode.graph.states
    assert {state.initial.dtype.name for state in kept} == {"float16"}
    at_once = read_in(lm, 21)
    for sizes in ((1,) * 21, (13, 1, 7), (2, 19)):
        np.testing.assert_array_equal(read_in(lm, *sizes), at_once)
    reading = _Reading(ReferenceSession(lm.compiled), Sampler(Sampling(), lm.compiled.config.words))
    reading.prompt(TOKENS)
    np.testing.assert_allclose(at_once, reading.logits, atol=0.01 * np.abs(reading.logits).max())


@pytest.mark.in_turns(6)
def test_a_state_fits_a_cache_of_its_kind(tmp_path: Path) -> None:
    short, long = (compiled(tmp_path, MODELS["llama"], "f16", cache=cache) for cache in (None, "f32"))
    states = [lm.session() for lm in (short, long)]
    for session in states:
        session.read(TOKENS[:9])
    found = short.session()
    with pytest.raises(CompileError, match="is of another model, context, kind of cache or version, or damaged"):
        found.restore(states[1].save())
    found.restore(states[0].save())
    for session in (found, states[0]):
        session.read(TOKENS[9:12])
    np.testing.assert_array_equal(found.scores(), states[0].scores())
    assert len(states[0].save()) < len(states[1].save())


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("target", "cache", "what"), [("cpu", "q3", "cache q3: is not known"), ("generic", "f16", "are not kept as f16")]
)
def test_what_is_refused(target: str, cache: str, what: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, LLAMA)
    with pytest.raises(CompileError, match=what):
        LanguageModel.load(folder).compile(target, cache=cache)


@pytest.mark.in_turns(10)
def test_perplexity_stays() -> None:
    """Of a trained model, and of the first lines."""
    short, long = (perplexity_with(cache) for cache in ("f16", "f32"))
    assert short == pytest.approx(long, abs=0.01)
    assert 1 < long < 5


def perplexity_with(cache: str) -> float:
    lm = LanguageModel.load(STORIES / "model").compile("cpu", cache=cache)
    session, losses = lm.session(), list[float]()
    for line in (STORIES / "evaluation.txt").read_text(encoding="utf-8").splitlines()[:3]:
        tokens = lm.tokenizer.encode(line)[:256] if line else []
        session.reset()
        for token, after in pairwise(tokens):
            session.read([token])
            scores = session.scores().astype(np.float64)
            losses.append(float(np.logaddexp.reduce(scores) - scores[after]))
    assert len(losses) > 100
    return math.exp(np.mean(losses))
