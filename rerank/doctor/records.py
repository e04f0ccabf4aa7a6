"""Checks of judgements, runs and topics; the reader reports errors within a topics file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rerank.doctor.findings import Finding, at, check, missing_queries
from rerank.doctor.reading import Documents, QrelsRows, Rows, RunRows
from rerank.files.rows import repeated_rows
from rerank.types import Floats, Ints


def returning_queries(rows: Documents, severity: str, effect: str) -> Iterator[Finding]:
    """Yield a finding about queries whose rows are not contiguous."""
    starts = np.flatnonzero(np.diff(rows.query, prepend=-1))
    _, first = np.unique(rows.query[starts], return_index=True)
    again = np.delete(starts, first)
    yield from at(
        rows, severity, again, lambda row: f"query {rows.name(row)} returns after rows of other queries", effect
    )


@check("run")
@check("data")
def document_returns(rows: Documents) -> Iterator[Finding]:
    """Documents that occur twice in a query."""
    again, first = repeated_rows(rows.query, rows.doc_ids)
    before = dict(zip(again.tolist(), first.tolist(), strict=True))

    def describe(row: int) -> str:
        location = "" if rows.lines is None else f", first on line {rows.lines[before[row]]}"
        return f"document {rows.doc(row)} returns in query {rows.name(row)}{location}"

    effect = "rerank refuses the file; where it is accepted, the document counts twice"
    yield from at(rows, "error", again, describe, effect)


HIGHEST = 10  # grades of test collections end at 4, those of a few at 10


@check("qrels")
def judged_again(qrels: QrelsRows) -> Iterator[Finding]:
    """Documents judged twice in a query, with the same or another label."""
    again, first = repeated_rows(qrels.query, qrels.doc_ids)
    before = dict(zip(again.tolist(), first.tolist(), strict=True))
    conflict = qrels.labels[again] != qrels.labels[first]

    def describe(row: int) -> str:
        labels = f"{qrels.labels[before[row]]}, then {qrels.labels[row]}"
        how = (
            f"with another label ({labels})"
            if qrels.labels[row] != qrels.labels[before[row]]
            else "with the same label"
        )
        return f"document {qrels.doc(row)} of query {qrels.name(row)} is judged again, {how}"

    effect = "rerank refuses the file; elsewhere the order of the lines decides which label counts"
    yield from at(qrels, "error", again[conflict], describe, effect)
    yield from at(qrels, "error", again[~conflict], describe, "rerank refuses the file; drop the second line")


@check("qrels")
def nothing_relevant(qrels: QrelsRows) -> Iterator[Finding]:
    """Queries without a positive label."""
    highest = np.full(len(qrels.names), np.iinfo(np.int64).min)
    np.maximum.at(highest, qrels.query, qrels.labels)
    rows = qrels.first_rows(np.flatnonzero(highest <= 0))
    effect = "each run has 0 there in nDCG, AP, RR, P and R: it lowers all means equally"
    message = "query {} has no document with a label above 0"
    yield from at(qrels, "warning", rows, lambda row: message.format(qrels.name(row)), effect)


@check("qrels")
def labels_out_of_range(qrels: QrelsRows) -> Iterator[Finding]:
    """Labels that are negative, or larger than any grade in use."""

    def describe(row: int) -> str:
        return f"label {qrels.labels[row]} for document {qrels.doc(row)} of query {qrels.name(row)}"

    effect = "it is not relevant; bpref, infAP and --judged-only take it as not judged"
    yield from at(qrels, "note", np.flatnonzero(qrels.labels < 0), describe, effect)
    effect = "the document outweighs all others in nDCG; a number of another column?"
    yield from at(qrels, "warning", np.flatnonzero(qrels.labels > HIGHEST), describe, effect)


@check("run")
@check("qrels")
def query_returns(rows: Documents) -> Iterator[Finding]:
    """Queries whose rows are not contiguous."""
    effect = "rerank and trec_eval join its rows; a tool that reads query by query keeps one part"
    yield from returning_queries(rows, "note", effect)


@check("run")
def scores_not_finite(run: RunRows) -> Iterator[Finding]:
    """Scores that are NaN or infinite."""
    rows = np.flatnonzero(~np.isfinite(run.scores))
    share = f"{len(rows) / len(run.scores):.2%} of the scores are NaN or infinite"
    effect = "rerank refuses the file; in other tools the rank of these documents is undefined"
    yield from at(run, "error", rows, share, effect)


@check("run")
def scores_tied(run: RunRows) -> Iterator[Finding]:
    """Queries whose documents all have the same score."""
    yield from tied_queries(run, run.scores, "score", "rerank and trec_eval order them by document id, not by a ranker")


def tied_queries(rows: Documents, scores: Floats, what: str, effect: str) -> Iterator[Finding]:
    """Yield a finding about queries of two or more documents whose scores (n_rows,) are all equal."""
    order, query_ptr = rows.by_query
    scores, first = scores[order], query_ptr[:-1]
    equal = np.minimum.reduceat(scores, first) == np.maximum.reduceat(scores, first)
    tied = rows.first_rows(np.flatnonzero(equal & (np.diff(query_ptr) > 1)))
    yield from at(rows, "warning", tied, lambda row: f"all documents of query {rows.name(row)} have one {what}", effect)


@check("run")
def ranks_contradict_scores(run: RunRows) -> Iterator[Finding]:
    """Documents whose score is above that of the document ranked before."""
    before, after, scores = _by_rank(run)
    risen = after[scores[after] > scores[before]]

    def describe(row: int) -> str:
        document = f"document {run.doc(row)} of query {run.name(row)}"
        return f"{document} has rank {run.ranks[row]:.15g} and a score above that of the rank before"

    effect = "rerank and trec_eval order by score and ignore ranks: figures are not those of the ranks"
    yield from at(run, "warning", risen, describe, effect)


@check("run")
def ties_contradict_ranks(run: RunRows) -> Iterator[Finding]:
    """Documents with tied scores whose ranks are not in trec_eval's order."""
    before, after, scores = _by_rank(run)
    tied = scores[after] == scores[before]
    before, after = before[tied], after[tied]

    def describe(row: int) -> str:
        return f"document {run.doc(row)} of query {run.name(row)} has the score of the rank before and the larger id"

    effect = "rerank and trec_eval put the larger id first where scores tie: figures differ from those of the ranks"
    yield from at(run, "note", after[run.doc_ids[after] > run.doc_ids[before]], describe, effect)


