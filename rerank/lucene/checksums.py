"""The checksums at the end of Lucene's files (CRC-32).

Lucene compares most of them only when it merges segments: of a file with a changed byte it would read other postings,
lengths or values. Reading all files at each opening would take too long, so a note records the size and times of files
that were compared. It is with the forward arrays, or in the user's cache folder.
"""

import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from rerank.errors import log
from rerank.lucene.commits import committed_files, damaged_lucene
from rerank.runtime.progress import track
from rerank.runtime.store import file_state, is_noted, note_path, write_note

NOTE = "lucene.json"
_CHECKSUM = 8  # bytes at the end of a file
_BLOCK = 1 << 22
_MOST_SECONDS = 1.0  # after which the log says how long it took


def check_checksums(folder: Path, indexes: Sequence[Path], arrays: Path) -> None:
    """Refuse an index of which a file does not have its checksum; files in the state of a note are not read.

    folder   the index
    indexes  the Lucene indexes in it: the folder itself, or those of its shards
    arrays   the folder of the forward arrays, which may be missing
    """
    files = [path for index in indexes for path in committed_files(index)]
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
