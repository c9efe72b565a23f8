"""Messages of a conversation, as anyone may give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.errors import CompileError
from tilewright.language.arguments import wrong

Message = dict[str, Any]
ROLES = ("system", "developer", "user", "assistant", "tool")
MOST_MESSAGES = 10_000


def checked(messages: Any) -> list[Message]:
    """Messages with a role and a text each; texts in parts, as clients of HTTP send them, are joined."""
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise wrong(messages, "messages", "a list of messages, each {'role': ..., 'content': ...}")
    if not 0 < len(messages) <= MOST_MESSAGES:
        raise CompileError("messages", f"are {len(messages)}", f"give 1 to {MOST_MESSAGES}")
    return [_message(one, f"messages[{place}]") for place, one in enumerate(messages)]


def _message(one: Any, where: str) -> Message:
    if not isinstance(one, Mapping):
        raise wrong(one, where, "an object {'role': ..., 'content': ...}")
    role = one.get("role")
    if role not in ROLES:
        raise CompileError(f"{where}.role", f"is {role!r}", f"supported: {', '.join(ROLES)}")
    others = [key for key, value in one.items() if key not in ("role", "content", "name") and value]
    if others:
        what = f"has {', '.join(map(str, others[:4]))}, which is not supported"
        raise CompileError(where, what, "supported: role, content, name")
    return {**one, "role": role, "content": _text(one.get("content"), f"{where}.content")}


def _text(content: Any, where: str) -> str:
    if isinstance(content, str):
        return _unicode(content, where)
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        return "".join(_part(part, f"{where}[{place}]") for place, part in enumerate(content))
    raise wrong(content, where, "a text")


def _part(part: Any, where: str) -> str:
    if not isinstance(part, Mapping) or part.get("type") != "text":
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        raise CompileError(where, f"is of the kind {kind!r}, which is not supported", "supported: text")
    if not isinstance(part.get("text"), str):
        raise wrong(part.get("text"), f"{where}.text", "a text")
    return _unicode(part["text"], f"{where}.text")


def _unicode(text: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        what = f"its character {error.start + 1} of {len(text)} is not valid Unicode: {text[error.start]!a}"
        raise CompileError(where, what, "give text in UTF-8") from None
    return text
