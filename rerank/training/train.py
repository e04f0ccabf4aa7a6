"""Training from an index: candidates, features, early stopping, and an estimate by cross-validation.

By default, candidates are the union of all sources that need no judgements, and the ranker starts from the unsupervised
sum of scores. With few judged queries the ranker is Auto, whose linear ranker and trees together rank better than trees
alone (docs/benchmarks.md); with more it is LambdaMART.

Labels are judgements, the clicks of a log (clicks.py), or the scores of a teacher (teacher.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError, log
from rerank.features.recipe import Recipe
from rerank.files.inputs import QrelsLike, TopicsLike, qrels_of, topics_of
from rerank.index.index import Index, opened
from rerank.index.input_checks import log_judged, log_unknown
from rerank.metrics.registry import named, parse_measure
from rerank.rankers.calibration import RELEVANT, OutOfFold, Scale
from rerank.rankers.ranker import Ranker
from rerank.retrieval.candidates import DEPTH, RERANKED, Candidates
from rerank.training.calibration_lists import calibration_lists, without_relevant
from rerank.training.clicks import labelled_by_clicks
from rerank.training.cross_validation import FoldData, FoldTraining
from rerank.training.defaults import LEARNER, default_model, default_ranker
from rerank.training.estimate import (
    DEFAULT_METRIC,
    Estimate,
    estimate_of,
    folds_of,
    is_estimable,
    judged_values,
    labelled_values,
    mean_without_history,
    scorer_gain,
)
from rerank.training.folds import LEAST_QUERIES
from rerank.training.inputs import (
    TRAINED,
    TrainingInputs,
    in_order_of_texts,
    judged_queries,
    sources_of,
    with_depth_of_history,
)
from rerank.training.teacher import with_gains
from rerank.training.tuning import Tuning, check_tuning, fit_best
from rerank.types import RankingData, Run, Topics
from rerank.types.ids import warn_apart

NEEDED = {  # what is expected of labels that nobody has judged, and the remedy
    Run: (
        f"teacher: expected at least {LEAST_QUERIES} topics with different scores of their candidates",
        "Let it rank the candidates of more topics (`rerank retrieve`).",
    ),
    Clicks: (
        f"clicks: expected candidates of at least {LEAST_QUERIES} topics in the log",
        "Give a longer log, or more topics of it.",
    ),
}


class Trained(NamedTuple):
    """A trained model and its estimate.

    Attributes
    ----------
    model : Ranker
        The model.
    estimate : Estimate or None
        The measure on held-out queries; None without one, with fewer than five judged queries that have candidates, and
        where folds do not hide the judgements of held-out queries: with candidates of a history, or its features with
        labels of a teacher or of clicks.

    """

    model: Ranker
    estimate: Estimate | None


def train(
    index: Index | str | Path,
    topics: TopicsLike,
    labels: QrelsLike | Run | Clicks,
    model: Ranker | None = None,
    *,
    candidates: Candidates | str | None = None,
    k: int = DEPTH,
    depth: int = TRAINED,
    recipe: Recipe | None = None,
    tuning: Tuning | None = None,
    estimate: bool = True,
    target: float = RELEVANT,
) -> Trained:
    """Train a model on candidates of an index, and estimate its quality on held-out queries.

    The model stores the sources of its candidates and the recipe of its features. For early stopping, a fifth of the
    queries is held out, at random but stratified by the number of relevant documents. All queries are used for training
    if the ranker cross-validates by itself, or if there are fewer than 300 queries and the number of trees is not
    given.

    Parameters
    ----------
    index : Index or path
        The index, or its folder.
    topics : Topics, mapping, DataFrame or path
        Topics; those without labels are left out.
    labels : Qrels, mapping, DataFrame or path; Run; or Clicks
        Judgements, where an unjudged document counts as label 0; the run of a teacher, another system whose order is
        learned; or a log of clicks, read with these topics. Candidates that a teacher has not scored are not learned
        from; candidates that a log has not shown are learned from only with 300 logged queries or more, see
        `click_labels`.
    model : Ranker or None
        Ranker to fit. None for `Auto(base="unsupervised")` with fewer than 300 queries, and for
        `LambdaMART(base="unsupervised")` with more, with clicks, or with `tuning`.
    candidates : Candidates, str or None
        Sources of the candidates, see `Index.search`. None for the union of BM25, RM3 and, if the index has vectors,
        the nearest documents (`bm25:k,rm3:k,lsi:200`).
    k : int
        Number of candidates per query, from each source whose depth is not given.
    depth : int
        Number of documents per query and source to train on; the top ones are used. Of several sources, the model
        reranks the first 200 documents of each, or as many if these are more; with a history of 300 judged queries or
        more, which knows relevant documents far below, all.
    recipe : Recipe or None
        The features; None for the default recipe, with features of similar judged queries, which the model then holds.
    tuning : Tuning or None
        How the ranker's parameters are searched, except those whose values are not the defaults. The estimate searches
        again on the training queries of each fold. All queries are then used for training.
    estimate : bool
        Whether to estimate the metric on held-out queries by cross-validation, which trains five more models: nDCG@10
        of a teacher's gains or of the values of a click model. With judgements, the scores of queries that the models
        had not seen also calibrate the model where at least 20 queries have relevant documents among the candidates:
        see `Ranker.probabilities`.
    target : float
        Least label of a document that counts as relevant in these probabilities.

    Returns
    -------
    Trained
        The model and its estimate.

    Raises
    ------
    InvalidInputError
        If fewer than ten topics have labels of their candidates, or none has a relevant document; or for tuning without
        judgements.

    """
    topics = topics_of(topics)
    with opened(index) as searched:
        sources = sources_of(searched, candidates, k, max(depth, RERANKED))
        inputs = TrainingInputs(searched, topics, None, recipe, depth, keep_sources=candidates is not None)
        if not isinstance(labels, Run | Clicks):
            if tuning is not None:
                check_tuning(tuning, model or default_model(LEARNER))
            judged, qrels = judged_queries(topics, qrels_of(labels))
            inputs = replace(inputs, topics=judged, qrels=qrels)
            trained = _train_on_judgements(inputs, sources, model, tuning, estimate, target)
        elif tuning is not None:
            raise InvalidInputError("tuning: expected judgements, got another run or clicks. Leave the option out.")
        else:
            trained = _train_without_judgements(inputs, sources, model, labels, estimate)
        trained.model.statistics_ = searched.statistics(trained.model)
        return trained


def _train_on_judgements(
    inputs: TrainingInputs,
    sources: Candidates,
    model: Ranker | None,
    tuning: Tuning | None,
    estimate: bool,
    target: float,
) -> Trained:
    """Return a model of judged queries, which is calibrated if its quality is estimated and enough is judged."""
    qrels = inputs.judgements
    if len(qrels) < LEAST_QUERIES:
        raise InvalidInputError(
            f"qrels: expected at least {LEAST_QUERIES} judged queries to learn from, got {len(qrels)}. Judge more, or "
            "rank with the model unsupervised, which needs none."
        )
    if model is None:
        model = default_model(default_ranker(len(qrels)) if tuning is None else LEARNER)  # Auto cannot be tuned
    measure = named(model.get_params(deep=False).get("metric") or DEFAULT_METRIC)
    run = inputs.index.search(inputs.topics, candidates=sources)
    inputs = inputs.with_history().checked(model.base, run)
    sources = with_depth_of_history(sources, inputs.index, len(qrels))
    data = inputs.data(run, sources.k)
    log_judged(data, qrels)
    log_unknown(inputs.index.forward, qrels, data)
    folds = folds_of(data, {query_id: sum(label > 0 for label in qrels[query_id].values()) for query_id in data})
    on_all = tuning is not None or model.learns_from_all(len(data))
    estimated = scored = None
    if estimate and folds and is_estimable(sources):
        of_folds = inputs.of_folds(run, sources.k, data, folds)
        training = FoldTraining(of_folds, folds, partial(fit_best, model, tuning), on_all)
        values = partial(judged_values, qrels, measure)
        estimated, models, held_out_run = estimate_of(inputs.index, training, run, measure, values)
        fold_of = {query_id: folds.get(query_id, 0) for query_id in qrels}  # any fold where there is no candidate
        gain = scorer_gain(inputs.index, inputs.topics, held_out_run, fold_of, values)
        estimated = replace(estimated, without_history=mean_without_history(training, models, values), scorer=gain)
        estimated.warn()
        irrelevant = without_relevant(run, qrels, target)
        stripped = inputs.data(irrelevant, sources.k) if len(irrelevant) else None
        scored = calibration_lists(training, models, target, stripped, inputs.as_texts(data, sources))
    if tuning is not None:
        model.set_params(**tuning.search(model, data).parameters)
    learned = fit_with_stop(model, data, {} if on_all else folds)
    model.history_ = inputs.history
    if estimated is not None and estimated.scorer is not None:
        model.last_stage_ = estimated.scorer.stage
    if scored is not None:
        _calibrate(model, learned, *scored)
    return Trained(model, estimated)


def _calibrate(model: Ranker, learned: RankingData, candidates: OutOfFold, texts: OutOfFold | None) -> None:
    """Learn how the scores of a model become probabilities, where enough is judged."""
    try:
        model.calibration_ = candidates.fit(Scale.of(model.predict(learned)), model.checksum(), texts)
    except InvalidInputError as error:
        log.warning("%s The model has no probabilities, which min_score and abstain need.", error)


def _train_without_judgements(
    inputs: TrainingInputs, sources: Candidates, model: Ranker | None, labels: Run | Clicks, estimate: bool
) -> Trained:
    """Return a model of a teacher's gains, or of the labels of a log's clicks."""
    labelled = labels if isinstance(labels, Run) else set(labels.query_ids[np.unique(labels.query)].tolist())
    topics = Topics(
        {query_id: text for query_id, text in in_order_of_texts(inputs.topics).items() if query_id in labelled}
    )
    warn_apart("topics", inputs.topics, labelled)
    learned = measured = None  # the data to learn from, and those whose labels the estimate measures
    run = Run.of({})
    if len(topics):
        inputs = replace(inputs, topics=topics)
        run = inputs.index.search(topics, candidates=sources)
        data = inputs.checked(model and model.base, run).data(run, sources.k)
        if isinstance(labels, Run):
            learned = measured = with_gains(data, labels)
        else:
            learned, measured = labelled_by_clicks(labels, data)
    if learned is None or measured is None or len(learned) < LEAST_QUERIES:
        needed, remedy = NEEDED[Run if isinstance(labels, Run) else Clicks]
        raise InvalidInputError(f"{needed}, got {0 if learned is None else len(learned)}. {remedy}")
    if model is None:
        model = default_model(default_ranker(len(learned)) if isinstance(labels, Run) else LEARNER)
    folds = folds_of(learned)
    on_all = model.learns_from_all(len(learned))
    estimated = None
    if estimate and folds and is_estimable(sources, learned.feature_names):
        training = FoldTraining(FoldData(learned), folds, partial(fit_best, model, None), on_all)
        values = partial(labelled_values, measured, parse_measure(DEFAULT_METRIC))
        estimated, _, _ = estimate_of(inputs.index, training, run, DEFAULT_METRIC, values)
        estimated = replace(estimated, source="the teacher" if isinstance(labels, Run) else "the clicks")
        estimated.warn()
    fit_with_stop(model, learned, {} if on_all else folds)
    return Trained(model, estimated)


def fit_with_stop(model: Ranker, data: RankingData, folds: Mapping[str, int]) -> RankingData:
    """Fit a model, and return the data that it was trained on: all without folds, otherwise all but the first fold.

    The first fold then stops the training.
    """
    is_stop = np.array([folds.get(query_id) == 0 for query_id in data], dtype=np.bool_)
    train = data.select(np.flatnonzero(~is_stop)) if is_stop.any() else data
    model.fit(train, eval_set=data.select(np.flatnonzero(is_stop)) if is_stop.any() else None)
    return train
