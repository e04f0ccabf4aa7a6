"""Folds of queries: lines of `qid<TAB>fold`, plain or gzip; blank lines are skipped.

Folds are whole numbers. They are renumbered from 0 in their order, so that 1 to 5 become 0 to 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.source import check_file, text_lines
from rerank.runtime.output import whole_file
from rerank.types.ids import QUERY_RULE, WHITE_SPACE, first_broken_query

MOST_DIGITS = 18  # of the number of a fold


def read_folds(path: str | Path) -> dict[str, int]:
    """Read the folds of queries."""
    path = check_file(path, "a file of folds")
    folds: dict[str, int] = {}
    for line, content in text_lines(path):
        if not content.strip():
            continue
        query_id, fold = _entry(path, line, content)
        if query_id in folds:
            raise FileFormatError(
                path, line, f"expected each query in one fold, got {shown(query_id)} again. Remove one of the two."
            )
        folds[query_id] = fold
    if not folds:
        raise FileFormatError(path, None, "expected lines of query id, tab, fold, got none. Name a file with rows.")
    numbers = {fold: number for number, fold in enumerate(sorted(set(folds.values())))}
    return {query_id: numbers[fold] for query_id, fold in folds.items()}


def write_folds(folds: Mapping[str, int], path: str | Path) -> None:
    """Write the fold of each query; raise InvalidInputError for an id or a fold that could not be read again."""
    broken = first_broken_query(list(folds))
    if broken is not None:
        raise InvalidInputError(f"folds: expected query ids {QUERY_RULE}, got {shown(broken)}. Rename it.")
    negative = next((fold for fold in folds.values() if fold < 0), None)
    if negative is not None:
        raise InvalidInputError(f"folds: expected whole numbers from 0, got {negative}. Number the folds 0, 1, 2.")
    with whole_file(path) as file:
        file.writelines(f"{query_id}\t{fold}\n" for query_id, fold in folds.items())


def _entry(path: Path, line: int, content: str) -> tuple[str, int]:
    columns = [column.strip(WHITE_SPACE) for column in content.split("\t")]
    if len(columns) != 2 or not columns[0]:
        raise FileFormatError(
            path, line, f"expected 2 columns with a tab (query id, fold), got {shown(content)}. Correct the line."
        )
    broken = first_broken_query(columns[:1])
    if broken is not None:
        raise FileFormatError(path, line, f"expected a query id {QUERY_RULE}, got {shown(broken)}. Rename it.")
    if not (columns[1].isascii() and columns[1].isdigit() and len(columns[1]) <= MOST_DIGITS):
        raise FileFormatError(
            path, line, f"expected a whole number as fold, got {shown(columns[1])}. Number the folds 0, 1, 2."
        )
    return columns[0], int(columns[1])
