"""Learned fusion: weights of several runs, or trees on them, from judgements.

Weights w of at least 0 minimise

    mean over queries of C(F w) / (relevant documents) + strength / 2 |w - start|^2

F         of each run `deviations`, and the reciprocal rank in units of that of rank 1 (or one normalization alone, for
          engines that know no other); a missing document has 0, as the lowest of the run has
C         Plackett and Luce's cost (`rerank/objectives/lists.py`)
start     equal weights of the scores, 0 of the ranks: the sum of standard scores, which is strong without judgements
strength  of several the one that is best on held-out queries: with few queries the weights stay near equal ones

The minimum is found by Newton's steps within the bounds (`least_within_bounds`).
The second model is the convex combination of min-max scores whose weights, on a grid, have the best mean of the
measure. The two err differently, and few queries cannot tell which is better: the result is the sum of both, each
divided by its standard deviation within queries. The feature `judged` (below) is added
where this betters the measure on held-out folds by more than a standard error, with the weight of a grid that has the
best mean; the model then holds the judged queries. From 100 judged queries on, cross-validation decides whether trees
that start from the weights are better. For a given `judged`, a score does not fall where a run ranks or scores a
document higher.

    judged(q, d) = sum over judged queries p that are no near duplicates of q of cos(q, p) * label(p, d)

cos  cosine of the first 10 documents of both queries, each counted as 1 / log2(1 + rank); they are the first by
     reciprocal rank fusion of the first 100 documents of each run

Two queries are alike where the same documents come first for both; no text is read. Labels below 0 count as 0. Judged
queries are near duplicates where this cosine, or that of the sets of their relevant documents, is at least 0.8 (see
`rerank/features/near_duplicates.py`), or both are near duplicates of a third. They are in one fold, and a judged query,
which its id tells, is compared neither with itself nor with these: the labels of a query that a model was learned from
are not part of its own features, nor are those of its copies.

References
----------
S. Cetintas, L. Si and H. Yuan, Using past queries for resource selection, JASIST 2011.
K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002 (the discount).
S. Bruch, S. Gai and A. Ingber, An Analysis of Fusion Functions for Hybrid Retrieval, TOIS 42, 2023.
M. Montague and J. Aslam, Relevance score normalization for metasearch, CIKM 2001.

"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, log, unknown_name
from rerank.features.near_duplicates import near_groups
from rerank.files.inputs import QrelsLike, RunLike, qrels_of
from rerank.metrics.base import Measure, ranks
from rerank.metrics.registry import parse_measure
from rerank.objectives.lists import PlackettLuceObjective
from rerank.rankers.auto import Auto
from rerank.rankers.base_unit import deviation_in_queries
from rerank.rankers.base_weight import mean_and_error
from rerank.rankers.bases import ModelBase
from rerank.rankers.combination import complete_member
from rerank.rankers.imported import ImportedWeights
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.probability_map import least_within_bounds
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet, fold_of_queries
from rerank.rankers.validation import Validation
from rerank.retrieval.fusion import RRF_K, checked_runs
from rerank.retrieval.source_data import (
    JUDGED,
    OF_SOURCE,
    count_sources,
    data_names,
    source_data,
    source_directions,
    source_names,
)
from rerank.runtime.codec import Array, Names, SchemaError, Sizes
from rerank.runtime.elementary import array_log2
from rerank.runtime.products import cross_product, gram, product
from rerank.runtime.threads import kernel_threads
from rerank.types import Floats, Ints, Qrels, RankingData, Run, joined_rows, pointers, query_blocks, query_rows
from rerank.types.ids import Ids, id_array
from rerank.types.query_folds import numbered_groups
from rerank.types.query_rows import are_pointers, by_number

FEW = 100  # judged queries below which only weights are learned
DEPTH = 100  # documents of each run that are learned from, and that are fused to compare lists
FIRST = 10  # documents of a list that are compared by `judged`
ROWS_AT_ONCE = 1 << 18  # of runs that a model is applied to
LEARNED = "rerank fuse"  # the source of weights in model files
STRENGTHS = (np.inf, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)  # of infinity: equal weights
FOLDS = 5
REPEATS = 2
STEPS, MOST_SHARES = 10, 1001  # of the grid of convex combinations
FACTORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)  # of `judged`, both of deviation 1
TIE = 1e-12  # between means that are equal
NORMS: Mapping[str, tuple[str, ...]] = {"zscore": ("deviations",), "minmax": ("minmax",)}
BOTH = ("deviations", "reciprocal_rank")
SCALED = NORMS["minmax"]


class StoredIds(Names):
    """Different ids."""

    def read(self, value: object, sizes: Sizes) -> Ids:  # type: ignore[override]
        """Return the ids."""
        return id_array(list(super().read(value, sizes)))


@dataclass(frozen=True, eq=False)
class JudgedLists:
    """Judged queries: the first documents of each, and the documents that are relevant to it.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,) and dtype str
        Query ids, ascending.
    doc_ids : ndarray of shape (n_docs,) and dtype str
        Ids of all these documents, ascending.
    list_ptr, relevant_ptr : ndarray of shape (n_queries + 1,) and dtype int64
        Where the documents of each query begin.
    listed, relevant : ndarray of dtype int64
        Numbers of the documents: the first ones, best first, and the relevant ones.
    labels : ndarray of shape (n_relevant,) and dtype int64
        Labels of the relevant documents, above 0.

    """

    query_ids: Annotated[Ids, StoredIds()]
    doc_ids: Annotated[Ids, StoredIds()]
    list_ptr: Ints
    listed: Annotated[Ints, Array(np.int64, low=0)]
    relevant_ptr: Ints
    relevant: Annotated[Ints, Array(np.int64, low=0)]
    labels: Annotated[Ints, Array(np.int64, low=1)]

    @classmethod
    def of(cls, data: RankingData, qrels: Qrels) -> Self:
        """Return the queries with relevant documents of the features of several runs (`source_data`)."""
        judged = qrels.select(qrels.query_numbers(np.sort(data.query_ids).tolist()))
        relevant = judged.labels > 0
        counts = np.bincount(query_rows(judged.query_ptr)[relevant], minlength=len(judged))
        query_ids = judged.query_ids[counts > 0]
        counts = counts[counts > 0]
        list_ptr, firsts = _first_documents(data.select(data.query_numbers(query_ids.tolist())))
        doc_ids, documents = np.unique(np.concatenate([firsts, judged.doc_ids[relevant]]), return_inverse=True)
        return cls(
            query_ids=query_ids,
            doc_ids=doc_ids,
            list_ptr=list_ptr,
            listed=documents[: len(firsts)],
            relevant_ptr=pointers(counts),
            relevant=documents[len(firsts) :],
            labels=judged.labels[relevant],
        )

    def added(self, data: RankingData) -> RankingData:
        """Return data with the feature `judged`; 0 of documents that are relevant to no query with a similar list."""
        values = self.relevance(data).astype(np.float32)
        return replace(data, X=np.column_stack([data.X, values]), feature_names=(*data.feature_names, JUDGED))

    def relevance(self, data: RankingData) -> Floats:
        """Return `judged` of each row, (n_rows,) float64."""
        list_ptr, firsts = _first_documents(data)
        own = _numbers(self.query_ids, data.query_ids).tolist()
        listed = _numbers(self.doc_ids, firsts)
        discounts = _unit_discounts(list_ptr)
        docs = _numbers(self.doc_ids, data.doc_ids)
        out = np.zeros(data.n_rows)
        for query in range(len(data)):
            first = list_ptr[query]
            places = first + np.flatnonzero(listed[first : list_ptr[query + 1]] >= 0)
            place, judged, weights = _joined(self._postings, listed[places])
            cosines = np.bincount(judged, discounts[places[place]] * weights, len(self.query_ids))
            if own[query] >= 0:
                cosines[self.groups == self.groups[own[query]]] = 0.0
            first = data.query_ptr[query]
            rows = first + np.flatnonzero(docs[first : data.query_ptr[query + 1]] >= 0)
            row, judged, labels = _joined(self._judgements, docs[rows])
            out[rows] = np.bincount(row, cosines[judged] * labels, len(rows))
        return out

    @cached_property
    def groups(self) -> Ints:
        """Group of near duplicates of each query, (n_queries,)."""
        by_list = near_groups(_unit_discounts(self.list_ptr), self.listed, self.list_ptr)
        group, first = numbered_groups(by_list)
        counts = np.diff(self.relevant_ptr)
        return near_groups(np.repeat(1.0 / np.sqrt(counts), counts), self.relevant, self.relevant_ptr, first[group])

    @cached_property
    def _postings(self) -> tuple[Ints, Ints, Floats]:
        """Of each document, pointers to the queries that list it first, and their weights."""
        ptr, order = by_number(self.listed, len(self.doc_ids))
        return ptr, query_rows(self.list_ptr)[order], _unit_discounts(self.list_ptr)[order]

    @cached_property
    def _judgements(self) -> tuple[Ints, Ints, Floats]:
        """Of each document, pointers to the queries that it is relevant to, and the labels."""
        ptr, order = by_number(self.relevant, len(self.doc_ids))
        return ptr, query_rows(self.relevant_ptr)[order], self.labels[order].astype(np.float64)

    def check(self) -> None:
        """Raise SchemaError unless all parts belong together."""
        for name in ("query_ids", "doc_ids"):
            ids = getattr(self, name)
            if (ids[1:] <= ids[:-1]).any():
                raise SchemaError("ids in ascending order", "others", path=name)
        if len(self.labels) != len(self.relevant):
            raise SchemaError(f"{len(self.relevant)} values", str(len(self.labels)), path="labels")
        n_docs = len(self.doc_ids)
        for name, rows in (("list_ptr", "listed"), ("relevant_ptr", "relevant")):
            pointer = getattr(self, name)
            documents = getattr(self, rows)
            if not are_pointers(pointer, len(self.query_ids), len(documents)):
                raise SchemaError(f"rising numbers from 0 to {len(documents)}", "others", path=name)
            if (documents >= n_docs).any():
                raise SchemaError(f"whole numbers from 0 to {n_docs - 1}", "others", path=rows)


def _first_documents(data: RankingData) -> tuple[Ints, Ids]:
    """Return the first documents of each query by reciprocal rank fusion, best first, as pointers and ids."""
    rank, reciprocal = (
        data.X[:, [number for number, name in enumerate(data.feature_names) if name.endswith(ending)]]
        for ending in (".rank", ".reciprocal_rank")
    )
    fused = np.where(rank <= DEPTH, reciprocal, 0.0).sum(axis=1, dtype=np.float64)
    firsts = data.run(fused).head(FIRST)
    return firsts.query_ptr, firsts.doc_ids


def _unit_discounts(query_ptr: Ints) -> Floats:
    """Return 1 / log2(1 + rank) of each row, over the length of its query's vector."""
    discounts = 1.0 / array_log2(2.0 + ranks(query_ptr))
    query = query_rows(query_ptr)
    squares = np.bincount(query, discounts**2, len(query_ptr) - 1)
    return discounts / np.sqrt(squares)[query]


