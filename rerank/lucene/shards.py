"""Sharded indexes: a folder with several Lucene indexes, the shards, and one file of their statistics.

    FOLDER/shards.json        names, commits and sizes of the shards, and the statistics of all of them by field
    FOLDER/shard-000/ ...     a Lucene index each; those that Anserini built may have any names
    FOLDER/rerank/            forward arrays of all documents

`Index.build(..., shards=N)` puts a document into the shard of `shard_of` its id, and notes the build and the number of
the shard in each shard's commit. A folder of several indexes that were built one by one is a sharded index as well: its
`shards.json` is made with the forward arrays when it is first used.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rerank.errors import IndexFolderError, InvalidInputError, shown
from rerank.lucene.commits import commit_file, lucene_commit
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Flag, Items, Record, SchemaError, Table, Text, Whole
from rerank.runtime.strict_json import ParseFault, parse_json

STATISTICS = "shards.json"
SUBFOLDER, RESOURCES = "rerank", "rerank-resources"  # of the forward arrays; of vectors and history
ARRAYS, ARRAYS_NOTE = "forward.npz", "verified.json"
MARKER = "rerank-unfinished.json"
MOST_SHARDS = 1000
_FORMAT = 1
_NAME = re.compile(r"shard-\d{3,}")
_MOST = 2**62
_COUNT = Whole(0, _MOST)
_SCHEMA = Record(
    {
        "format": Whole(_FORMAT, _FORMAT),
        "made_with_index": Flag(),
        "language": Text(),
        "documents": _COUNT,
        "shards": Items(Record({"name": Text(), "commit": Text(64), "documents": _COUNT})),
        "fields": Table(Record({"documents": _COUNT, "tokens": _COUNT, "terms": _COUNT})),
        "checksum": Text(64),
    }
)
_CHANGED = f"Put the shards back, or delete {STATISTICS} and {SUBFOLDER}/ if the change was meant."


@dataclass(frozen=True)
class ShardStatistics:
    """The file of the statistics of a sharded index.

    Parameters
    ----------
    made_with_index : bool
        Whether `Index.build` made the shards.
    commits : mapping from str to str
        The sha256 of each shard's commit, by name.
    documents : int
        Number of documents of all shards.
    fields : mapping from str to mapping
        Number of documents, tokens and terms of each field.

    """

    made_with_index: bool
    commits: Mapping[str, str]
    documents: int
    fields: Mapping[str, Mapping[str, int]]


def shard_of(doc_id: str, n_shards: int) -> int:
    """Return the number of the shard that holds a document: a hash of the UTF-8 of its id, modulo their number."""
    digest = hashlib.blake2b(doc_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % n_shards


def shard_names(n_shards: int) -> list[str]:
    """Return the names of the folders of the shards of a build."""
    width = max(3, len(str(n_shards - 1)))
    return [f"shard-{number:0{width}d}" for number in range(n_shards)]


def check_number(n_shards: Any) -> int | None:
    """Return a number of shards; refuse what is not one. None is an index without shards."""
    if n_shards is None:
        return None
    if isinstance(n_shards, bool) or not isinstance(n_shards, int) or not 1 <= n_shards <= MOST_SHARDS:
        raise InvalidInputError(
            f"shards: expected a whole number from 1 to {MOST_SHARDS}, got {shown(n_shards)}. "
            "Leave it out for one Lucene index."
        )
    return n_shards


def index_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders of the Lucene indexes of an index: its own, or those of its shards by name; empty if none.

    With `shards.json`, the shards are the subfolders that it names and all others that hold a Lucene index. Without,
    all subfolders are shards if at least two of them hold a Lucene index, or one with the name of a shard.
    """
    if commit_file(folder) is not None:
        return (folder,)
    statistics = read_statistics(folder)
    inside = sorted(
        path
        for path in folder.iterdir()
        if path.name not in (SUBFOLDER, RESOURCES) and path.name[0] != "." and path.is_dir()
    )
    held = [path.name for path in inside if commit_file(path) is not None]
    if statistics is not None:
        return tuple(path for path in inside if path.name in statistics.commits or path.name in held)
    return tuple(inside) if len(held) > 1 or any(map(_NAME.fullmatch, held)) else ()


def check_shards(folder: Path, shards: Sequence[Path]) -> None:
    """Refuse shards that are unfinished or no Lucene index, and others than those that `shards.json` describes."""
    for shard in shards:
        if (shard / MARKER).exists():
            raise IndexFolderError(f"{shard}: expected a whole shard, got a half-built one. Build the index anew.")
        if commit_file(shard) is None:
            raise IndexFolderError(
                f"{shard}: expected the Lucene index of a shard, got a folder without one (no segments file). "
                "Put the shard back, or move the folder elsewhere."
            )
    statistics = read_statistics(folder)
    if statistics is None:
        return
    names = {shard.name for shard in shards}
    missing = [name for name in statistics.commits if name not in names]
    others = [name for name in sorted(names) if name not in statistics.commits]
    if missing or others:
        got = f"no {shown(missing[0])}" if missing else f"also {shown(others[0])}"
        raise IndexFolderError(
            f"{folder}: expected the {len(statistics.commits)} shards that {STATISTICS} describes, got {got}. "
            f"{_CHANGED}"
        )
    for shard in shards:
        if lucene_commit(shard) != statistics.commits[shard.name]:
            raise IndexFolderError(
                f"{shard}: expected the shard that {STATISTICS} describes, got another, or one that has changed "
                f"since. {_CHANGED}"
            )


