"""Parts of a task on several threads; kernels in forked processes, in which GNU OpenMP has lost its threads."""

from __future__ import annotations

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.runtime import threads
from rerank.runtime.threads import in_threads, kernel_threads, thread_count


def fitted(seed: int) -> bytes:
    """Return the scores of a model of random data with enough rows for several threads."""
    random = np.random.default_rng(seed)
    X, qid = random.random((6000, 3), dtype=np.float32), np.repeat(np.arange(300), 20)
    labels = (X[:, 0] + random.random(6000) > 1.2).astype(np.int64)
    return bytes(rerank.LambdaMART(n_estimators=2, num_leaves=4).fit(X, labels, qid=qid).predict(X).tobytes())


def in_pool() -> list[bytes]:
    """Return what two forked processes fit and predict."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map_async(fitted, [0, 0]).get(60)


def test_forked_processes_fit_and_predict_the_same_bytes() -> None:
    expected = fitted(0)
    assert in_pool() == [expected, expected]
    assert fitted(0) == expected


@pytest.mark.parametrize("n_threads", [1, 2, 64])
def test_parts_on_threads_give_results_in_their_order_inside_one_another_too(n_threads: int) -> None:
    def of_row(row: int) -> list[int]:
        return in_threads(lambda column: row * column, range(5), n_threads)

    assert in_threads(of_row, range(20), n_threads) == [[row * column for column in range(5)] for row in range(20)]
    assert in_threads(of_row, [], n_threads) == []


def test_parts_on_threads_have_ended_when_the_error_of_one_is_raised() -> None:
    ended = []

    def task(part: int) -> None:
        if part == 0:
            raise ValueError("part 0")
        time.sleep(0.02)
        ended.append(part)

    for _ in range(20):
        ended.clear()
        with pytest.raises(ValueError, match="part 0"):
            in_threads(task, range(3), 3)
        n_ended = len(ended)
        time.sleep(0.03)
        assert len(ended) == n_ended


def test_a_system_without_another_thread_is_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_pool", lambda: ThreadPoolExecutor(1))
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(MemoryError, match="can't start new thread"):
        in_threads(abs, [1, 2], 2)


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "2"])
def test_no_number_of_threads_is_refused(n_jobs: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"^n_jobs: expected a number of threads from 1, .* got {n_jobs}"):
        thread_count(n_jobs)


def _threads(n_jobs: int) -> int:
    with kernel_threads(n_jobs) as count:
        return count


def test_forked_processes_use_one_thread_and_their_parent_as_many_as_before() -> None:
    numba = pytest.importorskip("numba")
    before = _threads(-1)
    if numba.threading_layer() != "omp":
        pytest.skip("Numba's threads are not those of OpenMP")
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_threads, (-1,)) == 1
    assert _threads(-1) == before == thread_count(None)
