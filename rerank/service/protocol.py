"""uvicorn's HTTP/1.1 protocol with limits: slow clients lose their connection, faults are answered as JSON.

The parser is httptools' where it is installed, otherwise h11's, which takes several times as long.
"""

from __future__ import annotations

import json
import time
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rerank.service.counters import Counters
from rerank.service.faults import ServiceError
from rerank.service.settings import Limits

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    HttpToolsProtocol = object  # type: ignore[assignment, misc]
HAS_HTTPTOOLS = hasattr(HttpToolsProtocol, "data_received")

_GRACE = 1.0  # seconds after which the application has answered a slow body itself
MOST_HEAD = 1 << 15  # bytes of a request that are not its body: its line, headers, trailers, extensions of chunks
_READ = 1 << 14  # bytes that are read at once, so that few requests are parsed before the first one is answered
_MOST_PIPELINED = 100
_HEADER = 32  # bytes that a header counts beside its text, as in HTTP/2: its objects take memory, too


class Guarded:
    """One connection, whatever parser it has; `sweep` is called about once a second.

    _reading_since  since when a request, or the first byte of a connection, is awaited
    _idle_since     since when nothing is being answered
    """

    limits: ClassVar[Limits]
    counters: ClassVar[Counters]
    transport: Any
    connections: Any
    cycle: Any
    _reading_since: float | None = None
    _idle_since = 0.0
    _writing_since: float | None = None
    _written: Any = None
    _drops = False  # nothing more is read

    def connection_made(self, transport: Any) -> None:
        """Take the connection; where there are too many, close the one that idles for longest, or else this one."""
        super().connection_made(transport)  # type: ignore[misc]
        transport.max_size = _READ
        self._reading_since = self._idle_since = time.monotonic()
        if len(self.connections) > self.limits.connections:
            self.counters.add("rerank_refused_total", reason="connections")
            others = [each for each in self.connections if each is not self and each.is_idle()]
            if others:
                min(others, key=lambda each: each._idle_since).transport.abort()
                return
            fault = ServiceError(503, "service", "fewer connections", "too many", "Try again later.")
            self.transport.write(_raw_answer(fault, b"Service Unavailable"))
            self.transport.close()

    def is_idle(self) -> bool:
        """Return whether no whole request waits for its answer."""
        if self.transport.is_closing():
            return False
        if self._reading_since is not None or self.cycle is None:
            return True
        return self.cycle.response_complete and not self.transport.get_write_buffer_size()

    def data_received(self, data: bytes) -> None:
        """Take bytes, unless the connection is being closed."""
        if self._drops or self.transport.is_closing():
            return
        super().data_received(data)  # type: ignore[misc]
        if not self._drops:
            self._note_arrival()

    def on_response_complete(self) -> None:
        """Take the next request."""
        super().on_response_complete()  # type: ignore[misc]
        self._idle_since = time.monotonic()
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
        answer_begun = self._answer_has_begun()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if answer_begun or self.transport.is_closing():
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
        if not self._is_incomplete():
            self._reading_since = None
        elif self._reading_since is None:
            self._reading_since = time.monotonic()

    def _is_incomplete(self) -> bool:
        """Return whether a part of a request has arrived that the client should complete."""
        raise NotImplementedError

    def _answer_has_begun(self) -> bool:
        """Return whether a part of an answer has been sent."""
        raise NotImplementedError


class H11Connection(Guarded, H11Protocol):
    """A connection whose parser is h11's."""

    def _is_incomplete(self) -> bool:
        state = self.conn.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))

    def _answer_has_begun(self) -> bool:
        return self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE)


class HttpToolsConnection(Guarded, HttpToolsProtocol):  # type: ignore[valid-type, misc]
    """A connection whose parser is httptools': it has no limits, and cannot ignore an offered upgrade."""

    _begun = _in_head = False  # a request, and its head, has begun and is not complete
    _upgrades = False
    _bytes, _requests = b"", 0  # what has arrived since a request began, until its head is complete; requests in it
    _header_bytes = _other_bytes = 0  # of the request's headers and trailers; what has arrived since its last body

    def data_received(self, data: bytes) -> None:
        """Take bytes."""
        if self._drops:
            return
        if not self._begun:
            self._bytes, self._requests = b"", 0
        if self._in_head or not self._begun:
            self._bytes += data
        self._other_bytes += len(data)
        super().data_received(data)
        if not self._in_head:
            self._bytes = b""
        if self._begun and self._other_bytes > MOST_HEAD and not self._drops:
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._begun = self._in_head = True
        self._requests += 1
        self._header_bytes = self._other_bytes = 0
        if len(self.pipeline) >= _MOST_PIPELINED:
            raise ValueError("too many requests that wait for their answers")
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header or a trailer; an error here is answered with 400."""
        self._header_bytes += len(name) + len(value) + _HEADER
        if self._header_bytes > MOST_HEAD:
            raise ValueError("headers that are too long")
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._other_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Begin the answer; an error here is answered with 400."""
        self._upgrades = self.parser.should_upgrade()
        hosts = sum(name == b"host" for name, _ in self.headers)
        if self._upgrades or hosts > 1 or hosts < (self.parser.get_http_version() == "1.1"):
            raise ValueError("a head that has not one Host, or offers another protocol")
        self._in_head = False
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """Take the next request, and read more when there is none."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """End a request."""
        self._begun = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP; one that offers another protocol is answered in HTTP/1.1, by h11.

        Java's HttpClient offers HTTP/2 in this way. httptools takes what follows such a head for the other protocol.
        """
        if not self._upgrades or self._requests != 1 or not (self.cycle is None or self.cycle.response_complete):
            super().send_400_response(msg)
            return
        self._drops, self._upgrades = True, False
        self.connections.discard(self)
        other = _class_of(H11Connection, self.limits, self.counters)(
            self.config, self.server_state, self.app_state, self.loop
        )
        self.transport.set_protocol(other)
        other.connection_made(self.transport)
        other.data_received(self._bytes)

    def _is_incomplete(self) -> bool:
        return self._begun and not self.pipeline

    def _answer_has_begun(self) -> bool:
        self.pipeline.clear()
        if self.cycle is None or not self.cycle.response_started:
            return False
        return not self.cycle.response_complete or (self._begun and not self._in_head)


def protocol_of(limits: Limits, counters: Counters) -> type[Any]:
    """Return the class of connections with limits; their parser is the fastest that is installed."""
    return _class_of(HttpToolsConnection if HAS_HTTPTOOLS else H11Connection, limits, counters)


def _class_of(base: type[Any], limits: Limits, counters: Counters) -> type[Any]:
    return type("Connection", (base,), {"limits": limits, "counters": counters})


def _raw_answer(fault: ServiceError, reason: bytes) -> bytes:
    """Return an answer as bytes, for connections without a request."""
    body = json.dumps(fault.body("")).encode()
    head = b"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    return head % (fault.status, reason, len(body)) + body
