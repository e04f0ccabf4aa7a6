"""Rows of ranking data: grouping by query, tables that readers collect part by part, and data in several files.

Of several files, the rows are those of the files in their order. All files have the same features (if these have no
names, their number may differ: missing ones are 0), the same recipe and index, and labels and base scores in all or
none. The rows of a query are in one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.runtime.mapped_rows import RowFile, is_mapped, release, row_blocks
from rerank.runtime.schema import Choice, Field, Plain
from rerank.runtime.threads import memory_limit
from rerank.types import Floats, Ints, RankingData, pointers, query_blocks
from rerank.types.frames import weights_of_rows
from rerank.types.ids import ODD, Ids, Words, id_array, id_bytes, row_codes, sort_keys
from rerank.types.ranking_data import BOTH, LISTED, UNLISTED
from rerank.types.retriever import RETRIEVERS, retriever_members

# What files store of data beside their rows, with its defaults; all files that are read together share the first ones.
SHARED: dict[str, Field] = {"recipe": Plain(), "fingerprint": Plain(), **RETRIEVERS}
STORED: dict[str, Field] = {**SHARED, "zeros": Choice(lambda: (LISTED, UNLISTED, BOTH))}
NOT_STORED: dict[str, Any] = {
    "recipe": None,
    "fingerprint": None,
    "retriever": None,
    "run_retrievers": {},
    "zeros": None,
}
ROWS_AT_ONCE = 1 << 14  # moved to another order together


def repeated_rows(query: Ints, doc_ids: NDArray[Any], codes: Words | None = None) -> tuple[Ints, Ints]:
    """Return the rows that repeat the query and document of an earlier row, and that first row of each.

    Shapes: query int64 (n_rows,); doc_ids (n_rows,); codes uint64 (n_rows,); results int64 (n_repeats,).
    """
    codes = row_codes(query, doc_ids) if codes is None else codes
    ordered = np.sort(codes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    rows = np.flatnonzero(np.isin(codes, repeated)) if len(repeated) else np.zeros(0, dtype=np.int64)
    if not len(rows):
        return rows, rows
    rows = rows[np.lexsort((*sort_keys(doc_ids[rows]), query[rows]))]
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (query[rows][1:] != query[rows][:-1]) | (doc_ids[rows][1:] != doc_ids[rows][:-1])
    first = rows[np.flatnonzero(new)][np.cumsum(new) - 1]
    order = np.argsort(rows[~new])
    return rows[~new][order], first[~new][order]


def repeated_row(query: Ints, doc_ids: NDArray[Any], codes: Words | None = None) -> int | None:
    """Return the first row with the query and document of an earlier row, or None; shapes as in `repeated_rows`."""
    again, _ = repeated_rows(query, doc_ids, codes)
    return int(again[0]) if len(again) else None


def refuse_repeats(
    path: Path, names: Sequence[str], query: Ints, docs: NDArray[np.bytes_], lines: Ints | None = None
) -> None:
    """Refuse a document that is twice in a query; `lines` are those of the rows."""
    row = repeated_row(query, docs)
    if row is not None:
        where = f" at row {row}" if lines is None else ""
        raise FileFormatError(
            path,
            None if lines is None else int(lines[row]),
            f"expected each document once in a query, got {shown(docs[row].decode())} again in query "
            f"{shown(str(names[query[row]]))}{where}. Remove one of the two rows.",
        )


def of_queries(
    path: Path, line: int | None, names: Ids, what: str, stored: Mapping[str, Any] | None
) -> list[Any] | None:
    """Return what a header stores by query in the order of the queries, None where it stores nothing."""
    if stored is None:
        return None
    missing = next((name for name in names.tolist() if name not in stored), None)
    if missing is not None:
        raise FileFormatError(
            path,
            line,
            f"expected {what} of every query, got none for query {shown(missing)}. Write the file anew with "
            "rerank.write_data.",
        )
    return [stored[name] for name in names.tolist()]


def ideal_arrays(labels: Sequence[Floats] | None) -> tuple[Floats | None, Ints | None]:
    """Return the ideal labels of all queries and their pointers."""
    if labels is None:
        return None, None
    return np.concatenate([np.empty(0), *labels]), pointers([len(of_query) for of_query in labels])


def numbered(names: list[str], lengths: Ints) -> tuple[list[str], Ints, Ints | None]:
    """Return the query of every row, and the order that groups the rows by query.

    Shapes: lengths int64 (n_groups,); query int64 (n_rows,); order int64 (n_rows,).
    """
    distinct, query_of_group = numbers_of(names)
    query = np.repeat(query_of_group, lengths)
    is_grouped = bool(np.all(query_of_group[1:] >= query_of_group[:-1]))
    return distinct, query, None if is_grouped else np.argsort(query, kind="stable")


def numbers_of(names: list[str]) -> tuple[list[str], Ints]:
    """Return distinct names by first appearance, and the index of each name among them."""
    numbers: dict[str, int] = {}
    of_name = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    return list(numbers), of_name


def all_distinct(query_ptr: Ints, codes: Words) -> bool:
    """Return whether no query has two equal codes; False is possible, but improbable, if none has."""
    for first, last in query_blocks(query_ptr, 1 << 12):
        query = np.repeat(np.arange(first, last, dtype=np.uint64), np.diff(query_ptr[first : last + 1]))
        ordered = np.sort(codes[query_ptr[first] : query_ptr[last]] + query * ODD)
        if (ordered[1:] == ordered[:-1]).any():
            return False
    return True


def stored_members(data: RankingData) -> dict[str, Any]:
    """Return the members of `STORED` that the data have, as JSON values."""
    given = {name: getattr(data, name) for name in ("recipe", "fingerprint")}
    members: dict[str, Any] = {name: dict(value) for name, value in given.items() if value is not None}
    if data.zeros is not None:
        members["zeros"] = data.zeros
    return {**members, **retriever_members(data.retriever, data.run_retrievers)}


@contextmanager
def faults_of(path: Path, line: int | None = None) -> Iterator[None]:
    """Turn errors of data into errors of the file that they were read from."""
    try:
        yield
    except InvalidInputError as error:
        raise FileFormatError(path, line, str(error)) from None


@dataclass
class RowTable:
    """Rows in the order of their file; a part is some rows.

    Parameters
    ----------
    features : RowFile or list of ndarray
        The features of each part: in a temporary file, or in memory.
    names : list of str
        Query id of each group of adjacent rows.
    lengths : list of int
        Number of rows of each group.
    docs : list of ndarray of bytes
        Document ids of each part.
    numbers : dict of str to list of ndarray
        Values of other columns by name, float64, of each part.
    width : int
        Most features of a part.
    listed, listed_zeros : int
        Number of values that the rows list, and of those that are 0, in text.
    words : list of str
        First word of the rows' comments, in text.

    """

    features: RowFile | list[NDArray[np.float32]]
    names: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    docs: list[NDArray[np.bytes_]] = field(default_factory=list)
    numbers: dict[str, list[Floats]] = field(default_factory=dict)
    width: int = 0
    listed: int = 0
    listed_zeros: int = 0
    words: list[str] = field(default_factory=list)

    @classmethod
    def new(cls, mapped: bool, what: str) -> RowTable:
        """Return a table without rows; `what` is what an error says is too large for the disk."""
        return cls(RowFile(what) if mapped else [])

    def append(self, queries: list[str], docs: list[str], numbers: dict[str, Floats], X: NDArray[np.float32]) -> None:
        """Append a part: query and document id of each row, values of other columns, features."""
        groups = np.flatnonzero([True, *(a != b for a, b in zip(queries[1:], queries[:-1], strict=True))])
        for first, length in zip(groups.tolist(), np.diff(groups, append=len(queries)).tolist(), strict=True):
            if length and self.names and self.names[-1] == queries[first]:
                self.lengths[-1] += length
            elif length:
                self.names.append(queries[first])
                self.lengths.append(length)
        self.docs.append(id_bytes(id_array(docs)))
        for name, values in numbers.items():
            self.numbers.setdefault(name, []).append(values)
        self.features.append(X)
        self.width = max(self.width, X.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.lengths)

    def queries(self) -> tuple[Ids, Ints, Ints | None]:
        """Return the query ids by first appearance, each row's query, and the order by query, None if they are so."""
        names, query, order = numbered(self.names, np.array(self.lengths, dtype=np.int64))
        return id_array(names), query, order

    def doc_ids(self) -> NDArray[np.bytes_]:
        """Return the document id of each row, as UTF-8 bytes."""
        return np.concatenate(self.docs) if self.docs else np.empty(0, "S8")

    def column(self, name: str) -> Floats:
        """Return the values of another column."""
        return np.concatenate([np.empty(0), *self.numbers.get(name, [])])

    def matrix(self, n_columns: int, order: Ints | None) -> NDArray[np.float32]:
        """Return the features in an order (None: that of the file), with zeros in columns that a part does not have."""
        X = stacked_rows(self.features, n_columns)
        return X if order is None else _in_order(X, order)


