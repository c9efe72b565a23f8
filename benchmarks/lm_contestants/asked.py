"""What contestants share: a line of JSON is a question, and a line of JSON is the answer."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Protocol

MARK = "answer "
"""What an answer begins with: runtimes print what they like."""


class Contestant(Protocol):
    def read(self, tokens: list[int]) -> None:
        """Append tokens."""

    def next(self) -> int:
        """The most likely token behind those that were read, which becomes one of them."""

    def rewind(self, length: int) -> None:
        """Forget what is behind so many tokens."""

    def scores(self) -> list[float]:
        """Of all words, behind what was read."""


def resident() -> dict[str, int]:
    """Bytes of memory in use: of files that are mapped, and others."""
    with open("/proc/self/status") as status:
        found = dict(line.split(":", 1) for line in status)
    return {name: int(found[key].split()[0]) * 1024 for name, key in (("own", "RssAnon"), ("mapped", "RssFile"))}


def serve(opened: Callable[[dict], Contestant]) -> None:
    """Until there are no more questions; the first one is answered when the model is open."""
    contestant: Contestant | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        before, processors = time.perf_counter(), os.times()
        found: object = None
        if asked["do"] == "open":
            contestant = opened(asked)
        elif contestant is not None:
            found = _done(contestant, asked)
        seconds, after = time.perf_counter() - before, os.times()
        spent = after.user + after.system - processors.user - processors.system
        answer = {"seconds": seconds, "processor_seconds": spent, "found": found, "memory": resident()}
        print(MARK + json.dumps(answer), flush=True)


def _done(contestant: Contestant, asked: dict) -> object:
    match asked["do"]:
        case "read":
            contestant.read(asked["tokens"])
            return None
        case "next":
            return [contestant.next() for _ in range(asked["count"])]
        case "rewind":
            contestant.rewind(asked["length"])
            return None
        case "scores":
            return contestant.scores()
    raise ValueError(asked["do"])
