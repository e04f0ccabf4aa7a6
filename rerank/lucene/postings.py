"""Opening the forward arrays of an index, which are computed once for each Lucene commit."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from rerank.errors import IndexFolderError
from rerank.lucene.arrays import read_arrays, write_arrays
from rerank.lucene.folder import check_commit, open_commit, staged_folder
from rerank.lucene.progress import Progress
from rerank.lucene.shards import STATISTICS, SUBFOLDER, index_folders, write_statistics
from rerank.lucene.verified import FORMAT, MANIFEST, damaged, read_manifest
from rerank.runtime.cache import cache_folder
from rerank.types.forward import ForwardIndex

_log = logging.getLogger("rerank")


def open_forward(folder: str | Path, progress: Progress = None, commit: str | None = None) -> ForwardIndex:
    """Return the forward arrays of an index as memory maps; they are computed if the index has none.

    The arrays are in `INDEX/rerank`, or if that cannot be written in `$RERANK_CACHE` (by default the user's cache
    folder). Computing them needs Java. Arrays of another format are computed again, and so are those of an index that
    Pyserini or Anserini built and has changed since. Deleted documents keep their number, with an empty id and no
    terms. Lucene's statistics count them until their segments are merged, those of the arrays do not.
    """
    index = Path(folder)
    if commit is None:
        commit = open_commit(index)
    check_commit(index, commit)
    arrays = _arrays_folder(index, commit)
    manifest = read_manifest(arrays)
    if manifest is None or not _is_current(manifest, commit):
        if manifest is not None:
            _check_may_be_replaced(arrays, manifest)
        _make(index, arrays, commit, progress)
        manifest = read_manifest(arrays)
    if manifest is None or not _is_current(manifest, commit):
        raise IndexFolderError(
            f"{arrays}: expected the forward arrays of {index}, got others. Open the index when it is at rest."
        )
    forward = read_arrays(arrays, manifest)
    _keep_statistics(index, arrays, manifest)
    check_commit(index, commit)
    return forward


def _keep_statistics(index: Path, arrays: Path, manifest: dict[str, Any]) -> None:
    """Write the statistics of shards that have no file of them, unless their folder cannot be written."""
    shards = index_folders(index)
    if len(manifest["shards"]) != len(shards):
        raise damaged(arrays, f"{MANIFEST} has the sizes of other shards")
    if shards != (index,) and not (index / STATISTICS).exists() and os.access(index, os.W_OK):
        write_statistics(index, shards, manifest["shards"], manifest)


def _is_current(manifest: dict[str, Any], commit: str) -> bool:
    return manifest["format"] == FORMAT and manifest.get("commit") == commit


def _check_may_be_replaced(arrays: Path, manifest: dict[str, Any]) -> None:
    """Refuse to replace the arrays of an index that `rerank` built; log why others are computed again."""
    if manifest["format"] != FORMAT:
        _log.info("%s: forward arrays of format %s are made anew.", arrays, manifest["format"])
    elif manifest.get("made_with_index", True):
        raise IndexFolderError(
            f"{arrays}: expected the forward arrays of this index, got those of an earlier state of it. "
            "Build the index anew, or delete this folder if the change was meant."
        )
    else:
        _log.info("%s: the index has changed; its forward arrays are made anew.", arrays)


def _make(index: Path, arrays: Path, commit: str, progress: Progress) -> None:
    def exists_already() -> bool:
        manifest = read_manifest(arrays)
        return manifest is not None and _is_current(manifest, commit)

    shards = index_folders(index)
    if shards != (index,) and not (index / STATISTICS).exists():
        names = ", ".join(shard.name for shard in shards[:3]) + (", ..." if len(shards) > 3 else "")
        _log.warning("%s: %d indexes are used as the shards of one (%s).", index, len(shards), names)
    _log.info("%s: making forward arrays.", arrays)
    with staged_folder(arrays, exists_already) as staging:
        write_arrays(index, staging, made_with_index=False, progress=progress)


def _arrays_folder(index: Path, commit: str) -> Path:
    """Return the folder in the index, or one in the cache folder if the index cannot be written."""
    inside = index / SUBFOLDER
    if os.access(index, os.W_OK):
        return inside
    manifest = read_manifest(inside)
    if manifest is not None and _is_current(manifest, commit):
        return inside
    return cache_folder() / f"forward-{commit[:32]}"
