"""Features learned from judgements in a study: for each fold from its training queries only.

What a study computes once: candidates, features, and the runs of systems that learn nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.experiments.study import (
    FIRST_STAGE,
    FUSED,
    NO_BASE,
    OF_BM25,
    RUN,
    Study,
    StudyInputs,
    learns_from_all,
    new_model,
    study_candidates,
    study_features,
)
from rerank.features.extract import column_plan
from rerank.features.recipe import Recipe, family
from rerank.history.history import History
from rerank.index.index import Index
from rerank.pipeline.rerank import rerank
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import UNSUPERVISED, UnsupervisedBase
from rerank.retrieval.base import Candidates, Part, source
from rerank.retrieval.fusion import fuse
from rerank.runtime.progress import InOrder
from rerank.training.folds import (
    FoldData,
    FoldTraining,
    SameData,
    Workers,
    assign_folds,
    given_folds,
    stop_fold,
    training_size,
)
from rerank.training.tuning import Tuning, fit_best
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.types.retriever import BM25


@dataclass(eq=False)
class FoldHistories:
    """Data of a study whose learned features are those of one fold at a time.

    Parameters
    ----------
    index : Index
        The index.
    run : Run
        The candidates; those of BM25 if a source of the study is learned.
    topics, qrels : Topics, Qrels
        The judged queries and their judgements.
    study : Study
        Settings.

    """

    index: Index
    run: Run
    topics: Topics
    qrels: Qrels
    study: Study
    _computed: tuple[FoldData, Recipe] | None = None

    def of_folds(self, folds: Mapping[str, int]) -> tuple[list[History], Callable[[int], FoldData]]:
        """Return the history of each fold, and a function that returns the data of a fold by its history.

        The features that the function returned for the fold before are overwritten.
        """
        from_all = learns_from_all(self.study, self.study.ranker, training_size(folds))
        learned = History.learn(self.index, self.topics, self.qrels, threads=self.study.threads)
        histories = [learned.of_queries(train) for train in training_queries(self.run, folds, from_all)]
        if is_learned(self.study.candidates):
            return histories, LearnedCandidates(self.index, self.topics, self.qrels, self.study, histories)
        self._computed = self._computed or self._features(histories[0])
        given, recipe = self._computed
        columns = [
            self.index.using(history=each).features(self.run, self.topics, recipe=recipe).X for each in histories
        ]
        return histories, LearnedData(given, tuple(recipe.features or ()), histories, columns)

    def _features(self, learned: History) -> tuple[FoldData, Recipe]:
        """Return the data with the features learned in one fold, and the recipe of these."""
        index = self.index.using(history=learned)
        given = study_features(index, self.run, self.topics, self.qrels, self.study)
        return given, _learned_recipe(index, given.data)


@dataclass(frozen=True, eq=False)
class LearnedData:
    """Data whose learned features are those of one fold at a time.

    given      of any fold, which are overwritten
    names      of the learned features
    histories  of each fold
    columns    (n_rows, n_learned) float32 of each fold
    """

    given: FoldData
    names: Sequence[str]
    histories: Sequence[History]
    columns: Sequence[NDArray[np.float32]]

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        data = self.given.data
        learned = self.histories[fold]
        data.X[:, [data.feature_names.index(name) for name in self.names]] = self.columns[fold]
        return replace(self.given, data=replace(data, recipe={**(data.recipe or {}), "history": learned.checksum}))


@dataclass(eq=False)
class LearnedCandidates:
    """Candidates and features of one fold at a time, both learned from its training queries; see `FoldHistories`."""

    index: Index
    topics: Topics
    qrels: Qrels
    study: Study
    histories: Sequence[History]

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        index = self.index.using(history=self.histories[fold])
        run = index.search(self.topics, candidates=study_candidates(index, self.study))
        return study_features(index, run, self.topics, self.qrels, self.study)


def is_learned(candidates: str | None) -> bool:
    """Return whether candidates have a source that is learned from judgements."""
    parts = () if candidates is None else Candidates.parse(candidates).sources
    return any(source(part.name).learned for part in parts if part.file is None)


def training_queries(run: Run, folds: Mapping[str, int], from_all: bool) -> list[list[str]]:
    """Return the queries from which the model of each held-out fold learns."""
    number = max(folds.values()) + 1
    left_out = [{fold, stop_fold(fold, number, from_all)} for fold in range(number)]
    return [[query_id for query_id in run if folds[query_id] not in folds_left_out] for folds_left_out in left_out]


def _learned_recipe(index: Index, data: RankingData) -> Recipe:
    """Return the recipe of the learned features of some data alone, in the order of their columns."""
    recipe = Recipe.from_dict(data.recipe or {})
    plan = column_plan(index.forward, recipe)
    families = tuple(name for name in recipe.families or () if family(name).needs_history)
    groups = [planned.group for planned in plan.groups if planned.group.name in families]
    names = tuple(name for group in groups for name in group.names if name in plan.names)
    if not names:
        raise InvalidInputError(
            "recipe: expected features that are learned from judgements (history.*), got none. Add their families, or "
            "leave out --learn-history."
        )
    forms = {name: form for name, form in plan.forms.items() if name in names}
    return replace(recipe, families=families, features=names, normalisation=forms, runs=(), history=None, encoder=None)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The data of a study, its judgements, and the runs of systems that learn nothing.

    workers  what trains in each fold: this process, or the workers of a cluster
    """

    workers: Workers
    qrels: Qrels
    study: Study
    features: FoldHistories | SameData
    runs: Mapping[str, Run]

    @classmethod
    def of(cls, inputs: StudyInputs, study: Study) -> Self:
        """Return what is computed once; an index retrieves the candidates of judged topics, data have them."""
        workers: Workers = InOrder()
        features: FoldHistories | SameData
        if isinstance(inputs.source, RankingData):
            features, own = _of_data(inputs.source, study)
        else:
            workers = index = inputs.source.using(history=False, threads=study.threads)
            features, own = _of_index(index, inputs.judged, inputs.judgements, study)
        return cls(workers, inputs.judgements, study, features, _with_others(own, inputs.runs))

    def data_of(self, folds: Mapping[str, int]) -> tuple[Sequence[History], Callable[[int], FoldData]]:
        """Return the history of each fold, if features are learned, and a function that returns the data of a fold."""
        return self.features.of_folds(folds) if isinstance(self.features, FoldHistories) else ((), self.features)

    def training(
        self,
        data_of: Callable[[int], FoldData],
        folds: Mapping[str, int],
        ranker: str,
        base: str | Ranker | None,
        tuning: Tuning | None = None,
    ) -> FoldTraining:
        """Return the training of a ranker in each fold."""
        search = partial(fit_best, new_model(self.study, ranker, base), tuning)
        return FoldTraining(data_of, folds, search, learns_from_all(self.study, ranker, training_size(folds)))


