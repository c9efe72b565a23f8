"""Damaged models: every one must compile or be refused with a CompileError, in bounded time and memory.

    python -m benchmarks.fuzz --cases 2000 --seed 1

Seeds are small models built here, and those in the folder that TILEWRIGHT_NETWORKS names. Each case takes a seed,
damages its bytes or its protobuf, and compiles it to C in a worker process with limits; the C of some of them is parsed
by gcc.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.fuzz_mutations import mutate
from benchmarks.fuzz_seeds import seeds

MEMORY = 2 * 2**30
SECONDS = 20
"""Of the processor, for one model: the clock on the wall depends on what else the machine does."""
HANGS = 15 * SECONDS
"""On the wall: a process that waits for nothing uses no processor."""
SYNTAX_EVERY = 25
"""Of the models that compile, one in so many has its C parsed."""


def run_case(data: bytes, parse: bool) -> str:
    """compiled, refused, or what went wrong."""
    from tilewright import pipeline
    from tilewright.errors import CompileError

    try:
        compiled = pipeline.compile_graph(pipeline.import_model(data), "generic")
    except CompileError as error:
        return "refused" if error.where and error.what else "BUG: an error without text"
    except BaseException as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        inner = [f for f in traceback.extract_tb(error.__traceback__) if "tilewright" in f.filename]
        place = inner[-1] if inner else frame
        return f"BUG: {type(error).__name__}: {error} at {Path(place.filename).name}:{place.lineno}"[:200]
    return parse_c(compiled.files) if parse else "compiled"


def parse_c(files: dict[str, str]) -> str:
    """The C must be C, whatever names and numbers the model brought."""
    gcc = shutil.which("gcc")
    if gcc is None:
        return "compiled"
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="ascii")
        command = [gcc, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I.", "network.c"]
        sources = ["network_data.c", "main.c", *sorted(name for name in files if name.endswith(".c") and "/" in name)]
        done = subprocess.run([*command, *sources], cwd=folder, capture_output=True, text=True, preexec_fn=_unlimited)
    return "compiled, parsed" if done.returncode == 0 else f"BUG: bad C: {done.stderr.strip().splitlines()[:3]}"[:300]


def _unlimited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _worker(channel: Connection, run_case: Callable[[bytes, bool], str]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    sys.setrecursionlimit(1000)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while True:
        data, parse = channel.recv()
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, resource.RLIM_INFINITY))
        channel.send(run_case(data, parse))


class Worker:
    """A process that is replaced when it dies or hangs."""

    def __init__(self, run_case: Callable[[bytes, bool], str] = run_case) -> None:
        self.context, self.run_case = get_context("fork"), run_case
        self.start()

    def start(self) -> None:
        self.channel, theirs = self.context.Pipe()
        self.process = self.context.Process(target=_worker, args=(theirs, self.run_case), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self) -> None:
        self.process.kill()
        self.process.join()

    def send(self, data: bytes, parse: bool) -> None:
        self.started = time.monotonic()
        self.channel.send((data, parse))

    def result(self) -> str | None:
        """The outcome, or None while it is still at work."""
        try:
            if self.channel.poll(0.02):
                return str(self.channel.recv())
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.start()
            return f"BUG: not done after {SECONDS} s" if code == -signal.SIGXCPU else f"BUG: the process died ({code})"
        if time.monotonic() - self.started > HANGS:
            self.stop()
            self.start()
            return f"BUG: hangs, for {HANGS} s"
        return None


@dataclass(frozen=True)
class Case:
    number: int
    seed: int
    name: str
    data: bytes


def damaged(cases: int, seed: int, models: Sequence[tuple[str, bytes]]) -> Iterator[Case]:
    """Each case depends on its number and the seed only."""
    for number in range(cases):
        rng = random.Random(f"{seed}:{number}")
        name, data = rng.choice(models)
        yield Case(number, seed, name, mutate(data, rng))


def fuzz(cases: int, seed: int, jobs: int, keep: Path | None = None, small: bool = False) -> Counter[str]:
    """Run the cases and count the outcomes; inputs that show a bug are kept in a folder if one is given."""
    for module in ("tilewright.pipeline", "tilewright.frontends.onnx.importer"):
        importlib.import_module(module)  # loaded once, before the workers are forked
    workers = [Worker() for _ in range(jobs)]
    try:
        return run_all(damaged(cases, seed, seeds(with_networks=not small)), workers, keep)
    finally:
        for worker in workers:
            worker.stop()


def run_all(cases: Iterator[Case], workers: Sequence[Worker], keep: Path | None) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    busy = {worker: case for worker in workers if (case := give(worker, cases)) is not None}
    while busy:
        for worker, case in list(busy.items()):
            outcome = worker.result()
            if outcome is None:
                continue
            outcomes[outcome] += 1
            if outcome.startswith("BUG") and keep is not None:
                save(case, keep)
            del busy[worker]
            if (following := give(worker, cases)) is not None:
                busy[worker] = following
    return outcomes


def give(worker: Worker, cases: Iterator[Case]) -> Case | None:
    """Let a worker start on the next case, if there is one."""
    case = next(cases, None)
    if case is not None:
        worker.send(case.data, case.number % SYNTAX_EVERY == 0)
    return case


def save(case: Case, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{case.seed}_{case.number}_{case.name}.onnx").write_bytes(case.data)


def command(fuzz: Callable[[int, int, int, Path | None], Counter[str]], description: str | None) -> int:
    """What both fuzzers do on the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, help="folder for models that show a bug")
    options = parser.parse_args()
    start = time.monotonic()
    outcomes = fuzz(options.cases, options.seed, options.jobs, options.keep)
    for outcome, number in outcomes.most_common():
        print(f"{number:>7}  {outcome}")
    bugs = sum(number for outcome, number in outcomes.items() if outcome.startswith("BUG"))
    print(f"{sum(outcomes.values()):>7}  cases in {time.monotonic() - start:.0f} s, {bugs} bugs")
    return 1 if bugs else 0


if __name__ == "__main__":
    sys.exit(command(fuzz, __doc__))
