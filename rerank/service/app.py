"""The ASGI application: paths, bodies, answers."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router

from rerank.errors import RerankError
from rerank.runtime.memory import resident_bytes
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.service import requests
from rerank.service.batcher import Batcher
from rerank.service.counters import Counters
from rerank.service.encoding import json_bytes
from rerank.service.engine import Engine
from rerank.service.faults import ServiceError, internal, not_ready, overloaded
from rerank.service.jobs import Job, RerankJob, SearchJob
from rerank.service.openapi import document
from rerank.service.page import page_files
from rerank.service.reload import ModelFile
from rerank.service.settings import Settings

log = logging.getLogger("rerank")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
STARTING, READY, ENDING, FAILED = "starting", "ready", "ending", "failed"
JobType = TypeVar("JobType", bound=Job)
_LARGE = 1 << 16  # bytes of a body
_MOST_BRACKETS = 500_000  # of a body: a list takes 100 times as much memory as its bracket
_TICK = 1.0  # seconds between two checks of the model's file, and updates of the gauges


class Service:
    """One worker's engine, queue and state, and the functions that answer requests.

    Parameters
    ----------
    settings : Settings
        The files and options.
    counters : Counters, optional
        Shared with other workers.
    on_failure : callable, optional
        Called where the index or the model cannot be opened.
    listens_at_once : bool
        Whether connections are taken before the index is open.

    """

    def __init__(
        self,
        settings: Settings,
        counters: Counters | None = None,
        on_failure: Callable[[], None] | None = None,
        listens_at_once: bool = True,
    ) -> None:
        self.settings, self.limits = settings, settings.limits
        self.counters = counters or Counters()
        self.engine = Engine(settings)
        self.batcher = Batcher(self.engine.answer, self.limits, self.counters)
        self.state = STARTING
        self.failure: RerankError | None = None
        self.bytes_in_use = 0
        self.connections: Callable[[], int] = lambda: 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self._on_failure = on_failure or (lambda: None)
        self._listens_at_once = listens_at_once
        self._model_file = ModelFile(settings.model)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="rerank-bodies")
        self._reload_now = asyncio.Event()

    def router(self) -> Router:
        """Return the application without the checks of `guard.Guard`, which also answers its errors."""
        post, get = ["POST"], ["GET"]
        routes = [
            Route("/search", _Posted(self.search), methods=post),
            *(Route(path, _Posted(self.rerank), methods=post) for path in requests.RERANK_PATHS),
            *(Route(path, self.models, methods=get) for path in ("/models", "/v1/models")),
            Route("/health", self.health, methods=get),
            Route("/ready", self.ready, methods=get),
            Route("/metrics", self.metrics, methods=get),
            Route("/openapi.json", self.openapi, methods=get),
        ]
        routes += [Route(path, _static(content, kind), methods=get) for path, (content, kind) in page_files().items()]
        return Router(routes, redirect_slashes=False, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: Router) -> AsyncIterator[None]:
        self.batcher.start()
        opening, ticking = asyncio.create_task(self._open()), asyncio.create_task(self._tick())
        try:
            if not self._listens_at_once:
                await opening
            yield
        finally:
            self.state = ENDING
            for task in (opening, ticking):
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await asyncio.to_thread(self.batcher.stop)
            self._reader.shutdown(wait=False, cancel_futures=True)
            self.engine.close()

    async def _open(self) -> None:
        start = time.perf_counter()
        try:
            await self.batcher.call(self.engine.open)
        except RerankError as error:
            self.state, self.failure = FAILED, error
            self._on_failure()
            return
        except Exception as error:
            log.error("opening failed", exc_info=error)
            message = "service: expected an index that opens, got an error. Its trace is in the log."
            self.state, self.failure = FAILED, RerankError(message)
            self._on_failure()
            return
        gc.collect()
        gc.freeze()  # modules and kernels stay: later collections do not look at them
        self.state = READY
        log.info("ready after %.1f s, serving %s.", time.perf_counter() - start, self.settings.served_name)

    async def _tick(self) -> None:
        """Update the gauges, and load a new model, about every second until the service ends."""
        while True:
            self.counters.set("rerank_waiting_requests", self.batcher.waiting)
            self.counters.set("rerank_connections", self.connections())
            self.counters.set("rerank_ready_workers", float(self.state == READY))
            self.counters.set("rerank_resident_bytes", float(resident_bytes()))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._reload_now.wait(), _TICK)
            asked = self._reload_now.is_set()
            self._reload_now.clear()
            if self.state == READY and (self._model_file.has_changed() or asked):
                await self._reload()

    def reload_from_signal(self) -> None:
        """Read the model's file again soon; for a signal's handler."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self._reload_now.set)

    async def _reload(self) -> None:
        """Serve the model that is now in the file; a model that cannot be served is logged, and the old one stays."""
        if self.settings.model is None:
            return
        try:
            ranking = await asyncio.to_thread(self.engine.load)
            await self.batcher.call(lambda: self.engine.take(self.engine.warmed(ranking)))
        except (RerankError, OSError) as error:
            log.warning("the new model is refused, the old one stays: %s", error)
            self.counters.add("rerank_reloads_total", result="refused")
            return
        except Exception as error:
            log.error("the new model is refused, the old one stays", exc_info=error)
            self.counters.add("rerank_reloads_total", result="refused")
            return
        self.counters.add("rerank_reloads_total", result="taken")
        log.info("a new model is served.")

    async def search(self, scope: Message, receive: Receive) -> bytes:
        """Answer POST /search."""
        self._check_ready()
        async with self._job(scope, receive, self._search_job) as job:
            start = time.perf_counter()
            results = await self._answer(scope, receive, job)
            return requests.search_answer(job, results, time.perf_counter() - start)

    async def rerank(self, scope: Message, receive: Receive) -> bytes:
        """Answer POST /rerank, /v1/rerank and /v2/rerank."""
        self._check_ready()
        async with self._job(scope, receive, partial(self._rerank_job, scope["path"])) as job:
            return await self._answer(scope, receive, job)

    def _search_job(self, body: Any) -> SearchJob:
        return requests.search_job(body, self.limits, self.settings.served_name)

    def _rerank_job(self, path: str, body: Any) -> RerankJob:
        return requests.rerank_job(body, self.limits, self.settings.served_name, self.engine.field_names, path)

    async def models(self, request: Request) -> Response:
        """Answer GET /models."""
        self._check_ready()
        entries = [ranking.described() for ranking in self.engine.rankings.values()]
        names = self.engine.field_names
        return json_response(requests.models_answer(entries, self.settings.served_name, names, self.limits))

    async def health(self, request: Request) -> Response:
        """Answer GET /health: the process answers."""
        return json_response({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Answer GET /ready: whether requests are answered."""
        self._check_ready()
        return json_response({"status": READY})

    async def metrics(self, request: Request) -> Response:
        """Answer GET /metrics in Prometheus' text format."""
        return Response(self.counters.text(), media_type="text/plain; version=0.0.4")

    async def openapi(self, request: Request) -> Response:
        """Answer GET /openapi.json."""
        return json_response(document(self.limits, with_token=self.settings.token is not None))

    def _check_ready(self) -> None:
        if self.state != READY:
            raise not_ready(self.state)

    async def _answer(self, scope: Message, receive: Receive, job: Job) -> bytes:
        """Return a job's answer; the job is dropped if the client goes."""
        job.request_id = scope["state"]["request_id"]
        job.deadline = scope["state"]["arrived"] + self.limits.deadline
        gone = asyncio.ensure_future(receive())
        try:
            answer: bytes = await self.batcher.submit(job, gone)
            return answer
        finally:
            gone.cancel()

    @asynccontextmanager
    async def _job(self, scope: Message, receive: Receive, read: Callable[[Any], JobType]) -> AsyncIterator[JobType]:
        """Yield what is read from the JSON of a body, whose bytes count as in use until the block ends.

        Large bodies are read on a thread of their own, one at a time, while other requests are answered.
        """
        headers = dict(scope["headers"])
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json" or headers.get(b"content-encoding", b"identity") != b"identity":
            raise ServiceError(
                415, "header Content-Type", "application/json without Content-Encoding", "another type",
                "Send JSON, and say so.",
            )  # fmt: skip
        declared = headers.get(b"content-length", b"0")
        if len(declared) > 15 or int(declared) > self.limits.body_bytes:
            raise _too_large(self.limits.body_bytes)
        text = bytearray()
        try:
            await self._read(receive, text)
            if len(text) <= _LARGE:
                yield read(_parsed(bytes(text)))
            else:
                loop = asyncio.get_running_loop()
                yield await loop.run_in_executor(self._reader, lambda: read(_parsed(bytes(text))))
        finally:
            self.bytes_in_use -= len(text)

    async def _read(self, receive: Receive, text: bytearray) -> None:
        """Append the bytes of a body to a text; refuse one that does not arrive in time."""
        try:
            async with asyncio.timeout(self.limits.read_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    text += message.get("body", b"")
                    self._count(len(message.get("body", b"")), len(text))
                    more = message.get("more_body", False)
        except TimeoutError:
            self.counters.add("rerank_refused_total", reason="slow")
            raise _too_slow() from None

    def _count(self, more: int, size: int) -> None:
        """Count bytes of a body; refuse one that is too large, or that makes all bodies together too large."""
        self.bytes_in_use += more
        if size > self.limits.body_bytes:
            raise _too_large(self.limits.body_bytes)
        if self.bytes_in_use > self.limits.total_body_bytes:
            self.counters.add("rerank_refused_total", reason="bytes")
            raise overloaded(1.0)


class _Posted:
    """An ASGI application that answers with the JSON that a function returns."""

    def __init__(self, answer: Callable[[Message, Receive], Awaitable[bytes]]) -> None:
        self._answer = answer

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = await self._answer(scope, receive)
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def json_response(content: Any, status: int = 200) -> Response:
    """Return an answer as JSON."""
    return Response(json_bytes(content), status, media_type="application/json")


def error_response(error: ServiceError, request_id: str) -> Response:
    """Return the answer of an error."""
    response = json_response(error.body(request_id), error.status)
    response.headers.update(error.headers)
    return response


def _parsed(text: bytes) -> Any:
    """Return the value of a body; numbers beyond float64 and deep brackets are refused."""
    if text.count(b"[") + text.count(b"{") > _MOST_BRACKETS:
        raise ServiceError(413, "body", f"at most {_MOST_BRACKETS} brackets", "more", "Send it in parts.")
    try:
        return parse_json(text, finite=True)
    except ParseFault as fault:
        line = "" if fault.line is None else f" in line {fault.line}"
        raise ServiceError(400, "body", "JSON", f"{fault}{line}", "Send one JSON object.") from None
    except RecursionError:
        raise ServiceError(400, "body", "JSON", "brackets nested too deep", "Send one JSON object.") from None


def _too_large(most: int) -> ServiceError:
    return ServiceError(413, "body", f"at most {most} bytes", "more", "Send it in parts.")


def _too_slow() -> ServiceError:
    return ServiceError(408, "body", "a request that arrives in time", "a part of one", "Send it faster.")


def _static(content: bytes, kind: str) -> Callable[[Request], Any]:
    """Return a function that answers with a file of the page."""

    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

    return answer


def routing_fault(error: HTTPException, method: str) -> ServiceError:
    """Return the answer where there is no such path or method."""
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return ServiceError(
            405, "method", allowed or "another method", method[:20], "Look at /openapi.json.", {"Allow": allowed}
        )
    if error.status_code == 404:
        return ServiceError(404, "path", "a known path", "another one", "Look at /openapi.json.")
    return internal()
