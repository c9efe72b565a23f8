"""`tilewright analyze`: what a network costs, and what is not supported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.emit import emit_stage
from tilewright.cli.options import Emit, Json, Model, OnnxFile, OnnxStage, Planning, TargetName
from tilewright.cli.process import AGREES, print_json, progress_display
from tilewright.errors import CompileError

if TYPE_CHECKING:
    from tilewright.analysis.costs import Analysis
    from tilewright.analysis.explain import Explanation
    from tilewright.ir.graph import Graph
    from tilewright.target.settings import Settings
    from tilewright.training.plan import MemoryPlan

AUTO = "auto"
"""As a target: all of them, ranked."""

Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="For each node, show the chosen engine and the reason, and the predicted cycles of the others.",
    ),
]


TRAINING = "RAM of training"
Loss = Annotated[
    str,
    typer.Option(
        "--loss",
        metavar="cross_entropy|mse",
        help="Also say what training the network takes.",
        rich_help_panel=TRAINING,
    ),
]
Optimizer = Annotated[
    str, typer.Option("--optimizer", metavar="NAME:RATE", help="sgd, adam, adamw.", rich_help_panel=TRAINING)
]
Trainable = Annotated[
    str, typer.Option("--trainable", help="all, last:2, lora:4, or names with commas.", rich_help_panel=TRAINING)
]
Ram = Annotated[
    str,
    typer.Option("--ram", metavar="BYTES", help="A budget for a training step, such as 64k.", rich_help_panel=TRAINING),
]


def analyze(
    model: Model, binding: Binding, planning: Planning, target: TargetName = "", emit: Emit = "",
    onnx: OnnxFile = None, stage: OnnxStage = "graph", explain: Explain = False, loss: Loss = "",
    optimizer: Optimizer = "", trainable: Trainable = "", ram: Ram = "", as_json: Json = False,
) -> int:  # fmt: skip
    """Predict memory and cycles of a network, and list what is not supported. Builds nothing.

    `--target auto` ranks all targets and boards.
    """
    from tilewright import pipeline
    from tilewright.analysis.costs import analysis_of
    from tilewright.analysis.exact_rounding import with_rounding_note
    from tilewright.analysis.explain import explain as explained
    from tilewright.planner.board.little_ram import or_with_less_ram

    _check_training(target, loss, optimizer, trainable, ram)
    if target == AUTO:
        return _rank(model, binding, planning, as_json)
    settings, target = planning.settings(), planning.target(target)
    with progress_display() as progress:
        progress("reading the model")
        if emit or onnx:
            graph = pipeline.import_model(model, target_name=target, goal=settings.optimise, **binding.options())
            return emit_stage(graph, target, "", emit, onnx, stage, as_json, settings)

        def planned(chosen: Settings, noted: Callable[[Graph], Graph]) -> tuple[Graph, Any, Any]:
            graph = noted(pipeline.import_model(model, target_name=target, goal=chosen.optimise, **binding.options()))
            progress("planning memory")
            until_schedule = pipeline.STAGES.index("schedule") + 1
            *_, mapped, _, schedule = islice(pipeline.stages(graph, target, settings=chosen), until_schedule)
            return graph, mapped, schedule

        graph, mapped, schedule = or_with_less_ram(target, settings, planned)
        found = with_rounding_note(analysis_of(schedule), graph, settings)
        plan = None
        if loss:
            progress("planning training")
            plan = _plan(model, loss, optimizer, trainable, ram, target, settings, binding.options())
    reasons = explained(mapped, schedule) if explain else []
    if as_json:
        shown = {"explanations": [one.as_dict() for one in reasons]} if explain else {}
        learning = {} if plan is None else {"training": plan.as_dict()}
        print_json("analyze", {"status": "ok", **found.as_dict(), **shown, **learning})
        return AGREES
    if explain:
        _print_explanations(found, reasons)
    else:
        print_analysis(found)
    if plan is not None:
        _print_plan(plan)
    return AGREES


def _check_training(target: str, loss: str, optimizer: str, trainable: str, ram: str) -> None:
    """Options of training go with a loss, and a loss with one target."""
    words = {"--optimizer": optimizer, "--trainable": trainable, "--ram": ram}
    for option, word in words.items():
        if word and not loss:
            raise CompileError(f"{option} {word}", "is about training, which needs a loss", "add --loss cross_entropy")
    if loss and target == AUTO:
        raise CompileError(f"--loss {loss}", "training is planned for one target", "name it: --target cortex-m4")


def _plan(
    model: Path, loss: str, optimizer: str, trainable: str, ram: str, target: str, settings: Settings,
    options: Mapping[str, Any],
) -> MemoryPlan:  # fmt: skip
    """What a step takes; by default all weights learn, by SGD."""
    from tilewright.training.program import in_bytes
    from tilewright.training.train import train_file

    words = loss, optimizer or "sgd:0.01", trainable or "all"
    return train_file(model, *words, options=options, target=target, settings=settings, ram=in_bytes(ram)).plan()


def _print_plan(plan: MemoryPlan) -> None:
    from tilewright.report.console import console
    from tilewright.report.training_table import print_budget, print_plan

    console().print()
    print_plan(console(), plan)
    print_budget(console(), plan)


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
        settings, said = planning.settings(), binding.options()
        found = ranked(
            graph, settings, _told(names, progress),
            lambda name, goal: pipeline.import_model(model, target_name=name, goal=goal, **said),
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
