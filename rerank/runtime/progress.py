"""Progress of long loops, which the command line turns on: bars on a terminal, elsewhere lines of the log."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_BAR: dict[str, Any] = {"delay": 2, "leave": False, "dynamic_ncols": True}
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
    interval = _interval.get()
    if interval is None:
        yield from steps
    elif sys.stderr.isatty():
        from tqdm import tqdm

        yield from tqdm(steps, desc=what, total=total, **_BAR)
    else:
        if total is None and isinstance(steps, Sized):
            total = len(steps)
        with _Lines(what, total, interval) as lines:
            for step in steps:
                yield step
                lines.done += 1


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that is told how many steps are done; None where progress is not shown."""
    interval = _interval.get()
    if interval is None:
        yield None
    elif sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(desc=what, total=total, **_BAR) as bar:

            def advance(done: int) -> None:
                bar.update(done - bar.n)

            yield advance
    else:
        with _Lines(what, total, interval) as lines:
            yield lines.set_done


class _Lines:
    """Logs a line at intervals, also while a single step runs, and one at the end of a loop that had one."""

    def __init__(self, what: str, total: int | None, interval: float) -> None:
        self.what = what
        self.interval = interval
        self.done = 0
        self.of_total = "" if total is None else f" of {total:,}"
        self.start = time.monotonic()
        self.finished = Event()
        self.logged = False
        self.thread = Thread(target=self._log_at_intervals, daemon=True)

    def __enter__(self) -> _Lines:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.finished.set()
        self.thread.join()
        if self.logged and kind is None:
            self._log("finished")

    def set_done(self, done: int) -> None:
        """Set the number of steps that are done."""
        self.done = done

    def _log_at_intervals(self) -> None:
        while not self.finished.wait(self.interval):
            self.logged = True
            self._log("so far")

    def _log(self, state: str) -> None:
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
