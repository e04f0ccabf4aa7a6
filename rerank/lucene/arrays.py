"""Forward arrays on disk: computed from Lucene's postings, read as memory maps.

The file `forward.npz` (`rerank.runtime.store`) has doc_ids, lucene_docs, doc_slots, vocabulary, term_ptr, numbers
(a row for each name in the header), and for field f (its number in the header) f.doc_ptr, f.terms, f.freqs,
f.positions, f.position_ptr, f.lengths, f.doc_freq and f.collection_freq. rerank/types/forward.py describes them.

Documents are numbered in the order of their ids, and terms in byte order: so the arrays of the same documents are the
same, bit for bit, for any number of shards, segments and threads of the index build.

They are computed once for each Lucene commit.

The postings of a field are put in the order of documents, from the order of terms, by counting sort.

Memory does not grow with the number of postings. The arrays are made part by part, each of some documents; for each
part, all postings are read block by block, each of some terms.

Every kernel can read arrays that pass the check. It reads all of them, so it is done once for each state of the files.

posting   one term in one document; `docs` has the document, `freqs` the number of occurrences
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, IndexFolderError
from rerank.lucene.folder import (
    ARRAYS,
    ARRAYS_NOTE,
    SUBFOLDER,
    check_commit,
    commit_hash,
    damaged_lucene,
    index_folders,
    open_commit,
    staged_folder,
)
from rerank.lucene.jvm import ask_json, open_index, stored_language
from rerank.runtime import store
from rerank.runtime.codec import Flag, Items, Plain, Record, Text, Whole, first_repeated
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import expect_random_reads, read_in_order, read_only_view
from rerank.runtime.progress import track
from rerank.runtime.store import Fault, Kind, Stored, are_characters, cache_folder, file_state, note_path, write_note
from rerank.runtime.threads import cores, in_threads, memory_limit
from rerank.types import Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots
from rerank.types.ids import Ids, id_texts, sort_keys

_BLOCK = 1 << 16  # ids converted at a time
_POSTINGS = 1 << 24  # that are read at a time, unless a term has more
_PART = 1 << 31  # bytes that are made in memory, and then written
MOST_OF_MEMORY = 0.5  # larger arrays do not stay in memory as a whole
_COUNT = Whole(0, 2**62)
_FIELD = Record({"name": Text(), "positions": Flag(), "documents": _COUNT, "tokens": _COUNT, "terms": _COUNT})
_HEADER = Record(
    {
        "commit": Text(64),
        "made_with_index": Flag(),
        "fields": Items(_FIELD),
        "numbers": Items(Text(), may_be_empty=True),
        "language": Text(),
        "shards": Items(_COUNT),
        "fingerprint": Plain(optional=False),
    }
)
_log = logging.getLogger("rerank")


def _declared(values: Mapping[str, Any]) -> dict[str, Stored]:
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
    """Raise Fault for arrays that kernels cannot read, or that are not those of the header."""
    names = [field["name"] for field in values["fields"]]
    if first_repeated(names) is not None or first_repeated(values["numbers"]) is not None:
        raise Fault("two fields or numbers of one name")
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
    """Write the forward arrays of an index into a folder that has none; return the ids.

    Shapes: ids str (n_docs,), in the order of documents.
    """
    commit = commit_hash(index)
    raw = folder / "raw"
    parts = folder / "parts"
    raw.mkdir(parents=True)
    parts.mkdir()
    report = _export(index, raw)
    doc_ids, order = _write_documents(index, raw, parts)
    _check_shards(index, doc_ids, order, report["shards"])
    numbers = np.fromfile(raw / "numbers", np.float64).reshape(len(report["numbers"]), len(order))
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
    shutil.rmtree(parts)
    write_note([folder / ARRAYS_NOTE], file_state(folder / ARRAYS))
    return doc_ids


def read_header(folder: Path) -> dict[str, Any] | None:
    """Return the values of the header of forward arrays, None if there are none."""
    return store.read_values(folder / ARRAYS, KIND) if (folder / ARRAYS).is_file() else None


def read_arrays(folder: Path, again: bool = False) -> ForwardIndex:
    """Return the forward arrays of a folder as read-only memory maps.

    Raises FileFormatError; `again` checks the content even if it was checked in this state of the file.
    """
    path = folder / ARRAYS
    values, arrays = store.read(path, KIND, () if again else (folder / ARRAYS_NOTE, note_path(folder)))
    forward = _forward(values, arrays)
    if os.path.getsize(path) > MOST_OF_MEMORY * memory_limit():
        # The pages around those that are read would fill the memory, and drive out pages that are needed again.
        for field in forward.fields.values():
            expect_random_reads(field.terms, field.freqs, field.positions)
    return forward


def _forward(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ForwardIndex:
    fields = {}
    for number, field in enumerate(values["fields"]):
        own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{number}.")}
        members: dict[str, Any] = {"positions": None, **own}
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
    """Return concatenated ids as an array of bytes, whose width is a multiple of eight."""
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
    """Return the text of ids block by block: of all at once, it takes several times the memory."""
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(ids), _BLOCK)]
    width = max((id_texts(ids[block]).dtype.itemsize for block in blocks), default=4) // 4
    texts = np.empty(len(ids), dtype=f"U{width}")
    for block in blocks:
        texts[block] = id_texts(ids[block])
    return texts


def _export(index: Path, raw: Path) -> dict[str, Any]:
    """Export all postings to raw binary files."""
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
    """Write the ids, which give documents their numbers; return them, and Lucene's number of each document."""
    lengths = np.fromfile(raw / "doc_id_lengths", np.int32)
    ids = _padded(np.fromfile(raw / "doc_ids", np.uint8), lengths)
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

    The checksum is that of the vocabulary and every field's document frequencies: counts may be equal by chance.
    """
    checksum = hashlib.sha256(arrays["vocabulary"].tobytes() + arrays["term_ptr"].tobytes())
    for name, number in sorted((str(field["name"]), number) for number, field in enumerate(values["fields"])):
        checksum.update(name.encode("utf8", "replace") + arrays[f"{number}.doc_freq"].tobytes())
    return {
        "language": values["language"],
        "documents": int(np.count_nonzero(arrays["doc_ids"] != "")),
        "terms": len(arrays["term_ptr"]) - 1,
        "checksum": checksum.hexdigest()[:16],
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

    The arrays are in `INDEX/rerank`, or if that cannot be written in `$RERANK_CACHE` (by default the user's cache
    folder). Computing them needs Java. Damaged arrays are computed again, and so are those of an index that Pyserini or
    Anserini built and has changed since. Deleted documents keep their number, with an empty id and no terms. Lucene's
    statistics count them until their segments are merged, those of the arrays do not.
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


def stored_forward(folder: str | Path, commit: str) -> ForwardIndex | None:
    """Return the forward arrays of an index where it has them; nothing is computed."""
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
            _log.info("%s: the index has changed; its forward arrays are rebuilt.", arrays)
            return None
        return read_arrays(arrays)
    except FileFormatError as error:
        _log.warning("%s They are rebuilt now.", error)
        return None


def _make(index: Path, arrays: Path, commit: str) -> None:
    def exists_already() -> bool:
        return _current(index, arrays, commit) is not None

    shards = index_folders(index)
    if shards != (index,):
        names = ", ".join(shard.name for shard in shards[:3]) + (", ..." if len(shards) > 3 else "")
        _log.warning("%s: %d indexes are used as the shards of one (%s).", index, len(shards), names)
    _log.info("%s: building forward arrays.", arrays)
    with staged_folder(arrays, exists_already) as staging:
        write_arrays(index, staging, made_with_index=False)


def _arrays_folder(index: Path, commit: str) -> Path:
    """Return the folder in the index, or one in the cache folder if the index cannot be written."""
    inside = index / SUBFOLDER
    if os.access(index, os.W_OK):
        return inside
    with suppress(FileFormatError):
        header = read_header(inside)
        if header is not None and header["commit"] == commit:
            return inside
    return cache_folder() / f"forward-{commit[:32]}"


class _Block(NamedTuple):
    """The postings of some terms.

    first      number of the first term
    doc_freq   (n_terms,) int32 documents of each term
    docs       (n_postings,) int32 Lucene's document numbers
    freqs      (n_postings,) int32
    positions  (n_tokens,) int32, empty where they are not indexed
    """

    first: int
    doc_freq: NDArray[np.int32]
    docs: NDArray[np.int32]
    freqs: NDArray[np.int32]
    positions: NDArray[np.int32]


@dataclass(frozen=True)
class RawField:
    """The postings of a field as Java exports them, see Exporting.java.

    Parameters
    ----------
    folder : Path
        Folder of the raw files.
    number : int
        Number of the field.
    positions : bool
        Whether the field has positions.

    """

    folder: Path
    number: int
    positions: bool

    @cached_property
    def doc_freq(self) -> NDArray[np.int32]:
        """Number of documents of each term, (n_terms,)."""
        return np.fromfile(self._path("doc_freq"), np.int32)

    def _path(self, name: str) -> Path:
        return self.folder / f"{self.number}.{name}"

    def blocks(self) -> Iterator[_Block]:
        """Yield all postings."""
        posting_ptr = pointers(self.doc_freq)
        token = 0
        for first, last in _ranges(posting_ptr, _POSTINGS):
            start = int(posting_ptr[first])
            count = int(posting_ptr[last]) - start
            docs, freqs = (self._read(name, start, count) for name in ("docs", "freqs"))
            n_tokens = int(freqs.sum(dtype=np.int64)) if self.positions else 0
            yield _Block(first, self.doc_freq[first:last], docs, freqs, self._read("positions", token, n_tokens))
            token += n_tokens

    def _read(self, name: str, start: int, count: int) -> NDArray[np.int32]:
        if not count:
            return np.empty(0, np.int32)
        return np.fromfile(self._path(name), np.int32, count, offset=4 * start)


def write_field(field: RawField, folder: Path, order: Ints) -> dict[str, int] | None:
    """Write the forward arrays of a field; return its number of documents, tokens and terms, None if none can be.

    folder  of the arrays
    order   (n_docs,) int64 Lucene's number of each document
    """
    n_docs = len(order)
    doc_freq = field.doc_freq
    n_postings = np.zeros(n_docs, np.int64)
    lengths = np.zeros(n_docs, np.int64)
    collection_freq = np.zeros(len(doc_freq), np.int64)
    for block in field.blocks():
        of_block = collection_freq[block.first : block.first + len(block.doc_freq)]
        if not count_postings(block.doc_freq, block.docs, block.freqs, n_postings, lengths, of_block):
            return None
    lengths = lengths[order]
    doc_ptr = pointers(n_postings[order])
    position_ptr = pointers(lengths)
    _write_postings(field, folder, order, doc_ptr, position_ptr)
    arrays: dict[str, NDArray[Any]] = {
        "doc_ptr": doc_ptr,
        "position_ptr": position_ptr,
        "lengths": lengths.astype(np.int32),
        "doc_freq": doc_freq,
        "collection_freq": collection_freq,
    }
    for name, array in arrays.items():
        np.save(folder / f"{field.number}.{name}.npy", array)
    counts = np.count_nonzero(lengths), position_ptr[-1], np.count_nonzero(doc_freq)
    return dict(zip(("documents", "tokens", "terms"), map(int, counts), strict=True))


def _write_postings(field: RawField, folder: Path, order: Ints, doc_ptr: Ints, position_ptr: Ints) -> None:
    """Write terms, frequencies and positions, one part of the documents after the other."""
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    names = ("terms", "freqs", "positions") if field.positions else ("terms", "freqs")
    ends = {"terms": doc_ptr, "freqs": doc_ptr, "positions": position_ptr}
    with ExitStack() as stack:
        files = []
        for name in names:
            files.append(stack.enter_context(open(folder / f"{field.number}.{name}.npy", "wb")))
            header = {"descr": np.dtype(np.int32).str, "fortran_order": False, "shape": (int(ends[name][-1]),)}
            np.lib.format.write_array_header_1_0(files[-1], header)
        for first, last in _ranges(8 * doc_ptr + 4 * position_ptr * field.positions, _PART):
            # Not a map of the file: the system would write each page many times while it is filled in random order.
            out = [np.empty(ends[name][last] - ends[name][first], np.int32) for name in names]
            next_row, next_token = (ptr[first:last] - ptr[first] for ptr in (doc_ptr, position_ptr))
            for block in field.blocks():
                common = (block.doc_freq, block.docs, block.freqs), numbers, first, last
                jobs = [partial(invert_postings, *common, block.first, next_row, *out[:2])]
                if field.positions:
                    jobs.append(partial(invert_positions, *common, block.positions, next_token, out[2]))
                in_threads(lambda job: job(), jobs, cores())
            for file, values in zip(files, out, strict=True):
                file.write(values.data)


def _ranges(ptr: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges [first, last) of items whose sizes add up to `most` at the most, or of one item.

    ptr  (n_items + 1,) sizes of all items before each
    """
    first = 0
    while first < len(ptr) - 1:
        last = max(int(np.searchsorted(ptr, ptr[first] + most, side="right")) - 1, first + 1)
        yield first, last
        first = last


