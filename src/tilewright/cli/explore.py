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
Folder = Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the results; NAME_study by default.")]
Jobs = Annotated[
    int, typer.Option("--jobs", min=0, help="Points computed in parallel; the number of cores by default.")
]
Scheduler = Annotated[
    str,
    typer.Option("--scheduler", metavar="ADDRESS", help="Compute the points on the workers of a Dask scheduler."),
]
Seconds = Annotated[
    float | None, typer.Option("--seconds", min=0.001, help="Time limit of a point; the study's by default.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute everything again, also what the folder already holds.")]

WRONG = ("disagrees", "died", "fault")
"""Statuses that nobody asks for: a refusal and a time limit are results of a sweep."""


def explore(
    study: StudyFile, output: Folder = None, jobs: Jobs = 0, scheduler: Scheduler = "", seconds: Seconds = None,
    fresh: Fresh = False, as_json: Json = False,
) -> int:  # fmt: skip
    """Sweep over models, targets and settings. Resumes an interrupted sweep."""
    from tilewright.exploring.explore import explore as explored

    try:
        with bar_display() as progress:
            found = explored(
                study, output, jobs=jobs, scheduler=scheduler, seconds=seconds, fresh=fresh, progress=progress
            )
    except KeyboardInterrupt:
        print("interrupted: finished points are kept; run the same command again to resume", file=sys.stderr)
        raise
    if as_json:
        print_json("study", {"status": "ok", **found.as_dict()})
    else:
        _print(found)
    return DISAGREES if any(row.status in WRONG for row in found.rows) else AGREES


def _print(found: Results) -> None:
    from tilewright.report.console import console
    from tilewright.report.study_table import print_study

    print_study(console(), found)
