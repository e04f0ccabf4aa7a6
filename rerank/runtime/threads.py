"""Number of threads of kernels, and thread pools for NumPy code."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from ctypes import CFUNCTYPE, c_int
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

from rerank.errors import InvalidInputError

# GNU OpenMP's threads spin for milliseconds before they sleep. If another program uses the cores, spinning threads
# delay the others. With more spins, two trainings at once are much slower, and one alone is hardly faster: compare
# GOMP_SPINCOUNT=10000 python -m benchmarks training --only rerank --rows 50000.
SPINS = "1000"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1  # of this process
NUMPY_THREADS = min(CORES, 4)  # more would wait for the GIL
Part = TypeVar("Part")
Result = TypeVar("Result")
FEW_ROWS = 1 << 12  # with fewer rows, waking another thread for each kernel takes longer than it saves
_most: ContextVar[int | None] = ContextVar("most_threads", default=None)
_has_lost_threads = False


def _keep_to_one_thread() -> None:
    """Let kernels use one thread in a forked process, which lacks the threads that GNU OpenMP started before.

    Numba would end the process at its first parallel kernel, unless it is told that this process started OpenMP.
    """
    global _has_lost_threads
    _pool.cache_clear()
    layer: Any = sys.modules.get("numba.np.ufunc.omppool")
    parallel: Any = sys.modules.get("numba.np.ufunc.parallel")
    if layer is None or parallel is None or parallel._threading_layer != "omp" or layer.openmp_vendor != "GNU":
        return
    _has_lost_threads = True
    CFUNCTYPE(None, c_int)(layer.launch_threads)(1)
    parallel.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_to_one_thread)


@contextmanager
def at_most_threads(number: int | None) -> Iterator[None]:
    """Limit the number of threads within the block; None is all cores."""
    token = _most.set(number)
    try:
        yield
    finally:
        _most.reset(token)


def cores() -> int:
    """Return the default number of threads: one per core, or the limit of `at_most_threads`."""
    return min(CORES, _most.get() or sys.maxsize)


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads: one per core for None or -1, at most Numba's number at its start."""
    import numba

    is_known = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0 and n_jobs >= -1
    if n_jobs is not None and not is_known:
        raise InvalidInputError(
            f"n_jobs: expected a number of threads from 1, or -1 for all, got {n_jobs}. Leave it out for one a core."
        )
    available = 1 if _has_lost_threads else min(cores(), int(numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    return available if n_jobs in (None, -1) else min(int(n_jobs or 1), available)


@contextmanager
def kernel_threads(n_jobs: int | None, n_rows: int = FEW_ROWS) -> Iterator[int]:
    """Set the number of threads of kernels in the block, and yield it: one for few rows, otherwise by `n_jobs`."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)  # read when Numba loads the library
    import numba

    from rerank.runtime.kernels import announce_compiling

    announce_compiling()
    before = numba.get_num_threads()
    count = thread_count(n_jobs if n_rows >= FEW_ROWS else 1)
    if count != before:
        numba.set_num_threads(count)
    try:
        yield count
    finally:
        if count != before:
            numba.set_num_threads(before)


def in_threads(task: Callable[[Part], Result], parts: Iterable[Part], n_threads: int = NUMPY_THREADS) -> list[Result]:
    """Return the result of a task for each part, on several threads; faster if the task releases the GIL."""
    parts = list(parts)
    results: list[Any] = [None] * len(parts)
    numbers = iter(range(len(parts)))  # each thread takes the next one

    def work() -> None:
        for number in numbers:
            results[number] = task(parts[number])

    try:
        helpers = [_pool().submit(work) for _ in range(1, min(n_threads, len(parts)))]
    except RuntimeError as fault:  # no more threads are allowed, or there are no addresses for their stacks
        raise MemoryError(str(fault)) from fault
    try:
        work()
    finally:
        busy = [helper for helper in helpers if not helper.cancel()]
        wait(busy)
    for helper in busy:
        helper.result()  # raises what its task raised
    return results


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that help callers of `in_threads`: starting new ones takes longer than many tasks."""
    return ThreadPoolExecutor(CORES, thread_name_prefix="rerank")


def row_parts(n_rows: int, n_threads: int) -> list[slice]:
    """Return slices of rows for `in_threads`, about four for each thread, so that threads end at similar times."""
    return slices(n_rows, -(-max(n_rows, 1) // (4 * n_threads)))


def slices(n_rows: int, size: int) -> list[slice]:
    """Return slices of rows, each of `size` but the last, which may be shorter."""
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]
