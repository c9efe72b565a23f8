"""A model in, a GGUF file out: the same model for our reader and for others, and nothing where something is wrong."""

from __future__ import annotations

import io
import json
import re
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.checkpoint.small import CASES, GEMMA2, GEMMA3, GPT_NEO, LLAMA, LLAMA3, Json, save, tensors
from tests.language.weights.test_forward import logits
from tests.support import tokenizers_made
from tests.support.command import Command
from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.gguf_file import LIST, STRING, read_gguf
from tilewright.frontends.checkpoint.reading import read_checkpoint
from tilewright.ir.types import Array
from tilewright.language.text.tokenizer_file import load_tokenizer
from tilewright.language.weights.gguf_model import differences
from tilewright.language.weights.gguf_writer import GgufWriter
from tilewright.language.weights.quantise_file import Texts, Written, quantise_file
from tilewright.language.weights.rounding import Choice

pytestmark = pytest.mark.fast
STORIES = Path(__file__).parents[3] / "examples" / "stories" / "model"
WORDS = 1024
"""More than the tokenizers that are made here have."""
NO_TEXTS = Texts()
SAID = {
    "gemma2": GEMMA2 | {"query_pre_attn_scalar": GEMMA2["head_dim"]},
    "gemma3": GEMMA3 | {"query_pre_attn_scalar": GEMMA3["head_dim"], "sliding_window_pattern": 6},
    "smollm3": CASES["smollm3"] | {"no_rope_layer_interval": 4, "num_hidden_layers": 2},
}  # fmt: skip
"""What of these files in GGUF can say."""
UNSAID = ("gpt_neo", "gelu", "relu", "qwen2, window", "opt", "falcon, one after another")
KNOWN = {name: SAID.get(name, config) for name, config in CASES.items() if not any(one in name for one in UNSAID)}
"""Cases that files have an architecture for."""


def folder_of(place: Path, config: Json, tokenizer: str = "sentence piece") -> Path:
    folder = save(place, config | {"vocab_size": WORDS}, _widened(config))
    (folder / "tokenizer.json").write_text(tokenizers_made.made(tokenizer))
    return folder


def _widened(config: Json) -> dict[str, Array]:
    """Tensors with rows for all tokens."""
    found = tensors(config)
    for name in ("model.embed_tokens.weight", "transformer.wte.weight", "gpt_neox.embed_in.weight", "lm_head.weight",
                 "transformer.word_embeddings.weight",
                 "embed_out.weight", "lm_head.bias"):  # fmt: skip
        if name in found:
            found[name] = np.resize(found[name], (WORDS, *found[name].shape[1:]))
    return found


def written(model: Path, place: Path, form: str = "f16", head: str = "", texts: Texts = NO_TEXTS) -> Written:
    return quantise_file(model, place, Choice(form, head or form), texts)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("name", KNOWN)
def test_every_family_is_read_back(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "folder", KNOWN[name])
    written(folder, tmp_path / "model.gguf")
    wanted, found = read_checkpoint(folder), read_checkpoint(tmp_path / "model.gguf")
    assert not differences(wanted.config, found.config)
    assert wanted.weights.keys() == found.weights.keys()
    values = found.floats()
    for weight, value in wanted.floats().items():
        halves = value.astype(np.float16) if value.ndim == 2 and "position" not in weight else value
        np.testing.assert_array_equal(values[weight], halves.astype(np.float32), err_msg=weight)