def _numbers(known: Ids, ids: Ids) -> Ints:
    """Return the number of each id among known ones, which ascend; -1 of others."""
    place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return np.where(known[place] == ids, place, -1)


def _joined(of_documents: tuple[Ints, Ints, Floats], docs: Ints) -> tuple[Ints, Ints, Floats]:
    """Return the entries of some documents, by number, and first the position among them of each entry's document."""
    ptr, queries, values = of_documents
    rows, ends = joined_rows(ptr[docs], np.diff(ptr)[docs])
    return query_rows(ends), queries[rows], values[rows]


def learn_fusion(
    runs: Sequence[RunLike],
    qrels: QrelsLike,
    metric: str | Measure = "nDCG@10",
    *,
    norm: str | None = None,
    trees: bool | None = None,
    judged: bool = True,
    random_state: int = 0,
) -> Ranker:
    """Learn how to fuse several runs from judgements.

    Parameters
    ----------
    runs : sequence of Run, {qid: {docid: score}} or path
        Two or more runs of the same queries; the model is applied to runs of the same systems, in the same order.
    qrels : Qrels, mapping or path
        Judgements of some of the queries.
    metric : str or Measure
        What the choices inside the training queries are made by.
    norm : str, optional
        `minmax` or `zscore`: weights of these scores alone, e.g. to export them for a search engine; by default
        standard scores, reciprocal ranks and min-max scores.
    trees : bool, optional
        Whether trees that start from the weights are tried; None is yes from 100 judged queries on, and no where a
        norm is given.
    judged : bool
        Whether queries may be compared with the judged ones. The model then holds their ids, the ids of their first
        and their relevant documents, and the labels. A norm has no such part.
    random_state : int
        Seed of the folds.

    Returns
    -------
    Ranker
        Weights of at least 0, or a `Fusion` that also has trees, judged queries or both; the log says which.
        `save` writes it, `apply_fusion` fuses runs.

    Raises
    ------
    InvalidInputError
        Where no judged query has a relevant document among those of the runs, for a run without a judged query, where
        scores are equal within the queries of all runs, and for what `source_data` refuses.

    """
    if norm is not None and norm not in NORMS:
        raise unknown_name("norm", norm, NORMS)
    of_judged = source_data(runs, qrels, DEPTH)
    data = of_judged.select(_learned_queries(of_judged))
    features = BOTH if norm is None else NORMS[norm]
    _check_coverage(data)
    known = JudgedLists.of(of_judged, qrels_of(qrels))
    lists = None
    groups = known.groups[_numbers(known.query_ids, data.query_ids)]
    data = replace(data, query_groups=groups)
    measure = parse_measure(metric)
    weights = _learned_weights(data, features, measure, random_state)
    if norm is None and judged:
        with_judged = known.added(data)
        weight = _weight_of_judged(with_judged, weights.predict(data), measure, random_state)
        if weight:
            lists = known
            data = with_judged
            weights = _weights([*weights.weights_, weight], with_judged)
    tried = norm is None and len(np.unique(groups)) >= FEW if trees is None else trees
    if tried:
        model = Fusion.with_trees(weights, data, metric, random_state)
        if model.members_:
            model.judged_ = lists
            return model
    return weights if lists is None else Fusion.of(weights, lists, measure)


