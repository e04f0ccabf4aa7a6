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
    """Queries whose rows do not stand together."""
    effect = "rerank and trec_eval join its rows; a tool that reads query by query keeps one part"
    yield from returning_queries(run, "note", effect)


@check("run")
def document_returns(run: RunRows) -> Iterator[Finding]:
    """Documents that a query holds twice."""
    yield from returning_documents(run)


@check("run")
def scores_not_finite(run: RunRows) -> Iterator[Finding]:
    """Scores that are NaN or infinite."""
    rows = np.flatnonzero(~np.isfinite(run.scores))
    share = f"{len(rows) / len(run.scores):.2%} of the scores are NaN or infinite"
    effect = "rerank refuses the file; elsewhere the place of these documents is left to chance"
    yield from at(run, "error", rows, share, effect)


@check("run")
def scores_tied(run: RunRows) -> Iterator[Finding]:
    """Queries whose documents all have the same score."""
    yield from tied_queries(run, run.scores, "score", "rerank and trec_eval order them by document id, not by a ranker")


def tied_queries(rows: Documents, scores: Floats, what: str, effect: str) -> Iterator[Finding]:
    """Queries of two documents or more whose scores (n_rows,) are all equal."""
    order, query_ptr = rows.by_query
    scores, first = scores[order], query_ptr[:-1]
    equal = np.minimum.reduceat(scores, first) == np.maximum.reduceat(scores, first)
    tied = rows.first_rows(np.flatnonzero(equal & (np.diff(query_ptr) > 1)))

    def found(row: int) -> str:
        return f"all documents of query {rows.name(row)} have one {what}"

    yield from at(rows, "warning", tied, found, effect)


@check("run")
def ranks_contradict_scores(run: RunRows) -> Iterator[Finding]:
    """Documents that stand below another by rank and above it by score."""
    before, after = _by_rank(run)
    scores = _as_trec_eval(run)
    risen = after[scores[after] > scores[before]]

    def found(row: int) -> str:
        document = f"document {run.doc(row)} of query {run.name(row)}"
        return f"{document} has rank {run.ranks[row]:.15g} and a score above that of the rank before"

    effect = "rerank and trec_eval order by score and pass over ranks: figures are not those of the ranks"
    yield from at(run, "warning", risen, found, effect)


@check("run")
def ties_contradict_ranks(run: RunRows) -> Iterator[Finding]:
    """Documents whose scores tie and whose ranks are not trec_eval's order."""
    before, after = _by_rank(run)
    scores = _as_trec_eval(run)
    tied = scores[after] == scores[before]
    before, after = before[tied], after[tied]

    def found(row: int) -> str:
        return f"document {run.doc(row)} of query {run.name(row)} has the score of the rank before and the larger id"

    effect = "rerank and trec_eval put the larger id first where scores tie: figures differ from those of the ranks"
    yield from at(run, "note", after[run.doc_ids[after] > run.doc_ids[before]], found, effect)


def _as_trec_eval(run: RunRows) -> NDArray[np.float32]:
    """Return the scores as trec_eval compares them."""
    with np.errstate(over="ignore"):
        return run.scores.astype(np.float32)


def _by_rank(run: RunRows) -> tuple[Ints, Ints]:
    """Return the rows with a finite score that a query holds at one rank and the next."""
    order = np.lexsort((run.ranks, run.query))
    order = order[np.isfinite(run.scores[order])]
    before, after = order[:-1], order[1:]
    follows: NDArray[np.bool_] = (run.query[after] == run.query[before]) & (run.ranks[after] > run.ranks[before])
    return before[follows], after[follows]


@check("run")
def several_names(run: RunRows) -> Iterator[Finding]:
    """A file that holds rows of several runs."""
    if len(run.tags) > 1:
        names = ", ".join(run.tags[:4]) + (", ..." if len(run.tags) > 4 else "")
        effect = "rerank reads one run and names it by its first row; rows of several runs are mixed"
        yield Finding("warning", run.path, (), 1, f"{len(run.tags)} run names: {names}", effect)
