"""A server in a thread of the test, with a parrot behind it; and a client that knows nothing but HTTP."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from tests.support.parrots import Parrot, talker
from tilewright.language.conversation.talker import Talker
from tilewright.serving.app import application
from tilewright.serving.requests import Served
from tilewright.serving.run import bound
from tilewright.serving.worker import Worker

CHUNK = 8


class SlowParrot(Parrot):
    """Waits before every token, as a model does."""

    seconds = 0.002

    def scores(self) -> Any:
        time.sleep(self.seconds)
        return super().scores()


def slow(count: int = 1, seconds: float = 0.002) -> list[Talker]:
    found = [talker(CHUNK) for _ in range(count)]
    for one in found:
        one.memory.session = SlowParrot()
        one.memory.session.seconds = seconds
    return found


@dataclass(frozen=True)
class Client:
    port: int

    def open(self, path: str, body: Any = None) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection.request("GET" if body is None else "POST", path, data, {"Connection": "close"})
        return connection.getresponse()

    def ask(self, path: str, body: Any = None) -> tuple[int, Any]:
        answer = self.open(path, body)
        return answer.status, json.loads(answer.read())

    def stream(self, path: str, body: dict[str, Any]) -> list[Any]:
        """Events; the last one says that it is the last."""
        lines = self.open(path, {**body, "stream": True}).read().decode().split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


@contextmanager
def served(talkers: Sequence[Talker], waiting: int = 64) -> Iterator[Client]:
    worker = Worker(talkers, waiting)
    words, context = talkers[0].words, talkers[0].memory.session.context
    config = uvicorn.Config(application(Served("parrot", words, context), worker), log_level="critical", lifespan="off")
    server, place = uvicorn.Server(config), bound("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.002)
    try:
        yield Client(place.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        place.close()
        worker.stop()
