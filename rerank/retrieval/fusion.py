"""Fusion: one run of several, from their documents' ranks or scores.

A new method or normalization is a function here, in `_METHODS` or `_NORMS`. Conventions, on which tools disagree:

rank     position in trec_eval's order (score, then document id, descending), from 1
norm     per query and run; equal scores, or only one, are 1 by minmax and zscore, as in OpenSearch, and 1 / n by sum:
         a document that is retrieved counts more than one that is not
missing  a document that a run does not hold adds nothing (`zero`, as in ranx), or has the lowest normalized score
         that its query has there (`lowest`); a run without the query adds 0 either way
best     the weights are chosen on the qrels that are given: a figure on those qrels is a figure on training data

minmax and zscore are those of a recipe's features except for equal scores, which are 0 there: a feature says what sets
the documents apart, and the feature of a document that is not retrieved is missing (rerank/features).

References
----------
G. Cormack, C. Clarke and S. Buettcher, Reciprocal rank fusion, SIGIR 2009.
J. Lee, Analyses of multiple evidence combination, SIGIR 1997 (min-max).

"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, log, shown, unknown_name
from rerank.files.inputs import QrelsLike, RunLike, qrels_of, run_of
from rerank.metrics.base import Measure
from rerank.metrics.ranked_lists import RankedLists, ranks
from rerank.metrics.registry import parse_measure
from rerank.retrieval.pool import Pool, QueryRows, pooled
from rerank.runtime.sums import mean
from rerank.types import Floats, Ints, Run, pointers, query_blocks
from rerank.types.ids import id_array, id_texts, same_ids, sort_keys, warn_apart

BATCH_ROWS = 1 << 16  # rows that are pooled at a time, so that temporary arrays fit in a core's cache
RRF_K = 60
MISSING = ("zero", "lowest")
Method = Callable[[Pool, Floats, float], Floats]  # pool, weight of each run, k of RRF -> new scores


def _sum_of_runs(values: Floats) -> Floats:
    """Return the sum of what the runs give each document (n_runs, n_documents), in whatever order they are named."""
    return np.sort(values, axis=0).sum(axis=0)  # type: ignore[no-any-return]


def reciprocal_rank(pool: Pool, weights: Floats, k: float) -> Floats:
    """Sum of 1 / (k + rank) (Cormack, Clarke and Buettcher 2009, Reciprocal rank fusion)."""
    return rrf_scores(pool.ranks, k)


def rrf_scores(places: NDArray[Any], k: float) -> Floats:
    """Return the sum of 1 / (k + rank) over the runs' ranks (n_runs, n_documents), where 0 is none."""
    return _sum_of_runs(np.where(places > 0, 1.0 / (k + places), 0.0))


def comb_sum(pool: Pool, weights: Floats, k: float) -> Floats:
    """Sum of the scores (Fox and Shaw 1994, Combination of multiple searches)."""
    return _sum_of_runs(pool.scores)


def comb_mnz(pool: Pool, weights: Floats, k: float) -> Floats:
    """Sum of the scores, times the number of runs that hold the document (Fox and Shaw 1994)."""
    return comb_sum(pool, weights, k) * (pool.ranks > 0).sum(axis=0)  # type: ignore[no-any-return]


def weighted_sum(pool: Pool, weights: Floats, k: float) -> Floats:
    """Sum of weight * score; for `best`, the weights are alpha and 1 - alpha (Burges 2010, section 7.1)."""
    return _sum_of_runs(weights[:, None] * pool.scores)


