"""Conversations that go on: kept, interrupted, saved, and typed line by line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support.parrots import said, talker
from tilewright.cli.chat import _Console
from tilewright.errors import CompileError
from tilewright.language.conversation.dialogue import Dialogue
from tilewright.language.conversation.speaking import Asked
from tilewright.language.sampler import Sampling

pytestmark = pytest.mark.fast


def dialogue(tokens: int = 6, context: int = 400, **more: str) -> Dialogue:
    return Dialogue(talker(context=context), Asked(tokens, Sampling()), **more)  # type: ignore[arg-type]


def test_what_was_said_is_remembered() -> None:
    ours = dialogue(system="Be kind.")
    first = "".join(ours.say("Hello"))
    second = "".join(ours.say("And?"))
    assert ours.messages == [
        said("user", "Hello"),
        said("assistant", first),
        said("user", "And?"),
        said("assistant", second),
    ]
    alone = talker().answer([said("system", "Be kind."), *ours.messages[:3]], Asked(6, Sampling()))
    assert second == alone.text
    ours.reset()
    assert "".join(ours.say("Hello")) == first


def test_an_interrupted_answer_is_remembered_as_far_as_it_came() -> None:
    ours = dialogue()
    pieces = ours.say("Hello")
    start = next(pieces) + next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert ours.messages == [said("user", "Hello"), said("assistant", start)]
    assert "".join(ours.say("Go on"))


def test_a_message_that_cannot_be_answered_is_not_remembered() -> None:
    ours = dialogue(context=40)
    with pytest.raises(CompileError, match="a context of 40 holds 39"):
        "".join(ours.say("much too long " * 5))
    assert ours.messages == []
    assert "".join(ours.say("Hello"))


def test_saved_and_loaded(tmp_path: Path) -> None:
    ours, path = dialogue(system="Be kind."), tmp_path / "talk.json"
    "".join(ours.say("Hello"))
    ours.save(path)
    again = dialogue()
    assert again.load(path)
    assert (again.messages, again.system) == (ours.messages, "Be kind.")
    assert "".join(again.say("And?")) == "".join(ours.say("And?"))
    assert again.last is not None
    assert again.last.reused_tokens > 40
    (tmp_path / "talk.json.state").write_bytes(b"damaged")
    assert not dialogue().load(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["talk.json", "talk.json.state"]


def test_files_that_are_refused(tmp_path: Path) -> None:
    ours = dialogue()
    for data, what in (("{", "is no JSON"), ("{}", "is no saved conversation"), ("[]", "is no saved conversation")):
        (tmp_path / "a").write_text(data)
        with pytest.raises(CompileError, match=what):
            ours.load(tmp_path / "a")
    with pytest.raises(CompileError, match="cannot be read"):
        ours.load(tmp_path / "none")
    with pytest.raises(CompileError, match="cannot be written"):
        ours.save(tmp_path / "no" / "folder")


def typed(monkeypatch: pytest.MonkeyPatch, ours: Dialogue, *lines: str, as_json: bool = False) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    _Console(ours, as_json).run()


def test_lines_and_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ours, file = dialogue(), tmp_path / "talk.json"
    typed(
        monkeypatch, ours, "Hello\\", "there", "", f"/save {file}", "/system Be kind.", "/reset", "Hi", f"/load {file}",
        "/save", "/none", "/help", "/exit", "never said",
    )  # fmt: skip
    out, err = capsys.readouterr()
    assert ours.messages[0] == said("user", "Hello\nthere")
    assert out.splitlines()[0] == ours.messages[1]["content"]
    assert len(out.splitlines()) == 2
    for part in (
        "2 messages in",
        "told first from now on",
        "forgotten",
        "2 messages from",
        "is not named",
        "/none",
        "/load FILE",
    ):
        assert part in err
    assert ours.system == ""


def test_answers_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    typed(monkeypatch, dialogue(), "Hello", "/none", as_json=True)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["status"], len(first["text"]), first["stopped"], first["tokens"]) == ("ok", 6, "tokens", 6)
    assert second["error"]["what"] == "is no command"
