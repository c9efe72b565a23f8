"""Language models on the GPU: as C of this machine, and on a driver whose memory is not where the arena is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint import small
from tests.support import talkers
from tests.targets.gpu.fake import Fake
from tilewright.errors import CompileError
from tilewright.language.model import LanguageModel
from tilewright.target.settings import Settings

SIZES = {"context": 48, "block": 8}
PROMPT = [256, *b"The fox met a hen by the well."]
"""Blocks, and a rest that is read one by one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Matrices are in 16 bits."""
    place = tmp_path_factory.mktemp("model")
    config = talkers.CONFIG | {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    words = np.random.default_rng(7).uniform(-2, 2, (config["vocab_size"], 32))
    arrays = small.tensors(config) | {"model.embed_tokens.weight": words}
    small.save(place, config, {name: one.astype(np.float16) for name, one in arrays.items()})
    (place / "tokenizer.json").write_text(json.dumps(talkers.tokenizer()))
    return place


@pytest.fixture(scope="module")
def wanted(folder: Path) -> tuple[list[int], np.ndarray]:
    """What portable C says, and the scores behind the prompt."""
    session = LanguageModel.load(folder).compile("generic", context=48).session()
    session.read(PROMPT)
    scores, said = session.scores(), list[int]()
    for _ in range(12):
        said.append(session.choose())
        session.read(said[-1:])
    return said, scores


def check(lm: LanguageModel, wanted: tuple[list[int], np.ndarray]) -> None:
    """Scores, and tokens of two contexts in turn; the second goes on from the first one's state."""
    said, scores = wanted
    one, other = lm.session(), lm.session()
    one.read(PROMPT[:20])
    other.restore(one.save())
    for session in (one, other):
        session.read(PROMPT[20:])
        np.testing.assert_allclose(session.scores(), scores, rtol=1e-4, atol=1e-4 * np.abs(scores).max())
    for token in said:
        for session in (one, other):
            assert session.choose() == token
            session.read([token])
    for wrong in ("x", b"x", [1.5], [[1]], ["a"], 3, [True]):
        with pytest.raises(CompileError, match="a list of whole numbers is expected"):
            one.read(wrong)  # type: ignore[arg-type]
    for session in (one, other):
        session.close()
        session.close()
    with pytest.raises(CompileError, match="is closed"):
        one.read([1])


@pytest.mark.in_turns(6)
def test_as_c(folder: Path, wanted: tuple[list[int], np.ndarray]) -> None:
    lm = LanguageModel.load(folder).compile("gpu", settings=Settings(gpu="host"), **SIZES)
    layers = [*lm.compiled.modes.decoding.schedule.layers, *lm.compiled.modes.writers["prefill"].schedule.layers]
    assert {layer.engine for layer in layers} == {"gpu"}
    assert any("gpu_block_f16" in layer.kernel.stem for layer in layers)
    check(lm, wanted)
    with pytest.raises(CompileError, match="are not what a GPU multiplies"):
        LanguageModel.load(folder).compile("gpu", activations="q8")
    with pytest.raises(CompileError, match="a GPU has them of a file"):
        lm.save(folder / "c", weights="c")


@pytest.mark.in_turns(6)
def test_on_a_driver(fake: Fake, folder: Path, wanted: tuple[list[int], np.ndarray]) -> None:
    lm = LanguageModel.load(folder).compile("gpu", settings=Settings(gpu="cuda"), **SIZES)
    fake.provide(dict(lm.compiled.texts()))
    before = fake.allocated
    check(lm, wanted)
    held = fake.allocated - before
    assert 0 < held < lm.compiled.modes.layout.bytes + 64 * 256 + 1024  # weights once, and no arena any more
    fake.fails("lost")
    with pytest.raises(CompileError, match="the GPU's driver fails to"):
        lm.session().read([1, 2, 3])


@pytest.mark.in_turns(6)
def test_windows(tmp_path: Path) -> None:
    """Of layers that see a few tokens."""
    talkers.save(tmp_path, architectures=["MistralForCausalLM"], model_type="mistral", sliding_window=9)
    found = []
    for target, settings in (("generic", None), ("gpu", Settings(gpu="host"))):
        lm = LanguageModel.load(tmp_path).compile(target, settings=settings, **SIZES)
        session = lm.session()
        session.read(PROMPT)
        found.append(session.scores())
    layers = [*lm.compiled.modes.decoding.schedule.layers, *lm.compiled.modes.writers["prefill"].schedule.layers]
    assert {layer.engine for layer in layers} == {"gpu"}
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-4 * np.abs(found[0]).max())
