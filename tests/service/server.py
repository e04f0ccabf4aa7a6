"""A real server in a thread: real sockets, real HTTP. Tests that import it are skipped without the extra `service`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

for _name in ("fastapi", "uvicorn", "prometheus_client", "orjson"):
    pytest.importorskip(_name, reason="the extra `service` is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

from prometheus_client import REGISTRY  # noqa: E402
from uvicorn import Server  # noqa: E402

from rerank.service.app import Service  # noqa: E402
from rerank.service.endpoints import make_app  # noqa: E402
from rerank.service.server import bound_socket, config_of  # noqa: E402
from rerank.service.settings import Limits, Settings  # noqa: E402

LIMITS = Limits(body_bytes=200_000, documents=100, read_seconds=2.0, deadline=20.0)


def count(name: str, **labels: str) -> float:
    """Return a metric of this process, in which all servers of the tests run."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


@dataclass(frozen=True)
class Running:
    """A server and a client of it."""

    service: Service
    client: Any
    port: int
    server: Server

    def post(self, path: str, body: Any, **options: Any) -> Any:
        """Return the answer to a JSON body."""
        return self.client.post(path, json=body, **options)


@contextmanager
def running(settings: Settings) -> Iterator[Running]:
    """Run a server in a thread, and yield it when it is ready."""
    listener = bound_socket("127.0.0.1", 0)
    port, service = listener.getsockname()[1], Service(settings)
    service.open()
    server = Server(config_of(settings, make_app(service)))
    thread = threading.Thread(target=lambda: server.run([listener]), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    assert server.started
    headers = {} if settings.token is None else {"Authorization": f"Bearer {settings.token}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, headers=headers) as client:
            yield Running(service, client, port, server)
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
