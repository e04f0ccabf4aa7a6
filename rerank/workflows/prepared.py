"""What a study computes once: candidates, features, and the runs of systems that learn nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from rerank.combination.fusion import fuse
from rerank.errors import InvalidInputError
from rerank.history.history import History
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import UNSUPERVISED, UnsupervisedBase
from rerank.retrieval.candidates import Part
from rerank.runtime.progress import InOrder
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.types.retriever import BM25
from rerank.workflows.fold_history import FoldHistories, is_learned
from rerank.workflows.folds import (
    FoldData,
    FoldTraining,
    SameData,
    Workers,
    assign_folds,
    given_folds,
    training_size,
)
from rerank.workflows.index import Index
from rerank.workflows.rerank import rerank
from rerank.workflows.study import FIRST_STAGE, FUSED, NO_BASE, OF_BM25, RUN, Study
from rerank.workflows.study_data import learns_from_all, new_model, study_candidates, study_features
from rerank.workflows.study_inputs import StudyInputs
from rerank.workflows.tuning import Tuning, fit_best


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
    runs, made = {}, data.retriever
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
