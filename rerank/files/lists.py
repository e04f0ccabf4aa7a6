"""Small files of one entry a line, plain or gzip.

In files of folds and preferences, blank lines, comments (`#`) and a first line that names the columns are skipped.

names        the name of a feature; blank lines are skipped at the end of the file, and refused elsewhere
folds        `qid<TAB>fold`: whole numbers, which are renumbered from 0 in their order, so that 1 to 5 become 0 to 4
preferences  `qid<TAB>better docid<TAB>worse docid[<TAB>probability]`: the probability that the first document is
             better, from 0 to 1 and by default 1; pairs may contradict each other and may be repeated; each line counts
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.line_records import check_ids, finite_number, records, tab_columns, whole_number
from rerank.files.source import LineFault, check_file, text_lines, value_of
from rerank.runtime.output import whole_file, write_text
from rerank.types import id_array
from rerank.types.data_frames import is_whole
from rerank.types.preferences import Preferences


def read_names(path: str | Path) -> tuple[str, ...]:
    """Return the names of features in a text file, one a line; blank lines at the end are skipped.

    Raises FileFormatError for a blank line before the last name, a repeated name, and a file without names.
    """
    path = check_file(path, "a file of feature names")
    names: dict[str, int] = {}
    content = "\n".join(text.strip() for _, text in text_lines(path)).rstrip("\n")
    for line, name in enumerate(content.split("\n") if content else (), 1):
        if not name:
            raise FileFormatError(path, line, "expected a name, got a blank line. Remove it.")
        if names.setdefault(name, line) != line:
            raise FileFormatError(
                path, line, f"expected each name once, got {name!r} again (line {names[name]}). Rename one."
            )
    if not names:
        raise FileFormatError(path, None, "expected names of features, got none. Write one a line.")
    return tuple(names)


def read_folds(path: str | Path) -> dict[str, int]:
    """Read the folds of queries, for `Study`.

    Parameters
    ----------
    path : str or Path
        A file of lines: query id, tab, number of the fold.

    Returns
    -------
    dict of str to int
        The fold of each query, from 0.

    Raises
    ------
    FileFormatError
        With the line, for a repeated query, or a fold that is not a whole number.

    """
    path = check_file(path, "a file of folds")
    folds: dict[str, int] = {}
    for line, (query_id, fold) in records(path, "query id, tab, fold", _fold):
        if query_id in folds:
            raise FileFormatError(
                path, line, f"expected each query in one fold, got {shown(query_id)} again. Remove one of the two."
            )
        folds[query_id] = fold
    numbers = {fold: number for number, fold in enumerate(sorted(set(folds.values())))}
    return {query_id: numbers[fold] for query_id, fold in folds.items()}


def write_folds(folds: Mapping[str, int], path: str | Path) -> None:
    """Write the fold of each query; raise InvalidInputError for an id or a fold that could not be read again."""
    check_ids("folds: ", folds)
    for fold in folds.values():
        if not is_whole(fold) or fold < 0:
            raise InvalidInputError(
                f"folds: expected whole numbers from 0, got {shown(fold)}. Number the folds 0, 1, 2."
            )
    write_text(path, "".join(f"{query_id}\t{fold}\n" for query_id, fold in folds.items()))


def _fold(content: str) -> tuple[str, int]:
    query_id, fold = tab_columns(content, "2 columns (query id, fold)", 2)
    check_ids("", [query_id])
    return query_id, value_of(whole_number, fold, "a whole number as fold", "Number the folds 0, 1, 2")


def read_preferences(path: str | Path) -> Preferences:
    """Read preference pairs.

    Parameters
    ----------
    path : str or Path
        A file of three or four columns separated by tabs, plain or gzip.

    Returns
    -------
    Preferences
        The pairs in the order of the file.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for another number of columns, an id with white space, a document preferred to itself, a
        probability outside 0 to 1, or a file without pairs.

    """
    path = check_file(path, "a file of preferences")
    columns = "3 or 4 columns (qid, better docid, worse docid[, probability])"
    queries, better, worse, probabilities = zip(*(row for _, row in records(path, columns, _preference)), strict=True)
    return Preferences(id_array(queries), id_array(better), id_array(worse), np.array(probabilities))


def write_preferences(preferences: Preferences, path: str | Path) -> None:
    """Write preference pairs with their probabilities."""
    columns = (preferences.query_ids, preferences.better, preferences.worse, preferences.probabilities)
    check_ids("preferences: ", columns[0].tolist(), np.concatenate(columns[1:3]).tolist())
    with whole_file(path) as file:
        for query_id, better, worse, probability in zip(*(column.tolist() for column in columns), strict=True):
            file.write(f"{query_id}\t{better}\t{worse}\t{probability:.6g}\n")


def _preference(content: str) -> tuple[str, str, str, float]:
    query_id, better, worse, *rest = tab_columns(content, "3 or 4 columns", 3, 4)
    check_ids("", [query_id], [better, worse])
    if better == worse:
        raise LineFault(f"expected two documents, got {shown(better)} twice. Drop the line.")
    probability = finite_number(rest[0].encode()) if rest else 1.0
    if probability is None or not 0.0 <= probability <= 1.0:
        raise LineFault(f"expected a probability from 0 to 1, got {shown(rest[0])}. Correct or drop it.")
    return query_id, better, worse, probability
