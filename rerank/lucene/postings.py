"""Opening the forward arrays of an index, which are computed once for each Lucene commit."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

from rerank.errors import IndexFolderError
from rerank.lucene.arrays import DamagedArraysError, read_arrays, read_header, write_arrays
from rerank.lucene.folder import check_commit, open_commit, staged_folder
from rerank.lucene.shards import SUBFOLDER, index_folders
from rerank.runtime.cache import cache_folder
from rerank.types.forward import ForwardIndex

_log = logging.getLogger("rerank")


def open_forward(folder: str | Path, commit: str | None = None) -> ForwardIndex:
    """Return the forward arrays of an index as memory maps; they are computed if the index has none.

    The arrays are in `INDEX/rerank`, or if that cannot be written in `$RERANK_CACHE` (by default the user's cache
    folder). Computing them needs Java. Damaged arrays are computed again, and so are those of an index that Pyserini or
    Anserini built and has changed since. Deleted documents keep their number, with an empty id and no terms. Lucene's
    statistics count them until their segments are merged, those of the arrays do not.
    """
    index = Path(folder)
    if commit is None:
        commit = open_commit(index)
    check_commit(index, commit)
    arrays = _arrays_folder(index, commit)
    forward = _current(index, arrays, commit)
    if forward is None:
        _make(index, arrays, commit)
        forward = _current(index, arrays, commit)
    if forward is None:
        raise IndexFolderError(
            f"{arrays}: expected the forward arrays of {index}, got others. Open the index when it is at rest."
        )
    check_commit(index, commit)
    return forward


def stored_forward(folder: str | Path, commit: str) -> ForwardIndex | None:
    """Return the forward arrays of an index where it has them; nothing is computed."""
    return _current(Path(folder), _arrays_folder(Path(folder), commit), commit)


def _current(index: Path, arrays: Path, commit: str) -> ForwardIndex | None:
    """Return the forward arrays of this commit; None where they have to be made.

    Raises IndexFolderError for arrays of another commit of an index that `rerank` built.
    """
    try:
        header = read_header(arrays)
        if header is None:
            return None
        if header["commit"] != commit:
            if header["made_with_index"]:
                raise IndexFolderError(
                    f"{arrays}: expected the forward arrays of this index, got those of an earlier state of it. "
                    "Build the index anew, or delete this folder if the change was meant."
                )
            _log.info("%s: the index has changed; its forward arrays are rebuilt.", arrays)
            return None
        return read_arrays(arrays)
    except DamagedArraysError as error:
        _log.warning("%s They are rebuilt now.", error)
        return None


def _make(index: Path, arrays: Path, commit: str) -> None:
    def exists_already() -> bool:
        return _current(index, arrays, commit) is not None

    shards = index_folders(index)
    if shards != (index,):
        names = ", ".join(shard.name for shard in shards[:3]) + (", ..." if len(shards) > 3 else "")
        _log.warning("%s: %d indexes are used as the shards of one (%s).", index, len(shards), names)
    _log.info("%s: building forward arrays.", arrays)
    with staged_folder(arrays, exists_already) as staging:
        write_arrays(index, staging, made_with_index=False)


def _arrays_folder(index: Path, commit: str) -> Path:
    """Return the folder in the index, or one in the cache folder if the index cannot be written."""
    inside = index / SUBFOLDER
    if os.access(index, os.W_OK):
        return inside
    with suppress(DamagedArraysError):
        header = read_header(inside)
        if header is not None and header["commit"] == commit:
            return inside
    return cache_folder() / f"forward-{commit[:32]}"
