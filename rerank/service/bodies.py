"""The bodies of requests: declared once, for the checks and for OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.runtime.schema import Field, Flag, SchemaError, Sizes, Text, Whole, at
from rerank.service.faults import ServiceError, unusable
from rerank.service.settings import Limits
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken, is_unicode

MOST_FIELDS = 64
MOST_MEMBERS = 256  # of a body, and of a document in it
MOST_EXCERPT = 10_000


@dataclass(frozen=True)
class Words(Field):
    """Text with more than white space that UTF-8 can hold."""

    longest: int

    def read(self, value: Any, sizes: Sizes) -> str:
        """Return the text."""
        if not isinstance(value, str) or not value.strip() or len(value) > self.longest:
            got = f"{len(value)} characters" if isinstance(value, str) and value.strip() else shown(value)
            raise SchemaError(f"text of 1 to {self.longest} characters that are not all white space", got)
        return _without_nul(_encodable(value))


@dataclass(frozen=True)
class Several(Field):
    """A list of texts, or an object of texts by id; read as an object."""

    each: Words
    most: int

    def read(self, value: Any, sizes: Sizes) -> dict[str, str]:
        """Return the texts by id: q1, q2 and so on for a list."""
        if not isinstance(value, list | dict) or not value:
            raise SchemaError("a list of texts, or an object of texts by id", shown(value))
        if len(value) > self.most:
            raise SchemaError(f"at most {self.most} queries", str(len(value)), "Send the others in another request.")
        if isinstance(value, dict):
            broken = first_broken(list(value))
            if broken is not None:
                raise SchemaError(f"ids {ID_RULE}", shown(broken), "Rename it.")
            return {name: _within(f"[{shown(name)}]", self.each, text) for name, text in value.items()}
        return {f"q{n}": _within(f"[{n - 1}]", self.each, text) for n, text in enumerate(value, start=1)}


@dataclass(frozen=True)
class NameList(Field):
    """A list of names, which may be empty."""

    def read(self, value: Any, sizes: Sizes) -> tuple[str, ...]:
        """Return the names, each once."""
        if not isinstance(value, list) or len(value) > MOST_FIELDS:
            raise SchemaError(f"a list of at most {MOST_FIELDS} names", shown(value))
        return tuple(
            dict.fromkeys(_within(f"[{number}]", Text(MOST_LETTERS), name) for number, name in enumerate(value))
        )


@dataclass(frozen=True)
class Documents(Field):
    """A list of documents: texts, or objects with a text, fields of the index, or the id of a document of the index."""

    most: int
    longest: int
    only_texts: bool = False

    def read(self, value: Any, sizes: Sizes) -> list[str | dict[str, Any]]:
        """Return the documents; which of their members are used is decided where the index is known."""
        if not isinstance(value, list) or not value:
            raise SchemaError("a list of at least one document", shown(value))
        if len(value) > self.most:
            raise ServiceError(
                413, "body.documents", f"at most {self.most} documents", str(len(value)),
                "Send the others in another request.",
            )  # fmt: skip
        for number, document in enumerate(value):
            with at(f"[{number}]"):
                self._check(document)
        return value

    def _check(self, document: Any) -> None:
        if isinstance(document, str):
            self._check_text(document)
        elif not isinstance(document, dict) or self.only_texts:
            raise SchemaError("text" if self.only_texts else "text, or an object with a text or an id", shown(document))
        else:
            _check_members(document)
            for key, value in document.items():
                with at(shown(key)):
                    for text in value if isinstance(value, list) else [value]:
                        if isinstance(text, str):
                            self._check_text(text)

    def _check_text(self, text: str) -> None:
        if len(text) > self.longest:
            raise SchemaError(f"at most {self.longest} characters", str(len(text)), "Cut the text.")
        _without_nul(_encodable(text))


@dataclass(frozen=True)
class Key:
    """A member of a body.

    Parameters
    ----------
    field : Field
        What the value may be.
    about : str
        What it says, for OpenAPI.
    default : object
        The value where there is none, or null; REQUIRED if there must be one.

    """

    field: Field
    about: str
    default: Any = None


REQUIRED = object()


@dataclass(frozen=True)
class Body:
    """A request's body.

    Parameters
    ----------
    name : str
        Its name in OpenAPI.
    keys : mapping of str to Key
        Its members.
    one_of : tuple of tuple of str
        Groups of members of which exactly one must be there.
    strict : bool
        Whether other members are refused; otherwise only those that look like a misspelt one.
    ignored : tuple of str
        Members of other services' bodies that are accepted without effect.

    """

    name: str
    keys: Mapping[str, Key]
    one_of: tuple[tuple[str, ...], ...] = ()
    strict: bool = True
    ignored: tuple[str, ...] = ()

    def read(self, value: Any) -> dict[str, Any]:
        """Return the value of each member; raises ServiceError."""
        try:
            return self._read(value)
        except InvalidInputError as error:
            raise unusable(error) from None

    def _read(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise SchemaError("an object", shown(value))
        self._check_keys(value)
        for group in self.one_of:
            given = [key for key in group if value.get(key) is not None]
            if len(given) != 1:
                raise SchemaError(f"one of {' and '.join(group)}", " and ".join(given) or "none", "Give exactly one.")
        values: dict[str, Any] = {}
        for key, declared in self.keys.items():
            if value.get(key) is not None:
                values[key] = _within(key, declared.field, value[key])
            elif declared.default is REQUIRED:
                raise SchemaError(f"the key {key}", "none", "Add it.")
            else:
                values[key] = declared.default
        return values

    def _check_keys(self, value: Mapping[str, Any]) -> None:
        """Refuse unknown members."""
        _check_members(value)
        for key in value:
            if key in self.keys or key in self.ignored or (value[key] is None and not self.strict):
                continue
            near = get_close_matches(key, self.keys, n=1, cutoff=0.75) if len(key) < 64 else []
            if near:
                raise SchemaError("a known key", shown(key), f"Did you mean {near[0]!r}?")
            if self.strict:
                raise SchemaError(f"keys {', '.join(self.keys)}", shown(key), "Leave it out.")

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema."""
        members = {
            key: {**(_schema(each.field) if each.default is REQUIRED else _nullable(_schema(each.field))),
                  "description": each.about}
            for key, each in self.keys.items()
        }  # fmt: skip
        required = [key for key, each in self.keys.items() if each.default is REQUIRED]
        whole: dict[str, Any] = {"type": "object", "properties": members, "additionalProperties": not self.strict}
        if required:
            whole["required"] = required
        groups = [
            {"oneOf": [{"required": [key], "properties": {key: {"not": {"type": "null"}}}} for key in group]}
            for group in self.one_of
        ]
        return {**whole, "allOf": groups} if groups else whole


