"""Training in each fold, and the run of the queries that no model of it has seen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import family
from rerank.features.near_duplicates import query_groups
from rerank.features.recipe import Recipe
from rerank.history.history import History
from rerank.metrics.base import Measure
from rerank.metrics.ranked_lists import RankedLists
from rerank.rankers.bases import OtherRunBase
from rerank.rankers.matching import HISTORY_PREFIX
from rerank.rankers.ranker import Ranker, given_base
from rerank.retrieval.tail import with_tail
from rerank.types import Floats, ForwardIndex, Ints, RankingData, Run, query_rows, trec_order


@dataclass(frozen=True)
class Try:
    """A setting of hyper-parameters, and its measure on queries not learned from; None where it was given up."""

    parameters: Mapping[str, Any]
    value: float | None


def histories_of_folds(
    history: History, forward: ForwardIndex, terms: Sequence[Sequence[str]], folds: Mapping[str, int]
) -> list[History]:
    """Return the history of each fold: without the queries that it holds out, and without their near duplicates.

    terms  analysed terms of each query of `folds`
    """
    groups = query_groups(forward, [*history.terms, *terms])
    judged, of_folds = np.split(groups, [len(history.terms)])
    fold_of = np.array(list(folds.values()))
    own_fold = np.array([folds.get(query_id, -1) for query_id in history.query_ids])
    query_ids = np.array(history.query_ids)
    return [
        history.of_queries(query_ids[(own_fold != fold) & ~np.isin(judged, of_folds[fold_of == fold])].tolist())
        for fold in range(fold_of.max() + 1)
    ]


@dataclass(frozen=True, eq=False)
class FoldData:
    """Data that a fold is trained and ranked on.

    An instance can be called as `FoldTraining.data_of`, for folds that all have the same data.

    trained     whether each row may be trained on, (n_rows,); None: all may. All rows of held-out queries are ranked
    candidates  run that the data were computed from, whose other documents follow those that are ranked; None: none
    """

    data: RankingData
    trained: NDArray[np.bool_] | None = None
    candidates: Run | None = None

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold: those of all folds."""
        return self

    def ranking(self, unseen: RankingData, scores: Floats) -> Run:
        """Return some queries in the order of their scores, (n_rows,), followed by their other candidates."""
        head = unseen.run(scores)
        if self.candidates is None:
            return head
        candidates = self.candidates.select(self.candidates.query_numbers(unseen))
        is_head = np.zeros(candidates.n_rows, dtype=np.bool_)
        is_head[head.matches(candidates.query_ids, candidates.query_ptr, candidates.stored_ids)[0]] = True
        return with_tail(head, candidates, is_head)

    def training(self, queries: NDArray[np.bool_]) -> RankingData:
        """Return some queries, chosen by (n_queries,), with those of their rows that may be trained on."""
        data = self.data
        if self.trained is not None:
            data = data.of_rows(self.trained & queries[query_rows(data.query_ptr)])
        return data.select(queries)


@dataclass(frozen=True, eq=False)
class FoldHistories(FoldData):
    """Data of folds whose features of similar judged queries come, in each fold, from a history of its own.

    data       with the values of these features that come from all judged queries
    histories  of each fold
    names      of these features
    of_folds   values of these features in each fold, (n_rows, n_names) float32
    """

    histories: Sequence[History] = ()
    names: Sequence[str] = ()
    of_folds: Sequence[NDArray[np.float32]] = ()

    @classmethod
    def of(
        cls, data: FoldData, histories: Sequence[History], features: Callable[[History, Recipe], RankingData]
    ) -> FoldHistories:
        """Return the data of folds with the given histories.

        features  computes the features of a history for a recipe, which names features of similar judged queries alone
        """
        recipe = Recipe.from_dict(data.data.recipe or {})
        families = tuple(name for name in recipe.families or () if family(name).needs_history)
        names = [name for name in data.data.feature_names if name.startswith(HISTORY_PREFIX)]
        chosen = None if recipe.features is None else tuple(names)
        recipe = replace(recipe, families=families, features=chosen, history=None, encoder=None, runs=())
        of_folds = [features(history, recipe).X for history in histories]
        return cls(data.data, data.trained, data.candidates, histories, names, of_folds)

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        X = self.data.X.copy()
        X[:, [self.data.feature_names.index(name) for name in self.names]] = self.of_folds[fold]
        recipe = {**(self.data.recipe or {}), "history": self.histories[fold].checksum}
        return FoldData(replace(self.data, X=X, recipe=recipe), self.trained, self.candidates)


