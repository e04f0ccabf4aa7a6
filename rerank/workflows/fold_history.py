"""Features learned from judgements in a study: for each fold from its training queries only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.plan import ColumnPlan
from rerank.features.recipe import Recipe
from rerank.features.registry import family
from rerank.history.history import History
from rerank.retrieval.base import source
from rerank.retrieval.candidates import Candidates
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.workflows.folds import FoldData, stop_fold, training_size
from rerank.workflows.index import Index
from rerank.workflows.study import Study
from rerank.workflows.study_data import learns_from_all, study_candidates, study_features


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
        data, learned = self.given.data, self.histories[fold]
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
    plan = ColumnPlan.of(index.forward, recipe)
    form_of = {plan.names[column]: form for form, columns in plan.normalised.items() for column in columns.tolist()}
    families = tuple(name for name in recipe.families or () if family(name).needs_history)
    groups = [group for _, group in plan.groups if group.name in families]
    names = tuple(name for group in groups for name in group.names if name in plan.names)
    if not names:
        raise InvalidInputError(
            "recipe: expected features that are learned from judgements (history.*), got none. Add their families, or "
            "leave out --learn-history."
        )
    forms = {name: form for name, form in form_of.items() if name in names}
    return replace(recipe, families=families, features=names, normalisation=forms, runs=(), history=None, encoder=None)
