"""Language models of real shapes beside llama.cpp, in turns: prefill, decode, start and memory.

    python benchmarks/lm_peers.py [--shapes smollm2-135m] [--formats q4_0 q8_0] [--threads 1 2] [--folder build/lm]
    python benchmarks/lm_peers.py --positions 128 512 2000 8000 --context 8192 [...]

Files have random weights. llama.cpp is built by pip for this machine, which takes a while; where it is built already,
`--llama-python` names a Python that imports `llama_cpp`. A figure is the median of several turns, in each of which
both read the same prompt and give as many tokens. With `--positions`, what a token takes behind so many others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.host_environments import Environment, Failed, last_line
from benchmarks.lm_random_models import SHAPES, write_random

SCRIPTS = Path(__file__).parent / "lm_contestants"
MARK = "answer "
OURS, PEER = "tilewright", "llama.cpp"
MODULES = {OURS: "with_tilewright.py", PEER: "with_llama_cpp.py"}
BOTH_FORMATS = ("q4_0", "q8_0", "q4_k", "f16")


@dataclass(frozen=True)
class Task:
    """What is measured: a prompt is read, and tokens behind it are given, so many times."""

    prompt: int
    tokens: int
    turns: int
    context: int


@dataclass(frozen=True)
class Figures:
    """Of one contestant."""

    prefill: float
    """Tokens a second."""
    decode: float
    start: float
    """Seconds from the start of the process to the first token."""
    own_bytes: int
    """Of memory beside what is mapped from a file."""


class Process:
    """A contestant's, which answers a line with a line."""

    def __init__(self, python: Path, name: str) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._child = subprocess.Popen(
            [str(python), str(SCRIPTS / MODULES[name])], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True,
        )  # fmt: skip

    def ask(self, do: str, **more: object) -> dict[str, Any]:
        source, sink = _both(self._child)
        source.write(json.dumps({"do": do, **more}) + "\n")
        source.flush()
        for line in sink:
            if line.startswith(MARK):
                found: dict[str, Any] = json.loads(line.removeprefix(MARK))
                return found
        self._errors.seek(0)
        raise Failed(last_line(self._errors.read()) or f"ended with {self._child.wait()}")

    def end(self) -> None:
        self._child.communicate()


