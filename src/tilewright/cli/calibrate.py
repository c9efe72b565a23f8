"""`tilewright calibrate`: what kernels and transfers of a target cost, measured on its virtual SoC."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.process import AGREES, print_json, progress_display, uninterrupted
from tilewright.errors import CompileError

TargetName = Annotated[str, typer.Argument(help="A target with a virtual SoC, for example siracusa.")]
CostsFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write; the target's own by default.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")]


def calibrate(target: TargetName, output: CostsFile = None, as_json: Json = False) -> int:
    """Measure what a target's kernels cost, and write it where the planner reads it."""
    from tilewright import targets
    from tilewright.calibration.measuring import as_text, calibration

    found = targets.find(target)
    path = output or found.folder / "costs.json"
    with progress_display() as progress:
        result = calibration(found, progress)
        with uninterrupted():
            _write(path, as_text(result.as_dict()))
    if as_json:
        print_json({"status": "ok", "target": found.name, "output": str(path), **result.as_dict()})
        return AGREES
    from tilewright.report.calibration import print_calibration
    from tilewright.report.console import console

    print_calibration(console(), found.name, result, path)
    return AGREES


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise CompileError(str(path), f"cannot be written: {error.strerror or error}", "choose another -o") from None
