"""Connections between the workers of a training."""

from __future__ import annotations

import hmac
import socket
import threading
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is not installed (pip install 'lucene-rerank[cluster]')")

from rerank.cluster.peers import PeerLostError, SocketPeers


def connected(size: int, secrets: list[bytes]) -> list[Any]:
    """Return connected peers, or the error of each."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(size)]
    addresses = [("127.0.0.1", listener.getsockname()[1]) for listener in listeners]
    results: list[Any] = [None] * size
    aborted = threading.Event()

    def connect(rank: int) -> None:
        peers = SocketPeers(rank, size, aborted.is_set)
        try:
            peers.connect(listeners[rank], addresses, secrets[rank], (None, None))
            results[rank] = peers
        except PeerLostError as error:
            results[rank] = error
            aborted.set()

    threads = [threading.Thread(target=connect, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for listener in listeners:
        listener.close()
    return results


def test_large_messages_are_exchanged_at_once() -> None:
    peers = connected(3, [b"secret"] * 3)
    received: list[Any] = [None] * 3

    def exchange(rank: int) -> None:
        received[rank] = peers[rank].exchange([bytes([rank, to]) * 3_000_000 for to in range(3)])

    threads = [threading.Thread(target=exchange, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for rank in range(3):
        assert [bytes(message[:4]) for message in received[rank]] == [bytes([source, rank] * 2) for source in range(3)]
        assert all(len(message) == 6_000_000 for message in received[rank])
        peers[rank].close()


def test_an_empty_message_arrives() -> None:
    first, second = connected(2, [b"secret"] * 2)
    first.send(1, b"")
    assert bytes(second.receive(0)) == b""
    first.close()
    with pytest.raises(PeerLostError, match="closed"):
        second.receive(0)
    second.close()


def test_a_connection_without_the_secret_is_refused() -> None:
    results = connected(2, [b"secret", b"another"])
    assert all(isinstance(result, PeerLostError) for result in results)


def test_a_reflected_proof_is_refused() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    errors: list[Any] = []

    def listen() -> None:
        peers = SocketPeers(0, 2, lambda: bool(errors))
        try:
            peers.connect(listener, [listener.getsockname()], b"secret", (None, None))
        except PeerLostError as error:
            errors.append(error)

    thread = threading.Thread(target=listen)
    thread.start()
    with socket.create_connection(listener.getsockname()) as intruder:
        intruder.sendall(intruder.recv(32))  # the same number, whose proof comes back
        intruder.sendall(intruder.recv(32) or hmac.digest(b"", b"", "sha256"))
        intruder.settimeout(5)
        assert intruder.recv(1) == b""
    errors.append("stop")
    thread.join(20)
    listener.close()
    assert not thread.is_alive()
