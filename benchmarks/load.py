"""Clients of an HTTP service on the loopback: little work of their own, so that the service is what is measured.

One process and one thread, whose requests are bytes already.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measuring import in_process

MOST_CONNECTIONS = 900
PATIENCE = 60.0  # seconds after the last request, in which its answer must have come


@dataclass
class Answers:
    """What the clients got: seconds of each request by status, and answers that were wrong."""

    seconds: dict[int, list[float]] = field(default_factory=dict)  # 0: the connection broke
    wrong: int = 0
    elapsed: float = 0.0
    processor: float = 0.0  # seconds of the clients' own
    not_sent: int = 0  # for want of a connection
    unanswered: int = 0

    def per_second(self) -> float:
        """Return the number of requests a second that were answered with 200."""
        return len(self.seconds.get(200, ())) / self.elapsed

    def quantile(self, share: float) -> float:
        """Return a quantile of the seconds of those."""
        ordered = sorted(self.seconds.get(200, ()))
        return ordered[min(len(ordered) - 1, math.floor(share * len(ordered)))] if ordered else math.nan

    def extend(self, other: Answers) -> None:
        """Add the answers of another measurement."""
        for status, each in other.seconds.items():
            self.seconds.setdefault(status, []).extend(each)
        for name in ("wrong", "elapsed", "processor", "not_sent", "unanswered"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def counts(self) -> dict[int, int]:
        """Return the number of requests by status."""
        return {status: len(self.seconds[status]) for status in sorted(self.seconds)}


def request(path: str, body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a request."""
    text = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}"
    return head.encode() + b"\r\n\r\n" + text


def essence(body: bytes) -> bytes:
    """Return what is the same in each answer to a request."""
    return body.partition(b'"results":')[2]


def closed_loop(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> Answers:
    """Return the answers to clients of which each sends its next request when it has its answer."""
    return in_process(run_closed, port, list(requests), clients, seconds).result


def open_loop(
    port: int, requests: Sequence[bytes], per_second: float, seconds: float, expected: Sequence[bytes]
) -> Answers:
    """Return the answers to requests that are sent at a rate, whatever the service does."""
    return in_process(run_open, port, list(requests), per_second, seconds, list(expected)).result


def run_closed(port: int, requests: list[bytes], clients: int, seconds: float) -> Answers:
    """Be the clients of `closed_loop`."""
    return asyncio.run(_Clients(port, requests, []).closed(clients, seconds))


def run_open(port: int, requests: list[bytes], per_second: float, seconds: float, expected: list[bytes]) -> Answers:
    """Be the clients of `open_loop`."""
    return asyncio.run(_Clients(port, requests, expected).open(per_second, seconds))


class _Connection(asyncio.Protocol):
    """A connection, and the request that it waits for."""

    def __init__(self, clients: _Clients) -> None:
        self._clients, self.number, self._sent, self._parts = clients, -1, 0.0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def send(self, number: int, start: float) -> None:
        """Send a request that was due at a time."""
        self.number, self._sent, self._parts = number, start, b""
        self.transport.write(self._clients.requests[number])  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._parts += data
        head, separator, body = self._parts.partition(b"\r\n\r\n")
        if separator and len(body) >= int(head.lower().partition(b"content-length:")[2].partition(b"\r")[0]):
            number, self.number = self.number, -1
            self._clients.add(int(head[9:12]), time.perf_counter() - self._sent, number, body)
            self._clients.idle.append(self)
            self._clients.wake.set()

    def connection_lost(self, error: Exception | None) -> None:
        if self.number >= 0:
            self._clients.add(0, time.perf_counter() - self._sent, self.number, b"")
        elif self in self._clients.idle:
            self._clients.idle.remove(self)
        self._clients.n_open -= 1
        self._clients.wake.set()


class _Clients:
    """Connections to one service."""

    def __init__(self, port: int, requests: list[bytes], expected: list[bytes]) -> None:
        self._port, self.requests, self._expected = port, requests, expected
        self.idle: list[_Connection] = []
        self.n_open = self._n_waiting = 0
        self._answers, self._tasks = Answers(), set[asyncio.Task[None]]()

    def add(self, status: int, seconds: float, number: int, body: bytes) -> None:
        """Note the end of a request."""
        self._n_waiting -= 1
        self._answers.seconds.setdefault(status, []).append(seconds)
        if status == 200 and self._expected:
            self._answers.wrong += essence(body) != self._expected[number]

    def _send(self, count: int) -> None:
        """Send a request on an idle connection, or on a new one."""
        number, start = count % len(self.requests), time.perf_counter()
        self._n_waiting += 1
        if self.idle:
            self.idle.pop().send(number, start)
            return
        self.n_open += 1
        task = asyncio.create_task(self._send_new(number, start))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send_new(self, number: int, start: float) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(lambda: _Connection(self), "127.0.0.1", self._port)
        except OSError:
            self.n_open -= 1
            self.add(0, time.perf_counter() - start, number, b"")
            self.wake.set()
            return
        connection.send(number, start)

    async def closed(self, clients: int, seconds: float) -> Answers:
        """Send requests of some clients, each when it has its last answer."""
        self.wake, start, processor, count = asyncio.Event(), time.perf_counter(), time.process_time(), 0
        while (now := time.perf_counter() - start) < seconds or (self._n_waiting and now < seconds + PATIENCE):
            for _ in range(clients - self._n_waiting if now < seconds else 0):
                self._send(count)
                count += 1
            await self._wait(1.0)
        return self._finish(start, processor)

    async def open(self, per_second: float, seconds: float) -> Answers:
        """Send requests at a rate."""
        self.wake, start, processor, count = asyncio.Event(), time.perf_counter(), time.process_time(), 0
        n_requests = int(per_second * seconds)
        while (now := time.perf_counter() - start) < seconds + PATIENCE and (count < n_requests or self._n_waiting):
            due = min(n_requests, int(now * per_second) + 1)
            for number in range(count, due):
                if self.idle or self.n_open < MOST_CONNECTIONS:
                    self._send(number)
                else:
                    self._answers.not_sent += 1
            count = due
            await self._wait(max(0.0, count / per_second - now) if count < n_requests else 1.0)
        return self._finish(start, processor)

    async def _wait(self, seconds: float) -> None:
        """Wait for an answer, or so long."""
        self.wake.clear()
        try:
            await asyncio.wait_for(self.wake.wait(), seconds)
        except TimeoutError:
            return

    def _finish(self, start: float, processor: float) -> Answers:
        answers = self._answers
        answers.elapsed, answers.processor = time.perf_counter() - start, time.process_time() - processor
        answers.unanswered = self._n_waiting
        return answers
