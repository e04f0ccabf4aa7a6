"""Progress of long jobs: a bar on stderr or a function of the caller's, only where asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = bool | Callable[[str, int, int | None], None] | None
"""None or False: silent; True: a bar on stderr once a stage lasts 2 s; else called with (stage, done, total)."""


@contextmanager
def stage(progress: Progress, name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how much of a stage is done."""
    if progress is None or progress is False:
        yield lambda done: None
    elif progress is True:
        from tqdm import tqdm

        with tqdm(total=total, desc=name, file=sys.stderr, delay=2.0, leave=False) as bar:

            def advance(done: int) -> None:
                bar.update(done - bar.n)

            yield advance
    else:
        tell = progress
        yield lambda done: tell(name, done, total)
