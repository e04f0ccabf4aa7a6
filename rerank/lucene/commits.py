"""Commits of Lucene indexes: their newest segments files, and the files that they name."""

import os
import re
from contextlib import suppress
from pathlib import Path

from rerank.errors import IndexFolderError

_SEGMENT_FILE = re.compile(r"(_[0-9a-z]+)(_[^.]*)?\.[0-9a-z]+")
_HEADER = bytes.fromhex("3fd76c17")  # org.apache.lucene.codecs.CodecUtil.CODEC_MAGIC
_LONGEST_MESSAGE = 500  # characters of a message of Lucene


def commit_file(folder: Path) -> Path | None:
    """Return the newest segments file, as Lucene does; generations are in base 36. None if there is none."""
    matches = [re.fullmatch(r"segments_([0-9a-z]+)", name) for name in os.listdir(folder)]
    commits = [(int(match[1], 36), match[0]) for match in matches if match]
    return folder / max(commits)[1] if commits else None


def size_of_files(folder: Path) -> int:
    """Return the bytes of the files in a folder; one that a writer removes meanwhile counts as none."""
    size = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                size += entry.stat().st_size
    return size


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


def committed_files(index: Path) -> list[Path]:
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
