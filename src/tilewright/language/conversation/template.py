"""Chat templates: messages become the text that a model was trained on, by a program in Jinja that came with it.

The program is foreign: it runs in Jinja's sandbox, may not make texts without end, and whatever goes wrong inside is
one error. What looks like a special token in the texts of users passes through it in disguise, so that the tokenizer
takes only those for special that the template itself has written.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

from tilewright.errors import CompileError
from tilewright.language.conversation.bounded_steps import at_most
from tilewright.language.conversation.messages import Message
from tilewright.language.text.tokenizer import Tokenizer
from tilewright.records import dataclass

FIRST_MARK = 0xFDD0
"""Of the code points that are no characters."""
LONGEST_PRODUCT = 1_000_000
"""Characters or elements that a product of a template may have."""
MOST_STEPS, FILE_NAME = 2_000_000, "<template>"
"""Lines of the program that a template becomes, and the name of its file."""
ASKED, SAID = "What is this?", "A text that nobody says."
"""Messages to see how a template ends an answer."""
INSTALL = "pip install 'tilewright[chat]'"


@dataclass(frozen=True)
class ChatTemplate:
    source: str
    where: str
    """That it is from, for errors."""
    specials: Mapping[str, str] = field(default_factory=dict)
    """Texts of special tokens by the names that templates use: bos_token, eos_token, ..."""

    def tokens(self, messages: Sequence[Message], tokenizer: Tokenizer, **options: Any) -> list[int]:
        """Of a conversation and the beginning of its next answer."""
        texts = "".join(str(value) for one in messages for value in one.values())
        mark = next(c for c in map(chr, range(FIRST_MARK, 0x110000)) if c not in texts and c not in self.source)
        barred = _Barred(tokenizer, mark)
        marked = [{key: barred(value) if isinstance(value, str) else value for key, value in one.items()}
                  for one in messages]  # fmt: skip
        return tokenizer.encode(self.render(marked, **options), add_special=False, restored=barred.restored)

    def render(self, messages: Sequence[Message], answers: bool = True, **options: Any) -> str:
        """The text; with `answers`, up to where the next answer begins."""
        given = {**self.specials, "tools": None, "documents": None, **options}
        try:
            program = self._program
            with at_most(MOST_STEPS, FILE_NAME):
                text: str = program.render(messages=list(messages), add_generation_prompt=answers, **given)
        except CompileError:
            raise
        # Jinja's own errors, and whatever a foreign program can do wrong.
        except Exception as error:
            raise self._error(error) from None
        return text

    def check(self) -> None:
        """Refuse what Jinja cannot read."""
        _ = self._program

    def turn_end(self, tokenizer: Tokenizer) -> int | None:
        """The special token that the template writes behind an answer, if it does: models learn to end with it."""
        try:
            text = self.render([{"role": "user", "content": ASKED}, {"role": "assistant", "content": SAID}], False)
        except CompileError:
            return None
        behind = text.rpartition(SAID)[2].lstrip() if SAID in text else ""
        found = [one for one in tokenizer.added if one.is_special and one.text and behind.startswith(one.text)]
        return max(found, key=lambda one: len(one.text)).token if found else None

    @cached_property
    def _program(self) -> Any:
        environment = _environment()
        try:
            return environment.from_string(self.source)
        except Exception as error:
            raise self._error(error) from None

    def _error(self, error: Exception) -> CompileError:
        line = getattr(error, "lineno", None)
        place = f" in line {line}" if line else ""
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error) or type(error).__name__
        hint = "check the messages, or name another template: --chat-template FILE"
        return CompileError(self.where, f"its chat template fails{place}: {said}", hint)


class _Barred:
    """Writes what looks like a special token in another way, and back again once the tokenizer has looked for those."""

    def __init__(self, tokenizer: Tokenizer, mark: str) -> None:
        longest_first = sorted({one.text for one in tokenizer.added if one.is_special and one.text}, key=len)[::-1]
        self.texts, self.space = longest_first, tokenizer.normaliser.space or " "
        self.special = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self.mark, self.marked = mark, re.compile(f"{mark}([0-9]+){mark}")

    def __call__(self, text: str) -> str:
        return self.special.sub(lambda found: f"{self.mark}{self.texts.index(found[0])}{self.mark}", text)

    def restored(self, text: str) -> str:
        """In normalised text."""
        return self.marked.sub(lambda found: self.texts[int(found[1])].replace(" ", self.space), text)


def _environment() -> Any:
    try:
        import jinja2
        import jinja2.ext
        import jinja2.nodes
        import jinja2.sandbox
    except ImportError:
        what = "are programs in Jinja, which is not installed"
        raise CompileError("chat templates", what, INSTALL) from None

    class Generation(jinja2.ext.Extension):
        """`{% generation %}` marks what a model says, for those who train it: nothing here."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    class Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            _check_product(operator, left, right)
            return super().call_binop(context, operator, left, right)

    made = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = _as_json
    made.globals["raise_exception"] = _refuse
    made.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return made


def _check_product(operator: str, left: Any, right: Any) -> None:
    """Of sequences, and of numbers with more digits than any template needs."""
    sizes = [len(one) for one in (left, right) if isinstance(one, str | list | tuple)]
    counts = [abs(one) for one in (left, right) if isinstance(one, int)]
    size = sizes[0] * counts[0] if sizes and counts else sum(one.bit_length() for one in counts)
    if operator == "**" and len(counts) == 2:
        size = counts[0].bit_length() * counts[1]
    if size > LONGEST_PRODUCT:
        raise ValueError(f"a product '{operator}' in it is larger than {LONGEST_PRODUCT}")


def _refuse(what: str) -> None:
    """What templates say of messages that they do not take."""
    raise ValueError(what)


def _as_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None,
             sort_keys: bool = False) -> str:  # fmt: skip
    """Plain: Jinja's own writes `<` and `'` as escapes, which is for pages."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
