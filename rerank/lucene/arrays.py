"""Forward arrays on disk: computed from Lucene's postings, read as memory maps.

A folder holds `manifest.json` and .npy files: doc_ids, lucene_docs, doc_slots, vocabulary, term_ptr, numbers (a row for
each name in the manifest), and for field f (its number in the manifest) f.doc_ptr, f.terms, f.freqs, f.positions,
f.position_ptr, f.lengths, f.doc_freq and f.collection_freq. rerank/types/forward.py describes them.

Documents are numbered in the order of their ids, and terms in byte order: so the arrays of the same documents are the
same, bit for bit, for any number of shards, segments and threads of the index build.

Opening a folder checks the structure of the manifest, and the size, type and shape of every file. The content of the
files is checked once for each state of the files, identified by their sizes and times: see `rerank.lucene.verified`.
"""

from __future__ import annotations

import ast
import hashlib
import math
import os
import shutil
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import IndexFolderError
from rerank.lucene.commits import damaged_lucene
from rerank.lucene.folder import commit_hash
from rerank.lucene.jvm import ask_json, open_index
from rerank.lucene.language import stored_language
from rerank.lucene.progress import Progress, stage
from rerank.lucene.shards import index_folders
from rerank.lucene.transpose import RawField, write_field
from rerank.lucene.verified import (
    FORMAT,
    UNREADABLE,
    check_contents,
    check_digests,
    check_manifest,
    damaged,
    file_entry,
    is_verified,
    note_verified,
    state_of,
    write_manifest,
)
from rerank.runtime.mapped_rows import expect_random_reads
from rerank.runtime.memory import memory_limit
from rerank.types import Ints, pointers
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots
from rerank.types.ids import Ids, id_texts, sort_keys

_BLOCK = 1 << 16  # ids converted at a time
MOST_OF_MEMORY = 0.5  # larger arrays do not stay in memory as a whole


def write_arrays(index: Path, folder: Path, made_with_index: bool, progress: Progress = None) -> None:
    """Write the forward arrays of an index into a folder that has none."""
    commit = commit_hash(index)
    raw = folder / "raw"
    raw.mkdir(parents=True)
    report = _export(index, raw)
    order = _write_documents(index, raw, folder)
    _check_shards(index, folder, order, report["shards"])
    _write_numbers(raw, folder, report, order)
    _write_terms(raw, folder)
    fields = []
    with stage(progress, "forward arrays", len(report["fields"])) as done:
        for number, field in enumerate(report["fields"]):
            fields.append(field | write_field(RawField(raw, number, field["positions"]), folder, order))
            done(number + 1)
    shutil.rmtree(raw)
    if commit_hash(index) != commit:
        raise IndexFolderError(
            f"{index}: expected an index at rest, got one that changed while its forward arrays were made. "
            "Open it again when it is whole."
        )
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "commit": commit,
        "made_with_index": made_with_index,
        "fields": fields,
        "numbers": report["numbers"],
        "language": report["language"],
        "shards": report["shards"],
    }
    manifest["fingerprint"] = _fingerprint(manifest, folder)
    manifest["files"] = {path.name: file_entry(path) for path in sorted(folder.glob("*.npy"))}
    write_manifest(folder, manifest)
    note_verified(folder, state_of(folder, manifest))


def read_arrays(folder: Path, manifest: dict[str, Any]) -> ForwardIndex:
    """Return the forward arrays of a folder as read-only memory maps.

    Raises IndexFolderError if a file is missing or does not match the manifest.
    """
    check_manifest(folder, manifest)
    state = state_of(folder, manifest)
    verified = is_verified(folder, state)
    if not verified:
        check_digests(folder, manifest)
    forward = _mapped_forward(folder, manifest)
    if not verified:
        check_contents(folder, manifest, forward, _fingerprint(manifest, folder))
        note_verified(folder, state)
    return forward