def _learned_queries(data: RankingData) -> Ints:
    """Return the numbers of the queries with relevant and other documents; refuse data without one."""
    relevant = np.zeros(data.n_rows) if data.labels is None else data.labels > 0
    positive = np.bincount(query_rows(data.query_ptr), relevant, len(data))
    known = np.flatnonzero((positive > 0) & (positive < np.diff(data.query_ptr)))
    if not len(known):
        raise InvalidInputError(
            "qrels: expected a judged query with relevant and other documents in the runs, got none. Check that runs "
            "and qrels have the same query and document ids."
        )
    return known


@register("fusion", is_trained=False)
class Fusion(Auto):
    """A learned fusion: weights of the runs as the base, trees that start from them, and judged queries.

    Attributes
    ----------
    judged_ : JudgedLists or None
        The judged queries that a query is compared with; their feature is added to data that lack it.

    """

    learned: ClassVar[Mapping[str, Any]] = {**Auto.learned, "judged": JudgedLists | None}
    judged_: JudgedLists | None = None

    @classmethod
    def of(cls, weights: ImportedWeights, judged: JudgedLists, measure: Measure) -> Fusion:
        """Return the fusion of weights alone, which were chosen by a measure."""
        model = cls(metric=measure.name)
        complete_member(weights, model)
        model.base_ = ModelBase(weights)
        nothing = {"best_iteration": 0, "evals_result": {}, "members": [], "weights": np.empty(0), "choices": {}}
        model._restore({**nothing, "chosen": "base", "judged": judged})
        return model

    @classmethod
    def with_trees(
        cls, weights: ImportedWeights, data: RankingData, metric: str | Measure, random_state: int
    ) -> Fusion:
        """Return trees that start from the weights; without a tree where they are not better in cross-validation."""
        trees = LambdaMART(
            metric=metric, random_state=random_state, monotone_constraints=source_directions(data.feature_names)
        )
        model = cls(members=[trees], base=weights, metric=metric, random_state=random_state).fit(data)
        chosen = "trees that start from the weights" if model.members_ else "the weights, as trees are not better"
        log.info("fusion: %s, by cross-validation of %d queries.", chosen, len(data))
        return model

    def _matching(self, data: RankingData) -> RankingData:
        lacks_judged = JUDGED not in data.feature_names and {*data.feature_names} >= {*self.feature_names_[:-1]}
        return super()._matching(self.judged_.added(data) if self.judged_ is not None and lacks_judged else data)

    def _check_learned(self) -> None:
        super()._check_learned()
        made = data_names(count_sources(self.feature_names_))
        if tuple(self.feature_names_) != (made if self.judged_ is None else (*made, JUDGED)):
            raise SchemaError("the features of runs in their order", "others")

    def _warn_of_nothing(self) -> None:
        """Say nothing: weights without trees are a good result."""