def check_arrays(forward: ForwardIndex) -> None:
    """Raise Fault for forward arrays, of the right shapes and types, that kernels cannot read."""
    doc_ids = forward.doc_ids
    if not are_characters(doc_ids):
        raise Fault("doc_ids.npy with ids that are not text")
    if not (doc_ids[1:] >= doc_ids[:-1]).all():
        raise Fault("doc_ids.npy out of order")
    if not np.array_equal(np.sort(forward.lucene_docs), np.arange(forward.n_docs)):
        raise Fault("lucene_docs.npy without each document once")
    if not np.array_equal(forward.doc_slots, document_slots(doc_ids)):
        raise Fault("doc_slots.npy that does not fit doc_ids.npy")
    if not _are_pointers(forward.term_ptr, len(forward.vocabulary)):
        raise Fault("term_ptr.npy that does not rise from 0 to the length of vocabulary.npy")
    try:
        bytes(forward.vocabulary).decode("utf8")
    except UnicodeDecodeError:
        raise Fault("vocabulary.npy that is no UTF-8") from None
    starts = forward.vocabulary[forward.term_ptr[:-1][np.diff(forward.term_ptr) > 0]]
    if (starts & 0xC0 == 0x80).any():
        raise Fault("term_ptr.npy that divides a character of vocabulary.npy")
    if any(np.isinf(column).any() for column in forward.numbers.values()):
        raise Fault("numbers.npy with infinity")
    for number, field in enumerate(forward.fields.values()):
        with read_in_order(field.terms, field.freqs, field.positions):
            _check_field(field, f"{number}.", len(forward.term_ptr) - 1)


