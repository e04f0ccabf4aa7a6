"""Numba decorators of this package, and a log line when kernels compile: the first use on a machine takes seconds."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from numba import njit
from numba.core import event
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from rerank.errors import log

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(*, parallel: bool = False, nogil: bool | None = None) -> Callable[[Kernel], Kernel]:
    """Return the decorator of a compiled function that Python calls.

    The code is cached on disk and divides by zero as NumPy does. The wrapper for C, a tenth of the code, is omitted.
    All kernels share these options: Numba compiles its own functions anew for every set of them.
    """
    return _numba(parallel=parallel, nogil=not parallel if nogil is None else nogil)


def helper(**options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator of a compiled function that only kernels of its own file call; options are Numba's.

    The wrapper for Python, a sixth of the remaining code, is omitted, so that a call from Python would abort the
    process; `tests/runtime/test_kernels.py` finds such calls. Numba's cache does not see changes in helpers of other
    files: only those of `rerank.runtime.elementary`, which do not change, are called by kernels of all files.
    """
    return _numba(nogil=True, no_cpython_wrapper=True, **options)


def _numba(**options: Any) -> Callable[[Kernel], Kernel]:
    """Return Numba's decorator with the options that all compiled functions share."""
    untyped: Any = njit
    options |= {"error_model": "numpy", "no_cfunc_wrapper": True}

    def decorate(function: Kernel) -> Kernel:
        try:
            compiled: Kernel = untyped(cache=True, **options)(function)
        except RuntimeError:  # no folder of a cache can be written: `_Announcer` says so where a kernel compiles
            return untyped(**options)(function)  # type: ignore[no-any-return]
        if isinstance(compiled, Dispatcher):
            # Numba unpickles what it stored for an earlier state of the file before it compares the two states, which
            # fails where a class of the arguments is gone. Versions are compared first: here they contain the state.
            index = compiled._cache._cache_file  # type: ignore[attr-defined]
            index._version = f"{index._version} {index._source_stamp}"
        return compiled

    return decorate


class _Announcer(event.Listener):
    """Logs the first compilation of a kernel of this package in a process; kernels from the cache do not compile."""

    announced = False

    def on_start(self, event: event.Event) -> None:
        """Log one line before the first kernel of this package compiles."""
        dispatcher = event.data["dispatcher"]
        if not dispatcher.__module__.startswith("rerank.") or self.announced:
            return
        self.announced = True
        if isinstance(dispatcher._cache, NullCache):
            log.warning(
                "kernels: expected a folder for compiled code that can be written, got none, so that every process "
                "compiles them (up to a minute). Name one by NUMBA_CACHE_DIR."
            )
        else:
            log.info("compiling kernels, once on this machine (up to a minute) ...")

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


@cache
def announce_compiling() -> None:
    """Log a line when the first kernel of this package compiles in the process."""
    event.register("numba:compile", _Announcer())