def _check_coverage(data: RankingData) -> None:
    """Refuse a run that ranks nothing for the queries that are learned from, and runs whose scores say nothing."""
    names = source_names(count_sources(data.feature_names))
    empty = [number for number, name in enumerate(names, 1) if np.isnan(data.column(f"{name}.{OF_SOURCE[0]}")).all()]
    if empty:
        raise InvalidInputError(
            f"runs: expected documents of judged queries in each, got none in run {empty[0]} of {len(names)}. Give a "
            "run of the judged queries, or leave it out."
        )
    if not _informative(data).any():
        raise InvalidInputError(
            "runs: expected scores that differ within a query, got equal ones in all runs. Give runs with scores."
        )


def _informative(data: RankingData) -> NDArray[np.bool_]:
    """Return whether each run says something, (n_runs,): not where several documents are equal in all queries.

    Equal documents of a query have deviations of 1.
    """
    return np.array(
        [
            bool((np.nan_to_num(data.column(f"{name}.{BOTH[0]}"), nan=1.0) != 1.0).any())
            or np.nan_to_num(data.column(f"{name}.{OF_SOURCE[0]}")).max() <= 1.0
            for name in source_names(count_sources(data.feature_names))
        ]
    )


def apply_fusion(model: Ranker | str | Path, runs: Sequence[RunLike], name: str = "fusion") -> Run:
    """Return one run of several by a model of `learn_fusion`.

    Parameters
    ----------
    model : Ranker or path
        The model, or its file.
    runs : sequence of Run, {qid: {docid: score}} or path
        Runs of the systems that the model was learned from, in the same order. A query or a document that a run does
        not hold is missing there.
    name : str
        Name of the new run.

    Returns
    -------
    Run
        All documents of the runs; `head(k)` cuts it.

    Raises
    ------
    ModelMismatchError
        If the model was learned from another number of runs, or from the same ones in another order.

    """
    model = fitted_model(model)
    records = checked_runs(runs)
    _check_sources(model, records)
    if isinstance(model, Fusion) and model.judged_ is not None:
        shared = set(model.judged_.query_ids.tolist()) & {query_id for run in records for query_id in run}
        if shared:
            log.info("fusion: %d queries have ids of judged ones; they do not read the labels of these.", len(shared))
    query_ids = list(dict.fromkeys(query_id for run in records for query_id in run))
    sizes = [
        sum(run.rows(query_id).stop - run.rows(query_id).start for run in records if query_id in run)
        for query_id in query_ids
    ]
    parts = []
    for first, last in query_blocks(pointers(sizes), ROWS_AT_ONCE):
        some = [run.select(run.query_numbers(query_ids[first:last])) for run in records]
        if any(run.n_rows for run in some):
            parts.append(model.rank(source_data(some), name=name))
    return Run.joined(parts)


