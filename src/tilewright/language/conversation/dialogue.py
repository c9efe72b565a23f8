"""A conversation that goes on: what was said by whom, kept between runs if one likes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.language.conversation.messages import Message, checked
from tilewright.language.conversation.speaking import Asked
from tilewright.language.conversation.talker import Reply, Talker

KIND, STATE_SUFFIX = "tilewright conversation 1", ".state"
"""Of a saved conversation; beside it lies what the context had read."""


@dataclass
class Dialogue:
    talker: Talker
    asked: Asked
    stops: Sequence[str] = ()
    schema: Any = None
    system: str = ""
    messages: list[Message] = field(default_factory=list)
    """Without the system's."""
    last: Reply | None = None

    def say(self, text: str) -> Iterator[str]:
        """The answer to a message, piece by piece. What has come of it is remembered even if it is interrupted; a
        message that cannot be answered is not."""
        asked = {"role": "user", "content": text}
        head = [{"role": "system", "content": self.system}] if self.system else []
        reply = self.talker.answer([*head, *self.messages, asked], self.asked, self.stops, self.schema)
        self.last = reply
        try:
            yield from reply
        finally:
            if reply.so_far or reply.tokens:
                self.messages += [asked, {"role": "assistant", "content": reply.so_far}]

    def reset(self) -> None:
        """As if nothing had been said; the system's message stays."""
        self.messages = []

    def save(self, path: Path) -> None:
        saved = {"kind": KIND, "system": self.system, "messages": self.messages}
        _write(path, json.dumps(saved, ensure_ascii=False, indent=1).encode())
        _write(_state(path), self.talker.memory.save())

    def load(self, path: Path) -> bool:
        """Whether the context has read it already: its state is there, and is of this model."""
        found = _read(path)
        messages = checked(found["messages"]) if found.get("messages") else []
        self.system, self.messages = str(found.get("system") or ""), messages
        try:
            self.talker.memory.restore(_state(path).read_bytes())
        except (OSError, CompileError):
            return False
        return True


def _state(path: Path) -> Path:
    return path.with_name(path.name + STATE_SUFFIX)


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise CompileError(str(path), f"cannot be written: {error.strerror or error}", "name another file") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise CompileError(str(path), what, "name a file that /save has written") from None
    except (ValueError, RecursionError) as error:
        raise CompileError(str(path), f"is no JSON: {error}", "name a file that /save has written") from None
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise CompileError(str(path), "is no saved conversation", "name a file that /save has written")
    return found
