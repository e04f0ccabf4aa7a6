"""One process that answers requests."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from rerank.errors import InvalidInputError
from rerank.lucene.jvm import keep_heap_small
from rerank.service.app import Service
from rerank.service.counters import Counters
from rerank.service.guard import Guard
from rerank.service.protocol import MOST_HEAD, Guarded, protocol_of
from rerank.service.settings import Settings

_KEEP_ALIVE = 75  # seconds; load balancers keep idle connections for up to 60
_BACKLOG = 2048
_ACCEPTED_AT_ONCE = 8  # few, so that processes with one listening socket share the connections
_SWITCH_SECONDS = 0.001  # Python's threads change more often than by default: requests wait less for the kernels
_GRACE = 5.0
_OTHER_FILES = 1024  # open files that are not connections


class _Server(uvicorn.Server):
    """uvicorn's server, which checks all connections each second."""

    parent: int | None = None  # the supervising process, without which a worker ends
    _swept = 0.0

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end."""
        now = time.monotonic()
        if now - self._swept > 1.0:
            self._swept = now
            for connection in list(self.server_state.connections):
                if isinstance(connection, Guarded):
                    connection.sweep(now)
            if self.parent is not None and os.getppid() != self.parent:
                self.should_exit = True
        return bool(await super().on_tick(counter))


class _Listener(socket.socket):
    """A listening socket whose queue keeps its length, whatever number is to be accepted at once."""

    def listen(self, backlog: int = 0, /) -> None:
        """Listen."""
        super().listen(_BACKLOG)


def run_worker(
    settings: Settings,
    listener: socket.socket,
    counters: Counters,
    parent: int | None = None,
    listens_at_once: bool = True,
) -> None:
    """Answer requests until SIGTERM or SIGINT; SIGHUP reads the model's file again."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    _allow_files(settings.limits.connections)
    keep_heap_small()

    def end(*_: Any) -> None:
        server.should_exit = True

    service = Service(settings, counters, on_failure=end, listens_at_once=listens_at_once)
    server = _Server(_config(service, settings, counters))
    server.parent = parent
    with signals_handled(end, service.reload_from_signal):
        asyncio.run(_serve(service, server, listener))
    if service.failure is not None:
        raise service.failure


def _allow_files(connections: int) -> None:
    """Raise the process's limit of open files, as far as the system lets it, so that it can hold its connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard) if hard >= 0 else wanted, hard))


@contextmanager
def signals_handled(
    end: Callable[..., Any], reload: Callable[[], Any], enders: Iterable[int] = (signal.SIGTERM,)
) -> Iterator[None]:
    """Call functions at signals in the block: `reload` at SIGHUP, where the system has it, and `end` at others."""
    handlers: dict[int, Callable[..., Any]] = dict.fromkeys(enders, end)
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = lambda *_: reload()
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _serve(service: Service, server: _Server, listener: socket.socket) -> None:
    service.loop = asyncio.get_running_loop()
    service.connections = lambda: len(server.server_state.connections)
    await server.serve(sockets=[_Listener(listener.family, listener.type, listener.proto, listener.detach())])


def _config(service: Service, settings: Settings, counters: Counters) -> uvicorn.Config:
    return uvicorn.Config(
        Guard(service.router(), settings, counters),
        http=protocol_of(settings.limits, counters),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_ACCEPTED_AT_ONCE,
        h11_max_incomplete_event_size=MOST_HEAD,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(settings.limits.deadline + _GRACE),
    )


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises InvalidInputError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with the protocol named, asyncio sets TCP_NODELAY: otherwise an answer waits 40 ms for an acknowledgement
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except (OSError, UnicodeError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or "no address"
        raise InvalidInputError(
            f"--host, --port: expected an address of this machine that is free, got {host} port {port} ({reason}). "
            "Name another."
        ) from None
    return listener