@cache
def search_body(limits: Limits) -> Body:
    """Return the body of /search."""
    text = Words(limits.query_characters)
    return Body(
        "Search",
        {
            "query": Key(text, "The query."),
            "queries": Key(Several(text, limits.queries), "Several queries: a list, or an object by query id."),
            "k": Key(Whole(1, limits.documents), "Number of documents to return for each query; 10 by default.", 10),
            "candidates": Key(
                Whole(1, limits.documents),
                "Number of BM25's documents that the model reorders; by default 100, or k if that is more.",
            ),
            "model": Key(Text(MOST_LETTERS), "A name of /models; the served model by default."),
            "fields": Key(NameList(), "Fields of the documents to return; none by default.", ()),
            "excerpt": Key(
                Whole(0, MOST_EXCERPT), "Longest text of a field: the part with most matches. 0 is all of it.", 0
            ),
            "highlight": Key(Flag(), "Whether to return where words of the query are in the fields.", False),
            "explain": Key(
                Flag(), "Whether to return the features that add or take most of each document's score.", False
            ),
        },
        one_of=(("query", "queries"),),
    )


@cache
def rerank_body(limits: Limits) -> Body:
    """Return the body of /rerank in the shape of Cohere, Jina, Voyage and TEI."""
    documents, texts = (Documents(limits.documents, limits.text_characters, only) for only in (False, True))
    count = Whole(1, 2**31 - 1)
    return Body(
        "Rerank",
        {
            "query": Key(Words(limits.query_characters), "The query.", REQUIRED),
            "documents": Key(
                documents,
                "Texts; or objects with `text` or fields of the index; or objects with the `id` of a document of the "
                "index and no text, in all of them.",
            ),
            "texts": Key(texts, "Texts, in the shape of Text Embeddings Inference; the answer is then a list."),
            "model": Key(Text(MOST_LETTERS), "A name of /models; the served model by default."),
            "top_n": Key(count, "Number of documents to return; all by default."),
            "top_k": Key(count, "The same for Voyage's clients; the answer then has `data`, with texts as documents."),
            "return_documents": Key(Flag(), "Whether to return the documents; true by default.", True),
            "return_text": Key(Flag(), "Whether to return the texts of `texts`; false by default.", False),
            "raw_scores": Key(Flag(), "Whether scores are the model's, not between 0 and 1.", False),
            "rank_fields": Key(NameList(), "Members of the documents that are joined to their text."),
            "max_tokens_per_doc": Key(count, "Number of words of each text, from its beginning, that are read."),
        },
        one_of=(("documents", "texts"),),
        strict=False,
        ignored=("priority", "truncate", "truncation", "truncation_direction", "user", "return_input", "input"),
    )  # fmt: skip


