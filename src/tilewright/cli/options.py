"""Options that commands share: what they are called, and what is made of their words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

from tilewright.errors import CompileError
from tilewright.records import dataclass
from tilewright.target.options import FOLDERS, PAIRS, PLAIN, SIZES, SWITCH, WORDS, Option
from tilewright.target.settings import BOARD, OPTIONS, Settings


def complete_stage() -> list[str]:
    from tilewright.pipeline import STAGES

    return list(STAGES)


def complete_target() -> list[str]:
    from tilewright import targets

    return targets.names()


def complete_board() -> list[str]:
    from tilewright import targets

    return targets.board_names()


def complete_onnx_stage() -> list[str]:
    from tilewright.pipeline import STAGES

    return list(STAGES[:-1])


Model = Annotated[Path, typer.Argument(help="An .onnx, .tflite, .pt2 or .keras file, or the folder of a SavedModel.")]
TargetName = Annotated[
    str,
    typer.Option(
        "--target",
        help="What to compile for; `tilewright targets` lists them. By default generic, or the board's core.",
        autocompletion=complete_target,
        show_default=False,
    ),
]
Name = Annotated[str, typer.Option("--name", help="Prefix of all C symbols; the file's name by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]
Emit = Annotated[
    str,
    typer.Option(
        "--emit", metavar="STAGE", autocompletion=complete_stage,
        help="Print one stage and stop: graph, quantised, lowered, fitted, mapped, tiled, schedule or c. `compile` "
        "writes a GPU's kernels beside the C with spirv, gfx942 or gfx1100.",
    ),
]  # fmt: skip
OnnxFile = Annotated[
    Path | None,
    typer.Option("--onnx", metavar="FILE", help="Write a stage as ONNX for a viewer such as Netron, and stop."),
]
OnnxStage = Annotated[
    str,
    typer.Option("--stage", help="The stage for --onnx; any but c.", autocompletion=complete_onnx_stage),
]
InputFile = Annotated[
    Path | None,
    typer.Option("--inputs", metavar="FILE.npz", help="Inputs as .npz, one array per input; random ones by default."),
]
Cc = Annotated[
    str | None,
    typer.Option("--cc", help="C compiler. By default $CC for this machine, otherwise the pip-installed zig."),
]
BoardName = Annotated[
    str,
    typer.Option(
        "--board", rich_help_panel=BOARD, metavar="NAME|FILE.toml", autocompletion=complete_board,
        help="A board with its core, clock and memories; `tilewright targets` lists them.",
    ),
]  # fmt: skip


SETTINGS: tuple[str, ...] = tuple(name for name, one in OPTIONS.items() if one.flag)
"""All that can be asked of a target, by the names of fields of `Settings`."""


@dataclass(frozen=True)
class Planning:
    """What commands that plan let a user ask of the target: the options of `Settings`, as they stand there."""

    asked: Settings
    board_name: str = ""

    names: ClassVar[tuple[str, ...]] = SETTINGS
    """Of the options that a command has."""
    boards: ClassVar[bool] = True
    """Whether a board may be named."""

    @classmethod
    def parameters(cls) -> list[tuple[str, Any, Any]]:
        """Of a command: names, types and defaults."""
        found = [(OPTIONS[name].name, _annotated(OPTIONS[name], name), _default(name)) for name in cls.names]
        return [*found, ("board", BoardName, "")] if cls.boards else found

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Planning:
        """From what a command was given; words that are no values are refused."""
        asked = {name: FORMS[OPTIONS[name].form].read(OPTIONS[name], values[OPTIONS[name].name]) for name in cls.names}
        for name, value in asked.items():
            OPTIONS[name].check(value)
        return cls(Settings(**asked), values.get("board", ""))

    def target(self, named: str) -> str:
        """What is compiled for: the target that is named, or the board's."""
        from tilewright import targets

        return targets.named_or_board(named, self.board_name)

    def settings(self) -> Settings:
        return self.asked


@dataclass(frozen=True)
class Form:
    """How values of a form are written in commands."""

    kind: Callable[[str], Any]
    """The type that typer reads them as, from the name of a field."""
    default: Callable[[Any], Any]
    """What typer has for a field's default."""
    read: Callable[[Option, Any], Any]
    """A field's value, from typer's."""


def _on_or_off(option: Option, word: str) -> bool:
    if word not in ("on", "off"):
        raise CompileError(f"{option.flag} {word}", "is unknown", "use on or off")
    return word == "on"


def _again(name: str) -> Any:
    return list[str] | None


