"""`tilewright quantise`: a float network in, the same in integers out, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.binding import Binding
from tilewright.cli.block_weights import BlockWeights, quantise_weights
from tilewright.cli.export import ShortWeights
from tilewright.cli.options import Json, Planning, TargetName, pairs
from tilewright.cli.process import AGREES, bar_display, print_json, uninterrupted
from tilewright.cli.widths import FrontPicture, MaxBytes, MaxCycles, MaxLoss, MinSnr, budget_of, draw_front
from tilewright.errors import CompileError
from tilewright.whole_file import write_whole

if TYPE_CHECKING:
    from tilewright.quantiser.cost.measure import Metric
    from tilewright.quantiser.quantise import Quantised
    from tilewright.quantiser.width_search.search import Search
    from tilewright.quantiser.widths import Widths

LANGUAGE = "for a language model (a folder in Hugging Face's format, a .gguf file)"
QuantisedModel = Annotated[
    Path,
    typer.Argument(help=f"A float network: an .onnx, .tflite, .pt2 or .keras file; with --weights {LANGUAGE[4:]}."),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FILE.npz", help="Samples: an array per input, samples along the first axis."),
]
Labels = Annotated[
    Path | None, typer.Option("--labels", metavar="FILE.npy", help="The class of each sample, to report the accuracy.")
]
MetricName = Annotated[
    str,
    typer.Option(
        "--metric", metavar="FILE.py:FUNCTION",
        help="Called with the outputs of a sample (a mapping by name) and its index; the mean is reported.",
    ),
]  # fmt: skip
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE",
        help="The file to write; MODEL_int8.onnx by default, or MODEL_FORMAT.gguf with --weights.",
    ),
]  # fmt: skip
LearnRounding = Annotated[
    bool,
    typer.Option(
        "--learn-rounding", help="Learn for each weight whether to round it up or down. Slower, more accurate."
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide", help="16 bits for a decoder's residual stream, attention scores, and rotated queries and keys."
    ),
]
LayerWidths = Annotated[
    list[str] | None,
    typer.Option(
        "--width",
        metavar="LAYER=WIDTH",
        help="Type of a layer: int8, int16 or float; w2 to w8 for the bits of its weights. Repeatable.",
    ),
]
Picture = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE.svg", help="Plot ranges, clipping and errors of each layer.")
]
RunC = Annotated[
    bool, typer.Option("--run-c", help="Also build the quantised network as C and measure it on this machine.")
]
Processes = Annotated[
    int, typer.Option("--processes", min=0, help="Number of processes; the number of cores by default.")
]


class Sizes(Planning):
    """What widths are searched for with."""

    names = ("engines", "l1")
    boards = False


def quantise(
    model: QuantisedModel, binding: Binding, planning: Sizes, blocks: BlockWeights, data: Data = None,
    labels: Labels = None, metric: MetricName = "", output: Output = None, learn_rounding: LearnRounding = False,
    wide: Wide = False, width: LayerWidths = None, picture: Picture = None, run_c: RunC = False,
    processes: Processes = 0, target: TargetName = "generic", max_cycles: MaxCycles = None, max_bytes: MaxBytes = None,
    max_loss: MaxLoss = None, min_snr: MinSnr = None, front: FrontPicture = None, as_json: Json = False,
    short_weights: ShortWeights = False,
) -> int:  # fmt: skip
    """Quantise a float network with samples of its inputs, or a language model's weights, and say what it costs."""
    from tilewright import pipeline, targets
    from tilewright.export import save
    from tilewright.quantiser.quantise import Options
    from tilewright.quantiser.quantise import quantise as quantised
    from tilewright.quantiser.samples.samples import samples_of
    from tilewright.quantiser.width_search.search import search

    if blocks.are_wanted:
        others = {
            "--data": data, "--labels": labels, "--metric": metric, "--learn-rounding": learn_rounding, "--wide": wide,
            "--width": width, "--picture": picture, "--run-c": run_c, "--max-cycles": max_cycles,
            "--max-bytes": max_bytes, "--max-loss": max_loss, "--min-snr": min_snr, "--front": front,
            "--int4": short_weights,
        }  # fmt: skip
        _check_places(model, {"-o": output})
        return quantise_weights(model, output, blocks, others, as_json)
    if data is None:
        raise CompileError("--data", "is missing", _hint_without_data(model))
    budget = budget_of(max_cycles, max_bytes, max_loss, min_snr, front)
    targets.find(target)
    path = output or Path(f"{model.stem}_int8.onnx")
    _check_places(model, {"-o": path, "--picture": picture, "--front": front})
    options = Options(
        _widths(width), learn_rounding=learn_rounding, wide=wide, integer_cells=False, run_c=run_c, processes=processes
    )
    graph = pipeline.import_model(model, **binding.options())
    samples = samples_of(graph, data)
    with bar_display() as progress:
        measure = _metric(labels, metric, samples.count)
        searched = None
        if budget is not None:
            settings = planning.settings()
            searched = search(graph, samples, target, settings, budget, options, measure, progress)
        found = quantised(graph, samples, options, measure, progress) if searched is None else searched.chosen.quantised
        with uninterrupted():
            save(found.graph, path, short_weights)
            if picture is not None:
                _draw(found, model.stem, picture)
            if searched is not None:
                draw_front(searched, model.stem, front)
    if searched is not None and not as_json:
        _print_front(searched, front)
    _print(found, path, picture, as_json, searched)
    return AGREES


