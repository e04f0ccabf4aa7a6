"""The processes that answer requests: uvicorn's server, and its workers."""

import logging
import multiprocessing
import os
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

from prometheus_client.multiprocess import mark_process_dead
from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from rerank.errors import InvalidInputError, RerankError, log
from rerank.features.families.functions import load_functions
from rerank.lucene.jvm import STEADY, add_options
from rerank.service.app import Guard, Service
from rerank.service.endpoints import make_app
from rerank.service.querylog import folder_key
from rerank.service.served_models import opened_collection
from rerank.service.settings import METRICS_FOLDER, Settings

try:
    import resource
except ImportError:  # Windows, which does not limit open files
    resource = None  # type: ignore[assignment]

_MOST_HEAD = 1 << 15  # bytes of a request's line and headers
_KEEP_ALIVE = 75  # seconds; load balancers keep idle connections for up to 60
_BACKLOG = 2048
_SWITCH_SECONDS = 0.001  # Python's threads change more often than by default: requests wait less for the kernels
_GRACE = 5  # seconds
_LAST_REQUEST = 2.0  # seconds at the end, in which a client may still use a connection that it has kept
_SILENT = 0.9  # seconds after which a worker that sleeps and does not answer its supervisor is killed
_UNRESPONSIVE = 60.0  # seconds for one that runs: reading a large model, it cannot answer
_END_PATIENCE = 3.0  # the same when the service ends
_END_STEP = 0.05  # seconds between two looks at workers that end
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


