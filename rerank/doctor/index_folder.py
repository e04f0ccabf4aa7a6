"""Reading of index folders for the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rerank.errors import IndexFolderError

if TYPE_CHECKING:
    from rerank.types.forward import ForwardIndex


@dataclass(frozen=True, eq=False)
class IndexContents:
    """An index folder.

    path     the folder
    arrays   folder of the forward arrays
    state    "current", "missing", "other" (of another index) or "damaged" (or of an earlier format)
    message  error of damaged arrays
    forward  the forward arrays, None unless they are current
    shards   number of documents of each shard, deleted ones included, by name; empty for one Lucene index, and unless
             the arrays are current
    """

    path: str
    arrays: str
    state: str
    message: str = ""
    forward: ForwardIndex | None = None
    shards: Mapping[str, int] = field(default_factory=dict)


def read_index(path: Path) -> IndexContents:
    """Read an index folder; raise MissingFileError or IndexFolderError without a Lucene index or with wrong shards."""
    from rerank.lucene.arrays import read_arrays, read_header
    from rerank.lucene.folder import check_index_folder, commit_hash
    from rerank.lucene.shards import SUBFOLDER, index_folders

    commit = commit_hash(check_index_folder(path))
    folder = path / SUBFOLDER

    def contents(state: str, **members: Any) -> IndexContents:
        return IndexContents(str(path), str(folder), state, **members)

    try:
        header = read_header(folder)
        if header is None:
            return contents("missing")
        if header["commit"] != commit:
            return contents("other")
        forward, folders = read_arrays(folder, again=True), index_folders(path)
        sizes = zip((shard.name for shard in folders), header["shards"], strict=False)
        return contents("current", forward=forward, shards={} if folders == (path,) else dict(sizes))
    except IndexFolderError as error:
        return contents("damaged", message=str(error).removeprefix(f"{folder}: ").rstrip("."))
