"""Rows of ranking data: grouping by query, tables that readers collect part by part, and data in several files.

Several files are joined in their order. All must have the same recipe, index and features (unnamed features may differ
in number: missing ones are 0), and labels and base scores must be in all files or in none. All rows of a query must be
in one file.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.line_records import refuse_repeats
from rerank.files.source import checked_path
from rerank.runtime.fields import Array, Choice, Field, Flag, Names, Plain, Record, Table, Whole, first_repeated
from rerank.runtime.mapped_rows import RowFile, is_mapped, release, row_blocks
from rerank.runtime.memory import memory_limit
from rerank.types import Floats, Ints, RankingData, id_array, id_bytes, numbered_names, pointers
from rerank.types.data_frames import LABEL
from rerank.types.ranking_data import (
    BOTH,
    LISTED,
    UNLISTED,
    grouped_members,
    warn_of_places,
    weight_members,
    weights_of_rows,
)
from rerank.types.retriever import RETRIEVERS

# What files store besides rows, and its defaults. Files that are joined must agree on SHARED.
SHARED: dict[str, Field] = {"recipe": Plain(), "fingerprint": Plain(), **RETRIEVERS, "first_number": Whole(0, 1)}
STORED: dict[str, Field] = {**SHARED, "zeros": Choice(lambda: (LISTED, UNLISTED, BOTH))}
NOT_STORED: dict[str, Any] = {
    "recipe": None,
    "fingerprint": None,
    "retriever": None,
    "run_retrievers": {},
    "first_number": 1,
    "zeros": None,
}
VERSION = 1
NOTHING: dict[str, Any] = {"labels": True, "features": (), "ideal_labels": None, **NOT_STORED}
# What text and Parquet store besides rows. `labels` is false if there are no judgements, `features` are the names of
# the columns that recipe and fingerprint describe, `ideal_labels` the positive labels of each query, best first.
ABOUT = Record(
    {
        "version": Whole(VERSION, VERSION),
        "labels": Flag(),
        "features": Names(),
        "ideal_labels": Table(Array()),
        **STORED,
    },
    NOTHING,
)
ROWS_AT_ONCE = 1 << 14  # rows of a mapped file that are reordered together


@dataclass
class RowTable:
    """Rows in the order of their file, collected in parts of several rows.

    Parameters
    ----------
    features : RowFile or list of ndarray
        The features of each part: in a temporary file, or in memory.
    names : dict of str to int
        The number of each query, by its id.
    query : list of ndarray of int64
        Number of each row's query, of each part.
    docs : list of ndarray of bytes
        Document ids of each part.
    numbers : dict of str to list of ndarray
        Values of other columns by name, float64, of each part.
    width : int
        Greatest number of features of a part.

    """

    features: RowFile | list[NDArray[np.float32]]
    names: dict[str, int] = field(default_factory=dict)
    query: list[Ints] = field(default_factory=list)
    docs: list[NDArray[np.bytes_]] = field(default_factory=list)
    numbers: dict[str, list[Floats]] = field(default_factory=dict)
    width: int = 0

    def append(self, queries: list[str], docs: list[str], numbers: dict[str, Floats], X: NDArray[np.float32]) -> None:
        """Append a part: query and document id of each row, values of other columns, features."""
        names = self.names
        self.query.append(np.array([names.setdefault(name, len(names)) for name in queries], dtype=np.int64))
        self.docs.append(id_bytes(id_array(docs)))
        for name, values in numbers.items():
            self.numbers.setdefault(name, []).append(values)
        self.features.append(X)
        self.width = max(self.width, X.shape[1])

    def column(self, name: str) -> Floats:
        """Return the values of a column of `numbers`, (n_rows,) float64."""
        return np.concatenate(self.numbers[name])

    def query_of_rows(self) -> Ints:
        """Return the number of each row's query."""
        return np.concatenate(self.query)

    def record(
        self,
        path: Path,
        feature_names: tuple[str, ...],
        about: Mapping[str, Any],
        docs: NDArray[Any],
        lines: Ints | None = None,
    ) -> RankingData:
        """Return the data, grouped by query.

        about  what the file stores besides rows, as `ABOUT` reads it
        docs   document id of each row
        lines  line of each row, for errors
        """
        names = list(self.names)
        query = self.query_of_rows()
        refuse_repeats(path, names, query, docs, lines)
        columns = {name: self.column(name) for name in self.numbers if name != LABEL or about["labels"]}
        members, order = grouped_members(id_array(names), query, docs, columns, about["ideal_labels"])
        warn_of_places(str(path), query, len(names))
        X = stacked_rows(self.features, len(feature_names))
        X = X if order is None else _in_order(X, order)
        data = RankingData(X=X, feature_names=feature_names, **members, **{name: about[name] for name in STORED})
        data.check_values()
        return data