def _by_rank(run: RunRows) -> tuple[Ints, Ints, NDArray[np.float32]]:
    """Return pairs of rows with finite scores at consecutive ranks of a query, and the scores as trec_eval has them."""
    with np.errstate(over="ignore"):
        scores = run.scores.astype(np.float32)
    order = np.lexsort((run.ranks, run.query))
    order = order[np.isfinite(run.scores[order])]
    before, after = order[:-1], order[1:]
    follows: NDArray[np.bool_] = (run.query[after] == run.query[before]) & (run.ranks[after] > run.ranks[before])
    return before[follows], after[follows], scores


@check("run")
def several_names(run: RunRows) -> Iterator[Finding]:
    """Rows of several runs in one file."""
    if len(run.tags) > 1:
        names = ", ".join(run.tags[:4]) + (", ..." if len(run.tags) > 4 else "")
        effect = "rerank reads one run and names it by its first row; rows of several runs are mixed"
        yield Finding("warning", run.path, (), 1, f"{len(run.tags)} run names: {names}", effect)


@check("topics", "run")
def topics_and_run(topics: Rows, run: RunRows) -> Iterator[Finding]:
    """Topics that are not in a run, and the reverse."""
    effect = "nothing is retrieved for it: with `evaluate -c` it counts 0, else it does not count"
    yield from missing_queries(topics, run, "warning", "topic", effect)
    effect = "`rerank features` and `rerank rerank` refuse the run: it was made for other topics"
    yield from missing_queries(run, topics, "error", "query", effect)


@check("qrels", "topics")
def qrels_and_topics(qrels: QrelsRows, topics: Rows) -> Iterator[Finding]:
    """Judged queries without a topic."""
    effect = "no run of these topics contains it: with `evaluate -c` it counts 0, else it does not count"
    yield from missing_queries(qrels, topics, "warning", "judged query", effect)
