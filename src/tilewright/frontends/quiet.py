"""Exporters that print, warn and log, without that."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout


@contextmanager
def silence() -> Iterator[None]:
    """Without the exporter's prints, warnings and log: what matters of them comes as an error."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@contextmanager
def silence_library() -> Iterator[None]:
    """Without what a library in C++ writes to the process's stderr, which Python does not see."""
    try:
        kept = os.dup(2)
    except OSError:  # no stderr
        yield
        return
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
