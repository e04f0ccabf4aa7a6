"""Forward arrays on disk: made from Lucene's postings, read as memory maps.

A folder holds `manifest.json` and .npy files: doc_ids, doc_slots, vocabulary, term_ptr, numbers
(one row a name of the manifest), and for field
number f (the order of the manifest) f.doc_ptr, f.terms, f.freqs, f.positions, f.position_ptr, f.lengths,
f.doc_freq, f.collection_freq, as rerank/forward.py describes them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rerank.errors import IndexFolderError
from rerank.forward import FieldArrays, ForwardIndex, document_slots
from rerank.ids import Ids, id_array
from rerank.lucene.folder import commit_hash
from rerank.lucene.jvm import ask_json, open_index
from rerank.lucene.language import stored_language
from rerank.lucene.progress import Progress, stage
from rerank.types import pointers

FORMAT = 3
_MANIFEST = "manifest.json"


def write_arrays(index: Path, folder: Path, made_with_index: bool, progress: Progress = None) -> None:
    """Make the forward arrays of an index in a folder that holds none yet.

    `made_with_index` says that whoever built the index made them, in the same job.
    """
    commit = commit_hash(index)
    raw = folder / "raw"
    raw.mkdir(parents=True)
    report = _export(index, raw)
    _write_documents(raw, folder)
    _write_numbers(raw, folder, report)
    _write_terms(raw, folder)
    fields = []
    with stage(progress, "forward arrays", len(report["fields"])) as done:
        for number, field in enumerate(report["fields"]):
            fields.append(field | _write_field(raw, folder, number, report["documents"], field["positions"]))
            done(number + 1)
    shutil.rmtree(raw)
    if commit_hash(index) != commit:
        raise IndexFolderError(
            f"{index}: expected an index at rest, found one that changed while its forward arrays were made; "
            "open it again when it is whole."
        )
    manifest = {
        "format": FORMAT,
        "commit": commit,
        "made_with_index": made_with_index,
        "fields": fields,
        "numbers": report["numbers"],
        "language": report["language"],
        "fingerprint": _fingerprint(report, fields, folder),
        "sizes": {path.name: path.stat().st_size for path in sorted(folder.glob("*.npy"))},
    }
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf8")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Return the manifest of forward arrays, None where there are none that are whole."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _damaged(folder, f"{_MANIFEST} is no JSON") from error
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise _damaged(folder, f"{_MANIFEST} names no format")
    return manifest


def read_arrays(folder: Path, manifest: dict[str, Any]) -> ForwardIndex:
    """Return the forward arrays of a folder as read-only memory maps."""
    for name, size in manifest["sizes"].items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise _damaged(folder, f"{name} is missing or cut short")
    fields = [_read_field(folder, number, field) for number, field in enumerate(manifest["fields"])]
    return ForwardIndex(
        doc_ids=_load(folder, "doc_ids"),
        doc_slots=_load(folder, "doc_slots"),
        vocabulary=_load(folder, "vocabulary"),
        term_ptr=_load(folder, "term_ptr"),
        fields={field.name: field for field in fields},
        fingerprint=manifest["fingerprint"],
        numbers=dict(zip(manifest["numbers"], _load(folder, "numbers"), strict=True)),
    )


def ids_from_bytes(text: bytes | memoryview, lengths: NDArray[np.int32]) -> Ids:
    """Return ids that stand one after the other as UTF-8."""
    content, ends = bytes(text), np.cumsum(lengths, dtype=np.int64).tolist()
    starts = [0, *ends[:-1]]
    return id_array([content[start:end].decode("utf8") for start, end in zip(starts, ends, strict=True)])


def _export(index: Path, raw: Path) -> dict[str, Any]:
    opened = open_index(index)
    handle = opened["handle"]
    try:
        report: dict[str, Any] = ask_json("export", handle=handle, index=str(index), folder=str(raw.absolute()))
        report["language"] = stored_language(opened)
    finally:
        ask_json("close", handle=handle)
    if not report["fields"]:
        raise IndexFolderError(f"{index}: expected an index with a text field, found none; index documents with text.")
    return report


def _write_documents(raw: Path, folder: Path) -> None:
    doc_ids = ids_from_bytes((raw / "doc_ids").read_bytes(), np.fromfile(raw / "doc_id_lengths", np.int32))
    np.save(folder / "doc_ids.npy", doc_ids)
    np.save(folder / "doc_slots.npy", document_slots(doc_ids))


def _write_numbers(raw: Path, folder: Path, report: dict[str, Any]) -> None:
    values = np.fromfile(raw / "numbers", np.float64)
    np.save(folder / "numbers.npy", values.reshape(len(report["numbers"]), report["documents"]))


def _write_terms(raw: Path, folder: Path) -> None:
    np.save(folder / "vocabulary.npy", np.fromfile(raw / "vocabulary", np.uint8))
    np.save(folder / "term_ptr.npy", pointers(np.fromfile(raw / "term_lengths", np.int32)))


def _write_field(raw: Path, folder: Path, number: int, n_docs: int, positions: bool) -> dict[str, int]:
    """Put one field's postings in document order; return its number of documents, tokens and terms."""
    from rerank.lucene import invert

    doc_freq, docs, freqs = (_raw(raw, f"{number}.{name}") for name in ("doc_freq", "docs", "freqs"))
    n_postings, lengths = np.zeros(n_docs, np.int64), np.zeros(n_docs, np.int64)
    invert.count_postings(docs, freqs, n_postings, lengths)
    doc_ptr, position_ptr = pointers(n_postings), pointers(lengths)
    out_terms = _new(folder, f"{number}.terms", np.int32, len(docs))
    out_freqs = _new(folder, f"{number}.freqs", np.int32, len(docs))
    collection_freq = _new(folder, f"{number}.collection_freq", np.int64, len(doc_freq))
    invert.invert_postings(doc_freq, docs, freqs, doc_ptr[:-1].copy(), out_terms, out_freqs, collection_freq)
    if positions:
        out_positions = _new(folder, f"{number}.positions", np.int32, int(position_ptr[-1]))
        tokens = _raw(raw, f"{number}.positions")
        invert.invert_positions(docs, freqs, tokens, position_ptr[:-1].copy(), out_positions)
    np.save(folder / f"{number}.doc_ptr.npy", doc_ptr)
    np.save(folder / f"{number}.position_ptr.npy", position_ptr)
    np.save(folder / f"{number}.lengths.npy", lengths.astype(np.int32))
    np.save(folder / f"{number}.doc_freq.npy", doc_freq)
    counts = np.count_nonzero(lengths), position_ptr[-1], np.count_nonzero(doc_freq)
    return dict(zip(("documents", "tokens", "terms"), map(int, counts), strict=True))


