"""A call in a process of its own, which is ended when it has taken too long: programs may hang, simulators may fall."""

from __future__ import annotations

import os
import pickle
import resource
import signal
from collections.abc import Callable
from typing import Any


class Ended(Exception):
    """The process did not come to its end by itself."""


def limited(function: Callable[[], Any], seconds: int) -> Any:
    """What the function gives; seconds are the processor's, which do not depend on what else the machine does."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _compute(function, seconds, write)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        ended = signal.Signals(os.WTERMSIG(status))
        raise Ended(f"not done after {seconds} s" if ended == signal.SIGXCPU else f"ended by {ended.name}")
    return pickle.loads(data)


def _compute(function: Callable[[], Any], seconds: int, write: int) -> None:
    """In the child, which returns to nobody."""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(function(), pipe)
    except KeyboardInterrupt:
        os._exit(1)
    finally:
        os._exit(0)
