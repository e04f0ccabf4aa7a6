"""What several runs say of each document that any of them holds, as the features of a learned fusion.

Of each run, `source1` and so on in their order, missing where it does not hold the document:

rank              position in trec_eval's order, from 1
reciprocal_rank   1 / (60 + rank)
score, zscore, minmax   as `fuse` normalises them: over all documents of the query in the run; 1 where all are equal
deviations        (score - lowest score of the query) / standard deviation: orders a query's documents as zscore does,
                  and is 0 for the lowest, so that a missing document may count as the lowest; 1 where all are equal
spread            standard deviation of the query's first 100 scores / their mean size, a predictor of how good the list
                  is (NQC), the same for all documents of the query

and of all runs together `sources`, the number of runs that hold the document, and `overlap`, the mean over pairs of
runs of the share of the first 100 documents of the shorter list that both hold.

References
----------
J. Lee, Analyses of multiple evidence combination, SIGIR 1997 (overlap of lists).
A. Shtok, O. Kurland and D. Carmel, Predicting query performance by query-drift estimation, ICTIR 2009 (NQC).

"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from rerank.files.inputs import QrelsLike, RunLike, qrels_of
from rerank.metrics.ranked_lists import ranks
from rerank.retrieval.fusion import RRF_K, checked_runs, filled_queries, min_max, z_score
from rerank.retrieval.pool import Pool, QueryRows, pooled
from rerank.types import Floats, RankingData, Run, pointers, query_rows
from rerank.types.ids import id_array, id_texts, warn_apart
from rerank.types.labels import labelled_data

DESCRIBED = 100  # documents of a list whose scores and overlap describe it
OF_SOURCE = ("rank", "reciprocal_rank", "score", "zscore", "minmax", "deviations", "spread")
OF_ALL = ("sources", "overlap")
JUDGED = "judged"  # added by rerank/rankers/learned_fusion.py
DIRECTIONS = {"rank": -1, **dict.fromkeys((*OF_SOURCE[1:-1], "sources", JUDGED), 1)}  # 1: a larger value is better


def source_names(n_sources: int) -> list[str]:
    """Return the names of runs in features."""
    return [f"source{number}" for number in range(1, n_sources + 1)]


def data_names(n_sources: int) -> tuple[str, ...]:
    """Return the names of the features of `source_data`."""
    return (*(f"{name}.{feature}" for name in source_names(n_sources) for feature in OF_SOURCE), *OF_ALL)


def count_sources(feature_names: Sequence[str]) -> int:
    """Return the number of runs that features are of."""
    return sum(name.endswith(f".{OF_SOURCE[0]}") for name in feature_names)


def source_directions(feature_names: Sequence[str]) -> dict[str, int]:
    """Return 1 of the features whose larger values say that a document is better, -1 of ranks."""
    last = {name: name.rpartition(".")[2] for name in feature_names}
    return {name: DIRECTIONS[feature] for name, feature in last.items() if feature in DIRECTIONS}


def source_data(runs: Sequence[RunLike], qrels: QrelsLike | None = None, depth: int | None = None) -> RankingData:
    """Return the features of all documents that any of several runs holds.

    Parameters
    ----------
    runs : sequence of Run, {qid: {docid: score}} or path
        Two or more, in the order in which a model knows them.
    qrels : Qrels, mapping or path, optional
        Judgements, for labels.
    depth : int, optional
        Only documents among the first `depth` of a run; features are those of the whole runs.

    Returns
    -------
    RankingData
        A row for each document of each query; queries in the order of the runs.

    Raises
    ------
    InvalidInputError
        For fewer than two runs, runs without rows, and scores that are not finite.

    """
    records = checked_runs(runs)
    query_ids = id_array(list(dict.fromkeys(query_id for run in records for query_id in run)))
    # The scores are replaced by the numbers of the rows, by which the values of each row are found below.
    numbered = [replace(run, scores=np.arange(run.n_rows, dtype=np.float64)) for run in records]
    rows = [QueryRows.of(run, query_ids) for run in numbered]
    pool = pooled(rows, 0, len(query_ids), lowest=False)
    overlaps = _overlaps(pool, len(query_ids))
    if depth is not None:
        among = ((pool.ranks > 0) & (pool.ranks <= depth)).any(axis=0)
        pool = Pool(pool.query[among], pool.doc_ids[among], pool.scores[:, among], pool.ranks[:, among])
    query_ptr = pointers(np.bincount(pool.query, minlength=len(query_ids)))
    X = np.full((len(pool.query), len(OF_SOURCE) * len(records) + len(OF_ALL)), np.nan, dtype=np.float32)
    for number, (run, own) in enumerate(zip(records, rows, strict=True)):
        columns = X[:, number * len(OF_SOURCE) : (number + 1) * len(OF_SOURCE)]
        values = _of_source(run)
        held = np.flatnonzero(pool.ranks[number] > 0)
        columns[held] = values[pool.scores[number, held].astype(np.int64)]
        has_query = own.counts > 0
        spread = np.full(len(query_ids), np.nan)
        spread[has_query] = values[own.starts[has_query], -1]
        columns[:, -1] = spread[pool.query]  # of all documents of the query
    X[:, -2] = (pool.ranks > 0).sum(axis=0)
    X[:, -1] = overlaps[pool.query]
    data = RankingData(
        query_ids=query_ids,
        query_ptr=query_ptr,
        doc_ids=id_texts(pool.doc_ids),
        X=X,
        feature_names=data_names(len(records)),
        run_retrievers={
            name: run.retriever
            for name, run in zip(source_names(len(records)), records, strict=True)
            if run.retriever is not None
        },
    )
    return data if qrels is None else _labelled(data, qrels)


def _of_source(run: Run) -> Floats:
    """Return the columns `OF_SOURCE` of each row of a run in trec_eval's order, (n_rows, 7)."""
    first, counts = filled_queries(run)
    standard = z_score(run.scores, first, counts)
    lowest = np.minimum.reduceat(standard, first)
    above = standard - np.repeat(np.where(np.maximum.reduceat(standard, first) > lowest, lowest, 0.0), counts)
    rank = ranks(run.query_ptr) + 1
    scaled = min_max(run.scores, first, counts)
    spread = _spreads(run)[query_rows(run.query_ptr)]
    return np.stack((rank, 1.0 / (RRF_K + rank), run.scores, standard, scaled, above, spread), axis=1)


