"""The fast subset, `pytest -m fast`, tries fewer examples of each property and one case of each test, and reads only
files that have some of it. The thorough one, `pytest -m thorough`, tries cases that are left out otherwise, and more
examples of each property. Without either, a tenth of the thorough one is run besides, and tests that take turns are run
in theirs: the number in `turn.py`, which every change advances, says which.
The colours, width and compiler of whoever runs the tests are forgotten first."""

from __future__ import annotations

import gc
import os
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.turn import TURN

if TYPE_CHECKING:
    from tests.support.command import Command

TASTES = ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS", "LINES", "CC")
"""Variables that change what commands print or how they compile."""

SWITCH = "TILEWRIGHT_RECORD"
"""Names a folder for what tests see: `tests/support/recorder.py`."""

FAST, THOROUGH, IN_TURN, SHARES = "fast", "thorough", "in_turn", "shares files"
TURNS, EVEN = 10, 967
"""Changes after which all of the thorough subset has been run; what spreads the tests over these so that they took
about as long as each other when all were measured: within 7 % of their mean."""


def pytest_configure(config: pytest.Config) -> None:
    for name in TASTES:
        os.environ.pop(name, None)
    if os.environ.get(SWITCH):
        from tests.support.recorder import Recorder

        config.pluginmanager.register(Recorder(Path(os.environ[SWITCH])))
    gc.disable()
    # Reading the files of the fast subset takes as long as running it: each worker reads some of them.
    if config.option.markexpr == FAST and getattr(config.option, "numprocesses", None):
        config.option.dist = "each"
    # A process that only hands tests to workers needs no examples.
    if hasattr(config, "workerinput") or not getattr(config.option, "numprocesses", None):
        from tests.support.examples import profile

        profile(config.option.markexpr)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Importing a file of tests takes longer than many of its tests."""
    if config.option.markexpr != FAST or not collection_path.name.startswith("test_") or collection_path.is_dir():
        return None
    is_fast = f"mark.{FAST}" in collection_path.read_text()
    return None if is_fast and _is_own(collection_path, config) else True


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Workers of the fast subset with `--dist each` share its files."""
    node.workerinput[SHARES] = node.config.option.markexpr == FAST and node.config.option.dist == "each"


def _is_own(path: Path, config: pytest.Config) -> bool:
    """Whether this process is to read a file."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    if not given.get(SHARES):
        return True
    number = int(given["workerid"].removeprefix("gw"))
    return zlib.crc32(path.relative_to(config.rootpath).as_posix().encode()) % int(given["workercount"]) == number


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files that are named are read by all."""
    wanted = config.option.markexpr
    items[:] = [item for item in items if _is_own(item.path, config) and not (wanted == FAST and _asks_c(item))]
    mark_thorough(items, wanted)
    if wanted not in (FAST, THOROUGH):
        take_turn(items, TURN)
    if wanted != FAST and "TILEWRIGHT_UPDATE_GOLDEN" not in os.environ:
        wait_for_turn([item for item in items if not _is_named(item, config)], TURN)


def _asks_c(item: pytest.Item) -> bool:
    return item.get_closest_marker("asks_c") is not None


def mark_thorough(items: list[pytest.Item], wanted: str) -> None:
    names = [item.nodeid.partition("[")[0] for item in items]
    cases, seen = Counter(names), Counter[str]()
    for name, item in zip(names, items, strict=True):
        if (wanted == THOROUGH and _is_property(item)) or _is_left_out(item, seen[name], cases[name]):
            item.add_marker(THOROUGH)
        seen[name] += 1


def wait_for_turn(items: list[pytest.Item], turn: int) -> None:
    """Marks as thorough what is run in one of so many changes, and not in this one."""
    for item in items:
        mark = item.get_closest_marker("in_turns")
        if mark is None:
            continue
        if mark.args[0] > TURNS:
            raise pytest.UsageError(f"{item.nodeid} is run in one of {mark.args[0]} changes: {TURNS} at most")
        if not _has_turn(item.nodeid, turn, mark.args[0]):
            item.add_marker(THOROUGH)


def _is_named(item: pytest.Item, config: pytest.Config) -> bool:
    """Whether the command line names its file."""
    return any(Path(argument.partition("::")[0]).name == item.path.name for argument in config.args)


def take_turn(items: list[pytest.Item], turn: int) -> None:
    """Marks the thorough cases whose turn it is, before others wait for turns of their own; properties have more
    examples then."""
    for item in items:
        if item.get_closest_marker(THOROUGH) is not None and _has_turn(item.nodeid, turn):
            item.add_marker(IN_TURN)
    properties = {item.nodeid.partition("[")[0]: item.function for item in items if _is_property(item)}
    for name, function in properties.items():
        if _has_turn(name, turn):
            from tests.support.examples import try_more

            try_more(function)


def _has_turn(name: str, turn: int, turns: int = TURNS) -> bool:
    return zlib.crc32(name.encode(), EVEN) % turns == turn % turns


def _is_property(item: pytest.Item) -> bool:
    """These are tested in each subset, with other numbers of examples."""
    return getattr(getattr(item, "function", None), "is_hypothesis_test", False)


def _is_left_out(item: pytest.Item, case: int, cases: int) -> bool:
    """Where a single case is asked for, it is run, and all are where golden texts are written anew."""
    mark = item.get_closest_marker("one_in")
    is_asked_for = cases == 1 or "TILEWRIGHT_UPDATE_GOLDEN" in os.environ
    return mark is not None and not is_asked_for and case % mark.args[0] != mark.kwargs.get("first", 0)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The fast subset has one case of a test."""
    if metafunc.config.option.markexpr == FAST:
        del metafunc._calls[1:]


def pytest_collection_finish() -> None:
    """What was collected stays to the end: it need not be looked at whenever memory is tidied up."""
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    from tests.support.skips import table

    reports = terminalreporter.stats.get("skipped", [])
    if reports:
        terminalreporter.section("skipped, by reason")
    for line in table(reports):
        terminalreporter.line(line)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI, a skip that nobody defends is a failure, and so are too many skips."""
    from tests.support.skips import SWITCH, faults

    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    found = faults(reporter.stats.get("skipped", [])) if reporter and os.environ.get(SWITCH) else []
    for line in found:
        reporter.write_line(line, red=True)
    if found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def _own_random_numbers(request: pytest.FixtureRequest) -> None:
    """The numbers of a test do not depend on those that tests before it in the process drew from the same generator."""
    generator = getattr(request.module, "RANDOM", None)
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = type(generator.bit_generator)(5).state


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line, run inside the test."""
    from tests.support.command import Command

    return Command(capsys)
