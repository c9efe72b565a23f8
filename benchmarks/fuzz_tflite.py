"""Damaged TensorFlow Lite files: every one must compile or be refused with a CompileError, in bounded time and memory.

    python -m benchmarks.fuzz_tflite --cases 2000 --seed 1

Seeds are the small files of the tests, one for each operator, and those in the folder that TILEWRIGHT_NETWORKS names.
Each case damages some bytes, or puts numbers that matter in the place of some fields; workers are those of
benchmarks/fuzz.py.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from benchmarks.fuzz import Case, Worker, command, run_all
from benchmarks.fuzz_mutations import flip_bytes, overwrite, truncate
from tests.support.tflite_cases import FLOATS, HYBRID, QUANTISED

MAX_BYTES = 80_000
"""Larger networks are left out: a case should take milliseconds."""
HEADER = 8
NUMBERS = (0, 1, 2, 3, 4, 7, 8, 16, 127, 255, 2**15, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 8)
FLOAT_BITS = (0x7F800000, 0x7FC00000, 0x00000001, 0x7F7FFFFF, 0xBF800000, 0x3F800000, 0)


def seeds(with_networks: bool = True) -> list[tuple[str, bytes]]:
    groups = {"int": QUANTISED, "float": FLOATS, "hybrid": HYBRID}
    made = [
        (f"{group}_{name}", make(np.random.default_rng(0)))
        for group, cases in groups.items()
        for name, make in cases.items()
    ]
    return made + (_networks() if with_networks else [])


def _networks() -> list[tuple[str, bytes]]:
    default = Path(__file__).parents[2] / "shared" / "networks"
    root = Path(os.environ.get("TILEWRIGHT_NETWORKS", default))
    paths = [path for path in sorted(root.rglob("*.tflite")) if path.stat().st_size <= MAX_BYTES]
    return [(path.stem, path.read_bytes()) for path in paths]


def mutate(data: bytes, rng: Random) -> bytes:
    """A quarter by bytes, which the header mostly survives; the others by one to four fields."""
    if rng.random() < 0.25:
        return rng.choice((flip_bytes, truncate, overwrite))(data, rng)
    damaged = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        _change_field(damaged, rng)
    return bytes(damaged)


def _change_field(damaged: bytearray, rng: Random) -> None:
    """A word, a half or a byte where one may begin: an offset, a length, a size, a type, a code."""
    width = rng.choice((1, 2, 4, 4, 4))
    at = rng.randrange(HEADER, max(len(damaged) - 4, HEADER + 1)) // width * width
    old = int.from_bytes(damaged[at : at + width], "little")
    choices = (rng.choice(NUMBERS), rng.choice(FLOAT_BITS), old + rng.choice((-4, -1, 1, 4)), rng.randrange(2**16))
    damaged[at : at + width] = (rng.choice(choices) % 2 ** (8 * width)).to_bytes(width, "little")


def damaged(cases: int, seed: int, models: Sequence[tuple[str, bytes]]) -> Iterator[Case]:
    """Each case depends on its number and the seed only."""
    for number in range(cases):
        rng = Random(f"{seed}:{number}")
        name, data = rng.choice(models)
        yield Case(number, seed, name, mutate(data, rng))


def fuzz(cases: int, seed: int, jobs: int, keep: Path | None = None, small: bool = False) -> Counter[str]:
    """Run the cases and count the outcomes; inputs that show a bug are kept in a folder if one is given."""
    for module in ("tilewright.pipeline", "tilewright.frontends.tflite.importer"):
        importlib.import_module(module)  # loaded once, before the workers are forked
    workers = [Worker() for _ in range(jobs)]
    try:
        return run_all(damaged(cases, seed, seeds(with_networks=not small)), workers, keep)
    finally:
        for worker in workers:
            worker.stop()


if __name__ == "__main__":
    sys.exit(command(fuzz, __doc__))
