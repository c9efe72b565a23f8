"""Options of `tilewright quantise` for language models, whose weights become blocks of few bits in a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.process import AGREES, bar_display, print_json
from tilewright.errors import CompileError
from tilewright.records import dataclass

if TYPE_CHECKING:
    from tilewright.language.weights.quantise_file import Texts, Written
    from tilewright.language.weights.rounding import Choice

PANEL = "Language models"
HELD_OUT = 10
"""Of a text for both, each so many-th part is kept for perplexities."""


def complete_format() -> list[str]:
    from tilewright.language.weights.rounding import FILE_TYPES

    return list(FILE_TYPES)


Weights = Annotated[
    str,
    typer.Option(
        "--weights", rich_help_panel=PANEL, metavar="FORMAT", autocompletion=complete_format,
        help="Write a folder's or a GGUF file's weights as f16, q8_0, q6_k, q5_k, q5_1, q5_0, q4_k, q4_1 or q4_0.",
    ),
]  # fmt: skip
Head = Annotated[
    str,
    typer.Option(
        "--head", rich_help_panel=PANEL, metavar="FORMAT", autocompletion=complete_format,
        help="Format of the output matrix, which scores tokens; by default q6_k if weights have fewer bits.",
    ),
]  # fmt: skip
Calibrate = Annotated[
    Path | None,
    typer.Option(
        "--calibrate", rich_help_panel=PANEL, metavar="TEXT",
        help="Weight errors by their effect on this text, and let weights compensate for each other's.",
    ),
]  # fmt: skip
Evaluate = Annotated[
    Path | None,
    typer.Option(
        "--evaluate", rich_help_panel=PANEL, metavar="TEXT",
        help="Report the perplexity of this text; by default of a tenth of --calibrate, which is held out.",
    ),
]  # fmt: skip
Lines = Annotated[
    bool, typer.Option("--lines", rich_help_panel=PANEL, help="Treat each line of these files as a separate text.")
]


@dataclass(frozen=True)
class BlockWeights:
    weights: Weights = ""
    head: Head = ""
    calibrate: Calibrate = None
    evaluate: Evaluate = None
    lines: Lines = False

    @property
    def are_wanted(self) -> bool:
        return self != BlockWeights()

    def choice(self) -> Choice:
        from tilewright.language.weights.rounding import FILE_TYPES, Choice, usual_head

        for option, name in (("--weights", self.weights), ("--head", self.head or self.weights)):
            if name not in FILE_TYPES:
                raise CompileError(f"{option} {name}".rstrip(), "is no format", f"use one of {', '.join(FILE_TYPES)}")
        return Choice(self.weights, self.head or usual_head(self.weights))

    def texts(self) -> Texts:
        from tilewright.language.arguments import text_of
        from tilewright.language.weights.quantise_file import Texts

        calibration = "" if self.calibrate is None else text_of(self.calibrate)
        if self.evaluate is not None:
            return Texts(calibration, text_of(self.evaluate), self.lines)
        cut = len(calibration) - len(calibration) // HELD_OUT
        return Texts(calibration[:cut], calibration[cut:], self.lines)


def quantise_weights(
    model: Path, output: Path | None, wanted: BlockWeights, others: Mapping[str, object], as_json: bool
) -> int:
    """Write the file, and say what it costs; `others` are options that have no meaning for it."""
    from tilewright.language.weights.quantise_file import quantise_file

    unused = [option for option, value in others.items() if value]
    if unused:
        raise CompileError(unused[0], "has no effect on language models with --weights", "leave it out")
    choice = wanted.choice()
    path = output or Path(f"{model.resolve().stem}_{wanted.weights}.gguf")
    texts = wanted.texts()
    with bar_display() as progress:
        written = quantise_file(model, path, choice, texts, progress)
    _print(written, path, as_json)
    return AGREES


def _print(written: Written, path: Path, as_json: bool) -> None:
    if as_json:
        print_json("quantise-blocks", {"status": "ok", "output": str(path), **written.as_dict()})
        return
    from tilewright.report.block_weights import print_block_weights
    from tilewright.report.console import console

    print_block_weights(console(), written, path)
