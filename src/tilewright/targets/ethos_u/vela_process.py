"""Vela in a process that has read it once. Each file is a fork of it: what is wrong with a file may end Vela.

    python vela_process.py

A line of standard input is a job as JSON: the words of Vela's command line, and the file for what it says. The answer
is a line with its exit status. Nothing of Tilewright is read here.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import Any


def serve() -> None:
    vela = importlib.import_module("ethosu.vela.vela")
    for line in sys.stdin:
        words, said = json.loads(line)
        print(in_a_fork(vela.main, words, said), flush=True)


def in_a_fork(main: Any, words: list[str], said: str) -> int:
    child = os.fork()
    if child == 0:
        os._exit(told(main, words, said))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def told(main: Any, words: list[str], said: str) -> int:
    """The exit status; what is said goes to a file."""
    file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


if __name__ == "__main__":
    serve()
