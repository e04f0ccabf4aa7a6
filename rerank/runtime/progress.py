"""Progress of long loops, which the command line turns on: bars on a terminal, elsewhere lines of the log."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from rerank.errors import log

T = TypeVar("T")
_interval: ContextVar[float | None] = ContextVar("progress_interval", default=None)  # None: nothing is shown


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
        of_total = "" if total is None else f" of {total:,}"
        start = last = time.monotonic()
        steps = 0

        def log_line(state: str) -> None:
            log.info("%s: %s%s %s, %.0f s", what, f"{steps:,}", of_total, state, time.monotonic() - start)

        def advance_lines(done: int) -> None:
            nonlocal last, steps
            steps = done
            if time.monotonic() - last > interval:
                last = time.monotonic()
                log_line("so far")

        yield advance_lines
        if time.monotonic() - start > interval:
            log_line("finished")


class InProcess:
    """Work that is done in this process, one item after the other."""

    def map_items(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], what: str
    ) -> Iterator[Any]:
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