def _fingerprint(report: dict[str, Any], fields: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """Return what depends on the indexed text and its language alone, not on how the index was built."""
    doc_ids = _load(folder, "doc_ids")
    return {
        "language": report["language"],
        "documents": int(np.count_nonzero(doc_ids != "")),
        "terms": report["terms"],
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
    """Return a hash over the vocabulary and every field's document frequencies: equal counts are not enough."""
    found = hashlib.sha256(_load(folder, "vocabulary").tobytes() + _load(folder, "term_ptr").tobytes())
    for name, number in sorted((str(field["name"]), number) for number, field in enumerate(fields)):
        found.update(name.encode("utf8") + _load(folder, f"{number}.doc_freq").tobytes())
    return found.hexdigest()[:16]


def _read_field(folder: Path, number: int, field: dict[str, Any]) -> FieldArrays:
    def load(name: str) -> NDArray[Any]:
        return _load(folder, f"{number}.{name}")

    return FieldArrays(
        name=field["name"],
        doc_ptr=load("doc_ptr"),
        terms=load("terms"),
        freqs=load("freqs"),
        positions=load("positions") if field["positions"] else None,
        position_ptr=load("position_ptr"),
        lengths=load("lengths"),
        doc_freq=load("doc_freq"),
        collection_freq=load("collection_freq"),
        n_docs_with=field["documents"],
    )


def _load(folder: Path, name: str) -> NDArray[Any]:
    try:
        return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))
    except (OSError, ValueError) as error:
        raise _damaged(folder, f"{name}.npy cannot be read") from error


def _new(folder: Path, name: str, dtype: DTypeLike, length: int) -> NDArray[Any]:
    path = str(folder / f"{name}.npy")
    return np.asarray(np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(length,)))


def _raw(raw: Path, name: str) -> NDArray[Any]:
    """Map a bare int32 file (an empty one cannot be mapped)."""
    if not os.path.getsize(raw / name):
        return np.empty(0, np.int32)
    return np.asarray(np.memmap(raw / name, dtype=np.int32, mode="c"))


def _damaged(folder: Path, found: str) -> IndexFolderError:
    return IndexFolderError(
        f"{folder}: expected whole forward arrays, found damaged ones ({found}); delete this folder, "
        "it is made again when the index is opened."
    )
