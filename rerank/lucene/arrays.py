"""Forward arrays on disk: computed from Lucene's postings, and read as memory maps.

The file `forward.npz` (`rerank.runtime.store`) has doc_ids, lucene_docs, doc_slots, vocabulary, term_ptr, numbers
(a row for each name in the header), and for field f (its number in the header) f.doc_ptr, f.terms, f.freqs,
f.positions, f.position_ptr, f.lengths, f.doc_freq and f.collection_freq. rerank/types/forward.py describes them.

Documents are numbered in the order of their ids, and terms in byte order: so the same documents have the same arrays,
bit for bit, for any number of shards, segments and threads of the index build.

The arrays are computed once for each Lucene commit.
"""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, IndexFolderError, first_names, log
from rerank.lucene.commits import damaged_lucene
from rerank.lucene.folder import ARRAYS, ARRAYS_NOTE, check_commit, commit_hash, open_commit, staged_index
from rerank.lucene.languages import stored_language
from rerank.lucene.requests import ask_json, open_index
from rerank.lucene.shards import SUBFOLDER, index_folders
from rerank.runtime import store
from rerank.runtime.cache_folder import cache_folder
from rerank.runtime.fields import Flag, Items, Plain, Record, Text, Whole, first_repeated
from rerank.runtime.mapped_rows import expect_random_reads
from rerank.runtime.memory import memory_limit
from rerank.runtime.progress import track
from rerank.runtime.store import Fault, Kind, Stored, file_state, note_path, write_note
from rerank.types import Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots
from rerank.types.ids import Ids, id_texts, sort_keys
from rerank.types.ranking_data import warn_of_rounding
from rerank.types.statistics import terms_checksum

_BLOCK = 1 << 16  # number of ids that are converted at a time
MOST_OF_MEMORY = 0.5  # share of the memory; larger arrays do not stay in memory as a whole
_COUNT = Whole(0, 2**62)
_HEADER = Record(
    {
        "commit": Text(64),
        "made_with_index": Flag(),
        "fields": Items(
            Record({"name": Text(), "positions": Flag(), "documents": _COUNT, "tokens": _COUNT, "terms": _COUNT})
        ),
        "numbers": Items(Text(), may_be_empty=True),
        "language": Text(),
        "shards": Items(_COUNT),
        "fingerprint": Plain(optional=False),
    }
)


def _declared(values: Mapping[str, Any]) -> dict[str, Stored]:
    """Return the dtype and shape of each array that a header declares."""

    def mapped(dtype: Any, *shape: str) -> Stored:
        return Stored(dtype, shape, mapped=True)

    arrays = {
        "doc_ids": mapped(np.str_, "n_docs"),
        "lucene_docs": mapped(np.int32, "n_docs"),
        "doc_slots": mapped(np.int32, "n_slots"),
        "numbers": mapped(np.float64, str(len(values["numbers"])), "n_docs"),
        "vocabulary": mapped(np.uint8, "n_bytes"),
        "term_ptr": mapped(np.int64, "n_terms+1"),
    }
    for number, field in enumerate(values["fields"]):
        n_postings = f"n_postings{number}"
        of_field = {
            "doc_ptr": mapped(np.int64, "n_docs+1"),
            "terms": mapped(np.int32, n_postings),
            "freqs": mapped(np.int32, n_postings),
            "position_ptr": mapped(np.int64, "n_docs+1"),
            "lengths": mapped(np.int32, "n_docs"),
            "doc_freq": mapped(np.int32, "n_terms"),
            "collection_freq": mapped(np.int64, "n_terms"),
        }
        if field["positions"]:
            of_field["positions"] = mapped(np.int32, str(field["tokens"]))
        arrays |= {f"{number}.{name}": array for name, array in of_field.items()}
    return arrays


