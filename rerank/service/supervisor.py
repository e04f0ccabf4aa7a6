"""Several worker processes on one socket: started one after the other, started again when they end."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from rerank.errors import RerankError
from rerank.features.functions import load_functions
from rerank.runtime import compile_hook
from rerank.service.counters import Counters
from rerank.service.settings import Settings
from rerank.service.worker import bound_socket, run_worker, signals_handled
from rerank.workflows.index import Index

log = logging.getLogger("rerank")
_STEP = 0.2  # seconds between two looks at the workers
_SHORT_LIFE, _LONGEST_PAUSE = 10.0, 30.0
_GRACE = 10.0
_FAILED, _INTERRUPTED = 2, 130  # exit codes of a worker: its index or model cannot be opened; Ctrl-C


def serve(settings: Settings, announce: Callable[[str], None] = lambda address: None) -> None:
    """Answer requests until SIGTERM or SIGINT."""
    Index.open(settings.index, settings.language)  # is checked before the socket is opened
    listener = bound_socket(settings.host, settings.port)
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    announce(f"http://{name}:{listener.getsockname()[1]}/")
    with listener:
        if settings.workers == 1:
            run_worker(settings, listener, Counters())
            return
        with tempfile.TemporaryDirectory(prefix="rerank-") as folder:
            _Supervisor(settings, listener, Path(folder) / "counters").run()


class _Supervisor:
    """Keeps the workers running."""

    def __init__(self, settings: Settings, listener: socket.socket, counters: Path) -> None:
        self._settings, self._listener, self._path = settings, listener, counters
        Counters.new_file(counters, settings.workers)
        self._counters = Counters(counters, 0, settings.workers)
        self._workers: dict[int, BaseProcess] = {}
        self._started: dict[int, float] = {}
        self._pause: dict[int, float] = {}  # before the last start of a worker that had ended soon after its start
        self._restart_at: dict[int, float] = {}
        self._ends = self._interrupted = False
        self._context = get_context("spawn")  # the threads of Java and OpenMP do not run in a forked process

    def run(self) -> None:
        """Supervise until SIGTERM; raises KeyboardInterrupt after SIGINT, as one process does."""
        reload = partial(self._tell, getattr(signal, "SIGHUP", 0))
        with signals_handled(self._end, reload, (signal.SIGTERM, signal.SIGINT)):
            try:
                self._supervise()
            finally:
                self._stop()
        if self._interrupted:
            raise KeyboardInterrupt

    def _supervise(self) -> None:
        self._start(0)
        self._wait_for_first()
        for row in range(1, self._settings.workers):
            if not self._ends:
                self._start(row)
        while not self._ends:
            connection.wait([worker.sentinel for worker in self._workers.values() if worker.is_alive()], _STEP)
            self._restart()

    def _end(self, number: int, *_: Any) -> None:
        self._ends, self._interrupted = True, self._interrupted or number == signal.SIGINT

    def _tell(self, number: int) -> None:
        """Send a signal to all workers."""
        for worker in self._workers.values():
            if worker.pid is not None and worker.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, number)

    def _start(self, row: int) -> None:
        at_once = not self._started  # the first one says that the service is starting
        arguments = (self._settings, self._listener, self._path, row, log.getEffectiveLevel(), at_once)
        worker = self._context.Process(target=_work, args=arguments, name=f"rerank-worker-{row}")
        worker.start()
        self._workers[row], self._started[row] = worker, time.monotonic()

    def _wait_for_first(self) -> None:
        """Wait until the first worker is ready: it compiles the kernels, which the others then load."""
        worker = self._workers[0]
        while not self._ends and worker.is_alive() and not self._counters.gauge("rerank_ready_workers", 0):
            worker.join(_STEP)
        if not self._ends and not worker.is_alive() and worker.exitcode == _FAILED:
            raise RerankError("service: expected a worker that starts, got none. Its message is above.")

    def _restart(self) -> None:
        """Start workers again that have ended; those that end soon after their start, after a pause."""
        now = time.monotonic()
        for row, worker in list(self._workers.items()):
            if worker.is_alive():
                continue
            if row not in self._restart_at:
                lived = now - self._started[row]
                pause = min(2.0 * self._pause.get(row, 0.5), _LONGEST_PAUSE) if lived < _SHORT_LIFE else 0.0
                self._pause[row], self._restart_at[row] = pause or 0.5, now + pause
                worker.join()
                self._counters.clear_gauges(row)
                log.warning("worker %d ended with code %s; starting it again in %g s.", row, worker.exitcode, pause)
            if now >= self._restart_at[row]:
                del self._restart_at[row]
                self._start(row)

    def _stop(self) -> None:
        """End the workers: they finish what runs; those that do not are killed."""
        self._tell(signal.SIGTERM)
        last = time.monotonic() + self._settings.limits.deadline + _GRACE
        for worker in self._workers.values():
            worker.join(max(0.0, last - time.monotonic()))
            if worker.is_alive():
                worker.kill()
                worker.join()


def _work(
    settings: Settings, listener: socket.socket, counters: Path, row: int, level: int, listens_at_once: bool
) -> None:
    """Be a worker process."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"rerank[{row}]: %(message)s"))
    log.addHandler(handler)
    log.setLevel(level)
    compile_hook.before_compilation = _compile_ahead
    try:
        for path in settings.functions:
            load_functions(path)
        shared = Counters(counters, row, settings.workers)
        run_worker(settings, listener, shared, os.getppid(), listens_at_once)
    except RerankError as error:
        log.error("%s", error)
        sys.exit(_FAILED)
    except KeyboardInterrupt:  # Ctrl-C reaches all processes of the terminal; the supervisor reports it
        sys.exit(_INTERRUPTED)


def _compile_ahead(module: str) -> None:
    from rerank.workflows.compile import compile_with

    compile_with(module)