def _in_order(X: NDArray[np.float32], order: Ints) -> NDArray[np.float32]:
    """Return the rows of X in another order; those of a mapped X are in a temporary file."""
    if not is_mapped(X):
        return X[order]
    out = RowFile("features")
    for first in range(0, len(order), ROWS_AT_ONCE):
        out.append(np.array(X[order[first : first + ROWS_AT_ONCE]]))
        release(X)
    return out.finish(X.shape[1])


def query_ptr(query: Ints, n_queries: int) -> Ints:
    """Return the pointers of rows that are grouped by these query numbers."""
    return pointers(np.bincount(query, minlength=n_queries))


def stacked_rows(blocks: RowFile | list[NDArray[np.float32]], n_columns: int) -> NDArray[np.float32]:
    """Return the rows of all blocks, which are taken out of a list, with zeros in columns that a block lacks."""
    if isinstance(blocks, RowFile):
        return blocks.finish(n_columns)
    n_rows = sum(map(len, blocks))
    if 4 * n_rows * n_columns > memory_limit():
        raise InvalidInputError(
            f"data: expected features that fit into memory, got {n_rows:,} rows of {n_columns:,} features "
            f"({4 * n_rows * n_columns:,} bytes). Number the features that are used 1, 2, 3, or read with mapped=True."
        )
    X = np.zeros((n_rows, n_columns), dtype=np.float32)
    first = 0
    while blocks:
        block = blocks.pop(0)
        X[first : first + len(block), : block.shape[1]] = block
        first += len(block)
    return X


