"""Fusion: one run of several, from their documents' ranks or scores.

A new method or normalization is a function here under `@method` or `@norm`. A pool
holds each document of a query once, whichever runs retrieved it. Conventions, on which tools disagree:

rank     position in trec_eval's order (score, then document id, descending), from 1
norm     per query and run; a query whose scores are all equal gets 0 for each document, except by `rank` and `max`
missing  a document that a run does not hold adds nothing (`zero`, as in ranx), or has the lowest normalized score
         that its query has there (`lowest`); a run without the query adds 0 either way
best     the weights are chosen on the qrels that are given: a figure on those qrels is a figure on training data

minmax, zscore and rank are those of a recipe's features, computed here on float64 without missing values; features
(rerank/features) are float32, with NaN, in columns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, unknown_name
from rerank.files.records import QrelsLike, RunLike, run_of
from rerank.types import Floats, Ints, Run, joined_rows, pointers, query_blocks
from rerank.types.ids import Ids, id_array, id_bytes, row_codes, sort_keys

log = logging.getLogger("rerank")
BATCH_ROWS = 1 << 16  # rows that are pooled at a time, so that temporary arrays fit in a core's cache
RRF_K = 60
MISSING = ("zero", "lowest")


@dataclass(frozen=True, eq=False)
class Pool:
    """The documents of some queries, with their scores and ranks in each run.

    Attributes
    ----------
    query : ndarray of shape (n_documents,), int64
        Number of the query, ascending.
    doc_ids : ndarray of shape (n_documents,), UTF-8 bytes
        Document ids.
    scores : ndarray of shape (n_runs, n_documents), float64
        Normalized scores, filled in where a run lacks the document.
    ranks : ndarray of shape (n_runs, n_documents), int64
        Ranks from 1; 0 where a run lacks the document.
    weights : ndarray of shape (n_runs,), float64
        Weights of the runs.
    k : float
        RRF's constant.

    """

    query: Ints
    doc_ids: NDArray[np.bytes_]
    scores: Floats
    ranks: Ints
    weights: Floats
    k: float


Method = Callable[[Pool], Floats]
Norm = Callable[[Floats, Ints, Ints], Floats]  # scores, first row and number of rows of each query -> new scores
_METHODS: dict[str, Method] = {}
_NORMS: dict[str, Norm] = {}


def method(name: str) -> Callable[[Method], Method]:
    """Return a decorator that registers a method of fusion under a name."""
    return lambda function: _METHODS.setdefault(name, function)


def norm(name: str) -> Callable[[Norm], Norm]:
    """Return a decorator that registers a normalization under a name."""
    return lambda function: _NORMS.setdefault(name, function)


@method("rrf")
def reciprocal_rank(pool: Pool) -> Floats:
    """Sum of 1 / (k + rank) (Cormack, Clarke and Buettcher 2009, Reciprocal rank fusion)."""
    return np.where(pool.ranks > 0, 1.0 / (pool.k + pool.ranks), 0.0).sum(axis=0)  # type: ignore[no-any-return]


@method("combsum")
def comb_sum(pool: Pool) -> Floats:
    """Sum of the scores (Fox and Shaw 1994, Combination of multiple searches)."""
    return pool.scores.sum(axis=0)  # type: ignore[no-any-return]


@method("combmnz")
def comb_mnz(pool: Pool) -> Floats:
    """Sum of the scores, times the number of runs that hold the document (Fox and Shaw 1994)."""
    return comb_sum(pool) * (pool.ranks > 0).sum(axis=0)  # type: ignore[no-any-return]


@method("best")
@method("weighted")
def weighted_sum(pool: Pool) -> Floats:
    """Sum of weight * score; for `best`, the weights are alpha and 1 - alpha (Burges 2010, section 7.1)."""
    return (pool.weights[:, None] * pool.scores).sum(axis=0)  # type: ignore[no-any-return]


@norm("none")
def _none(scores: Floats, first: Ints, counts: Ints) -> Floats:
    return scores


@norm("minmax")
def _min_max(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """(s - min) / (max - min)."""
    low, high = np.minimum.reduceat(scores, first), np.maximum.reduceat(scores, first)
    return _quotient(scores - np.repeat(low, counts), high - low, counts)


@norm("max")
def _max(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """Score / max."""
    high = np.maximum.reduceat(scores, first)
    if (high <= 0).any():
        raise InvalidInputError(
            f"norm: expected a best score above 0 in every query for max, got {high.min():g}. Use minmax."
        )
    return scores / np.repeat(high, counts)  # type: ignore[no-any-return]


@norm("sum")
def _sum(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """(s - min) / sum of (s - min)."""
    above = scores - np.repeat(np.minimum.reduceat(scores, first), counts)
    return _quotient(above, np.add.reduceat(above, first), counts)


@norm("zscore")
def _z_score(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """(s - mean) / standard deviation, of the query's documents as the whole population."""
    equal = np.minimum.reduceat(scores, first) == np.maximum.reduceat(scores, first)
    centred = scores - np.repeat(np.add.reduceat(scores, first) / counts, counts)
    deviation = np.sqrt(np.add.reduceat(centred * centred, first) / counts)
    return _quotient(centred, np.where(equal, 0.0, deviation), counts)


