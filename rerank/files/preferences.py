"""Preference pairs: which of two documents is better for a query, from judgements or clicks. Plain or gzip.

    qid<TAB>better docid<TAB>worse docid[<TAB>probability]

The probability that the first document is better is a number from 0 to 1, by default 1; at 0.5 neither is better. Pairs
may contradict each other and may be repeated: each counts. Blank lines and lines that begin with `#` are skipped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rerank.errors import FileFormatError, shown
from rerank.files.source import check_file, finite_number, refuse_header, text_lines
from rerank.types.ids import QUERY_RULE, WHITE_SPACE, first_broken, first_broken_query, id_array
from rerank.types.preferences import Preferences

COLUMNS = "(qid, better docid, worse docid[, probability])"


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
    lines = [(line, text) for line, text in text_lines(path) if text.strip() and not text.startswith("#")]
    if lines:
        refuse_header(path, *lines[0])
    rows = [_row(path, line, text) for line, text in lines]
    if not rows:
        raise FileFormatError(path, None, f"expected lines of 3 or 4 columns {COLUMNS}, got no line. Name another.")
    queries, better, worse, probabilities = zip(*rows, strict=True)
    return Preferences(id_array(queries), id_array(better), id_array(worse), np.array(probabilities))


def _row(path: Path, line: int, text: str) -> tuple[str, str, str, float]:
    columns = [column.strip(WHITE_SPACE) for column in text.split("\t")]
    if len(columns) not in (3, 4):
        raise FileFormatError(
            path, line, f"expected 3 or 4 columns with tabs {COLUMNS}, got {len(columns)}. Put one tab between two."
        )
    broken = first_broken(columns[:3])
    if broken is not None:
        raise FileFormatError(path, line, f"expected ids without white space, got {shown(broken)}. Correct the id.")
    if first_broken_query(columns[:1]) is not None:
        raise FileFormatError(path, line, f"expected a query id {QUERY_RULE}, got {shown(columns[0])}. Rename it.")
    query_id, better, worse = columns[:3]
    if better == worse:
        raise FileFormatError(path, line, f"expected two documents, got {shown(better)} twice. Drop the line.")
    probability = finite_number(columns[3].encode()) if len(columns) == 4 else 1.0
    if probability is None or not 0.0 <= probability <= 1.0:
        raise FileFormatError(
            path, line, f"expected a probability from 0 to 1, got {shown(columns[3])}. Correct or drop it."
        )
    return query_id, better, worse, probability
