"""What tests saw, for pages of the site: the messages that the code made, and the operators that ran on each target.

`scripts/record` sets `TILEWRIGHT_RECORD` to a folder; each process of a run of tests then writes a file there, and
`python -m tests.support.recorder FOLDER` joins these into `scripts/site/recorded/`. A failing test counts for nothing.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from scripts.site.errors import ROOT, refusal_at, refusals
from scripts.site.recorded import MESSAGES, OPERATORS

from tests.support.everywhere import OPERANDS, Examples

SWITCH = "TILEWRIGHT_RECORD"
FOLDERS = re.compile(r"/(?:tmp|root|home|work)(?:/[\w.+-]+)*/([\w.+-]+)")
"""Where a file was on the machine that recorded is nothing to a reader."""
MOST = 8
"""Operators of a kind that are damaged."""
DAMAGED = "damaged: "
"""Before what `provoke` names in place of a test."""


class Message(NamedTuple):
    module: str
    line: int
    where: str
    what: str
    hint: str


class Cell(NamedTuple):
    """The first operand's type stands for all."""

    operator: str
    target: str
    dtype: str


class Recorder:
    """A plugin of pytest: what a test saw is kept when it has passed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: set[Message | Cell] = set()
        self.operators: dict[type[Any], list[tuple[Any, list[Any]]]] = {}
        """Some of each kind that tests have used, with their operands' types."""
        self.kept: dict[Message | Cell, str] = {}
        self.examples = Examples()

    def pytest_sessionstart(self) -> None:
        watch_operators(self.operators)
        watch_messages(self.seen.add)
        watch_runs(self.seen.add)
        self.examples.watch()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call":
            self.examples.settle(report.nodeid, report.passed)
            if report.passed:
                for one in self.seen:
                    self.kept.setdefault(one, report.nodeid)
            self.seen.clear()

    def pytest_sessionfinish(self, session: Any) -> None:
        if not self.kept and not self.examples.found:
            return
        if session.testscollected > 1:
            self._damage()
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = [[*one, test] for one, test in self.kept.items()]
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        path = self.folder / f"{worker}_{os.getpid()}.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        self.examples.save(path)

    def _damage(self) -> None:
        """What operators of the tests say of other operands and attributes."""
        from tests.support.provoke import damaged_operators, said_by

        lines = {(one.module, one.line) for one in self.kept if isinstance(one, Message)}
        for kind, found in list(self.operators.items()):
            for op, types in found:
                for damage in damaged_operators(op, types):
                    for one in said_by(damage, self.seen):
                        if (one.module, one.line) not in lines:
                            self.kept.setdefault(one, f"{DAMAGED}{kind.__name__}")


def watch_operators(found: dict[type[Any], list[tuple[Any, list[Any]]]]) -> None:
    from tilewright.ir.op import Op
    from tilewright.ir.types import TensorType

    original = Op.bind

    @functools.wraps(original)
    def bind(self: Any, values: Any) -> Any:
        kept = found.setdefault(type(self), [])
        if len(kept) < MOST and all(one is None or isinstance(one, TensorType) for one in values):
            kept.append((self, list(values)))
        return original(self, values)

    Op.bind = bind  # type: ignore[method-assign]


def watch_messages(see: Callable[[Message], None]) -> None:
    """A `Refusal` that gets its place later counts for the line that made it."""
    from tilewright.errors import CompileError, Refusal

    def record(error: Any, where: str) -> None:
        module, line = error.made_at
        if module:
            see(Message(module, line, where, error.what, error.hint))

    for kind in (CompileError, Refusal):
        original = kind.__init__

        @functools.wraps(original)
        def made(self: Any, *words: Any, original: Any = original, **named: Any) -> None:
            original(self, *words, **named)
            self.made_at = _place(sys._getframe(1))
            record(self, getattr(self, "where", ""))

        kind.__init__ = made  # type: ignore[method-assign]
    at = Refusal.at

    def placed(self: Any, where: str, hint: str = "") -> CompileError:
        error = at(self, where, hint)
        error.made_at = self.made_at  # type: ignore[attr-defined]
        record(error, where)
        return error

    Refusal.at = placed  # type: ignore[method-assign]


