"""The best combination of two rankers: alpha * s_a + (1 - alpha) * s_b, exactly (Burges 2010, section 7.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rerank.errors import InvalidInputError
from rerank.files.lists import QrelsLike, RunLike, qrels_of, run_of
from rerank.metrics.base import Measure, RankedLists
from rerank.metrics.registry import parse_measure
from rerank.retrieval.line_search import Lines, best_alpha, order_at
from rerank.retrieval.pool import QueryRows, pooled
from rerank.runtime.kernels import kernel
from rerank.types import Floats, Ints, Qrels, Run, pointers
from rerank.types.ids import Ids, id_array, id_texts, sort_keys


@dataclass(frozen=True, eq=False)
class Combination:
    """The best alpha of two runs.

    Attributes
    ----------
    alpha : float
        Share of the first run's scores, the middle of the interval.
    value : float
        Mean of the measure over the judged queries at alpha, as `evaluate` returns it for `run`.
    low, high : float
        The ends of the interval about alpha on which the measure is best.
    metric : str
        The measure's name.
    run : Run
        The combined run of all queries at alpha.

    """

    alpha: float
    value: float
    low: float
    high: float
    metric: str
    run: Run


def combine(run_a: RunLike, run_b: RunLike, qrels: QrelsLike, metric: str | Measure = "nDCG@10") -> Combination:
    """Return the alpha in (0, 1) for which alpha * s_a + (1 - alpha) * s_b is best on the judged queries.

    The measure changes only at values of alpha for which two documents have equal scores. All these values are visited,
    instead of a grid, so that no alpha between them is better (by more than 1e-9). If several intervals of alpha are
    equally good, the widest is used, and the lowest of equally wide ones.

    Scores are compared as float32, as in trec_eval; of equal scores, the larger document id ranks first. A document
    that is missing in a run gets the run's lowest score for the query, or 0 if the run has no documents for the query.
    The scores of the combined `run` are adjusted, where necessary, so that they have the same order as float32.

    A measure that cannot be updated from one value to the next (PairAccuracy, your own measures) is recomputed at each:
    0.03 s or more for a query of 100 documents, minutes for 1,000 documents. For other measures, a query of 1,000
    documents takes 10 ms or less.

    Parameters
    ----------
    run_a, run_b : Run, {qid: {docid: score}} or path
        The runs; finite scores, each on its own scale.
    qrels : Qrels, {qid: {docid: label}} or path
        Judgements of at least one of the queries.
    metric : str or Measure
        Any measure, by ir_measures' name.

    Returns
    -------
    Combination
        The weights, and the measure that they reach.

    Raises
    ------
    InvalidInputError
        Where no query is judged or a score is not finite.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 7.1.

    """
    measure = parse_measure(metric)
    first = run_of(run_a)
    second = run_of(run_b)
    pairs = _paired(first, second)
    judgements = qrels_of(qrels)
    lines = _lines(pairs, judgements)
    best = best_alpha(lines, measure)
    order = order_at(lines, best.alpha)
    lists = RankedLists(lines.labels[order], lines.query_ptr, lines.ideal_labels, lines.ideal_ptr)
    value = float(np.average(measure.scores(lists), weights=lines.weights))
    scores = _float32_steps(pairs, best.alpha, order)
    run = Run(pairs.query_ids, pairs.query_ptr, pairs.doc_ids[order], scores, f"{first.name}+{second.name}")
    return Combination(best.alpha, value, best.low, best.high, measure.name, run)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The documents of either run, the larger id first within a query, and their scores in both, (n_rows,) float64."""

    query_ids: Ids
    query_ptr: Ints
    doc_ids: Ids
    a: Floats
    b: Floats


def _paired(first: Run, second: Run) -> _Pairs:
    query_ids = id_array(list(dict.fromkeys([*first, *second])))
    if not first.n_rows + second.n_rows:
        raise InvalidInputError("runs: expected ranked documents, got none in either. Give two runs.")
    rows = [QueryRows.of(_as_float32(run), query_ids) for run in (first, second)]
    pool = pooled(rows, 0, len(query_ids), lowest=True)
    order = np.lexsort((*(~key for key in sort_keys(pool.doc_ids)), pool.query))
    a, b = (scores[order] for scores in pool.scores)  # contiguous: for others, the search would compile once more
    return _Pairs(
        query_ids, pointers(np.bincount(pool.query, minlength=len(query_ids))), id_texts(pool.doc_ids[order]), a, b
    )


def _as_float32(run: Run) -> Run:
    """Return a run with scores as trec_eval holds them."""
    scores = run.scores.astype(np.float32).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise InvalidInputError(
            f"run {run.name}: expected finite scores within float32, got {run.scores[bad[0]]} for document "
            f"{run.doc_ids[bad[0]]}. Score it or leave it out."
        )
    return replace(run, scores=scores)


def _lines(pairs: _Pairs, qrels: Qrels) -> Lines:
    """Return the documents as lines; a query that is not judged has no weight."""
    labels, _ = qrels.lookup(pairs.query_ids, pairs.query_ptr, pairs.doc_ids)
    judged = np.array([name in qrels for name in pairs.query_ids.tolist()], dtype=np.float64)
    judged *= np.diff(pairs.query_ptr) > 0
    if not judged.any():
        raise InvalidInputError(
            "qrels: expected judgements of a query of the runs, got none. Check that the query ids are the same."
        )
    ideal_labels, ideal_ptr = qrels.ideal(pairs.query_ids)
    return Lines(pairs.query_ptr, pairs.a, pairs.b, labels.astype(np.float64), judged, ideal_labels, ideal_ptr)


def _float32_steps(pairs: _Pairs, alpha: float, order: Ints) -> Floats:
    """Return the combined scores in the given order, such that trec_eval's comparison as float32 keeps that order."""
    scores = (alpha * pairs.a + (1.0 - alpha) * pairs.b)[order].astype(np.float32)
    _keep_order(pairs.query_ptr, order, scores)
    return scores.astype(np.float64)


@kernel()
def _keep_order(query_ptr, order, scores):  # type: ignore[no-untyped-def]
    """Lower scores (n_rows,) float32 that are not below those before them; equal ones may follow by ascending row."""
    for q in range(query_ptr.shape[0] - 1):
        for position in range(query_ptr[q] + 1, query_ptr[q + 1]):
            before = scores[position - 1]
            if scores[position] < before:
                continue
            falls = order[position] < order[position - 1]
            scores[position] = np.nextafter(before, np.float32(-np.inf)) if falls else before
