"""Answers as JSON objects of OpenAI's protocol: whole, or piece by piece."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import field
from typing import Any

from tilewright.language.conversation.talker import Reply
from tilewright.language.generation import END, STOP
from tilewright.records import dataclass

REASONS = {END: "stop", STOP: "stop"}
"""Of the end of a text; all others are its length."""
LAST = "data: [DONE]\n\n"


@dataclass(frozen=True)
class Answer:
    """What all objects of one answer have in common."""

    model: str
    is_chat: bool
    number: str = field(default_factory=lambda: secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, reply: Reply) -> dict[str, Any]:
        message = {"role": "assistant", "content": reply.text, "refusal": None}
        choice = {"message": message} if self.is_chat else {"text": reply.text}
        kind = "chat.completion" if self.is_chat else "text_completion"
        return self._object(kind, [self._choice(choice, _reason(reply))], usage=usage(reply))

    def first(self) -> str:
        """Before the first piece."""
        return self._chunk({"role": "assistant", "content": ""}) if self.is_chat else ""

    def piece(self, text: str) -> str:
        return self._chunk({"content": text} if self.is_chat else text)

    def last(self, reply: Reply) -> str:
        return self._chunk({} if self.is_chat else "", _reason(reply))

    def used(self, reply: Reply) -> str:
        return event(self._object(self._kind, [], usage=usage(reply)))

    @property
    def _kind(self) -> str:
        return "chat.completion.chunk" if self.is_chat else "text_completion"

    def _chunk(self, content: Any, reason: str | None = None) -> str:
        choice = {"delta": content} if self.is_chat else {"text": content}
        return event(self._object(self._kind, [self._choice(choice, reason)]))

    def _choice(self, content: dict[str, Any], reason: str | None) -> dict[str, Any]:
        return {"index": 0, **content, "logprobs": None, "finish_reason": reason}

    def _object(self, kind: str, choices: list[Any], **more: Any) -> dict[str, Any]:
        name = f"{'chatcmpl' if self.is_chat else 'cmpl'}-{self.number}"
        return {"id": name, "object": kind, "created": self.created, "model": self.model, "choices": choices, **more}


def event(value: Any) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def usage(reply: Reply) -> dict[str, Any]:
    read, said = reply.prompt_tokens, reply.tokens
    return {
        "prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said,
        "prompt_tokens_details": {"cached_tokens": reply.reused_tokens},
    }  # fmt: skip


def _reason(reply: Reply) -> str:
    return REASONS.get(reply.stopped, "length")
