"""Which commands of language models which target takes: each works, or names those that do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import talkers
from tests.support.command import Command
from tilewright import targets

SESSIONS = {"cpu", "generic", "gpu"}
WORDS = ("--context", "24", "--block", "4", "--tokens", "2", "--no-stop", "--json")
ABLE = ("cpu", "quad", "siracusa", "mempool", "minpool", "itapool")
"""Besides generic, with which they are compared, and gpu, which wants one."""
MEASURED = ("quad", "siracusa")
"""That simulate such a model in seconds."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talkers.save(tmp_path_factory.mktemp("models") / "fox")


def unable() -> list[str]:
    return sorted({*targets.names()} - {*ABLE, "generic", "gpu"})


@pytest.mark.parametrize("target", unable())
def test_a_target_without_language_models_names_those_with(command: Command, model: Path, target: str) -> None:
    error = command("generate", model, "A fox", *WORDS, "--target", target).json["error"]
    assert error["what"] == "has no support for language models"
    assert {*re.findall(r"[\w-]+", error["hint"].removeprefix("use one of"))} == {*ABLE, "generic", "gpu"}


@pytest.mark.parametrize("target", sorted({*targets.names()} - SESSIONS))
@pytest.mark.parametrize("what", ["chat", "serve"])
def test_sessions_are_of_computers(command: Command, model: Path, what: str, target: str) -> None:
    ran = command(what, model, "--target", target)
    assert ran.code == 2
    assert f"target {target}" in ran.err
    assert "has no sessions: its programs read one text" in ran.err
    assert "use cpu or generic" in ran.err


@pytest.mark.parametrize("target", ["cpu", *(pytest.param(one, marks=pytest.mark.thorough) for one in MEASURED)])
def test_the_others_generate_the_same(command: Command, model: Path, target: str) -> None:
    made = command("generate", model, "A fox", *WORDS, "--target", target)
    assert made.code == 0, made.out
    here = command("generate", model, "A fox", *WORDS).json
    assert made.json["token_ids"] == here["token_ids"]


def test_a_model_that_does_not_fit_says_so_in_one_sentence(command: Command, model: Path) -> None:
    error = command("generate", model, "A fox", *WORDS, "--target", "quad", "--memory", "ram=290000").json["error"]
    assert "bytes are needed" in error["what"]
    assert ",," not in error["what"]
    assert "--quantise" in error["hint"]
