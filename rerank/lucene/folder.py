"""Index folders: detection, the hash of the commit, and atomic replacement.

Commits of Lucene indexes, their newest segments files, and the checksums at the end of Lucene's files (CRC-32).

Lucene compares most of them only when it merges segments: of a file with a changed byte it would read other postings,
lengths or values. Reading all files at each opening would take too long, so a note records the size and times of files
that were compared. It is with the forward arrays, or in the user's cache folder.

Sharded indexes: a folder with several Lucene indexes, the shards, which Lucene reads as one (`MultiReader`).

    FOLDER/shard-000/ ...     a Lucene index each; those that were built by themselves may have any names
    FOLDER/rerank/            forward arrays of all documents

`Index.build(..., shards=N)` puts a document into the shard of `shard_of` its id, and notes the build and the number of
its shards in each shard's commit. A folder of several indexes that were built one by one is a sharded index as well.
"""

import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rerank.errors import IndexFolderError, InvalidInputError, MissingFileError, log, shown
from rerank.runtime import output
from rerank.runtime.progress import track
from rerank.runtime.store import file_state, is_noted, note_path, write_note

NOTE = "lucene.json"
_SEGMENT_FILE = re.compile(r"(_[0-9a-z]+)(_[^.]*)?\.[0-9a-z]+")
_HEADER = bytes.fromhex("3fd76c17")  # org.apache.lucene.codecs.CodecUtil.CODEC_MAGIC
_CHECKSUM = 8  # bytes at the end of a file
_BLOCK = 1 << 22
_LONGEST_MESSAGE = 500  # characters of a message of Lucene
_MOST_SECONDS = 1.0  # after which the log says how long it took
SUBFOLDER, RESOURCES = "rerank", "rerank-resources"  # of the forward arrays; of vectors and history
ARRAYS = "forward.npz"
ARRAYS_NOTE = "verified.json"
MARKER = "rerank-unfinished.json"
MOST_SHARDS = 1000
_NAME = re.compile(r"shard-\d{3,}")


def commit_file(folder: Path) -> Path | None:
    """Return the newest segments file, as Lucene does; generations are in base 36. None if there is none."""
    matches = [re.fullmatch(r"segments_([0-9a-z]+)", name) for name in os.listdir(folder)]
    commits = [(int(match[1], 36), match[0]) for match in matches if match]
    return folder / max(commits)[1] if commits else None


