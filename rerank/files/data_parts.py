"""Ranking data in several files: a list of files, or the data files of a folder, by name.

The rows are those of the files in their order. All files have the same features (if these have no names, their number
may differ: missing ones are 0), the same recipe and index, and labels and base scores in all or none. The rows of a
query are in one file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, shown
from rerank.files.row_table import stacked_rows
from rerank.runtime.mapped_rows import RowFile, row_blocks
from rerank.types import RankingData, pointers

SAME = ("recipe", "fingerprint", "retriever", "run_retrievers")


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
    names = max((part.feature_names for part in read), key=len)
    return _joined(read, names, rows)


def _joined(parts: list[RankingData], names: tuple[str, ...], rows: RowFile | list[NDArray[np.float32]]) -> RankingData:
    first = parts[0]
    labels = None if first.labels is None else _concatenated([part.labels for part in parts])
    bases = None if first.base_scores is None else _concatenated([part.base_scores for part in parts])
    weights = [np.ones(len(part)) if part.weights is None else part.weights for part in parts]
    has_ideal = any(part.ideal_labels is not None for part in parts)
    ideal = [_ideal(part) for part in parts] if has_ideal else []
    return RankingData(
        query_ids=np.concatenate([part.query_ids for part in parts]),
        query_ptr=pointers(np.concatenate([np.diff(part.query_ptr) for part in parts])),
        doc_ids=np.concatenate([part.stored_ids for part in _alike(parts)]),
        X=stacked_rows(rows, len(names)),
        feature_names=names,
        labels=labels,
        base_scores=bases,
        weights=np.concatenate(weights) if any(part.weights is not None for part in parts) else None,
        ideal_labels=np.concatenate([labels for labels, _ in ideal]) if has_ideal else None,
        ideal_ptr=pointers(np.concatenate([np.diff(ptr) for _, ptr in ideal])) if has_ideal else None,
        **{name: getattr(first, name) for name in SAME},
    )


def _ideal(part: RankingData) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the ideal labels of a part and their pointers; none where it is not labelled."""
    if part.ideal_labels is None and part.labels is None:
        return np.empty(0), np.zeros(len(part) + 1, dtype=np.int64)
    return part.ideal()


def _alike(parts: list[RankingData]) -> list[RankingData]:
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
        one, other = part.feature_names, first.feature_names
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
    for name in SAME:
        if getattr(part, name) != getattr(first, name):
            raise FileFormatError(
                file,
                None,
                f"expected the {name.replace('_', ' ')} of {first_file}, got another. Make all files on one index.",
            )


def _numbered(data: RankingData) -> bool:
    return data.feature_names == tuple(str(number) for number in range(1, data.n_features + 1))
