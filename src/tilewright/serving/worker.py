"""Requests in turn: one thread computes, a bounded number of others wait."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tilewright.errors import CompileError
from tilewright.language.conversation.talker import Reply, Talker
from tilewright.serving.refusals import RequestRefused
from tilewright.serving.requests import Request

RETRY = "try again later"


@dataclass(eq=False)
class Job:
    """A request, and who waits for its answer."""

    request: Request
    loop: asyncio.AbstractEventLoop
    events: asyncio.Queue[str | Reply | Exception] = field(default_factory=asyncio.Queue)
    """Pieces; at the end the whole reply, or what went wrong."""
    _gone: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Nobody waits any more."""
        self._gone.set()

    @property
    def is_gone(self) -> bool:
        return self._gone.is_set()

    def tell(self, event: str | Reply | Exception) -> None:
        """From the thread that computes."""
        try:
            self.loop.call_soon_threadsafe(self.events.put_nowait, event)
        except RuntimeError:  # The loop is closed: the server ends.
            self.cancel()


class Worker:
    """Has some contexts: a request gets the one that has read most of its prompt already."""

    def __init__(self, talkers: Sequence[Talker], most_waiting: int) -> None:
        self.talkers = list(talkers)
        self._waiting: queue.Queue[Job | None] = queue.Queue(most_waiting)
        self._thread = threading.Thread(target=self._run, name="tilewright model", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return self._waiting.qsize()

    def submit(self, job: Job) -> None:
        try:
            self._waiting.put_nowait(job)
        except queue.Full:
            what = f"{self._waiting.maxsize} requests are waiting already: {RETRY}"
            raise RequestRefused(what, code="queue_full", status=503) from None

    def stop(self) -> None:
        """Behind all that wait; whoever has cancelled is passed over."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._waiting.get()) is not None:
            if not job.is_gone:
                job.tell(self._answered(job))

    def _answered(self, job: Job) -> Reply | Exception:
        request, talker = job.request, self._talker(job.request.prompt)
        asked = replace(request.asked, is_over=lambda: job.is_gone)
        reply = Reply(talker, request.prompt, asked, request.stops, continues=not request.is_chat)
        try:
            for piece in reply:
                job.tell(piece)
        except CompileError as error:
            return RequestRefused.of(error)
        # Whatever goes wrong in one answer: the others go on.
        except Exception as error:
            talker.memory.forget()
            return error
        return reply

    def _talker(self, prompt: Sequence[int]) -> Talker:
        """The one that knows most of a prompt; of those that know nothing, the one that was used longest ago."""
        best = max(self.talkers, key=lambda one: one.memory.known(prompt))
        self.talkers.remove(best)
        self.talkers.append(best)
        return best
