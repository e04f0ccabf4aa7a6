"""Checks documents and writes them as the JSON that Anserini's JsonCollection reads.

The ids of the documents of an index build, to find one that occurs again.

A hash table of 128-bit hashes: (n_slots, 2) uint64, where zeros mark a free slot.

The number of slots is a power of two; the second word selects the slot, the first is not 0.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, unknown_name
from rerank.lucene.folder import shard_of
from rerank.runtime.codec import ParseFault, is_unicode, parse_json
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.progress import track
from rerank.types.frames import frame_rows, is_frame, is_missing, number_of
from rerank.types.ids import MOST_LETTERS

_FEW = 1 << 16  # ids that are kept as text
_FIRST_SLOTS = 1 << 18
_log = logging.getLogger("rerank")
CONTENTS = "contents"
_GREATEST = sys.float_info.max  # NaN and infinity are not indexed
ID_KEYS = ("id", "_id", "docid")
_FIRST_FIELDS = ("title", "body")
_RESERVED_BY_ANSERINI = ("raw", "entity")
DOCUMENTS_A_FILE = 1000
MOST_FIELDS = 1000  # each takes a pass over the index, and files of its own


class SeenIds:
    """A set of ids; many are kept as hashes of 128 bits, in 21 to 43 bytes each, where text takes over 100.

    Two of a billion different ids have the same hash with a probability below 1e-20.
    """

    def __init__(self) -> None:
        self._few: set[str] = set()
        self._table: NDArray[np.uint64] | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, doc_id: str) -> bool:
        """Add an id; return whether it is new."""
        if self._table is None:
            if doc_id in self._few:
                return False
            self._few.add(doc_id)
            self._count += 1
            if self._count > _FEW:
                self._hash_all()
            return True

        is_new = bool(insert(self._table, _hash(doc_id)))
        self._count += is_new
        if 4 * self._count > 3 * len(self._table):
            self._table = _grown(self._table)
        return is_new

    def _hash_all(self) -> None:

        self._table = np.zeros((_FIRST_SLOTS, 2), dtype=np.uint64)
        for doc_id in self._few:
            insert(self._table, _hash(doc_id))
        self._few.clear()


def _hash(doc_id: str) -> NDArray[np.uint64]:
    """Return the hash of an id, two words of which the first is odd."""
    digest = hashlib.blake2b(doc_id.encode("utf8"), digest_size=16).digest()
    words = np.frombuffer(bytes([digest[0] | 1]) + digest[1:], dtype="<u8")
    return words.astype(np.uint64)


def _grown(table: NDArray[np.uint64]) -> NDArray[np.uint64]:

    larger = np.zeros((2 * len(table), 2), dtype=np.uint64)
    insert_all(table, larger)
    return larger


class CorpusFiles:
    """The files that Anserini indexes: a thousand documents in each, since Java threads take one file at a time.

    Parameters
    ----------
    folders : sequence of Path
        Existing folders: one, or one for each shard.
    ending : str
        Ending of the names of the files.

    """

    def __init__(self, folders: Sequence[Path], ending: str) -> None:
        self._folders = folders
        self._ending = ending
        self._parts: list[list[str]] = [[] for _ in folders]
        self.counts = [0] * len(folders)

    def add(self, doc_id: str, text: str) -> None:
        """Add a document to the file of its shard."""
        shard = shard_of(doc_id, len(self._folders)) if len(self._folders) > 1 else 0
        self._parts[shard].append(text)
        self.counts[shard] += 1
        if len(self._parts[shard]) == DOCUMENTS_A_FILE:
            self._write(shard)

    def close(self) -> None:
        """Write the last file of each folder."""
        for shard, parts in enumerate(self._parts):
            if parts:
                self._write(shard)

    def _write(self, shard: int) -> None:
        parts = self._parts[shard]
        name = f"{self.counts[shard] - len(parts):012d}.{self._ending}"
        (self._folders[shard] / name).write_text("".join(parts), encoding="utf8")
        parts.clear()


def write_documents(
    documents: Iterable[Mapping[str, Any]],
    files: CorpusFiles,
    fields: Iterable[str] | None,
    numbers: Iterable[str] | None = None,
) -> tuple[str, ...]:
    """Write documents as JSON lines; return the names of their text fields apart from `contents`."""
    reader = _DocumentReader(fields, numbers)
    for document in track(frame_rows(documents) if is_frame(documents) else documents, "reading documents"):
        files.add(*reader.line(document))
    files.close()
    reader.check_texts()
    reader.check_numbers()
    reader.log_left_out()
    return reader.field_names()


class _DocumentReader:
    """Converts documents to lines one by one, and keeps the ids and field names."""

    def __init__(self, fields: Iterable[str] | None, numbers: Iterable[str] | None = None) -> None:
        for what, names in (("fields", fields), ("numbers", numbers)):
            if isinstance(names, str):
                raise InvalidInputError(f"{what}: expected a list of names, got the text {names!r}. Pass [{names!r}].")
        self.n_documents = 0
        self._location = "documents"  # of the current document: its file and line, or its number
        self._wanted = None if fields is None else tuple(name for name in fields if name != CONTENTS)
        self._wanted_numbers = None if numbers is None else tuple(numbers)
        self._seen_numbers: set[str] = set()
        self._left_out: dict[str, str] = {}  # by field: the type of its first value that is neither text nor a number
        self._ids = SeenIds()
        self._has_text = False
        self._without_text: InvalidInputError | None = None  # the error of the first document without
        self._seen: dict[str, None] = {}

    def line(self, document: Mapping[str, Any]) -> tuple[str, str]:
        """Return the id and the JSON line of a document."""
        self.n_documents += 1
        self._location = getattr(document, "location", f"documents: number {self.n_documents}")
        if not isinstance(document, Mapping):
            raise self._error(f"expected a mapping with 'id' and text, got {type(document).__name__}. Pass dicts")
        doc_id = self._id(document)
        texts = self._texts(document, doc_id)
        contents = document.get(CONTENTS)
        if contents is None:
            contents = joined(texts.values())  # where there are none, Anserini leaves the document out
            if not texts and self._without_text is None:
                expected = f"text in {_listed(self._wanted)}" if self._wanted else "a text field"
                self._without_text = self._error(
                    f"(id {doc_id!r}) expected {expected} or 'contents', got {_listed(document)}. "
                    "Add one, or name its fields"
                )
        self._has_text = self._has_text or bool(contents)
        members = {"id": doc_id, CONTENTS: self._text(CONTENTS, contents, doc_id), **texts, **self._numbers(document)}
        return doc_id, json.dumps(members, ensure_ascii=True) + "\n"

    def field_names(self) -> tuple[str, ...]:
        """Return the text fields of all documents; refuse a wanted field that no document has."""
        if self._wanted is None:
            return tuple(sorted(self._seen, key=field_order))
        for name in self._wanted:
            if self.n_documents and name not in self._seen:
                raise unknown_name("field", name, self._seen)
        return self._wanted

    def check_texts(self) -> None:
        """Refuse documents none of which has text; the build counts those without among others."""
        if self._without_text is not None and not self._has_text:
            raise self._without_text

    def check_numbers(self) -> None:
        """Refuse a wanted number that no document has."""
        for name in self._wanted_numbers or ():
            if self.n_documents and name not in self._seen_numbers:
                raise unknown_name("numbers", name, self._seen_numbers)

    def log_left_out(self) -> None:
        """Log which fields have values that are neither text nor numbers."""
        if self._left_out:
            names = ", ".join(f"{name} ({kind})" for name, kind in self._left_out.items())
            _log.warning("documents: left out values that are neither text nor numbers, of %s", names)

    def _numbers(self, document: Mapping[str, Any]) -> dict[str, int | float]:
        """Return the finite numbers of a document; true and false are no numbers."""
        finite = {}
        for name, value in document.items():
            if type(value) is str or name in ID_KEYS or name in (self._wanted or ()):
                continue
            if is_text(value) or is_missing(value) or isinstance(value, bool | np.bool_):
                continue
            number = number_of(value)
            if number is None:
                self._left_out.setdefault(str(name), type(value).__name__)
            elif abs(number) <= _GREATEST:
                finite[name] = number
        self._seen_numbers.update(finite)
        wanted = self._wanted_numbers
        return finite if wanted is None else {name: value for name, value in finite.items() if name in wanted}

    def _id(self, document: Mapping[str, Any]) -> str:
        doc_id = document.get("id")
        if isinstance(doc_id, int | np.integer) and not isinstance(doc_id, bool):
            doc_id = str(doc_id)
        if not isinstance(doc_id, str) or not doc_id:
            raise self._error(f"expected an 'id' (text or a whole number), got {doc_id!r}. Give every document one")
        if doc_id.split() != [doc_id] or "\0" in doc_id or not is_unicode(doc_id) or len(doc_id) > MOST_LETTERS:
            raise self._error(
                f"expected an id of at most {MOST_LETTERS} characters without white space (run and qrels files are "
                f"split there), got {doc_id[:80]!r}. Rename it"
            )
        if not self._ids.add(doc_id):
            first_location = getattr(document, "first_location", None)
            first = f" (first in {first_location()})" if first_location else ""
            raise self._error(f"expected each id once, got {doc_id!r} again{first}. Give every document its own id")
        return doc_id

    def _texts(self, document: Mapping[str, Any], doc_id: str) -> dict[str, str]:
        if self._wanted is not None:
            self._seen.update(dict.fromkeys(document))
            wanted = [name for name in self._wanted if document.get(name) is not None]
            return {name: self._text(name, document[name], doc_id) for name in wanted}
        names = [name for name in document if name not in ("id", CONTENTS) and is_text(document[name])]
        for name in names:
            if name in _RESERVED_BY_ANSERINI:
                raise self._error(
                    f"(id {doc_id!r}) expected field names other than {_listed(_RESERVED_BY_ANSERINI)}, which Anserini "
                    f"keeps for itself, got {name!r}. Rename it, or name the fields to index"
                )
        self._seen.update(dict.fromkeys(names))
        if len(self._seen) > MOST_FIELDS:
            raise self._error(
                f"(id {doc_id!r}) expected at most {MOST_FIELDS} text fields in all documents, got more. Name the "
                "fields to index (--fields), or put their texts into one"
            )
        return {name: self._text(name, document[name], doc_id) for name in sorted(names, key=field_order)}

    def _text(self, name: str, value: Any, doc_id: str) -> str:
        if not is_text(value):
            raise self._error(
                f"(id {doc_id!r}) expected text in field {name!r}, got {type(value).__name__}. "
                "Make it text or leave the field out"
            )
        return _without_lone_surrogates(value if isinstance(value, str) else " ".join(value))

    def _error(self, message: str) -> InvalidInputError:
        return InvalidInputError(f"{self._location}: {message}.")


def joined(texts: Iterable[str]) -> str:
    """Return `contents` of a document that has none of its own: the texts of its fields, those that are not empty."""
    return " ".join(filter(None, texts))


def is_text(value: Any) -> bool:
    """Return whether a value is the text of a field: text, or a list of texts."""
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(part, str) for part in value))


def _without_lone_surrogates(text: str) -> str:
    """Replace lone surrogates, which can make Lucene's tokenizer drop the rest of a text."""
    return text if text.isascii() else text.encode("utf8", "replace").decode("utf8")