def trial_folds(qrels: Qrels, study: Study, groups: Mapping[str, int] | None) -> list[dict[str, int]]:
    """Return the folds of the judged queries in each trial; those of a group are in the same fold."""
    if study.repeats < 1:
        raise InvalidInputError(f"repeats: expected a number from 1, got {study.repeats}.")
    if not isinstance(study.folds, int):
        if study.repeats > 1:
            raise InvalidInputError(
                f"repeats: expected 1 with the fold of each query, got {study.repeats}. Pass a number of folds."
            )
        return [given_folds(qrels, study.folds)]
    relevant = {query_id: sum(label > 0 for label in qrels[query_id].values()) for query_id in qrels}
    seeds = range(study.random_state, study.random_state + study.repeats)
    return [assign_folds(qrels, study.folds, seed, relevant, groups) for seed in seeds]


def _of_index(
    index: Index, topics: Topics, qrels: Qrels, study: Study
) -> tuple[FoldHistories | SameData, dict[str, Run]]:
    """Return the features of the candidates of an index, and the runs of BM25 and of the unsupervised ranking."""
    learned = is_learned(study.candidates)
    if learned and not study.learn_history:
        raise InvalidInputError(
            "candidates: expected features learned in each fold beside the source history, got none. Learn them "
            "(learn_history=True, --learn-history), or leave the source out."
        )
    sources = study_candidates(index, study)
    baseline = replace(sources, sources=(Part(BM25, study.k),))
    run = bm25 = index.search(topics, candidates=baseline)
    if not learned and sources != baseline:
        run = index.search(topics, candidates=sources)
    runs = {OF_BM25: bm25}
    if study.base not in (RUN, NO_BASE):
        ranked = rerank(index, UNSUPERVISED, topics, None if learned else run, k=sources.k)
        runs[UNSUPERVISED] = replace(ranked, name=UNSUPERVISED)
    if study.learn_history:
        return FoldHistories(index, run, topics, qrels, study), runs
    given = study_features(index, run, topics, qrels, study)
    return SameData(given.data, given.trained), runs


def _of_data(data: RankingData, study: Study) -> tuple[SameData, dict[str, Run]]:
    """Return the data, and the run that they were made from where they hold its scores."""
    runs = {}
    made = data.retriever
    if data.base_scores is not None:
        is_bm25 = made is not None and made.known
        runs[OF_BM25 if is_bm25 else FIRST_STAGE] = data.run(
            data.base_scores, FIRST_STAGE if made is None else str(made)
        )
    if study.base == UNSUPERVISED:
        base = UnsupervisedBase.of(tuple(data.feature_names))
        runs[UNSUPERVISED] = data.run(base.scores(data), UNSUPERVISED)
    return SameData(data), runs


def _with_others(own: Mapping[str, Run], others: Mapping[str, Run]) -> dict[str, Run]:
    """Return runs of systems that learn nothing: a study's own, those of other systems, and their fusion."""
    fused = [*list(own.values())[:1], *others.values()]
    added = {FUSED: replace(fuse(fused), name=FUSED)} if others and len(fused) > 1 else {}
    return {**own, **others, **added}
