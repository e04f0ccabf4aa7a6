"""Sharded indexes: a folder with several Lucene indexes, the shards, which Lucene reads as one (`MultiReader`).

    FOLDER/shard-000/ ...     a Lucene index each; those that were built by themselves may have any names
    FOLDER/rerank/            forward arrays of all documents

`Index.build(..., shards=N)` puts a document into the shard of `shard_of` its id, and notes the build and the number of
its shards in each shard's commit. A folder of several indexes that were built one by one is a sharded index as well.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rerank.errors import IndexFolderError, InvalidInputError, shown
from rerank.lucene.commits import commit_file

SUBFOLDER = "rerank"  # of the forward arrays
RESOURCES = "rerank-resources"  # of vectors and history
MOST_SHARDS = 1000
_NAME = re.compile(r"shard-\d{3,}")


def shard_of(doc_id: str, n_shards: int) -> int:
    """Return the number of the shard that holds a document: a hash of the UTF-8 of its id, modulo their number."""
    digest = hashlib.blake2b(doc_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % n_shards


def shard_names(n_shards: Any) -> list[str] | None:
    """Return the names of the folders of the shards of a build; None for an index without. Refuse what is no number."""
    if n_shards is None:
        return None
    if isinstance(n_shards, bool) or not isinstance(n_shards, int) or not 1 <= n_shards <= MOST_SHARDS:
        raise InvalidInputError(
            f"shards: expected a whole number from 1 to {MOST_SHARDS}, got {shown(n_shards)}. "
            "Leave it out for one Lucene index."
        )
    return [f"shard-{number:03d}" for number in range(n_shards)]


def index_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders of the Lucene indexes of an index: its own, or those of its shards by name; empty if none."""
    if commit_file(folder) is not None:
        return (folder,)
    inside = sorted(
        path
        for path in folder.iterdir()
        if path.name not in (SUBFOLDER, RESOURCES) and path.name[0] != "." and path.is_dir()
    )
    named = [path for path in inside if _NAME.fullmatch(path.name)]
    if any(commit_file(path) is not None for path in named):
        return tuple(named)
    return tuple(inside) if sum(commit_file(path) is not None for path in inside) > 1 else ()


def shards_of_build(folder: Path) -> tuple[Path, ...]:
    """Return the folders of the shards that `Index.build` made; empty for a folder of indexes with other names."""
    return tuple(path for path in index_folders(folder) if _NAME.fullmatch(path.name))


def check_alike(folder: Path, shards: Sequence[Path], opened: Sequence[Mapping[str, Any]]) -> None:
    """Refuse shards of another language, list of fields or build than the first; Lucene compares how they are indexed.

    opened  what Java says of each shard: `language`, `fields` and `shard`, see Bridge.java
    """
    first = opened[0]
    builds = [None if index["shard"] is None else json.loads(index["shard"])["build"] for index in opened]
    for shard, index, build in zip(shards, opened, builds, strict=True):
        for what, name in (("language", "language"), ("list of fields", "fields")):
            if index[name] != first[name]:
                raise _not_alike(shard, f"the {what} {first[name]} of {shards[0].name}", index[name])
        if build != builds[0]:
            raise _not_alike(shard, f"a shard of the build of {shards[0].name}", "one of another build")
    n_shards = len(shards) if first["shard"] is None else json.loads(first["shard"])["shards"]
    if len(shards) != n_shards:
        raise IndexFolderError(
            f"{folder}: expected the {n_shards} shards of its build, got {len(shards)}. Put the shards back, or build "
            "the index anew."
        )


def _not_alike(shard: Path, expected: str, got: Any) -> IndexFolderError:
    return IndexFolderError(
        f"{shard}: expected {expected}, got {got}. Put the right shard back, or build the index anew."
    )
