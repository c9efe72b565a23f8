"""A foreign program takes so many steps and no more: one that loops without end is ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def at_most(steps: int, file: str) -> Iterator[None]:
    """Lines of code that has this file name, counted in this thread; TimeoutError beyond them."""
    left = steps

    def entered(frame: FrameType, event: str, given: Any) -> Any:
        return stepped if frame.f_code.co_filename == file else None

    def stepped(frame: FrameType, event: str, given: Any) -> Any:
        nonlocal left
        left -= event == "line"
        if left < 0:
            raise TimeoutError(f"it takes more than {steps} steps")
        return stepped

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield
    finally:
        sys.settrace(before)
