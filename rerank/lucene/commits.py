"""Commits of Lucene indexes, their newest segments files, and the checksums at the end of Lucene's files (CRC-32).

Lucene compares most of them only when it merges segments: of a file with a changed byte it would read other postings,
lengths or values. Reading all files at each opening would take too long, so a note records the size and times of files
that were compared. It is with the forward arrays, or in the user's cache folder.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rerank.errors import IndexFolderError
from rerank.runtime.cache import file_state, is_noted, note_path, write_note
from rerank.runtime.progress import track

_COMMIT_FILE = re.compile(r"segments_([0-9a-z]+)")
_LONGEST_MESSAGE = 500  # characters of a message of Lucene


def commit_file(folder: Path) -> Path | None:
    """Return the newest segments file, as Lucene does; generations are in base 36. None if there is none."""
    commits = [(int(match[1], 36), match[0]) for match in map(_COMMIT_FILE.fullmatch, os.listdir(folder)) if match]
    return folder / max(commits)[1] if commits else None


def lucene_commit(folder: Path) -> str:
    """Return the sha256 of the commit of one Lucene index, which changes with every change of the index."""
    commit = commit_file(folder)
    if commit is None:
        raise IndexFolderError(f"{folder}: expected a Lucene index, got none. Build it anew.")
    try:
        return hashlib.sha256(commit.read_bytes()).hexdigest()
    except OSError as error:
        raise damaged_lucene(folder, f"{commit.name} cannot be read: {error.strerror}") from error


def damaged_lucene(folder: Path | str, damage: str) -> IndexFolderError:
    """Return the error for a damaged Lucene index."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in damage[:_LONGEST_MESSAGE])
    return IndexFolderError(
        f"{folder}: expected a whole Lucene index, got a damaged one ({printable}). Build the index anew."
    )


NOTE = "lucene.json"
_SEGMENT_FILE = re.compile(r"(_[0-9a-z]+)(_[^.]*)?\.[0-9a-z]+")
_ANY_COMMIT_FILE = re.compile(r"(pending_)?segments_[0-9a-z]+")
_HEADER = bytes.fromhex("3fd76c17")  # org.apache.lucene.codecs.CodecUtil.CODEC_MAGIC
_CHECKSUM = 8  # bytes at the end of a file
_BLOCK = 1 << 22
_MOST_SECONDS = 1.0  # after which the log says how long it took
_log = logging.getLogger("rerank")


def is_lucene_file(path: Path) -> bool:
    """Return whether a file has the name of a commit, or the name and the first bytes of a file of a segment."""
    if _SEGMENT_FILE.fullmatch(path.name) is None:
        return _ANY_COMMIT_FILE.fullmatch(path.name) is not None
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
    start, sizes = time.perf_counter(), [size for size, *_ in state.values()]
    blocks = _compared_blocks(folder, files)
    for _ in track(blocks, "checksums of Lucene's files", sum(-(-size // _BLOCK) for size in sizes)):
        pass
    seconds = time.perf_counter() - start
    if seconds > _MOST_SECONDS:
        text = "%s: the checksums of Lucene's files were compared: %.1f GB in %.0f s, once until a file changes."
        _log.info(text, folder, sum(sizes) / 1e9, seconds)
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
        checksum, end = 0, b""
        try:
            with open(path, "rb", buffering=0) as file:
                while block := file.read(_BLOCK):
                    block = end + block
                    checksum, end = zlib.crc32(memoryview(block)[:-_CHECKSUM], checksum), block[-_CHECKSUM:]
                    yield
        except OSError as error:
            raise damaged_lucene(folder, f"{path.relative_to(folder)} cannot be read: {error.strerror}") from error
        if end != checksum.to_bytes(_CHECKSUM, "big"):
            raise damaged_lucene(folder, f"{path.relative_to(folder)} does not fit its checksum")