def _spreads(run: Run) -> Floats:
    """Return the deviation of the first scores of each query over their mean size, (n_queries,)."""
    query = query_rows(run.query_ptr)
    among = ranks(run.query_ptr) < DESCRIBED
    query = query[among]
    scores = run.scores[among]
    n_queries = len(run)
    counts = np.maximum(np.bincount(query, minlength=n_queries), 1)
    means = np.bincount(query, scores, n_queries) / counts
    deviations = np.sqrt(np.bincount(query, (scores - means[query]) ** 2, n_queries) / counts)
    sizes = np.bincount(query, np.abs(scores), n_queries) / counts
    return np.divide(deviations, sizes, out=np.zeros(n_queries), where=sizes > 0.0)


def _overlaps(pool: Pool, n_queries: int) -> Floats:
    """Return `overlap` of each query, (n_queries,) float64; 0 where fewer than two runs have the query."""
    among = (pool.ranks > 0) & (pool.ranks <= DESCRIBED)
    sizes = np.array([np.bincount(pool.query[own], minlength=n_queries) for own in among])
    total = np.zeros(n_queries)
    n_pairs = np.zeros(n_queries)
    for one, other in combinations(range(len(among)), 2):
        shorter = np.minimum(sizes[one], sizes[other])
        shared = np.bincount(pool.query[among[one] & among[other]], minlength=n_queries)
        total += np.divide(shared, shorter, out=np.zeros(n_queries), where=shorter > 0)
        n_pairs += shorter > 0
    return np.divide(total, n_pairs, out=np.zeros(n_queries), where=n_pairs > 0)


def _labelled(data: RankingData, qrels: QrelsLike) -> RankingData:
    """Return the judged queries of data, with labels."""
    judgements = qrels_of(qrels)
    warn_apart("runs", data, judgements)
    judged = data.select(np.flatnonzero([query_id in judgements for query_id in data]))
    return labelled_data(judged, judgements)