def _check_field(field: FieldArrays, name: str, n_terms: int) -> None:
    """Raise Fault for arrays of a field that kernels cannot read; their names begin with `name`."""
    if not _are_pointers(field.doc_ptr, len(field.terms)):
        raise Fault(f"{name}doc_ptr.npy that does not rise from 0 to the number of postings")
    if field.position_ptr[0] != 0 or not np.array_equal(np.diff(field.position_ptr), field.lengths):
        raise Fault(f"{name}position_ptr.npy that does not fit {name}lengths.npy")
    doc_freq = np.zeros(n_terms, np.int64)
    collection_freq = np.zeros(n_terms, np.int64)
    positions = np.empty(0, np.int32) if field.positions is None else field.positions
    if field.positions is not None and len(positions) != field.position_ptr[-1]:
        raise Fault(f"{name}positions.npy of another number of tokens")
    doc_ptr, terms, freqs, lengths, positions = (
        read_only_view(array) for array in (field.doc_ptr, field.terms, field.freqs, field.lengths, positions)
    )
    if not _count_terms(doc_ptr, terms, freqs, lengths, positions, doc_freq, collection_freq):
        raise Fault(f"{name}terms.npy, {name}freqs.npy or {name}positions.npy with what no document has")
    for array, counted in (("doc_freq", doc_freq), ("collection_freq", collection_freq)):
        if not np.array_equal(getattr(field, array), counted):
            raise Fault(f"{name}{array}.npy of other postings")