@norm("rank")
def _rank(scores: Floats, first: Ints, counts: Ints) -> Floats:
    """1 - (rank - 1) / number of documents."""
    return 1.0 - _positions(counts) / np.repeat(counts, counts)


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
    """Return one run of several.

    Alpha chosen on the qrels that a figure is reported on is training on them. Choose it with `best` on other
    queries; the log gives alpha, the interval on which it is best, and the arguments that fuse any other queries alike:
    `weighted` with these weights, norm and `lowest`, which on the same queries gives the very same run.

    Parameters
    ----------
    runs : sequence of Run, {qid: {docid: score}} or path
        Two or more; their queries and documents are united.
    method : str
        `rrf`, `combsum`, `combmnz`, `weighted`, or `best`: of two runs, the weights alpha and 1 - alpha for which no
        other alpha in [0, 1] has a better mean of `metric` on `qrels` (see `combine`).
    norm : str, optional
        `none`, `minmax`, `max`, `sum`, `zscore` or `rank`, which makes the scores of different runs comparable; by
        default `minmax`, and `none` for `best` and for `rrf`, which uses ranks alone.
    weights : sequence of float, optional
        One finite number for each run, for `weighted`.
    k : float
        RRF's constant, 60 as in the paper.
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
        The fused run, named as the method; equal scores are ordered as trec_eval orders them. `head(k)` cuts it.

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
    records = [run_of(run) for run in runs]
    missing = missing or ("lowest" if method == "best" else "zero")
    _check(records, method, norm, weights, k, missing)
    _check_best(len(records), method, missing, qrels)
    chosen = norm or ("none" if method in {"rrf", "best"} else "minmax")
    if qrels is not None:
        weights = _best_weights(records, chosen, qrels, metric)
    given = np.ones(len(records)) if weights is None else np.asarray(weights, dtype=np.float64)
    query_ids = id_array(list(dict.fromkeys(query_id for run in records for query_id in run)))
    ordered = [run.take(run.trec_order()) for run in records]
    rows = [_QueryRows.of(run, query_ids, chosen) for run in ordered]
    pools = _pools(rows, missing, given, k)
    return _united(query_ids, [(pool.query, pool.doc_ids, _METHODS[method](pool)) for pool in pools], method)


@dataclass(frozen=True, eq=False)
class _QueryRows:
    """A run's rows by the number of the united queries: first row and number of rows of each query."""

    starts: Ints
    counts: Ints
    doc_ids: NDArray[Any]
    scores: Floats

    @classmethod
    def of(cls, run: Run, query_ids: Ids, norm: str) -> _QueryRows:
        numbers = {query_id: number for number, query_id in enumerate(query_ids.tolist())}
        queries = np.array([numbers[query_id] for query_id in run], dtype=np.int64)
        starts, counts = np.zeros((2, len(query_ids)), dtype=np.int64)
        starts[queries], counts[queries] = run.query_ptr[:-1], np.diff(run.query_ptr)
        return cls(starts, counts, run.stored_ids, _normalized(run, norm))


