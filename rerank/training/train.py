"""Training from an index: candidates, features, early stopping, and an estimate by cross-validation.

By default, candidates are the union of all sources that need no judgements, and the ranker starts from the unsupervised
sum of scores. With few judged queries the ranker is Auto, whose linear ranker and trees together rank better than trees
alone (docs/benchmarks.md); with more it is LambdaMART.

Labels are judgements, the clicks of a log (clicks.py), or the scores of a teacher.

Distillation: a ranker learns the order of a teacher, another system's run over queries that nobody has judged.

A teacher's scores, of a cross-encoder or a language model, are comparable within a query only. They become gains of a
scale of five grades without steps: 2^(4 s) - 1, s from 0 for the query's lowest score to 1 for its highest. LambdaMART
then moves most what the teacher prefers most (as in distillation by ranks; Tang and Wang, Ranking Distillation, KDD
2018). Candidates that the teacher has not scored are not learned from: it has not said that they are worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError, log
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.significance import bootstrap_intervals
from rerank.features.extract import scores_in
from rerank.features.families.performance import PerformanceFeatures
from rerank.features.recipe import Recipe
from rerank.files.inputs import QrelsLike, TopicsLike, qrels_of, topics_of
from rerank.files.rows import joined_parts
from rerank.history.history import History
from rerank.index.bound_model import slow_run_scores, texts_of_documents
from rerank.index.checks import log_judged, log_unknown
from rerank.index.index import Index, opened
from rerank.index.unsupervised import default_candidates
from rerank.metrics.base import Measure, ranks
from rerank.metrics.registry import named, parse_measure
from rerank.rankers.bases import UNSUPERVISED, UnsupervisedBase
from rerank.rankers.boosted import FEW
from rerank.rankers.calibration import RELEVANT, OutOfFold, Scale, ScoredLists
from rerank.rankers.last_stage import DEPTHS, Gain
from rerank.rankers.matching import HISTORY
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import ranker_class
from rerank.retrieval.base import DEPTH, Candidates, UnionRun
from rerank.training.clicks import labelled_by_clicks
from rerank.training.folds import (
    FOLDS,
    LEAST_QUERIES,
    FoldData,
    FoldHistories,
    FoldTraining,
    Tuning,
    assign_folds,
    cross_validated,
    fit_best,
    groups_by_id,
    groups_of_topics,
    histories_of_folds,
    predicted,
    query_values,
)
from rerank.types import Floats, Qrels, RankingData, Run, Topics, query_blocks, query_rows
from rerank.types.ids import same_ids, written_apart
from rerank.types.retriever import BM25, CONTENTS

STRIPPED = 500  # queries whose features are computed once more without their relevant documents
TRAINED = 100  # documents of each query and source
AS_TEXTS = 20  # documents of a query that are ranked as if they were texts without an index
BLOCK_ROWS = 1 << 16  # rows whose features are computed at once, of which few are kept
GRADES = 4.0  # greatest grade of a teacher's gains; the least is 0
LEARNER = "lambdamart"  # of many judged queries, of clicks, and where hyper-parameters are tuned
DEFAULT_METRIC = "nDCG@10"  # of the estimate, for rankers without the parameter `metric`
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
# Features that calibration reads: they are comparable between queries.
PREDICTORS = tuple(
    f"{name}.{CONTENTS}"
    for name in (
        *(feature.name for feature in PerformanceFeatures.listed),
        *("bm25", "covered_ratio", "lm_dirichlet", "vector_space", "similarity_10", "rm3_10"),
    )
)


def _scored_lists(
    training: FoldTraining,
    models: Sequence[Ranker],
    target: float,
    stripped: RankingData | None,
    texts: RankingData | None,
) -> tuple[OutOfFold, OutOfFold | None]:
    """Return what calibration learns from, with scores of models that had not seen the queries: candidates, and texts.

    models    of the folds
    target    least label of a relevant document
    stripped  features of `without_relevant`; None where no query has relevant candidates
    texts     of `TrainingInputs.as_texts`; None for a model that cannot rank texts
    """
    scales = [Scale.of(predicted(model, training.train_and_stop(fold)[0])) for fold, model in enumerate(models)]

    def lists_of(data_of: Callable[[int], FoldData]) -> OutOfFold:
        return _out_of_fold(replace(training, data_of=data_of), models, scales, target)

    candidates = lists_of(training.data_of)
    if stripped is not None:
        candidates = replace(candidates, stripped=lists_of(FoldData(stripped)))
    return candidates, None if texts is None else lists_of(FoldData(texts))


def without_relevant(run: Run, qrels: Qrels, target: float) -> Run:
    """Return a run without its relevant documents, of the first queries that have both relevant and other ones."""
    stripped = _stripped(run, qrels, target)
    sizes = np.diff(stripped.query_ptr)
    return stripped.select(np.flatnonzero((sizes > 0) & (sizes < np.diff(run.query_ptr)))[:STRIPPED])


def _stripped(run: Run, qrels: Qrels, target: float) -> Run:
    """Return a run without relevant documents, and so the runs of its sources, if it is a union."""
    irrelevant = qrels.lookup(run.query_ids, run.query_ptr, run.doc_ids)[0] < target
    stripped = run.of_rows(np.flatnonzero(irrelevant))
    if isinstance(stripped, UnionRun):
        sources = {name: _stripped(source, qrels, target) for name, source in stripped.sources.items()}
        return replace(stripped, sources=sources)
    return stripped


def _out_of_fold(training: FoldTraining, models: Sequence[Ranker], scales: Sequence[Scale], target: float) -> OutOfFold:
    """Return the lists of each fold with the scores of the model that had not seen them.

    scales  those of the models' scores of their training rows
    """
    predictors = tuple(name for name in PREDICTORS if name in models[0].feature_names_)
    unseen = [training.unseen(fold) for fold in range(training.n_folds)]
    lists = [
        ScoredLists.of(data, scale.measured(predicted(model, data)), predictors)
        for data, model, scale in zip(unseen, models, scales, strict=True)
    ]
    relevant = [data.labels >= target if data.labels is not None else np.empty(0, np.bool_) for data in unseen]
    fold_of = np.repeat(np.arange(training.n_folds), [len(data) for data in unseen])
    return OutOfFold(ScoredLists.joined(lists), fold_of, np.concatenate(relevant), target, predictors)


@dataclass(frozen=True)
class Estimate:
    """The measure of the training on queries that no model was trained on, and that of the candidates as retrieved.

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
        What the labels are those of: "the teacher" or "the clicks"; "" for judgements.
    without_history : float or None
        That of the models on texts without ids, which lack features of similar judged queries; None for models without
        such features.
    scorer : Gain or None
        What the scorer of the index brings; None without one.
    noise : float or None
        Standard deviation of `model` over values of `random_state`, measured in one fold: a smaller difference of two
        estimates says nothing. None for models that draw nothing.
    low, high : float
        95 % percentile bootstrap interval of the mean gain over the candidates, from the queries' differences.

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
    noise: float | None = None
    low: float = nan
    high: float = nan

    def __str__(self) -> str:
        """Return one line."""
        against = f" against {self.source}" if self.source else ""
        base = "" if self.unsupervised is None else f"unsupervised {self.unsupervised:.4f}, "
        alone = "" if self.without_history is None else f"; {self.without_history:.4f} on texts without ids"
        noise = "" if self.noise is None else f", standard deviation over random states {self.noise:.4f}"
        gain = f"{self.model - self.candidates:+.4f}, 95 % interval {self.low:+.4f} to {self.high:+.4f}{noise}"
        return (
            f"{self.measure}{against} by cross-validation in {self.folds} folds of {self.n_queries} queries: "
            f"candidates {self.candidates:.4f}, {base}model {self.model:.4f} ({gain})"
            f"{alone}{'' if self.scorer is None else f'; {self.scorer}'}"
        )

    def lesson(self) -> str:
        """Return what to do where the model is not better than what needs no training; "" where it is."""
        if self.model <= (self.unsupervised or 0.0):
            return "The model is not better than `unsupervised`: judge more queries, or use that."
        if self.model <= self.candidates:
            return "The model is not better than its candidates: judge more queries."
        return ""

    def warn(self) -> None:
        """Log the estimate where the model is not better than what needs no training."""
        if lesson := self.lesson():
            log.warning("%s. %s", self, lesson)


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
        from; those that a log has not shown are with 300 logged queries or more, see `click_labels`.
    model : Ranker or None
        Ranker to fit. None for `Auto(base="unsupervised")` with fewer than 300 queries, and for
        `LambdaMART(base="unsupervised")` with more, with clicks, or with `tuning`.
    candidates : Candidates, str or None
        Sources of the candidates, see `Index.search`. None for the union of BM25, RM3 and, if the index has vectors,
        the nearest documents (`bm25:k,rm3:k,lsi:200`).
    k : int
        Number of candidates per query, from each source whose depth is not given.
    depth : int
        Number of documents per query and source to train on; the top ones are used.
    recipe : Recipe or None
        The features; None for the default recipe, with features of similar judged queries, which the model then holds.
    tuning : Tuning or None
        How the ranker's parameters are searched, those that are not the defaults apart. The estimate searches again on
        the training queries of each fold. All queries are then used for training.
    estimate : bool
        Whether to estimate the metric on held-out queries by cross-validation, which trains five more models: nDCG@10
        of a teacher's gains or of the values of a click model. With judgements, the scores of queries that the models
        had not seen also calibrate the model where at least 20 queries have relevant documents among the candidates:
        see `Ranker.probabilities`.
    target : float
        Least label of a document whose probability that is.

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
        sources = sources_of(searched, candidates, k)
        inputs = TrainingInputs(searched, topics, None, recipe, depth, keep_sources=candidates is not None)
        if not isinstance(labels, Run | Clicks):
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
    inputs = inputs.with_history()
    data = inputs.data(run, sources.k)
    log_judged(data, qrels)
    log_unknown(inputs.index.forward, qrels, data)
    folds = _folds(data, {query_id: sum(label > 0 for label in qrels[query_id].values()) for query_id in data})
    on_all = tuning is not None or model.learns_from_all(len(data))
    estimated = scored = None
    if estimate and folds and _is_estimable(sources):
        data_of = inputs.of_folds(run, sources.k, data, folds)
        training = FoldTraining(data_of, folds, partial(fit_best, model, tuning), on_all)
        values = partial(_judged_values, qrels, measure)
        estimated, models, held_out_run = _estimate(inputs.index, training, run, measure, values)
        gain = scorer_gain(inputs.index, inputs.topics, qrels, held_out_run, folds, measure)
        unnamed = _run_without_history(training, models) if isinstance(data_of, FoldHistories) else None
        without_history = None if unnamed is None else float(values(unnamed).mean())
        estimated = replace(estimated, without_history=without_history, scorer=gain)
        estimated.warn()
        irrelevant = without_relevant(run, qrels, target)
        stripped = inputs.data(irrelevant, sources.k) if len(irrelevant) else None
        scored = _scored_lists(training, models, target, stripped, inputs.as_texts(data, sources))
    if tuning is not None:
        model.set_params(**tuning.search(model, data).parameters)
    learned = fit_with_stop(model, data, {} if on_all else folds)
    model.history_ = inputs.history
    if estimated is not None and estimated.scorer is not None:
        model.last_stage_ = estimated.scorer.stage
    if scored is not None:
        candidates, texts = scored
        try:
            model.calibration_ = candidates.fit(Scale.of(model.predict(learned)), model.checksum(), texts)
        except InvalidInputError as error:
            log.warning("%s The model has no probabilities, which min_score and abstain need.", error)
    return Trained(model, estimated)