class Workers(Protocol):
    """Calls a function for each of some items, in this process or on a cluster: an index, or `InProcess`."""

    def map_items(
        self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], what: str
    ) -> Iterator[Any]:
        """Yield function(shared, item) for each item, in order."""


@dataclass(frozen=True, eq=False)
class FoldTraining:
    """What is trained in each fold.

    data_of          returns the data of a fold
    folds            fold of each query
    fit              returns a new ranker, trained on train= and stopped on stop=, and the settings that were tried
    learns_from_all  whether all queries that are not held out are trained on; otherwise those of the next fold stop the
                     training
    subsets          of each fold, the queries that may be learned from while it is held out; None: all others
    """

    data_of: Callable[[int], FoldData]
    folds: Mapping[str, int]
    fit: Callable[..., tuple[Ranker, list[Try]]]
    learns_from_all: bool
    subsets: Sequence[Collection[str]] | None = None

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return max(self.folds.values()) + 1

    def fold_of(self, data: RankingData) -> Ints:
        """Return the fold of each query of the data, (n_queries,)."""
        return np.array([self.folds[query_id] for query_id in data], dtype=np.int64)

    def train_and_stop(self, fold: int) -> tuple[RankingData, RankingData | None]:
        """Return the data that are trained on while a fold is held out, and those that stop the training, if any."""
        fold_data = self.data_of(fold)
        fold_of = self.fold_of(fold_data.data)
        subset = self.folds if self.subsets is None else self.subsets[fold]
        allowed = np.array([query_id in subset for query_id in fold_data.data], dtype=np.bool_) & (fold_of != fold)
        stopping = allowed & (fold_of == (fold + 1) % self.n_folds) & (not self.learns_from_all)
        return fold_data.training(allowed & ~stopping), fold_data.training(stopping) if stopping.any() else None

    def unseen(self, fold: int) -> RankingData:
        """Return the queries that are held out in a fold, with all their rows."""
        data = self.data_of(fold).data
        return data.select(np.flatnonzero(self.fold_of(data) == fold))


def _fold_results(training: FoldTraining, fold: int) -> tuple[Ranker, list[Try], Run]:
    """Return the model and the tries of a fold, and the run of its held-out queries."""
    training = replace(training, data_of=training.data_of(fold))  # computed here, and not by each call below
    train, stop = training.train_and_stop(fold)
    model, tried = training.fit(train=train, stop=stop)
    unseen = training.unseen(fold)
    return model, tried, training.data_of(fold).ranking(unseen, predicted(model, unseen))


def predicted(model: Ranker, unseen: RankingData) -> Floats:
    """Return the scores of held-out queries, (n_rows,); a run that the model starts from has scores of them, too."""
    return model.predict(unseen, base=given_base(model.base) if isinstance(model.base_, OtherRunBase) else None)


def cross_validated(workers: Workers, training: FoldTraining, system: str) -> tuple[list[Ranker], list[list[Try]], Run]:
    """Train in each fold; return the model and the tries of each, and the run of the held-out queries of all folds.

    system  name of the run, and what the progress bar says
    """
    results = list(workers.map_items(_fold_results, training, range(training.n_folds), f"{system}, folds"))
    models, tries, runs = ([result[part] for result in results] for part in range(3))
    joined = Run.joined(runs)
    run = joined.select(joined.query_numbers(training.folds))  # the queries in the order of `folds`
    return models, tries, replace(run, name=system.replace(" ", "-"))


def query_values(data: RankingData, scores: Floats, measure: Measure) -> Floats:
    """Return the measure of every query, (n_queries,) float64, for scores (n_rows,) of labelled data."""
    labels = np.zeros(data.n_rows) if data.labels is None else data.labels
    order = trec_order(data.query_ptr, scores, data.stored_ids)
    return measure.scores(RankedLists(labels[order], data.query_ptr, *data.ideal()))


def noise_of(training: FoldTraining, model: Ranker, values: Callable[[Run], Floats]) -> float | None:
    """Return the standard deviation of a cross-validated measure over random states; None for models without one.

    The model of the first fold is trained twice more. Folds vary independently: the variance of their sum is that of
    one fold times their number.

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
    means = [values(training.data_of(0).ranking(unseen, predicted(each, unseen))).mean() for each in drawn]
    return float(np.std(means, ddof=1) * np.sqrt(training.n_folds))
