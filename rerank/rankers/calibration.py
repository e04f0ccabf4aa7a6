"""Probabilities of relevance of a model's scores.

Scores of a model that learns within queries cannot be compared between queries. Calibration maps them to the
probability that a document is relevant, and that any document of a list is. The maps are learned from scores of
queries that no model had seen (out of fold): of a document, its score, its distance from the best score and its z-score
among the first documents, all with coefficients of at least 0, which keeps the model's order; and of its list, the best
score, its lead, mean and deviation of the first documents, their number, and means of predictors over the first ones.
P(any relevant) is learned from the lists as they are and from the same lists without their relevant documents, with
equal weights: it assumes that a query is as likely to have an answer as to have none. Features and scores of lists
without their relevant documents are computed anew, among the documents that are left: the values in the whole list
would reveal what was taken out.

Few candidates share no term with their query, and texts that are handed over may: a document without one, below all
that share one, has at most the probability of such candidates in training.

Models of the folds and the one that is stored may score on other scales: scores are measured in standard deviations
from the mean of the scores of each one's own training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import ranks
from rerank.metrics.reliability import Reliability
from rerank.rankers.probability_map import LogisticMap
from rerank.rankers.standardizer import Standardizer
from rerank.runtime.elementary import array_log1p
from rerank.runtime.fields import LARGEST_FLOAT32, Names, Number, SchemaError, Whole, at
from rerank.runtime.sums import mean
from rerank.types import Floats, Ints, RankingData, pointers, query_order, query_rows, rows_of_groups

DESCRIBED = 20  # documents whose scores describe a list: more would depend on how many are retrieved
LEAST_RELEVANT = 20  # relevant documents, and lists with one, that are learned from
ORDERED = 3  # inputs of a document
LIST_INPUTS = 5  # without those of the predictors
MOST = 2**31 - 1  # queries and documents
LEAST_DEVIATION = 1e-30  # of a model's scores; below it, all are equal
PROFILE = (3, 10)  # first documents whose mean of a predictor describes a list
FLATTEST = 0.05  # least deviation of the first documents of a list
RELEVANT = 1.0  # least label of a relevant document
COVERED = "covered_ratio.contents"  # predictor: the share of the query's terms that a document has


class Probabilities(NamedTuple):
    """Probabilities of relevance.

    Attributes
    ----------
    documents : ndarray of shape (n_rows,), dtype float64
        Of each document. Their order within a query is that of the scores, also where trec_eval compares them.
    lists : ndarray of shape (n_queries,), dtype float64
        That any document of a query's list is relevant.

    """

    documents: Floats
    lists: Floats


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of a model's scores of its training rows."""

    mean: float
    deviation: Annotated[float, Number(LEAST_DEVIATION)]

    @classmethod
    def of(cls, scores: Floats) -> Self:
        """Return the scale of the scores (n_rows,) of training rows."""
        centre = mean(scores)
        deviation = float(np.sqrt(mean((scores - centre) ** 2)))
        return cls(centre, deviation if deviation >= LEAST_DEVIATION else 1.0)

    def measured(self, scores: Floats) -> Floats:
        """Return scores in standard deviations from the mean."""
        return (scores - self.mean) / self.deviation


