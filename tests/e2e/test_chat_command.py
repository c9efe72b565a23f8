"""`tilewright chat` with a model that is built: messages from stdin, answers on stdout, one error for bad input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support import talkers
from tests.support.command import Command

WORDS = ("--target", "generic", "--context", "60", "--block", "4", "--tokens", "6")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = talkers.save(tmp_path_factory.mktemp("models") / "fox")
    (folder / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}. {% endfor %}")
    return folder


def test_a_model_answers(command: Command, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "integer", "minimum": 10, "maximum": 12}')
    monkeypatch.setattr(sys, "stdin", io.StringIO("A fox\nA hen\n"))
    ran = command("chat", model, *WORDS, "--json", "--json-schema", tmp_path / "schema.json")
    assert ran.code == 0
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert [10 <= json.loads(one["text"]) <= 12 for one in answers] == [True, True]
    assert answers[1]["reused_tokens"] >= len("A fox. ")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("--chat-template", "none.jinja"), "none.jinja"),
        (("--json-schema", "none.json"), "none.json"),
        (("--min-p", "2"), "min_p"),
        (("--stop", ""), "stop word"),
        (("--load", "none.json"), "none.json"),
        (("--target", "siracusa"), "has no sessions"),
    ],
)
@pytest.mark.in_turns(10)
def test_what_is_refused(command: Command, model: Path, words: tuple[str, ...], what: str) -> None:
    ran = command("chat", model, *WORDS, *words)
    assert ran.code == 2
    assert what in ran.err
