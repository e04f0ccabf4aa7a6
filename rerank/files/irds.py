"""Data sets of ir_datasets, named `irds:NAME` wherever a corpus, topics or qrels are.

The package ir_datasets is imported when a data set is read. It downloads a data set once and keeps it in its own folder
(`IR_DATASETS_HOME`).

corpus   `contents` is the document's default text; where this joins several fields, these are fields of the index, too.
         Other fields are read where they are named, numbers always.
topics   the default text of each query
qrels    query, document, relevance
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, shown, suggestion
from rerank.files.rows import repeated_row
from rerank.types import Qrels, Topics, query_rows
from rerank.types.ids import ID_RULE, QUERY_RULE, first_broken, first_broken_query

PREFIX = "irds:"
INSTALL = "pip install 'lucene-rerank[ir-datasets]'"
_HAS = {"docs": "documents", "queries": "topics", "qrels": "qrels"}
_MOST_NAMED = 3


def data_set_name(path: str | Path) -> str | None:
    """Return NAME of `irds:NAME`, None for any other path."""
    text = str(path)
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None


def data_set_topics(name: str) -> Topics:
    """Return the topics of a data set."""
    texts: dict[str, str] = {}
    for query in _entries(name, "queries"):
        query_id, text = str(query.query_id), " ".join(_default_text(query).split())
        if query_id in texts:
            raise _fault(name, f"expected each query id once, got {shown(query_id)} again")
        if not text:
            raise _fault(name, f"expected a text for query {shown(query_id)}, got none")
        texts[query_id] = text
    _check_ids(name, list(texts))
    return Topics(texts)


def data_set_qrels(name: str) -> Qrels:
    """Return the judgements of a data set; see `data_set_topics` for parameters and errors."""
    query_ids, doc_ids, labels = [], [], []
    for judgement in _entries(name, "qrels"):
        label = getattr(judgement, "relevance", None)
        if not isinstance(label, int | float) or label != int(label):
            raise _fault(name, f"expected whole numbers as relevance, got {shown(label)}")
        query_ids.append(str(judgement.query_id))
        doc_ids.append(str(judgement.doc_id))
        labels.append(int(label))
    _check_ids(name, list(dict.fromkeys(query_ids)))
    broken = first_broken(list(dict.fromkeys(doc_ids)))
    if broken is not None:
        raise _fault(name, f"expected document ids {ID_RULE}, got {shown(broken)}")
    qrels = Qrels.from_rows(query_ids, doc_ids, labels)
    queries = query_rows(qrels.query_ptr)
    row = repeated_row(queries, qrels.doc_ids)
    if row is not None:
        doc_id, query_id = str(qrels.doc_ids[row]), str(qrels.query_ids[queries[row]])
        raise _fault(name, f"expected each document of a query once, got {shown(doc_id)} of {shown(query_id)} again")
    return qrels


def data_set_documents(name: str, fields: Collection[str] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the location and the fields of each document of a data set."""
    documents = _entries(name, "docs")
    return _members(name, documents, fields)


def _members(
    name: str, documents: Iterator[Any], fields: Collection[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    joined: tuple[str, ...] | None = None
    for number, document in enumerate(documents, 1):
        if joined is None:
            joined = _joined_fields(type(document)) if fields is None else tuple(fields)
        values = document._asdict()
        members: dict[str, Any] = {"id": str(values.pop("doc_id")), "contents": _default_text(document)}
        for field, value in values.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if field not in members and (is_number or (field in joined and value is not None)):
                members[field] = value
        yield f"{PREFIX}{name}: document {number}", members


def _joined_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields that the default text of a class of documents joins; none if it is a single field."""
    marks = {field: f"\x01{field}\x01" for field in kind._fields}
    try:
        text = kind(**marks).default_text()
    except (AttributeError, TypeError, ValueError, KeyError):  # its fields are objects, and the marks are text
        return ()
    fields = tuple(field for field, mark in marks.items() if mark in str(text))
    return fields if len(fields) > 1 else ()


def _default_text(entry: Any) -> str:
    """Return the default text of a document or query; all its texts, joined, where its class defines none."""
    if hasattr(entry, "default_text"):
        return str(entry.default_text())
    texts = [value for field, value in entry._asdict().items() if isinstance(value, str) and not field.endswith("_id")]
    return " ".join(texts)


def _entries(name: str, part: str) -> Iterator[Any]:
    """Return an iterator over a part of a data set; errors of the library are raised as one-line errors."""
    data_set = _data_set(name)
    if not data_set.has(part):
        raise InvalidInputError(
            f"{PREFIX}{name}: expected a data set with {_HAS[part]}, got one with "
            f"{', '.join(text for each, text in _HAS.items() if data_set.has(each)) or 'none'}. {_remedy(name, part)}"
        )
    entries = _read(name, part, data_set)
    first = next(entries, None)
    if first is None:
        raise _fault(name, f"expected {_HAS[part]}, got none")
    return chain([first], entries)


def _read(name: str, part: str, data_set: Any) -> Iterator[Any]:
    """Yield the entries; errors of the library (files, network, formats) have no common class."""
    try:
        yield from getattr(data_set, f"{part}_iter")()
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidInputError(
            f"{PREFIX}{name}: expected its {_HAS[part]}, got {type(error).__name__}: {reason}. Check the network and "
            f"the disk, and what ir_datasets documents on {name}."
        ) from error


def _data_set(name: str) -> Any:
    """Return a data set; raise InvalidInputError, with the nearest name, for an unknown one."""
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        if error.name != "ir_datasets":
            raise
        raise InvalidInputError(
            f"{PREFIX}{name}: expected the package ir_datasets, got none. Run `{INSTALL}`."
        ) from None
    try:
        return ir_datasets.load(name)
    except KeyError:
        known = list(ir_datasets.registry)
        near = suggestion(name, known)
        remedy = near if near.startswith("Did") else "See the catalogue of ir_datasets, `ir_datasets list`."
        raise InvalidInputError(
            f"{PREFIX}{name}: expected the name of a data set of ir_datasets, got {shown(name)}. {remedy}"
        ) from None


def _remedy(name: str, part: str) -> str:
    """Return a sentence that names related data sets with the missing part."""
    import ir_datasets

    below = [each for each in ir_datasets.registry if each.startswith(f"{name}/")]
    holders = [each for each in below if ir_datasets.load(each).has(part)][:_MOST_NAMED]
    parents = [name.rsplit("/", depth)[0] for depth in range(1, name.count("/") + 1)]
    known = set(ir_datasets.registry)
    holders = holders or [each for each in parents if each in known and ir_datasets.load(each).has(part)]
    if not holders:
        return "Name another data set, or a file."
    return f"Name e.g. {', '.join(PREFIX + each for each in holders)}."


def _check_ids(name: str, query_ids: list[str]) -> None:
    broken = first_broken_query(query_ids)
    if broken is not None:
        raise _fault(name, f"expected query ids {QUERY_RULE}, got {shown(broken)}")


def _fault(name: str, message: str) -> FileFormatError:
    return FileFormatError(f"{PREFIX}{name}", None, f"{message}. Export the data set to a file and correct it.")