def _within(step: str, declared: Field, value: Any) -> Any:
    with at(step):
        return declared.read(value, {})


def _check_members(value: Mapping[str, Any]) -> None:
    """Refuse an object of too many members."""
    if len(value) > MOST_MEMBERS:
        raise SchemaError(f"at most {MOST_MEMBERS} keys", str(len(value)), "Leave out those that are not needed.")


def _encodable(text: str) -> str:
    if not text.isascii() and not is_unicode(text):
        raise SchemaError("text that UTF-8 can hold", shown(text), "Remove the half surrogate pair.")
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise SchemaError("text without NUL", shown(text), "Remove the character.")
    return text


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    return {**schema, "type": [kind, "null"]} if isinstance(kind, str) else {"anyOf": [schema, {"type": "null"}]}


def _schema(declared: Field) -> dict[str, Any]:
    """Return the JSON Schema of a field."""
    match declared:
        case Whole(low, high):
            return {"type": "integer", "minimum": low, "maximum": high}
        case Flag():
            return {"type": "boolean"}
        case Text(longest) | Words(longest):
            blank = {"pattern": r"\S"} if isinstance(declared, Words) else {}
            return {"type": "string", "minLength": 1, "maxLength": longest, **blank}
        case NameList():
            return {"type": "array", "items": _schema(Text(MOST_LETTERS)), "maxItems": MOST_FIELDS}
        case Several(each, most):
            texts = {"type": "array", "items": _schema(each), "minItems": 1, "maxItems": most}
            return {"anyOf": [texts, {
                "type": "object", "additionalProperties": _schema(each), "minProperties": 1, "maxProperties": most,
                "propertyNames": {"pattern": r"^\S+$", "maxLength": MOST_LETTERS},
            }]}  # fmt: skip
        case Documents(most, longest, only_texts):
            text = {"type": "string", "maxLength": longest}
            items = text if only_texts else {"anyOf": [text, {"type": "object", "minProperties": 1}]}
            return {"type": "array", "items": items, "minItems": 1, "maxItems": most}
    raise TypeError(f"no JSON Schema of {type(declared).__name__}")
