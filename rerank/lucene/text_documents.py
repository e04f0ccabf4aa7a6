"""Documents that users pass as texts, read as the fields and numbers of an index."""

import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from numbers import Real
from typing import Any, NamedTuple

from rerank.errors import InvalidInputError, check_known, shown
from rerank.files.corpus import text_of
from rerank.files.json_lines import ID_KEYS
from rerank.files.line_records import finite_number
from rerank.lucene.documents import field_order, is_text, joined_texts
from rerank.runtime.fields import is_unicode
from rerank.types import CONTENTS, ForwardIndex
from rerank.types.data_frames import number_of, plain_value

MOST_CHARACTERS = 1 << 24  # number of characters of one text
# Names under which stores have the text of a document, and what else they know of it, unless the index has such fields.
TEXT_KEYS = (
    *("page_content", "text", "content", "body", "document"),
    *("passage", "chunk", "passage_text", "chunk_text", "snippet", "abstract"),
)
METADATA_KEYS = ("metadata", "meta")
# Members of hits that are no fields.
_OF_HITS = {*ID_KEYS, "score", "distance", "similarity", "rank", "version", "uuid", "objectID"}
# The first sentence or line. No possessive quantifiers: Python before 3.11.5 matches them wrongly.
_FIRST_SENTENCE = re.compile(r"\s*(\S[^\n]{0,199}?(?:[.!?](?=\s)|[。！？]|(?=\n)))\s*(?=\S)")


class TextDocument(NamedTuple):
    """A document that no index holds: its text fields, and those that make up its `contents`.

    Parameters
    ----------
    texts : mapping from str to str
        Texts by field; `contents` only if the document has its own.
    parts : sequence of str
        Fields whose texts make up `contents` where the document has none of its own, in order.

    """

    texts: Mapping[str, str]
    parts: Sequence[str]

    @property
    def contents(self) -> str:
        """The whole document: its own `contents`, otherwise its texts joined as the index build joins them."""
        own = self.texts.get(CONTENTS)
        return joined_texts(self.texts[name] for name in self.parts) if own is None else own


class ReadDocument(NamedTuple):
    """A document: its id, its texts, its numbers by the names of the index, and its scores in other runs by name."""

    doc_id: str
    document: TextDocument
    numbers: Mapping[str, int | float]
    run_scores: Mapping[str, int | float]

    def json(self) -> str:
        """Return the document as the index would store it."""
        document = self.document
        return json.dumps({"id": self.doc_id, CONTENTS: document.contents, **document.texts, **self.numbers})