def damaged_lucene(folder: Path | str, damage: str) -> IndexFolderError:
    """Return the error for a damaged Lucene index."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in damage[:_LONGEST_MESSAGE])
    return IndexFolderError(
        f"{folder}: expected a whole Lucene index, got a damaged one ({printable}). Build the index anew."
    )


def is_lucene_file(path: Path) -> bool:
    """Return whether a file has the name of a commit, or the name and the first bytes of a file of a segment."""
    if _SEGMENT_FILE.fullmatch(path.name) is None:
        return re.fullmatch(r"(pending_)?segments_[0-9a-z]+", path.name) is not None
    with open(path, "rb") as file:
        return file.read(len(_HEADER)) in (_HEADER, b"")


def check_checksums(folder: Path, indexes: Sequence[Path], arrays: Path) -> None:
    """Refuse an index of which a file does not have its checksum; files in the state of a note are not read.

    folder   the index
    indexes  the Lucene indexes in it: the folder itself, or those of its shards
    arrays   the folder of the forward arrays, which may be missing
    """
    files = [path for index in indexes for path in _committed_files(index)]
    state = {path.relative_to(folder).as_posix(): file_state(path) for path in files}
    notes = [note_path(folder)] if not arrays.is_dir() else [arrays / NOTE, note_path(folder)]
    if is_noted(notes, state):
        return
    start = time.perf_counter()
    sizes = [size for size, *_ in state.values()]
    n_blocks = sum(-(-size // _BLOCK) for size in sizes)
    for _ in track(_compared_blocks(folder, files), "checksums of Lucene's files", n_blocks):
        pass
    seconds = time.perf_counter() - start
    if seconds > _MOST_SECONDS:
        log.info(
            "%s: the checksums of Lucene's files were compared: %.1f GB in %.0f s, once until a file changes.",
            folder,
            sum(sizes) / 1e9,
            seconds,
        )
    write_note(notes, state)


def _committed_files(index: Path) -> list[Path]:
    """Return the commit of one Lucene index and the files of its segments; a writer may be at work on others."""
    commit = commit_file(index)
    if commit is None:
        return []
    content = commit.read_bytes()
    files = [commit]
    for path in sorted(index.iterdir()):
        match = _SEGMENT_FILE.fullmatch(path.name)
        if match and bytes([len(match[1])]) + match[1].encode() in content:  # the commit names the segment
            files.append(path)
    return files


def _compared_blocks(folder: Path, files: Sequence[Path]) -> Iterator[None]:
    """Read files in blocks and yield after each; raise IndexFolderError for a file that has another checksum."""
    for path in files:
        checksum = 0
        end = b""
        with open(path, "rb", buffering=0) as file:
            while block := file.read(_BLOCK):
                block = end + block
                checksum = zlib.crc32(memoryview(block)[:-_CHECKSUM], checksum)
                end = block[-_CHECKSUM:]
                yield
        if end != checksum.to_bytes(_CHECKSUM, "big"):
            raise damaged_lucene(folder, f"{path.relative_to(folder)} does not fit its checksum")


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


def check_index_folder(path: str | Path) -> Path:
    """Return the path of a folder with a Lucene index or with the shards of one; nothing is opened."""
    folder = output.path_of(path)
    if not folder.exists():
        raise MissingFileError(folder, "a folder with a Lucene index")
    if not folder.is_dir():
        raise IndexFolderError(
            f"{folder}: expected a folder with a Lucene index, got a file. Build one with `rerank index`."
        )
    if (folder / MARKER).exists():
        raise IndexFolderError(f"{folder}: expected a whole index, got a half-built one. Delete it and build it anew.")
    shards = index_folders(folder)
    if not shards:
        raise IndexFolderError(
            f"{folder}: expected a Lucene index, got a folder without one (no segments file). "
            "Check the path or build one with `rerank index`."
        )
    for shard in shards:
        if (shard / MARKER).exists():
            raise IndexFolderError(f"{shard}: expected a whole shard, got a half-built one. Build the index anew.")
        if commit_file(shard) is None:
            raise IndexFolderError(
                f"{shard}: expected the Lucene index of a shard, got a folder without one (no segments file). "
                "Put the shard back, or move the folder elsewhere."
            )
    return folder


def commit_hash(folder: Path) -> str:
    """Return the sha256 of the Lucene commit of an index, of all commits with shards; every change changes it."""
    folders = index_folders(folder)
    commits = [commit for commit in map(commit_file, folders) if commit is not None]
    if not commits or len(commits) < len(folders):
        raise IndexFolderError(f"{folder}: expected a Lucene index, got none. Build it anew.")
    hashes = [hashlib.sha256(commit.read_bytes()).hexdigest() for commit in commits]
    if folders == (folder,):
        return hashes[0]
    text = "\n".join(f"{shard.name}/{digest}" for shard, digest in zip(folders, hashes, strict=True))
    return hashlib.sha256(text.encode("utf8", "surrogateescape")).hexdigest()


def open_commit(path: str | Path) -> str:
    """Return the hash of the commit of an index; its files are compared with their checksums once, see `checksums`."""
    folder = check_index_folder(path)
    commit = commit_hash(folder)
    check_checksums(folder, index_folders(folder), folder / SUBFOLDER)
    return commit


def check_commit(folder: Path, commit: str) -> None:
    """Refuse an index whose commit is no longer that of the opening."""
    if commit_hash(check_index_folder(folder)) != commit:
        raise IndexFolderError(
            f"{folder}: expected the index as it was opened, got another one, as it has changed since. Open it again."
        )


def check_target(target: Path, overwrite: bool) -> None:
    """Refuse a folder that exists and is not empty, unless it is an index without other files, to be overwritten."""
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return
    # not a folder of several indexes, but those of one build
    is_built = target.is_dir() and (commit_file(target) is not None or bool(shards_of_build(target)))
    if not is_built and not (target / MARKER).exists():
        raise IndexFolderError(
            f"{target}: expected a new folder or an index, got something else there. Choose another folder."
        )
    if not overwrite:
        raise IndexFolderError(
            f"{target}: expected a new folder, got an index. Choose another folder or overwrite it "
            "(--overwrite, overwrite=True)."
        )
    other = next(foreign_files(target), None)
    if other is not None:
        raise IndexFolderError(
            f"{target}: expected an index to overwrite, got one with {other.relative_to(target)} in its folder, which "
            "is no part of it. Move it elsewhere."
        )


def foreign_files(folder: Path) -> Iterator[Path]:
    """Yield what is in the folder of an index, of one of its shards or of its arrays and was written by no build."""
    inside = {SUBFOLDER, RESOURCES, *(shard.name for shard in shards_of_build(folder))}
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name not in inside:
                yield path
            else:
                yield from foreign_files(path)
        elif not (
            path.name in (MARKER, "write.lock", ARRAYS, ARRAYS_NOTE, NOTE)
            or is_lucene_file(path)
            or path.parent.name == RESOURCES
        ):
            yield path


@contextmanager
def staged_folder(target: Path, exists_already: Callable[[], bool] = lambda: False) -> Iterator[Path]:
    """Yield a new hidden folder next to `target`, which replaces `target` if the block ends without an error.

    Until then a marker file shows that it is not a complete index; see `rerank.runtime.output`. Links are followed.
    """

    def move(folder: Path, target: Path) -> None:
        (folder / MARKER).unlink()
        if not exists_already():
            output.replace_folder(folder, target, foreign_files)

    with output.staged_folder(target.resolve(), move, IndexFolderError) as folder:
        (folder / MARKER).touch()
        yield folder