def _check_sources(model: Ranker, runs: Sequence[Run]) -> None:
    """Refuse another number of runs than those of training, and those in another order."""
    names = tuple(model.feature_names_)
    count = count_sources(names)
    if count < 2 or not set(names) >= {f"{name}.{OF_SOURCE[0]}" for name in source_names(count)}:
        raise ModelMismatchError(
            "model: expected one that was learned from runs, got one of other features. Learn it with "
            "`rerank fuse --learn QRELS`."
        )
    if count != len(runs):
        raise ModelMismatchError(
            f"runs: expected the {count} runs that the model was learned from, got {len(runs)}. Give one of each "
            "system, in the order of training."
        )
    made = [model.run_retrievers_.get(name) for name in source_names(count)]
    applied = [run.retriever for run in runs]
    tags = [str(retriever) for retriever in made]
    if made != applied and len(set(tags)) == count and set(tags) == {str(retriever) for retriever in applied}:
        raise ModelMismatchError(
            f"runs: expected the order of training ({', '.join(tags)}), got {', '.join(map(str, applied))}. Give them "
            "in that order."
        )


@dataclass(frozen=True, eq=False)
class _Problem:
    """Queries with their inputs: what is minimised, see above."""

    train: TrainingSet
    inputs: Floats
    start: Floats

    @classmethod
    def of(cls, data: RankingData, features: Sequence[str]) -> _Problem:
        """Return the problem of all queries."""
        train = TrainingSet.of(data, np.zeros(data.n_rows))
        names = [
            f"{name}.{feature}" for feature in features for name in source_names(count_sources(data.feature_names))
        ]
        columns = [data.feature_names.index(name) for name in names]
        informative = np.tile(_informative(data), len(features))
        inputs = np.nan_to_num(data.X[train.order][:, columns].astype(np.float64)) * _units(names) * informative
        start = np.array([float(not name.endswith(BOTH[1])) for name in names])
        return cls(train, inputs, start * inputs.any(axis=0))

    def select(self, queries: Ints) -> _Problem:
        """Return some of the queries."""
        sizes = np.diff(self.train.query_ptr)[queries]
        rows, _ = joined_rows(self.train.query_ptr[queries], sizes)
        return replace(self, train=self.train.select(queries), inputs=self.inputs[rows])

    def solve(self, strength: float, weights: Floats) -> Floats:
        """Return the weights of the minimum, found from others."""
        train = self.train
        query = query_rows(self.train.query_ptr)
        relevant = np.maximum(np.bincount(query[train.labels > 0], minlength=len(train.weights)), 1)
        objective = PlackettLuceObjective(
            train.query_ptr, train.weights / relevant / max(float(train.weights.sum()), 1e-30), train.labels
        )
        grad, hess = np.empty((2, len(self.inputs)))

        def cost(at: Floats) -> float:
            away = at - self.start
            scores = product(self.inputs, at)
            return objective.cost_and_gradients(scores, grad, hess) + 0.5 * strength * float((away * away).sum())

        def derivatives(at: Floats) -> tuple[Floats, Floats]:
            objective.gradients(product(self.inputs, at), grad, hess)
            slope = cross_product(self.inputs, grad[:, None])[:, 0] + strength * (at - self.start)
            return slope, gram(self.inputs, hess) + strength * np.eye(len(at))

        return least_within_bounds(cost, derivatives, weights, np.ones(len(weights), np.bool_))


