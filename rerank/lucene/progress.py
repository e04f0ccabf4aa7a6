"""Progress of long jobs, for callers that want it: a bar on stderr or a callback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = bool | Callable[[str, int, int | None], None] | None
"""None or False: silent; True: a bar on stderr for stages of over 2 s; a callable: called with (stage, done, total)."""


@contextmanager
def stage(progress: Progress, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the amount of the stage that is done."""
    if progress is None or progress is False:
        yield lambda done: None
    elif progress is True:
        from tqdm import tqdm

        with tqdm(total=total, desc=name, file=sys.stderr, delay=2.0, leave=False) as bar:

            def advance(done: int) -> None:
                bar.update(done - bar.n)

            yield advance
    else:
        callback = progress
        yield lambda done: callback(name, done, total)
