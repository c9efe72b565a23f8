"""What an option is: its name and help, what it may be, and which machines have it, told from their data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tilewright.errors import CompileError
from tilewright.records import dataclass

if TYPE_CHECKING:
    from tilewright.target.target import Target

PLAIN, SWITCH, WORDS, FOLDERS, PAIRS, SIZES = "plain", "switch", "words", "folders", "pairs", "sizes"
"""Forms of values: as they are; on or off; names with commas between; folders, PAIRS and SIZES may be given again and
again: texts, names with texts, and names with numbers."""


@dataclass(frozen=True)
class Machines:
    """Those that have an option, and what is said where another one is asked for it."""

    has: Callable[[Target], bool]
    what: str
    """Why not; {target} stands for the target's name, {value} for what was asked for."""
    hint: str = "leave it out"
    heading: str = ""
    """Of its options, where only some machines have them."""
    where: str = "{given}"
    """What is refused: {given} stands for the option with its value."""

    def refuse(self, option: Option, value: object, target: Target) -> CompileError:
        words = {"target": target.name, "value": value, "given": option.given(value)}
        return CompileError(self.where.format(**words), self.what.format(**words), self.hint)


@dataclass(frozen=True)
class Option:
    """Declared once, as a field of `Settings`: commands, Python's keywords, sweeps and refusals follow from it."""

    flag: str
    help: str
    machines: Machines
    metavar: str = ""
    least: float | None = None
    """The smallest number that it may be."""
    choices: tuple[str, ...] = ()
    """All that there is; anything where there are none."""
    form: str = PLAIN

    @property
    def name(self) -> str:
        """As an identifier."""
        return self.flag.removeprefix("--").replace("-", "_")

    def given(self, value: Any) -> str:
        """As it stands in a command."""
        if value is True and self.form == PLAIN:
            return self.flag
        if self.form in (PAIRS, SIZES):
            name, one = value[0]
            return f"{self.flag} {name}={one}"
        shown = {SWITCH: "on" if value else "off", WORDS: ",".join(value) if self.form == WORDS else ""}
        if self.form == FOLDERS:
            return f"{self.flag} {value[0]}"
        return f"{self.flag} {shown.get(self.form, value)}"

    def check(self, value: object) -> None:
        """Of those that are few: whether it is one."""
        if self.choices and value not in self.choices:
            *others, last = filter(None, self.choices)
            raise CompileError(f"{self.flag} {value}", "is unknown", f"use {', '.join(others)} or {last}")


def option(
    default: Any, flag: str, text: str, machines: Machines, *, metavar: str = "", least: float | None = None,
    choices: tuple[str, ...] = (), form: str = PLAIN,
) -> Any:  # fmt: skip
    """A field of `Settings`; without a flag it is for other stages, not for users."""
    return field(default=default, metadata={"option": Option(flag, text, machines, metavar, least, choices, form)})


def option_of(metadata: Mapping[Any, Any]) -> Option:
    found: Option = metadata["option"]
    return found
