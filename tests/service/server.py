"""A real server in a thread: real sockets, real HTTP. Tests that import it are skipped without the extra `service`."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `service` is not installed")
pytest.importorskip("uvicorn", reason="the extra `service` is not installed")
pytest.importorskip("orjson", reason="the extra `service` is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

from rerank.service.app import FAILED, STARTING, Service  # noqa: E402
from rerank.service.counters import Counters  # noqa: E402
from rerank.service.settings import Limits, Settings  # noqa: E402
from rerank.service.worker import _config, _serve, _Server, bound_socket  # noqa: E402

LIMITS = Limits(body_bytes=200_000, documents=100, queries=8, read_seconds=2.0, write_seconds=3.0, deadline=20.0)


@dataclass(frozen=True)
class Running:
    """A server and a client of it."""

    service: Service
    client: Any
    port: int
    loop: asyncio.AbstractEventLoop
    server: _Server

    def has_connection(self, connection: socket.socket) -> bool:
        """Return whether the server has the other end of a connection."""
        own = connection.getsockname()[1]
        clients = [each.client for each in list(self.server.server_state.connections)]
        return any(client is not None and client[1] == own for client in clients)

    def post(self, path: str, body: Any, **options: Any) -> Any:
        """Return the answer to a JSON body."""
        return self.client.post(path, json=body, **options)


@contextmanager
def running(settings: Settings, wait: bool = True) -> Iterator[Running]:
    """Run a server in a thread, and yield it when it is ready."""
    listener = bound_socket("127.0.0.1", 0)
    port, counters = listener.getsockname()[1], Counters()
    servers: list[_Server] = []
    service = Service(settings, counters, on_failure=lambda: setattr(servers[0], "should_exit", True))
    servers.append(_Server(_config(service, settings, counters)))
    thread = threading.Thread(target=lambda: asyncio.run(_serve(service, servers[0], listener)), daemon=True)
    thread.start()
    while wait and service.state == STARTING:
        time.sleep(0.01)
    assert service.state != FAILED, service.failure
    headers = {} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}
    while service.loop is None:
        time.sleep(0.01)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, headers=headers) as client:
            yield Running(service, client, port, service.loop, servers[0])
    finally:
        servers[0].should_exit = True
        thread.join(60)
        assert not thread.is_alive()
