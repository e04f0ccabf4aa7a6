"""Documents of an index: checked and written as the JSON that Anserini's JsonCollection reads, and read again."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, log, shown, unknown_name
from rerank.files.corpus import of_hit
from rerank.files.json_lines import ID_KEYS
from rerank.lucene.shards import shard_of
from rerank.runtime.fields import has_split_words, is_unicode
from rerank.runtime.json_text import check_nesting
from rerank.runtime.progress import track
from rerank.types.data_frames import frame_rows, is_frame, is_missing, is_row_number, is_whole, names_of, number_of
from rerank.types.ids import MOST_LETTERS
from rerank.types.retriever import CONTENTS

ID_EXPECTED = (
    f"expected an id of at most {MOST_LETTERS} characters without white space (run and qrels files are split there)"
)
_RESERVED_BY_ANSERINI = ("raw", "entity")
_OF_ENGINES = ("_", "@")  # begin names of numbers that engines add: _version_, _distance, _rankingScore, @search.score
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d+)?\s*", re.ASCII)
_MARKUP = re.compile(r"</[A-Za-z][A-Za-z0-9]*\s*>|<br\s*/?>|&(nbsp|amp|lt|gt|quot|#\d+);")
MOST_FIELDS = 1000  # each takes a pass over the index, and files of its own
DOCUMENTS_A_FILE = 1000


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
        (self._folders[shard] / name).write_text("".join(parts), encoding="utf8", newline="\n")
        parts.clear()


def write_documents(
    documents: Iterable[Mapping[str, Any]],
    files: CorpusFiles,
    fields: Iterable[str] | None,
    numbers: Iterable[str] | None = None,
) -> tuple[str, ...]:
    """Write documents as JSON lines; return the names of their text fields apart from `contents`."""
    reader = _DocumentReader(fields, numbers)
    if isinstance(documents, Mapping):
        documents = (
            {**(document if isinstance(document, Mapping) else {CONTENTS: document}), "id": doc_id}
            for doc_id, document in zip(documents, map(of_hit, documents.values()), strict=True)
        )
    elif not isinstance(documents, Iterable) and not is_frame(documents):
        raise InvalidInputError(f"documents: expected dicts or a file, got {shown(documents)}. Pass a list of dicts.")
    if is_frame(documents):
        frame: Any = documents
        counts = {str(name) for name in names_of(frame) if is_row_number(name, frame[name])}
        counts -= {*(reader._chosen or ()), *(reader._chosen_numbers or ())}
        documents = frame_rows(frame)
        if counts:
            documents = [{name: value for name, value in row.items() if name not in counts} for row in documents]
    for document in track(documents, "reading documents"):
        files.add(*reader.line(document))
    files.close()
    return reader.field_names()


class _DocumentReader:
    """Converts documents to lines one by one, and keeps the ids and field names."""

    def __init__(self, fields: Iterable[str] | None, numbers: Iterable[str] | None = None) -> None:
        for what, names in (("fields", fields), ("numbers", numbers)):
            if isinstance(names, str):
                raise InvalidInputError(f"{what}: expected a list of names, got the text {names!r}. Pass [{names!r}].")
        self._n_documents = 0
        self._location = "documents"  # of the current document: its file and line, or its number
        self._chosen = None if fields is None else tuple(dict.fromkeys(name for name in fields if name != CONTENTS))
        self._chosen_numbers = None if numbers is None else tuple(numbers)
        self._seen: dict[str, None] = {}  # fields
        self._seen_numbers: set[str] = set()
        self._worded: set[str] = set()  # fields with a text that is no number
        self._noticed: Counter[str] = Counter()  # documents with markup, and with words that are split
        self._first_noticed: dict[str, str] = {}  # where the first is
        self._left_out: dict[str, str] = {}  # by field: the type of its first value that is neither text nor a number
        self._ids: set[str] = set()
        self._has_text = False
        self._without_text: InvalidInputError | None = None  # the error of the first document without text

    def line(self, document: Mapping[str, Any]) -> tuple[str, str]:
        """Return the id and the JSON line of a document."""
        self._n_documents += 1
        self._location = getattr(document, "location", f"documents: number {self._n_documents}")
        document = of_hit(document)
        if not isinstance(document, Mapping):
            raise self._error(f"expected a mapping with 'id' and text, got {type(document).__name__}. Pass dicts")
        key = next((key for key in ID_KEYS if key in document), None)
        if key is None:
            got = shown(", ".join(map(str, document))) if document else "no key"
            raise self._error(f"expected an id as {', '.join(ID_KEYS)}, got {got}. Give every document one")
        if key != "id":
            others = {key, "spans"} if key == "pid" else {key}  # sentences of a passage of MS MARCO v2
            document = {"id": document[key], **{name: value for name, value in document.items() if name not in others}}
        doc_id = self._id(document)
        texts = self._texts(document, doc_id)
        contents = document.get(CONTENTS)
        if contents is None:
            contents = joined_texts(texts.values())  # where there are none, Anserini leaves the document out
            if not texts and self._without_text is None:
                expected = f"text in {_listed(self._chosen)}" if self._chosen else "a text field"
                self._without_text = self._error(
                    f"(id {doc_id!r}) expected {expected} or 'contents', got {_listed(document)}. "
                    "Add one, or name its fields"
                )
        self._has_text = self._has_text or bool(contents)
        if isinstance(contents, str):
            markup = _MARKUP.search(contents)
            if markup is not None:
                self._notice("markup", f"{self._location} ({markup[0]})")
            if has_split_words(contents):
                self._notice("split", self._location)
        members = {"id": doc_id, CONTENTS: self._text(CONTENTS, contents, doc_id), **texts, **self._numbers(document)}
        return doc_id, json.dumps(members, ensure_ascii=True) + "\n"

    def field_names(self) -> tuple[str, ...]:
        """Return the text fields of all documents; refuse documents without text, and chosen names that none has."""
        if self._without_text is not None and not self._has_text:
            raise self._without_text
        for what, chosen, seen in (
            ("numbers", self._chosen_numbers, self._seen_numbers),
            ("field", self._chosen, self._seen),
        ):
            for name in chosen or ():
                if self._n_documents and name not in seen:
                    raise unknown_name(what, name, seen)
        self._warn()
        return tuple(sorted(self._seen, key=field_order)) if self._chosen is None else self._chosen

    def _warn(self) -> None:
        """Log warnings of texts that are hardly what was meant, and of what was left out."""
        if self._noticed["markup"] > self._n_documents / 10:
            log.warning(
                "documents: %d of %d hold markup, whose names are words of the index, the first %s. Remove it, e.g. by "
                "html.unescape(re.sub('<[^>]*>', ' ', text)).",
                self._noticed["markup"],
                self._n_documents,
                self._first_noticed["markup"],
            )
        if self._noticed["split"] > self._n_documents / 100:
            log.warning(
                "documents: %d of %d hold soft hyphens or letters apart from their accents, the first %s: these are "
                "other words than those without. Remove soft hyphens, and write Unicode's NFC in documents and topics.",
                self._noticed["split"],
                self._n_documents,
                self._first_noticed["split"],
            )
        both = sorted(self._seen.keys() & self._seen_numbers)
        if both and self._chosen is None:
            log.warning(
                "documents: expected text or a number in all, got both of %s: a number that is text is no feature. "
                "Write it without quotes, units and commas.",
                ", ".join(both),
            )
        numeric = sorted(self._seen.keys() - self._worded - self._seen_numbers)
        if numeric and self._chosen is None:
            log.warning(
                "documents: the text of %s is a number in every document that has it, and text is no feature. Write it "
                "without quotes where it is a quantity.",
                ", ".join(numeric),
            )
        if self._left_out:
            names = ", ".join(f"{name} ({kind})" for name, kind in self._left_out.items())
            log.warning("documents: left out values that are neither text nor numbers, of %s", names)

    def _notice(self, what: str, place: str) -> None:
        self._noticed[what] += 1
        self._first_noticed.setdefault(what, place)

    def _numbers(self, document: Mapping[str, Any]) -> dict[str, int | float]:
        """Return the finite numbers of a document; true and false are no numbers."""
        finite = {}
        for name, value in document.items():
            if is_text(value) or is_missing(value) or name in ID_KEYS or name in (self._chosen or ()):
                continue
            if str(name).startswith(_OF_ENGINES) and name not in (self._chosen_numbers or ()):
                continue
            number = None if isinstance(value, bool | np.bool_) else number_of(value)
            if number is None:
                self._left_out.setdefault(str(name), type(value).__name__)
            elif abs(number) <= sys.float_info.max:  # NaN and infinity are not indexed
                finite[name] = number
        self._seen_numbers.update(finite)
        chosen = self._chosen_numbers
        return finite if chosen is None else {name: value for name, value in finite.items() if name in chosen}

    def _id(self, document: Mapping[str, Any]) -> str:
        given = document.get("id")
        doc_id = str(given) if is_whole(given) else given
        if not isinstance(doc_id, str) or not doc_id:
            raise self._error(f"expected an 'id' (text or a whole number), got {doc_id!r}. Give every document one")
        if not is_id(doc_id):
            raise self._error(f"{ID_EXPECTED}, got {doc_id[:80]!r}. Rename it")
        if doc_id in self._ids:
            first_location = getattr(document, "first_location", None)
            first = f" (first in {first_location()})" if first_location else ""
            raise self._error(f"expected each id once, got {doc_id!r} again{first}. Give every document its own id")
        self._ids.add(doc_id)
        return doc_id

    def _texts(self, document: Mapping[str, Any], doc_id: str) -> dict[str, str]:
        if self._chosen is not None:
            self._seen.update(dict.fromkeys(document))
            return {
                name: self._text(name, document[name], doc_id)
                for name in self._chosen
                if document.get(name) is not None
            }
        names = [name for name in document if name not in (*ID_KEYS, CONTENTS) and is_text(document[name])]
        for name in names:
            if not isinstance(name, str):
                raise self._error(f"(id {doc_id!r}) expected field names that are text, got {name!r}. Rename it")
            if name in _RESERVED_BY_ANSERINI:
                raise self._error(
                    f"(id {doc_id!r}) expected field names other than {_listed(_RESERVED_BY_ANSERINI)}, which Anserini "
                    f"keeps for itself, got {name!r}. Rename it, or name the fields to index"
                )
        self._seen.update(dict.fromkeys(names))
        self._worded.update(
            name
            for name in names
            if name not in self._worded and not (isinstance(text := document[name], str) and _NUMBER.fullmatch(text))
        )
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
        text = value if isinstance(value, str) else " ".join(value)
        # lone surrogates can make Lucene's tokenizer drop the rest of a text
        return text if text.isascii() else text.encode("utf8", "replace").decode("utf8")

    def _error(self, message: str) -> InvalidInputError:
        return InvalidInputError(f"{self._location}: {message}.")


def is_id(doc_id: str) -> bool:
    """Return whether a text can be the id of a document."""
    return doc_id.split() == [doc_id] and "\0" not in doc_id and is_unicode(doc_id) and len(doc_id) <= MOST_LETTERS


def joined_texts(texts: Iterable[str]) -> str:
    """Return `contents` of a document that has none of its own: the texts of its fields, those that are not empty."""
    return " ".join(filter(None, texts))


def is_text(value: Any) -> bool:
    """Return whether a value is the text of a field: text, or a list of texts."""
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(part, str) for part in value))


def field_order(name: str) -> tuple[int, str]:
    """Return the key that orders fields where no build named them: title, body, then the others by their names.

    The order of an object's members has no meaning in JSON, and programs that read and write it change it.
    """
    return {"title": 0, "body": 1}.get(name, 2), name


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(repr(name) for name in names)


def stored_fields(stored: str | None) -> dict[str, Any]:
    """Return the fields of a document as the index stores it: JSON, or markup, which is `contents`."""
    if stored is None:
        return {}
    try:
        check_nesting(stored)
        document = json.loads(stored, parse_constant=lambda name: None)  # answers are JSON, which has no NaN
    except ValueError:
        return {CONTENTS: stored}
    return document if isinstance(document, dict) else {CONTENTS: stored}


def stored_text(stored: str, fields: Iterable[str], joined_fields: Iterable[str] | None) -> str:
    """Return the text of a document as an index stores it: `contents`, its fields joined, or all of it if not JSON.

    fields         fields of the index
    joined_fields  those that make up `contents`, in order, where the build named them
    """
    document = stored_fields(stored)
    contents = document.get(CONTENTS)
    if isinstance(contents, str):
        return contents
    names = sorted(fields, key=field_order) if joined_fields is None else joined_fields
    return joined_texts(text if isinstance(text := document.get(name), str) else "" for name in names)
