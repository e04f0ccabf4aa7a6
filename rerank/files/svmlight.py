"""Features and labels in the text format of LETOR, SVMlight and LightGBM: one line for each document.

    # features: bm25 length
    # rerank: {"version": 1, "recipe": {…}}
    2 qid:q1 1:12.5 2:140 # docid = GX008-86-4444840 base = 12.5

- A row is label, query, then pairs `feature:value` in any order, with features numbered from 1. A feature without a
  pair is 0, as the format defines; `nan` is a missing value. A repeated feature in a row is refused.
- The comment may have the document id (`docid = X`) and the base score (`base = S`, in all rows or none). The default
  document id is the line number. Other comments are skipped.
- Rows of a query need not be adjacent; queries are ordered by their first row.
- If no row has `qid:`, the numbers of rows of successive queries are read from LightGBM's companion file: the path with
  `.query` added, one number a line. The queries are then named 1, 2, …
- `write_svmlight` adds the two header comments, so that everything but queries without rows can be read again (see
  `svmlight_header.py`); other programs take them for comments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.grouping import numbered, repeated_row
from rerank.files.row_table import RowTable, query_ptr
from rerank.files.source import OnFault, check_file, chunks, refuse, text_lines
from rerank.files.svmlight_header import Header, header_lines
from rerank.files.svmlight_rows import split_rows
from rerank.runtime.output import whole_file
from rerank.types import Floats, Ints, RankingData
from rerank.types.ids import first_broken, id_array
from rerank.types.retriever import stored_retrievers

NO_QUERY = ""  # of a row without `qid:`; an id is never empty
MOST_DIGITS = 18  # of a number of rows


def read_svmlight(path: str | Path, n_features: int | None = None, mapped: bool = False) -> RankingData:
    """Read features and labels from LETOR / SVMlight text."""
    path = Path(path)
    header = Header(path)
    table, lines = read_rows(path, header, mapped)
    try:
        data = _record(path, table, lines, header, n_features or 0)
        data.check_values()
    except InvalidInputError as error:
        raise FileFormatError(path, header.line, str(error)) from None
    return data


def read_rows(
    path: str | Path, header: Header, mapped: bool = False, on_fault: OnFault = refuse
) -> tuple[RowTable, Ints]:
    """Read the header and the rows; return the rows and the line of each. `on_fault` is called for every fault.

    The table has the columns label and base (NaN where a row has none); the query id of a row without `qid:` is "".
    """
    path = check_file(path, "a file of feature rows")
    table, lines = RowTable.new(mapped, f"the features of {path}"), [np.empty(0, np.int64)]
    for line, chunk in chunks(path):
        rows = split_rows(path, line, chunk, header, not table.docs, on_fault)
        if rows.lines:
            numbers = {"label": np.array(rows.labels), "base": np.array(rows.bases, dtype=np.float64)}  # None is NaN
            table.append([query or NO_QUERY for query in rows.queries], rows.doc_ids, numbers, rows.X)
            lines.append(np.array(rows.lines, dtype=np.int64))
    if not table.docs:
        raise FileFormatError(
            path, None, "expected rows `label qid:Q feature:value …`, got no row. Name a file with rows."
        )
    return table, np.concatenate(lines)


def write_svmlight(data: RankingData, path: str | Path, blocks: Iterable[NDArray[np.float32]] | None = None) -> None:
    """Write data as LETOR / SVMlight text.

    A value of 0 is left out, NaN is written as `nan`. Queries without rows are not written.

    Shapes: blocks float32 (n_rows_of_block, n_features).
    """
    _check_writable(data)
    header = list(header_lines(data))
    with whole_file(path) as handle:
        handle.writelines(header)
        first = 0
        for block in [data.X] if blocks is None else blocks:
            _check_features(block)
            last = first + len(block)
            for query in _queries_of(data.query_ptr, first, last):
                rows = slice(*data.query_ptr[query : query + 2].tolist())
                X = block[rows.start - first : rows.stop - first]
                handle.writelines(_row_lines(data, str(data.query_ids[query]), rows, X))
            first = last


def append_svmlight(data: RankingData, path: str | Path) -> None:
    """Append rows to a LETOR / SVMlight text file, which is made if it is not there."""
    _check_writable(data)
    _check_features(data.X)
    header = "".join(header_lines(data)).encode()
    with open(path, "a+b") as handle:
        handle.seek(0)
        stored = handle.read(len(header))
        if stored and stored != header:
            raise InvalidInputError(f"{path}: expected a file with the same features, got others. Name a new file.")
        lines = [header.decode()] if not stored else []
        for query in _queries_of(data.query_ptr, 0, data.n_rows):
            rows = slice(*data.query_ptr[query : query + 2].tolist())
            lines.extend(_row_lines(data, str(data.query_ids[query]), rows, data.X[rows]))
        handle.write("".join(lines).encode())


def _queries_of(query_ptr: Ints, first: int, last: int) -> range:
    """Return the queries with the rows [first, last); queries without rows are left out."""
    return range(int(np.searchsorted(query_ptr, first, "right")) - 1, int(np.searchsorted(query_ptr, last, "left")))


def _record(path: Path, table: RowTable, lines: Ints, header: Header, n_features: int) -> RankingData:
    bases = _bases(path, table.column("base"), lines)
    names, query, order = row_queries(path, table, lines)
    docs, labels = table.doc_ids(), table.column("label")
    _refuse_repeats(path, lines, names, query, docs)
    rows = slice(None) if order is None else order
    query_ids = id_array(names)
    X = table.matrix(max(table.width, n_features, len(header.feature_names or ())), order)
    ideal_labels, ideal_ptr = header.ideal(query_ids)
    return RankingData(
        query_ids,
        query_ptr(query, len(names)),
        docs[rows],  # type: ignore[arg-type]
        X,
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
        raise FileFormatError(
            path,
            int(lines[np.argmax(missing)]),
            "expected `base = S` in the comment of every row or of none, got none here. Write it.",
        )
    return bases


def row_queries(path: Path, table: RowTable, lines: Ints) -> tuple[list[str], Ints, Ints | None]:
    """Return the query ids, each row's query, and the order that groups the rows, as `numbered` does."""
    names, lengths = table.names, np.array(table.lengths, dtype=np.int64)
    if set(names) == {NO_QUERY}:
        sizes = [(str(number), size) for number, size in enumerate(_companion_sizes(path, lines), 1) if size]
        names, lengths = [name for name, _ in sizes], np.array([size for _, size in sizes], dtype=np.int64)
    elif NO_QUERY in names:
        first = int(lengths[: names.index(NO_QUERY)].sum())
        raise FileFormatError(
            path, int(lines[first]), "expected `qid:Q` after the label, got none. Write the query id."
        )
    return numbered(names, lengths)