def data_files(path: str | Path | Sequence[str | Path], endings: tuple[str, ...]) -> list[Path]:
    """Return the files that hold the data."""
    paths = [path] if isinstance(path, str | Path) else list(path)
    files = [file for one in paths for file in _files_of(Path(one), endings)]
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise FileFormatError(file, None, "expected each file of data once, got it twice. Name it once.")
        seen.add(file.resolve())
    return files


def _files_of(path: Path, endings: tuple[str, ...]) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = [file for file in path.iterdir() if file.name.endswith(endings) and file.name[0] not in "._"]
    if not files:
        raise FileFormatError(
            path, None, f"expected a folder of data files ({', '.join(endings)}), got none in it. Name another folder."
        )
    return sorted(files, key=lambda file: file.name)


def joined(files: Sequence[Path], parts: Iterable[RankingData], mapped: bool) -> RankingData:
    """Return the rows of all parts as one record."""
    rows: RowFile | list[NDArray[np.float32]] = RowFile("the features of all files") if mapped else []
    read: list[RankingData] = []  # without features
    file_of_query: dict[str, Path] = {}
    for file, part in zip(files, parts, strict=True):
        _check_same(file, part, files[0], read[0] if read else part)
        for query_id in part:
            first = file_of_query.setdefault(query_id, file)
            if first != file:
                raise FileFormatError(
                    file,
                    None,
                    f"expected queries that no other file has, got {shown(query_id)}, which {first} has too. "
                    "Put the rows of a query into one file.",
                )
        for _, block in row_blocks(part.X):
            rows.append(block)
        read.append(replace(part, X=np.broadcast_to(np.float32(0), part.X.shape)))
    return joined_parts(read, rows)


