"""The estimate of a training: its measure on queries that no model was trained on, by cross-validation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan

import numpy as np

from rerank.errors import log
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.significance import bootstrap_intervals
from rerank.features.extract import scores_in
from rerank.index.bound_model import slow_run_scores, texts_of_documents
from rerank.index.index import Index
from rerank.metrics.base import Measure
from rerank.rankers.bases import UnsupervisedBase
from rerank.rankers.last_stage import DEPTHS, Gain
from rerank.rankers.matching import HISTORY_PREFIX
from rerank.rankers.ranker import Ranker
from rerank.retrieval.candidates import Candidates
from rerank.training.cross_validation import (
    FoldHistories,
    FoldTraining,
    cross_validated,
    predicted,
    query_values,
)
from rerank.training.folds import FOLDS, folds_in_order, groups_by_id
from rerank.types import Floats, Qrels, RankingData, Run, Topics

DEFAULT_METRIC = "nDCG@10"  # of the estimate, for rankers without the parameter `metric`


@dataclass(frozen=True)
class Estimate:
    """The measure of models on queries that they were not trained on, and the measure of the candidates as retrieved.

    Parameters
    ----------
    measure : str
        Name of the measure.
    candidates, model : float
        Means over the queries that were learned from; judged ones without candidates count as 0.
    folds, n_queries : int
        Numbers of folds and of these queries.
    unsupervised : float or None
        Mean of the unsupervised ranking of the same documents, where models start from it.
    source : str
        Where the labels come from: "the teacher" or "the clicks"; "" for judgements.
    without_history : float or None
        The measure of the models on texts without ids, which lack features of similar judged queries; None for models
        without such features.
    scorer : Gain or None
        What the scorer of the index brings; None without one.
    low, high : float
        95 % bootstrap interval, between expanded percentiles, of the mean gain over the candidates.

    """

    measure: str
    candidates: float
    model: float
    folds: int
    n_queries: int
    unsupervised: float | None = None
    source: str = ""
    without_history: float | None = None
    scorer: Gain | None = None
    low: float = nan
    high: float = nan

    def __str__(self) -> str:
        """Return one line."""
        against = f" against {self.source}" if self.source else ""
        base = "" if self.unsupervised is None else f"unsupervised {self.unsupervised:.4f}, "
        alone = "" if self.without_history is None else f"; {self.without_history:.4f} on texts without ids"
        gain = f"{self.model - self.candidates:+.4f}, 95 % interval {self.low:+.4f} to {self.high:+.4f}"
        return (
            f"{self.measure}{against} by cross-validation in {self.folds} folds of {self.n_queries} queries: "
            f"candidates {self.candidates:.4f}, {base}model {self.model:.4f} ({gain})"
            f"{alone}{'' if self.scorer is None else f'; {self.scorer}'}"
        )

    def lesson(self) -> str:
        """Return what to do where the model is not better than what needs no training; "" where it is."""
        if self.unsupervised is not None and self.model <= self.unsupervised:
            return "The model is not better than `unsupervised`: judge more queries, or use that."
        if self.model <= self.candidates:
            return "The model is not better than its candidates: judge more queries."
        return ""

    def warn(self) -> None:
        """Log the estimate where the model is not better than what needs no training."""
        if lesson := self.lesson():
            log.warning("%s. %s", self, lesson)


def folds_of(data: RankingData, relevant: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the fold of each query; an empty dict where there are fewer groups of near duplicates than folds.

    data      queries in an order that does not depend on their ids (`by_text`)
    relevant  number of relevant documents of each query, by which the folds are stratified
    """
    groups = np.array(list(groups_by_id(data).values()))
    if len(np.unique(groups)) < FOLDS:
        return {}
    strata = None if relevant is None else np.array([relevant[query_id] for query_id in data])
    return dict(zip(data, folds_in_order(groups, FOLDS, 0, strata).tolist(), strict=True))


def is_estimable(sources: Candidates, feature_names: Sequence[str] = ()) -> bool:
    """Return whether folds hide the judgements of held-out queries; log that there is no estimate where they do not.

    feature_names  those of features that are not computed anew in each fold
    """
    if sources.is_learned:
        reading = "candidates", "Name other candidates, or run `rerank experiment`."
    elif any(name.startswith(HISTORY_PREFIX) for name in feature_names):
        reading = "features", "Leave it out (--no-history, Index.open(..., history=False))."
    else:
        return True
    log.warning(
        "estimate: expected %s that read no judgements, got those of a history, which holds judgements of held-out "
        "queries: there is no estimate. %s",
        *reading,
    )
    return False


def estimate_of(
    index: Index, training: FoldTraining, run: Run, measure: str, values: Callable[[Run], Floats]
) -> tuple[Estimate, list[Ranker], Run]:
    """Return the estimate by cross-validation, the models of the folds, and their run of the held-out queries.

    run     the candidates
    values  returns the measure of each query of a run, (n_queries,)
    """
    models, _, held_out_run = cross_validated(index, training, "estimate")
    base = models[0].base_
    data = training.data_of(0).data  # the base reads no features that differ between folds
    unsupervised = None
    if isinstance(base, UnsupervisedBase):
        unsupervised = float(values(training.data_of(0).ranking(data, base.scores(data))).mean())
    before, after = (values(ranking) for ranking in (run, held_out_run))
    low, high = bootstrap_intervals((after - before)[:, None])
    estimate = Estimate(
        measure,
        float(before.mean()),
        float(after.mean()),
        FOLDS,
        len(before),
        unsupervised,
        low=float(low[0]),
        high=float(high[0]),
    )
    return estimate, models, held_out_run


def mean_without_history(
    training: FoldTraining, models: Sequence[Ranker], values: Callable[[Run], Floats]
) -> float | None:
    """Return the mean measure of held-out queries whose documents are texts without ids; None without a history.

    Such texts lack features of similar judged queries.
    """
    if not isinstance(training.data_of, FoldHistories):
        return None
    of_fold = training.data_of(0)  # whose other features are the same in all folds
    X = of_fold.data.X.copy()
    X[:, [name.startswith(HISTORY_PREFIX) for name in of_fold.data.feature_names]] = np.nan
    unnamed = replace(training, data_of=replace(of_fold, data=replace(of_fold.data, X=X)))
    parts = map(unnamed.unseen, range(training.n_folds))
    run = Run.joined([of_fold.ranking(part, predicted(model, part)) for part, model in zip(parts, models, strict=True)])
    return float(values(run).mean())


def scorer_gain(
    index: Index, topics: Topics, run: Run, folds: Mapping[str, int], values: Callable[[Run], Floats]
) -> Gain | None:
    """Return what the scorer of an index brings to a run of held-out queries; None for an index without one.

    folds   of the judged queries
    values  returns the measure of each of them, in their order
    """
    scorer = index.scorer
    if scorer is None:
        return None
    slow = slow_run_scores(scorer, topics, run, DEPTHS[-1], partial(texts_of_documents, index, run))
    return Gain.of(scorer.name, run, slow, folds, values)


def judged_values(qrels: Qrels, measure: str, ranking: Run) -> Floats:
    """Return the measure of each judged query, (n_queries,), 0 for one without documents in the ranking."""
    per_query = evaluate(qrels, ranking, [measure], complete=True).per_query[measure]
    return np.array([per_query[query_id] for query_id in qrels])


def labelled_values(data: RankingData, measure: Measure, ranking: Run) -> Floats:
    """Return the measure of each query of data, (n_queries,), by its labels and the scores of a run."""
    return query_values(data, scores_in(ranking, data)[:, 0], measure)
