"""Clients of an HTTP service on the loopback: little work of their own, so that the service is what is measured."""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_CONNECTIONS = 900


@dataclass
class Answers:
    """What the clients got: seconds of each request by status, and answers that were wrong."""

    seconds: dict[int, list[float]] = field(default_factory=dict)  # 0: the connection broke
    wrong: int = 0
    elapsed: float = 0.0
    not_sent: int = 0  # for want of a connection

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

    def counts(self) -> dict[int, int]:
        """Return the number of requests by status."""
        return dict(sorted(Counter({status: len(each) for status, each in self.seconds.items()}).items()))


def request(path: str, body: Mapping[str, Any]) -> bytes:
    """Return the bytes of a request."""
    text = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}"
    return head.encode() + b"\r\n\r\n" + text


def essence(body: bytes) -> Any:
    """Return what is the same in each answer to a request."""
    return json.loads(body).get("results")


def closed_loop(port: int, requests: Sequence[bytes], clients: int, seconds: float) -> Answers:
    """Return the answers to clients of which each sends its next request when it has its answer."""
    return _elsewhere("closed", port, requests, {"clients": clients, "seconds": seconds})


def open_loop(
    port: int, requests: Sequence[bytes], per_second: float, seconds: float, expected: Sequence[Any] | None = None
) -> Answers:
    """Return the answers to requests that are sent at a rate, whatever the service does."""
    return _elsewhere("open", port, requests, {"per_second": per_second, "seconds": seconds, "expected": expected})


def _elsewhere(kind: str, port: int, requests: Sequence[bytes], options: Mapping[str, Any]) -> Answers:
    """Run clients in a process of their own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_run, (kind, port, list(requests), dict(options)))


def _run(kind: str, port: int, requests: list[bytes], options: dict[str, Any]) -> Answers:
    loop = _closed if kind == "closed" else _open
    return asyncio.run(loop(port, requests, **options))


class _Client:
    """One connection, which is opened again when it breaks."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        """Return status and body; status 0 where the connection broke."""
        try:
            if self._reader is None or self._writer is None:
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
            self._writer.write(data)
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            return int(head[9:12]), await self._reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return 0, b""

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


async def _closed(port: int, requests: list[bytes], clients: int, seconds: float) -> Answers:
    answers, start = Answers(), time.perf_counter()

    async def work(first: int) -> None:
        client, number = _Client(port), first
        while (sent := time.perf_counter()) < start + seconds:
            status, _ = await client.ask(requests[number % len(requests)])
            answers.add(status, time.perf_counter() - sent)
            number += clients
        client.close()

    await asyncio.gather(*map(work, range(clients)))
    answers.elapsed = time.perf_counter() - start
    return answers


async def _open(
    port: int, requests: list[bytes], per_second: float, seconds: float, expected: Sequence[Any] | None
) -> Answers:
    answers, idle, tasks, n_clients = Answers(), list[_Client](), set[asyncio.Task[None]](), 0
    start = time.perf_counter()

    async def send(client: _Client, number: int) -> None:
        sent = time.perf_counter()
        status, body = await client.ask(requests[number])
        answers.add(status, time.perf_counter() - sent)
        if status == 200 and expected is not None and essence(body) != expected[number]:
            answers.wrong += 1
        idle.append(client)

    for count in range(int(per_second * seconds)):
        wait = start + count / per_second - time.perf_counter()
        if wait > 0 or count % 20 == 0:
            await asyncio.sleep(max(wait, 0.0))
        if not idle and n_clients >= MOST_CONNECTIONS:
            answers.not_sent += 1
            continue
        n_clients += not idle
        task = asyncio.create_task(send(idle.pop() if idle else _Client(port), count % len(requests)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    answers.elapsed = time.perf_counter() - start
    for client in idle:
        client.close()
    return answers
