"""Learned fusion: weights of several runs, or trees on them, from judgements.

Weights of least cost and the best convex combination of scores (`fusion_weights.py`) err differently, and few queries
cannot tell which is better: the result is the sum of both, each divided by its standard deviation within queries. The
feature `judged` (`lists_of_judged_queries.py`) is added where this betters the measure on held-out folds by more than a
standard error, with the weight of a grid that has the best mean; the model then holds the judged queries. From 100
judged queries on, cross-validation decides whether trees that start from the weights are better. For a given `judged`,
a score does not fall where a run ranks or scores a document higher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError, log, unknown_name
from rerank.files.inputs import QrelsLike, RunLike, qrels_of
from rerank.metrics.base import Measure
from rerank.metrics.registry import parse_measure
from rerank.rankers.auto import Auto
from rerank.rankers.base_unit import deviation_in_queries
from rerank.rankers.base_weight import mean_and_error
from rerank.rankers.bases import ModelBase
from rerank.rankers.combination import complete_member
from rerank.rankers.fusion_weights import (
    BOTH,
    FOLDS,
    NORMS,
    best_settings,
    informative_sources,
    learned_weights,
    weights_model,
)
from rerank.rankers.imported_weights import ImportedWeights
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.lists_of_judged_queries import LEARNED_DEPTH, JudgedLists
from rerank.rankers.ranker import Ranker, fitted_model
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet, fold_of_queries
from rerank.rankers.validation import Validation
from rerank.retrieval.fusion import checked_runs
from rerank.retrieval.source_data import (
    JUDGED,
    OF_SOURCE,
    count_sources,
    data_names,
    source_data,
    source_directions,
    source_names,
)
from rerank.runtime.fields import SchemaError
from rerank.runtime.sums import mean
from rerank.types import Floats, Ints, RankingData, Run, pointers, query_blocks, query_rows
from rerank.types.query_rows import positions_among

LEAST_FOR_MODEL = 100  # judged queries below which only weights are learned
ROWS_AT_ONCE = 1 << 18  # of runs that a model is applied to
FACTORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)  # of `judged`, both of deviation 1


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
        The measure that decides between alternatives in cross-validation of the training queries.
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
    of_judged = source_data(runs, qrels, LEARNED_DEPTH)
    data = of_judged.select(_learned_queries(of_judged))
    _check_coverage(data)
    known = JudgedLists.of(of_judged, qrels_of(qrels))
    lists = None
    groups = known.groups[positions_among(known.query_ids, data.query_ids)]
    data = replace(data, query_groups=groups)
    measure = parse_measure(metric)
    weights = learned_weights(data, BOTH if norm is None else NORMS[norm], measure, random_state)
    if norm is None and judged:
        with_judged = known.added(data)
        weight = _weight_of_judged(with_judged, weights.predict(data), measure, random_state)
        if weight:
            lists = known
            data = with_judged
            weights = weights_model([*weights.weights_, weight], with_judged)
    tried = norm is None and len(np.unique(groups)) >= LEAST_FOR_MODEL if trees is None else trees
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
    if not informative_sources(data).any():
        raise InvalidInputError(
            "runs: expected scores that differ within a query, got equal ones in all runs. Give runs with scores."
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
    unit = deviation_in_queries(scores, data.query_ptr) / np.sqrt(mean(judged * judged))
    validation = Validation(train, measure)
    fold = fold_of_queries(FOLDS, train, seed)
    values = np.array([validation.values((scores + factor * unit * judged)[train.order]) for factor in FACTORS])
    held_out = np.empty(len(data))
    for number in range(FOLDS):
        held_out[fold == number] = values[best_settings(values[:, fold != number])[0], fold == number]
    gain, error = mean_and_error(np.bincount(group, held_out - values[0]) / sizes, sizes.astype(np.float64))
    factor = FACTORS[best_settings(values)[0]] if gain > error else 0.0
    log.info(
        "fusion: judged queries with similar lists %s: %s %+.4f on held-out queries, standard error %.4f.",
        f"are compared, factor {factor:g}" if factor else "are not used",
        measure.name,
        gain,
        error,
    )
    return float(factor * unit)
