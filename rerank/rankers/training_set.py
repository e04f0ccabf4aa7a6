"""Training data: rows in one canonical order, so that their order in the input has no effect.

Queries are sorted by their contents, so that neither their ids nor their order in the input has an effect on a model.
The rows of a query are sorted by document id, descending: equal scores then rank as in trec_eval. With a `random_state`
other than 0 their order is drawn at random: no order is better than another, so what it changes in a model is noise.
Rows without document ids get ids made of their contents (`arrays.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, log
from rerank.files.lists import read_preferences
from rerank.metrics.ranked_lists import RankedLists
from rerank.runtime.mapped_rows import is_mapped
from rerank.trees.binned_data import BinnedData, Storage
from rerank.trees.bins import MOST_BINS
from rerank.trees.content import bin_rows, mixed, row_digests
from rerank.types import Floats, Ints, RankingData, pointers, query_rows, rows_of_groups
from rerank.types.ids import row_codes
from rerank.types.preferences import Preferences
from rerank.types.query_folds import folds_of_groups, groups_of_queries, numbered_groups

SMALLEST_BASE = 1e-30
LARGEST_BASE = 1e30
FEW_UNDECIDED = 16  # undecided queries are few if they have at most 1 / 16 of the rows


class PreferenceRows(NamedTuple):
    """Preference pairs, each column (n_pairs,): rows of the better and of the worse documents, probabilities.

    In a `TrainingSet`, rows are canonical rows, and pairs are sorted by the row of the better document.
    """

    better: Ints
    worse: Ints
    probabilities: Floats

    @classmethod
    def of(
        cls, preferences: Preferences | Iterable[Sequence[Any]] | None, data: RankingData | ArrayLike
    ) -> PreferenceRows | None:
        """Return the rows of the pairs; those with a document that the data lack are left out and counted in the log.

        Raises InvalidInputError where no pair is left.
        """
        if preferences is None:
            return None
        if not isinstance(data, RankingData):
            raise InvalidInputError(
                "preferences: expected the data as RankingData, got arrays without document ids. Pass RankingData."
            )
        preferences = Preferences.of(
            read_preferences(preferences) if isinstance(preferences, str | Path) else preferences
        )
        queries = preferences.query_ids.tolist()
        row_of = {
            (query, doc_id): row
            for query in set(queries).intersection(data)
            for row, doc_id in enumerate(data.doc_ids[data.rows(query)].tolist(), data.rows(query).start)
        }
        pairs = zip(queries, preferences.better.tolist(), preferences.worse.tolist(), strict=True)
        rows = np.array([(row_of.get((query, x), -1), row_of.get((query, y), -1)) for query, x, y in pairs])
        found = np.flatnonzero((rows >= 0).all(axis=1))
        if not len(found):
            raise InvalidInputError(
                "preferences: expected pairs of documents that the training data hold, got none. Check that both "
                "name the same queries and documents."
            )
        if len(found) < len(rows):
            log.info(
                "preferences: %d of %d pairs have documents that are not in the data", len(rows) - len(found), len(rows)
            )
        return cls(rows[found, 0], rows[found, 1], preferences.probabilities[found])

    def in_order(self, order: Ints) -> PreferenceRows:
        """Return the pairs by canonical row; order (n_rows,) has the data's rows in canonical order."""
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        better = position[self.better]
        worse = position[self.worse]
        pairs = np.lexsort((self.probabilities, worse, better))  # the same order, whatever the order of the data
        return PreferenceRows(better[pairs], worse[pairs], self.probabilities[pairs])

    def between(self, first: int, last: int) -> PreferenceRows:
        """Return the pairs of the query whose rows are [first, last), counted from its first."""
        low, high = np.searchsorted(self.better, [first, last])
        better, worse = (column[low:high] - first for column in (self.better, self.worse))
        return PreferenceRows(better, worse, self.probabilities[low:high])


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Data whose rows, except those of the features, are in canonical order.

    X             (n_rows, n_features) float32, in the data's own order: a copy would double the memory
    order         (n_rows,) int64: canonical row i is X[order[i]]
    labels        (n_rows,) float64
    start_scores  (n_rows,) float64: scores of the base ranker, or 0
    groups        (n_queries,) int64, near-duplicate queries, which are in the same fold
    names         names of the features, which constraints refer to
    weights       (n_queries,) float64
    row_weights   (n_rows,) float64, weights of the documents; empty where all are 1
    pairs         preference pairs to learn from in place of the labels
    base_worth    of n training queries, the weight of the base is multiplied by 1 + base_worth / n (`base_weight.py`)
    binned        the rows in bins, where several rankers of trees share them; None where each ranker bins them
    """

    X: NDArray[np.float32]
    order: Ints
    labels: Floats
    query_ptr: Ints
    weights: Floats
    ideal_labels: Floats
    ideal_ptr: Ints
    start_scores: Floats
    groups: Ints
    names: tuple[str, ...]
    pairs: PreferenceRows | None = None
    base_worth: float = 0.0
    binned: BinnedData | None = None
    row_weights: Floats = field(default_factory=partial(np.empty, 0))

    @classmethod
    def of(
        cls, data: RankingData, start_scores: Floats, pairs: PreferenceRows | None = None, seed: int = 0
    ) -> TrainingSet:
        """Put labelled data, their base scores (n_rows,) and preference pairs in canonical order.

        seed  other than 0: draws the order of each query's rows, and so that of equal scores
        """
        keys: NDArray[Any] = data.stored_ids
        if seed:
            keys = mixed(row_codes(np.full(data.n_rows, seed), data.doc_ids))
        rows = [
            first + np.argsort(keys[first:last], kind="stable")[::-1]
            for first, last in pairwise(data.query_ptr.tolist())
        ]
        ideal_labels, ideal_ptr = data.ideal()
        weights = np.ones(len(data)) if data.weights is None else data.weights
        of_rows = start_scores if data.row_weights is None else np.column_stack([start_scores, data.row_weights])
        queries = _order_by_content(data, rows, np.column_stack([weights, np.diff(ideal_ptr)]), of_rows)
        order = np.concatenate([np.empty(0, np.int64), *(rows[query] for query in queries.tolist())])
        ideal_rows, ideal_ptr = rows_of_groups(ideal_ptr, queries)
        return cls(
            data.X,
            order,
            data.labels[order],  # type: ignore[index]
            pointers(np.diff(data.query_ptr)[queries]),
            weights[queries],
            ideal_labels[ideal_rows],
            ideal_ptr,
            start_scores[order],
            groups_of_queries(data)[queries],
            data.feature_names,
            pairs and pairs.in_order(order),
            row_weights=np.empty(0) if data.row_weights is None else data.row_weights[order],
        )

    @property
    def lists(self) -> RankedLists:
        """The labels in canonical order, and the labels of the ideal rankings."""
        return RankedLists(self.labels, self.query_ptr, self.ideal_labels, self.ideal_ptr)

    def select(self, queries: Ints) -> TrainingSet:
        """Return some queries, by position, with a copy of their features: a learner uses all rows of `X`."""
        rows, part = self._part(queries)
        binned = self.binned and self.binned.select(rows)
        return replace(
            part, X=self.X[part.order], order=np.arange(len(rows)), binned=binned, pairs=None, base_worth=0.0
        )

    def queries(self) -> Iterator[TrainingSet]:
        """Yield the training set of each query alone."""
        for query, ends in enumerate(pairwise(self.query_ptr.tolist())):
            yield replace(self._part(np.array([query]))[1], pairs=self.pairs and self.pairs.between(*ends))

    def _part(self, queries: Ints) -> tuple[Ints, TrainingSet]:
        """Return the rows of some queries, by position, and their training set, which shares the features."""
        rows, query_ptr = rows_of_groups(self.query_ptr, queries)
        ideal_rows, ideal_ptr = rows_of_groups(self.ideal_ptr, queries)
        return rows, replace(
            self,
            order=self.order[rows],
            labels=self.labels[rows],
            query_ptr=query_ptr,
            weights=self.weights[queries],
            ideal_labels=self.ideal_labels[ideal_rows],
            ideal_ptr=ideal_ptr,
            start_scores=self.start_scores[rows],
            groups=self.groups[queries],
            row_weights=self.row_weights[rows] if len(self.row_weights) else self.row_weights,
        )

    def weighted_pairs(self, evenly: bool) -> tuple[Ints, Ints, Floats, Floats]:
        """Return the better and the worse row, the probability and the weight of each preference pair.

        evenly  the pairs of a query share its weight; otherwise each pair has it
        Raises InvalidInputError where no pair has a weight.
        """
        assert self.pairs is not None
        better, worse, probabilities = self.pairs
        query = query_rows(self.query_ptr)[better]
        counts = np.bincount(query, minlength=len(self.weights)) if evenly else np.ones(len(self.weights))
        weights = (self.weights / np.maximum(counts, 1.0))[query]
        if not weights.any():
            raise InvalidInputError(
                "preferences: expected pairs of a query whose weight is above 0, got none. Change the weights."
            )
        return better, worse, probabilities, weights


def _order_by_content(data: RankingData, rows: list[Ints], of_query: Floats, of_rows: Floats) -> Ints:
    """Return the queries sorted by a digest of their document ids; where these are equal by features, then by the rest.

    rows      rows of each query in canonical order
    of_query  (n_queries, k) numbers of each query
    of_rows   (n_rows,) or (n_rows, k) numbers of each row

    Features are read only where ids do not tell queries apart, as digests that do not depend on the order and the units
    of the features (`trees/content.py`). Labels come after them, because the labels of queries of weight 0 have no
    effect on a model. Base scores and weights are last, because their scale has no effect either.
    """

    @cache
    def digests_of_rows() -> NDArray[np.uint64]:
        """Return the digest of each row; of few undecided queries, among their rows alone, and 0 for the others."""
        some = np.concatenate([rows[query] for query in undecided])
        are_few = len(some) * FEW_UNDECIDED <= data.n_rows
        X = data.X[some] if are_few else data.X
        binned = bin_rows(X, np.arange(len(X)), MOST_BINS, get_num_threads(), Storage(is_mapped(X)))
        digests = np.zeros(data.n_rows, np.uint64)
        digests[some if are_few else slice(None)] = row_digests(binned)
        return digests

    contents: tuple[Callable[[int], bytes], ...] = (
        lambda query: _id_bytes(data.stored_ids[rows[query]]),
        lambda query: digests_of_rows()[rows[query]].tobytes(),
        lambda query: data.labels[rows[query]].tobytes(),  # type: ignore[index]
        lambda query: np.append(of_rows[rows[query]], of_query[query]).tobytes(),
    )
    digests = [b""] * len(rows)
    undecided = list(range(len(rows)))
    for content in contents:
        for query in undecided:
            digests[query] += blake2b(content(query), digest_size=16).digest()
        counts = Counter(digests[query] for query in undecided)
        undecided = [query for query in undecided if counts[digests[query]] > 1]
    return np.array(sorted(range(len(rows)), key=digests.__getitem__), np.int64)


def _id_bytes(ids: NDArray[Any]) -> bytes:
    """Return document ids, which are stored as text or as UTF-8, one a line in UTF-8."""
    return b"\n".join(ids.tolist()) if ids.dtype.kind == "S" else "\n".join(ids.tolist()).encode()


def check_training_data(data: RankingData, what: str) -> None:
    """Refuse data that nothing can be learned from or measured on."""
    if not data.n_rows:
        raise InvalidInputError(f"{what}: expected rows, got none. Check the run and the topics.")
    if data.labels is None:
        raise InvalidInputError(
            f"{what}: expected labels, got none. Make the data with qrels, or call their column label."
        )
    if not data.n_features:
        raise InvalidInputError(
            f"{what}: expected features, got rows without any, as a judgement list has. Give INDEX TOPICS QRELS, or "
            "compute features (`rerank features --qrels FILE`, index.features)."
        )
    data.check_values(what)
    for weights in (data.weights, data.row_weights):
        if weights is not None:
            check_size(what, weights, "weights")


def check_size(what: str, values: Floats, noun: str) -> None:
    """Refuse scores or weights that are so large or small that squares leave float64, or float32 cannot hold them."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest > 0.0 and not SMALLEST_BASE <= largest <= LARGEST_BASE:
        raise InvalidInputError(
            f"{what}: expected {noun} whose largest size is from {SMALLEST_BASE:g} to {LARGEST_BASE:g}, or 0, got "
            f"{largest:.3g}. Multiply them by a constant."
        )


