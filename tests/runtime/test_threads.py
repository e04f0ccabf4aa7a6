"""Kernels in forked processes, in which GNU OpenMP has lost its threads."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

import rerank
from rerank.runtime.threads import kernel_threads, thread_count


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