def read_statistics(folder: Path) -> ShardStatistics | None:
    """Return the statistics of a sharded index, checked completely; None if there is no file."""
    path = folder / STATISTICS
    try:
        stored = parse_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, f"it cannot be read: {error.strerror}") from error
    except ParseFault as fault:
        raise _damaged(path, f"it holds {fault}") from None
    try:
        values = _SCHEMA.read(stored, {})
    except SchemaError as error:
        where = f"{error.path}: " if error.path else ""
        raise _damaged(path, f"{where}expected {error.expected}, got {error.got}") from None
    wrong = _fault_of(values)
    if wrong is not None:
        raise _damaged(path, wrong)
    commits = {shard["name"]: shard["commit"] for shard in values["shards"]}
    return ShardStatistics(values["made_with_index"], commits, values["documents"], values["fields"])


def write_statistics(folder: Path, shards: Sequence[Path], sizes: Sequence[int], manifest: Mapping[str, Any]) -> None:
    """Write the statistics of shards from the manifest of their forward arrays.

    folder  the folder that the file is written to
    sizes   number of documents of each shard, deleted ones included
    """
    values: dict[str, Any] = {
        "format": _FORMAT,
        "made_with_index": manifest["made_with_index"],
        "language": manifest["language"],
        "documents": sum(sizes),
        "shards": [
            {"name": shard.name, "commit": lucene_commit(shard), "documents": size}
            for shard, size in zip(shards, sizes, strict=True)
        ],
        "fields": {
            field["name"]: {name: field[name] for name in ("documents", "tokens", "terms")}
            for field in manifest["fields"]
        },
    }
    with whole_file(folder / STATISTICS) as file:
        json.dump({**values, "checksum": _checksum(values)}, file, indent=1)


def _fault_of(values: Mapping[str, Any]) -> str | None:
    """Return what is wrong with statistics whose types are right, None if nothing is."""
    shards = values["shards"]
    names = [shard["name"] for shard in shards]
    if len(set(names)) < len(names):
        return "a shard is named twice"
    wrong = [name for name in names if Path(name).name != name or name[0] == "." or name in (SUBFOLDER, RESOURCES)]
    if wrong:
        return f"{shown(wrong[0])} is no name of a folder"
    if sum(shard["documents"] for shard in shards) != values["documents"]:
        return "the documents of the shards do not add up"
    if values["checksum"] != _checksum(values):
        return "it is not the file that was made"
    return None


def _checksum(values: Mapping[str, Any]) -> str:
    """Return the sha256 of all values but the checksum."""
    parts = {name: value for name, value in values.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


def _damaged(path: Path, damage: str) -> IndexFolderError:
    return IndexFolderError(
        f"{path}: expected the statistics of shards, got a damaged file ({damage}). "
        "Delete it, it is made again from whole shards."
    )


def check_alike(folder: Path, shards: Sequence[Path], opened: Sequence[Mapping[str, Any]]) -> None:
    """Refuse shards of several builds, and shards with other analysers or fields than the first.

    opened  what Java says of each shard: `language`, `fields`, `shard` and `text_fields`, see Bridge.java
    """
    builds = [_build_of(shard, each) for shard, each in zip(shards, opened, strict=True)]
    first = next((number for number, each in enumerate(opened) if each["text_fields"]), 0)
    one_build = builds[0] is not None
    for number, (shard, each) in enumerate(zip(shards, opened, strict=True)):
        for what, name in (("language", "language"), ("list of fields", "fields")):
            if each[name] != opened[first][name]:
                raise _not_alike(shard, f"the {what} {opened[first][name]} of {shards[first].name}", each[name])
        if (builds[number] is None) is one_build or (one_build and builds[number][0] != builds[0][0]):  # type: ignore[index]
            raise _not_alike(shard, f"a shard of the build of {shards[0].name}", "one of another build")
        _check_fields(shard, shards[first], each["text_fields"], opened[first]["text_fields"], one_build)
    if one_build:
        numbers = [build[1] for build in builds if build is not None]
        n_shards = builds[0][2]  # type: ignore[index]
        missing = sorted(set(range(n_shards)) - set(numbers))
        if missing or len(numbers) != n_shards:
            got = f"no number {missing[0]}" if missing else "one of them twice"
            raise IndexFolderError(
                f"{folder}: expected the {n_shards} shards of its build, got {got}. Put the shards back, or build the "
                "index anew."
            )


def _check_fields(
    shard: Path, first: Path, fields: Mapping[str, str], expected: Mapping[str, str], one_build: bool
) -> None:
    """Refuse fields that are indexed otherwise; a shard of one build may lack a field of which it has no document."""
    for name in sorted({*fields, *expected}):
        if name in fields and name in expected:
            if fields[name] != expected[name]:
                raise _not_alike(shard, f"field {name!r} with {expected[name]}, as in {first.name}", fields[name])
        elif not one_build:
            held = ", ".join(sorted(expected))
            raise _not_alike(shard, f"the fields of {first.name} ({held})", ", ".join(sorted(fields)) or "none")


def _build_of(shard: Path, opened: Mapping[str, Any]) -> tuple[str, int, int] | None:
    """Return the build that a shard notes, its number and how many there are; None for an index built by itself."""
    if opened["shard"] is None:
        return None
    try:
        schema = Record({"build": Text(64), "number": Whole(0, MOST_SHARDS), "shards": Whole(1, MOST_SHARDS)})
        note = schema.read(parse_json(opened["shard"]), {})
    except (ParseFault, SchemaError):
        raise _not_alike(shard, "a note of the shard's build", shown(opened["shard"])) from None
    return note["build"], note["number"], note["shards"]


def _not_alike(shard: Path, expected: str, got: Any) -> IndexFolderError:
    return IndexFolderError(
        f"{shard}: expected {expected}, got {got}. Put the right shard back, or build the index anew."
    )
