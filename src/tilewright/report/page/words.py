"""Names from models in a page: data, never markup. Each place has its own way to say so."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from tilewright.errors import printable

SCRIPT_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Characters that could end a script or begin a comment in it, and how JSON may have them instead."""


def in_html(text: str) -> str:
    """In an element or an attribute."""
    return escape(printable(text), quote=True)


def in_figure(text: str) -> str:
    """In a text of Plotly's, which takes a few elements for markup."""
    return escape(one_line(text), quote=False)


def lines_in_figure(lines: Sequence[str]) -> str:
    """The first one stands out."""
    first, *others = [in_figure(line) for line in lines if line]
    return "<br>".join([f"<b>{first}</b>", *others])


def in_script(value: Any) -> str:
    """JSON inside a script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return "".join(SCRIPT_UNSAFE.get(character, character) for character in text)


def one_line(text: str) -> str:
    return printable(text).replace("\n", " ")


def shortened(text: str, letters: int) -> str:
    """Short names begin with what tells them apart, and end with what they are: the middle goes."""
    line = one_line(text)
    if len(line) <= letters:
        return line
    end = max((letters - 1) // 2, 1)
    return f"{line[: max(letters - 1 - end, 0)]}…{line[-end:]}"


def numbered(title: str, letters: int) -> str:
    """A layer's number stays whole."""
    number, space, name = title.partition(" ") if title[:1].isdigit() else ("", "", title)
    return f"{number}{space}{shortened(name, letters - len(number + space))}"


def sentence(note: str) -> str:
    """A note in HTML, with a capital unless it begins with a name, and a full stop; what stands in `` is code."""
    first = note.partition(" ")[0]
    begun = note[:1].upper() + note[1:] if first.isalpha() else note
    ended = begun if begun.endswith((".", "!", "?")) else f"{begun}."
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", in_html(ended))
