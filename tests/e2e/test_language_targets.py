"""Which commands of language models which target takes: each works, or names those that do."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from tests.support import talkers
from tests.support.command import Command
from tilewright import targets

SESSIONS = {"cpu", "generic", "gpu"}
WORDS = ("--context", "24", "--block", "4", "--tokens", "2", "--no-stop", "--json")
ABLE = ("cpu", "gpu", "quad", "siracusa", "mempool", "minpool", "itapool")
"""Besides generic, with which they are compared. Without a driver gpu runs its kernels as C."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talkers.save(tmp_path_factory.mktemp("models") / "fox")


def unable() -> list[str]:
    return sorted({*targets.names()} - {*ABLE, "generic"})


@pytest.mark.parametrize("target", unable())
def test_a_target_without_language_models_names_those_with(command: Command, model: Path, target: str) -> None:
    error = command("generate", model, "A fox", *WORDS, "--target", target).json["error"]
    assert error["what"] == "has no support for language models"
    assert {*re.findall(r"[\w-]+", error["hint"].removeprefix("use one of"))} == {*ABLE, "generic"}


@pytest.mark.parametrize("target", sorted({*targets.names()} - SESSIONS))
@pytest.mark.parametrize("what", ["chat", "serve"])
def test_sessions_are_of_computers(command: Command, model: Path, what: str, target: str) -> None:
    ran = command(what, model, "--target", target)
    assert ran.code == 2
    assert f"target {target}" in ran.err
    assert "has no sessions: its programs read one text" in ran.err
    shown = " ".join(ran.err.split())
    assert "use cpu or generic for chat and serve; tilewright generate runs on" in shown.replace("│ ", "")
    assert all(name in shown for name in ABLE)


def test_quantising_a_language_model_names_its_command(command: Command, model: Path) -> None:
    error = command("quantise", model, "--json").json["error"]
    assert error["hint"].endswith(f"tilewright quantise {model} --weights q4_0")


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("target", ["cpu", *(pytest.param(one, marks=pytest.mark.thorough) for one in ABLE[1:])])
def test_the_others_generate_the_same(command: Command, model: Path, target: str) -> None:
    made = command("generate", model, "A fox", *WORDS, "--target", target)
    assert made.code == 0, made.out
    here = command("generate", model, "A fox", *WORDS).json
    assert made.json["token_ids"] == here["token_ids"]


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("target", ["cpu", pytest.param("gpu", marks=pytest.mark.thorough)])
def test_sessions_answer_the_same(
    command: Command, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: str
) -> None:
    """`serve` has the same session behind it."""
    (tmp_path / "template.jinja").write_text("{% for m in messages %}{{ m.content }}. {% endfor %}")
    words = (
        "--chat-template",
        tmp_path / "template.jinja",
        "--context",
        "40",
        "--block",
        "4",
        "--tokens",
        "3",
        "--json",
    )
    said = []
    for one in (target, "generic"):
        monkeypatch.setattr(sys, "stdin", io.StringIO("A fox\n"))
        said.append(command("chat", model, "--target", one, *words).json["text"])
    assert said[0] == said[1] != ""


def test_a_model_that_does_not_fit_says_so_in_one_sentence(command: Command, model: Path) -> None:
    error = command("generate", model, "A fox", *WORDS, "--target", "quad", "--memory", "ram=290000").json["error"]
    assert "bytes are needed" in error["what"]
    assert ",," not in error["what"]
    assert "--quantise" in error["hint"]
