"""Progress bars of long loops, which the command line turns on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
_BAR: dict[str, Any] = {"delay": 2, "leave": False, "dynamic_ncols": True, "disable": None}
_shown: ContextVar[bool] = ContextVar("progress_shown", default=False)


@contextmanager
def show_progress(shown: bool = True) -> Iterator[None]:
    """Show progress bars on stderr in the block, for loops of over 2 s."""
    token = _shown.set(shown)
    try:
        yield
    finally:
        _shown.reset(token)


def track(steps: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the steps, with a progress bar if they are shown and stderr is a terminal."""
    if not _shown.get():
        yield from steps
        return
    from tqdm import tqdm

    yield from tqdm(steps, desc=what, total=total, **_BAR)


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that sets a progress bar to the steps that are done; None where bars are not shown."""
    if not _shown.get():
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc=what, total=total, **_BAR) as bar:

        def advance(done: int) -> None:
            bar.update(done - bar.n)

        yield advance


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
