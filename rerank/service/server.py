"""The processes that answer requests: uvicorn's server, and its supervisor where there are several.

The application: its endpoints, and the forms of their answers.
"""

import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from pydantic import BaseModel
from starlette.responses import Response
from uvicorn import Config, Server
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors.multiprocess import Multiprocess

from rerank.errors import InvalidInputError, RerankError
from rerank.features.functions import load_functions
from rerank.index.index import Index
from rerank.lucene.jvm import keep_heap_small
from rerank.service.app import PAGE, Guard, Service, json_response
from rerank.service.bodies import Route, add_events, add_rerank, add_search, token
from rerank.service.querylog import folder_key
from rerank.service.settings import METRICS_FOLDER, STATUSES, Settings
from rerank.version import __version__


def make_app(service: Service) -> Guard:
    """Return the application of a service."""
    app = FastAPI(
        title="rerank",
        version=__version__,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        lifespan=service.lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses={status: {"model": Error, "description": about} for status, about in STATUSES.items()},
    )
    app.state.service = service
    app.router.route_class = Route
    add_search(app, service)
    add_rerank(app, service)
    add_events(app, service)
    _add_others(app, service)
    app.openapi()  # is kept: the first request for it does not stop others
    return Guard(app, service.settings)


class Error(BaseModel):
    """The answer of a request that failed."""

    class Parts(BaseModel):
        """The message in its parts."""

        status: int
        place: str
        expected: str
        found: str
        remedy: str

    message: str
    error: Parts
    request_id: str


class Model(BaseModel):
    """A ranking."""

    id: str
    object: str
    ranker: str
    features: int
    explains: bool
    calibrated: bool
    checksum: str


class Models(BaseModel):
    """The answer of /models."""

    object: str
    served: str
    fields: list[str]
    most_documents: int
    logs: bool
    data: list[Model]
    version: str


class Status(BaseModel):
    """The answer of /health and /ready."""

    status: str


def _add_others(app: FastAPI, service: Service) -> None:
    async def models() -> Response:
        """Return the rankings that requests can name."""
        return json_response(
            {
                "object": "list",
                "served": service.settings.served_name,
                "fields": service.engine.field_names,
                "most_documents": service.limits.documents,
                "logs": service.engine.log is not None,
                "data": [ranking.described() for ranking in service.engine.rankings.values()],
                "version": __version__,
            }
        )

    for path in ("/models", "/v1/models"):
        app.get(path, response_model=Models, dependencies=token(service))(models)

    @app.get("/health", response_model=Status)
    async def health() -> Response:
        """Return whether the process answers."""
        return json_response({"status": "ok"})

    @app.get("/ready", response_model=Status)
    async def ready() -> Response:
        """Return whether requests are answered: kernels are compiled."""
        return json_response({"status": "ready"})

    @app.get("/metrics", response_class=Response, dependencies=token(service))
    async def metrics() -> Response:
        """Return counters in Prometheus' text format."""
        return Response(metrics_text(), media_type="text/plain; version=0.0.4")

    for path, (name, kind) in PAGE.items():
        content = (Path(__file__).parent / "page" / name).read_bytes()
        app.get(path, include_in_schema=False)(partial(_file, content, kind))


async def _file(content: bytes, kind: str) -> Response:
    """Return a file of the page."""
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})


def metrics_text() -> bytes:
    """Return the metrics, summed over the processes."""
    if METRICS_FOLDER not in os.environ:
        return generate_latest()
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


log = logging.getLogger("rerank")
_MOST_HEAD = 1 << 15  # bytes of a request's line and headers
_KEEP_ALIVE = 75  # seconds; load balancers keep idle connections for up to 60
_BACKLOG = 2048
_SWITCH_SECONDS = 0.001  # Python's threads change more often than by default: requests wait less for the kernels
_GRACE = 5  # seconds
_LAST_REQUEST = 2.0  # seconds at the end, in which a client may still use a connection that it has kept
_UNRESPONSIVE = 60  # seconds after which a worker that does not answer its supervisor is killed
_FILES = 8192


class Connection(H11Protocol):
    """A connection that has one more answer when the service ends."""

    def shutdown(self) -> None:
        """End the connection after the request that runs, or the next one, whose answer says so.

        A connection that is closed at once may lose a request that is on its way.
        """
        if CLOSE_HEADER not in self.server_state.default_headers:
            self.server_state.default_headers = [*self.server_state.default_headers, CLOSE_HEADER]
        if self._is_idle():
            self.loop.call_later(_LAST_REQUEST, self._close_if_idle)
        else:
            self.cycle.default_headers = self.server_state.default_headers
            self.cycle.keep_alive = False

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _close_if_idle(self) -> None:
        if self._is_idle() and not self.transport.is_closing():
            super().shutdown()


class _Ended(Exception):
    """The supervisor was told to end."""


