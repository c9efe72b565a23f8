"""Windows larger than their images: python -m benchmarks.windows [--target cpu] [--graphs 10] [--seed 0]

Convolutions and pools on images of one pixel, one row or column, one channel, several samples, with strides above the
size and windows that lie in the padding, as floats and as quantised integers. On this machine arrays lie between pages
that may not be touched and the arena holds patterns; a virtual SoC reports reads of what nobody wrote.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from benchmarks.guarded_call import call
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from rich.console import Console
from rich.table import Table

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.program import Program
from tilewright.sim.program.elf import read_elf
from tilewright.sim.simulator import Simulator
from tilewright.target.runner import HostProcess
from tilewright.target.settings import Settings

SIZES = (1, 1, 1, 2, 2, 3, 4, 5, 7, 9)
CHANNELS = (1, 1, 2, 3, 4, 5, 8, 12, 16, 17, 32, 33)
WINDOWS = (1, 2, 3, 3, 3, 4, 5, 7)
MOST_MACS = 300_000
"""Of a layer: cores without floating point take some hundred cycles for each."""
SIMULATED_CYCLES = 2_000_000_000


@dataclass(frozen=True)
class Layer:
    """A windowed layer with an input of its own."""

    nodes: tuple[NodeProto, ...]
    constants: dict[str, Array]
    input: str
    output: str
    data: Array
    text: str

    @property
    def weights(self) -> int:
        """Of all samples."""
        sizes = (value.size for name, value in self.constants.items() if name.startswith("w"))
        return self.data.shape[0] * max(sizes, default=1)

    @property
    def kind(self) -> str:
        return " ".join(self.text.split()[:2])


@dataclass
class Report:
    layers: Counter[str] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Drawing:
    """Layers by chance."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one_of(self, items: Sequence[Any]) -> Any:
        return items[int(self.random.integers(len(items)))]

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def layer(self, number: int) -> Layer:
        """Of a layer that has at least one window."""
        while True:
            rank, kind = self.one_of((1, 2, 2, 2, 2, 3)), self.one_of(("Conv", "Conv", "Conv", "Conv", "Pool"))
            kind = self.one_of(("MaxPool", "AveragePool")) if kind == "Pool" else kind
            kind = "ConvTranspose" if kind == "Conv" and self.chance(0.1) else kind
            drawn = self._window(rank, kind)
            sizes = [self.one_of(SIZES) for _ in range(rank)]
            found = (_transposed_sizes if kind == "ConvTranspose" else _counts)(sizes, drawn)
            made = self._layer(number, kind, sizes, drawn) if min(found) > 0 else None
            if made is not None and made.weights * prod(found) <= MOST_MACS:
                return made

    def _window(self, rank: int, kind: str) -> dict[str, list[int]]:
        window = [self.one_of(WINDOWS) for _ in range(rank)] if self.chance(0.5) else [self.one_of(WINDOWS)] * rank
        drawn = {"kernel_shape": window, "strides": [self.one_of((1, 1, 2, 2, 3, 5))] * rank}
        if self.chance(0.3):
            drawn["strides"] = [self.one_of((1, 2, 3, 9)) for _ in range(rank)]
        if kind == "Conv" and self.chance(0.2):
            drawn["dilations"] = [self.one_of((1, 2, 3)) for _ in range(rank)]
        if self.chance(0.6):
            return drawn | {"pads": [size // 2 for size in window] * 2}
        return drawn | {"pads": [int(self.random.integers(size)) for size in window * 2]}

    def _layer(self, number: int, kind: str, sizes: list[int], drawn: dict[str, list[int]]) -> Layer:
        groups, inside, outside = self._channels(kind)
        shape = (self.one_of((1, 1, 2, 3)), groups * inside, *sizes)
        attributes: dict[str, Any] = dict(drawn)
        weights: Array | None = None
        if kind.startswith("Conv"):
            attributes["group"] = groups
            ends = (groups * outside, inside) if kind == "Conv" else (groups * inside, outside)
            weights = self.random.integers(-127, 128, (*ends, *drawn["kernel_shape"]))
        elif kind == "AveragePool":
            attributes["count_include_pad"] = int(self.chance(0.5))
        form = self.one_of(("float", "int8", "uint8"))
        made = Written(self, number, kind, attributes, shape, weights, groups * outside)
        return made.floats() if form == "float" or kind == "ConvTranspose" else made.quantised(form)

    def _channels(self, kind: str) -> tuple[int, int, int]:
        """Groups, channels of a group's input and of its output."""
        if kind in ("MaxPool", "AveragePool"):
            return self.one_of(CHANNELS), 1, 1
        if self.chance(0.45):
            return self.one_of(CHANNELS), 1, self.one_of((1, 1, 1, 2, 3))
        return self.one_of((1, 1, 1, 2, 3)), self.one_of(CHANNELS), self.one_of(CHANNELS)


def _spans(drawn: dict[str, list[int]]) -> list[int]:
    steps = drawn.get("dilations", [1] * len(drawn["kernel_shape"]))
    return [(window - 1) * step + 1 for window, step in zip(drawn["kernel_shape"], steps, strict=True)]


def _counts(sizes: Sequence[int], drawn: dict[str, list[int]]) -> list[int]:
    """Windows along each axis."""
    pads, rank = drawn["pads"], len(sizes)
    rooms = [size + pads[axis] + pads[axis + rank] for axis, size in enumerate(sizes)]
    found = zip(rooms, _spans(drawn), drawn["strides"], strict=True)
    return [(room - span) // stride + 1 if room >= span else 0 for room, span, stride in found]


def _transposed_sizes(sizes: Sequence[int], drawn: dict[str, list[int]]) -> list[int]:
    pads, rank = drawn["pads"], len(sizes)
    found = zip(sizes, drawn["strides"], _spans(drawn), strict=True)
    return [
        (size - 1) * stride + span - pads[axis] - pads[axis + rank] for axis, (size, stride, span) in enumerate(found)
    ]


@dataclass(frozen=True)
class Written:
    """A layer as nodes of ONNX."""

    drawing: Drawing
    number: int
    kind: str
    attributes: dict[str, Any]
    shape: tuple[int, ...]
    weights: Array | None
    outputs: int

    def _name(self, what: str) -> str:
        return f"{what}{self.number}"

    def _text(self, form: str) -> str:
        return f"{form} {self.kind} x{list(self.shape)} outputs {self.outputs} {self.attributes}"

    def floats(self) -> Layer:
        constants = {}
        if self.weights is not None:
            constants = {self._name("w"): (self.weights / 64).astype(np.float32)}
            if self.kind == "Conv" and self.drawing.chance(0.7):
                constants[self._name("b")] = self._bias(1 / 8).astype(np.float32)
        x, y = self._name("x"), self._name("y")
        nodes = [helper.make_node(self.kind, [x, *constants], [y], **self.attributes)]
        if self.drawing.chance(0.3):
            nodes = [
                helper.make_node(self.kind, [x, *constants], [f"{y}_sum"], **self.attributes),
                helper.make_node("Relu", [f"{y}_sum"], [y]),
            ]
        data = self.drawing.random.standard_normal(self.shape).astype(np.float32)
        return Layer(tuple(nodes), constants, x, y, data, self._text("float"))

    def _bias(self, scale: float) -> Array:
        return self.drawing.random.integers(-64, 65, self.outputs) * scale

    def quantised(self, form: str) -> Layer:
        """With the rounding of QDQ."""
        x, y, zero = self._name("x"), self._name("y"), 0 if form == "int8" else 120
        dtype = np.dtype(form)
        terms = 1 if self.weights is None else self.weights[0].size
        scales = {"xs": 0.05, "ys": 0.05 if self.weights is None else 0.05 * terms**0.5, "ws": 0.01}
        constants: dict[str, Array] = {self._name(name): np.float32(scale) for name, scale in scales.items()}
        constants |= {self._name("z"): np.array(zero, dtype)}
        at_x, at_y = (self._name("xs"), self._name("z")), (self._name("ys"), self._name("z"))
        operands, nodes = [f"{x}_f"], [helper.make_node("DequantizeLinear", [x, *at_x], [f"{x}_f"])]
        if self.weights is not None:
            constants |= {self._name("w"): self.weights.astype(np.int8), self._name("wz"): np.array(0, np.int8)}
            at_w = (self._name("ws"), self._name("wz"))
            nodes.append(helper.make_node("DequantizeLinear", [self._name("w"), *at_w], [self._name("wf")]))
            operands.append(self._name("wf"))
        nodes.append(helper.make_node(self.kind, operands, [f"{y}_f"], **self.attributes))
        nodes.append(helper.make_node("QuantizeLinear", [f"{y}_f", *at_y], [y]))
        bounds = np.iinfo(dtype)
        data = self.drawing.random.integers(bounds.min, bounds.max + 1, self.shape).astype(dtype)
        used = {name: value for name, value in constants.items() if any(name in node.input for node in nodes)}
        return Layer(tuple(nodes), used, x, y, data, self._text(form))


def model(layers: Sequence[Layer]) -> ModelProto:
    graph = helper.make_graph(
        [node for layer in layers for node in layer.nodes], "windows",
        [helper.make_tensor_value_info(one.input, _element(one.data), one.data.shape) for one in layers],
        [helper.make_tensor_value_info(one.output, _element(one.data), None) for one in layers],
        [numpy_helper.from_array(value, name) for one in layers for name, value in one.constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _element(array: Array) -> int:
    return TensorProto.FLOAT if array.dtype == np.float32 else helper.np_dtype_to_tensor_dtype(array.dtype)


def try_layers(layers: Sequence[Layer], target: str, settings: Settings, report: Report) -> None:
    """All in one network; where that fails, each by itself, to name the one that is at fault."""
    fault, refusal = fault_of(layers, target, settings)
    if (fault or refusal) and len(layers) > 1:
        for layer in layers:
            try_layers([layer], target, settings, report)
        return
    report.layers.update(layer.kind for layer in layers)
    texts = "; ".join(layer.text for layer in layers)
    report.wrong += [f"{fault}: {texts}"] if fault else []
    report.refused += [f"{refusal}: {texts}"] if refusal else []


def fault_of(layers: Sequence[Layer], target: str, settings: Settings) -> tuple[str, str]:
    """What is wrong with these layers on a target, and why it refuses them."""
    feeds = {layer.input: layer.data for layer in layers}
    try:
        program = tw.compile(model(layers), target=target, settings=settings)
    except CompileError as error:
        return "", str(error)
    try:
        checked = program.check(feeds)
        if not checked.agrees:
            return f"differs: {checked.first_difference}", ""
        return _looked_at(program, feeds), ""
    except Exception as error:
        return f"{type(error).__name__}: {error}", ""


def _looked_at(program: Program, feeds: dict[str, Array]) -> str:
    """What a closer look finds."""
    if isinstance(program.compiled.schedule.target.runner, HostProcess):
        loaded = program.load()
        made = loaded(*feeds.values())
        outputs = list(made) if isinstance(made, tuple) else [made]
        guarded = [output.copy() for output in outputs]
        problem = call(loaded, list(feeds.values()), guarded)
        same = all(np.array_equal(one, other, equal_nan=True) for one, other in zip(outputs, guarded, strict=True))
        return problem or ("" if same else "differs between guard pages")
    simulator = program.compiled.schedule.target.machine()
    if isinstance(simulator, Simulator):
        elf = read_elf(program.build_soc().build(feeds))
        simulator.check(unwritten=True, protected=True, transfers=True, misuse=True)
        filled = tuple(replace(one, size=len(one.data)) for one in elf.segments if one.data)
        simulator.load(replace(elf, segments=filled))
        simulator.run(SIMULATED_CYCLES)
    return ""


def run(seed: int, count: int, target: str, report: Report, settings: Settings | None = None) -> None:
    drawing = Drawing(seed)
    try_layers([drawing.layer(number) for number in range(count)], target, settings or Settings(), report)


def table(report: Report, target: str) -> Table:
    found = Table(title=f"{target}: {len(report.wrong)} wrong, {len(report.refused)} refused")
    found.add_column("layer")
    found.add_column("tried", justify="right")
    for kind, count in sorted(report.layers.items()):
        found.add_row(kind, str(count))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=10)
    parser.add_argument("--layers", type=int, default=24, help="in each graph")
    parser.add_argument("--seed", type=int, default=0, help="of the first graph")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--cpu", default="", help="the processor, where the target is cpu")
    options = parser.parse_args()
    report, console = Report(), Console()
    settings = Settings(processor=options.cpu) if options.cpu else Settings()
    for seed in range(options.seed, options.seed + options.graphs):
        run(seed, options.layers, options.target, report, settings)
    console.print(table(report, options.target))
    for text in (*report.wrong, *report.refused):
        console.print(text, markup=False, soft_wrap=True)
    raise SystemExit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