def _check(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise Fault for arrays that kernels cannot read, or that do not fit the header."""
    if (
        first_repeated(field["name"] for field in values["fields"]) is not None
        or first_repeated(values["numbers"]) is not None
    ):
        raise Fault("two fields or numbers of one name")
    from rerank.lucene.postings import check_arrays

    check_arrays(_forward(values, arrays))
    if values["fingerprint"] != _fingerprint(values, arrays):
        raise Fault("the fingerprint of other arrays")
    if sum(values["shards"]) != len(arrays["doc_ids"]):
        raise Fault("sizes of shards that do not add up")


KIND = Kind(
    "rerank forward arrays",
    7,
    "whole forward arrays",
    "Delete the file, it is made again when the index is opened.",
    _HEADER,
    _declared,
    _check,
)


def write_arrays(index: Path, folder: Path, made_with_index: bool) -> Ids:
    """Write the forward arrays of an index into a folder that has none; return the ids, (n_docs,), ascending."""
    commit = commit_hash(index)
    from rerank.lucene.postings import RawField, write_field

    raw = folder / "raw"
    parts = folder / "parts"
    raw.mkdir(parents=True)
    parts.mkdir()
    report = _export(index, raw)
    doc_ids, order = _write_documents(index, raw, parts)
    _check_shards(index, doc_ids, order, report["shards"])
    numbers = np.fromfile(raw / "numbers", np.float64).reshape(len(report["numbers"]), len(order))
    with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond float32
        warn_of_rounding(
            "numbers of the documents", numbers.T.astype(np.float32), report["numbers"], numbers.__getitem__
        )
    np.save(parts / "numbers.npy", numbers[:, order])
    np.save(parts / "vocabulary.npy", np.fromfile(raw / "vocabulary", np.uint8))
    np.save(parts / "term_ptr.npy", pointers(np.fromfile(raw / "term_lengths", np.int32)))
    fields = []
    for number, field in enumerate(track(report["fields"], "forward arrays", len(report["fields"]))):
        counts = write_field(RawField(raw, number, field["positions"]), parts, order)
        if counts is None:
            raise damaged_lucene(index, "impossible postings")  # a damaged file may still have a matching checksum
        fields.append(field | counts)
    shutil.rmtree(raw)
    if commit_hash(index) != commit:
        raise IndexFolderError(
            f"{index}: expected an index at rest, got one that changed while its forward arrays were made. "
            "Open it again when it is whole."
        )
    arrays = {path.stem: np.load(path, mmap_mode="r") for path in sorted(parts.glob("*.npy"))}
    values: dict[str, Any] = {
        "commit": commit,
        "made_with_index": made_with_index,
        "fields": fields,
        "numbers": report["numbers"],
        "language": report["language"],
        "shards": report["shards"],
    }
    values["fingerprint"] = _fingerprint(values, arrays)
    store.write(folder / ARRAYS, KIND, values, arrays)
    del arrays  # Windows removes no mapped file
    shutil.rmtree(parts)
    write_note([folder / ARRAYS_NOTE], file_state(folder / ARRAYS))
    return doc_ids


def read_header(folder: Path) -> dict[str, Any] | None:
    """Return the values in the header of a folder's forward arrays; None if the folder has no arrays."""
    return store.read_values(folder / ARRAYS, KIND) if (folder / ARRAYS).is_file() else None


def read_arrays(folder: Path, again: bool = False) -> ForwardIndex:
    """Return the forward arrays of a folder as read-only memory maps.

    Raises FileFormatError for damaged arrays.

    again  whether to check the content even if this state of the file was checked before
    """
    path = folder / ARRAYS
    values, arrays = store.read(path, KIND, () if again else (folder / ARRAYS_NOTE, note_path(folder)))
    forward = _forward(values, arrays)
    if os.path.getsize(path) > MOST_OF_MEMORY * memory_limit():
        # The system would also read the pages around those that are needed. They would fill the memory, and drive out
        # pages that are needed again.
        for field in forward.fields.values():
            expect_random_reads(field.terms, field.freqs, field.positions)
    return forward


def _forward(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ForwardIndex:
    fields = {}
    for number, field in enumerate(values["fields"]):
        members: dict[str, Any] = {"positions": None}
        members |= {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{number}.")}
        fields[field["name"]] = FieldArrays(field["name"], n_docs_with=field["documents"], **members)
    return ForwardIndex(
        doc_ids=arrays["doc_ids"],
        lucene_docs=arrays["lucene_docs"],
        doc_slots=arrays["doc_slots"],
        vocabulary=arrays["vocabulary"],
        term_ptr=arrays["term_ptr"],
        fields=fields,
        fingerprint=values["fingerprint"],
        numbers=dict(zip(values["numbers"], arrays["numbers"], strict=True)),
    )


def ids_from_bytes(text: bytes | memoryview, lengths: NDArray[np.int32]) -> Ids:
    """Return ids from their concatenated UTF-8 bytes and their lengths in bytes."""
    return _texts(_padded(np.frombuffer(text, np.uint8), lengths))


def _padded(text: NDArray[np.uint8], lengths: NDArray[np.int32]) -> NDArray[np.bytes_]:
    """Return concatenated ids, of given lengths in bytes, as an array of bytes; its width is a multiple of eight."""
    width = max(-(-int(lengths.max(initial=1)) // 8) * 8, 8)
    ids = np.zeros((len(lengths), width), dtype=np.uint8)
    start = 0
    for first in range(0, len(lengths), _BLOCK):
        of_block = lengths[first : first + _BLOCK]
        end = start + int(of_block.sum(dtype=np.int64))
        ids[first : first + _BLOCK][np.arange(width) < of_block[:, None]] = text[start:end]
        start = end
    return ids.view(f"S{width}")[:, 0]


def _texts(ids: NDArray[np.bytes_]) -> Ids:
    """Return ids as str, converted block by block: all at once would take several times the memory."""
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(ids), _BLOCK)]
    width = max((id_texts(ids[block]).dtype.itemsize for block in blocks), default=4) // 4
    texts = np.empty(len(ids), dtype=f"U{width}")
    for block in blocks:
        texts[block] = id_texts(ids[block])
    return texts


def _export(index: Path, raw: Path) -> dict[str, Any]:
    """Export all postings to raw binary files; return Java's report with the language and the sizes of shards."""
    opened = open_index(index)
    parameters = {"handle": opened["handle"], "index": str(index)}
    try:
        report: dict[str, Any] = ask_json("export", **parameters, folder=str(raw.absolute()))
        report["language"], report["shards"] = stored_language(opened), opened["sizes"]
    finally:
        ask_json("close", **parameters)
    if not report["fields"]:
        raise IndexFolderError(f"{index}: expected an index with a text field, got none. Index documents with text.")
    return report


def _write_documents(index: Path, raw: Path, folder: Path) -> tuple[Ids, Ints]:
    """Write the ids of documents, sorted; return them, and Lucene's number of each document."""
    ids = _padded(np.fromfile(raw / "doc_ids", np.uint8), np.fromfile(raw / "doc_id_lengths", np.int32))
    order = np.lexsort(sort_keys(ids))
    ids = ids[order]
    try:
        doc_ids = _texts(ids)
    except UnicodeDecodeError as error:
        raise damaged_lucene(index, "ids that are no UTF-8") from error
    np.save(folder / "doc_ids.npy", doc_ids)
    np.save(folder / "lucene_docs.npy", order.astype(np.int32))
    np.save(folder / "doc_slots.npy", document_slots(doc_ids))
    return doc_ids, order


def _check_shards(index: Path, doc_ids: Ids, order: Ints, sizes: list[int]) -> None:
    """Refuse an id that two shards hold; within one Lucene index, an id may occur again."""
    if len(sizes) == 1:
        return
    shard = np.searchsorted(pointers(sizes)[1:], order, side="right")
    repeated = (doc_ids[1:] == doc_ids[:-1]) & (shard[1:] != shard[:-1]) & (doc_ids[1:] != "")
    if repeated.any():
        row = int(np.argmax(repeated))
        shards = index_folders(index)
        raise IndexFolderError(
            f"{index}: expected each id in one shard, got {str(doc_ids[row])!r} in {shards[shard[row]].name} and "
            f"{shards[shard[row + 1]].name}. Delete it from one of them ({np.count_nonzero(repeated)} such ids in all)."
        )


def _fingerprint(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return statistics that depend on the indexed text and its language only, not on how the index was built.

    Counts may be equal by chance: so there is a checksum of the vocabulary and the fields' document frequencies.
    """
    doc_freqs = {str(field["name"]): arrays[f"{number}.doc_freq"] for number, field in enumerate(values["fields"])}
    return {
        "language": values["language"],
        "documents": int(np.count_nonzero(arrays["doc_ids"] != "")),
        "terms": len(arrays["term_ptr"]) - 1,
        "checksum": terms_checksum(arrays["vocabulary"], arrays["term_ptr"], doc_freqs),
        "fields": {
            field["name"]: {
                "documents": field["documents"],
                "tokens": field["tokens"],
                "terms": field["terms"],
                "average_length": field["tokens"] / field["documents"] if field["documents"] else 0.0,
            }
            for field in sorted(values["fields"], key=lambda field: str(field["name"]))
        },
    }


def open_forward(folder: str | Path, commit: str | None = None) -> ForwardIndex:
    """Return the forward arrays of an index as memory maps; they are computed if the index has none.

    The arrays are in `INDEX/rerank` or, if the index cannot be written, in `$RERANK_CACHE` (by default the user's cache
    folder). Computing them needs Java. Damaged arrays are computed again, and so are those of an index that Pyserini or
    Anserini built and has changed since. Deleted documents keep their number, with an empty id and no terms. Lucene's
    statistics count deleted documents until their segments are merged; the statistics of the arrays do not.
    """
    index = Path(folder)
    if commit is None:
        commit = open_commit(index)
    check_commit(index, commit)
    arrays = _arrays_folder(index, commit)
    forward = _current(index, arrays, commit)
    if forward is None:
        _make(index, arrays, commit)
        forward = _current(index, arrays, commit)
    if forward is None:
        raise IndexFolderError(
            f"{arrays}: expected the forward arrays of {index}, got others. Open the index when it is at rest."
        )
    check_commit(index, commit)
    return forward


def made_from_index(folder: str | Path, commit: str) -> bool:
    """Return whether the forward arrays were made from an index of Pyserini or Anserini, not with the index itself."""
    header = read_header(_arrays_folder(Path(folder), commit))
    return header is not None and not header["made_with_index"]


def stored_forward(folder: str | Path, commit: str) -> ForwardIndex | None:
    """Return the forward arrays of an index; None if it has none: nothing is computed."""
    return _current(Path(folder), _arrays_folder(Path(folder), commit), commit)


def _current(index: Path, arrays: Path, commit: str) -> ForwardIndex | None:
    """Return the forward arrays of this commit; None where they have to be made.

    Raises IndexFolderError for arrays of another commit of an index that `rerank` built.
    """
    try:
        header = read_header(arrays)
        if header is None:
            return None
        if header["commit"] != commit:
            if header["made_with_index"]:
                raise IndexFolderError(
                    f"{arrays}: expected the forward arrays of this index, got those of an earlier state of it. "
                    "Build the index anew, or delete this folder if the change was meant."
                )
            log.info("%s: the index has changed; its forward arrays are rebuilt.", arrays)
            return None
        return read_arrays(arrays)
    except FileFormatError as error:
        log.warning("%s They are rebuilt now.", error)
        return None


def _make(index: Path, arrays: Path, commit: str) -> None:
    """Compute the forward arrays of an index, unless another process has written them meanwhile."""
    shards = index_folders(index)
    if shards != (index,):
        names = [shard.name for shard in shards]
        log.warning("%s: %d indexes are used as the shards of one (%s).", index, len(shards), first_names(names))
    log.info("%s: building forward arrays.", arrays)
    with staged_index(arrays, lambda: _current(index, arrays, commit) is not None) as staging:
        write_arrays(index, staging, made_with_index=False)


def _arrays_folder(index: Path, commit: str) -> Path:
    """Return the folder of the arrays: in the index, or in the cache folder if the index is read-only and has none."""
    inside = index / SUBFOLDER
    if os.access(index, os.W_OK):
        return inside
    with suppress(FileFormatError):
        header = read_header(inside)
        if header is not None and header["commit"] == commit:
            return inside
    return cache_folder() / f"forward-{commit[:32]}"