@dataclass(frozen=True, eq=False)
class ScoredLists:
    """Scored lists of queries, as calibration reads them.

    scores     (n_rows,) float64, measured on the scale of their model
    columns    (n_rows, n_predictors) float32, NaN where missing
    unmatched  (n_rows,) whether a document has no term of the query; False where no predictor tells
    """

    query_ptr: Ints
    scores: Floats
    columns: NDArray[np.float32]
    unmatched: NDArray[np.bool_]

    @classmethod
    def of(cls, data: RankingData, scores: Floats, predictors: Sequence[str]) -> Self:
        """Return the lists of data, whose scores are measured."""
        columns = np.column_stack([np.empty((data.n_rows, 0), np.float32), *(data.column(name) for name in predictors)])
        unmatched = ~(data.column(COVERED) > 0.0) if COVERED in predictors else np.zeros(data.n_rows, np.bool_)
        return cls(data.query_ptr, scores, columns, unmatched)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the lists of several parts as one."""
        sizes = np.concatenate([np.diff(part.query_ptr) for part in parts])
        names = ("scores", "columns", "unmatched")
        return cls(pointers(sizes), *(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def without(self, rows: NDArray[np.bool_]) -> Self:
        """Return the lists without some rows, (n_rows,)."""
        new_rows = pointers(~rows)
        return type(self)(new_rows[self.query_ptr], self.scores[~rows], self.columns[~rows], self.unmatched[~rows])

    def select(self, queries: Ints) -> Self:
        """Return the lists of some queries, by number."""
        rows, query_ptr = rows_of_groups(self.query_ptr, queries)
        return type(self)(query_ptr, self.scores[rows], self.columns[rows], self.unmatched[rows])

    def below_matched(self) -> NDArray[np.bool_]:
        """Return whether each document has no term of the query, and a lower score than all that have one."""
        query = query_rows(self.query_ptr)
        least = np.full(len(self.query_ptr) - 1, np.inf)
        np.minimum.at(least, query[~self.unmatched], self.scores[~self.unmatched])
        return self.unmatched & (self.scores < least[query])

    def described(self) -> Floats:
        """Return what describes each list, (n_queries, LIST_INPUTS + 2 n_predictors), NaN where missing.

        Best score, lead, mean and deviation of the first documents, log of their number; the means of each predictor
        over the first three and over the first ten.
        """
        order = query_order(self.query_ptr, -self.scores)
        scores = self.scores[order]
        sizes = np.diff(self.query_ptr)
        mean = np.nan_to_num(self._means(scores, DESCRIBED))
        squares = (scores - mean[query_rows(self.query_ptr)]) ** 2
        deviation = np.sqrt(np.nan_to_num(self._means(squares, DESCRIBED)))
        best, second = (
            np.append(scores, np.nan)[np.where(sizes > rank, self.query_ptr[:-1] + rank, -1)] for rank in (0, 1)
        )
        lead = np.where(np.isnan(second), 0.0, best - second)
        columns = [self._means(column, depth) for column in self.columns[order].T for depth in PROFILE]
        of_scores = [best, lead, mean, deviation, array_log1p(np.minimum(sizes, DESCRIBED))]
        return np.asarray(np.clip(np.column_stack([*of_scores, *columns]), -LARGEST_FLOAT32, LARGEST_FLOAT32))

    def _means(self, values: NDArray[Any], depth: int) -> Floats:
        """Return the mean of values by rank, (n_rows,), over the first documents of each list; NaN where missing."""
        some = (ranks(self.query_ptr) < depth) & ~np.isnan(values)
        query = query_rows(self.query_ptr)[some]
        n_queries = len(self.query_ptr) - 1
        counts = np.bincount(query, minlength=n_queries)
        totals = np.bincount(query, values[some].astype(np.float64), n_queries)
        return np.asarray(np.divide(totals, counts, out=np.full(n_queries, np.nan), where=counts > 0))


@dataclass(frozen=True, eq=False)
class ProbabilityMaps:
    """How lists of one kind become probabilities.

    standardizer      how descriptions of lists become inputs
    documents, lists  the probability of a document, and that of any document of a list
    unmatched         the greatest probability of a document without a term of the query, below all with one
    """

    standardizer: Standardizer
    documents: LogisticMap
    lists: LogisticMap
    unmatched: Annotated[float, Number(0.0, 1.0)]

    def probabilities(self, lists: ScoredLists) -> tuple[Floats, Floats]:
        """Return the probability of each document, and that of each list, 0 for an empty one."""
        described = lists.described()
        inputs = self.standardizer.inputs(described.astype(np.float32))
        documents = self.documents.probabilities(_document_inputs(lists, described, inputs))
        sizes = np.diff(lists.query_ptr)
        of_lists = np.where(sizes > 0, self.lists.probabilities(inputs), 0.0)
        n_matched = np.bincount(query_rows(lists.query_ptr), ~lists.unmatched, len(sizes))
        return (
            np.where(lists.below_matched(), np.minimum(documents, self.unmatched), documents),
            np.where(n_matched > 0, of_lists, np.minimum(of_lists, sizes * self.unmatched)),
        )

    def check_sizes(self, n_predictors: int) -> None:
        """Raise SchemaError unless the maps are those of lists with `n_predictors` predictors, and keep the order."""
        self.standardizer.check_sizes(LIST_INPUTS + len(PROFILE) * n_predictors, len(self.lists.coefficients) - 1)
        ordered = self.documents.coefficients[:ORDERED]
        if len(self.documents.coefficients) != ORDERED + len(self.lists.coefficients) or (ordered < 0.0).any():
            raise SchemaError("coefficients of all inputs, those of scores at least 0", "others", path="documents")


@dataclass(frozen=True, eq=False)
class Calibration:
    """How scores become probabilities, learned from queries that no model had seen.

    Parameters
    ----------
    target : float
        Least label of a relevant document; one without a judgement is not relevant.
    folds, n_queries, n_relevant : int
        Folds of the cross-validation, queries and relevant documents that were learned from.
    predictors : tuple of str
        Features whose means over the first documents describe a list.
    scale : Scale
        Scale of the model's scores of its training rows.
    candidates : ProbabilityMaps
        Maps for lists of the model's candidates.
    texts : ProbabilityMaps or None
        Maps for lists that are handed over, learned from BM25's first 20 documents; None where `candidates` is used.
    reliability : Reliability
        Reliability of documents' probabilities, each from maps learned without the document's fold.
    checksum : str
        Checksum of the model whose scores are calibrated.

    """

    target: float
    folds: Annotated[int, Whole(2, MOST)]
    n_queries: Annotated[int, Whole(1, MOST)]
    n_relevant: Annotated[int, Whole(1, MOST)]
    predictors: Annotated[tuple[str, ...], Names(may_be_empty=True)]
    scale: Scale
    candidates: ProbabilityMaps
    texts: ProbabilityMaps | None
    reliability: Reliability
    checksum: str

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"calibration by {self.n_relevant} relevant documents of {self.n_queries} queries: Brier score "
            f"{self.reliability.brier:.4f}, expected calibration error {self.reliability.error:.4f}"
        )

    def probabilities(self, data: RankingData, scores: Floats, texts: bool = False) -> Probabilities:
        """Return the probabilities of the documents of data with the model's scores (n_rows,) and of their lists.

        texts  whether the lists were handed over, and are not the model's candidates; lists of up to DESCRIBED
               documents are read alike: features that compare documents of a list have other values in short ones
        """
        lists = ScoredLists.of(data, self.scale.measured(scores), self.predictors)
        sizes = np.diff(data.query_ptr)
        of_documents = np.empty(data.n_rows)
        of_lists = np.empty(len(sizes))
        as_texts = np.full(len(sizes), self.texts is not None) & (texts | (sizes <= DESCRIBED))
        for maps, chosen in ((self.candidates, ~as_texts), (self.texts, as_texts)):
            if maps is not None and chosen.any():
                of_chosen = maps.probabilities(lists.select(np.flatnonzero(chosen)))
                of_documents[chosen[query_rows(data.query_ptr)]], of_lists[chosen] = of_chosen
        return Probabilities(in_order_of(scores, data.query_ptr, of_documents), of_lists)

    def check(self) -> None:
        """Raise SchemaError unless all parts belong together."""
        for name in ("candidates", "texts"):
            maps = getattr(self, name)
            if maps is not None:
                with at(name):
                    maps.check_sizes(len(self.predictors))
        bins = self.reliability
        shares = np.concatenate([bins.predicted, bins.observed, [bins.brier]])
        lengths = {len(bins.predicted), len(bins.observed), len(bins.counts)}
        if len(lengths) != 1 or ((shares < 0.0) | (shares > 1.0)).any() or (bins.counts < 1).any():
            raise SchemaError("shares and counts of bins", "others", path="reliability")


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What calibration learns from: lists of queries that their model had not seen.

    fold      of each query, (n_queries,) int64
    relevant  whether each row's label is at least `target`, (n_rows,)
    stripped  some of the lists without their relevant documents, as they are retrieved and scored then; None where the
              scores are those of the whole lists
    """

    lists: ScoredLists
    fold: Ints
    relevant: NDArray[np.bool_]
    target: float
    predictors: tuple[str, ...]
    stripped: OutOfFold | None = None

    def _rest(self, fold: int) -> Self:
        """Return the lists of all other folds."""
        queries = np.flatnonzero(self.fold != fold)
        rows = (self.fold != fold)[query_rows(self.lists.query_ptr)]
        stripped = None if self.stripped is None else self.stripped._rest(fold)
        return replace(
            self,
            lists=self.lists.select(queries),
            fold=self.fold[queries],
            relevant=self.relevant[rows],
            stripped=stripped,
        )

    def too_few(self) -> str:
        """Return why too little is relevant to learn from; empty where there is enough."""
        n_relevant = int(self.relevant.sum())
        n_lists = int(self._has_relevant().sum())
        if min(n_relevant, n_lists) >= LEAST_RELEVANT:
            return ""
        return (
            f"expected at least {LEAST_RELEVANT} queries with relevant documents among the candidates, got {n_lists} "
            f"with {n_relevant}. Judge more queries"
        )

    def fit(self, scale: Scale, checksum: str, texts: OutOfFold | None = None) -> Calibration:
        """Return the calibration of the model of a scale; raises InvalidInputError with too few relevant documents.

        texts  lists that are like those that are handed over; too few of them are not learned from
        """
        if self.too_few():
            raise InvalidInputError(f"calibration: {self.too_few()}.")
        probabilities = np.empty(len(self.relevant))
        for fold in np.unique(self.fold).tolist():
            held_out = self.fold == fold
            part = self.lists.select(np.flatnonzero(held_out))
            probabilities[held_out[query_rows(self.lists.query_ptr)]] = self._rest(fold).maps().probabilities(part)[0]
        of_texts = None if texts is None or texts.too_few() else texts.maps()
        return Calibration(
            self.target, len(np.unique(self.fold)), len(self.fold), int(self.relevant.sum()), self.predictors,
            scale, self.maps(), of_texts, Reliability.of(self.relevant, probabilities), checksum,
        )  # fmt: skip

    def _has_relevant(self) -> NDArray[np.bool_]:
        """Return whether each list has a relevant document, (n_queries,)."""
        return np.bincount(query_rows(self.lists.query_ptr)[self.relevant], minlength=len(self.fold)) > 0

    def maps(self) -> ProbabilityMaps:
        """Return how these lists become probabilities."""
        described = self.lists.described()
        standardizer = Standardizer.learn(described.astype(np.float32), np.arange(len(described)))
        of_lists = standardizer.inputs(described.astype(np.float32))
        inputs = _document_inputs(self.lists, described, of_lists)
        documents = LogisticMap.fit(inputs, self.relevant, ORDERED, shared=len(inputs) / max(len(self.fold), 1))
        # As if one more such candidate were as likely as the least likely one.
        n_relevant = self.relevant[self.lists.unmatched].sum() + documents.probabilities(inputs).min()
        unmatched = float(n_relevant / (self.lists.unmatched.sum() + 1))
        answered = self._has_relevant()
        if self.stripped is None:
            stripped = self.lists.without(self.relevant).select(np.flatnonzero(answered)).described()
        else:
            stripped = self.stripped.lists.described()
        both = np.concatenate([of_lists, standardizer.inputs(stripped.astype(np.float32))])
        positive = np.concatenate([answered, np.zeros(len(stripped), np.bool_)])
        weights = np.where(positive, 0.5 / max(positive.sum(), 1), 0.5 / max((~positive).sum(), 1)) * len(positive)
        return ProbabilityMaps(standardizer, documents, LogisticMap.fit(both, positive, 0, weights), unmatched)