@pytest.mark.parametrize("name", ["llama", "gpt_neox", "phi", "qwen2"])
def test_the_file_of_a_file_is_the_same(name: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first.gguf", tmp_path / "second.gguf"
    written(folder_of(tmp_path / "folder", CASES[name]), first)
    written(first, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("kind", ["sentence piece", "gemma", "gpt2", "gpt2 by digits", "llama3 whole words", "qwen2"])
def test_tokenizers(kind: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "folder", LLAMA, kind)
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    written(folder, tmp_path / "model.gguf")
    wanted, found = load_tokenizer(folder), load_tokenizer(tmp_path / "model.gguf")
    for text in tokenizers_made.TEXTS:
        if not any(one.text in text for one in wanted.added):
            assert wanted.encode(text) == found.encode(text), text
    assert read_gguf(tmp_path / "model.gguf").keys["tokenizer.chat_template"] == "{{ messages }}"


def test_a_list_of_texts_without_any_is_one_of_texts() -> None:
    file = io.BytesIO()
    GgufWriter(file, {"tokenizer.ggml.merges": []}, [])
    assert struct.pack("<IIQ", LIST, STRING, 0) in file.getvalue()


def test_what_other_readers_see(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    place = tmp_path / "model.gguf"
    written(STORIES, place, "q4_0", "q8_0")
    reader = gguf.GGUFReader(place)
    ours, keys = read_checkpoint(STORIES), {name: one.contents() for name, one in reader.fields.items()}
    assert keys["general.file_type"] == 2
    assert len(keys["tokenizer.ggml.tokens"]) == len(keys["tokenizer.ggml.scores"]) == ours.config.words
    kinds = {one.name: one.tensor_type.name for one in reader.tensors}
    assert kinds["token_embd.weight"] == "Q8_0"
    assert kinds["blk.0.attn_q.weight"] == kinds["blk.4.ffn_down.weight"] == "Q4_0"
    assert kinds["blk.0.attn_norm.weight"] == "F32"
    down = next(one for one in reader.tensors if one.name == "blk.1.ffn_down.weight")
    values = gguf.quants.dequantize(down.data, down.tensor_type)
    np.testing.assert_array_equal(values, read_checkpoint(place).floats_of("layer1.ffn.down.weight"))
    np.testing.assert_allclose(values, ours.floats_of("layer1.ffn.down.weight"), atol=0.1)


@pytest.mark.in_turns(3)
def test_a_text_makes_it_better(tmp_path: Path, command: Command) -> None:
    """Scores of a text are nearer to those of floats; the command says what becomes of the perplexity."""
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
    folder = folder_of(tmp_path / "folder", LLAMA | sizes)
    pages = tokenizers_made.corpus()[:12]
    seen, new = ("\n".join(page[start:end] for page in pages) for start, end in ((0, 800), (800, 1000)))
    (tmp_path / "seen.txt").write_text(seen)
    (tmp_path / "new.txt").write_text(new)
    words = ("quantise", folder, "--weights", "q4_0", "--head", "q8_0", "--evaluate", tmp_path / "new.txt")
    plain = command(*words, "-o", tmp_path / "plain.gguf", "--json").json
    found = command(*words, "-o", tmp_path / "m.gguf", "--calibrate", tmp_path / "seen.txt", "--json").json
    assert plain["perplexity"]["before"] == found["perplexity"]["before"]
    assert plain["calibration_tokens"] == 0
    assert found["calibration_tokens"] > 500
    assert found["formats"]["q8_0"] == WORDS * 64
    assert (tmp_path / "m.gguf").stat().st_size == found["bytes"] == plain["bytes"]
    # Few tokens of one page would not do: with its words the share goes from 0.63 to 0.82, and with the last bits of
    # sums, which are others where arrays lie elsewhere in memory, by 0.03.
    ids = np.array(load_tokenizer(folder).encode(new)[:500])
    floats, nearest, better = (
        logits(read_checkpoint(one), ids) for one in (folder, *sorted(tmp_path.glob("*.gguf"))[::-1])
    )
    assert np.mean((better - floats) ** 2) < 0.8 * np.mean((nearest - floats) ** 2)
    shown = command(*words, "-o", tmp_path / "m.gguf").out
    assert re.search(r"perplexity [\d.]+ before, [\d.]+ after", shown)


def test_a_scaling_that_files_have_no_word_for_is_divisors(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "folder", LLAMA | LLAMA3)
    written(folder, tmp_path / "model.gguf")
    assert "rope_freqs.weight" in read_gguf(tmp_path / "model.gguf").tensors


def test_differences_are_named(tmp_path: Path) -> None:
    config = read_checkpoint(save(tmp_path, LLAMA)).config
    assert not differences(config, config)
    assert differences(config, replace(config, qk_norm=True, rotary=None)) == ["qk_norm", "rotary"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (GPT_NEO, "no architecture for a GPT-Neo"),
        (LLAMA | {"hidden_act": "gelu"}, "cannot say what this Llama has: activation"),
        (GEMMA2, "cannot say what this Gemma 2 has: score_scale"),
        (CASES["qwen2, window"], "cannot say what this Qwen2 has: local"),
        (CASES["qwen3"] | {"vocab_size": 300}, "has token .*, but the model's vocabulary has 300 tokens"),
    ],
)
def test_what_is_refused_leaves_nothing(config: Json, message: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "folder", config)
    if config["vocab_size"] == 300:
        arrays = {name: value[:300] if len(value) == WORDS else value for name, value in _widened(config).items()}
        save(folder, config, arrays)
    with pytest.raises(CompileError, match=message):
        written(folder, tmp_path / "model.gguf")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_options_of_the_command(tmp_path: Path, command: Command) -> None:
    wrong = {
        "--weights q3": "--weights q3 .* is no format",
        "--head q4_0": "--weights .* is no format",
        "--weights q4_0 --data x.npz": "--data .* has no effect on language models",
        "--weights q4_0 --calibrate none.txt": "none.txt.*cannot be read",
        "--weights q4_0 --calibrate /dev/null": "/dev/null .* has no text",
        "--weights q4_0 --evaluate /dev/null": "/dev/null .* has no text",
    }
    for words, message in wrong.items():
        ran = command("quantise", STORIES, *words.split(), "-o", tmp_path / "m.gguf")
        assert re.search(message, " ".join(ran.err.split())), ran.err
    assert "is missing" in command("quantise", STORIES).err
    place = tmp_path / "m.gguf"
    assert command("quantise", STORIES, "--weights", "q8_0", "-o", place).code == 0
    assert "is the model itself" in command("quantise", place, "--weights", "q4_0", "-o", place).err
    assert not [path for path in tmp_path.iterdir() if path != place]
