"""A linear layer (int8, requantised to int8) on the virtual Siracusa: cores, and the NPU with weights from elsewhere.

    python benchmarks/npu_linear.py [--rows 1,64] [--shapes 256x256,1024x1024] [--svg docs/npu_linear.svg]

Cycles are from the call of the network to its return; the input and the output are in L2. `L2` and `L3` are where the
weights come from tile by tile; with the weight memory the NPU reads them where they lie.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.line_charts import Chart, Panel, svg
from tests.support.dialect import Model, one_element, requant

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.target.settings import Settings

ROWS = (1, 8, 64, 256)
SHAPES = ((64, 64), (128, 128), (256, 256), (512, 512), (1024, 1024), (2048, 512))
SHIFT = 16
LAYER = "linear"
ON_NPU = ((LAYER, "neureka"),)
WAYS: Mapping[str, Settings] = {
    "1 core": Settings(1, engines=("cluster",)),
    "8 cores": Settings(8, engines=("cluster",)),
    "NPU, L3": Settings(home="L3", weight_memory=False, placed=ON_NPU),
    "NPU, L2": Settings(home="L2", weight_memory=False, placed=ON_NPU),
    "NPU, weight memory": Settings(placed=ON_NPU),
}
ONE_CORE, STREAMED, RESIDENT = "1 core", "NPU, L2", "NPU, weight memory"


@dataclass(frozen=True)
class Layer:
    rows: int
    channels: int
    filters: int

    @property
    def shape(self) -> str:
        return f"{self.channels}x{self.filters}"

    @property
    def macs(self) -> int:
        return self.rows * self.channels * self.filters


@dataclass(frozen=True)
class Measured:
    layer: Layer
    cycles: Mapping[str, int]
    """By the name of the variant; without those whose weights do not fit."""

    def speedup(self, option: str, over: str) -> float:
        return self.cycles[over] / self.cycles[option]


def network(layer: Layer) -> tuple[Model, str]:
    """In the integer dialect, and the name of its output: weights of all 8 bits, results over most of theirs."""
    random = np.random.default_rng(layer.macs)
    model = Model(layer.macs, {"x": random.integers(-128, 127, (1, layer.rows, layer.channels), endpoint=True)})
    weights = model.constant(model.weights(layer.channels, layer.filters, low=-128, high=127))
    product = model.node("MatMul", ["x", weights], model.values["x"] @ model.values[weights])
    model.nodes[-1].name = LAYER
    top = 100 * 2**SHIFT // int(np.abs(model.values[product]).max())
    mul = model.weights(layer.filters, low=top // 2, high=top)
    add = model.weights(layer.filters, low=-(2**SHIFT), high=2**SHIFT)
    attributes = {"div": one_element(2**SHIFT), "n_levels_out": one_element(256), "signed": one_element(1)}
    value = requant(model.values[product], mul, add, SHIFT, 256, True)
    names = [product, model.constant(mul), model.constant(add)]
    return model, model.node("RequantShift", names, value, "PACTOps", **attributes)


def measure(layer: Layer, options: Mapping[str, Settings] = WAYS) -> Measured:
    """Ends where an output is not what the layer means."""
    model, output = network(layer)
    proto, inputs = model.proto(output), {"x": model.inputs["x"].astype(np.float32)}
    expected = {output: model.values[output].astype(np.float32)}
    found = {name: _cycles(proto, settings, inputs, expected) for name, settings in options.items()}
    return Measured(layer, {name: cycles for name, cycles in found.items() if cycles is not None})


def _cycles(
    proto: object, settings: Settings, inputs: Mapping[str, Array], expected: Mapping[str, Array]
) -> int | None:
    """None where it does not fit the memories."""
    try:
        program = tw.compile(proto, target="siracusa", settings=settings, example_inputs=inputs)
    except CompileError:
        return None
    check = program.check(inputs, expected)
    if not check.agrees:
        raise SystemExit(f"{settings}: {check.first_difference}")
    return check.result.cycles


def layers(rows: Sequence[int], shapes: Sequence[tuple[int, int]]) -> Iterator[Layer]:
    return (Layer(count, *shape) for count in rows for shape in shapes)


def print_table(found: Sequence[Measured]) -> None:
    table = Table(title="cycles of a linear layer")
    for name in ("rows", "shape", *WAYS, "over 1 core", "over L2", "MAC/cycle"):
        table.add_column(name, justify="right")
    for one in found:
        cycles = [f"{one.cycles[option]:,}" if option in one.cycles else "-" for option in WAYS]
        ratios = [f"{one.speedup(RESIDENT, over):.1f}" for over in (ONE_CORE, STREAMED)]
        speed = f"{one.layer.macs / one.cycles[RESIDENT]:.1f}"
        table.add_row(str(one.layer.rows), one.layer.shape, *cycles, *ratios, speed)
    Console(width=130).print(table)


def chart(found: Sequence[Measured]) -> Chart:
    rows = dict.fromkeys(one.layer.rows for one in found)
    panels = [_panel(count, [one for one in found if one.layer.rows == count]) for count in rows]
    return Chart(
        "A linear layer on Siracusa: MAC per cycle", list(dict.fromkeys(one.layer.shape for one in found)), panels
    )


def _panel(rows: int, found: Sequence[Measured]) -> Panel:
    options = [option for option in WAYS if all(option in one.cycles for one in found)]
    title = f"{rows} row{'s' * (rows > 1)}"
    return Panel(title, {option: [one.layer.macs / one.cycles[option] for one in found] for option in options})


def _shape(text: str) -> tuple[int, int]:
    channels, _, filters = text.partition("x")
    return int(channels), int(filters)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: [*map(int, text.split(","))], default=ROWS)
    parser.add_argument("--shapes", type=lambda text: [*map(_shape, text.split(","))], default=SHAPES)
    parser.add_argument("--svg", type=Path, help="also draw it into this file")
    options = parser.parse_args()
    found = [measure(layer) for layer in layers(options.rows, options.shapes)]
    print_table(found)
    if options.svg:
        options.svg.write_text(svg(chart(found)))


if __name__ == "__main__":
    main()
