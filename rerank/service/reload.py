"""Notices a new model file."""

from __future__ import annotations

from pathlib import Path


class ModelFile:
    """A file that may be replaced.

    Parameters
    ----------
    path : Path or None
        The file; None never changes.

    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._taken = self._seen = self._state()

    def has_changed(self) -> bool:
        """Return whether there is a new file since the last True, the same as in the last call: it is complete."""
        state = self._state()
        is_new = state is not None and state != self._taken and state == self._seen
        self._seen = state
        if is_new:
            self._taken = state
        return is_new

    def _state(self) -> tuple[int, int, int] | None:
        """Return what differs between two versions of the file; None if there is none at the moment."""
        if self._path is None:
            return None
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns
