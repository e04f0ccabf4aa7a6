"""Documents that users hand over as texts -> the fields and numbers of an index."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.lucene.documents import ID_KEYS, field_order, is_text
from rerank.lucene.texts import TextDocument
from rerank.types.forward import ForwardIndex
from rerank.types.retriever import CONTENTS

MOST_CHARACTERS = 1 << 24  # of one text


@dataclass(frozen=True)
class GivenDocument:
    """A document: its id, its texts, and its numbers by the names of the index."""

    doc_id: str
    document: TextDocument
    numbers: Mapping[str, int | float]

    def json(self) -> str:
        """Return the document as the index would store it."""
        texts = {CONTENTS: self.document.contents, **self.document.texts}
        return json.dumps({"id": self.doc_id, **texts, **self.numbers})


class GivenReader:
    """Reads documents that are text or mappings.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index, for the names of its fields and numbers.
    joined_fields : sequence of str, optional
        Fields that make up `contents`, in order, where the build of the index named them.
    field : str, default="contents"
        Field of a document that is a text.

    Raises
    ------
    InvalidInputError
        If the index does not have the field.

    """

    def __init__(
        self, forward: ForwardIndex, joined_fields: Iterable[str] | None = None, field: str = CONTENTS
    ) -> None:
        if field not in forward.fields:
            raise unknown_name("field", field, forward.fields)
        self._fields, self._numbers, self._field = set(forward.fields), set(forward.numbers), field
        self._joined = None if joined_fields is None else tuple(joined_fields)

    def read(self, doc_id: str, document: str | Mapping[str, Any], location: str) -> GivenDocument:
        """Return a document; `location` says where it is, for errors.

        Raises
        ------
        InvalidInputError
            If it is neither text nor a mapping, or has a field or number that the index does not have, or text with
            lone surrogates or NUL, or of over MOST_CHARACTERS characters.

        """
        if isinstance(document, str):
            text = _checked_text(document, self._field, location)
            return GivenDocument(doc_id, self._of({self._field: text}), {})
        if not isinstance(document, Mapping):
            raise InvalidInputError(
                f"{location}: expected text, or a mapping of fields, got {type(document).__name__}. Pass e.g. "
                "{'contents': 'heat flow'}."
            )
        texts, numbers = {}, {}
        for name, value in document.items():
            if is_text(value):
                if name in self._fields:
                    texts[name] = _checked_text(value if isinstance(value, str) else " ".join(value), name, location)
                elif name not in ID_KEYS:
                    raise self._unknown(name, location, self._fields)
            elif isinstance(value, Real) and not isinstance(value, bool | np.bool_):
                self._add_number(name, value, numbers, location)
            elif value is not None and name in self._fields:
                raise self._no_text(name, value, location)
        return GivenDocument(doc_id, self._of(texts), numbers)

    def _of(self, texts: dict[str, str]) -> TextDocument:
        if self._joined is not None:
            return TextDocument(texts, [name for name in self._joined if name in texts])
        return TextDocument(texts, sorted((name for name in texts if name != CONTENTS), key=field_order))

    def _add_number(self, name: str, value: Any, numbers: dict[str, int | float], location: str) -> None:
        """Add a finite number of the index; others are missing."""
        if name in self._numbers:
            number = value.item() if isinstance(value, np.generic) else value
            if abs(number) <= sys.float_info.max:
                numbers[name] = number if isinstance(number, int | float) else float(number)
        elif name in self._fields:
            raise self._no_text(name, value, location)
        elif name not in ID_KEYS:
            raise self._unknown(name, location, self._fields | self._numbers)

    @staticmethod
    def _unknown(name: Any, location: str, known: set[str]) -> InvalidInputError:
        return InvalidInputError(
            f"{location}: expected fields of the index ({', '.join(sorted(known))}), got {shown(name)}. Leave it out "
            "or rename it."
        )

    @staticmethod
    def _no_text(name: str, value: Any, location: str) -> InvalidInputError:
        return InvalidInputError(
            f"{location}: expected text in field {name!r}, got {type(value).__name__}. Make it text or leave it out."
        )


def _checked_text(text: str, name: str, location: str) -> str:
    """Return a text; refuse one that is too long or that UTF-8 or Lucene cannot hold."""
    if len(text) > MOST_CHARACTERS:
        raise InvalidInputError(
            f"{location}: expected at most {MOST_CHARACTERS:,} characters in field {name!r}, got {len(text):,}. "
            "Shorten it."
        )
    if "\0" in text or not _is_unicode(text):
        what = "NUL" if "\0" in text else "a lone surrogate"
        raise InvalidInputError(
            f"{location}: expected Unicode text in field {name!r}, got one with {what}. Remove it, e.g. with "
            "text.encode('utf8', 'replace').decode('utf8').replace('\\0', ' ')."
        )
    return text


def _is_unicode(text: str) -> bool:
    """Return whether a text is free of lone surrogates; much faster than looking at each character."""
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True
