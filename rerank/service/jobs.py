"""The queue between requests and the kernels: one thread computes together what waits.

The first request is computed at once, and those that arrive meanwhile form the next batch. After a batch of several,
the next one waits some milliseconds for as many: the clients send their next requests when they have their answers,
and otherwise the first of these would be computed alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
from prometheus_client import Counter
from starlette.requests import ClientDisconnect

from rerank.service.bodies import Job
from rerank.service.settings import Limits, internal, overloaded, too_late

log = logging.getLogger("rerank")
_LINGER = 0.005  # seconds after a batch of several
_STEP = 0.001  # between two looks at the queue
_NEWEST = 0.2  # share of the newest batch in the mean of the seconds of a request
REFUSED = Counter("rerank_refused", "Requests that were not computed.", ["reason"])
BATCHES = Counter("rerank_batches", "Batches of requests that went to the kernels.")
BATCHED = Counter("rerank_batched_requests", "Requests in these batches.")
ROWS = Counter("rerank_rows", "Query-document pairs in these batches.")


def json_bytes(content: object) -> bytes:
    """Return a value as JSON in UTF-8; a half surrogate pair, which UTF-8 cannot hold, is written as `?`."""
    try:
        return orjson.dumps(content)
    except TypeError:  # half surrogate pairs and integers beyond 64 bits, which the standard library writes
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


class Batcher:
    """A bounded queue of jobs, and the thread that computes them; `answer` sets `answer` or `fault` of each job.

    All but `answer` runs on the event loop.
    """

    def __init__(self, answer: Callable[[Sequence[Job]], None], limits: Limits) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="rerank-kernels")
        self._answer = answer
        self._limits = limits
        self._queue: deque[tuple[Job, asyncio.Future[None]]] = deque()
        self._working: asyncio.Task[None] | None = None
        self._computed = 0  # jobs that are being computed
        self._seconds = 0.0  # recent mean for a request

    @property
    def waiting(self) -> int:
        """Number of jobs that wait."""
        return len(self._queue)

    def check(self) -> None:
        """Raise ServiceError where a further job would wait too long; one may always wait."""
        expected = (self.waiting + self._computed) * self._seconds if self.waiting else 0.0
        if self.waiting >= self._limits.waiting or expected > self._limits.wait_seconds:
            REFUSED.labels("queue").inc()
            raise overloaded()

    async def submit(self, job: Job, gone: asyncio.Future[Any] | None = None) -> Any:
        """Return a job's answer; raises ServiceError where it has none, or none in time.

        `gone` is done when the client has gone: the job is then dropped, and ClientDisconnect raised.
        """
        self.check()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((job, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        awaited = [done] if gone is None else [done, gone]
        try:
            left = max(job.deadline - time.monotonic(), 0.0)
            await asyncio.wait(awaited, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            job.deadline = 0.0  # nobody waits any more
        if not done.done():
            if gone is not None and gone.done():
                raise ClientDisconnect
            REFUSED.labels("deadline").inc()
            raise too_late()
        if job.fault is not None:
            raise job.fault
        return job.answer

    async def _work(self) -> None:
        """Compute what waits, batch after batch."""
        loop = asyncio.get_running_loop()
        while self._queue:
            batch = self._next_batch()
            self._computed = len(batch)
            begin = loop.time()
            await loop.run_in_executor(self.thread, self._compute, [job for job, _ in batch])
            for _, done in batch:
                done.set_result(None)
            self._computed = 0
            end = loop.time()
            self._seconds += _NEWEST * ((end - begin) / len(batch) - self._seconds)
            while 1 < len(batch) > self.waiting and loop.time() < end + _LINGER:
                await asyncio.sleep(_STEP)

    def _next_batch(self) -> list[tuple[Job, asyncio.Future[None]]]:
        """Take jobs from the queue, up to the rows of a batch; one job may have more."""
        batch = [self._queue.popleft()]
        rows = batch[0][0].rows
        while self._queue and rows + self._queue[0][0].rows <= self._limits.batch_rows:
            batch.append(self._queue.popleft())
            rows += batch[-1][0].rows
        return batch

    def _compute(self, jobs: Sequence[Job]) -> None:
        """Compute those jobs that somebody waits for."""
        awaited = [job for job in jobs if not job.is_late()]
        if not awaited:
            return
        BATCHES.inc()
        BATCHED.inc(len(awaited))
        ROWS.inc(sum(job.rows for job in awaited))
        try:
            self._answer(awaited)
        except Exception as error:
            log.error("a batch of %d requests failed", len(awaited), exc_info=error)
            for job in awaited:
                job.fault = job.fault or internal()