def _units(names: Sequence[str]) -> Floats:
    """Return what the features are multiplied by as inputs: a reciprocal rank of 1 / 61 is 1."""
    return np.array([RRF_K + 1.0 if name.endswith(BOTH[1]) else 1.0 for name in names])


def _convex_combinations(data: RankingData, measure: Measure) -> tuple[Floats, Floats]:
    """Return convex combinations of min-max scores on a grid, of the runs whose scores say something, and their values.

    Steps are the finest that are not too many. Shares (n_combinations, n_runs), each sums to 1; the measure of each
    query, (n_combinations, n_queries).
    """
    problem = _Problem.of(data, SCALED)
    n_runs = count_sources(data.feature_names)
    steps = max((n for n in range(1, STEPS + 1) if comb(n + n_runs - 1, n) <= MOST_SHARES), default=1)
    bars = np.array(list(combinations(range(steps + n_runs - 1), n_runs - 1)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, steps + n_runs - 1)))
    shares = (np.diff(edges) - 1) / steps
    if problem.start.any():
        shares = shares[shares[:, problem.start == 0.0].sum(axis=1) == 0.0]
    validation = Validation(problem.train, measure)
    return shares, np.array([validation.values(product(problem.inputs, share)) for share in shares])


def _best(values: Floats) -> Ints:
    """Return which settings have the best mean over the queries, equal but for rounding, of (n_settings, n_queries)."""
    means = values.mean(axis=1)
    return np.flatnonzero(means >= means.max() - TIE)