def _companion_sizes(path: Path, lines: Ints) -> list[int]:
    """Return the number of rows of each query from LightGBM's companion file; `lines` are those of the rows."""
    bare = path.with_name(path.name.removesuffix(".gz"))
    companion = next((c for c in (Path(f"{path}.query"), Path(f"{bare}.query")) if c.is_file()), None)
    if companion is None:
        raise FileFormatError(
            path,
            int(lines[0]),
            f"expected `qid:Q` after the label, got none. Write it, or the size of every query to {path.name}.query.",
        )
    sizes = [_size(companion, line, content) for line, content in text_lines(companion) if content.strip()]
    if sum(sizes) != len(lines):
        raise FileFormatError(
            companion,
            None,
            f"expected sizes that add up to the {len(lines)} rows of {path.name}, got {sum(sizes)}. Correct the sizes.",
        )
    return sizes


def _size(path: Path, line: int, content: str) -> int:
    size = content.strip()
    if not (size.isascii() and size.isdigit() and len(size) <= MOST_DIGITS):
        raise FileFormatError(
            path,
            line,
            f"expected the number of rows of a query, got {shown(content)}. Write one size a line.",
        )
    return int(size)


def _refuse_repeats(path: Path, lines: Ints, names: list[str], query: Ints, docs: NDArray[np.bytes_]) -> None:
    """Refuse a document that is twice in a query."""
    row = repeated_row(query, docs)
    if row is not None:
        raise FileFormatError(
            path,
            int(lines[row]),
            f"expected each document once in a query, got {shown(docs[row].decode())} again in query "
            f"{shown(names[query[row]])}. Remove one of the two rows.",
        )


def _check_writable(data: RankingData) -> None:
    for ids, forbidden in ((list(data), "#"), (data.doc_ids.tolist(), "")):
        broken = first_broken(ids, forbidden)
        if broken is not None:
            raise InvalidInputError(
                f"data: expected ids without white space (queries: or #), got {broken!r}. "
                "Rename it, or write to a .npz file."
            )
    for what, numbers in (("labels", data.labels), ("base scores", data.base_scores)):
        if numbers is not None and not np.isfinite(numbers).all():
            raise InvalidInputError(f"data: expected finite {what}, got NaN or infinity. Correct them.")


def _check_features(X: NDArray[np.float32]) -> None:
    if np.isinf(X).any():
        raise InvalidInputError(
            "data: expected finite features or NaN, got infinity. Put NaN where a value is missing."
        )


def _row_lines(data: RankingData, query_id: str, rows: slice, X: NDArray[np.float32]) -> Iterator[str]:
    """Yield the rows of one query, with the features X, as text."""
    nonzero = X != 0
    features = (np.flatnonzero(nonzero) % max(data.n_features, 1) + 1).tolist()
    values = X[nonzero].astype("S").tolist()  # the shortest text that reads back as the same float32
    pairs = [f"{feature}:{value.decode()}" for feature, value in zip(features, values, strict=True)]
    ends = np.cumsum(nonzero.sum(axis=1)).tolist()
    start = 0
    for row, end in zip(range(rows.start, rows.stop), ends, strict=True):
        label = 0.0 if data.labels is None else float(data.labels[row])
        base = "" if data.base_scores is None else f" base = {float(data.base_scores[row])!r}"
        columns = [f"{label:.0f}" if label.is_integer() else repr(label), f"qid:{query_id}"]
        yield " ".join(columns + pairs[start:end]) + f" # docid = {data.doc_ids[row]}{base}\n"
        start = end