def check_has_pairs(train: TrainingSet) -> None:
    """Refuse data in which no query has documents of different labels: there is no order to learn."""
    query = query_rows(train.query_ptr)
    differ = (train.labels[1:] != train.labels[:-1]) & (query[1:] == query[:-1])
    if not (differ & (train.weights[query[1:]] > 0.0)).any():
        raise InvalidInputError(
            "training data: expected a query with documents of different labels, got none. Check that qrels and run "
            "name the same documents."
        )


def without_start(data: TrainingSet) -> TrainingSet:
    """Return the same data with start scores of 0, as without a base."""
    return replace(data, start_scores=np.zeros(len(data.start_scores)))


def fold_of_queries(n_folds: int, train: TrainingSet, seed: int | None) -> Ints:
    """Return the fold of each query, (n_queries,) int64; raises InvalidInputError where a fold would be empty."""
    groups, first = numbered_groups(train.groups)
    if not 2 <= n_folds <= len(first):
        raise InvalidInputError(
            f"n_folds: expected 2 folds or more and a query for each, got {n_folds} for {len(first)} queries, near "
            "duplicates counted once. Change it, or give more queries."
        )
    order = np.argsort(np.random.default_rng(seed).permutation(len(groups))[first])
    return folds_of_groups(groups, order, n_folds)


def pair_counts(train: TrainingSet) -> Floats:
    """Return the number of pairs with different labels of every query, (n_queries,) float64; 1 where there is none."""
    counts = np.ones(len(train.weights))
    for query, (first, last) in enumerate(pairwise(train.query_ptr.tolist())):
        same = np.unique(train.labels[first:last], return_counts=True)[1]
        counts[query] = max(1, ((last - first) ** 2 - (same**2).sum()) // 2)
    return counts