class DocumentReader:
    """Reads documents that are text or mappings.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index, for the names of its fields and numbers.
    joined_fields : sequence of str, optional
        Fields that make up `contents`, in order, where the build of the index named them.
    field : str, default="contents"
        Field of a document that is a text.
    runs : collection of str, default=()
        Names of runs whose scores documents may have, as numbers.
    title : str, default=""
        Field that the first sentence of a document that is a text fills, if any.

    Raises
    ------
    InvalidInputError
        If the index does not have the field.

    """

    def __init__(
        self,
        forward: ForwardIndex,
        joined_fields: Iterable[str] | None = None,
        field: str = CONTENTS,
        runs: Collection[str] = (),
        title: str = "",
    ) -> None:
        check_known("field", field, forward.fields)
        self._fields = set(forward.fields)
        self._numbers = set(forward.numbers)
        self._field = field
        self._title = title
        self._joined = None if joined_fields is None else tuple(joined_fields)
        self._runs = frozenset(runs) - self._fields - self._numbers
        self._known = self._fields | self._numbers | self._runs

    def read(self, doc_id: str, document: str | Mapping[str, Any]) -> ReadDocument:
        """Return a document, read; error messages leave it to the caller to say where the document comes from."""
        numbers: dict[str, int | float] = {}
        if isinstance(document, Mapping):
            document = of_store(document, self._known, self._field)
        if isinstance(document, str):
            texts = {self._field: document}
            if self._title and (first := _FIRST_SENTENCE.match(document)):
                texts = {self._title: first[1], self._field: document[first.end() :]}
        elif isinstance(document, Mapping):
            texts = {}
            for name, value in document.items():
                if type(value) is str and name in self._fields:
                    texts[name] = value
                elif name in self._known or not (name in _OF_HITS or str(name)[:1] in ("_", "@")):  # `_version_`
                    self._add_other(name, value, texts, numbers)
        else:
            raise InvalidInputError(
                f"expected text, or a mapping of fields, got {type(document).__name__}. Pass e.g. "
                f"{{{self._field!r}: 'heat flow'}}, or of an answer the list of its hits alone."
            )
        for name, text in texts.items():
            if len(text) > MOST_CHARACTERS:
                raise InvalidInputError(
                    f"expected at most {MOST_CHARACTERS:,} characters in field {name!r}, got {len(text):,}. Shorten it."
                )
        parts = _joined_parts(self._joined, tuple(texts))
        run_scores = {name: numbers.pop(name) for name in self._runs & numbers.keys()}
        return ReadDocument(doc_id, TextDocument(texts, parts), numbers, run_scores)

    def _add_other(self, name: Any, value: Any, texts: dict[str, str], numbers: dict[str, int | float]) -> None:
        """Add a value that is no plain str of a field: a list of texts, or a number; refuse other values of a field."""
        plain = plain_value(value)
        if name in self._fields and is_text(plain):
            texts[name] = str(plain) if isinstance(plain, str) else " ".join(plain)
        elif name in self._numbers or name in self._runs:
            number = number_in(plain)
            if number is not None and abs(number) <= sys.float_info.max:  # others are missing
                numbers[name] = number
        elif is_text(plain):
            raise self._unknown(name, self._fields)
        elif plain is not None and name in self._fields:
            raise InvalidInputError(
                f"expected text in field {name!r}, got {type(value).__name__}. Make it text or leave it out."
            )
        elif isinstance(plain, Real) and not isinstance(plain, bool):
            raise self._unknown(name, self._fields | self._numbers)

    @staticmethod
    def _unknown(name: Any, known: set[str]) -> InvalidInputError:
        return InvalidInputError(
            f"expected fields of the index ({', '.join(sorted(known))}), got {shown(name)}. Leave it out or rename it."
        )


@lru_cache(maxsize=1024)
def _joined_parts(joined: tuple[str, ...] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields of a document that make up its `contents`, in order.

    joined  fields that the index build joins; None: all, in the order of `field_order`
    names   fields that the document has
    """
    if joined is None:
        joined = tuple(sorted((name for name in names if name != CONTENTS), key=field_order))
    return tuple(name for name in joined if name in names)


def number_in(value: Any) -> int | float | None:
    """Return a number of any type, or the number in a text, as loaders of CSV give it; None for what is no number."""
    return finite_number(value.encode("utf8", "replace")) if isinstance(value, str) else number_of(value)


def metadata_of(document: Mapping[Any, Any]) -> Mapping[Any, Any] | None:
    """Return the metadata that a store or framework has with a document; None if there are none."""
    named = (document[name] for name in METADATA_KEYS if name in document)
    return next((each for each in named if isinstance(each, Mapping)), None)


def of_store(document: Mapping[Any, Any], known: Collection[str], field: str) -> str | Mapping[Any, Any]:
    """Return the document of a store as a text or as fields, with known values of its metadata; others as they are.

    known  names that a document may have
    field  field that the text fills if the store has it under another name
    """
    metadata = metadata_of(document)
    if field in document and metadata is None:
        return document
    names = [name for name in (field, *TEXT_KEYS) if text_of(document.get(name)) is not None]
    unknown = [name for name in names if name not in known] if field not in document else []
    if not unknown and (metadata is None or not names):
        return document
    own = {
        name: value for name, value in {**(metadata or {}), **document}.items() if name in known and value is not None
    }
    if not unknown:
        return own
    text = str(text_of(document[unknown[0]]))
    return {**own, field: text} if own else text


def check_characters(texts: Mapping[str, str], location: str) -> None:
    """Refuse texts by field with lone surrogates or NUL, which UTF-8 or Lucene cannot hold."""
    for name, text in texts.items():
        fault = "NUL" if "\0" in text else "a lone surrogate" if not is_unicode(text) else None
        if fault is not None:
            raise InvalidInputError(
                f"{location}: expected Unicode text in field {name!r}, got one with {fault}. Remove it, e.g. with "
                "text.encode('utf8', 'replace').decode('utf8').replace('\\0', ' ')."
            )
