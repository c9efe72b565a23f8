"""Who is told how far a simulation has come, wherever below it a simulator runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[int], None]
"""Told the cycles so far, a few times in a second."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(cycles: int) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(cycles)
