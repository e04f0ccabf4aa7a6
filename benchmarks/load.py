"""Clients of an HTTP service on the loopback: little work of their own, so that the service is what is measured.

One process, one thread, epoll, and requests that are bytes already: about 40 microseconds of processor time a request.
"""

from __future__ import annotations

import json
import math
import select
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measuring import in_process

MOST_CONNECTIONS = 900
_PATIENCE = 60.0  # seconds after the last request, in which its answer must have come
_AT_ONCE = 1 << 20  # bytes


@dataclass
class Answers:
    """What the clients got: seconds of each request by status, and answers that were wrong."""

    seconds: dict[int, list[float]] = field(default_factory=dict)  # 0: the connection broke
    wrong: int = 0
    elapsed: float = 0.0
    processor: float = 0.0  # seconds of the clients' own
    not_sent: int = 0  # for want of a connection
    unanswered: int = 0

    def add(self, status: int, seconds: float) -> None:
        """Add one request."""
        self.seconds.setdefault(status, []).append(seconds)

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
        self.wrong, self.not_sent = self.wrong + other.wrong, self.not_sent + other.not_sent
        self.elapsed, self.processor = self.elapsed + other.elapsed, self.processor + other.processor
        self.unanswered += other.unanswered

    def counts(self) -> dict[int, int]:
        """Return the number of requests by status."""
        return dict(sorted(Counter({status: len(each) for status, each in self.seconds.items()}).items()))


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
    return in_process(_closed, port, list(requests), clients, seconds).result


def open_loop(
    port: int, requests: Sequence[bytes], per_second: float, seconds: float, expected: Sequence[bytes]
) -> Answers:
    """Return the answers to requests that are sent at a rate, whatever the service does."""
    return in_process(_open, port, list(requests), per_second, seconds, list(expected)).result


def _closed(port: int, requests: list[bytes], clients: int, seconds: float) -> Answers:
    return _Clients(port, requests, None).closed(clients, seconds)


def _open(port: int, requests: list[bytes], per_second: float, seconds: float, expected: list[bytes]) -> Answers:
    return _Clients(port, requests, expected).open(per_second, seconds)


class _Connection:
    """A connection, and the request that it waits for."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number, self.sent, self.missing = 0, 0.0, 0
        self.parts: list[bytes] = []

    def answer(self) -> tuple[int, bytes] | None:
        """Return status and body of a whole answer, status 0 where the connection broke; None before that."""
        try:
            part = self.socket.recv(_AT_ONCE)
        except OSError:
            part = b""
        if not part:
            return 0, b""
        self.parts.append(part)
        self.missing -= len(part)
        if self.missing > 0:
            return None
        whole = part if len(self.parts) == 1 else b"".join(self.parts)
        head, separator, body = whole.partition(b"\r\n\r\n")
        if not separator:
            return None
        length = head.lower().partition(b"content-length:")[2].partition(b"\r")[0]
        self.missing = int(length) - len(body)
        if self.missing > 0:
            self.parts = [whole]
            return None
        self.parts = []
        return int(head[9:12]), body


class _Clients:
    """Connections to one service."""

    def __init__(self, port: int, requests: list[bytes], expected: Sequence[bytes] | None) -> None:
        self._port, self._requests, self._expected = port, requests, expected
        self._poll, self._busy = select.epoll(), dict[int, _Connection]()
        self._idle: list[_Connection] = []
        self._answers = Answers()

    def closed(self, clients: int, seconds: float) -> Answers:
        """Send requests of some clients, each when it has its last answer."""
        start, processor, count = time.perf_counter(), time.process_time(), 0
        end = start + seconds
        while (now := time.perf_counter()) < end or (self._busy and now < end + _PATIENCE):
            for _ in range(clients - len(self._busy) if now < end else 0):
                self._send(count)
                count += 1
            self._take(1.0)
        return self._finish(start, processor)

    def open(self, per_second: float, seconds: float) -> Answers:
        """Send requests at a rate."""
        start, processor = time.perf_counter(), time.process_time()
        count, n_requests = 0, int(per_second * seconds)
        while count < n_requests or self._busy:
            now = time.perf_counter()
            due = min(n_requests, int((now - start) * per_second) + 1)
            for number in range(count, due):
                if self._idle or len(self._busy) < MOST_CONNECTIONS:
                    self._send(number)
                else:
                    self._answers.not_sent += 1
            count = due
            if now > start + seconds + _PATIENCE:
                break
            self._take(max(0.0, start + count / per_second - now) if count < n_requests else 1.0)
        return self._finish(start, processor)

    def _send(self, number: int) -> None:
        """Send a request on a connection without one, or on a new one."""
        number %= len(self._requests)
        start = time.perf_counter()
        connection = self._idle.pop() if self._idle else self._opened()
        if connection is None:
            self._answers.add(0, time.perf_counter() - start)
            return
        connection.number, connection.sent = number, start
        self._busy[connection.socket.fileno()] = connection
        with suppress(OSError):  # a connection that broke is reported by the next poll
            connection.socket.sendall(self._requests[number])

    def _opened(self) -> _Connection | None:
        """Return a new connection, or None where the service takes none."""
        try:
            connection = _Connection(self._port)
        except OSError:
            return None
        self._poll.register(connection.socket.fileno(), select.EPOLLIN)
        return connection

    def _take(self, wait: float) -> None:
        """Take the answers that have come, or that come while one waits."""
        for descriptor, _ in self._poll.poll(wait):
            connection = self._busy.get(descriptor)
            if connection is None:  # closed by the service while idle
                self._close(next(each for each in self._idle if each.socket.fileno() == descriptor))
                continue
            answer = connection.answer()
            if answer is None:
                continue
            status, body = answer
            del self._busy[descriptor]
            self._answers.add(status, time.perf_counter() - connection.sent)
            if status == 200 and self._expected is not None:
                self._answers.wrong += essence(body) != self._expected[connection.number]
            self._idle.append(connection)
            if status == 0:
                self._close(connection)

    def _close(self, connection: _Connection) -> None:
        """Close a connection without a request."""
        self._idle.remove(connection)
        self._poll.unregister(connection.socket.fileno())
        connection.socket.close()

    def _finish(self, start: float, processor: float) -> Answers:
        """Close all connections; return the answers."""
        answers = self._answers
        answers.elapsed, answers.processor = time.perf_counter() - start, time.process_time() - processor
        answers.unanswered = len(self._busy)
        for connection in [*self._idle, *self._busy.values()]:
            connection.socket.close()
        self._poll.close()
        return answers
