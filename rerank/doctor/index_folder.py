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
    state    "current", "missing", "old" (of an earlier format), "other" (of another index) or "damaged"
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
    from rerank.lucene.arrays import read_arrays
    from rerank.lucene.folder import check_index_folder, commit_hash
    from rerank.lucene.shards import SUBFOLDER, index_folders
    from rerank.lucene.verified import FORMAT, damaged, file_entry, read_manifest

    commit = commit_hash(check_index_folder(path))
    folder = path / SUBFOLDER

    def contents(state: str, **members: Any) -> IndexContents:
        return IndexContents(str(path), str(folder), state, **members)

    try:
        manifest = read_manifest(folder)
        if manifest is None:
            return contents("missing")
        if manifest["format"] != FORMAT:
            return contents("old")
        if manifest.get("commit") != commit:
            return contents("other")
        forward = read_arrays(folder, manifest)
        for name, entry in manifest["files"].items():  # `read_arrays` skips this for files whose times are unchanged
            if file_entry(folder / name) != entry:
                raise damaged(folder, f"{name} is not the file that was made")
        folders = index_folders(path)
        sizes = zip((shard.name for shard in folders), manifest["shards"], strict=False)
        return contents("current", forward=forward, shards={} if folders == (path,) else dict(sizes))
    except IndexFolderError as error:
        return contents("damaged", message=str(error).removeprefix(f"{folder}: ").rstrip("."))
