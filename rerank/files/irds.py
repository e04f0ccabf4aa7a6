"""Data sets of ir_datasets, named `irds:NAME` wherever a corpus, topics or qrels are.

The package ir_datasets is imported when a data set is read. It downloads a data set once and keeps it in its own folder
(`IR_DATASETS_HOME`).

corpus   `contents` is the document's default text; the fields that it joins are fields of the index, too. Other fields
         are read where they are named, numbers always.
topics   the default text of each query
qrels    query, document, relevance; and the subtopic, where the data set has subtopics
"""

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, shown, suggestion
from rerank.files.line_records import check_ids, refuse_repeats
from rerank.files.source import FileLike, of_line
from rerank.runtime.registry import exception_text
from rerank.types import Qrels, SubtopicQrels, query_rows

PREFIX = "irds:"
INSTALL = "pip install ir-datasets"
_HAS = {"docs": "documents", "queries": "topics", "qrels": "qrels"}


def data_set_name(path: FileLike) -> str | None:
    """Return NAME of `irds:NAME`, None for any other path."""
    text = path.as_posix() if isinstance(path, PurePath) else str(path)  # Windows has backslashes in paths
    return text.removeprefix(PREFIX) if text.startswith(PREFIX) else None


def data_set_topics(name: str) -> Iterator[tuple[str, str]]:
    """Return the id and the text of each topic of a data set."""
    return ((str(query.query_id), " ".join(default_text(query).split())) for query in data_set_entries(name, "queries"))


def data_set_qrels(name: str) -> Qrels:
    """Return the judgements of documents of a data set."""
    source, query_ids, subtopics, doc_ids, labels = _judgements(name)
    if any(subtopics):
        raise FileFormatError(
            source,
            None,
            "expected judgements of documents, got those of subtopics. Measure e.g. alpha_nDCG@10, or name others.",
        )
    qrels = Qrels.from_rows(query_ids, doc_ids, labels)
    refuse_repeats(
        source,
        qrels.query_ids,
        query_rows(qrels.query_ptr),
        qrels.doc_ids,
        remedy=": in Python, where the others can be passed as a mapping",
    )
    return qrels


def data_set_subtopic_qrels(name: str) -> SubtopicQrels:
    """Return the judgements of documents for subtopics of a data set."""
    source, *columns = _judgements(name)
    return of_line(source, None, SubtopicQrels.from_rows, *columns)


def _judgements(name: str) -> tuple[Path, list[str], list[str], list[str], list[float]]:
    """Return the source of a data set's judgements, and query, subtopic ("" for none), document and label of each."""
    source = Path(f"{PREFIX}{name}")
    rows = [
        (str(entry.query_id), str(getattr(entry, "subtopic_id", "")), str(entry.doc_id), float(entry.relevance))
        for entry in data_set_entries(name, "qrels")  # relevance is text in CodeSearchNet
    ]
    query_ids, subtopics, doc_ids, labels = map(list, zip(*rows, strict=True))
    for label in labels:
        if not label.is_integer():
            raise FileFormatError(source, None, f"expected whole numbers as relevance, got {label}. Round them.")
    of_line(source, None, check_ids, "", dict.fromkeys(query_ids), dict.fromkeys(doc_ids))
    return source, query_ids, subtopics, doc_ids, labels


def joined_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields that the default text of a class of documents joins; none if it is a single field."""
    marks = {field: f"\x01{field}\x01" for field in kind._fields}
    try:
        text = kind(**marks).default_text()
    except (AttributeError, TypeError, ValueError, KeyError):  # of a field that is an object: the mark is a text
        return ()
    fields = tuple(field for field, mark in marks.items() if mark in str(text))
    return fields if len(fields) > 1 else ()


def default_text(entry: Any) -> str:
    """Return the default text of a document or query; all its texts, joined, where its class defines none."""
    if hasattr(entry, "default_text"):
        return str(entry.default_text())
    return " ".join(
        value for field, value in entry._asdict().items() if isinstance(value, str) and not field.endswith("_id")
    )


def data_set_entries(name: str, part: str) -> Iterator[Any]:
    """Return an iterator over the "docs", "queries" or "qrels" of a data set; every fault is an error of one line."""
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        if error.name != "ir_datasets":
            raise
        raise InvalidInputError(
            f"{PREFIX}{name}: expected the package ir_datasets, got none. Run `{INSTALL}`."
        ) from None
    try:
        data_set = ir_datasets.load(name)
    except KeyError:
        near = suggestion(name, list(ir_datasets.registry))
        remedy = near if near.startswith("Did") else "See the catalogue of ir_datasets, `ir_datasets list`."
        raise InvalidInputError(
            f"{PREFIX}{name}: expected the name of a data set of ir_datasets, got {shown(name)}. {remedy}"
        ) from None
    if not data_set.has(part):
        parts = [text for other, text in _HAS.items() if data_set.has(other)]
        raise InvalidInputError(
            f"{PREFIX}{name}: expected a data set with {_HAS[part]}, got one with {', '.join(parts) or 'none'}. "
            "Name another of `ir_datasets list`, or a file."
        )
    return _read(name, part, data_set)


def _read(name: str, part: str, data_set: Any) -> Iterator[Any]:
    """Yield the entries of a part; ir_datasets' errors (files, network, formats) have no common class."""
    is_empty = True
    try:
        for entry in getattr(data_set, f"{part}_iter")():
            is_empty = False
            yield entry
    except Exception as error:
        raise InvalidInputError(
            f"{PREFIX}{name}: expected its {_HAS[part]}, got {exception_text(error)}. Check the network and the disk, "
            f"and what ir_datasets documents on {name}."
        ) from error
    if is_empty:
        raise InvalidInputError(f"{PREFIX}{name}: expected {_HAS[part]}, got none. Name another data set.")
