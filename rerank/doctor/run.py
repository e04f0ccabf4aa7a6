"""Checks of runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rerank.doctor.findings import Finding, at, check
from rerank.doctor.reading import Documents, RunRows
from rerank.doctor.repeats import returning_documents, returning_queries
from rerank.types import Floats, Ints


@check("run")
def query_returns(run: RunRows) -> Iterator[Finding]:
    """Queries whose rows are not contiguous."""
    effect = "rerank and trec_eval join its rows; a tool that reads query by query keeps one part"
    yield from returning_queries(run, "note", effect)


@check("run")
def document_returns(run: RunRows) -> Iterator[Finding]:
    """Documents that occur twice in a query."""
    yield from returning_documents(run)


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

    def describe(row: int) -> str:
        return f"all documents of query {rows.name(row)} have one {what}"

    yield from at(rows, "warning", tied, describe, effect)


@check("run")
def ranks_contradict_scores(run: RunRows) -> Iterator[Finding]:
    """Documents whose score is above that of the document ranked before."""
    before, after = _by_rank(run)
    scores = _as_trec_eval(run)
    risen = after[scores[after] > scores[before]]

    def describe(row: int) -> str:
        document = f"document {run.doc(row)} of query {run.name(row)}"
        return f"{document} has rank {run.ranks[row]:.15g} and a score above that of the rank before"

    effect = "rerank and trec_eval order by score and ignore ranks: figures are not those of the ranks"
    yield from at(run, "warning", risen, describe, effect)


@check("run")
def ties_contradict_ranks(run: RunRows) -> Iterator[Finding]:
    """Documents with tied scores whose ranks are not in trec_eval's order."""
    before, after = _by_rank(run)
    scores = _as_trec_eval(run)
    tied = scores[after] == scores[before]
    before, after = before[tied], after[tied]

    def describe(row: int) -> str:
        return f"document {run.doc(row)} of query {run.name(row)} has the score of the rank before and the larger id"

    effect = "rerank and trec_eval put the larger id first where scores tie: figures differ from those of the ranks"
    yield from at(run, "note", after[run.doc_ids[after] > run.doc_ids[before]], describe, effect)


def _as_trec_eval(run: RunRows) -> NDArray[np.float32]:
    """Return the scores as trec_eval compares them."""
    with np.errstate(over="ignore"):
        return run.scores.astype(np.float32)


def _by_rank(run: RunRows) -> tuple[Ints, Ints]:
    """Return pairs of rows with finite scores at consecutive ranks of a query."""
    order = np.lexsort((run.ranks, run.query))
    order = order[np.isfinite(run.scores[order])]
    before, after = order[:-1], order[1:]
    follows: NDArray[np.bool_] = (run.query[after] == run.query[before]) & (run.ranks[after] > run.ranks[before])
    return before[follows], after[follows]


@check("run")
def several_names(run: RunRows) -> Iterator[Finding]:
    """Rows of several runs in one file."""
    if len(run.tags) > 1:
        names = ", ".join(run.tags[:4]) + (", ..." if len(run.tags) > 4 else "")
        effect = "rerank reads one run and names it by its first row; rows of several runs are mixed"
        yield Finding("warning", run.path, (), 1, f"{len(run.tags)} run names: {names}", effect)