def _train_without_judgements(
    inputs: TrainingInputs, sources: Candidates, model: Ranker | None, labels: Run | Clicks, estimate: bool
) -> Trained:
    """Return a model of a teacher's gains, or of the labels of a log's clicks."""
    labelled = labels if isinstance(labels, Run) else set(labels.query_ids[np.unique(labels.query)].tolist())
    topics = Topics({query_id: text for query_id, text in inputs.topics.items() if query_id in labelled})
    learned = measured = None  # the data to learn from, and those whose labels the estimate measures
    run = Run.of({})
    if len(topics):
        inputs = replace(inputs, topics=topics)
        run = inputs.index.search(topics, candidates=sources)
        data = inputs.data(run, sources.k)
        if isinstance(labels, Run):
            learned = measured = with_gains(data, labels)
        else:
            learned, measured = labelled_by_clicks(labels, data)
    if learned is None or measured is None or len(learned) < LEAST_QUERIES:
        needed, remedy = NEEDED[Run if isinstance(labels, Run) else Clicks]
        raise InvalidInputError(f"{needed}, got {0 if learned is None else len(learned)}. {remedy}")
    if model is None:
        model = default_model(default_ranker(len(learned)) if isinstance(labels, Run) else LEARNER)
    folds = _folds(learned)
    on_all = model.learns_from_all(len(learned))
    estimated = None
    if estimate and folds and _is_estimable(sources, learned.feature_names):
        training = FoldTraining(FoldData(learned), folds, partial(fit_best, model, None), on_all)
        values = partial(_labelled_values, measured, parse_measure(DEFAULT_METRIC))
        estimated, _, _ = _estimate(inputs.index, training, run, DEFAULT_METRIC, values)
        estimated = replace(estimated, source="the teacher" if isinstance(labels, Run) else "the clicks")
        estimated.warn()
    fit_with_stop(model, learned, {} if on_all else folds)
    return Trained(model, estimated)