def _are_pointers(ptr: NDArray[Any], end: int) -> bool:
    return bool(ptr[0] == 0 and ptr[-1] == end and (ptr[1:] >= ptr[:-1]).all())


@kernel()
def count_postings(doc_freq: Any, docs: Any, freqs: Any, postings: Any, tokens: Any, collection_freq: Any) -> bool:
    """Add the postings and tokens of some terms to those of each document, and count the tokens of each term.

    Return whether there are such documents, and each has its term.

    doc_freq          (n_terms,) int32 postings of each term
    docs, freqs       (n_postings,) int32, term by term
    postings, tokens  (n_docs,) int64, ADDED TO
    collection_freq   (n_terms,) int64, OUT
    """
    i = 0
    for term in range(len(doc_freq)):
        total = 0
        for _ in range(doc_freq[term]):
            if docs[i] < 0 or docs[i] >= len(postings) or freqs[i] < 1:
                return False
            postings[docs[i]] += 1
            tokens[docs[i]] += freqs[i]
            total += freqs[i]
            i += 1
        collection_freq[term] = total
    return True


@kernel()
def invert_postings(
    by_term: Any, numbers: Any, first: Any, last: Any, first_term: Any, next_row: Any, out_terms: Any, out_freqs: Any
) -> None:
    """Write the postings of some terms in the documents [first, last) in the order of documents.

    Terms ascend within a document, since they are read in ascending order.

    by_term               doc_freq (n_terms,), docs and freqs (n_postings,), int32
    numbers               (n_docs,) int32 number of each document by Lucene's number
    first_term            number of the first term
    next_row              (last - first,) int64, where the next posting of a document goes; CHANGED
    out_terms, out_freqs  (n_postings of the documents,) int32, OUT
    """
    doc_freq, docs, freqs = by_term
    i = 0
    for term in range(len(doc_freq)):
        for _ in range(doc_freq[term]):
            doc = numbers[docs[i]]
            if first <= doc < last:
                row = next_row[doc - first]
                next_row[doc - first] = row + 1
                out_terms[row] = first_term + term
                out_freqs[row] = freqs[i]
            i += 1


