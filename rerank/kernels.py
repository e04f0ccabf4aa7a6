"""How kernels are compiled, and says when they are: the first use on a machine takes seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from numba import njit
from numba.core import event

log = logging.getLogger("rerank")
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(**options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator of every compiled function: Numba's, with options of its own.

    The code is kept on disk, and has no way in from C: Numba's would be a tenth of it, and nobody takes it.
    """
    untyped: Any = njit
    decorate: Callable[[Kernel], Kernel] = untyped(cache=True, no_cfunc_wrapper=True, **options)
    return decorate


class _Announcer(event.Listener):
    """Hears of each compilation that Numba's cache did not spare; announces the first of ours in a process."""

    said = False

    def on_start(self, event: event.Event) -> None:
        """Log one line before the first kernel of this package compiles."""
        ours = event.data["dispatcher"].__module__.startswith("rerank.")
        if ours and not self.said:
            self.said = True
            log.info("compiling kernels, once on this machine (about a minute) ...")

    def on_end(self, event: event.Event) -> None:
        """Say nothing: what follows speaks for itself."""


_ANNOUNCER = _Announcer()


@contextmanager
def announced_compiling() -> Iterator[None]:
    """Log it when a kernel compiles inside the block; nothing where all come from Numba's cache."""
    with event.install_listener("numba:compile", _ANNOUNCER):
        yield
