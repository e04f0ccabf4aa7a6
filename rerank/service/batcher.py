"""The queue between the requests and the kernels: one thread takes what waits, and computes it together.

The first request is computed at once, and those that arrive meanwhile form the next batch. After a batch of several,
the next one waits some milliseconds for as many: the clients send their next requests when they have their answers,
and otherwise the first of these would be computed alone.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from starlette.requests import ClientDisconnect

from rerank.service.counters import Counters
from rerank.service.faults import internal, overloaded, too_late
from rerank.service.jobs import Job
from rerank.service.settings import Limits

log = logging.getLogger("rerank")
_FIRST_GUESS = 50e-6  # seconds for a row, until there is a measurement
_WEIGHT = 0.1  # of a new measurement in the moving average
_LINGER, _STEP = 0.005, 0.0005  # seconds after a batch of several, and between two looks at the queue
_MARGIN = 0.5  # share of the time left that the work before a request, and its own, may be expected to take


class Batcher:
    """A bounded queue of jobs, and the thread that computes them.

    Parameters
    ----------
    answer : callable
        Sets `answer` or `fault` of each of some jobs; it is called on one thread only.
    limits : Limits
        Number of waiting jobs, and rows of a batch.
    counters : Counters
        Where batches and refusals are counted.

    """

    def __init__(self, answer: Callable[[Sequence[Job]], None], limits: Limits, counters: Counters) -> None:
        self._answer, self._limits, self._counters = answer, limits, counters
        self._queue: deque[tuple[Job, asyncio.Future[None]]] = deque()
        self._changed = threading.Condition()
        self._rows = 0  # of the jobs that wait or are being computed
        self._second_per_row = _FIRST_GUESS
        self._ends = False
        self._thread = threading.Thread(target=self._work, name="rerank-kernels", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the jobs that wait."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join()

    async def submit(self, job: Job, gone: asyncio.Future[Any] | None = None) -> Any:
        """Return a job's answer; raises ServiceError where it has none, or none in time.

        `gone` is done when the client has gone: the job is then dropped, and ClientDisconnect raised.
        """
        expected = (self._rows + job.rows) * self._second_per_row
        left = job.deadline - time.monotonic()
        if len(self._queue) >= self._limits.waiting or (self._rows and expected > _MARGIN * left):
            self._counters.add("rerank_refused_total", reason="queue")
            raise overloaded(self._rows * self._second_per_row)
        done = self._put(job)
        timer = done.get_loop().call_later(max(left, 0.0), _fail, done, TimeoutError())
        if gone is not None:
            gone.add_done_callback(lambda _: _fail(done, ClientDisconnect()))
        try:
            await done
        except TimeoutError:
            self._counters.add("rerank_refused_total", reason="deadline")
            raise too_late() from None
        finally:
            timer.cancel()
            job.dropped = True
        if job.fault is not None:
            raise job.fault
        return job.answer

    async def call(self, task: Callable[[], Any]) -> Any:
        """Return what a task returns on the thread of the kernels, between two batches."""
        job = _Task(task)
        await self._put(job)
        if job.fault is not None:
            raise job.fault
        return job.answer

    def _put(self, job: Job) -> asyncio.Future[None]:
        """Append a job to the queue; return what is done when it has an answer or a fault."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._changed:
            self._queue.append((job, done))
            self._rows += job.rows
            self._changed.notify()
        return done

    @property
    def waiting(self) -> int:
        """Number of jobs that wait."""
        return len(self._queue)

    def _work(self) -> None:
        size, ended = 0, 0.0
        while True:
            with self._changed:
                while not self._queue and not self._ends:
                    self._changed.wait()
                if not self._queue:
                    return
            while 1 < size > len(self._queue) and not self._ends and time.monotonic() < ended + _LINGER:
                time.sleep(_STEP)
            with self._changed:
                batch = self._next_batch()
            self._compute([job for job, _ in batch])
            with self._changed:
                self._rows -= sum(job.rows for job, _ in batch)
            _settle([done for _, done in batch])
            size, ended = len(batch), time.monotonic()

    def _next_batch(self) -> list[tuple[Job, asyncio.Future[None]]]:
        """Take jobs from the queue, up to the rows of a batch; one job may have more."""
        batch = [self._queue.popleft()]
        rows = batch[0][0].rows
        while self._queue and rows + self._queue[0][0].rows <= self._limits.batch_rows:
            batch.append(self._queue.popleft())
            rows += batch[-1][0].rows
        return batch

    def _compute(self, jobs: list[Job]) -> None:
        """Compute those jobs that somebody waits for."""
        wanted: list[Job] = []
        for job in jobs:
            if job.is_late():
                job.fault = too_late()
            else:
                wanted.append(job)
        if not wanted:
            return
        start = time.perf_counter()
        try:
            for task in wanted:
                if isinstance(task, _Task):
                    task.run()
            if requests := [job for job in wanted if not isinstance(job, _Task)]:
                self._answer(requests)
        except Exception as error:
            log.error("a batch of %d requests failed", len(wanted), exc_info=error)
            for job in wanted:
                job.fault = job.fault or internal()
        rows = sum(job.rows for job in wanted)
        if rows:
            self._second_per_row += _WEIGHT * ((time.perf_counter() - start) / rows - self._second_per_row)
            self._counters.add("rerank_batches_total")
            self._counters.add("rerank_batched_requests_total", len(wanted))
            self._counters.add("rerank_rows_total", rows)


class _Task(Job):
    """A call that runs on the thread of the kernels."""

    def __init__(self, task: Callable[[], Any]) -> None:
        super().__init__("")
        self._task = task

    @property
    def rows(self) -> int:
        return 0

    def run(self) -> None:
        try:
            self.answer = self._task()
        except Exception as error:
            self.fault = error


def _settle(batch: list[asyncio.Future[None]]) -> None:
    """Tell those who wait for a batch that it is computed: one call of each event loop, of which there is one."""
    for loop in {done.get_loop() for done in batch}:
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(_succeed, [done for done in batch if done.get_loop() is loop])


def _succeed(batch: list[asyncio.Future[None]]) -> None:
    for done in batch:
        if not done.done():
            done.set_result(None)


def _fail(done: asyncio.Future[None], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
