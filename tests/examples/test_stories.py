"""The story teller of the examples: its text, its files, and the script that trained it."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from examples.stories.make_text import PRONOUNS, load, parse, stories, text_of

from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.language.weights.perplexity import perplexity

FOLDER = Path(__file__).parents[2] / "examples" / "stories"
MODEL = FOLDER / "model"
MOST_BYTES = 1_300_000


def test_same_seed_same_stories() -> None:
    assert text_of(5, 20_000) == text_of(5, 20_000)
    assert text_of(5, 20_000) != text_of(6, 20_000)


@pytest.mark.parametrize(("name", "seed", "size"), [("model/calibration", 11, 50_000), ("evaluation", 12, 20_000)])
def test_shipped_text_comes_from_the_generator(name: str, seed: int, size: int) -> None:
    assert (FOLDER / f"{name}.txt").read_text(encoding="utf-8") == text_of(seed, size)


@cache
def told() -> list[str]:
    return list(islice(stories(3), 800))


def test_stories_differ_and_nothing_of_the_grammar_is_left_over() -> None:
    assert len(set(told())) == len(told())
    assert len(load().plots) >= 40
    marks = re.compile(r"[\[\]<>()|~@{}]|  | \.| ,|\ba [aeiou]")
    assert [story for story in told() if marks.search(story) or not story[0].isupper()] == []


def test_names_and_pronouns_agree() -> None:
    sexes = {row["name"]: row["sex"] for row in load().tables["child"]}
    touched = re.findall(r"(\w+) touched it with (her|his) tongue", "\n".join(told()))
    assert {sexes[name] for name, _ in touched} == {"f", "m"}
    assert [(name, his) for name, his in touched if PRONOUNS[sexes[name]]["his"] != his] == []


@pytest.mark.parametrize("text", ["a (b|c", "a) b", "(a|(b)"])
def test_unbalanced_brackets_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="bracket"):
        parse(text)


def header() -> dict[str, dict]:
    data = (MODEL / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8:start])
    tensors.pop("__metadata__")
    assert start + max(tensor["data_offsets"][1] for tensor in tensors.values()) == len(data)
    return tensors


def expected_shapes(config: dict) -> dict[str, list[int]]:
    width, hidden, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    narrow = config["num_key_value_heads"] * config["head_dim"]
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], width], "model.norm.weight": [width]}
    for layer in range(layers):
        attention = {"q_proj": [width, width], "k_proj": [narrow, width], "v_proj": [narrow, width]}
        for name, shape in {**attention, "o_proj": [width, width]}.items():
            shapes[f"model.layers.{layer}.self_attn.{name}.weight"] = shape
        gated = {"gate_proj": [hidden, width], "up_proj": [hidden, width], "down_proj": [width, hidden]}
        for name, shape in gated.items():
            shapes[f"model.layers.{layer}.mlp.{name}.weight"] = shape
        for name in ("input_layernorm", "post_attention_layernorm"):
            shapes[f"model.layers.{layer}.{name}.weight"] = [width]
    return shapes


def test_file_has_the_shapes_of_its_config() -> None:
    tensors = header()
    expected = expected_shapes(json.loads((MODEL / "config.json").read_text()))
    assert {name: tensors[name]["shape"] for name in tensors if not name.endswith(".scale")} == expected
    for name, shape in expected.items():
        assert tensors[name]["dtype"] == ("I8" if len(shape) == 2 else "F32")
        scale = tensors.get(f"{name}.scale")
        assert (scale and (scale["dtype"], scale["shape"])) == (("F32", shape[:1]) if len(shape) == 2 else None)


def test_files_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()}
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


def test_tokenizer_gives_back_every_text() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    config = json.loads((MODEL / "config.json").read_text())
    assert tokenizer.get_vocab_size() == config["vocab_size"]
    stories_of_file = (FOLDER / "evaluation.txt").read_text(encoding="utf-8")
    for text in ["Once upon a time", "Zoë naïvely said: \u201c42 €\u201d 🙂\n\ttab", stories_of_file]:
        ids = tokenizer.encode(text).ids
        assert ids[0] == config["bos_token_id"]
        assert tokenizer.decode(ids) == text


def test_stored_weights_are_within_half_a_step() -> None:
    pytest.importorskip("safetensors")
    from examples.stories.store import dequantised, quantised

    weight = np.random.default_rng(1).normal(size=(16, 40)).astype(np.float32)
    stored = quantised({"matrix": weight, "norm": weight[0]})
    back = dequantised(stored)
    assert stored["matrix"].dtype == np.int8
    assert np.all(np.abs(back["matrix"] - weight) <= stored["matrix.scale"][:, None] * 0.5001)
    assert np.array_equal(back["norm"], weight[0])
    assert np.array_equal(quantised(back)["matrix"], stored["matrix"])


SHORT_RUN = """
from pathlib import Path
from train import Config, Recipe, run
tiny = Config(width=32, layers=2, heads=4, groups=2, hidden=64, words=400, context=32)
run(Path({out!r}), tiny, Recipe(steps=2, batch=2, shards=1, rounded=0.5), "cpu", shard=60)
"""


def in_python(program: str) -> str:
    """What a program prints that runs beside the training script, with its imports."""
    for needed in ("torch", "tokenizers", "safetensors"):
        pytest.importorskip(needed)
    done = subprocess.run([sys.executable, "-c", program], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_steps_of_training(tmp_path: Path) -> None:
    printed = in_python(SHORT_RUN.format(out=str(tmp_path)))
    assert "step 1: loss" in printed
    assert "held-out loss, int8 weights" in printed
    made = {path.name for path in MODEL.iterdir()} - {"calibration.txt"}  # text of the generator, not of the training
    assert {path.name for path in tmp_path.iterdir()} == made


def test_the_shipped_weights_tell_stories() -> None:
    """What they foretell of text that they have not seen."""
    tokens = load_tokenizer(MODEL).encode((FOLDER / "evaluation.txt").read_text(encoding="utf-8")[:3000])
    found = perplexity(read_checkpoint(MODEL), [np.array(tokens[:257])])
    assert found.tokens == 256
    assert math.log(found.value) < 0.3