def _hint_without_data(model: Path) -> str:
    if model.suffix.lower() == ".gguf" or (model / "config.json").is_file():
        return f"{model} is a language model, which needs none: tilewright quantise {model} --weights q4_0"
    return f"give samples of the network's inputs, or {LANGUAGE} --weights FORMAT"


def _check_places(model: Path, places: Mapping[str, Path | None]) -> None:
    """What cannot be written is said before minutes of work, not after them."""
    for option, place in places.items():
        if place is None:
            continue
        if not place.parent.is_dir():
            raise CompileError(f"{option} {place}", f"there is no folder '{place.parent}'", f"choose another {option}")
        if place.exists() and model.exists() and place.samefile(model):
            raise CompileError(f"{option} {place}", "is the model itself", f"choose another {option}")


def _print_front(searched: Search, front: Path | None) -> None:
    from tilewright.report.console import console
    from tilewright.report.width_front import print_front

    print_front(console(), searched, front)


def _print(found: Quantised, path: Path, picture: Path | None, as_json: bool, searched: Search | None) -> None:
    if as_json:
        drawn = {} if picture is None else {"picture": str(picture)}
        widths = {} if searched is None else {"widths": searched.as_dict()}
        print_json("quantise", {"status": "ok", "output": str(path), **drawn, **found.report.as_dict(), **widths})
        return
    from tilewright.report.console import console
    from tilewright.report.quantisation import print_quantisation

    print_quantisation(console(), found.report, path, picture)


def _draw(found: Quantised, name: str, picture: Path) -> None:
    from tilewright.report.quantisation_picture import svg

    write_whole(picture, svg(found.report, name), "--picture")


def _metric(labels: Path | None, name: str, count: int) -> Metric | None:
    from tilewright.quantiser.cost.metrics import accuracy_of_file, metric_of_file

    if labels is not None and name:
        raise CompileError("--metric and --labels", "are both given", "leave one out")
    if labels is not None:
        return accuracy_of_file(labels, count)
    return metric_of_file(name) if name else None


WIDTHS = {"int8": (8, "int8"), "int16": (8, "int16"), "float": (8, "float32")}


def _widths(words: Sequence[str] | None) -> Widths:
    from tilewright.quantiser.widths import Width, Widths

    known = WIDTHS | {f"w{bits}": (bits, "int8") for bits in range(2, 9)}
    found = {}
    for name, word in pairs("--width", words).items():
        if word not in known:
            raise CompileError(f"--width {name}={word}", "is unknown", f"use one of {', '.join(known)}")
        found[name] = Width(*known[word])
    return Widths(layers=found)
