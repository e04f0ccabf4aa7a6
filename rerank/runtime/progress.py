"""Progress of long loops, which the command line turns on: bars on a terminal, elsewhere lines of the log."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
_interval: ContextVar[float | None] = ContextVar("progress_interval", default=None)  # None: nothing is shown
log = logging.getLogger("rerank")


@contextmanager
def show_progress(shown: bool = True, interval: float = 10.0) -> Iterator[None]:
    """Show the progress of loops in the block on stderr: bars or, off a terminal, a line every `interval` s."""
    token = _interval.set(interval if shown else None)
    try:
        yield
    finally:
        _interval.reset(token)


def track(steps: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the steps, and show how many are done where progress is shown."""
    if total is None and isinstance(steps, Sized):
        total = len(steps)
    with progress_bar(what, total) as advance:
        for done, step in enumerate(steps, 1):
            yield step
            if advance is not None:
                advance(done)


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that is told how many steps are done; None where progress is not shown."""
    interval = _interval.get()
    if interval is None:
        yield None
    elif sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(desc=what, total=total, delay=2, leave=False, dynamic_ncols=True) as bar:

            def advance(done: int) -> None:
                bar.update(done - bar.n)

            yield advance
    else:
        lines = _Lines(what, total, interval)
        yield lines.advance
        if time.monotonic() - lines.start > interval:
            lines.log("finished")


class _Lines:
    """Logs a line where an interval has passed since the last one."""

    def __init__(self, what: str, total: int | None, interval: float) -> None:
        self.what = what
        self.of_total = "" if total is None else f" of {total:,}"
        self.interval = interval
        self.done = 0
        self.start = time.monotonic()
        self.last = self.start

    def advance(self, done: int) -> None:
        """Set the number of steps that are done."""
        self.done = done
        if time.monotonic() - self.last > self.interval:
            self.last = time.monotonic()
            self.log("so far")

    def log(self, state: str) -> None:
        """Log how many steps are done."""
        seconds = time.monotonic() - self.start
        log.info("%s: %s%s %s, %.0f s", self.what, f"{self.done:,}", self.of_total, state, seconds)


class InOrder:
    """Work that is done in this process, one item after the other."""

    def each(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], what: str) -> Iterator[Any]:
        """Yield function(shared, item) for each item, in order: here one after the other, or by a cluster's workers.

        Parameters
        ----------
        function : callable
            A function of two arguments.
        shared : object
            First argument.
        items : sequence
            Second arguments.
        what : str
            What the progress bar says.

        Yields
        ------
        object
            The results.

        """
        yield from (function(shared, item) for item in track(items, what, len(items)))
