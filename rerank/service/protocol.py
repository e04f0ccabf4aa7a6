"""uvicorn's HTTP/1.1 protocol with limits: slow clients lose their connection, faults are answered as JSON."""

from __future__ import annotations

import json
import time
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rerank.service.counters import Counters
from rerank.service.faults import ServiceError
from rerank.service.settings import Limits

_GRACE = 1.0  # seconds after which the application has answered a slow body itself


class GuardedProtocol(H11Protocol):
    """One connection; `sweep` is called about once a second."""

    limits: ClassVar[Limits]
    counters: ClassVar[Counters]
    _reading_since: float | None = None
    _writing_since: float | None = None
    _written: Any = None
    _drops = False  # nothing more is read

    def connection_made(self, transport: Any) -> None:
        """Take the connection, or refuse it where there are too many."""
        super().connection_made(transport)
        self._reading_since = time.monotonic()
        if len(self.connections) > self.limits.connections:
            self.counters.add("rerank_refused_total", reason="connections")
            fault = ServiceError(503, "service", "fewer connections", "too many", "Try again later.")
            self.transport.write(_raw_answer(fault, b"Service Unavailable"))
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless the connection is being closed."""
        if self._drops or self.transport.is_closing():
            return
        super().data_received(data)
        if not self._drops:
            self._note_arrival()

    def on_response_complete(self) -> None:
        """Take the next request."""
        super().on_response_complete()
        self._note_arrival()

    def sweep(self, now: float) -> None:
        """Drop the connection if a request does not arrive, or an answer is not taken, in time."""
        if self._reading_since is not None and now - self._reading_since > self.limits.read_seconds + _GRACE:
            self.counters.add("rerank_refused_total", reason="slow")
            self.transport.abort()
            return
        answer = self.cycle if self.transport.get_write_buffer_size() else None
        if answer is None or answer is not self._written:
            self._written, self._writing_since = answer, now
        elif self._writing_since is not None and now - self._writing_since > self.limits.write_seconds:
            self.counters.add("rerank_refused_total", reason="slow")
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP, unless an answer has begun; what the client still sends is dropped.

        The connection is closed when the client has closed it, or by `sweep`: if it were closed now, unread bytes would
        reset it, and the client might not get the answer.
        """
        self.counters.add("rerank_requests_total", path="other", code="4xx")
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE) or self.transport.is_closing():
            self.transport.close()
            return
        fault = ServiceError(400, "request", "HTTP/1.1", "bytes that are not", "Use an HTTP client.")
        self.transport.write(_raw_answer(fault, b"Bad Request"))
        self._drops = True
        try:
            self.transport.write_eof()
        except OSError:  # the client has gone
            self.transport.abort()
            return
        self._reading_since = time.monotonic()

    def _note_arrival(self) -> None:
        """Note since when a request is incomplete; the time goes on while bytes drip."""
        state = self.conn.their_state
        incomplete = state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))
        if not incomplete:
            self._reading_since = None
        elif self._reading_since is None:
            self._reading_since = time.monotonic()


def _raw_answer(fault: ServiceError, reason: bytes) -> bytes:
    """Return an answer as bytes, for connections without a request."""
    body = json.dumps(fault.body("")).encode()
    head = b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    return head % (fault.status, reason, len(body)) + body