class _Supervisor(Multiprocess):
    """uvicorn's supervisor of its workers, which never waits for one of them: it asks all of them every half second.

    A worker that has ended, or hangs, is replaced. A worker hangs if it does not answer while all of its threads sleep,
    or does not answer for much longer. A restart replaces the workers one by one, each when another is
    ready.
    """

    def __init__(self, config: Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self.interrupted = False
        self._heard: dict[Process, tuple[float, bool]] = {}  # of each worker: when, and whether it was ready then
        self._outdated: list[Process] = []  # those that a restart has yet to replace
        self._leaving: set[Process] = set()  # those that were told to end

    def handle_int(self) -> None:
        """End the service after Ctrl-C."""
        self.interrupted = True
        super().handle_int()

    def handle_ttou(self) -> None:
        """Have one worker fewer."""
        self.processes_num = max(1, self.processes_num - 1)

    def restart_all(self) -> None:
        """Have all workers replaced."""
        self._outdated = self._staying()

    def terminate_all(self) -> None:
        """End the workers; connections that none of them will take are refused."""
        for listener in self.sockets:
            listener.close()
        for worker in self.processes:
            self._dismiss(worker)

    def join_all(self) -> None:
        """Wait for the workers to answer the requests that run; those that hang are killed."""
        while self.processes:
            self._remove_ended(_END_PATIENCE)
            time.sleep(_END_STEP)

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended or hang, and go on with a restart."""
        if not self.should_exit.is_set():
            self._remove_ended(_UNRESPONSIVE)
        if self.should_exit.is_set():
            return
        staying = self._staying()
        for _ in range(self.processes_num + bool(self._outdated) - len(staying)):
            self.processes.append(Process(self.config, self.sockets))
            self.processes[-1].start()
        if len(staying) > self.processes_num and self._is_ready(staying[-1]):
            self._dismiss(self._outdated.pop(0) if self._outdated else staying[0])

    def _staying(self) -> list[Process]:
        return [worker for worker in self.processes if worker not in self._leaving]

    def _is_ready(self, worker: Process) -> bool:
        return worker in self._heard and self._heard[worker][1]

    def _dismiss(self, worker: Process) -> None:
        """Tell a worker to end; it is asked on until it has."""
        self._leaving.add(worker)
        worker.process.terminate()

    def _remove_ended(self, patience: float) -> None:
        """Forget workers that have ended, and those that hang, which are killed; say which were not told to end."""
        for worker in [worker for worker in self.processes if not self._is_well(worker, patience)]:
            what = "hangs" if worker.process.is_alive() else "has ended"
            worker.kill()
            worker.process.join(_END_STEP)
            if worker not in self._leaving:
                in_vain = self._outdated and not self._is_ready(worker)  # as its successors would be
                then = "before it was ready: the others stay" if in_vain else "and is replaced"
                log.warning("worker %d %s %s.", worker.pid, what, then)
                self._outdated = [] if in_vain else self._outdated
                if worker.exitcode == STARTUP_FAILURE:
                    self.should_exit.set()
            self._outdated = [other for other in self._outdated if other is not worker]
            self.processes.remove(worker)
            self._leaving.discard(worker)
            self._heard.pop(worker, None)
            mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]

    def _is_well(self, worker: Process, patience: float) -> bool:
        """Return whether a worker runs and does not hang; ask it again, without waiting for the answer."""
        if not worker.process.is_alive():
            return False
        now = time.monotonic()
        answers = worker.parent_conn.poll()
        if answers or worker not in self._heard:
            self._heard[worker] = now, answers and worker.parent_conn.recv()
            worker.parent_conn.send(b"ping")
        silent = now - self._heard[worker][0]
        return silent < _SILENT or (silent < patience and not (self._is_ready(worker) and _sleeps(worker.pid)))


def _sleeps(pid: int | None) -> bool:
    """Return whether no thread of a process runs or waits for a disk; False where the system does not say."""
    with suppress(OSError, IndexError):
        stats = [path.read_text("ascii", "replace") for path in Path(f"/proc/{pid}/task").glob("*/stat")]
        return bool(stats) and not any(stat.rpartition(")")[2].split()[0] in "RD" for stat in stats)
    return False


def serve(settings: Settings) -> None:
    """Answer requests until SIGTERM, or SIGINT, after which KeyboardInterrupt is raised."""
    if settings.workers > 1 and resource is None:
        raise InvalidInputError(f"--workers: expected 1 on Windows, got {settings.workers}. Leave it out.")
    opened_collection(settings)  # is checked before the socket is opened, as the log's folder is
    if settings.log_queries is not None:
        folder_key(settings.log_queries)
    listener = bound_socket(settings.host, settings.port)
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    log.info("listening on http://%s:%d/ when ready", name, listener.getsockname()[1])
    _allow_files()
    with listener:
        if settings.workers > 1:
            _serve_by_workers(settings, listener)
            return
        _at_hangup(signal.SIG_IGN)  # until there is a model to load again
        service = _opened(settings, listener)
        server = Server(config_of(settings, make_app(service)))
        signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn, which ends at it, raises it again at the end
        _at_hangup(lambda *_: setattr(service, "reload_asked", True))
        server.run([listener])


def _at_hangup(handler: Any) -> None:
    """Set what SIGHUP does, which Windows does not have."""
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, handler)


def _opened(settings: Settings, listener: socket.socket) -> Service:
    """Return an opened service, whose socket takes connections from now on."""
    start = time.perf_counter()
    add_options(*STEADY)
    sys.setswitchinterval(_SWITCH_SECONDS)
    service = Service(settings)
    service.open()
    listener.listen(_BACKLOG)
    log.info("ready after %.1f s, serving %s.", time.perf_counter() - start, settings.served_name)
    return service


def _serve_by_workers(settings: Settings, listener: socket.socket) -> None:
    """Serve by several processes; another one checks before that they can be opened, and compiles the kernels."""
    level = log.getEffectiveLevel()
    check = multiprocessing.get_context("spawn").Process(target=_check, args=(settings, level))
    check.start()
    check.join()
    if check.exitcode:
        raise RerankError("service: expected an index and models that can be opened, got none. The message is above.")
    with tempfile.TemporaryDirectory(prefix="rerank-") as folder:
        os.environ[METRICS_FOLDER] = folder
        supervisor = _Supervisor(config_of(settings, partial(_worker_app, settings, level, listener)), [listener])
        supervisor.run()
    if supervisor.interrupted:
        raise KeyboardInterrupt


def _check(settings: Settings, level: int) -> None:
    """Open the index and the models, and compile the kernels; the exit code says whether that is possible."""
    _prepare_process(settings, level)
    add_options(*STEADY)
    try:
        Service(settings).open()
    except RerankError as error:
        log.error("%s", error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _prepare_process(settings: Settings, level: int) -> None:
    """Set the log of a new process, and define the user's functions."""
    logging.basicConfig(format="rerank[%(process)d]: %(message)s")
    log.setLevel(level)
    for path in settings.functions:
        load_functions(path)


def _worker_app(settings: Settings, level: int, listener: socket.socket) -> Guard:
    """Return the application of a worker process; SIGTERM ends it at once while it opens."""
    _prepare_process(settings, level)
    at_term = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        service = _opened(settings, listener)
    except RerankError as error:
        log.error("%s", error)
        os._exit(1)  # uvicorn starts another one; its own code for a failure to start would end all
    signal.signal(signal.SIGTERM, at_term)
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
    )


def _allow_files() -> None:
    """Raise the limit of open files, as far as the system lets it, so that there can be many connections."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, hard) if hard >= 0 else _FILES, hard))


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket, which listens later; raises InvalidInputError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with the protocol named, asyncio sets TCP_NODELAY: otherwise an answer waits 40 ms for an acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows, another program could then take the address
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
