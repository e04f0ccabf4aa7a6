"""Qrels and runs as trec_eval reads them, and qrels of subtopics as ndeval does.

qrels   `qid iter docno label`: labels are whole numbers, which may be negative; iter is ignored. Also BEIR's `qid docno
        label`, whose first line may name the columns
run     `qid Q0 docno rank score tag`: rank is ignored, rows are ordered by score, then document id, both descending;
        further columns are ignored, as trec_eval does. Also MS MARCO's `qid docno rank`, with scores of 1 / rank
subtopics `query subtopic document label`, a line for each judgement

Columns are separated by spaces or tabs. Blank lines and lines that begin with `#` are skipped. Ids have 1 to 512
characters, and a query id does not begin with `#`, so that everything that is read can be written. Rows of a query need
not be adjacent. A repeated document in a query is refused. Scores are written as the shortest text that is read as the
same float64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.columns import RANK, Layout, read_table
from rerank.files.corpus import data_set_name, data_set_qrels
from rerank.files.source import (
    FileLike,
    LineFault,
    check_file,
    check_ids,
    checked_path,
    finite_number,
    of_line,
    records,
)
from rerank.runtime.output import whole_file
from rerank.types import Qrels, Run, query_rows
from rerank.types.ids import sort_keys, trec_order
from rerank.types.records import SubtopicQrels
from rerank.types.retriever import UNNAMED

INT64 = np.iinfo(np.int64)
SUBTOPIC_COLUMNS = "4 columns (query subtopic document label)"


def parse_label(token: bytes) -> int | None:
    """Return a whole number of 64 bits, or None."""
    try:
        label = int(token)
    except ValueError:
        return None
    return label if INT64.min <= label <= INT64.max and b"_" not in token else None


BEIR_QRELS = Layout("qrels", ("query-id", "corpus-id", "score"), 2, np.int64, parse_label, "a whole number", doc=1)
MSMARCO_RUN = Layout("run", ("qid", "docno", RANK), 2, np.int64, parse_label, "a rank from 1", doc=1)
QRELS = Layout(
    "qrels",
    ("qid", "iter", "docno", "label"),
    3,
    np.int64,
    parse_label,
    "a whole number",
    once="; qrels of subtopics are for `rerank evaluate -m alpha_nDCG@10` and the like alone",
    three=BEIR_QRELS,
)
RUN = Layout(
    "run",
    ("qid", "Q0", "docno", "rank", "score", "tag"),
    4,
    np.float64,
    finite_number,
    "a finite number",
    extra=True,
    three=MSMARCO_RUN,
)


def read_qrels(path: FileLike) -> Qrels:
    """Read judgements.

    Parameters
    ----------
    path : str, Path or file object
        A TREC qrels file or one of BEIR, plain or gzip; or `irds:NAME`, a data set of ir_datasets.

    Returns
    -------
    Qrels
        The judgements, with queries in the order of the file.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a wrong number of columns, a label that is not a whole number, or a repeated document in a
        query.

    """
    name = data_set_name(path)
    if name is not None:
        return data_set_qrels(name)
    query_ids, query_ptr, rows = read_table(path, QRELS)
    order = np.lexsort((*sort_keys(rows.doc_ids), query_rows(query_ptr)))
    return Qrels(query_ids, query_ptr, rows.doc_ids[order], rows.values[order])


def read_run(path: FileLike) -> Run:
    """Read a ranking.

    Parameters
    ----------
    path : str, Path or file object
        A TREC run file or one of MS MARCO, plain or gzip.

    Returns
    -------
    Run
        The ranking, named by the tag of the first row, with queries in the order of the file and rows by score and
        document id, both descending.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a wrong number of columns, a score that is not finite, or a repeated document in a query.

    """
    path = checked_path(path)
    query_ids, query_ptr, rows = read_table(path, RUN)
    if rows.layout is MSMARCO_RUN:
        if rows.values.min() != 1:
            raise FileFormatError(path, None, f"expected ranks from 1, got {rows.values.min()}. Correct the ranks.")
        rows = replace(rows, values=1.0 / rows.values, tag=UNNAMED)
    of_line(path, None, check_ids, "tag: ", (), [rows.tag])
    order = trec_order(query_ptr, rows.values, rows.doc_ids)
    moved = np.flatnonzero(order != np.arange(len(order)))  # of most files few; nothing else uses the columns
    for column in (rows.doc_ids, rows.values):
        column[moved] = column[order[moved]]
    return Run(query_ids, query_ptr, rows.doc_ids, rows.values, rows.tag)


def write_qrels(qrels: Qrels | Mapping[str, Mapping[str, int]], path: str | Path) -> None:
    """Write judgements as TREC qrels.

    Parameters
    ----------
    qrels : Qrels or mapping from str to mapping from str to int
        Labels by query id and document id.
    path : str or Path
        The file; `.gz` compresses, `-` is stdout.

    Raises
    ------
    InvalidInputError
        If an id has white space.

    """
    qrels = Qrels.of(qrels)
    check_ids("qrels: ", qrels, qrels.doc_ids.tolist())
    with whole_file(path) as handle:
        for query_id in qrels:
            handle.writelines(f"{query_id} 0 {doc_id} {label}\n" for doc_id, label in qrels[query_id].items())


def write_run(run: Run | Mapping[str, Mapping[str, float]], path: str | Path) -> None:
    """Write a ranking as a TREC run with ranks from 1 and the tag `run.name`.

    Parameters
    ----------
    run : Run or mapping from str to mapping from str to float
        Scores by query id and document id.
    path : str or Path
        The file; `.gz` compresses, `-` is stdout.

    Raises
    ------
    InvalidInputError
        If an id or the name has white space, or a score is not finite.

    """
    run = Run.of(run)
    check_ids("run: ", run, [run.name, *run.doc_ids.tolist()])
    if not np.isfinite(run.scores).all():
        row = int(np.flatnonzero(~np.isfinite(run.scores))[0])
        raise InvalidInputError(
            f"run: expected finite scores, got {run.scores[row]} for document {str(run.doc_ids[row])!r}. "
            "Drop the row or score it."
        )
    with whole_file(path) as handle:
        for query_id in run:
            rows = run.rows(query_id)
            scored = zip(run.doc_ids[rows].tolist(), run.scores[rows].tolist(), strict=True)
            handle.writelines(
                f"{query_id} Q0 {doc_id} {rank} {score!r} {run.name}\n"
                for rank, (doc_id, score) in enumerate(scored, 1)
            )


def read_subtopic_qrels(path: str | Path) -> SubtopicQrels:
    """Read judgements of documents for the subtopics of queries.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzip.

    Returns
    -------
    SubtopicQrels
        The judgements.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a wrong number of columns or a label that is not a whole number; if a document is judged
        twice for a subtopic, and if no query has two subtopics, as in qrels of documents.

    """
    path = check_file(path, "a file of diversity qrels")
    rows = [row for _, row in records(path, SUBTOPIC_COLUMNS, _subtopic_row)]
    return of_line(path, None, SubtopicQrels.from_rows, *zip(*rows, strict=True))


def _subtopic_row(content: str) -> tuple[str, str, str, int]:
    """Return query, subtopic, document and label of a line."""
    columns = content.split()
    if len(columns) != 4:
        raise LineFault(f"expected {SUBTOPIC_COLUMNS}, got {len(columns)}. Write one judgement a line.")
    query, subtopic, doc, token = columns
    check_ids("", [query], [subtopic, doc])
    label = parse_label(token.encode())
    if label is None:
        raise LineFault(f"expected a whole number as label, got {shown(token)}. Correct the label.")
    return query, subtopic, doc, label
