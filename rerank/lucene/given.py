"""Documents that users pass as texts, as the fields and numbers of an index."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from numbers import Real
from typing import Any, NamedTuple

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.lucene.documents import ID_KEYS, field_order, is_text
from rerank.lucene.texts import TextDocument
from rerank.types.forward import ForwardIndex
from rerank.types.frames import number_of, plain_value
from rerank.types.ids import is_unicode
from rerank.types.retriever import CONTENTS

MOST_CHARACTERS = 1 << 24  # of one text


class GivenDocument(NamedTuple):
    """A document: its id, its texts, its numbers by the names of the index, and its scores in other runs by name."""

    doc_id: str
    document: TextDocument
    numbers: Mapping[str, int | float]
    run_scores: Mapping[str, int | float]

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
    runs : collection of str, default=()
        Names of runs whose scores documents may have, as numbers.

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
    ) -> None:
        if field not in forward.fields:
            raise unknown_name("field", field, forward.fields)
        self._fields, self._numbers, self._field = set(forward.fields), set(forward.numbers), field
        self._joined = None if joined_fields is None else tuple(joined_fields)
        self._parts: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._runs = frozenset(runs) - self._fields - self._numbers

    def read(self, doc_id: str, document: str | Mapping[str, Any]) -> GivenDocument:
        """Return a document; errors do not say where it is."""
        numbers: dict[str, int | float] = {}
        if isinstance(document, str):
            texts = {self._field: document}
        elif isinstance(document, Mapping):
            texts = {}
            for name, value in document.items():
                if type(value) is str and name in self._fields:
                    texts[name] = value
                elif name not in ID_KEYS or name in self._fields:
                    self._add_other(name, value, texts, numbers)
        else:
            raise InvalidInputError(
                f"expected text, or a mapping of fields, got {type(document).__name__}. Pass e.g. "
                "{'contents': 'heat flow'}."
            )
        for name, text in texts.items():
            if len(text) > MOST_CHARACTERS:
                raise InvalidInputError(
                    f"expected at most {MOST_CHARACTERS:,} characters in field {name!r}, got {len(text):,}. Shorten it."
                )
        names = tuple(texts)
        parts = self._parts.get(names)
        if parts is None:
            parts = self._parts[names] = self._parts_of(names)
        run_scores = {name: numbers.pop(name) for name in self._runs & numbers.keys()}
        return GivenDocument(doc_id, TextDocument(texts, parts), numbers, run_scores)

    def _parts_of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the fields that make up `contents`, in the order of the index build."""
        if self._joined is not None:
            return tuple(name for name in self._joined if name in names)
        return tuple(sorted((name for name in names if name != CONTENTS), key=field_order))

    def _add_other(self, name: Any, value: Any, texts: dict[str, str], numbers: dict[str, int | float]) -> None:
        """Add a value that is not text of a field: a list of texts, or a number; refuse others of a field."""
        plain = plain_value(value)
        if is_text(plain):
            if name not in self._fields:
                raise self._unknown(name, self._fields)
            texts[name] = str(plain) if isinstance(plain, str) else " ".join(plain)
        elif name in self._numbers or name in self._runs:
            number = number_of(plain)
            if number is not None and abs(number) <= sys.float_info.max:  # others are missing
                numbers[name] = number
        elif plain is not None and name in self._fields:
            raise self._no_text(name, value)
        elif isinstance(plain, Real) and not isinstance(plain, bool):
            raise self._unknown(name, self._fields | self._numbers)

    @staticmethod
    def _unknown(name: Any, known: set[str]) -> InvalidInputError:
        return InvalidInputError(
            f"expected fields of the index ({', '.join(sorted(known))}), got {shown(name)}. Leave it out or rename it."
        )

    @staticmethod
    def _no_text(name: str, value: Any) -> InvalidInputError:
        return InvalidInputError(
            f"expected text in field {name!r}, got {type(value).__name__}. Make it text or leave it out."
        )


def check_characters(texts: Mapping[str, str], location: str) -> None:
    """Refuse texts by field with lone surrogates or NUL, which UTF-8 or Lucene cannot hold."""
    for name, text in texts.items():
        fault = "NUL" if "\0" in text else "a lone surrogate" if not is_unicode(text) else None
        if fault is not None:
            raise InvalidInputError(
                f"{location}: expected Unicode text in field {name!r}, got one with {fault}. Remove it, e.g. with "
                "text.encode('utf8', 'replace').decode('utf8').replace('\\0', ' ')."
            )
