"""The command line as a whole: words in, exit code out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from tilewright.cli.plain_sim import plain_sim
from tilewright.cli.process import run_command


def main(arguments: Sequence[str] | None = None) -> None:
    loaded(sys.argv[1:] if arguments is None else arguments)()


def loaded(words: Sequence[str]) -> Callable[[], None]:
    """What the words ask for, ready to run; the parser is not loaded where they are plain."""
    return partial(run_command, plain_sim(words) or _parsed(words), words)


def _parsed(words: Sequence[str]) -> Callable[[], int | None]:
    from tilewright.cli.parser import parser_for

    return partial(parser_for(words), list(words), prog_name="tilewright", standalone_mode=False)
