"""Every network on the virtual Siracusa, over cores, L1, buffering, homes and engines: what agrees, what fails, and the
cycles.

    python benchmarks/siracusa_matrix.py [--sample N] [--only TEXT] [MODEL ...]
    python benchmarks/siracusa_matrix.py --buffering auto --homes "" --engines npu,streamed

Without --sample the whole matrix: networks x (1, 8 cores) x (16, 64, 256 kB of L1) x (single, double) x (L2, L3) x
(cluster alone, with the NPU, with the NPU but without the weight memory). Options narrow it.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.networks import label, models, named_or, stored

import tilewright as tw
from tilewright.errors import CompileError
from tilewright.target.settings import Settings

CORES = (1, 8)
L1 = (16_000, 64_000, 256_000)
BUFFERING = ("single", "double")
HOMES = ("L2", "L3")
ENGINES = ("cluster", "npu", "streamed")
"""The cores alone, with the NPU, with the NPU but without the weight memory."""
USUAL = [*models("peer/**/*.onnx"), *models("qdq/*/int8.onnx")]
DTYPES = {"peer/Kernels/Integer/ReduceMean": {"input_0": "int8"}}
"""Networks whose input no operator proves to be an integer."""


@dataclass(frozen=True)
class Case:
    network: Path | Callable[[], ModelProto]
    """A file with its inputs and outputs, or what makes a network: numpy says what that is to give."""
    settings: Settings

    @property
    def label(self) -> str:
        return label(self.network) if isinstance(self.network, Path) else self.network.__name__

    def __str__(self) -> str:
        s = self.settings
        home = f" --home {s.home}" if s.home else ""
        engines = f" --engines {','.join(s.engines)}" if s.engines else ""
        weights = "" if s.weight_memory else " --weight-memory off"
        return f"{self.label} --cores {s.cores} --l1 {s.l1} --buffering {s.buffering}{home}{engines}{weights}"


@dataclass(frozen=True)
class Matrix:
    cores: Sequence[int] = CORES
    l1: Sequence[int] = L1
    buffering: Sequence[str] = BUFFERING
    homes: Sequence[str] = HOMES
    engines: Sequence[str] = ENGINES

    def settings(self) -> list[Settings]:
        choices = itertools.product(self.cores, self.l1, self.buffering, self.homes, self.engines)
        return [_settings(*choice) for choice in choices]


def _settings(cores: int, l1: int, buffering: str, home: str, engines: str) -> Settings:
    only = ("cluster",) if engines == "cluster" else ()
    return Settings(cores, l1, None, home, buffering, only, weight_memory=engines != "streamed")


EVERYTHING = Matrix()


def cases(networks: Sequence[Path | Callable[[], ModelProto]], matrix: Matrix = EVERYTHING) -> list[Case]:
    return [Case(network, chosen) for network in networks for chosen in matrix.settings()]


def verdict(case: Case) -> tuple[str, int]:
    """`agrees`, or what is wrong; and the cycles."""
    inputs, outputs = stored(case.network) if isinstance(case.network, Path) else (None, None)
    # ONNX Runtime's floats round some elements of quantised networks the other way: our integers are the measure.
    expected = None if case.label.startswith("qdq/") else outputs
    dtypes = DTYPES.get(case.label, {})
    model = case.network if isinstance(case.network, Path) else case.network()
    try:
        program = tw.compile(model, target="siracusa", settings=case.settings, example_inputs=inputs, dtypes=dtypes)
        check = program.check(inputs, expected)
    except CompileError as error:
        return f"refused: {str(error).splitlines()[0]}", 0
    except Exception as error:  # One fault of the compiler must not hide those behind it.
        return f"crashed: {type(error).__name__}: {error}", 0
    worst = check.first_difference
    return ("agrees" if worst is None else f"differs: {worst}"), check.result.cycles or 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0, help="only so many cases, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only networks with this in their path")
    parser.add_argument("--jobs", type=int, default=2)
    for name, values in vars(Matrix()).items():
        kind = type(values[0])
        parser.add_argument(f"--{name}", type=lambda text, kind=kind: [*map(kind, text.split(","))], default=values)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    paths = [path for path in named_or(options.models, USUAL) if options.only in str(path)]
    chosen = cases(paths, Matrix(**{name: getattr(options, name) for name in vars(Matrix())}))
    if options.sample:
        chosen = random.Random(options.seed).sample(chosen, min(options.sample, len(chosen)))
    failed = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        for case, (text, cycles) in zip(chosen, pool.map(verdict, chosen), strict=True):
            failed += text != "agrees"
            if text != "agrees" or options.sample:
                print(f"{case}: {text}, {cycles:,} cycles", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} agree")


if __name__ == "__main__":
    main()
