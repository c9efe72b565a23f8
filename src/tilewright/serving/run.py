"""The server as a process: a port, until somebody ends it."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from pathlib import Path

from tilewright.errors import CompileError
from tilewright.language.model import LanguageModel
from tilewright.records import dataclass

CHUNK = 128
"""Tokens of a prompt that are read at once: what a client is told does not depend on what others said before."""
PATIENCE = 3
"""Seconds for answers that are on their way when the server ends."""


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; CompileError where the place is taken or none of ours."""
    where = f"{host}:{port}"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, reuse_port=False)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise CompileError(
                where, "is in use by another program", "choose another --port; 0 takes a free one"
            ) from None
        what = f"the server cannot listen there: {error.strerror or error}"
        raise CompileError(where, what, "choose an address of this machine for --host, and a --port") from None
    except (OverflowError, UnicodeError) as error:
        raise CompileError(where, f"is no address: {error}", "choose a --port from 0 to 65535") from None


@dataclass(frozen=True)
class Offer:
    """What is served, and to how many."""

    name: str
    """Of the model, for clients."""
    template: Path | None = None
    contexts: int = 2
    waiting: int = 64


def run(lm: LanguageModel, place: socket.socket, offer: Offer, ready: Callable[[], None]) -> None:
    """Answers until the process is asked to end."""
    import uvicorn

    from tilewright.serving.app import application
    from tilewright.serving.requests import Served
    from tilewright.serving.worker import Worker

    talkers = [lm.talker(offer.template, CHUNK) for _ in range(offer.contexts)]
    worker = Worker(talkers, offer.waiting)
    app = application(Served(offer.name, talkers[0].words, lm.summary.context), worker)
    config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=PATIENCE)
    ready()
    uvicorn.Server(config).run(sockets=[place])


def check_installed() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        what = f"needs {error.name}, which is not installed"
        raise CompileError("serve", what, "pip install 'tilewright[serve]'") from None
