"""LETOR / SVMlight text read with its features into a memory-mapped temporary file, chunk by chunk.

The rows and all errors are those of `read_svmlight`; what a row takes in memory are its ids and a few numbers.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError
from rerank.files.grouping import numbered
from rerank.files.row_table import RowTable, in_order, query_ptr
from rerank.files.source import check_file, chunks
from rerank.files.svmlight import (
    NO_ROWS,
    companion_sizes,
    missing_base,
    missing_query,
    refuse_repeats,
)
from rerank.files.svmlight_header import Header
from rerank.files.svmlight_rows import split_rows
from rerank.types import Floats, Ints, RankingData
from rerank.types.ids import id_array
from rerank.types.retriever import stored_retrievers

NO_QUERY = ""  # of a row without `qid:`; an id is never empty


def map_svmlight(path: str | Path, n_features: int | None = None) -> RankingData:
    """Read features and labels from LETOR / SVMlight text; the features are mapped.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzip.
    n_features : int, optional
        Least number of columns.

    Returns
    -------
    RankingData
        The data, equal to those of `read_svmlight`.

    Raises
    ------
    MissingFileError, FileFormatError
        As `read_svmlight`.
    InvalidInputError
        If the disk of temporary files is full.

    """
    header = Header(Path(path))
    table, lines, width = _table(Path(path), header)
    try:
        data = _record(Path(path), table, lines, header, max(width, n_features or 0, len(header.feature_names or ())))
        data.check_values()
    except FileFormatError:
        raise
    except InvalidInputError as error:
        raise FileFormatError(path, header.line, str(error)) from None
    return data


def _table(path: Path, header: Header) -> tuple[RowTable, Ints, int]:
    """Return the rows, the line of each, and the largest feature."""
    path = check_file(path, "a file of feature rows")
    table, lines, width = RowTable.new(True, f"the features of {path}"), [np.empty(0, np.int64)], 0
    for line, chunk in chunks(path):
        rows = split_rows(path, line, chunk, header, not table.docs)
        if rows.lines:
            numbers = {"label": np.array(rows.labels), "base": np.array(rows.bases, dtype=np.float64)}  # None is NaN
            table.append([query or NO_QUERY for query in rows.queries], rows.doc_ids, numbers, rows.X)
            lines.append(np.array(rows.lines, dtype=np.int64))
            width = max(width, rows.X.shape[1])
    if not table.docs:
        raise FileFormatError(path, None, NO_ROWS)
    return table, np.concatenate(lines), width


def _record(path: Path, table: RowTable, lines: Ints, header: Header, width: int) -> RankingData:
    bases = _bases(path, table.column("base"), lines)
    names, query, order = _queries(path, table, lines)
    docs, labels = table.doc_ids(), table.column("label")
    refuse_repeats(path, lines, names, query, docs)
    rows = slice(None) if order is None else order
    query_ids = id_array(names)
    X = table.matrix(width, None)
    ideal_labels, ideal_ptr = header.ideal(query_ids)
    return RankingData(
        query_ids,
        query_ptr(query, len(names)),
        docs[rows],  # type: ignore[arg-type]
        X if order is None else in_order(X, order),
        header.names(X.shape[1]),
        labels=labels[rows] if header.members.get("labels", True) else None,
        base_scores=None if bases is None else bases[rows],
        weights=header.weights(query_ids),
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        recipe=header.members.get("recipe"),
        fingerprint=header.members.get("fingerprint"),
        **stored_retrievers(header.members),
    )


def _bases(path: Path, bases: Floats, lines: Ints) -> Floats | None:
    missing = np.isnan(bases)
    if missing.all():
        return None
    if missing.any():
        raise missing_base(path, int(lines[np.argmax(missing)]))
    return bases


def _queries(path: Path, table: RowTable, lines: Ints) -> tuple[list[str], Ints, Ints | None]:
    """Return query ids, each row's query, and the order that groups the rows."""
    names, lengths = table.names, np.array(table.lengths, dtype=np.int64)
    if set(names) == {NO_QUERY}:
        sizes = [(str(number), size) for number, size in enumerate(companion_sizes(path, lines), 1) if size]
        names, lengths = [name for name, _ in sizes], np.array([size for _, size in sizes], dtype=np.int64)
    elif NO_QUERY in names:
        raise missing_query(path, int(lines[int(lengths[: names.index(NO_QUERY)].sum())]))
    return numbered(names, lengths)
