"""Requests as plain records, and the queue between them and the kernels: one thread computes together what waits.

The first request is computed at once, and those that arrive meanwhile form the next batch. After a batch of several,
the next one waits some milliseconds for as many: the clients send their next requests when they have their answers,
and otherwise the first of these would be computed alone.

Which of two rankings a request gets, or what one list of both holds: drawn for each session, the same each time.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import orjson
from numpy.typing import ArrayLike
from prometheus_client import Counter
from starlette.requests import ClientDisconnect

from rerank.pipeline.applying import Cutoff
from rerank.service.appending import Lines
from rerank.service.settings import Limits, ServiceError, internal, overloaded, too_late
from rerank.types.passages import Passage


@dataclass(frozen=True)
class Comparison:
    """Two rankings that share one list.

    Parameters
    ----------
    names : tuple of str
        Their names.
    session : str
        The session; lists for one query and session are equal.

    """

    names: tuple[str, str]
    session: str

    def seed(self, query: str) -> int:
        """Return the seed of all chance in the list for a query."""
        return _number(*self.names, self.session, query)


def compared(names: str, session: str | None) -> Comparison:
    """Return the comparison of `A,B`; raises ServiceError."""
    return Comparison(_two("compare", names), session or secrets.token_hex(8))


def assigned(names: str, session: str | None) -> str:
    """Return which ranking of `A,B` a session gets; raises ServiceError. Without a session, it is drawn."""
    two = _two("assign", names)
    return two[_number(*two, session or secrets.token_hex(8)) % 2]


def _two(parameter: str, names: str) -> tuple[str, str]:
    first, _, second = names.partition(",")
    if not first or not second or first == second or "," in second:
        raise ServiceError(
            422, f"query.{parameter}", "two names of /models, as A,B", names[:100] or "none", "Name two models."
        )
    return first, second


def _number(*texts: str) -> int:
    """Return a number of 64 bits that looks random, the same for the same texts."""
    return int.from_bytes(blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=8).digest())


log = logging.getLogger("rerank")
NORMAL_CANDIDATES = 100  # that a model reorders where a request does not say
_LINGER, _STEP = 0.005, 0.0005  # seconds after a batch of several, and between two looks at the queue
REFUSED = Counter("rerank_refused", "Requests that were not computed.", ["reason"])


for _reason in ("queue", "deadline", "bytes", "slow"):
    REFUSED.labels(_reason)


BATCHES = Counter("rerank_batches", "Batches of requests that went to the kernels.")
BATCHED = Counter("rerank_batched_requests", "Requests in these batches.")
ROWS = Counter("rerank_rows", "Query-document pairs in these batches.")


@dataclass(eq=False)
class Job:
    """A request whose body has been checked; nobody waits for its answer after the deadline (`time.monotonic()`).

    cutoff  the least probabilities of what is returned, which only a calibrated model has
    """

    model: str
    request_id: str = ""
    deadline: float = float("inf")
    cutoff: Cutoff | None = None
    dropped: bool = field(default=False, init=False)  # nobody waits any more
    answer: Any = field(default=None, init=False)
    fault: Exception | None = field(default=None, init=False)

    @property
    def models(self) -> tuple[str, ...]:
        """The rankings that answer it; jobs of the same ones are computed together."""
        return (self.model,)

    @property
    def named(self) -> tuple[str, tuple[str, ...]]:
        """Where the request names rankings, and all that it names, of which `models` may be one."""
        return "body.model", self.models

    @property
    def rows(self) -> int:
        """The job's size: query-document pairs that the kernels compute."""
        raise NotImplementedError

    def is_late(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.dropped or time.monotonic() > self.deadline


@dataclass(eq=False)
class SearchJob(Job):
    """A request of /search; the members are those of its body.

    comparison  two rankings that share the list, in place of `model`
    assigned    two rankings of which the session was assigned `model`; empty otherwise
    entry       what the log of queries gets where the answer is sent
    """

    queries: Mapping[str, str] = field(default_factory=dict)  # by id
    k: int = 10
    candidates: int = NORMAL_CANDIDATES
    fields: Sequence[str] = ()
    excerpt: int = 0
    highlight: bool = False
    explain: bool = False
    passage: bool = False
    session: str | None = None
    comparison: Comparison | None = None
    assigned: str = ""
    entry: Sequence[Lines] = field(default=(), init=False)

    @property
    def models(self) -> tuple[str, ...]:
        """The ranking, or the two that share the list."""
        return (self.model,) if self.comparison is None else self.comparison.names

    @property
    def named(self) -> tuple[str, tuple[str, ...]]:
        """The rankings of `compare` or `assign`, or that of the body."""
        if self.comparison is not None:
            return "query.compare", self.comparison.names
        return ("query.assign", tuple(self.assigned.split(","))) if self.assigned else super().named

    @property
    def marks_words(self) -> bool:
        """Whether the words of the query are looked for in the fields."""
        return bool(self.fields) and (self.highlight or self.excerpt > 0)

    @property
    def rows(self) -> int:
        """Query-document pairs."""
        return len(self.models) * self.candidates * len(self.queries)


@dataclass(frozen=True)
class RerankAnswer:
    """The documents of a /rerank request, best first: their numbers in the request, and their scores.

    probabilities  of their relevance, where the model is calibrated; documents that are not likely enough are left out
    texts          the texts of those that are returned, by their numbers, where the index has them
    passages       their best passages, by their numbers, where these are wanted
    """

    order: list[int]
    scores: list[float]
    probabilities: list[float] | None = None
    texts: Mapping[int, str] | None = None
    passages: Mapping[int, Passage] = field(default_factory=dict)


@dataclass(eq=False)
class RerankJob(Job):
    """A request of /rerank.

    documents   texts, or fields of the index by name
    doc_ids     documents of the index instead
    with_texts  whether the texts of documents of the index are wanted
    passages    whether the best passages are wanted
    count       number of documents to return; None is all
    shape       returns what is answered, as the client expects it
    """

    query: str = ""
    documents: Sequence[str | Mapping[str, Any]] = ()
    doc_ids: Sequence[str] | None = None
    with_texts: bool = False
    passages: bool = False
    count: int | None = None
    shape: Callable[[RerankJob, RerankAnswer], Any] = lambda job, answer: answer

    @property
    def rows(self) -> int:
        """Query-document pairs."""
        return len(self.documents if self.doc_ids is None else self.doc_ids)

    def finish(self, answer: RerankAnswer) -> None:
        """Set the answer; ValueError where a score is not finite."""
        check_finite(answer.scores)
        self.answer = json_bytes(self.shape(self, answer))


def json_bytes(content: object) -> bytes:
    """Return a value as JSON in UTF-8; a half surrogate pair, which UTF-8 cannot hold, is written as `?`."""
    try:
        return orjson.dumps(content)
    except TypeError:  # half surrogate pairs and integers beyond 64 bits, which the standard library writes
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def check_finite(scores: ArrayLike) -> None:
    """Raise ValueError unless all scores are finite: JSON has no other numbers, and orjson would write null."""
    if not np.isfinite(scores).all():
        raise ValueError("scores: expected finite values, got others. Check the model.")


class Batcher:
    """A bounded queue of jobs, and the thread that computes them; `answer` sets `answer` or `fault` of each job."""

    def __init__(self, answer: Callable[[Sequence[Job]], None], limits: Limits) -> None:
        self._answer = answer
        self._limits = limits
        self._queue: deque[tuple[Job, asyncio.Future[None]]] = deque()
        self._changed = threading.Condition()
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
        left = job.deadline - time.monotonic()
        if len(self._queue) >= self._limits.waiting:
            REFUSED.labels("queue").inc()
            raise overloaded()
        done = self._put(job)
        timer = done.get_loop().call_later(max(left, 0.0), _fail, done, TimeoutError())
        if gone is not None:
            gone.add_done_callback(lambda _: _fail(done, ClientDisconnect()))
        try:
            await done
        except TimeoutError:
            REFUSED.labels("deadline").inc()
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
            self._changed.notify()
        return done

    @property
    def waiting(self) -> int:
        """Number of jobs that wait."""
        return len(self._queue)

    def _work(self) -> None:
        size = 0
        ended = 0.0
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
            with suppress(RuntimeError):  # the loop has ended, and nobody waits
                batch[0][1].get_loop().call_soon_threadsafe(_succeed, [done for _, done in batch])
            size = len(batch)
            ended = time.monotonic()

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
            BATCHES.inc()
            BATCHED.inc(len(wanted))
            ROWS.inc(rows)


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


def _succeed(batch: list[asyncio.Future[None]]) -> None:
    for done in batch:
        if not done.done():
            done.set_result(None)


def _fail(done: asyncio.Future[None], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
