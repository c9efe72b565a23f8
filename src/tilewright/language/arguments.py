"""Arguments of a language model's methods, which anyone may call with anything."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError

MOST_TOKENS = 2**31 - 1
"""That C counts."""
SHOWN = 40


def path_of(value: Any, name: str) -> Path:
    if isinstance(value, str | os.PathLike) and isinstance(os.fspath(value), str):
        if "\0" in os.fspath(value):
            raise CompileError(f"{name} {_shown(value)}", "holds a character that no path has", "check the path")
        return Path(value)
    raise wrong(value, name, "a path")


def text_of(path: Path) -> str:
    """What a file of plain text holds, which is something."""
    try:
        found = path.read_text(encoding="utf-8")
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise CompileError(str(path), what, "name a file of text like that which the model is for") from None
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}"
        raise CompileError(str(path), what, "give a file of plain text") from None
    if not found.strip():
        raise CompileError(str(path), "has no text", "name a file of text like that which the model is for")
    return found


def whole(value: Any, name: str) -> int:
    """A whole number, of numpy too."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise wrong(value, name, "a whole number")


def tokens_of(value: Any) -> int:
    """How many are asked for."""
    count = whole(value, "tokens")
    if not 0 <= count <= MOST_TOKENS:
        raise CompileError(f"tokens {_shown(count)}", "is no number of tokens", f"choose 0 to {MOST_TOKENS}")
    return count


def of_kind(value: Any, name: str, kind: type | tuple[type, ...], wanted: str) -> None:
    if not isinstance(value, kind):
        raise wrong(value, name, wanted)


def callable_of(value: Any, name: str) -> Callable[..., Any]:
    if not callable(value):
        raise wrong(value, name, "a function")
    return value


def wrong(value: Any, name: str, wanted: str) -> CompileError:
    return CompileError(f"{name} {_shown(value)}", f"is of type {type(value).__name__}", f"give {wanted}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
