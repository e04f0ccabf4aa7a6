"""The commit of a Lucene index: its newest segments file."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from rerank.errors import IndexFolderError

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