class _Supervisor(Multiprocess):
    """Keeps the workers running: the first one compiles the kernels, which the others then load."""

    interrupted = failed = False

    def __init__(self, settings: Settings, listener: socket.socket) -> None:
        level = log.getEffectiveLevel()
        super().__init__(config_of(settings, partial(_worker_app, settings, level, listener)), [listener])
        self._later_app = partial(_worker_app, settings, level, listener, ends_service=False)

    def init_processes(self) -> None:
        """Start the first worker, and the others when it is ready."""
        count = self.processes_num
        self.processes_num = 1
        super().init_processes()
        (first,) = self.processes
        while not self.should_exit.is_set() and not first.is_ready(1):
            if not first.process.is_alive():
                self.failed = True
                self.should_exit.set()
            self.handle_signals()
            time.sleep(0.1)
        self.config.app = self._later_app
        self.processes_num = count - 1
        if not self.should_exit.is_set():
            super().init_processes()
        self.processes_num = count
        self._pids = {process.pid for process in self.processes}

    def run(self) -> None:
        """Keep the workers running until a signal ends them, whatever is being waited for."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        try:
            super().run()
        except _Ended:
            for listener in self.sockets:  # connections that no worker will take are refused
                listener.close()
            children = multiprocessing.active_children()  # those that are being started, too
            for child in children:
                child.terminate()
            for child in children:
                child.join()

    def _end(self, number: int, frame: object) -> None:
        self.interrupted = number == signal.SIGINT
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        raise _Ended

    def keep_subprocess_alive(self) -> None:
        """Start workers again that have ended."""
        super().keep_subprocess_alive()
        pids = {process.pid for process in self.processes}
        for pid in self._pids - pids:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
            log.warning("worker %d has ended and is replaced.", pid)
        self._pids = pids


def serve(settings: Settings) -> None:
    """Answer requests until SIGTERM, or SIGINT, after which KeyboardInterrupt is raised."""
    Index.open(settings.index)  # is checked before the socket is opened, as the log's folder is
    if settings.log_queries is not None:
        folder_key(settings.log_queries)
    listener = bound_socket(settings.host, settings.port)
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    log.info("listening on http://%s:%d/ when ready", name, listener.getsockname()[1])
    _allow_files()
    if settings.workers > 1:
        with listener, tempfile.TemporaryDirectory(prefix="rerank-") as folder:
            _serve_by_workers(settings, listener, folder)
        return
    keep_heap_small()
    sys.setswitchinterval(_SWITCH_SECONDS)
    service = Service(settings)
    service.on_ready = partial(listener.listen, _BACKLOG)  # uvicorn listens later than the log says that it is ready
    server = Server(config_of(settings, make_app(service)))
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn, which ends at it, raises it again at the end
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: service.reload_from_signal())
    with listener, suppress(SystemExit):  # where the index cannot be opened
        server.run([listener])
    if service.failure is not None:
        raise service.failure


def _serve_by_workers(settings: Settings, listener: socket.socket, folder: str) -> None:
    os.environ[METRICS_FOLDER] = folder
    supervisor = _Supervisor(settings, listener)
    supervisor.run()
    if supervisor.failed:
        raise RerankError("service: expected a worker that starts, got none. Its message is above.")
    if supervisor.interrupted:
        raise KeyboardInterrupt


def _worker_app(settings: Settings, level: int, listener: socket.socket, ends_service: bool = True) -> Guard:
    """Return the application of a worker process; its failure to start ends the whole service, or it alone."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("rerank[%(process)d]: %(message)s"))
    log.addHandler(handler)
    log.setLevel(level)
    for path in settings.functions:
        load_functions(path)
    keep_heap_small()
    sys.setswitchinterval(_SWITCH_SECONDS)
    service = Service(settings)

    def fail() -> None:
        log.error("%s", service.failure)
        if not ends_service:
            os._exit(1)  # uvicorn's own code for a failure to start would end the other workers

    service.on_ready, service.on_failure = partial(listener.listen, _BACKLOG), fail
    return make_app(service)


def config_of(settings: Settings, app: Callable[..., Any]) -> Config:
    """Return the configuration of uvicorn; with several workers `app` is a function that makes the application."""
    return Config(
        app,
        factory=settings.workers > 1,
        workers=settings.workers,
        http=Connection,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        h11_max_incomplete_event_size=_MOST_HEAD,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(settings.limits.deadline) + _GRACE,
        timeout_worker_healthcheck=_UNRESPONSIVE,
    )


def _allow_files() -> None:
    """Raise the limit of open files, as far as the system lets it, so that there can be many connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, hard) if hard >= 0 else _FILES, hard))


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket, which listens later; raises InvalidInputError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with the protocol named, asyncio sets TCP_NODELAY: otherwise an answer waits 40 ms for an acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "no address"
        raise InvalidInputError(
            f"--host, --port: expected an address of this machine that is free, got {host} port {port} ({reason}). "
            "Name another."
        ) from None
    return listener
