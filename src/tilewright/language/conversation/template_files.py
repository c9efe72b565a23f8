"""The chat template of a model and the tokens that end its answers, from the files that it came in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from tilewright.errors import CompileError
from tilewright.frontends.checkpoint.gguf import SUFFIX as GGUF
from tilewright.frontends.checkpoint.gguf_file import read_gguf
from tilewright.frontends.checkpoint.hugging_face import read_json
from tilewright.language.conversation.template import ChatTemplate
from tilewright.language.reading import files_beside
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.records import dataclass

TEMPLATE, TOKENIZER, GENERATION = "chat_template.jinja", "tokenizer_config.json", "generation_config.json"
OTHERS = "chat_template.json"
DEFAULT = "default"
"""The name of the template that is for talking, where there are several."""
GGUF_TEMPLATE, GGUF_TOKEN = "tokenizer.chat_template", "tokenizer.ggml.{}_token_id"
GGUF_SPECIALS = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}
GGUF_ENDS = ("eos", "eot", "eom")
LONGEST = 1 << 20
"""Bytes of a template."""


@dataclass(frozen=True)
class Talk:
    """What files say about talking."""

    template: ChatTemplate | None
    ends: tuple[int, ...]
    """Tokens that end an answer, beside those that end texts."""
    specials: Mapping[str, str] = field(default_factory=dict)
    """Texts of special tokens, by the names that templates use."""


def read_talk(path: Path, tokenizer: Tokenizer, own: Path | None = None) -> Talk:
    """Of a model's path; with a template of one's own, which is a file of Jinja."""
    is_gguf = path.suffix.lower() == GGUF and path.is_file()
    found = _of_gguf(path, tokenizer) if is_gguf else _of_folder(files_beside(path), tokenizer)
    return found if own is None else replace(found, template=ChatTemplate(_text(own), str(own), found.specials))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LONGEST:
            raise CompileError(str(path), f"is larger than {LONGEST} bytes", "name a file with a chat template")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        raise CompileError(str(path), what, "name a file with a chat template") from None
    except UnicodeDecodeError as error:
        what = f"is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}"
        raise CompileError(str(path), what, "name a file with a chat template") from None


# ---- folders ------------------------------------------------------------------------------------------------------


def _of_folder(folder: Path, tokenizer: Tokenizer) -> Talk:
    told = _json(folder / TOKENIZER)
    specials = {name: text for name, value in told.items() if name.endswith("_token") and (text := _content(value))}
    return Talk(_folder_template(folder, told, specials), _folder_ends(folder, tokenizer, specials), specials)


def _folder_template(folder: Path, told: Mapping[str, Any], specials: Mapping[str, str]) -> ChatTemplate | None:
    if (folder / TEMPLATE).is_file():
        return ChatTemplate(_text(folder / TEMPLATE), str(folder / TEMPLATE), specials)
    for name, value in ((TOKENIZER, told), (OTHERS, _json(folder / OTHERS))):
        source = _named(value.get("chat_template"), str(folder / name))
        if source is not None:
            return ChatTemplate(source, str(folder / name), specials)
    return None


def _named(found: Any, where: str) -> str | None:
    """The template itself, or the one for talking of a list of named ones."""
    if found is None or isinstance(found, str):
        return found
    listed = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)} if _is_list(found) else {}
    if not isinstance(listed.get(DEFAULT), str):
        what = f"its chat_template is neither a text nor a list with one named {DEFAULT!r}"
        raise CompileError(where, what, "name the template's file: --chat-template FILE")
    return str(listed[DEFAULT])


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _folder_ends(folder: Path, tokenizer: Tokenizer, specials: Mapping[str, str]) -> tuple[int, ...]:
    """generation_config.json names them; the tokenizer's own is one too."""
    value = _json(folder / GENERATION).get("eos_token_id")
    listed = value if isinstance(value, list) else [value]
    known = [one for one in listed if isinstance(one, int) and 0 <= one < tokenizer.vocabulary]
    own = tokenizer.token(specials.get("eos_token", ""))
    return tuple(dict.fromkeys([*known, *([] if own is None else [own])]))


def _content(value: Any) -> str:
    """A token is a text, or an object that has it."""
    found = value.get("content") if isinstance(value, dict) else value
    return found if isinstance(found, str) else ""


def _json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


# ---- GGUF ---------------------------------------------------------------------------------------------------------


def _of_gguf(path: Path, tokenizer: Tokenizer) -> Talk:
    keys = read_gguf(path).keys
    texts = {one.token: one.text for one in tokenizer.added}
    numbers = {name: keys.get(GGUF_TOKEN.format(name)) for name in (*GGUF_SPECIALS, *GGUF_ENDS)}
    known = {name: one for name, one in numbers.items() if isinstance(one, int) and 0 <= one < tokenizer.vocabulary}
    specials = {theirs: texts[known[name]] for name, theirs in GGUF_SPECIALS.items() if known.get(name) in texts}
    source = keys.get(GGUF_TEMPLATE)
    template = ChatTemplate(source, str(path), specials) if isinstance(source, str) else None
    return Talk(template, tuple(dict.fromkeys(known[name] for name in GGUF_ENDS if name in known)), specials)
