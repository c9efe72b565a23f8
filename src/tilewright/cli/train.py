"""`tilewright train`: a network that learns, trained where it will run, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.options import Cc, Json, Name, Planning, TargetName
from tilewright.cli.process import AGREES, DISAGREES, print_json, progress_display
from tilewright.cli.run import Tolerance
from tilewright.errors import CompileError

if TYPE_CHECKING:
    from tilewright.training.checking import Checked
    from tilewright.training.fitting import Fitted
    from tilewright.training.program import TrainingProgram

LEARNING, GRAPHS = "Learning from samples", "Training graphs"
Trained = Annotated[
    Path, typer.Argument(help="A network; or a training graph (forward, backward, accumulation) with --optimizer FILE.")
]
OptimizerOf = Annotated[
    str, typer.Option("--optimizer", metavar="NAME:RATE|FILE.onnx", help="sgd:0.01, adam:0.001; or an optimizer graph.")
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="FILE.npz",
        help="Samples along the first axis; of training graphs, weights and the data of every step.",
    ),
]  # fmt: skip
Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels", metavar="FILE.npz", rich_help_panel=LEARNING,
        help="The label or target of each sample; without them the samples themselves.",
    ),
]  # fmt: skip
Loss = Annotated[
    str, typer.Option("--loss", metavar="cross_entropy|mse", help="What training reduces.", rich_help_panel=LEARNING)
]
Trainable = Annotated[
    str,
    typer.Option("--trainable", help="all, last:2, lora:4, or names separated by commas.", rich_help_panel=LEARNING),
]
Epochs = Annotated[int, typer.Option("--epochs", help="How often all samples are seen.", rich_help_panel=LEARNING)]
Batch = Annotated[
    int | None,
    typer.Option("--batch", help="Samples per step; by default the network's batch size.", rich_help_panel=LEARNING),
]
Accumulate = Annotated[
    int,
    typer.Option(
        "--accumulate", help="Steps per update, which uses the mean of their gradients.", rich_help_panel=LEARNING
    ),
]
InPlace = Annotated[
    bool,
    typer.Option(
        "--in-place", help="Each step updates the weights at once: no memory for gradients between steps and updates."
    ),
]
HeldOut = Annotated[
    int,
    typer.Option(
        "--held-out",
        help="Number of last samples to keep out of training and measure the loss on.",
        rich_help_panel=LEARNING,
    ),
]
Patience = Annotated[
    int,
    typer.Option(
        "--patience", help="Stop after this many epochs without a smaller held-out loss.", rich_help_panel=LEARNING
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", help="Seed of the order of samples, of Dropout and of lora.", rich_help_panel=LEARNING)
]
Export = Annotated[
    Path | None,
    typer.Option(
        "--export", metavar="FILE.onnx", help="Write what was learned as a network.", rich_help_panel=LEARNING
    ),
]
Expect = Annotated[
    Path | None,
    typer.Option(
        "--expect", metavar="FILE.npz", rich_help_panel=GRAPHS,
        help="Updated weights by name, and `loss` of all steps; by default those that numpy computes.",
    ),
]  # fmt: skip
Ram = Annotated[
    str,
    typer.Option(
        "--ram",
        metavar="BYTES",
        help="Limit of a step's RAM, such as 64k: activations that do not fit are computed again.",
    ),
]
Plan = Annotated[bool, typer.Option("--plan", help="Print the RAM of training and of inference, and build nothing.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Also write the C there.")]


def train(
    model: Trained, planning: Planning, binding: Binding, optimizer: OptimizerOf = "", data: Data = None,
    labels: Labels = None, loss: Loss = "", trainable: Trainable = "all", epochs: Epochs = 1, batch: Batch = None,
    accumulate: Accumulate = 1, held_out: HeldOut = 0, patience: Patience = 0, seed: Seed = 0, export: Export = None,
    expect: Expect = None, in_place: InPlace = False, target: TargetName = "", ram: Ram = "", plan: Plan = False,
    output: Output = None, tolerance: Tolerance = 1e-4, cc: Cc = None, name: Name = "", as_json: Json = False,
) -> int:  # fmt: skip
    """Train a network on this machine or in simulation, and hold losses and weights to what is expected."""
    from tilewright.training import program as training
    from tilewright.training.fitting import Fitting
    from tilewright.training.samples import read_samples
    from tilewright.training.train import train_file
    from tilewright.whole_file import check_place

    budget, settings, at = training.in_bytes(ram), planning.settings(), planning.target(target)
    with progress_display() as progress:
        progress("reading")
        if optimizer.endswith(".onnx"):
            _check_graph_words(loss, export)
            batches = training.read_data(_given(data, "--data"))
            graphs = training.read(model, Path(optimizer), batches, in_place)
            steps = batches.of_steps(training.input_types(graphs))
            progress("compiling")
            program = training.compiled(graphs, at, name, settings, budget)
            if _is_done(program, output, plan, as_json):
                return AGREES
            checked = program.check(steps, batches.accumulated, expect, tolerance, progress, cc)
            return _print_checked(program, checked, "numpy" if expect is None else str(expect), as_json)
        _check_words(loss, optimizer, expect)
        network = train_file(
            model, loss, optimizer, trainable, batch, accumulate, binding.options(), seed, at, name, settings, budget,
            in_place,
        )  # fmt: skip
        if _is_done(network, output, plan, as_json):
            return AGREES
        asked = Fitting(epochs, accumulate, patience, seed, dashes="--")
        samples = read_samples(_given(data, "--data"), labels, network.learner.training.train)
        asked.check(held_out > 0)
        if export is not None:
            check_place(export)
        found = network.fit_samples(*samples.parted(held_out), asked, progress, cc)
        if export is not None:
            network.export(export, found.weights)
    return _print_fitted(network, found, tolerance, as_json)


def _is_done(program: TrainingProgram, output: Path | None, plan: bool, as_json: bool) -> bool:
    """Whether nothing is to be run, with the C and the plan written if they were asked for."""
    if output is not None:
        program.save(output)
    if plan:
        _print_plan(program, as_json)
    return plan


def _check_graph_words(loss: str, export: Path | None) -> None:
    if loss:
        raise CompileError(f"--loss {loss}", "a training graph has its loss", "leave it out")
    if export is not None:
        what = "the training graph does not say what inference computes"
        raise CompileError(f"--export {export}", what, "leave it out; weights are compared with --expect")


def _check_words(loss: str, optimizer: str, expect: Path | None) -> None:
    if not loss:
        what = "a network needs a loss; a training graph needs its optimizer's graph"
        raise CompileError("--loss", what, "--loss cross_entropy, or --optimizer X_optimizer/network.onnx")
    if not optimizer:
        raise CompileError("--optimizer", "is missing", "for example --optimizer sgd:0.01")
    if expect is not None:
        what = "is for training graphs: a network's losses are compared with numpy's"
        raise CompileError(f"--expect {expect}", what, "leave it out")


def _given(path: Path | None, option: str) -> Path:
    if path is None:
        raise CompileError(option, "is missing: there is nothing to learn from", f"{option} FILE.npz")
    return path


def _print_plan(program: TrainingProgram, as_json: bool) -> None:
    from tilewright.report.console import console
    from tilewright.report.training_table import print_budget, print_plan

    if as_json:
        print_json("train-plan", program.plan().as_dict())
    else:
        print_plan(console(), program.plan())
        print_budget(console(), program.plan())


def _print_checked(program: TrainingProgram, checked: Checked, against: str, as_json: bool) -> int:
    from tilewright.report.console import console
    from tilewright.report.training_table import print_plan, print_training

    if as_json:
        print_json("train-check", {**checked.as_dict(), "plan": program.plan().as_dict()})
    else:
        print_plan(console(), program.plan())
        print_training(console(), checked, f"{program.name} on {program.target}", against)
    return AGREES if checked.agrees else DISAGREES


def _print_fitted(program: TrainingProgram, fitted: Fitted, tolerance: float, as_json: bool) -> int:
    from tilewright.report.console import console
    from tilewright.report.training_table import print_fitted, print_plan

    agrees = fitted.agrees(tolerance)
    if as_json:
        print_json("train", {**fitted.as_dict(), "agrees": agrees, "plan": program.plan().as_dict()})
    else:
        print_plan(console(), program.plan())
        print_fitted(console(), fitted, f"{program.name} on {program.target}", tolerance)
    return AGREES if agrees else DISAGREES