def with_gains(data: RankingData, teacher: Run) -> RankingData:
    """Return the rows of data that a teacher has scored, with its gains as labels.

    Queries whose scores are all equal are left out. Raises InvalidInputError for scores that are not finite.
    """
    scores = scores_in(teacher, data)[:, 0]
    if np.isinf(scores).any():
        raise InvalidInputError("teacher: expected finite scores, got infinite ones. Correct the run.")
    known = np.flatnonzero(~np.isnan(scores))
    scored = data.of_rows(known)
    query = query_rows(scored.query_ptr)
    low = np.full(len(scored), np.inf)
    high = np.full(len(scored), -np.inf)
    np.minimum.at(low, query, scores[known])
    np.maximum.at(high, query, scores[known])
    shares = (scores[known] - low[query]) / np.where(high > low, high - low, 1.0)[query]
    return replace(scored, labels=np.exp2(GRADES * shares) - 1.0).select(np.flatnonzero(high > low))


def _folds(data: RankingData, relevant: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the fold of each query; an empty dict where there are fewer groups of near duplicates than folds.

    relevant  number of relevant documents of each query
    """
    groups = groups_by_id(data)
    return assign_folds(data, FOLDS, 0, relevant, groups) if len(set(groups.values())) >= FOLDS else {}


def _is_estimable(sources: Candidates, feature_names: Sequence[str] = ()) -> bool:
    """Return whether folds hide the judgements of held-out queries; log that there is no estimate where they do not.

    feature_names  those of features that are not computed anew in each fold
    """
    if sources.is_learned:
        reading = "candidates", "Name other candidates, or run `rerank experiment`."
    elif any(name.startswith(HISTORY) for name in feature_names):
        reading = "features", "Leave it out (Index.open(..., history=False))."
    else:
        return True
    log.warning(
        "estimate: expected %s that read no judgements, got those of a history, which holds judgements of held-out "
        "queries: there is no estimate. %s",
        *reading,
    )
    return False


def default_model(name: str) -> Ranker:
    """Return the ranker of a name with its defaults, which starts from the unsupervised ranking."""
    ranker: Ranker = ranker_class(name)(base=UNSUPERVISED)
    return ranker


def default_ranker(n_queries: int) -> str:
    """Return the name of the ranker that is trained for a number of judged queries where none is named.

    Clicks train LambdaMART for any number of queries: of few queries only the first documents are learned from, and a
    linear ranker that has seen no others can rank those badly.
    """
    return "auto" if n_queries < FEW else LEARNER


@dataclass(frozen=True, eq=False)
class TrainingInputs:
    """What features and labels for training are computed from; candidates are given to the methods.

    qrels         None for labels that are not judgements
    depth         documents of each query and source to train on
    keep_sources  whether scores and ranks in the sources are features; a model without them also ranks texts and
                  candidates of other systems
    history       judged queries that features come from, which the model will hold; None for a model without
    """

    index: Index
    topics: Topics
    qrels: Qrels | None
    recipe: Recipe | None
    depth: int
    keep_sources: bool
    history: History | None = None

    @property
    def judgements(self) -> Qrels:
        """`qrels`, or empty ones in place of None."""
        return Qrels.of({}) if self.qrels is None else self.qrels

    def data(self, run: Run, k: int | None) -> RankingData:
        """Return the features of the best `depth` documents of each source, computed among all candidates.

        k  depth of the candidates that the data, and so the model, store; None where each source has its own
        """
        run = run.take(run.trec_order())
        parts = []
        for first, last in query_blocks(run.query_ptr, BLOCK_ROWS):
            some = run.select(range(first, last))
            chosen = np.flatnonzero(among_first(some, self.depth))
            if not self.keep_sources and isinstance(some, UnionRun):
                some = some.without_sources()
            parts.append(self.index.features(some, self.topics, self.qrels, recipe=self.recipe).of_rows(chosen))
        data = joined_parts(parts)
        topics = Topics({query_id: self.topics[query_id] for query_id in data})
        data = replace(data, query_groups=groups_of_topics(self.index, topics))
        return data if data.retriever is None else replace(data, retriever=replace(data.retriever, depth=k))

    def with_history(self) -> TrainingInputs:
        """Return the inputs with a history of the judged queries, unless a recipe is given or the index has its own."""
        if self.recipe is not None or self.index.history is not None or not self.index.learns_history:
            return self
        history = History.learn(self.index, self.topics, self.judgements)
        return replace(self, index=self.index.using(history=history), history=history)

    def of_folds(
        self, run: Run, k: int | None, data: RankingData, folds: Mapping[str, int]
    ) -> Callable[[int], FoldData]:
        """Return what returns the data of a fold, in which held-out queries are not in the history.

        data  of `data`, with the history of all queries: one that is learned here, or that of the index
        """
        history = self.index.history
        if history is None or not any(name.startswith(HISTORY) for name in data.feature_names):
            return FoldData(data)
        terms = self.index.searcher.analyze([self.topics[name] for name in folds])
        others = histories_of_folds(history, self.index.forward, terms, folds)

        def features(history: History, recipe: Recipe) -> RankingData:
            return replace(self, index=self.index.using(history=history), recipe=recipe).data(run, k)

        return FoldHistories.of(FoldData(data), others, features)

    def as_texts(self, data: RankingData, sources: Candidates) -> RankingData | None:
        """Return the features of BM25's first documents, computed among these alone, as those of texts are.

        None for a recipe with runs, which texts do not have, and for data without a recipe.
        """
        recipe = None if data.recipe is None else Recipe.from_dict(data.recipe)
        if recipe is None or recipe.runs:
            return None
        bm25 = Candidates.parse(BM25, AS_TEXTS, k1=sources.k1, b=sources.b, field=sources.field)
        topics = Topics({query_id: self.topics[query_id] for query_id in data})
        run = self.index.candidates_of(self.index.retrieve(topics, bm25))
        found = self.index.features(run, self.topics, self.qrels, recipe=recipe)
        # given as the model's own candidates, so that it does not warn of others
        return replace(found, retriever=data.retriever, run_retrievers=data.run_retrievers)


def among_first(run: Run, depth: int) -> NDArray[np.bool_]:
    """Return whether each row is among the best `depth` documents of its query in any source, (n_rows,)."""
    if not isinstance(run, UnionRun):
        return np.asarray(ranks(run.query_ptr) < depth)
    best = (source.take(source.trec_order()).head(depth) for source in run.sources.values())
    return np.asarray(np.any([~np.isnan(scores_in(source, run)[:, 0]) for source in best], axis=0))


def sources_of(index: Index, candidates: Candidates | str | None, k: int) -> Candidates:
    """Return the sources of candidates with their depths; None is the union of those that need no judgements."""
    if candidates is None:
        return default_candidates(index, k)
    return candidates if isinstance(candidates, Candidates) else Candidates.parse(candidates, k)


def judged_queries(topics: Topics, qrels: Qrels) -> tuple[Topics, Qrels]:
    """Return the topics that have judgements, and their judgements; refuse topics of which none has any."""
    judged = {query_id: text for query_id, text in topics.items() if query_id in qrels}
    if not judged:
        raise InvalidInputError(
            f"qrels: expected judgements of the topics, got none (a topic is {next(iter(topics))!r}, a judged query "
            f"{next(iter(qrels), 'none')!r}). {same_ids(topics, qrels)}"
        )
    without = len(topics) - len(judged)
    if without:
        log.info("topics: %d of %d have no judgements and are left out.", without, len(topics))
        if apart := written_apart(topics, qrels):
            log.warning("topics: %s", apart)
    return Topics(judged), Qrels.of({query_id: qrels[query_id] for query_id in judged})


def _estimate(
    index: Index, training: FoldTraining, run: Run, measure: str, values: Callable[[Run], Floats]
) -> tuple[Estimate, list[Ranker], Run]:
    """Return the estimate by cross-validation, the models of the folds, and their run of the held-out queries.

    run     the candidates
    values  returns the measure of each query of a run, (n_queries,)
    """
    models, _, held_out_run = cross_validated(index, training, "estimate")
    base = models[0].base_
    data = training.data_of(0).data  # the base reads no features that differ between folds
    unsupervised = float(values(data.run(base.scores(data))).mean()) if isinstance(base, UnsupervisedBase) else None
    before, after = (values(ranking) for ranking in (run, held_out_run))
    noise = noise_of(training, models[0], values)
    low, high = bootstrap_intervals((after - before)[:, None])
    estimate = Estimate(
        measure,
        float(before.mean()),
        float(after.mean()),
        FOLDS,
        len(before),
        unsupervised,
        noise=noise,
        low=float(low[0]),
        high=float(high[0]),
    )
    return estimate, models, held_out_run


def noise_of(training: FoldTraining, model: Ranker, values: Callable[[Run], Floats]) -> float | None:
    """Return the standard deviation of an estimate over random states, from one fold; None for models without one.

    Training the model of the first fold twice more takes 2 / folds of the estimate's time. Folds vary alone: the
    variance of their sum is that of one times their number.

    model   of the first fold
    values  returns the measure of each query of a run, (n_queries,), 0 for queries of the other folds
    """
    if "random_state" not in model.parameter_fields:
        return None
    training = replace(training, data_of=training.data_of(0))
    train, stop = training.train_and_stop(0)
    unseen = training.unseen(0)
    seed = model.get_params(deep=False)["random_state"] or 0
    others = (model.unfitted_copy().set_params(random_state=seed + number) for number in (1, 2))
    drawn = [model, *(other.fit(train, eval_set=stop) for other in others)]
    means = [values(unseen.run(predicted(each, unseen))).mean() for each in drawn]
    return float(np.std(means, ddof=1) * np.sqrt(training.n_folds))


def _run_without_history(training: FoldTraining, models: Sequence[Ranker]) -> Run:
    """Return the run of the held-out queries as texts without ids, which lack features of similar judged queries."""
    data = training.data_of(0).data  # the other features are the same in all folds
    X = data.X.copy()
    X[:, [name.startswith(HISTORY) for name in data.feature_names]] = np.nan
    unnamed = replace(training, data_of=FoldData(replace(data, X=X)))
    parts = map(unnamed.unseen, range(training.n_folds))
    return Run.joined([part.run(predicted(model, part)) for part, model in zip(parts, models, strict=True)])


def scorer_gain(
    index: Index, topics: Topics, qrels: Qrels, run: Run, folds: Mapping[str, int], measure: str
) -> Gain | None:
    """Return what the scorer of an index brings to a run of held-out queries; None for an index without one.

    folds  of the queries; judged ones without candidates may be missing
    """
    scorer = index.scorer
    if scorer is None:
        return None
    slow = slow_run_scores(scorer, topics, run, DEPTHS[-1], partial(texts_of_documents, index, run))
    folds = {query_id: folds.get(query_id, 0) for query_id in qrels}  # any fold: those without candidates count as 0
    return Gain.of(scorer.name, run, slow, folds, partial(_judged_values, qrels, measure))


def _judged_values(qrels: Qrels, measure: str, ranking: Run) -> Floats:
    """Return the measure of each judged query, (n_queries,), 0 for one without documents in the ranking."""
    per_query = evaluate(qrels, ranking, [measure], complete=True).per_query[measure]
    return np.array([per_query[query_id] for query_id in qrels])


def _labelled_values(data: RankingData, measure: Measure, ranking: Run) -> Floats:
    """Return the measure of each query of data, (n_queries,), by its labels and the scores of a run."""
    return query_values(data, scores_in(ranking, data)[:, 0], measure)


def fit_with_stop(model: Ranker, data: RankingData, folds: Mapping[str, int]) -> RankingData:
    """Fit a model, and return the data that it was trained on: all without folds, otherwise all but the first fold.

    The first fold then stops the training.
    """
    is_stop = np.array([folds.get(query_id) == 0 for query_id in data], dtype=np.bool_)
    train = data.select(np.flatnonzero(~is_stop)) if is_stop.any() else data
    model.fit(train, eval_set=data.select(np.flatnonzero(is_stop)) if is_stop.any() else None)
    return train
