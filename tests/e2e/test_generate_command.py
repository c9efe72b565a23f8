"""`tilewright generate`: text on stdout as it comes, figures on stderr or as JSON, one clear error for bad input."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontends.checkpoint import small
from tests.support import exported, talkers
from tests.support.command import Command
from tilewright.language.model import LanguageModel

WORDS = ("--context", "40", "--block", "4", "--tokens", "6")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talkers.save(tmp_path_factory.mktemp("models") / "fox")


@pytest.mark.in_turns(6)
def test_the_text_goes_to_stdout_and_the_figures_to_stderr(command: Command, model: Path) -> None:
    ran = command("generate", model, "A fox", *WORDS)
    assert ran.code == 0
    found = command("generate", model, "A fox", *WORDS, "--json").json
    shown = "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in found["text"])
    assert ran.out == f"A fox{shown}\n"
    assert "tokens/s" in ran.err
    assert "fox: Llama, 2 layers" in ran.err
    assert {"flash", "RAM"} == {*found["bytes"]}
    assert (found["status"], found["prompt"], found["tokens"], found["prompt_tokens"]) == ("ok", "A fox", 6, 6)
    assert found["tokens_per_second"] > 0
    assert found["prefill_tokens_per_second"] > 0
    assert found["microjoules_per_token"] is None


def test_a_prompt_from_stdin(command: Command, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A fox")))
    assert command("generate", model, "-", *WORDS, "--json").json["prompt"] == "A fox"


def test_a_closed_stdin_is_one_clear_error(command: Command, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    ran = command("generate", model, "-", *WORDS)
    assert ran.code == 2
    assert "cannot be read: stdin is closed" in ran.err


def test_too_many_tokens_are_refused_before_any_work(command: Command) -> None:
    ran = command("generate", "nowhere", "A fox", "--tokens", "3000000000")
    assert ran.code == 2
    assert "tokens 3000000000" in ran.err
    assert "choose 0 to 2147483647" in ran.err


def test_an_onnx_graph(command: Command, tmp_path: Path) -> None:
    folder = exported.save(tmp_path / "fox", {"model.onnx": exported.model(exported.Style(groups=2))}, exported.CONFIG)
    ran = command("generate", folder / "model.onnx", "A fox", *WORDS)
    assert ran.code == 0
    assert "fox: fox, 2 layers, width 24, vocabulary 258" in ran.err


def test_samplings_and_folders(command: Command, model: Path, tmp_path: Path) -> None:
    options = ("--temperature", "1", "--top-k", "40", "--top-p", "0.9", "--repetition-penalty", "1.2", "--no-stop")
    seeds = [
        command("generate", model, "A fox", *WORDS, *options, "--seed", seed, "--json").json["token_ids"]
        for seed in "112"
    ]
    assert seeds[0] == seeds[1] != seeds[2]
    ran = command("generate", model, "A fox", *WORDS, "-o", tmp_path / "c", "--json")
    assert "main.c" in ran.json["files"]
    assert (tmp_path / "c/CMakeLists.txt").is_file()


@pytest.mark.in_turns(6)
def test_the_text_beside_a_model_is_what_it_is_quantised_on(command: Command, tmp_path: Path) -> None:
    folder = talkers.save(tmp_path / "fox")
    assert "calibration.txt" in command("generate", folder, "A fox", *WORDS, "--quantise").err
    (folder / "calibration.txt").write_text(talkers.TEXT[:100])
    ran = command("generate", folder, "A fox", "--quantise", *WORDS)
    assert ran.code == 0
    assert "integers only" in ran.err


def test_a_full_context_is_said(command: Command, model: Path) -> None:
    words = ("--context", "40", "--block", "4", "--tokens", "100", "--no-stop")
    assert "the context of 40 tokens is full: the text stops there" in command("generate", model, "A fox", *words).err
    assert command("generate", model, "A fox", *words, "--json").json["stopped"] == "context"


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--target", "nowhere"), "target 'nowhere'"),
        (("--temperature", "-1"), "must be from 0 to 100"),
        (("--top-p", "2"), "must be from 1e-06 to 1"),
        (("--tokens", "-2"), "--tokens"),
        (("--weight-bits", "4"), "are for quantised models"),
        (("--quantise", "none.txt"), "none.txt"),
        (("--context", "100"), "is not within the 64 tokens"),
        (("--cores", "2"), "has no cluster"),
        (("--tokenizer", "none.json"), "none.json"),
        (("--target", "siracusa", "--l2", "121000"), "choose a context of at most"),
    ],
)
def test_bad_options_are_one_clear_error(command: Command, model: Path, words: tuple[str, ...], what: str) -> None:
    ran = command("generate", model, "A fox", *words)
    assert ran.code == 2
    assert what in ran.err
    assert ran.out == ""
    found = command("generate", model, "A fox", *words, "--json")
    assert found.code == 2
    assert found.json["status"] == "error"


@pytest.mark.parametrize("prompt", ["a" * 100, "a\udcff"])
def test_bad_prompts_are_one_clear_error(command: Command, model: Path, prompt: str) -> None:
    ran = command("generate", model, prompt)
    assert ran.code == 2
    assert "prompt" in ran.err


def broken(folder: Path, how: str) -> Path:
    talkers.save(folder)
    weights, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
    if how == "truncated":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif how == "missing":
        weights.unlink()
    elif how == "shard":
        index = {"weight_map": dict.fromkeys(small.tensors(talkers.CONFIG), "model-00001-of-00002.safetensors")}
        weights.unlink()
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    elif how == "shape":
        (folder / "config.json").write_text(json.dumps(talkers.CONFIG | {"intermediate_size": 24}))
    elif how == "architecture":
        (folder / "config.json").write_text(json.dumps(talkers.CONFIG | {"architectures": ["MambaForCausalLM"]}))
    elif how == "tokenizer":
        made = talkers.tokenizer()
        tokenizer.write_text(json.dumps({**made, "model": made["model"] | {"type": "Unigram"}}))
    else:
        tokenizer.unlink()
    return folder


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("truncated", "it may be truncated"),
        ("missing", "has neither model.safetensors nor"),
        ("shard", "model-00001-of-00002.safetensors"),
        ("shape", "by config.json it has 24x16"),
        ("architecture", "the architecture 'MambaForCausalLM' is not supported"),
        ("tokenizer", "of the kind Unigram, which is not supported"),
        ("no tokenizer", "has no tokenizer.json or tokenizer.bin"),
    ],
)
def test_bad_models_are_one_clear_error_and_nothing_is_written(
    command: Command, tmp_path: Path, how: str, what: str
) -> None:
    ran = command("generate", broken(tmp_path / "fox", how), "A fox", "-o", tmp_path / "c")
    assert ran.code == 2
    assert what in ran.err
    assert "Traceback" not in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["fox"]


def test_a_place_that_is_taken_is_refused_before_any_work(command: Command, model: Path, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("mine")
    broken_model = broken(tmp_path / "fox", "missing")
    ran = command("generate", broken_model, "A fox", "-o", tmp_path)
    assert "holds other files" in ran.err
    shutil.rmtree(broken_model)


def test_an_interrupted_text_ends_at_once(command: Command, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> Iterator[str]:
        yield " jumps"
        raise KeyboardInterrupt

    monkeypatch.setattr(LanguageModel, "generate", interrupted)
    ran = command("generate", model, "A fox", *WORDS)
    assert ran.code == 130
    assert ran.out.startswith("A fox jumps")
    assert "Traceback" not in ran.err
