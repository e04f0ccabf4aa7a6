"""Index folders: detection, the hash of the commit, and atomic replacement."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rerank.errors import IndexFolderError, MissingFileError
from rerank.lucene.checksums import NOTE, check_checksums
from rerank.lucene.commits import commit_file, is_lucene_file
from rerank.lucene.shards import RESOURCES, SUBFOLDER, index_folders, shards_of_build
from rerank.runtime import output

ARRAYS = "forward.npz"
ARRAYS_NOTE = "verified.json"
MARKER = "rerank-unfinished.json"


def check_index_folder(path: str | Path) -> Path:
    """Return the path of a folder with a Lucene index or its shards; refuse other folders. Nothing is opened."""
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
    """Return the SHA-256 of the Lucene commit of an index, or of the commits of its shards; every change changes it."""
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
    """Refuse an index whose commit is not the given one: it has changed since it was opened."""
    if commit_hash(check_index_folder(folder)) != commit:
        raise IndexFolderError(
            f"{folder}: expected the index as it was opened, got another one, as it has changed since. Open it again."
        )


def check_target(target: Path, overwrite: bool) -> None:
    """Refuse a folder that exists and is not empty, unless it is an index without other files, to be overwritten."""
    if not os.path.lexists(target) or (target.is_dir() and not any(target.iterdir())):
        return
    # The shards of one build are an index; a folder into which a user has put several indexes is none.
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
            "no build wrote. Move this file elsewhere."
        )


def foreign_files(folder: Path) -> Iterator[Path]:
    """Yield the files and folders that no build wrote, in the folder of an index, its shards, arrays and resources."""
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
def staged_index(target: Path, exists_already: Callable[[], bool] = lambda: False) -> Iterator[Path]:
    """Yield a new hidden folder next to `target`, which replaces `target` if the block ends without an error.

    Until then a marker file shows that the folder is no complete index; see `rerank.runtime.output`. If `target` is a
    link, the folder that it points to is replaced.

    exists_already  returns whether another process has written `target` meanwhile; it then stays as it is
    """

    def move(folder: Path, target: Path) -> None:
        (folder / MARKER).unlink()
        if not exists_already():
            output.replace_folder(folder, target, foreign_files)

    with output.staged_folder(target.resolve(), move, IndexFolderError) as folder:
        (folder / MARKER).touch()
        yield folder
