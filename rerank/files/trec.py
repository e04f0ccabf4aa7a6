"""Qrels and runs as trec_eval reads them, and qrels of subtopics as ndeval does.

qrels   `qid iter docno label`: labels are whole numbers (also 1.0), which may be negative; iter is ignored. Also BEIR's
        `qid docno label`, and judgement lists, `label qid:Q … # docno …`
run     `qid Q0 docno rank score tag`: rank is ignored, rows are ordered by score, then document id, both descending;
        further columns are ignored, as trec_eval does. Also MS MARCO's `qid docno rank`, with scores of 1 / rank,
        Tevatron's `qid docno score` and ColBERT's `qid docno rank score`, if the first score is not a whole number
subtopics `query subtopic document label`, a line for each judgement

Columns are separated by spaces or tabs. A first line may name them, in any order: `query_id doc_id relevance
iteration` of ir_datasets, `qid docno score rank` of PyTerrier. Blank lines and lines that begin with `#` are skipped.
Ids have 1 to 512 characters, and a query id does not begin with `#`, so that everything that is read can be
written. Rows of a query need not be adjacent. A repeated document in a query is refused. Scores are written as the
shortest text that is read as the same float64.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from rerank.errors import FileFormatError, log
from rerank.files.irds import data_set_name, data_set_qrels, data_set_subtopic_qrels
from rerank.files.line_records import check_ids, finite_number, records
from rerank.files.source import FileLike, LineFault, check_file, checked_path, chunks, filled_lines, of_line, value_of
from rerank.files.text_columns import RUNS, Layout, parse_rank, read_table
from rerank.runtime.output import whole_file
from rerank.types import UNNAMED, Qrels, Run, SubtopicQrels, query_rows, sort_keys, trec_order
from rerank.types.data_frames import RANK, SCORE, first_column

_AROUND = re.compile(rb"^L(?=\d)|(?<=\d)\.0*$")
BEGINNING = 1 << 16  # bytes of a run in which ranks are compared with scores
SUBTOPIC_COLUMNS = "4 columns (query subtopic document label)"


def parse_label(token: bytes) -> int | None:
    """Return a label as an int64: `2`, `2.0` or `L2` (NTCIR); None for a token that is not a whole number."""
    return parse_rank(_AROUND.sub(b"", token))


JUDGEMENT_LIST = re.compile(
    rb"^[ \t]*([^\s#]\S*)[ \t]+qid:(\S+)[^#\n]*#[ \t]*(?:doc(?:id|no|_id)[ \t]*[=:][ \t]*)?(\S+).*$", re.MULTILINE
)
QRELS = Layout(
    "qrels",
    ("qid", "iter", "docno", "label"),
    3,
    np.int64,
    parse_label,
    "a whole number",
    once="; qrels of subtopics are for `rerank evaluate -m alpha_nDCG@10` and the like alone; where the second column "
    "is the document, `awk '{print $1, 0, $2, $4}'`, and of SMART's `awk '{print $1, 0, $2, 1}'`",
    other_values=", multiply all: `awk '{$NF *= 10} 1'`, or number letters: `awk '{$NF = index(\"ICSE\", $NF) - 1} 1'`",
    fewer=(("query-id", "corpus-id", "score"),),
    other=(JUDGEMENT_LIST, rb"\2 0 \3 \1"),
)
RUN = Layout(
    RUNS,
    ("qid", "Q0", "docno", RANK, SCORE, "tag"),
    4,
    np.float64,
    finite_number,
    "a finite number",
    extra=True,
    fewer=(("qid", "docno", RANK), ("qid", "docno", SCORE), ("qid", "docno", RANK, SCORE)),
)


def read_qrels(path: FileLike) -> Qrels:
    """Read judgements.

    Parameters
    ----------
    path : str, Path or file object
        A TREC qrels file, one of BEIR, or rows `label qid:Q # docno`, plain or gzip; or `irds:NAME`, a data set of
        ir_datasets.

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
        A TREC run file, or one of MS MARCO, Tevatron or ColBERT, plain or gzip.

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
    if rows.layout.dtype is np.int64:  # ranks
        first = rows.values.min()
        if first not in (0, 1) or (first == 0 and rows.values[0]):  # PyTerrier counts ranks from 0
            raise FileFormatError(
                path, None, f"expected ranks from 1, got {first}. Correct them, or write scores with a decimal point."
            )
        rows = replace(rows, values=1.0 / (rows.values + (1 - first)))
    if rows.layout.columns[-1] != "tag":
        rows = replace(rows, tag=UNNAMED)
    of_line(path, None, check_ids, "tag: ", (), [rows.tag])
    rising = rows.values[1:] >= rows.values[:-1]
    rising[query_ptr[1:-1] - 1] = True
    if len(rising) > len(query_ptr) and rising.all():
        log.warning(
            "%s: in each query scores rise or stay equal from line to line: the last line is the first result, and of "
            "equal scores that of the greatest id. Negate distances, or write 1 / rank.",
            path,
        )
    elif _contradicts_ranks(path, rows.layout):
        log.warning(
            "%s: ranks and scores contradict each other: documents are ordered by score, as by trec_eval. If the ranks "
            "are right, write 1 / rank as score.",
            path,
        )
    order = trec_order(query_ptr, rows.values, rows.doc_ids)
    moved = np.flatnonzero(order != np.arange(len(order)))  # few in most files; the arrays are this function's own
    for column in (rows.doc_ids, rows.values):
        column[moved] = column[order[moved]]
    return Run(query_ids, query_ptr, rows.doc_ids, rows.values, rows.tag)