def field_order(name: str) -> int:
    """Return the key by which fields are ordered that no build named: title, body, then as the document has them."""
    return _FIRST_FIELDS.index(name) if name in _FIRST_FIELDS else len(_FIRST_FIELDS)


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(repr(name) for name in names)


def stored_text(stored: str, fields: Iterable[str], joined_fields: Iterable[str] | None) -> str:
    """Return the text of a document as an index stores it: `contents`, its fields joined, or all of it if not JSON.

    fields         fields of the index
    joined_fields  those that make up `contents`, in order, where the build named them
    """
    try:
        document = parse_json(stored)
    except ParseFault:
        return stored
    if not isinstance(document, dict):
        return stored
    contents = document.get(CONTENTS)
    if isinstance(contents, str):
        return contents
    names = sorted(fields, key=field_order) if joined_fields is None else joined_fields
    return joined(text if isinstance(text := document.get(name), str) else "" for name in names)


@kernel()
def insert(table: Any, words: Any) -> bool:
    """Put a hash, (2,) uint64, into a table; return whether it was not there."""
    return _put(table, words)


@kernel()
def insert_all(table: Any, out: Any) -> None:
    """Put all hashes of a table into a larger one."""
    for slot in range(len(table)):
        if table[slot, 0]:
            _put(out, table[slot])


@helper()
def _put(table: Any, words: Any) -> bool:
    """Put a hash into a table; return whether it was not there."""
    mask = np.uint64(len(table) - 1)
    slot = words[1] & mask
    while table[slot, 0]:
        if table[slot, 0] == words[0] and table[slot, 1] == words[1]:
            return False
        slot = (slot + np.uint64(1)) & mask
    table[slot, 0], table[slot, 1] = words[0], words[1]
    return True