def min_max(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """(s - min) / (max - min); 1 where all are equal."""
    low = np.minimum.reduceat(scores, first)
    high = np.maximum.reduceat(scores, first)
    return _quotient(scores - np.repeat(low, counts), high - low, counts, np.ones(len(counts)))


def _max(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """Score / max."""
    high = np.maximum.reduceat(scores, first)
    if (high <= 0).any():
        raise InvalidInputError(
            f"norm: expected a best score above 0 in every query for max, got {high.min():g}. Use minmax."
        )
    return scores / np.repeat(high, counts)  # type: ignore[no-any-return]


def _sum(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """(s - min) / sum of (s - min); 1 / n where all n are equal."""
    above = scores - np.repeat(np.minimum.reduceat(scores, first), counts)
    return _quotient(above, np.add.reduceat(above, first), counts, 1.0 / counts)


def z_score(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """(s - mean) / standard deviation, of the query's documents as the whole population; 1 where all are equal."""
    equal = np.minimum.reduceat(scores, first) == np.maximum.reduceat(scores, first)
    centred = scores - np.repeat(np.add.reduceat(scores, first) / counts, counts)
    deviation = np.sqrt(np.add.reduceat(centred * centred, first) / counts)
    return _quotient(centred, np.where(equal, 0.0, deviation), counts, np.ones(len(counts)))


def _rank(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """1 - (rank - 1) / number of documents."""
    return 1.0 - ranks(pointers(counts)) / np.repeat(counts, counts)


_METHODS: dict[str, Method] = {
    "rrf": reciprocal_rank,
    "combsum": comb_sum,
    "combmnz": comb_mnz,
    "weighted": weighted_sum,
    "best": weighted_sum,
}


# Of the scores, and the first row and number of rows of each query.
_NORMS: dict[str, Callable[[Floats, Ints, Ints], Floats]] = {
    "none": lambda scores, first, counts: scores,
    "minmax": min_max,
    "max": _max,
    "sum": _sum,
    "zscore": z_score,
    "rank": _rank,
}


def fuse(
    runs: Sequence[RunLike],
    method: str = "rrf",
    *,
    norm: str | None = None,
    weights: Sequence[float] | None = None,
    k: float = RRF_K,
    missing: str | None = None,
    qrels: QrelsLike | None = None,
    metric: str = "nDCG@10",
) -> Run:
    """Combine several runs into one.

    Choosing alpha with `best` is training: choose it on other queries than those that a figure is reported on. The log
    contains alpha, the interval on which it is best, and the arguments with which other queries are fused in the same
    way: `weighted` with these weights and norm, and missing="lowest".

    Parameters
    ----------
    runs : sequence of Run, {qid: {docid: score}} or path
        Two or more runs; the result has the queries and documents of all.
    method : str
        `rrf`, `combsum`, `combmnz`, `weighted`, or `best`: the weights alpha and 1 - alpha of two runs that give the
        best mean of `metric` on `qrels` (see `combine`).
    norm : str, optional
        `none`, `minmax`, `max`, `sum`, `zscore` or `rank`, which makes the scores of different runs comparable; by
        default `minmax`, and `none` for `best` and for `rrf`, which uses ranks alone.
    weights : sequence of float, optional
        One finite number for each run, for `weighted`.
    k : float
        Constant of reciprocal rank fusion; the default is that of the paper.
    missing : str, optional
        `zero` or `lowest`: the score of a document that a run does not hold; by default `zero`, and `lowest` for
        `best`, which takes no other.
    qrels : Qrels, mapping or path, optional
        Judgements that `best` chooses alpha on.
    metric : str
        Measure that `best` chooses alpha by.

    Returns
    -------
    Run
        The fused run, named as the method. Documents with equal scores are in the order of trec_eval; with `minmax` by
        ascending id, as in search engines. `head(k)` cuts it.

    Raises
    ------
    InvalidInputError
        For fewer than two runs, unknown names, weights that do not fit, `best` without qrels or with other than two
        runs, and scores that are not finite.

    References
    ----------
    G. Cormack, C. Clarke and S. Buettcher, Reciprocal rank fusion, SIGIR 2009.
    E. Fox and J. Shaw, Combination of multiple searches, TREC-2, 1994.
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 7.1.

    """
    records = checked_runs(runs)
    weights = list(weights) if isinstance(weights, Iterable) and not isinstance(weights, str | Mapping) else weights
    if missing is None:
        missing = "lowest" if method == "best" else "zero"
    _check(len(records), method, norm, weights, k, missing, qrels)
    chosen = ("none" if method in {"rrf", "best"} else "minmax") if norm is None else norm
    normalized = [replace(run, scores=_normalized(run, chosen)) for run in records]
    if qrels is not None:
        best = combine(normalized[0], normalized[1], qrels, metric)
        weights = best.alpha, 1.0 - best.alpha
        log.info(
            "best: alpha %r of %s, best from %r to %r: %s %.4f on the qrels that chose it (a run file may differ "
            "where scores are equal as float32); fuse other queries with "
            "--method weighted --weights %r,%r --norm %s --missing lowest",
            best.alpha,
            records[0].name,
            best.low,
            best.high,
            best.metric,
            best.value,
            *weights,
            chosen,
        )
    factors = np.ones(len(records)) if weights is None else np.asarray(weights, dtype=np.float64)
    query_ids = id_array(list(dict.fromkeys(query_id for run in records for query_id in run)))
    rows = [QueryRows.of(run, query_ids) for run in normalized]
    blocks = query_blocks(pointers(np.sum([run.counts for run in rows], axis=0)), BATCH_ROWS)
    pools = (pooled(rows, first, last, missing == "lowest") for first, last in blocks)
    parts = [(pool.query, pool.doc_ids, _METHODS[method](pool, factors, k)) for pool in pools]
    query, doc_ids, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    run = Run(query_ids, pointers(np.bincount(query, minlength=len(query_ids))), doc_ids, scores, method)
    if chosen != "minmax":
        return run.take(run.trec_order())
    return run.take(np.lexsort((*sort_keys(doc_ids), -scores, query)))  # equal scores by id, as in search engines


def checked_runs(runs: Sequence[RunLike]) -> list[Run]:
    """Return two or more runs with rows, these in trec_eval's order; raise InvalidInputError for others.

    Scores that are not finite are refused. Runs whose scores are equal, and runs without a common query, are logged.
    """
    if isinstance(runs, str | Path | Mapping | Run) or not isinstance(runs, Iterable):
        raise InvalidInputError(f"runs: expected a list of runs, got {type(runs).__name__}. Pass [run, run].")
    records = [run_of(run) for run in runs]
    if len(records) < 2:
        raise InvalidInputError(f"runs: expected at least two to fuse, got {len(records)}. Name more runs.")
    for run in records:
        _as_float32(run)
    if not any(run.n_rows for run in records):
        raise InvalidInputError("runs: expected rows, got none in any run. Name runs with rows.")
    for run in filter(_is_constant, records):
        log.warning(
            "run %s: expected scores that differ within a query, got equal ones in all; their order, by document id, "
            "says nothing.",
            run.name,
        )
    for run in records[1:]:
        warn_apart(f"run {run.name}", run, records[0])
    if max(Counter(query_id for run in records for query_id in run).values()) == 1:
        log.warning("runs: expected queries that two of them hold, got none; check that they are of the same topics.")
    return [run.take(run.trec_order()) for run in records]


def _as_float32(run: Run) -> Run:
    """Return a run with scores as trec_eval holds them; refuse those that are not finite."""
    with np.errstate(over="ignore"):
        scores = run.scores.astype(np.float32)
    wrong = run.scores[~np.isfinite(scores)]
    if len(wrong):
        raise InvalidInputError(
            f"run {run.name}: expected finite scores (as float32), got {wrong[0]}. Correct the run."
        )
    return replace(run, scores=scores.astype(np.float64))


def _is_constant(run: Run) -> bool:
    """Return whether a run has two queries of several documents or more, and equal scores within each."""
    first, counts = filled_queries(run)
    # documents of one query may well be equal
    return bool((counts > 1).sum() > 1 and (run.scores == np.repeat(run.scores[first], counts)).all())


def _normalized(run: Run, norm: str) -> Floats:
    """Return the normalized scores of a run whose rows are in trec_eval's order."""
    return _NORMS[norm](run.scores, *filled_queries(run))


def filled_queries(run: Run) -> tuple[Ints, Ints]:
    """Return the first row and the number of rows of each query that has some."""
    sizes = np.diff(run.query_ptr)
    return run.query_ptr[:-1][sizes > 0], sizes[sizes > 0]


def _quotient(scores: Floats, divisors: Floats, counts: Ints, equal: Floats) -> Floats:
    """Return the scores over the divisor of their query; where it is 0, the value of the query in `equal`."""
    spread = np.repeat(divisors, counts)
    return np.divide(scores, spread, out=np.repeat(equal, counts), where=spread > 0)


def _check(
    n_runs: int,
    method: str,
    norm: str | None,
    weights: Sequence[float] | None,
    k: float,
    missing: str,
    qrels: QrelsLike | None,
) -> None:
    for what, name, known in (
        ("method", method, _METHODS),
        ("norm", "none" if norm is None else norm, _NORMS),
        ("missing", missing, MISSING),
    ):
        if not isinstance(name, str) or name not in known:
            raise unknown_name(what, str(name), known)
    if method == "rrf" and norm not in {None, "none"}:
        raise InvalidInputError(f"norm: expected none beside rrf, which uses ranks alone, got {norm}. Drop it.")
    if not isinstance(k, int | float | np.integer | np.floating) or isinstance(k, bool) or k <= 0 or not np.isfinite(k):
        raise InvalidInputError(f"k: expected a number above 0, got {shown(k)}. The paper has 60.")
    for what, value, owner, remedy in (
        ("weights", weights, "weighted", "Give one weight a run"),
        ("qrels", qrels, "best", "Pass judgements"),
    ):
        if (method == owner) != (value is not None):
            got = "none" if value is None else f"some for {method}"
            remedy = remedy if value is None else f"Drop them, or name the method {owner}"
            raise InvalidInputError(f"{what}: expected them for the method {owner} and no other, got {got}. {remedy}.")
    if method == "best" and n_runs != 2:
        raise InvalidInputError(f"runs: expected two for the method best, got {n_runs}. Fuse two at a time.")
    if method == "best" and missing != "lowest":
        raise InvalidInputError(f"missing: expected lowest beside best, got {missing}. Drop it.")
    numbers = [1.0] * n_runs if weights is None else weights if isinstance(weights, list) else []
    are_finite = all(isinstance(number, Real) and math.isfinite(number) for number in numbers)
    if len(numbers) != n_runs or not are_finite:
        raise InvalidInputError(
            f"weights: expected a finite number for each of {n_runs} runs, got {shown(weights)}. Give one weight a run."
        )
    if not any(numbers):
        raise InvalidInputError("weights: expected one that is not 0, got none. Give the better run more weight.")


@dataclass(frozen=True, eq=False)
class CombinedRun:
    """The best alpha of two runs.

    Attributes
    ----------
    alpha : float
        Share of the first run's scores, the middle of the interval.
    low, high : float
        The ends of the interval about alpha on which the measure is best.
    value : float
        Mean of the measure over the judged queries at alpha, as `evaluate` returns it for `run`.
    metric : str
        The measure's name.
    run : Run
        The combined run of all queries at alpha.

    """

    alpha: float
    low: float
    high: float
    value: float
    metric: str
    run: Run


def combine(run_a: RunLike, run_b: RunLike, qrels: QrelsLike, metric: str | Measure = "nDCG@10") -> CombinedRun:
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
    CombinedRun
        The best alpha, the value of the measure that it reaches, and the run.

    Raises
    ------
    InvalidInputError
        Where no query is judged or a score is not finite.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 7.1.

    """
    from rerank.retrieval import best_alpha  # with kernels, which other methods do not need

    measure = parse_measure(metric)
    first, second = (run_of(run) for run in (run_a, run_b))
    if not first.n_rows + second.n_rows:
        raise InvalidInputError("runs: expected ranked documents, got none in either. Give two runs.")
    query_ids = id_array(list(dict.fromkeys([*first, *second])))
    rows = [QueryRows.of(_as_float32(run), query_ids) for run in (first, second)]
    pool = pooled(rows, 0, len(query_ids), lowest=True)
    by_id = np.lexsort((*(~key for key in sort_keys(pool.doc_ids)), pool.query))  # the larger id first
    doc_ids = id_texts(pool.doc_ids[by_id])
    query_ptr = pointers(np.bincount(pool.query, minlength=len(query_ids)))
    a, b = (scores[by_id] for scores in pool.scores)  # contiguous: Numba would compile the search again for others
    judgements = qrels_of(qrels)
    judged = np.array([name in judgements for name in query_ids.tolist()]) & (np.diff(query_ptr) > 0)
    if not judged.any():
        raise InvalidInputError(
            f"qrels: expected judgements of a query of the runs, got none. {same_ids(query_ids.tolist(), judgements)}"
        )
    warn_apart("runs", query_ids.tolist(), judgements)
    labels = judgements.lookup(query_ids, query_ptr, doc_ids)[0].astype(np.float64)
    lines = best_alpha.ScoreLines(query_ptr, a, b, labels, judged.astype(np.float64), *judgements.ideal(query_ids))
    best = best_alpha.best_alpha(lines, measure)
    order = best_alpha.order_at(lines, best.alpha)
    lists = RankedLists(lines.labels[order], query_ptr, lines.ideal_labels, lines.ideal_ptr)
    value = mean(measure.scores(lists), lines.weights)
    scores = (best.alpha * a + (1.0 - best.alpha) * b)[order].astype(np.float32)
    best_alpha.keep_order(query_ptr, order, scores)
    run = Run(query_ids, query_ptr, doc_ids[order], scores.astype(np.float64), f"{first.name}+{second.name}")
    return CombinedRun(**vars(best), value=value, metric=measure.name, run=run)