def _normalized(run: Run, norm: str) -> Floats:
    """Return the normalized scores of a run whose rows are in trec_eval's order."""
    sizes = np.diff(run.query_ptr)
    filled = np.flatnonzero(sizes)
    return _NORMS[norm](run.scores, run.query_ptr[filled], sizes[filled]) if len(filled) else run.scores


def _best_weights(runs: Sequence[Run], norm: str, qrels: QrelsLike, metric: str) -> tuple[float, float]:
    """Return alpha and 1 - alpha of two runs, and log them with the interval."""
    from rerank.combination.mixture import combine  # Numba: the other methods do without

    ordered = [run.take(run.trec_order()) for run in runs]
    first, second = (replace(run, scores=_normalized(run, norm)) for run in ordered)
    best = combine(first, second, qrels, metric)
    weights = best.alpha, 1.0 - best.alpha
    log.info(
        "best: alpha %r of %s, best from %r to %r: %s %.4f on the qrels that chose it; fuse other queries with "
        "--method weighted --weights %r,%r --norm %s --missing lowest",
        *(best.alpha, first.name, best.low, best.high, best.metric, best.value, *weights, norm),
    )
    return weights


def _pools(runs: Sequence[_QueryRows], missing: str, weights: Floats, k: float) -> Iterator[Pool]:
    """Yield the pools of some queries each, queries in their order."""
    for first, last in query_blocks(pointers(np.sum([run.counts for run in runs], axis=0)), BATCH_ROWS):
        yield _pool(runs, first, last, missing, weights, k)


def _pool(runs: Sequence[_QueryRows], first: int, last: int, missing: str, weights: Floats, k: float) -> Pool:
    rows = [joined_rows(run.starts[first:last], run.counts[first:last])[0] for run in runs]
    counts = [run.counts[first:last] for run in runs]
    query = np.concatenate([np.repeat(np.arange(first, last), count) for count in counts])
    ids = np.concatenate([id_bytes(run.doc_ids[own]) for run, own in zip(runs, rows, strict=True)])
    document, example = _numbered(query, ids)
    scores = np.zeros((len(runs), len(example)))
    ranks = np.zeros((len(runs), len(example)), dtype=np.int64)
    parts = np.split(document, pointers([len(own) for own in rows])[1:-1])
    for number, (run, own, documents, count) in enumerate(zip(runs, rows, parts, counts, strict=True)):
        if missing == "lowest":
            scores[number] = _lowest(run.scores[own], count)[query[example] - first]
        scores[number, documents] = run.scores[own]
        ranks[number, documents] = _positions(count) + 1
    return Pool(query[example], ids[example], scores, ranks, weights, k)


def _lowest(scores: Floats, counts: Ints) -> Floats:
    """Return the lowest score of each query; 0 where the run lacks the query."""
    filled, lowest = np.flatnonzero(counts), np.zeros(len(counts))
    if len(filled):
        lowest[filled] = np.minimum.reduceat(scores, pointers(counts)[:-1][filled])
    return lowest


def _numbered(query: Ints, ids: NDArray[np.bytes_]) -> tuple[Ints, Ints]:
    """Return the number of each row's document, by query, and a row of each document.

    Rows are compared by a code of 64 bits; where two documents share one, by their ids.
    """
    codes = row_codes(query, ids)
    order = np.argsort(codes)
    group, starts = _groups(codes[order][None])
    if (ids[order[starts]][group] != ids[order]).any() or (query[order[starts]][group] != query[order]).any():
        keys = [*sort_keys(ids), query.astype(np.uint64)]
        order = np.lexsort(keys)
        group, starts = _groups(np.array(keys)[:, order])
    example = order[starts]
    by_query = np.argsort(query[example], kind="stable")
    number = np.empty(len(starts), dtype=np.int64)
    number[by_query] = np.arange(len(starts))
    document = np.empty(len(order), dtype=np.int64)
    document[order] = number[group]
    return document, example[by_query]


