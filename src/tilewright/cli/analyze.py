"""`tilewright analyze`: what a network costs, and what is not supported."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.emit import emit_stage
from tilewright.cli.options import Emit, Json, Model, OnnxFile, OnnxStage, Planning, TargetName
from tilewright.cli.process import AGREES, print_json, progress_display

if TYPE_CHECKING:
    from tilewright.analysis.costs import Analysis
    from tilewright.analysis.explain import Explanation

Explain = Annotated[
    bool,
    typer.Option("--explain", help="Say why each node is computed where it is, and what others would take."),
]


def analyze(
    model: Model, binding: Binding, planning: Planning, target: TargetName = "", emit: Emit = "",
    onnx: OnnxFile = None, stage: OnnxStage = "graph", explain: Explain = False, as_json: Json = False,
) -> int:  # fmt: skip
    """Say what a network costs and what is not supported; build nothing."""
    from tilewright import pipeline
    from tilewright.analysis.costs import analysis_of
    from tilewright.analysis.explain import explain as explained

    settings, target = planning.settings(), planning.target(target)
    with progress_display() as progress:
        progress("reading the model")
        graph = pipeline.import_model(model, **binding.options())
        if emit or onnx:
            return emit_stage(graph, target, "", emit, onnx, stage, as_json, settings)
        progress("planning memory")
        until_schedule = pipeline.STAGES.index("schedule") + 1
        *_, mapped, _, schedule = islice(pipeline.stages(graph, target, settings=settings), until_schedule)
    found, reasons = analysis_of(schedule), explained(mapped, schedule) if explain else []
    if as_json:
        shown = {"explanations": [one.as_dict() for one in reasons]} if explain else {}
        print_json({"status": "ok", **found.as_dict(), **shown})
    elif explain:
        _print_explanations(found, reasons)
    else:
        print_analysis(found)
    return AGREES


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
