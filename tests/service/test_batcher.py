"""The queue: bounded, with deadlines; what nobody waits for is not computed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rerank.service.app import Batcher
from rerank.service.bodies import Job
from rerank.service.settings import Limits, ServiceError

LIMITS = Limits(waiting=4, batch_rows=100)


class _Work:
    """Answers jobs with their own number of rows, once `go` is set."""

    def __init__(self) -> None:
        self.batches: list[list[Job]] = []
        self.go = threading.Event()

    def __call__(self, jobs: Sequence[Job]) -> None:
        self.batches.append(list(jobs))
        assert self.go.wait(20)
        for job in jobs:
            job.answer = job.rows


def _job(rows: int = 10, seconds: float = 20.0) -> Job:
    return Job(None, rows=rows, deadline=time.monotonic() + seconds)


def _run(scenario: Any, limits: Limits = LIMITS) -> _Work:
    """Run a scenario with a batcher whose work waits for `go`."""
    work = _Work()
    batcher = Batcher(work, limits)
    try:
        asyncio.run(asyncio.wait_for(scenario(batcher, work), 30))
    finally:
        work.go.set()
        batcher.thread.shutdown()
    return work


def test_jobs_that_wait_are_computed_together_up_to_the_rows_of_a_batch() -> None:
    async def scenario(batcher: Batcher, work: _Work) -> None:
        sizes = [7, 40, 50, 20, 300]
        tasks = [asyncio.ensure_future(batcher.submit(_job(sizes[0])))]
        while not work.batches:
            await asyncio.sleep(0.001)
        tasks += [asyncio.ensure_future(batcher.submit(_job(rows))) for rows in sizes[1:]]
        await asyncio.sleep(0.05)
        work.go.set()
        assert await asyncio.gather(*tasks) == sizes

    work = _run(scenario, replace(LIMITS, waiting=10))
    assert [[job.rows for job in batch] for batch in work.batches] == [[7], [40, 50], [20], [300]]


def test_requests_that_follow_a_batch_of_several_are_computed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rerank.service.app._LINGER", 15.0)

    async def scenario(batcher: Batcher, work: _Work) -> None:
        tasks = [asyncio.ensure_future(batcher.submit(_job()))]
        while not work.batches:
            await asyncio.sleep(0.001)
        tasks += [asyncio.ensure_future(batcher.submit(_job())) for _ in range(2)]
        await asyncio.sleep(0.05)
        work.go.set()
        await asyncio.gather(*tasks)
        first = asyncio.ensure_future(batcher.submit(_job()))
        await asyncio.sleep(0.05)
        start = time.monotonic()
        await asyncio.gather(first, batcher.submit(_job()))
        assert time.monotonic() - start < 10.0

    assert [len(batch) for batch in _run(scenario).batches] == [1, 2, 2]


def test_a_full_queue_is_refused_with_a_time_to_try_again() -> None:
    async def scenario(batcher: Batcher, work: _Work) -> None:
        tasks = [asyncio.ensure_future(batcher.submit(_job()))]
        while not work.batches:
            await asyncio.sleep(0.001)
        tasks += [asyncio.ensure_future(batcher.submit(_job())) for _ in range(4)]
        await asyncio.sleep(0.05)
        with pytest.raises(ServiceError) as refused:
            await batcher.submit(_job())
        assert refused.value.status_code == 429
        assert int(refused.value.headers["Retry-After"]) >= 1
        work.go.set()
        assert await asyncio.gather(*tasks) == [10] * 5

    _run(scenario)


def test_a_job_whose_deadline_passes_is_answered_then_and_not_computed() -> None:
    async def scenario(batcher: Batcher, work: _Work) -> None:
        first = asyncio.ensure_future(batcher.submit(_job()))
        while not work.batches:
            await asyncio.sleep(0.001)
        start = time.monotonic()
        with pytest.raises(ServiceError) as late:
            await batcher.submit(_job(11, seconds=0.2))
        assert late.value.status_code == 503
        assert 0.1 < time.monotonic() - start < 5.0
        work.go.set()
        assert await first == 10

    assert [[job.rows for job in batch] for batch in _run(scenario).batches] == [[10]]


def test_a_job_whose_client_has_gone_is_not_computed() -> None:
    async def scenario(batcher: Batcher, work: _Work) -> None:
        first = asyncio.ensure_future(batcher.submit(_job()))
        while not work.batches:
            await asyncio.sleep(0.001)
        gone = asyncio.ensure_future(batcher.submit(_job(11)))
        await asyncio.sleep(0.05)
        gone.cancel()
        await asyncio.sleep(0.05)
        work.go.set()
        assert await first == 10
        assert await batcher.submit(_job(12)) == 12

    assert [[job.rows for job in batch] for batch in _run(scenario).batches] == [[10], [12]]


def test_a_fault_of_the_work_reaches_all_of_its_batch_and_no_other() -> None:
    calls = 0

    def answer(jobs: Sequence[Job]) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError("broken")
        for job in jobs:
            job.answer = 1

    async def scenario(batcher: Batcher) -> None:
        with pytest.raises(ServiceError) as broken:
            await batcher.submit(_job())
        assert broken.value.status_code == 500
        assert "broken" not in str(broken.value)
        assert await batcher.submit(_job()) == 1

    batcher = Batcher(answer, LIMITS)
    asyncio.run(scenario(batcher))
    batcher.thread.shutdown()


def test_a_request_that_would_wait_too_long_is_refused() -> None:
    def answer(jobs: Sequence[Job]) -> None:
        time.sleep(0.1)
        for job in jobs:
            job.answer = job.rows

    async def scenario(batcher: Batcher) -> None:
        assert await asyncio.gather(*(batcher.submit(_job(100)) for _ in range(5))) == [100] * 5  # one after the other
        tasks = [asyncio.ensure_future(batcher.submit(_job(100))) for _ in range(30)]
        await asyncio.sleep(0)
        with pytest.raises(ServiceError) as refused:
            await batcher.submit(_job(100))
        assert refused.value.status_code == 429
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert 4 < answers.count(100) < 30
        assert await batcher.submit(_job(100)) == 100  # where nobody waits

    batcher = Batcher(answer, replace(LIMITS, waiting=256, wait_seconds=0.5))
    asyncio.run(scenario(batcher))
    batcher.thread.shutdown()