def _groups(keys: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """Return the number of each column's group of equal neighbours (n_keys, n_rows), and where each group begins."""
    begins = np.ones(keys.shape[1], dtype=np.bool_)
    begins[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    return np.cumsum(begins) - 1, np.flatnonzero(begins)


def _united(query_ids: Ids, parts: list[tuple[Ints, NDArray[np.bytes_], Floats]], name: str) -> Run:
    query, doc_ids, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    counts = np.bincount(query, minlength=len(query_ids))
    run = Run(query_ids, pointers(counts), doc_ids, scores, name)
    return run.take(run.trec_order())


def _quotient(scores: Floats, divisors: Floats, counts: Ints) -> Floats:
    """Return the scores over their query's divisor; 0 where that is 0."""
    spread = np.repeat(divisors, counts)
    return np.divide(scores, spread, out=np.zeros_like(scores), where=spread > 0)


def _positions(counts: Ints) -> Ints:
    """Return 0, 1, 2 ... within each query, (n_rows,) int64."""
    return np.arange(counts.sum()) - np.repeat(pointers(counts)[:-1], counts)


def _check(
    runs: Sequence[Run],
    method: str,
    norm: str | None,
    weights: Sequence[float] | None,
    k: float,
    missing: str,
) -> None:
    if len(runs) < 2:
        raise InvalidInputError(f"runs: expected at least two to fuse, got {len(runs)}. Name more runs.")
    for what, name, known in (
        ("method", method, _METHODS),
        ("norm", norm or "none", _NORMS),
        ("missing", missing, MISSING),
    ):
        if name not in known:
            raise unknown_name(what, name, known)
    if method == "rrf" and norm not in {None, "none"}:
        raise InvalidInputError(f"norm: expected none beside rrf, which uses ranks alone, got {norm}. Drop it.")
    if k <= 0 or not np.isfinite(k):
        raise InvalidInputError(f"k: expected a number above 0, got {k:g}. The paper has 60.")
    _check_weights(len(runs), method, weights)
    for run in runs:
        if not np.isfinite(run.scores).all():
            raise InvalidInputError(f"run {run.name}: expected finite scores, got NaN or infinity. Correct the run.")
    if not any(run.n_rows for run in runs):
        raise InvalidInputError("runs: expected rows, got none in any run. Name runs with rows.")


def _check_best(n_runs: int, method: str, missing: str, qrels: QrelsLike | None) -> None:
    if (method == "best") != (qrels is not None):
        got = "none" if qrels is None else f"some for {method}"
        raise InvalidInputError(f"qrels: expected them for the method best and no other, got {got}.")
    if method == "best" and n_runs != 2:
        raise InvalidInputError(f"runs: expected two for the method best, got {n_runs}. Fuse two at a time.")
    if method == "best" and missing != "lowest":
        raise InvalidInputError(f"missing: expected lowest beside best, got {missing}. Drop it.")


def _check_weights(n_runs: int, method: str, weights: Sequence[float] | None) -> None:
    if (method == "weighted") != (weights is not None):
        got = "none" if weights is None else f"some for {method}"
        raise InvalidInputError(f"weights: expected them for the method weighted and no other, got {got}.")
    if weights is not None and (len(weights) != n_runs or not np.isfinite(weights).all()):
        got = ", ".join(f"{weight:g}" for weight in weights)
        raise InvalidInputError(
            f"weights: expected a finite number for each of {n_runs} runs, got {got}. Give one weight a run."
        )
