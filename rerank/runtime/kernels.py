"""How kernels are compiled, and says when they are: the first use on a machine takes seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import njit
from numba.core import event

from rerank.runtime import compile_hook

log = logging.getLogger("rerank")
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(*, parallel: bool = False, nogil: bool | None = None) -> Callable[[Kernel], Kernel]:
    """Return the decorator of a compiled function that Python calls: Numba's, with options that all kernels share.

    nogil  whether it runs without the interpreter's lock; None: unless it is parallel, since some of Numba's threading
           layers end a process in which two parallel kernels run at once
    The code is kept on disk, divides by zero as NumPy does, and has no way in from C: Numba's would be a tenth of it,
    and nobody takes it. Numba compiles its own functions anew for every set of options that asks for them.
    """
    return _numba(parallel=parallel, nogil=not parallel if nogil is None else nogil)


def helper(**options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator of a compiled function that only kernels of its own file call; options are Numba's.

    It has no way in from Python either, which would be a sixth of the code that is left: a call from there would
    end the process. A test finds any.
    """
    return _numba(nogil=True, no_cpython_wrapper=True, **options)


def _numba(**options: Any) -> Callable[[Kernel], Kernel]:
    untyped: Any = njit
    decorate: Callable[[Kernel], Kernel] = untyped(cache=True, error_model="numpy", no_cfunc_wrapper=True, **options)
    return decorate


class _Announcer(event.Listener):
    """Hears of each compilation that Numba's cache did not spare; announces the first of ours in a process."""

    said = False

    def on_start(self, event: event.Event) -> None:
        """Log one line before the first kernel of this package compiles; see `compile_hook`."""
        module = event.data["dispatcher"].__module__
        if module.startswith("rerank.") and not self.said:
            self.said = True
            log.info("compiling kernels, once on this machine (up to a minute) ...")
        if compile_hook.before_compilation is not None:
            compile_hook.before_compilation(module)

    def on_end(self, event: event.Event) -> None:
        """Say nothing: what follows speaks for itself."""


_ANNOUNCER = _Announcer()


@contextmanager
def announced_compiling() -> Iterator[None]:
    """Log it when a kernel compiles inside the block; nothing where all come from Numba's cache."""
    with event.install_listener("numba:compile", _ANNOUNCER):
        yield