def in_order_of(scores: Floats, query_ptr: Ints, probabilities: Floats) -> Floats:
    """Return probabilities (n_rows,) whose order within queries is that of the scores, both compared as float32.

    Where a lower score has no lower probability, it gets the float32 below that of the score before it: trec_eval,
    which orders equal scores by document id, then has the model's order.
    """
    if not len(scores):
        return probabilities
    with np.errstate(over="ignore"):
        keys = scores.astype(np.float32)
    order = query_order(query_ptr, -keys)
    query = query_rows(query_ptr)
    sorted_keys = keys[order]
    starts = np.append(True, (sorted_keys[1:] != sorted_keys[:-1]) | (query[1:] != query[:-1]))  # of equal scores
    first = np.flatnonzero(starts)
    bits = probabilities.astype(np.float32)[order].view(np.int32).astype(np.int64)  # ordered as the numbers are
    distinct = np.minimum.reduceat(bits, first)
    apart = np.arange(len(first)) - (query[first] << 33)
    lowered = np.minimum.accumulate(distinct + apart) - apart
    result = np.empty(len(order), np.float32)
    result[order] = lowered.astype(np.int32).view(np.float32)[np.cumsum(starts) - 1]
    return result.astype(np.float64)


def _document_inputs(lists: ScoredLists, described: Floats, of_lists: Floats) -> Floats:
    """Return the inputs of each document, (n_rows, ORDERED + n_inputs): those of its list follow its own."""
    query = query_rows(lists.query_ptr)
    best = described[query, 0]
    mean = described[query, 2]
    z_scores = (lists.scores - mean) / np.maximum(described[query, 3], FLATTEST)
    return np.column_stack([lists.scores, lists.scores - best, z_scores, of_lists[query]])
