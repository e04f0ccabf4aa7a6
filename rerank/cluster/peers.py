"""Connections between the workers of a training: sockets, encrypted where the cluster is, with a secret of the job.

A message is its length in 8 bytes and its content. Both sides of a connection prove that they know the secret of the
job before anything else is read.
"""

from __future__ import annotations

import hmac
import secrets
import select
import socket
import ssl
import struct
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress

LENGTH = struct.Struct("<Q")
NONCE_BYTES = 32
LISTENS, CONNECTS = b"listens", b"connects"
MOST_BYTES = 1 << 40  # of a message
SETUP_SECONDS = 60.0
PROOF_SECONDS = 10.0  # for the other side of a connection to prove itself
POLL_SECONDS = 0.5
TRIES_BEFORE_WAITING = 50  # a message of a worker nearby is there within microseconds


class PeerLostError(Exception):
    """A worker of the training that no longer answers; the training goes on with the others."""


class SocketPeers:
    """The workers of a training, see `rerank.trees.shards.Peers`.

    rank, size  number of this worker and of all
    sent        bytes that this worker has sent
    """

    def __init__(self, rank: int, size: int, is_aborted: Callable[[], bool]) -> None:
        self.rank, self.size, self.sent = rank, size, 0
        self._is_aborted = is_aborted
        self._sockets: dict[int, socket.socket] = {}
        self._incoming: defaultdict[int, _Incoming] = defaultdict(_Incoming)

    def connect(
        self,
        listener: socket.socket,
        addresses: Sequence[tuple[str, int]],
        secret: bytes,
        contexts: tuple[ssl.SSLContext | None, ssl.SSLContext | None],
    ) -> None:
        """Connect to the workers of lower rank, and wait for those of higher rank.

        addresses  of each worker's listener
        contexts   TLS of the listening and of the connecting side; None is no encryption
        """
        until = time.monotonic() + SETUP_SECONDS
        try:
            for rank in range(self.rank):
                raw = socket.create_connection(addresses[rank], timeout=SETUP_SECONDS)
                self._add(rank, raw if contexts[1] is None else contexts[1].wrap_socket(raw), secret)
                self._sockets[rank].sendall(LENGTH.pack(self.rank))
            while len(self._sockets) < self.size - 1:
                self._accept(listener, until, secret, contexts[0])
        except (OSError, ssl.SSLError) as error:
            raise PeerLostError(str(error)) from error
        for each in self._sockets.values():
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            each.setblocking(False)

    def _accept(self, listener: socket.socket, until: float, secret: bytes, context: ssl.SSLContext | None) -> None:
        """Accept a connection; one that does not know the secret is closed."""
        listener.settimeout(POLL_SECONDS)
        if self._is_aborted() or time.monotonic() > until:
            raise PeerLostError("a worker did not connect")
        raw: socket.socket | None = None
        try:
            raw, _ = listener.accept()
            raw.settimeout(PROOF_SECONDS)
            connected = raw if context is None else context.wrap_socket(raw, server_side=True)
            _authenticate(connected, secret, LISTENS)
            (rank,) = LENGTH.unpack(_exactly(connected, LENGTH.size))
        except (OSError, PeerLostError):  # also where nobody connected in time
            if raw is not None:
                raw.close()
            return
        if self.rank < rank < self.size and rank not in self._sockets:
            self._sockets[rank] = connected

    def _add(self, rank: int, connected: socket.socket, secret: bytes) -> None:
        _authenticate(connected, secret, CONNECTS)
        self._sockets[rank] = connected

    def close(self) -> None:
        """Close all connections."""
        for each in self._sockets.values():
            with suppress(OSError):
                each.close()
        self._sockets = {}

    def exchange(self, messages: Sequence[bytes | memoryview]) -> list[memoryview]:
        """Send a message to each process, and return that of each; the own one comes back."""
        incoming = {rank: self._expect(rank) for rank in self._sockets}
        self._transfer({rank: _framed(messages[rank]) for rank in self._sockets}, incoming)
        return [
            memoryview(messages[rank]) if rank == self.rank else incoming[rank].content for rank in range(self.size)
        ]

    def send(self, to: int, message: bytes | memoryview) -> None:
        """Send a message to one process."""
        self._transfer({to: _framed(message)}, {})

    def receive(self, source: int) -> memoryview:
        """Return the next message of one process."""
        incoming = {source: self._expect(source)}
        self._transfer({}, incoming)
        return incoming[source].content

    def _expect(self, rank: int) -> _Incoming:
        """Return what receives the next message of a worker, in the memory of its last one."""
        incoming = self._incoming[rank]
        incoming.start()
        return incoming

    def _transfer(self, outgoing: dict[int, deque[memoryview]], incoming: dict[int, _Incoming]) -> None:
        """Send and receive whole messages, all at once: a worker that only sent would wait for one that only sends."""
        self.sent += sum(len(part) for parts in outgoing.values() for part in parts)
        outgoing, incoming, tries = dict(outgoing), dict(incoming), 0
        while outgoing or incoming:
            moved = False
            for rank, parts in list(outgoing.items()):
                n_sent = self._try(self._sockets[rank].send, parts[0])
                if n_sent:
                    moved, parts[0] = True, parts[0][n_sent:]
                    if not parts[0]:
                        parts.popleft()
                    if not parts:
                        del outgoing[rank]
            for rank in list(incoming):
                n_read = self._try(self._sockets[rank].recv_into, incoming[rank].space)
                if n_read is not None:
                    if n_read == 0:
                        raise PeerLostError(f"worker {rank} closed the connection")
                    moved = True
                    if incoming[rank].add(n_read):
                        del incoming[rank]
            tries = 0 if moved else tries + 1
            if tries > TRIES_BEFORE_WAITING:
                self._wait(outgoing, incoming)

    def _try(self, call: Callable[[memoryview], int], buffer: memoryview) -> int | None:
        """Return the bytes that were moved; None where the connection is not ready."""
        try:
            return call(buffer)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except OSError as error:
            raise PeerLostError(str(error)) from error

    def _wait(self, outgoing: dict[int, deque[memoryview]], incoming: dict[int, _Incoming]) -> None:
        readable = [self._sockets[rank] for rank in {*incoming, *outgoing}]  # TLS may have to read before it writes
        select.select(readable if incoming else [], [self._sockets[rank] for rank in outgoing], [], POLL_SECONDS)
        if self._is_aborted():
            raise PeerLostError("the training was interrupted")


