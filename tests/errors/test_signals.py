"""Signals end a command in words, and never between two files of a folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.support.models import small

KILLED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without it
from tilewright import pipeline
from tilewright.planner import planners
original = {module}.{function}
def killed(*arguments):
    os.kill(os.getpid(), signal.{signal})
    return original(*arguments)
{module}.{function} = killed
from tilewright.cli.main import main
main(["compile", sys.argv[1], "-o", sys.argv[2]])
"""


@pytest.mark.in_turns(10)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize(
    ("module", "function", "written"), [("planners", "allocate", False), ("pipeline", "save", True)]
)
def test_a_signal_leaves_a_whole_folder_or_none(
    tmp_path: Path, name: str, module: str, function: str, written: bool
) -> None:
    onnx.save(small(), tmp_path / "net.onnx")
    script = KILLED.format(module=module, function=function, signal=name)
    command = [sys.executable, "-c", script, str(tmp_path / "net.onnx"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 128 + getattr(signal, name)
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.onnx", "out"][: 2 if written else 1]
    if written:
        assert (tmp_path / "out" / "CMakeLists.txt").is_file()


STARTED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from tilewright.__main__ import main
main()
"""


def test_an_interruption_while_the_command_line_is_loaded_is_quiet(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", STARTED], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGINT
    assert done.stdout + done.stderr == ""