FORMS = {
    PLAIN: Form(lambda name: get_type_hints(Settings)[name], lambda value: value, lambda option, value: value),
    SWITCH: Form(lambda name: str, lambda value: "on" if value else "off", _on_or_off),
    WORDS: Form(lambda name: str, ",".join, lambda option, text: tuple(filter(None, text.split(",")))),
    FOLDERS: Form(_again, lambda value: None, lambda option, words: tuple(words or ())),
    PAIRS: Form(_again, lambda value: None, lambda option, words: tuple(pairs(option.flag, words).items())),
    SIZES: Form(_again, lambda value: None, lambda option, words: tuple(
        (name.lower(), size) for name, size in numbers(option.flag, words).items()
    )),
}  # fmt: skip


def _annotated(option: Option, name: str) -> Any:
    """Only numbers of commands have a smallest one."""
    parsers: dict[str, Callable[[str], Any]] = {
        BYTES: partial(_bytes, int(option.least or 0)), MEGAHERTZ: _megahertz,
    }  # fmt: skip
    parser = parsers.get(option.metavar)
    shown = typer.Option(
        option.flag, help=option.help, metavar=option.metavar or "|".join(filter(None, option.choices)) or None,
        min=None if parser else option.least, parser=parser,
        rich_help_panel=option.machines.heading or None,
    )  # fmt: skip
    return Annotated[FORMS[option.form].kind(name), shown]


BYTES, MEGAHERTZ = "BYTES", "MHZ"
"""What help calls a number of bytes, and one of MHz."""


def _bytes(least: int, given: str | int) -> int:
    """A number of bytes from a command: 65536, 64k, 64KiB, 1M."""
    digits = str(given).removeprefix("-")
    found = int(given) if digits.isascii() and digits.isdigit() else _in_bytes(str(given))
    if found is None:
        raise typer.BadParameter(f"'{given}' is not a number of bytes, for example 65536, 64k or 1M.")
    if found < least:
        raise typer.BadParameter(f"{found} is not in the range x>={least}.")
    return found


def _megahertz(given: str | float) -> float:
    """A clock from a command: 80, 80M, 80MHz."""
    try:
        return float(re.sub(r"(?i)m(hz)?$", "", str(given)))
    except ValueError:
        raise typer.BadParameter(f"'{given}' is not a number of MHz, for example 80.") from None


def _default(name: str) -> Any:
    return FORMS[OPTIONS[name].form].default(getattr(Settings(), name))


EXAMPLES = {
    "--shape": "1,3,48,192", "--bind": "16000", "--dim": "1", "--place": "cluster", "--memory": "64000",
    "--state": "output",
}  # fmt: skip
"""Values for hints."""


def pairs(option: str, words: Sequence[str] | None) -> dict[str, str]:
    """`name=value` words; a name may hold an equals sign, a value not. Memories have their names in any case."""
    found: dict[str, str] = {}
    for word in words or ():
        name, sign, value = word.rpartition("=")
        if not sign or not name or not value:
            given = name or _name_in(option, word) or "NAME"
            example = f"{given}={EXAMPLES[option]}" if option in EXAMPLES else "input=int8"
            raise CompileError(f"{option} {word}", "is not NAME=VALUE", f"for example {option} {example}")
        same = next((one for one in found if option == "--memory" and one.lower() == name.lower()), name)
        if found.setdefault(same, value) != value:
            raise CompileError(f"{option} {word}", f"contradicts {option} {same}={found[same]}", "leave one out")
    return found


def numbers(option: str, words: Sequence[str] | None) -> dict[str, int]:
    """`name=number` words."""
    found = {}
    for name, value in pairs(option, words).items():
        # How many bytes a memory has, and that a negative number is none, the target says.
        meant = _in_bytes(value) if option == "--memory" else None
        value = value if meant is None else str(meant)
        digits = value.removeprefix("-") if option == "--memory" else value
        if not digits.isascii() or not digits.isdigit() or len(digits) > 10:
            hint = f"for example {option} {name}={EXAMPLES[option]}"
            raise CompileError(f"{option} {name}={value}", "the size is not a whole number", hint)
        found[name] = int(value)
    return found


def _name_in(option: str, word: str) -> str:
    """What stands before the equals sign, or before whatever stands for it: memories are called by one word."""
    found = word.partition("=")[0]
    return "".join(takewhile(str.isalnum, found)) if option == "--memory" else found


UNITS = {"k": 1024, "m": 1024 * 1024}


def _in_bytes(value: str) -> int | None:
    """What is meant by 64k, 64K, 64KB, 64KiB or 1M."""
    found = re.fullmatch(r"(\d{1,6})([km])(i?b)?", value.lower())
    return int(found[1]) * UNITS[found[2]] if found else None


def sizes(words: Sequence[str] | None) -> dict[str, int | tuple[int, int]]:
    """`name=size` words, or `name=least..most`."""
    found: dict[str, int | tuple[int, int]] = {}
    for name, value in pairs("--dim", words).items():
        limits = [numbers("--dim", [f"{name}={one}"])[name] for one in value.split("..", 1)]
        found[name] = limits[0] if len(limits) == 1 else (limits[0], limits[1])
    return found
