"""One worker's state, and what is done for every request: its id, host, token and body, headers, log and metrics.

Between requests and the kernels is a queue, and one thread that computes together what waits. The first request is
computed at once, and those that arrive meanwhile form the next batch. After a batch of several, the next one waits some
milliseconds for as many: the clients send their next requests when they have their answers, and otherwise the first of
these would be computed alone.
"""

import asyncio
import gc
import hmac
import multiprocessing
import re
import secrets
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any, TypeVar

from fastapi import FastAPI
from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rerank.errors import RerankError, log, shown
from rerank.runtime.memory import resident_bytes
from rerank.runtime.store import file_state
from rerank.service.bodies import PARAMETERS, RERANK_PATHS, Job, json_bytes
from rerank.service.engine import Engine
from rerank.service.served_models import load_models
from rerank.service.settings import (
    LOOPBACK,
    Limits,
    ServiceError,
    Settings,
    internal,
    is_loopback,
    overloaded,
    too_late,
    unknown,
)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Value = TypeVar("Value")
PAGE = {
    "/": ("index.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}
_OPEN = frozenset(["/health", "/ready", "/openapi.json", *PAGE])  # paths without a token
_PATHS = {
    **{path: path for path in ("/search", "/events", "/models", "/metrics", "/health", "/ready", "/openapi.json")},
    **dict.fromkeys(RERANK_PATHS, "/rerank"),
    "/v1/models": "/models",
    **dict.fromkeys(PAGE, "page"),
}  # path -> its label
_COMPUTED = ("/search", "/rerank")
_LARGE = 1 << 16  # bytes of a body
_LINGER = 0.005  # seconds after a batch of several
_STEP = 0.001  # between two looks at the queue
_NEWEST = 0.2  # share of the newest batch in the mean of the seconds of a request
_TICK = 1.0  # seconds between two checks of the model's file, and updates of the gauges
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

disable_created_metrics()  # type: ignore[no-untyped-call]
_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
REQUESTS = Counter("rerank_requests", "Answered requests.", ["path", "code"])
SECONDS = Histogram("rerank_request_seconds", "Seconds from a request's head to its answer.", ["path"], buckets=_BOUNDS)
REFUSED = Counter("rerank_refused", "Requests that were not computed.", ["reason"])
BATCHES = Counter("rerank_batches", "Batches of requests that went to the kernels.")
BATCHED = Counter("rerank_batched_requests", "Requests in these batches.")
ROWS = Counter("rerank_rows", "Query-document pairs in these batches.")
RELOADS = Counter("rerank_reloads", "New models.", ["result"])
WAITING = Gauge("rerank_waiting_requests", "Requests that wait for the kernels.", multiprocess_mode="livesum")
WORKERS = Gauge("rerank_ready_workers", "Worker processes that answer.", multiprocess_mode="livesum")
RESIDENT = Gauge(
    "rerank_resident_bytes",
    "Resident memory of the worker processes; shared pages count in each.",
    multiprocess_mode="livesum",
)


class Batcher:
    """A bounded queue of jobs, and the thread that computes them by calling the function `answer`.

    The function sets `answer` or `fault` of each job. Everything else runs on the event loop.
    """

    def __init__(self, answer: Callable[[Sequence[Job]], None], limits: Limits) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="rerank-kernels")
        self._answer = answer
        self._limits = limits
        self.queue: deque[tuple[Job, asyncio.Future[None]]] = deque()  # jobs that wait
        self._working: asyncio.Task[None] | None = None
        self._computed = 0  # jobs that are being computed
        self._seconds = 0.0  # recent mean for a request

    def check(self) -> None:
        """Raise ServiceError where a further job would wait too long; one may always wait."""
        expected = (len(self.queue) + self._computed) * self._seconds if self.queue else 0.0
        if len(self.queue) >= self._limits.waiting or expected > self._limits.wait_seconds:
            REFUSED.labels("queue").inc()
            raise overloaded()

    async def submit(self, job: Job, gone: asyncio.Future[Any] | None = None) -> Any:
        """Return a job's answer; raises ServiceError where it has none, or none in time.

        `gone` is done when the client has gone: the job is then dropped, and ClientDisconnect raised.
        """
        self.check()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.queue.append((job, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        awaited = [done] if gone is None else [done, gone]
        try:
            await asyncio.wait(
                awaited, timeout=max(job.deadline - time.monotonic(), 0.0), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            job.deadline = 0.0  # nobody waits any more
        if not done.done():
            if gone is not None and gone.done():
                raise ClientDisconnect
            REFUSED.labels("deadline").inc()
            raise too_late()
        if job.fault is not None:
            raise job.fault
        return job.answer

    async def _work(self) -> None:
        """Compute what waits, batch after batch."""
        loop = asyncio.get_running_loop()
        while self.queue:
            batch = [self.queue.popleft()]
            rows = batch[0][0].rows
            while self.queue and rows + self.queue[0][0].rows <= self._limits.batch_rows:  # one job may have more
                batch.append(self.queue.popleft())
                rows += batch[-1][0].rows
            self._computed = len(batch)
            begin = loop.time()
            await loop.run_in_executor(self.thread, self._compute, [job for job, _ in batch])
            for _, done in batch:
                done.set_result(None)
            self._computed = 0
            end = loop.time()
            self._seconds += _NEWEST * ((end - begin) / len(batch) - self._seconds)
            while 1 < len(batch) > len(self.queue) and loop.time() < end + _LINGER:
                await asyncio.sleep(_STEP)

    def _compute(self, jobs: Sequence[Job]) -> None:
        """Compute those jobs that somebody waits for."""
        awaited = [job for job in jobs if not job.is_late()]
        if not awaited:
            return
        BATCHES.inc()
        BATCHED.inc(len(awaited))
        ROWS.inc(sum(job.rows for job in awaited))
        try:
            self._answer(awaited)
        except Exception as error:
            log.error("a batch of %d requests failed", len(awaited), exc_info=error)
            for job in awaited:
                job.fault = job.fault or internal()


class Service:
    """One worker's engine and queue."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.limits = settings.limits
        self.engine = Engine(settings)
        self.batcher = Batcher(self.engine.answer, self.limits)
        self.reload_asked = False  # by a signal
        self._bytes_in_use = 0
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="rerank-bodies")

    def open(self) -> None:
        """Open the index and the models, and compile the kernels; raises RerankError."""
        self.engine.open()
        gc.collect()
        gc.freeze()  # modules and kernels stay: later collections do not look at them
        WORKERS.set(1)

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Run the service in the block."""
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            self.batcher.thread.shutdown()
            self._reader.shutdown(wait=False, cancel_futures=True)
            self.engine.close()

    async def _tick(self) -> None:
        """Update the gauges, and load a new model, every second until the service ends."""
        taken = seen = self._model_file()
        supervisor = multiprocessing.parent_process()
        while True:
            WAITING.set(len(self.batcher.queue))
            RESIDENT.set(resident_bytes())
            await asyncio.sleep(_TICK)
            if supervisor is not None and not supervisor.is_alive():
                signal.raise_signal(signal.SIGTERM)
            file = self._model_file()
            is_new = file is not None and file != taken and file == seen  # and complete: the same as a second ago
            seen = file
            if is_new or self.reload_asked:
                taken = file
                self.reload_asked = False
                await self._reload()

    def _model_file(self) -> list[list[int]] | None:
        """Return the states of the models' files; None if one is missing at the moment."""
        with suppress(OSError):
            return [file_state(path) for path in (self.settings.model, *self.settings.others) if path is not None]
        return None

    async def _reload(self) -> None:
        """Serve the model that is now in the file; a model that cannot be served is logged, and the old one stays."""
        try:
            served_models = await asyncio.to_thread(load_models, self.settings, self.engine.collection)
            await asyncio.get_running_loop().run_in_executor(self.batcher.thread, self.engine.take, served_models)
        except Exception as error:
            trace = None if isinstance(error, RerankError | OSError) else error
            log.warning("the new model is refused; the old one stays in use: %s", error, exc_info=trace)
            RELOADS.labels("refused").inc()
            return
        RELOADS.labels("taken").inc()
        log.info("the new model is in use.")

    async def answer(self, request: Request, job: Job) -> Any:
        """Return a job's answer; the job is dropped if the client goes."""
        job.request_id = request.state.request_id
        job.deadline = request.state.arrived + self.limits.deadline
        gone = asyncio.ensure_future(request.receive())
        try:
            return await self.batcher.submit(job, gone)
        finally:
            gone.cancel()

    @asynccontextmanager
    async def body(self, request: Request, read: Callable[[bytes], Value]) -> AsyncIterator[Value]:
        """Yield what `read` returns of a body, whose bytes count as in use until the block ends.

        Large bodies are read on a thread of their own, one at a time, while other requests are answered.
        """
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or request.headers.get("content-encoding", "identity") != "identity":
            raise ServiceError(
                415, "header Content-Type", "application/json without Content-Encoding", "another type",
                "Send JSON, and say so.",
            )  # fmt: skip
        declared = request.headers.get("content-length", "0")
        if len(declared) > 15 or int(declared) > self.limits.body_bytes:
            raise self._too_large()
        text = bytearray()
        try:
            await self._receive(request, text)
            if len(text) <= _LARGE:
                yield read(bytes(text))
            else:
                yield await asyncio.get_running_loop().run_in_executor(self._reader, lambda: read(bytes(text)))
        finally:
            self._bytes_in_use -= len(text)

    async def _receive(self, request: Request, text: bytearray) -> None:
        """Append the bytes of a body to a text; refuse one that does not arrive in time, or is too large."""
        try:
            async with asyncio.timeout(self.limits.read_seconds):
                async for part in request.stream():
                    text += part
                    self._bytes_in_use += len(part)
                    if len(text) > self.limits.body_bytes:
                        raise self._too_large()
                    if self._bytes_in_use > self.limits.total_body_bytes:
                        REFUSED.labels("bytes").inc()
                        raise overloaded()
        except TimeoutError:
            REFUSED.labels("slow").inc()
            raise ServiceError(
                408, "body", "a request that arrives in time", "a part of one", "Send it faster.",
                {"Connection": "close"},
            ) from None  # fmt: skip

    def _too_large(self) -> ServiceError:
        return ServiceError(413, "body", f"at most {self.limits.body_bytes} bytes", "more", "Send it in parts.")


class Guard:
    """The application with what is done for every request."""

    def __init__(self, app: FastAPI, service: Service) -> None:
        settings = service.settings
        self._app = app
        self._batcher = service.batcher
        self._prefix, self._numbers = secrets.token_hex(4), count(1)  # of the ids that are made here
        self._token = None if settings.token is None else f"Bearer {settings.token}".encode()
        self._hosts = frozenset((*LOOPBACK, settings.host, *settings.hosts)) if is_loopback(settings.host) else None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request; messages of the lifespan go on as they are."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        headers = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = sent_id if _REQUEST_ID.fullmatch(sent_id) else f"{self._prefix}{next(self._numbers):08x}"
        scope.setdefault("state", {}).update(request_id=request_id, arrived=time.monotonic())
        label = _PATHS.get(scope["path"], "other")
        status = 499  # where the client has gone

        async def send_marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode()), *_HEADERS]
            await send(message)

        method = "GET" if scope["method"] == "HEAD" else scope["method"]  # the server leaves the content out
        try:
            self._check(scope["path"], headers)
            if method == "POST" or label not in _COMPUTED:  # others are told of the method
                _check_parameters(label, scope["query_string"])
            if label in _COMPUTED:
                self._batcher.check()  # before the body is read: under overload, a refusal must cost little
            await self._app({**scope, "method": method}, receive, send_marked)
        except ServiceError as error:
            response = await answer_error(Request(scope), error)
            await response(scope, receive, send_marked)
        except Exception as error:  # which the application has answered
            log.error("request %s failed", request_id, exc_info=error)
        finally:
            seconds = time.perf_counter() - start
            REQUESTS.labels(label, str(status) if status in (429, 503) else f"{status // 100}xx").inc()
            if label in _COMPUTED:
                SECONDS.labels(label).observe(seconds)
            target = scope.get("raw_path", b"").decode("ascii", "backslashreplace")[:200]
            log.info("%s %s %d %.1f ms id=%s", scope["method"][:20], target, status, 1000 * seconds, request_id)

    def _check(self, path: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a foreign host, by which a page elsewhere could read a service on the loopback, and a wrong token."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]  # without the port
        if self._hosts is not None and name not in self._hosts:
            raise ServiceError(
                421, "header Host", "a name of the loopback", "another host",
                "Use 127.0.0.1, or name the host with --allow-host.",
            )  # fmt: skip
        if {b"content-length", b"transfer-encoding"} <= headers.keys():  # a proxy may have read another body
            raise ServiceError(
                400, "header Content-Length", "it without Transfer-Encoding", "both", "Send one of them.",
                {"Connection": "close"},
            )  # fmt: skip
        token = None if path in _OPEN else self._token
        if token is not None and not hmac.compare_digest(headers.get(b"authorization", b""), token):
            raise ServiceError(
                401, "header Authorization", "Bearer and the token", "another one or none", "Send the token.",
                {"WWW-Authenticate": "Bearer"},
            )  # fmt: skip


def _check_parameters(label: str, query: bytes) -> None:
    """Refuse parameters of the address that a path of the interface does not have."""
    if label in ("page", "other"):
        return
    for name in QueryParams(query):
        place = f"query.{name[:100]}"
        if label != "/search":
            raise ServiceError(422, place, "no parameter", shown(name), "Leave it out.")
        if name not in PARAMETERS:
            raise unknown(422, place, name, PARAMETERS)


def json_response(content: object, status: int = 200) -> Response:
    """Return an answer as JSON."""
    return Response(json_bytes(content), status, media_type="application/json")


async def answer_error(request: Request, error: Exception) -> Response:
    """Return the answer of an error: a ServiceError, or a fault of the routing; any other is an internal error."""
    fault = error if isinstance(error, ServiceError) else internal()
    if isinstance(error, HTTPException) and error.status_code == 404 and fault is not error:
        fault = ServiceError(404, "path", "a known path", "another one", "Look at /openapi.json.")
    elif isinstance(error, HTTPException) and error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        fault = ServiceError(405, "method", allowed, request.method[:20], "Look at /openapi.json.", {"Allow": allowed})
    answer = {"message": fault.detail, "error": fault.error, "request_id": request.state.request_id}
    response = json_response(answer, fault.status_code)
    response.headers.update(fault.headers or {})
    return response


async def answer_nobody(request: Request, error: Exception) -> Response:
    """Return an answer for the log and the metrics: the client has gone."""
    return Response(status_code=499)


HANDLERS: dict[Any, Any] = {HTTPException: answer_error, ClientDisconnect: answer_nobody, Exception: answer_error}
