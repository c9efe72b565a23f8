"""`tilewright analyze`: what a network costs, and what is not supported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.emit import emit_stage
from tilewright.cli.options import Emit, Json, Model, OnnxFile, OnnxStage, Planning, TargetName
from tilewright.cli.process import AGREES, print_json, progress_display

if TYPE_CHECKING:
    from tilewright.analysis.costs import Analysis
    from tilewright.analysis.explain import Explanation

AUTO = "auto"
"""As a target: all of them, ranked."""

Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="For each node, show the chosen engine and the reason, and the predicted cycles of the others.",
    ),
]


def analyze(
    model: Model, binding: Binding, planning: Planning, target: TargetName = "", emit: Emit = "",
    onnx: OnnxFile = None, stage: OnnxStage = "graph", explain: Explain = False, as_json: Json = False,
) -> int:  # fmt: skip
    """Predict memory and cycles of a network, and list what is not supported. Builds nothing.

    `--target auto` ranks all targets and boards.
    """
    from tilewright import pipeline
    from tilewright.analysis.costs import analysis_of
    from tilewright.analysis.exact_rounding import with_rounding_note
    from tilewright.analysis.explain import explain as explained

    if target == AUTO:
        return _rank(model, binding, planning, as_json)
    settings, target = planning.settings(), planning.target(target)
    with progress_display() as progress:
        progress("reading the model")
        graph = pipeline.import_model(model, target_name=target, **binding.options())
        if emit or onnx:
            return emit_stage(graph, target, "", emit, onnx, stage, as_json, settings)
        progress("planning memory")
        until_schedule = pipeline.STAGES.index("schedule") + 1
        *_, mapped, _, schedule = islice(pipeline.stages(graph, target, settings=settings), until_schedule)
        found = with_rounding_note(analysis_of(schedule), graph, settings)
    reasons = explained(mapped, schedule) if explain else []
    if as_json:
        shown = {"explanations": [one.as_dict() for one in reasons]} if explain else {}
        print_json("analyze", {"status": "ok", **found.as_dict(), **shown})
    elif explain:
        _print_explanations(found, reasons)
    else:
        print_analysis(found)
    return AGREES


def _rank(model: Path, binding: Binding, planning: Planning, as_json: bool) -> int:
    """Every target and board, the fastest first."""
    from tilewright import pipeline
    from tilewright.analysis.ranking import candidate_names, ranked
    from tilewright.report.console import console
    from tilewright.report.ranking_table import print_ranking

    with progress_display() as progress:
        progress("reading the model")
        graph = pipeline.import_model(model, **binding.options())
        names = [planning.board_name] if planning.board_name else candidate_names()
        found = ranked(
            graph, planning.settings(), _told(names, progress),
            lambda name: pipeline.import_model(model, target_name=name, **binding.options()),
        )  # fmt: skip
    if as_json:
        print_json("ranking", {"status": "ok", "name": graph.name, "candidates": [one.as_dict() for one in found]})
    else:
        print_ranking(console(), graph.name, found)
    return AGREES


def _told(names: list[str], progress: Callable[[str], None]) -> Iterator[str]:
    for name in names:
        progress(f"planning for {name}")
        yield name


def print_analysis(found: Analysis) -> None:
    from tilewright.report import tables
    from tilewright.report.console import console

    tables.print_layers(console(), found)
    tables.print_totals(console(), found)


def _print_explanations(found: Analysis, reasons: list[Explanation]) -> None:
    from tilewright.report import explanation_table, tables
    from tilewright.report.console import console

    explanation_table.print_explanations(console(), f"{found.name} on {found.target}", reasons)
    tables.print_totals(console(), found)