def _mapped_forward(folder: Path, manifest: dict[str, Any]) -> ForwardIndex:
    n_docs, n_terms, names = *_counts(folder), manifest["numbers"]
    fields = [_read_field(folder, number, field, n_docs, n_terms) for number, field in enumerate(manifest["fields"])]
    if sum(entry["bytes"] for entry in manifest["files"].values()) > MOST_OF_MEMORY * memory_limit():
        # The pages around those that are read would fill the memory, and drive out pages that are needed again.
        for field in fields:
            expect_random_reads(field.terms, field.freqs, field.positions)
    return ForwardIndex(
        doc_ids=_load(folder, "doc_ids", np.str_, n_docs),
        lucene_docs=_load(folder, "lucene_docs", np.int32, n_docs),
        doc_slots=_load(folder, "doc_slots", np.int32, 1 << (2 * n_docs).bit_length()),
        vocabulary=_load(folder, "vocabulary", np.uint8, None),
        term_ptr=_load(folder, "term_ptr", np.int64, n_terms + 1),
        fields={field.name: field for field in fields},
        fingerprint=manifest["fingerprint"],
        numbers=dict(zip(names, _load(folder, "numbers", np.float64, len(names), n_docs), strict=True)),
    )


def ids_from_bytes(text: bytes | memoryview, lengths: NDArray[np.int32]) -> Ids:
    """Return ids from their concatenated UTF-8 bytes and their lengths in bytes."""
    return _texts(_padded(np.frombuffer(text, np.uint8), lengths))