def _in_order(X: NDArray[np.float32], order: Ints) -> NDArray[np.float32]:
    """Return the rows of X in another order; for a mapped X, in a temporary file."""
    if not is_mapped(X):
        return X[order]
    out = RowFile("features")
    for first in range(0, len(order), ROWS_AT_ONCE):
        out.append(np.array(X[order[first : first + ROWS_AT_ONCE]]))
        release(X)
    return out.finish(X.shape[1])


def stacked_rows(blocks: RowFile | list[NDArray[np.float32]], n_columns: int) -> NDArray[np.float32]:
    """Return the rows of all blocks, with 0 in columns that a block lacks; a list of blocks is emptied."""
    if isinstance(blocks, RowFile):
        return blocks.finish(n_columns)
    n_rows = sum(map(len, blocks))
    if 4 * n_rows * n_columns > memory_limit():
        raise InvalidInputError(
            f"data: expected features that fit into memory, got {n_rows:,} rows of {n_columns:,} features "
            f"({4 * n_rows * n_columns:,} bytes). Number the used features 1, 2, 3 and so on, or read with mapped=True."
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
    paths = path if isinstance(path, list | tuple) else [path]
    files = [file for one in paths for file in _files_of(checked_path(one), endings)]
    repeated = first_repeated(file.resolve() for file in files)
    if repeated is not None:
        raise FileFormatError(files[repeated], None, "expected each file of data once, got it twice. Name it once.")
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


def joined_files(files: Sequence[Path], parts: Iterable[RankingData], mapped: bool) -> RankingData:
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
    query_ptr = pointers(np.concatenate([np.diff(part.query_ptr) for part in parts]))
    doc_ids = [part.stored_ids for part in parts]
    if len({ids.dtype.kind for ids in doc_ids}) > 1:
        doc_ids = [part.doc_ids for part in parts]
    weights = [weights_of_rows(part) for part in parts]
    has_weights = any(own is not None for own in weights)
    of_rows = [np.ones(part.n_rows) if own is None else own for part, own in zip(parts, weights, strict=True)]
    has_ideal = any(part.ideal_labels is not None for part in parts)
    ideal = [_ideal(part) for part in parts] if has_ideal else []
    return RankingData(
        query_ids=np.concatenate([part.query_ids for part in parts]),
        query_ptr=query_ptr,
        doc_ids=np.concatenate(doc_ids),
        X=stacked_rows([part.X for part in parts] if rows is None else rows, len(names)),
        feature_names=names,
        labels=_concatenated([part.labels for part in parts]),
        base_scores=_concatenated([part.base_scores for part in parts]),
        ideal_labels=np.concatenate([labels for labels, _ in ideal]) if has_ideal else None,
        ideal_ptr=pointers(np.concatenate([np.diff(ptr) for _, ptr in ideal])) if has_ideal else None,
        zeros=_zeros(parts),
        **weight_members(np.concatenate(of_rows) if has_weights else None, query_ptr),
        **{name: getattr(first, name) for name in SHARED},
    )


def _zeros(parts: Sequence[RankingData]) -> str | None:
    """Return the `zeros` of the joined data: that of all parts, or BOTH if they differ.

    Parts with fewer features than others do not list the rest, and hence are not all LISTED.
    """
    kinds = {part.zeros for part in parts}
    widths = {part.n_features for part in parts}
    return kinds.pop() if len(kinds) == 1 and (len(widths) == 1 or kinds != {LISTED}) else BOTH


def _ideal(part: RankingData) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the ideal labels of a part and their pointers; for a part without labels, each query has none."""
    if part.ideal_labels is None and part.labels is None:
        return np.empty(0), np.zeros(len(part) + 1, dtype=np.int64)
    return part.ideal()


def _concatenated(columns: Sequence[NDArray[Any] | None]) -> NDArray[np.float64] | None:
    """Return the values of all parts, (n_rows,); None if the first part, and hence each, has none."""
    return None if columns[0] is None else np.concatenate([column for column in columns if column is not None])


def _check_same(file: Path, part: RankingData, first_file: Path, first: RankingData) -> None:
    """Refuse a part that cannot be joined with the first one."""
    differences = {name: "others" for name in SHARED if getattr(part, name) != getattr(first, name)}
    for name in ("labels", "base_scores"):
        if (getattr(part, name) is None) != (getattr(first, name) is None):
            differences[name] = "none" if getattr(part, name) is None else "some"
    named = any(data.feature_names != numbered_names(data.n_features) for data in (part, first))
    if named and part.feature_names != first.feature_names:
        missing = [name for name in first.feature_names if name not in part.feature_names]
        differences["features"] = f"none named {shown(missing[0])}" if missing else "more, or another order"
    for name, got in differences.items():
        raise FileFormatError(
            file,
            None,
            f"expected the {name.replace('_', ' ')} of {first_file}, got {got}. Make all files in the same way.",
        )
