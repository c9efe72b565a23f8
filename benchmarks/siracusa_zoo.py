"""Networks of the zoo on the virtual Siracusa, in random sizes and with random settings.

    python -m benchmarks.siracusa_zoo [--first SEED] [--count N] [--only NAME]

Every seed gives one network, as floats or quantised, and settings for it, without accelerators. Floats are held to ONNX
Runtime, quantised networks to the integers that they mean.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnxruntime
from benchmarks.zoo import NETWORKS, VOCABULARY
from benchmarks.zoo_net import Net
from onnx import ModelProto
from tests.support.quantiser import Style, quantise, run_onnxruntime

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.ir.types import Array
from tilewright.target.settings import Settings

FORMS = ("float", "float", "own int8", "own uint8", "tool QDQ", "tool QDQ", "tool QOperator")
L1 = (4_000, 6_000, 9_000, 14_000, 24_000, 48_000, 100_000, 256 * 1024)
L2 = (None, None, 400_000, 160_000)


@dataclass(frozen=True)
class Case:
    seed: int
    network: str
    form: str
    settings: Settings

    def __str__(self) -> str:
        s = self.settings
        options = f"--cores {s.cores} --l1 {s.l1} --l2 {s.l2} --home {s.home or 'any'} --buffering {s.buffering}"
        return f"{self.seed} {self.network} ({self.form}) {options}"


def case_of(seed: int, only: str = "") -> Case:
    chance = random.Random(seed)
    settings = Settings(
        chance.randint(1, 8), chance.choice(L1), chance.choice(L2), chance.choice(("", "", "L2", "L3")),
        chance.choice(("auto", "auto", "single", "double")), ("cluster",), 1.0,
    )  # fmt: skip
    names = [name for name in NETWORKS if only in name]
    return Case(seed, chance.choice(names), chance.choice(FORMS), settings)


def model_of(case: Case) -> tuple[ModelProto, dict[str, Array]]:
    net = Net(case.seed)
    made = net.model(*NETWORKS[case.network](net))
    feeds = net.feeds(VOCABULARY)
    if case.form.startswith("own"):
        made = quantise(made, feeds, Style(activation=case.form.split()[1]))
    if case.form.startswith("tool"):
        made = quantised_by_tool(made, feeds, case.form.split()[1], random.Random(case.seed))
    return made, feeds


def quantised_by_tool(made: ModelProto, feeds: Mapping[str, Array], form: str, chance: random.Random) -> ModelProto:
    """What ONNX Runtime's quantiser makes of a network."""
    from onnxruntime import quantization as tool

    class Samples(tool.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left: Iterator[Mapping[str, Array]] = iter([feeds])

        def get_next(self) -> Mapping[str, Array] | None:
            return next(self.left, None)

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder, "float.onnx"), Path(folder, "quantised.onnx")
        onnx.save(made, before)
        tool.quantize_static(
            before, after, Samples(), quant_format=getattr(tool.QuantFormat, form),
            activation_type=chance.choice((tool.QuantType.QInt8, tool.QuantType.QUInt8)),
            weight_type=tool.QuantType.QInt8, per_channel=form == "QDQ" and chance.random() < 0.7,
        )  # fmt: skip
        return onnx.load(after)


def verdict(case: Case) -> str:
    """`agrees`, or what is wrong."""
    onnxruntime.set_default_logger_severity(4)
    try:
        made, feeds = model_of(case)
        wanted = run_onnxruntime(made, feeds)
    except Exception as error:
        return f"no network: {type(error).__name__}: {str(error).splitlines()[0]}"
    try:
        program = tw.compile(made, target="siracusa", settings=case.settings)
        check = program.check(
            feeds, {o.name: wanted[o.name] for o in made.graph.output} if case.form == "float" else None
        )
    except CompileError as error:
        return f"refused: {' / '.join(str(error).splitlines())}"
    except Exception:
        return f"crashed: {traceback.format_exc()}"
    if check.first_difference is not None:
        return f"differs: {check.first_difference}"
    return "agrees"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", default="", help="networks with this in their name")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    chosen = [case_of(seed, options.only) for seed in range(options.first, options.first + options.count)]
    agreed = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for case, text in zip(chosen, pool.map(verdict, chosen), strict=True):
            agreed += text == "agrees"
            if text != "agrees":
                print(f"{case}: {text}", flush=True)
    print(f"{agreed} of {len(chosen)} agree")


if __name__ == "__main__":
    main()