@kernel()
def invert_positions(
    by_term: Any, numbers: Any, first: Any, last: Any, positions: Any, next_token: Any, out_positions: Any
) -> None:
    """Write the token positions of some terms in the documents [first, last) in the order of documents.

    by_term, numbers  as for `invert_postings`
    positions         (n_tokens,) int32, term by term
    next_token        (last - first,) int64, where the next position of a document goes; CHANGED
    out_positions     (n_tokens of the documents,) int32, OUT
    """
    _, docs, freqs = by_term
    token = 0
    for i in range(len(docs)):
        doc = numbers[docs[i]]
        if first <= doc < last:
            start = next_token[doc - first]
            for j in range(freqs[i]):
                out_positions[start + j] = positions[token + j]
            next_token[doc - first] = start + freqs[i]
        token += freqs[i]


@kernel()
def _count_terms(
    doc_ptr: Any, terms: Any, freqs: Any, lengths: Any, positions: Any, doc_freq: Any, collection_freq: Any
) -> bool:
    """Return whether each document's terms ascend and are known, and their frequencies add up to its length.

    The positions of each posting must ascend, and not be negative.

    positions                  (n_tokens,) int32, or none
    doc_freq, collection_freq  (n_terms,) int64, OUT, 0 before: counted from the postings
    """
    token = 0
    for doc in range(len(lengths)):
        last = -1
        end = token + lengths[doc]
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            term = terms[posting]
            freq = freqs[posting]
            if term <= last or term >= len(doc_freq) or freq < 1 or freq > end - token:
                return False
            last = term
            doc_freq[term] += 1
            collection_freq[term] += freq
            position = 0
            for i in range(token, token + freq if len(positions) else token):
                if positions[i] < position:
                    return False
                position = positions[i]
            token += freq
        if token != end:
            return False
    return True
