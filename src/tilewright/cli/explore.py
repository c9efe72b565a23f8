"""`tilewright explore`: every point of a study compiled, run and checked, and what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.options import Json
from tilewright.cli.process import AGREES, DISAGREES, bar_display, print_json

if TYPE_CHECKING:
    from tilewright.exploring.results import Results

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Models, targets and settings to sweep over.")]
Folder = Annotated[
    Path | None, typer.Option("-o", "--output", help="Folder for rows and tables; NAME_study by default.")
]
Jobs = Annotated[
    int, typer.Option("--jobs", min=0, help="Points computed at a time; as many as there are cores by default.")
]
Scheduler = Annotated[
    str,
    typer.Option("--scheduler", metavar="ADDRESS", help="Have the workers of a Dask scheduler compute the points."),
]
Seconds = Annotated[
    float | None, typer.Option("--seconds", min=0.001, help="After which a point is given up; as the study says.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute everything again, whatever the folder has.")]

WRONG = ("disagrees", "died", "fault")
"""Statuses that nobody asks for: a refusal and a time limit are results of a sweep."""


def explore(
    study: StudyFile, output: Folder = None, jobs: Jobs = 0, scheduler: Scheduler = "", seconds: Seconds = None,
    fresh: Fresh = False, as_json: Json = False,
) -> int:  # fmt: skip
    """Sweep over models, targets and settings; go on where an earlier call was interrupted."""
    from tilewright.exploring.explore import explore as explored

    try:
        with bar_display() as progress:
            found = explored(
                study, output, jobs=jobs, scheduler=scheduler, seconds=seconds, fresh=fresh, progress=progress
            )
    except KeyboardInterrupt:
        print("interrupted: what is finished is kept; the same command goes on from there", file=sys.stderr)
        raise
    if as_json:
        print_json({"status": "ok", **found.as_dict()})
    else:
        _print(found)
    return DISAGREES if any(row.status in WRONG for row in found.rows) else AGREES


def _print(found: Results) -> None:
    from tilewright.report.console import console
    from tilewright.report.study_table import print_study

    print_study(console(), found)
