"""Why tests are skipped, and why that is acceptable: what no line of `DEFENCES` defends fails in CI.

`scripts/test` ends with the table; `.ci/run` sets `TILEWRIGHT_DEFEND_SKIPS`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

SWITCH = "TILEWRIGHT_DEFEND_SKIPS"
LIMIT = 30
"""Lines of `DEFENCES` at most, and skips of a run in CI that count: what CI skips is not tested."""
UNDEFENDED = "undefended"


@dataclass(frozen=True)
class Defence:
    name: str
    pattern: str
    """A regular expression that is searched for in the reason of a skip."""
    why: str
    counts: bool = True
    """Not where apt or the registry of packages had nothing for this machine."""


DEFENCES = (
    Defence(
        "frameworks",
        r"'(torch|torch\.nn|torchao|onnxscript|transformers|tensorflow|keras|tf2onnx|jax|flax\.\w+|equinox|skl2onnx)'"
        r"|PyTorch is not installed",
        "gigabytes: scripts/test_readers runs these tests where the frameworks are installed",
    ),
    Defence(
        "other packages",
        r"'(pyarrow\.parquet|distributed)'",
        "forty megabytes each: one test of an optional format, one of an optional scheduler",
    ),
    Defence(
        "packages of the test extra",
        r"'(unicorn|onnxruntime|onnxruntime\.quantization|tokenizers|safetensors|gguf|openai|mkdocs|material)'|hatchling",
        "installed wherever the registry has a wheel for this Python",
        counts=False,
    ),
    Defence(
        "LiteRT", r"ai-edge-litert", "in the test extra; it has wheels for Linux on x86-64 and Arm alone", counts=False
    ),
    Defence(
        "TFLite Micro", r"tflite.micro", "in the test extra; it has wheels for Linux on x86-64 alone", counts=False
    ),
    Defence(
        "Vela",
        r"tilewright\[ethos-u\]",
        "in the test extra; it has wheels for Linux on x86-64 and Arm alone",
        counts=False,
    ),
    Defence("networks", r"no (language model|folder)", "others made them: not ours to publish"),
    Defence("calibration", r"calibration programs|reference model", "programs of chips' simulators, of others"),
    Defence("CMSIS-NN", r"CMSIS-NN", "sources of others: a user brings them"),
    Defence(
        "browser",
        r"no chromium|playwright",
        "no apt, or a wheel that this machine has not: .ci/tools says so",
        counts=False,
    ),
    Defence("QEMU, systems", r"qemu-system-arm", "no apt: .ci/tools says so", counts=False),
    Defence("QEMU, programs", r"qemu-user", "no apt: .ci/tools says so", counts=False),
    Defence("Verilator", r"verilator is not installed", "no apt: .ci/tools says so", counts=False),
    Defence("yosys", r"yosys is not installed", "no apt: .ci/tools says so", counts=False),
    Defence(
        "gdb", r"gdb-multiarch", "no apt: .ci/tools says so; the protocol itself is tested without it", counts=False
    ),
    Defence(
        "RTL of cores", r"CV32E40P's RTL|vexriscv", "packages of others, tried on request: docs/simulator.md says how"
    ),
    Defence(
        "other compilers",
        r"\b(gcc|cc|cmake|nm|clang|arm-none-eabi-\w+) is not installed|no (cmake|cc)$|there is no .* here",
        "half a gigabyte each; zig, which pip installs, compiles everything here",
    ),
    Defence("OpenCL", r"OpenCL", "no apt, or OpenCL is there and its absence cannot be tried", counts=False),
    Defence("NVIDIA's assembler", r"gpu-test", "a gigabyte of NVIDIA's tools"),
    Defence("GPU", r"a (real )?driver is installed", "tried with a driver of ours, which a real one would replace"),
    Defence(
        "operating system", r"glibc|/proc|lists threads|needs fork|needs two processors|root may write", "Linux has"
    ),
    Defence("processor", r"compiled for x86-64|tested with|BLAS|numpy has another", "what this machine has not"),
    Defence("history", r"no history", "a clone without its history"),
    Defence(
        "cases without a meaning",
        r"^weights stay|^refused: |^Vela leaves",
        "known only when they are tried: what a plan or Vela refuses, what a processor has no use for",
    ),
)


def defence(reason: str) -> str:
    """Its name, or `UNDEFENDED`."""
    return next((one.name for one in DEFENCES if re.search(one.pattern, reason)), UNDEFENDED)


def reason_of(report: Any) -> str:
    """A report's `longrepr` of a skip is (path, line, "Skipped: reason")."""
    where = report.longrepr
    text = where[2] if isinstance(where, tuple) else str(where)
    return text.removeprefix("Skipped: ").splitlines()[0]


def table(reports: Iterable[Any]) -> Iterator[str]:
    """Reasons with their skips, the most frequent first, under the line that defends them."""
    counts = Counter(reason_of(report) for report in reports)
    groups: dict[str, list[str]] = {}
    for reason, count in counts.most_common():
        groups.setdefault(defence(reason), []).append(f"{count:6} {reason}")
    whys = {one.name: one.why for one in DEFENCES} | {UNDEFENDED: "add a line to tests/support/skips.py, or run them"}
    for name, lines in groups.items():
        yield f"{name}: {whys[name]}"
        yield from lines


def faults(reports: Iterable[Any]) -> list[str]:
    """What makes a run in CI fail."""
    reasons = [reason_of(report) for report in reports]
    found = sorted({f"nobody defends: {reason}" for reason in reasons if defence(reason) == UNDEFENDED})
    uncounted = {one.name for one in DEFENCES if not one.counts}
    count = sum(defence(reason) not in uncounted for reason in reasons)
    if count > LIMIT:
        found.append(f"{count} tests are skipped that could run here, and {LIMIT} may be: let some run")
    return found
