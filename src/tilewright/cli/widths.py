"""Options of `tilewright quantise` that let it decide about widths, and what they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.errors import CompileError
from tilewright.whole_file import write_whole

if TYPE_CHECKING:
    from tilewright.quantiser.width_search.search import Budget, Search

MaxCycles = Annotated[
    int | None,
    typer.Option(
        "--max-cycles", min=1, help="Choose bit widths: the most accurate network within this many cycles on --target."
    ),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes", min=1, help="Choose bit widths: the most accurate network within this many bytes of constants."
    ),
]
MaxLoss = Annotated[
    float | None,
    typer.Option("--max-loss", help="Choose bit widths: the cheapest network whose metric falls by at most this."),
]
MinSnr = Annotated[
    float | None,
    typer.Option(
        "--min-snr",
        metavar="DB",
        help="Choose bit widths: the cheapest network with this signal-to-noise ratio at the output.",
    ),
]
FrontPicture = Annotated[
    Path | None,
    typer.Option("--front", metavar="FILE.svg", help="Plot accuracy against cost of the networks that were tried."),
]


def budget_of(
    max_cycles: int | None, max_bytes: int | None, max_loss: float | None, min_snr: float | None, front: Path | None
) -> Budget | None:
    """What was asked for, if anything was."""
    from tilewright.quantiser.width_search.search import Budget

    said = {"max_cycles": max_cycles, "max_bytes": max_bytes, "max_loss": max_loss, "min_snr": min_snr}
    given = [Budget(kind, float(limit)) for kind, limit in said.items() if limit is not None]
    if len(given) > 1:
        raise CompileError(" and ".join(map(str, given)), "cannot both be asked for", "leave one out")
    if front is not None and not given:
        asks = "add --max-cycles, --max-bytes, --max-loss or --min-snr"
        raise CompileError(f"--front {front}", "nothing is plotted without a search for bit widths", asks)
    return given[0] if given else None


def draw_front(search: Search, name: str, picture: Path | None) -> None:
    from tilewright.report.width_front_picture import svg

    if picture is not None:
        write_whole(picture, svg(search, name), "--front")