def _place(frame: FrameType | None) -> tuple[str, int]:
    """The module and the line that made an error; constructors of its kinds are passed over."""
    import tilewright

    root = Path(tilewright.__file__).parent
    while frame is not None and frame.f_code.co_name in ("__init__", "made"):
        frame = frame.f_back
    if frame is None or frame.f_code.co_name == "at":
        return "", 0
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(root):
        return "", 0
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"), frame.f_lineno


def watch_runs(see: Callable[[Cell], None]) -> None:
    from tilewright.run import host, kernel_bench, library, simulated

    def after(owner: Any, name: str, cells: Callable[..., Iterable[Cell]]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def call(*words: Any, **named: Any) -> Any:
            result = original(*words, **named)
            for cell in cells(*words, **named):
                see(cell)
            return result

        setattr(owner, name, call)

    after(host.HostPrograms, "run_steps", lambda self, steps, repeats=1, number=0: _of(self.networks[number].schedule))
    after(library.HostLibrary, "start", lambda self, user: _of(self.networks[0].schedule))
    for name in ("run_loaded", "run_steps"):
        after(simulated.SimulatedProgram, name, lambda self, *_: _of(self.network.schedule))
    after(kernel_bench, "measure", _of_cases)


def _of(schedule: Any) -> Iterator[Cell]:
    graph = schedule.graph
    for node in graph.nodes:
        if node.inputs and node.inputs[0]:
            yield Cell(type(node.op).__name__, _called(schedule.target), graph.types[node.inputs[0]].dtype)


def _of_cases(cases: Iterable[Any], target: Any, *_: Any, **__: Any) -> Iterator[Cell]:
    for case in cases:
        first = next(iter(case.op.bind(list(case.arrays))))
        yield Cell(type(case.op).__name__, _called(target), case.types[first].dtype)


def _called(target: Any) -> str:
    """A board is its core: kernels are the same."""
    from tilewright import targets

    platform = getattr(target.runner, "platform", None)
    return target.name if target.name in targets.names() or platform is None else platform.groups[0].name


def join(folder: Path) -> None:
    """Files of a run, as the site reads them."""
    """What was recorded earlier stays as long as the code still has it."""
    rows = [row for path in sorted(folder.glob("*.json")) for row in json.loads(path.read_text(encoding="utf-8"))]
    found = {tuple(row[:3]): row[3] for row in sorted(rows, key=_rank_of_cell) if len(row) == 4}
    OPERATORS.write(_nested([*_cells(OPERATORS.read()), *sorted(found.items())]))
    known = {one.key for one in refusals()}
    kept = {key: example for key, example in MESSAGES.read().items() if key in known}
    MESSAGES.write(dict(sorted((kept | _examples([row for row in rows if len(row) != 4])).items())))


def _rank_of_cell(row: list[Any]) -> bool:
    """What a test itself has run stands for what was run besides."""
    return not row[-1].startswith(OPERANDS)


def _cells(recorded: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str, str], str]]:
    for operator, targets in recorded.items():
        for target, dtypes in targets.items():
            yield from (((operator, target, dtype), test) for dtype, test in dtypes.items() if is_there(test))


def is_there(test: str) -> bool:
    path, _, name = test.removeprefix(OPERANDS).partition("::")
    name = name.partition("[")[0].rpartition("::")[2]
    file = ROOT / path
    return file.is_file() and f"def {name}(" in file.read_text(encoding="utf-8")


def _nested(cells: Iterable[tuple[tuple[str, ...], str]]) -> dict[str, Any]:
    """Operator -> target -> element type -> a test that ran it there."""
    found: dict[str, Any] = {}
    for (operator, target, dtype), test in cells:
        found.setdefault(operator, {}).setdefault(target, {})[dtype] = test
    return found


def _examples(rows: list[list[Any]]) -> dict[str, Any]:
    """Message as the code has it -> an example of it: of a test if there is one, with a place, the shortest."""
    found: dict[str, list[str]] = {}
    for module, line, where, what, hint, test in sorted(rows, key=_rank):
        one = refusal_at(module, line, what)
        if one is not None:
            found.setdefault(one.key, [*(FOLDERS.sub(r"\1", text) for text in (where, what, hint)), test])
    return found


def _rank(row: list[Any]) -> tuple[Any, ...]:
    return row[5].startswith(DAMAGED), not row[2], len(str(row)), row


if __name__ == "__main__":
    join(Path(sys.argv[1]))