def _padded(text: NDArray[np.uint8], lengths: NDArray[np.int32]) -> NDArray[np.bytes_]:
    """Return concatenated ids as an array of bytes, whose width is a multiple of eight."""
    width = max(-(-int(lengths.max(initial=1)) // 8) * 8, 8)
    ids, start = np.zeros((len(lengths), width), dtype=np.uint8), 0
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
    for number, field in enumerate(report["fields"]):
        if not RawField(raw, number, field["positions"]).fits(report["documents"]):
            raise damaged_lucene(index, "impossible postings")  # a damaged file may still have a matching checksum
    if not report["fields"]:
        raise IndexFolderError(f"{index}: expected an index with a text field, got none. Index documents with text.")
    return report


def _write_documents(index: Path, raw: Path, folder: Path) -> Ints:
    """Write the ids, which give documents their numbers; return Lucene's number of each document."""
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
    return order


def _check_shards(index: Path, folder: Path, order: Ints, sizes: list[int]) -> None:
    """Refuse an id that two shards hold; within one Lucene index, an id may occur again."""
    if len(sizes) == 1:
        return
    doc_ids = _mapped(folder, "doc_ids")
    shard = np.searchsorted(pointers(sizes)[1:], order, side="right")
    repeated = (doc_ids[1:] == doc_ids[:-1]) & (shard[1:] != shard[:-1]) & (doc_ids[1:] != "")
    if repeated.any():
        row, shards = int(np.argmax(repeated)), index_folders(index)
        raise IndexFolderError(
            f"{index}: expected each id in one shard, got {str(doc_ids[row])!r} in {shards[shard[row]].name} and "
            f"{shards[shard[row + 1]].name}. Delete it from one of them ({np.count_nonzero(repeated)} such ids in all)."
        )


def _write_numbers(raw: Path, folder: Path, report: dict[str, Any], order: Ints) -> None:
    n_docs, n_numbers = len(order), len(report["numbers"])
    out = np.lib.format.open_memmap(folder / "numbers.npy", mode="w+", dtype=np.float64, shape=(n_numbers, n_docs))
    for row in range(n_numbers if n_docs else 0):
        out[row] = np.fromfile(raw / "numbers", np.float64, n_docs, offset=8 * n_docs * row)[order]


def _write_terms(raw: Path, folder: Path) -> None:
    np.save(folder / "vocabulary.npy", np.fromfile(raw / "vocabulary", np.uint8))
    np.save(folder / "term_ptr.npy", pointers(np.fromfile(raw / "term_lengths", np.int32)))


def _fingerprint(manifest: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return statistics that depend on the indexed text and its language only, not on how the index was built."""
    fields, doc_ids = manifest["fields"], _mapped(folder, "doc_ids")
    return {
        "language": manifest["language"],
        "documents": int(np.count_nonzero(doc_ids != "")),
        "terms": len(_mapped(folder, "term_ptr")) - 1,
        "checksum": _checksum(fields, folder),
        "fields": {
            field["name"]: {
                "documents": field["documents"],
                "tokens": field["tokens"],
                "terms": field["terms"],
                "average_length": field["tokens"] / field["documents"] if field["documents"] else 0.0,
            }
            for field in sorted(fields, key=lambda field: str(field["name"]))
        },
    }


def _checksum(fields: list[dict[str, Any]], folder: Path) -> str:
    """Return a hash of the vocabulary and every field's document frequencies, since counts may be equal by chance."""
    checksum = hashlib.sha256(_mapped(folder, "vocabulary").tobytes() + _mapped(folder, "term_ptr").tobytes())
    for name, number in sorted((str(field["name"]), number) for number, field in enumerate(fields)):
        checksum.update(name.encode("utf8", "replace") + _mapped(folder, f"{number}.doc_freq").tobytes())
    return checksum.hexdigest()[:16]


def _read_field(folder: Path, number: int, field: dict[str, Any], n_docs: int, n_terms: int) -> FieldArrays:
    def load(name: str, dtype: Any, length: int | None) -> NDArray[Any]:
        return _load(folder, f"{number}.{name}", dtype, length)

    terms, position_ptr = load("terms", np.int32, None), load("position_ptr", np.int64, n_docs + 1)
    return FieldArrays(
        name=field["name"],
        doc_ptr=load("doc_ptr", np.int64, n_docs + 1),
        terms=terms,
        freqs=load("freqs", np.int32, len(terms)),
        positions=load("positions", np.int32, int(position_ptr[-1])) if field["positions"] else None,
        position_ptr=position_ptr,
        lengths=load("lengths", np.int32, n_docs),
        doc_freq=load("doc_freq", np.int32, n_terms),
        collection_freq=load("collection_freq", np.int64, n_terms),
        n_docs_with=field["documents"],
    )


def _counts(folder: Path) -> tuple[int, int]:
    """Return the number of documents and of terms, on which all other shapes depend."""
    doc_ids, term_ptr = _mapped(folder, "doc_ids"), _mapped(folder, "term_ptr")
    if doc_ids.ndim != 1 or term_ptr.ndim != 1 or not term_ptr.size:
        raise damaged(folder, "doc_ids.npy or term_ptr.npy is no list")
    return len(doc_ids), len(term_ptr) - 1


def _load(folder: Path, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
    """Map an array and check its type and shape; None in the shape matches any length."""
    array = _mapped(folder, name)
    fits = len(array.shape) == len(shape) and all(
        expected in (None, length) for length, expected in zip(array.shape, shape, strict=True)
    )
    is_text = dtype is np.str_ and array.dtype.kind == "U" and array.dtype.isnative and array.dtype.itemsize
    if not (fits and array.flags.c_contiguous and (is_text or array.dtype == dtype)):
        wanted = "(" + ", ".join("any" if length is None else str(length) for length in shape) + ")"
        raise damaged(
            folder,
            f"{name}.npy holds {array.dtype} of shape {array.shape} where {np.dtype(dtype).name} of shape "
            f"{wanted} is wanted",
        )
    return array


def _mapped(folder: Path, name: str) -> NDArray[Any]:
    """Map an array; its header is checked first, since NumPy divides by the size of the type."""
    path = folder / f"{name}.npy"
    try:
        with open(path, "rb") as file:
            dtype, shape = _header(file)
            start, size = file.tell(), os.fstat(file.fileno()).st_size
        if start + math.prod(shape) * dtype.itemsize != size:
            raise ValueError(f"{dtype} of shape {shape} in {size} bytes")
        return np.asarray(np.memmap(path, dtype, "r", start, shape))
    except UNREADABLE as error:
        raise damaged(folder, f"{name}.npy cannot be read") from error


def _header(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return type and shape of an array that `np.save` wrote (version 1.0 of the format, C order)."""
    if file.read(8) != np.lib.format.magic(1, 0):
        raise ValueError("no .npy file of version 1.0")
    header = ast.literal_eval(file.read(int.from_bytes(file.read(2), "little")).decode("latin1"))
    shape, dtype = header["shape"], np.dtype(str(header["descr"]))
    if header["fortran_order"] or dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"{header}")
    if not (isinstance(shape, tuple) and all(type(length) is int and length >= 0 for length in shape)):
        raise ValueError(f"shape {shape}")
    return dtype, shape