def _both(child: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if child.stdin is None or child.stdout is None:
        raise Failed("has ended")
    return child.stdin, child.stdout


def measured(pythons: Mapping[str, Path], model: Path, threads: int, task: Task) -> dict[str, Figures | Failed]:
    """All contestants in turns; who fails is out."""
    open_with = {"model": str(model), "threads": threads, "context": task.context}
    found: dict[str, _Turns | Failed] = {}
    for name, python in pythons.items():
        try:
            # Twice: the file is in memory then, and what a contestant keeps for the next start is there.
            _Turns(Process(python, name), open_with, task).process.end()
            found[name] = _Turns(Process(python, name), open_with, task)
        except (Failed, BrokenPipeError) as failed:
            found[name] = failed if isinstance(failed, Failed) else Failed("has ended")
    for turn in range(task.turns):
        for name, one in found.items():
            if isinstance(one, _Turns):
                try:
                    one.turn(turn)
                except (Failed, BrokenPipeError) as failed:
                    found[name] = failed if isinstance(failed, Failed) else Failed("has ended")
    return {name: one.figures() if isinstance(one, _Turns) else one for name, one in found.items()}


class _Turns:
    def __init__(self, process: Process, open_with: Mapping[str, object], task: Task) -> None:
        self.process, self.task = process, task
        opened = process.ask("open", **open_with)
        first = process.ask("read", tokens=[1])
        self.start = opened["seconds"] + first["seconds"]
        self.prefills = list[float]()
        self.decodes = list[float]()
        self.memory = 0

    def turn(self, number: int) -> None:
        task = self.task
        tokens = np.random.default_rng(number).integers(259, 30000, task.prompt).tolist()
        self.process.ask("rewind", length=0)
        self.prefills.append(task.prompt / self.process.ask("read", tokens=tokens)["seconds"])
        answer = self.process.ask("next", count=task.tokens)
        self.decodes.append(task.tokens / answer["seconds"])
        self.memory = answer["memory"]["own"]

    def figures(self) -> Figures:
        self.process.end()
        return Figures(statistics.median(self.prefills), statistics.median(self.decodes), self.start, self.memory)


# ---- far into a context ----------------------------------------------------------------------------------------------


def at_positions(pythons: Mapping[str, Path], model: Path, threads: int, task: Task, places: Sequence[int]) -> Table:
    """Milliseconds of processor time for a token behind so many others: of all threads, with what they wait."""
    open_with = {"model": str(model), "threads": threads, "context": task.context}
    found = {name: _Turns(Process(python, name), open_with, task).process for name, python in pythons.items()}
    made = Table(f"{model.stem}, {threads} threads", *map(str, places))
    rows = {name: list[float]() for name in pythons}
    tokens = np.random.default_rng(0).integers(259, 30000, max(places)).tolist()
    for process in found.values():
        process.ask("rewind", length=0)
    for before, place in zip([0, *places], places, strict=False):
        for process in found.values():
            process.ask("read", tokens=tokens[before:place])
        spent: dict[str, list[float]] = {name: [] for name in pythons}
        for _ in range(task.turns):
            for name, process in found.items():
                spent[name].append(process.ask("next", count=task.tokens)["processor_seconds"] / task.tokens)
                process.ask("rewind", length=place - 1)
                process.ask("read", tokens=tokens[place - 1 : place])
        for name, seconds in spent.items():
            rows[name].append(1e3 * statistics.median(seconds))
    for name, process in found.items():
        process.end()
        made.add_row(name, *(f"{one:.1f}" for one in rows[name]))
    if len(rows) > 1:
        made.add_row("", *(f"x {peer / own:.2f}" for own, peer in zip(rows[OURS], rows[PEER], strict=True)))
    return made


# ---- the table ------------------------------------------------------------------------------------------------------


def table(rows: Sequence[tuple[str, Mapping[str, Figures | Failed]]]) -> Table:
    made = Table("model", "contestant", "prefill tok/s", "decode tok/s", "start s", "own MiB", "prefill", "decode")
    for title, found in rows:
        peer = found.get(PEER)
        for name, one in found.items():
            if isinstance(one, Failed):
                made.add_row(title, name, str(one))
                continue
            cells = [f"{one.prefill:.1f}", f"{one.decode:.1f}", f"{one.start:.2f}", f"{one.own_bytes / 2**20:.0f}"]
            ratios = ["", ""]
            if name != PEER and isinstance(peer, Figures):
                ratios = [f"x {one.prefill / peer.prefill:.2f}", f"x {one.decode / peer.decode:.2f}"]
            made.add_row(title, name, *cells, *ratios)
    return made


def main() -> None:
    given = _arguments()
    given.folder.mkdir(parents=True, exist_ok=True)
    task = Task(given.prompt, given.tokens, given.turns, given.context)
    pythons = {OURS: Path(sys.executable)}
    if not given.alone:
        pythons[PEER] = given.llama_python or Environment(given.folder, ("llama-cpp-python",)).ready().python
    rows = list[tuple[str, Mapping[str, Figures | Failed]]]()
    for shape in given.shapes:
        for wanted in given.formats:
            model = given.folder / f"{shape}-{wanted}-{task.context}.gguf"
            if not model.exists():
                write_random(model, SHAPES[shape], wanted, task.context)
            for threads in given.threads if given.positions else ():
                Console(width=140).print(at_positions(pythons, model, threads, task, given.positions))
            for threads in () if given.positions else given.threads:
                rows.append((f"{shape} {wanted}, {threads} threads", measured(pythons, model, threads, task)))
                Console(width=140).print(table(rows[-1:]))
            if given.forget:
                model.unlink()
    if rows:
        Console(width=140).print(table(rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=["smollm2-135m", "qwen2.5-0.5b", "llama-3.2-1b"])
    parser.add_argument("--formats", nargs="+", default=BOTH_FORMATS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--positions", nargs="+", type=int, help="what a token takes behind so many others, alone")
    parser.add_argument("--folder", type=Path, default=Path("build/lm"))
    parser.add_argument("--llama-python", type=Path, help="a Python that imports llama_cpp")
    parser.add_argument("--alone", action="store_true", help="without llama.cpp")
    parser.add_argument("--forget", action="store_true", help="do not keep the files of weights")
    return parser.parse_args()


if __name__ == "__main__":
    main()