def joined_parts(parts: Sequence[RankingData], rows: RowFile | list[NDArray[np.float32]] | None = None) -> RankingData:
    """Return the queries of all parts as one record; `rows` holds the features where the parts do not."""
    first = parts[0]
    names = max((part.feature_names for part in parts), key=len)
    labels = None if first.labels is None else _concatenated([part.labels for part in parts])
    bases = None if first.base_scores is None else _concatenated([part.base_scores for part in parts])
    has_ideal = any(part.ideal_labels is not None for part in parts)
    ideal = [_ideal(part) for part in parts] if has_ideal else []
    return RankingData(
        query_ids=np.concatenate([part.query_ids for part in parts]),
        query_ptr=pointers(np.concatenate([np.diff(part.query_ptr) for part in parts])),
        doc_ids=np.concatenate([part.stored_ids for part in _alike(parts)]),
        X=stacked_rows([part.X for part in parts] if rows is None else rows, len(names)),
        feature_names=names,
        labels=labels,
        base_scores=bases,
        ideal_labels=np.concatenate([labels for labels, _ in ideal]) if has_ideal else None,
        ideal_ptr=pointers(np.concatenate([np.diff(ptr) for _, ptr in ideal])) if has_ideal else None,
        zeros=_zeros(parts),
        **_weights(parts),
        **{name: getattr(first, name) for name in SHARED},
    )


def _zeros(parts: Sequence[RankingData]) -> str | None:
    """Return what a 0 of all parts is; parts with fewer features than others do not list the rest."""
    kinds = {part.zeros for part in parts}
    widths = {part.n_features for part in parts}
    return kinds.pop() if len(kinds) == 1 and (len(widths) == 1 or kinds != {LISTED}) else BOTH


def _weights(parts: Sequence[RankingData]) -> dict[str, Any]:
    """Return the weights of all parts as members: of rows where a part has them, else of queries."""
    if any(part.row_weights is not None for part in parts):
        of_rows = [weights_of_rows(part) for part in parts]
        weights = [np.ones(part.n_rows) if own is None else own for part, own in zip(parts, of_rows, strict=True)]
        return {"row_weights": np.concatenate(weights)}
    if all(part.weights is None for part in parts):
        return {}
    weights = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
    return {"weights": np.concatenate(weights)}


def _ideal(part: RankingData) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the ideal labels of a part and their pointers; none where it is not labelled."""
    if part.ideal_labels is None and part.labels is None:
        return np.empty(0), np.zeros(len(part) + 1, dtype=np.int64)
    return part.ideal()


def _alike(parts: Sequence[RankingData]) -> Sequence[RankingData]:
    """Return the parts with document ids that are all text, unless all are bytes."""
    if len({part.stored_ids.dtype.kind for part in parts}) > 1:
        for part in parts:
            part.doc_ids  # noqa: B018 (decodes the stored ids)
    return parts


def _concatenated(columns: Sequence[NDArray[Any] | None]) -> NDArray[np.float64]:
    return np.concatenate([column for column in columns if column is not None])


def _check_same(file: Path, part: RankingData, first_file: Path, first: RankingData) -> None:
    """Refuse a part that does not belong to the first one."""
    if part.feature_names != first.feature_names and not (_numbered(part) and _numbered(first)):
        one = part.feature_names
        other = first.feature_names
        missing = next((name for name in other if name not in one), None)
        got = f"none named {shown(missing)}" if missing is not None else f"{len(one)} features, of {len(other)} there"
        got = "the same in another order" if sorted(one) == sorted(other) else got
        raise FileFormatError(
            file, None, f"expected the features of {first_file}, got {got}. Make all files with one recipe."
        )
    for name, what in (("labels", "labels"), ("base_scores", "base scores")):
        if (getattr(part, name) is None) != (getattr(first, name) is None):
            has = "none" if getattr(part, name) is None else "some"
            raise FileFormatError(
                file, None, f"expected {what} as in {first_file}, got {has}. Make all files in one way."
            )
    for name in SHARED:
        if getattr(part, name) != getattr(first, name):
            raise FileFormatError(
                file,
                None,
                f"expected the {name.replace('_', ' ')} of {first_file}, got another. Make all files on one index.",
            )


def _numbered(data: RankingData) -> bool:
    return data.feature_names == tuple(str(number) for number in range(1, data.n_features + 1))