def _contradicts_ranks(path: Path, layout: Layout) -> bool:
    """Return whether a line has a greater rank and a greater score than the line before it; reads `BEGINNING` bytes."""
    rank = first_column(layout.columns, RANK)
    if rank is None or rank == layout.value or not path.is_file():  # a pipe is read once
        return False
    beginning = next(chunks(path, BEGINNING), (1, b""))[1]
    lines = (raw.split() for raw in beginning.split(b"\n") if not raw.startswith(b"#"))
    rows = [
        fields
        for fields in lines
        if len(fields) > max(rank, layout.value)
        and parse_rank(fields[rank]) is not None
        and finite_number(fields[layout.value]) is not None  # a header may have a number as the name of the ranks
    ]
    queries = np.array([fields[layout.query] for fields in rows])
    ranks, scores = (np.array([float(fields[at]) for fields in rows]) for at in (rank, layout.value))
    with np.errstate(over="ignore"):  # trec_eval compares float32, too
        scores = scores.astype(np.float32)
    return bool(((queries[1:] == queries[:-1]) & (ranks[1:] > ranks[:-1]) & (scores[1:] > scores[:-1])).any())


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
    run.check_finite()
    with whole_file(path) as handle:
        for query_id in run:
            rows = run.rows(query_id)
            scored = zip(run.doc_ids[rows].tolist(), run.scores[rows].tolist(), strict=True)
            handle.writelines(
                f"{query_id} Q0 {doc_id} {rank} {score!r} {run.name}\n"
                for rank, (doc_id, score) in enumerate(scored, 1)
            )


def read_subtopic_qrels(path: FileLike) -> SubtopicQrels:
    """Read judgements of documents for the subtopics of queries.

    Parameters
    ----------
    path : str, Path or file object
        The file, plain or gzip; or `irds:NAME`, a data set of ir_datasets.

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
        twice for a subtopic, or if no query has two subtopics (as in qrels of documents).

    """
    name = data_set_name(path)
    if name is not None:
        return data_set_subtopic_qrels(name)
    path = check_file(path, "a file of diversity qrels")
    names = next(filled_lines(path, comments="#"), (0, ""))[1].split()
    named = QRELS.of_names(names) if len(names) == 4 else None
    query, doc, value = (0, 2, 3) if named is None else (named.query, named.doc, named.value)
    order = [query, *({0, 1, 2, 3} - {query, doc, value}), doc, value]
    rows = [row for _, row in records(path, SUBTOPIC_COLUMNS, partial(_subtopic_row, order), named is not None)]
    return of_line(path, None, SubtopicQrels.from_rows, *zip(*rows, strict=True))


def _subtopic_row(order: Sequence[int], content: str) -> tuple[str, str, str, int]:
    """Return query, subtopic, document and label of a line; `order` has the number of the column of each."""
    columns = content.split()
    if len(columns) != 4:
        raise LineFault(f"expected {SUBTOPIC_COLUMNS}, got {len(columns)}. Write one judgement a line.")
    query, subtopic, doc, token = (columns[number] for number in order)
    check_ids("", [query], [subtopic, doc])
    return query, subtopic, doc, value_of(parse_label, token.encode(), "a whole number as label", "Correct the label")
