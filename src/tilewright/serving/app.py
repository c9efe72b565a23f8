"""The routes: what is asked of which path, and what is answered."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tilewright.language.conversation.talker import Reply
from tilewright.serving.answers import LAST, Answer, event
from tilewright.serving.refusals import RequestRefused
from tilewright.serving.requests import Request, Served, chat_request, completion_request
from tilewright.serving.worker import Job, Worker

MOST_BYTES = 16 << 20
"""Of a request."""


def application(served: Served, worker: Worker) -> Starlette:
    api = _Api(served, worker)
    routes = [
        Route("/health", api.health, methods=["GET"]),
        Route("/v1/models", api.models, methods=["GET"]),
        Route("/v1/models/{name:path}", api.model, methods=["GET"]),
        Route("/v1/chat/completions", api.chat, methods=["POST"]),
        Route("/v1/completions", api.complete, methods=["POST"]),
    ]
    handlers: Any = {RequestRefused: _refused, HTTPException: _no_route, Exception: _failed}
    return Starlette(routes=routes, exception_handlers=handlers)


class _Api:
    def __init__(self, served: Served, worker: Worker) -> None:
        self.served, self.worker, self.created = served, worker, int(time.time())

    async def health(self, _: HttpRequest) -> Response:
        return JSONResponse({"status": "ok", "model": self.served.name, "waiting": self.worker.waiting})

    async def models(self, _: HttpRequest) -> Response:
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, http: HttpRequest) -> Response:
        if http.path_params["name"] != self.served.name:
            what = f"there is no model {http.path_params['name']!r}: this is {self.served.name!r}"
            raise RequestRefused(what, "model", "model_not_found", 404)
        return JSONResponse(self._model())

    def _model(self) -> dict[str, Any]:
        return {"id": self.served.name, "object": "model", "created": self.created, "owned_by": "tilewright"}

    async def chat(self, http: HttpRequest) -> Response:
        return await self._answer(http, chat_request)

    async def complete(self, http: HttpRequest) -> Response:
        return await self._answer(http, completion_request)

    async def _answer(self, http: HttpRequest, read: Callable[[bytes, Served], Request]) -> Response:
        # Templates and tokens of long texts take a while, in which others are served.
        request = await run_in_threadpool(read, await _body(http), self.served)
        job = Job(request, asyncio.get_running_loop())
        self.worker.submit(job)
        answer = Answer(self.served.name, request.is_chat)
        if request.streams:
            return StreamingResponse(_streamed(job, answer), media_type="text/event-stream")
        return JSONResponse(answer.whole(await _reply(job, http)))


async def _body(http: HttpRequest) -> bytes:
    found = bytearray()
    try:
        async for part in http.stream():
            found += part
            if len(found) > MOST_BYTES:
                raise RequestRefused(f"the body has more than {MOST_BYTES} bytes", status=413)
    except ClientDisconnect:
        raise _gone() from None
    return bytes(found)


async def _streamed(job: Job, answer: Answer) -> AsyncIterator[str]:
    """Ends early where the client has gone, and so does the job."""
    try:
        yield answer.first()
        while isinstance(found := await job.events.get(), str):
            yield answer.piece(found)
        if isinstance(found, Reply):
            yield answer.last(found)
            yield answer.used(found) if job.request.includes_usage else ""
        else:
            yield event(_told(found).body)
        yield LAST
    finally:
        job.cancel()


async def _reply(job: Job, http: HttpRequest) -> Reply:
    gone = asyncio.create_task(_until_gone(http))
    try:
        while True:
            coming = asyncio.create_task(job.events.get())
            await asyncio.wait({coming, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                raise _gone()
            found = coming.result()
            if isinstance(found, Reply):
                return found
            if not isinstance(found, str):
                raise _told(found)
    finally:
        job.cancel()
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone


def _gone() -> RequestRefused:
    return RequestRefused("the client has gone", status=499)


async def _until_gone(http: HttpRequest) -> None:
    while (await http.receive())["type"] != "http.disconnect":
        pass


def _told(error: Exception) -> RequestRefused:
    """Of a fault of ours, only that there was one: the log has it."""
    if isinstance(error, RequestRefused):
        return error
    return RequestRefused(f"this is a fault of Tilewright: {type(error).__name__}: {error}"[:300], status=500)


async def _refused(_: HttpRequest, error: Exception) -> Response:
    refused = _told(error)
    headers = {"Retry-After": "1"} if refused.status == 503 else None
    return JSONResponse(refused.body, refused.status, headers)


async def _no_route(http: HttpRequest, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    what = f"{http.method} {http.url.path} is not known here"
    return JSONResponse(RequestRefused(what, status=status).body, status)


async def _failed(_: HttpRequest, error: Exception) -> Response:
    return JSONResponse(_told(error).body, 500)
