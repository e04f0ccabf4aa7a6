"""What stands in each document: the forward arrays of an index, made once, bound to its Lucene commit."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from rerank.errors import IndexFolderError
from rerank.lucene.arrays import read_arrays, write_arrays
from rerank.lucene.folder import check_index_folder, commit_hash, staged_folder
from rerank.lucene.progress import Progress
from rerank.lucene.verified import FORMAT, cache_folder, read_manifest
from rerank.types.forward import ForwardIndex

SUBFOLDER = "rerank"
_log = logging.getLogger("rerank")


def open_forward(folder: str | Path, progress: Progress = None) -> ForwardIndex:
    """Return the forward arrays of an index as memory maps, made now if the index has none.

    They lie in `INDEX/rerank`, or where that cannot be written in `$RERANK_CACHE` (else the user's cache
    folder). Java is needed only where they have to be made. Arrays of another format are made anew; so are
    those of an index that Pyserini or Anserini built and has changed since.
    Deleted documents keep their number, with an empty id and no terms; Lucene's own statistics count them
    until it merges them away, these do not.
    Raises MissingFileError or IndexFolderError where the folder is no index, the arrays are damaged, or an
    index built by `rerank` is not the one that its arrays were made with.
    """
    index = check_index_folder(folder)
    commit = commit_hash(index)
    place = _place(index, commit)
    manifest = read_manifest(place)
    if manifest is None or not _is_current(manifest, commit):
        if manifest is not None:
            _check_may_be_replaced(place, manifest)
        _make(index, place, commit, progress)
        manifest = read_manifest(place)
    if manifest is None or not _is_current(manifest, commit):
        raise IndexFolderError(
            f"{place}: expected the forward arrays of {index}, got others. Open the index when it is at rest."
        )
    return read_arrays(place, manifest)


def _is_current(manifest: dict[str, Any], commit: str) -> bool:
    return manifest["format"] == FORMAT and manifest.get("commit") == commit


def _check_may_be_replaced(place: Path, manifest: dict[str, Any]) -> None:
    """Refuse where an index of ours was changed by something else; log why arrays are made anew."""
    if manifest["format"] != FORMAT:
        _log.info("%s: forward arrays of format %s are made anew.", place, manifest["format"])
    elif manifest.get("made_with_index", True):
        raise IndexFolderError(
            f"{place}: expected the forward arrays of this index, got those of an earlier state of it. "
            "Build the index anew, or delete this folder if the change was meant."
        )
    else:
        _log.info("%s: the index has changed; its forward arrays are made anew.", place)


def _make(index: Path, place: Path, commit: str, progress: Progress) -> None:
    def made_meanwhile() -> bool:
        manifest = read_manifest(place)
        return manifest is not None and _is_current(manifest, commit)

    _log.info("%s: making forward arrays.", place)
    with staged_folder(place, made_meanwhile) as staging:
        write_arrays(index, staging, made_with_index=False, progress=progress)


def _place(index: Path, commit: str) -> Path:
    """Return the folder inside the index, or one in the cache where the index cannot be written."""
    inside = index / SUBFOLDER
    if os.access(index, os.W_OK):
        return inside
    manifest = read_manifest(inside)
    if manifest is not None and _is_current(manifest, commit):
        return inside
    return cache_folder() / f"forward-{commit[:32]}"