def _learned_weights(data: RankingData, features: Sequence[str], measure: Measure, seed: int) -> ImportedWeights:
    """Return the weights of the strength that is best on held-out queries, with those of the convex combination."""
    problem = _Problem.of(data, features)
    n_queries = len(data)
    with kernel_threads(1):  # threads would wait for one another longer than they compute
        strength = _best_strength(problem, measure, seed)
        inputs = problem.start if np.isinf(strength) else problem.solve(strength, problem.start)
        stored = _scaled(problem, inputs, features)
        if n_queries >= 2 * FOLDS and features != NORMS["zscore"]:
            shares, values = _convex_combinations(data, measure)
            shares = shares[_best(values)]
            most_even = shares[np.square(shares).sum(axis=1).argmin()]
            for name, weight in _scaled(_Problem.of(data, SCALED), most_even, SCALED).items():
                stored[name] = stored.get(name, 0.0) + weight
    log.info("fusion: weights %s.", ", ".join(f"{name} {weight:.3f}" for name, weight in stored.items() if weight))
    return _weights([stored.get(name, 0.0) for name in data.feature_names], data)


def _weights(weights: Sequence[float], data: RankingData) -> ImportedWeights:
    """Return a ranker of weights of the features of data."""
    model = ImportedWeights.of(weights, data.feature_names, LEARNED)
    model.run_retrievers_ = dict(data.run_retrievers)
    return model


def _weight_of_judged(data: RankingData, scores: Floats, measure: Measure, seed: int) -> float:
    """Return the weight of `judged` in the sum with the runs' scores; 0 where it is not better on held-out folds.

    The factor of the grid that is best on the other folds has to better a fold's queries by more than a standard error,
    in which a group of near duplicates is one query.
    """
    judged = data.column(JUDGED)
    train = TrainingSet.of(data, np.zeros(data.n_rows))
    _, group, sizes = np.unique(train.groups, return_inverse=True, return_counts=True)
    if not judged.any() or len(sizes) < 2 * FOLDS:
        return 0.0
    unit = deviation_in_queries(scores, data.query_ptr) / np.sqrt(np.mean(judged * judged))
    validation = Validation(train, measure)
    fold = fold_of_queries(FOLDS, train, seed)
    values = np.array([validation.values((scores + factor * unit * judged)[train.order]) for factor in FACTORS])
    held_out = np.empty(len(data))
    for number in range(FOLDS):
        held_out[fold == number] = values[_best(values[:, fold != number])[0], fold == number]
    gain, error = mean_and_error(np.bincount(group, held_out - values[0]) / sizes, sizes.astype(np.float64))
    factor = FACTORS[_best(values)[0]] if gain > error else 0.0
    log.info(
        "fusion: judged queries with similar lists %s: %s %+.4f on held-out queries, standard error %.4f.",
        f"are compared, factor {factor:g}" if factor else "are not used",
        measure.name,
        gain,
        error,
    )
    return float(factor * unit)


def _scaled(problem: _Problem, weights: Floats, features: Sequence[str]) -> dict[str, float]:
    """Return weights of inputs as those of features, of scores with a standard deviation of 1 within queries."""
    deviation = deviation_in_queries(product(problem.inputs, weights), problem.train.query_ptr)
    names = [f"{name}.{feature}" for feature in features for name in source_names(len(weights) // len(features))]
    scaled = weights * _units(names) / (deviation or 1.0)
    return dict(zip(names, scaled.tolist(), strict=True))


def _best_strength(problem: _Problem, measure: Measure, seed: int) -> float:
    """Return the best strength by cross-validation; infinity, which is equal weights, where there are few queries."""
    if len(np.unique(problem.train.groups)) < 2 * FOLDS:
        return float(np.inf)
    values = np.zeros(len(STRENGTHS))
    for repeat in range(REPEATS):
        fold = fold_of_queries(FOLDS, problem.train, seed + repeat)
        for number in range(FOLDS):
            rest = problem.select(np.flatnonzero(fold != number))
            held = problem.select(np.flatnonzero(fold == number))
            validation = Validation(held.train, measure)
            weights = problem.start
            for place, strength in enumerate(STRENGTHS):
                weights = weights if np.isinf(strength) else rest.solve(strength, weights)
                values[place] += float(validation.values(product(held.inputs, weights)).sum())
    return float(STRENGTHS[int(np.argmax(values))])