class _Incoming:
    """The messages of a worker, one after the other in the same memory."""

    def __init__(self) -> None:
        self._memory = memoryview(bytearray(LENGTH.size))
        self.start()

    def start(self) -> None:
        """Expect the next message."""
        self._buffer, self._n_read, self._has_length = self._memory[: LENGTH.size], 0, False

    @property
    def space(self) -> memoryview:
        """Where the next bytes go."""
        return self._buffer[self._n_read :]

    def add(self, n_read: int) -> bool:
        """Take note of received bytes; return whether the message is complete."""
        self._n_read += n_read
        if self._n_read < len(self._buffer):
            return False
        if self._has_length:
            return True
        (length,) = LENGTH.unpack(self._buffer)
        if length > MOST_BYTES:
            raise PeerLostError("a message of impossible length")
        if length > len(self._memory):
            self._memory = memoryview(bytearray(length))
        self._buffer, self._n_read, self._has_length = self._memory[:length], 0, True
        return not length

    @property
    def content(self) -> memoryview:
        """The message."""
        return self._buffer


def _framed(message: bytes | memoryview) -> deque[memoryview]:
    parts = deque([memoryview(LENGTH.pack(len(message)))])
    if len(message):
        parts.append(memoryview(message))
    return parts


def _authenticate(connected: socket.socket, secret: bytes, side: bytes) -> None:
    """Prove knowledge of the secret to the other side, and ask for its proof.

    A proof is the HMAC of the own side and of a number that the other one chose: a proof that a worker gave on another
    connection, as the same side, is none.
    """
    nonce, other = secrets.token_bytes(NONCE_BYTES), LISTENS if side == CONNECTS else CONNECTS
    connected.sendall(nonce)
    theirs = _exactly(connected, NONCE_BYTES)
    connected.sendall(hmac.digest(secret, side + theirs, "sha256"))
    if not hmac.compare_digest(_exactly(connected, 32), hmac.digest(secret, other + nonce, "sha256")):
        connected.close()
        raise PeerLostError("a connection without the secret of the training")


def _exactly(connected: socket.socket, n_bytes: int) -> bytes:
    content = b""
    while len(content) < n_bytes:
        part = connected.recv(n_bytes - len(content))
        if not part:
            raise PeerLostError("a connection was closed")
        content += part
    return content
