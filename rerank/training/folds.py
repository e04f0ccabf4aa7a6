"""Assignment of judged queries to folds, training in each fold, and search of hyper-parameters.

The search, with Optuna (extra `tune`), does not see the held-out queries. The defaults are tried
first, the settings after them are drawn by the tree-structured Parzen estimator (Bergstra,
Bardenet, Bengio and Kegl 2011, Algorithms for hyper-parameter optimization). A setting is given up where its measure is
below the median of the earlier settings at the same iteration on the same queries (Optuna's median pruner).

The space of a ranker is declared with its parameters (`rerank.rankers.parameters`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, RerankError, log
from rerank.features.near_duplicates import query_groups
from rerank.features.recipe import Recipe, family
from rerank.history.history import History
from rerank.index.index import Index
from rerank.metrics.base import Measure, RankedLists
from rerank.rankers.bases import OtherRunBase
from rerank.rankers.early_stopping import TrainingProgress
from rerank.rankers.matching import HISTORY
from rerank.rankers.parameters import declared_parameters
from rerank.rankers.ranker import Ranker, given_base
from rerank.types import Floats, Ints, RankingData, Run, Topics, query_rows
from rerank.types.forward import ForwardIndex
from rerank.types.order import trec_order
from rerank.types.query_folds import folds_of_groups, groups_of_queries, numbered_groups

FEWEST = 3  # folds: for training, validation and test
FOLDS, LEAST_QUERIES = 5, 10  # folds of an estimate; least number of queries to train on


@dataclass(frozen=True)
class Try:
    """A setting of hyper-parameters, and its measure on queries not learned from; None where it was given up."""

    parameters: Mapping[str, Any]
    value: float | None


def assign_folds(
    query_ids: Iterable[str],
    n_folds: int,
    random_state: int,
    relevant: Mapping[str, int] | None = None,
    groups: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return a random fold of every query, which does not depend on the order of the queries.

    Sizes differ by at most one where no queries are near duplicates; those that are have the same fold.

    relevant  number of relevant documents of each query, by which the folds are stratified
    groups    group of near duplicates of each query; None: each query is a group of its own
    """
    query_ids = list(query_ids)
    ascending = sorted(query_ids)
    given_groups = np.array([groups[query_id] for query_id in ascending]) if groups else np.arange(len(ascending))
    group_of, first = numbered_groups(given_groups)
    _check_number(n_folds, len(first))
    random_order = np.random.default_rng(random_state).permutation(len(ascending))
    strata = np.array([relevant[query_id] if relevant else 0 for query_id in ascending])
    order = np.lexsort((random_order[first], strata[first]))
    fold_of = dict(zip(ascending, folds_of_groups(group_of, order, n_folds).tolist(), strict=True))
    return {query_id: fold_of[query_id] for query_id in query_ids}


def groups_by_id(data: RankingData) -> dict[str, int]:
    """Return the group of near duplicates of each query of data, by query id; see `logged_groups`."""
    return logged_groups(data, groups_of_queries(data))


def groups_of_topics(index: Index, topics: Topics) -> Ints:
    """Return the group of near duplicates of each topic, (n_topics,) int64."""
    return query_groups(index.forward, index.searcher.analyze(list(topics.values())))


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


def logged_groups(query_ids: Collection[str], groups: Ints) -> dict[str, int]:
    """Return the group of near duplicates of each query, by query id, and log how many queries are near duplicates."""
    sizes = np.bincount(numbered_groups(groups)[0], minlength=1)
    if sizes.max() > 1:
        log.info(
            "queries: %d of %d are near duplicates of others; folds and estimates keep these together.",
            int(sizes[sizes > 1].sum()),
            len(query_ids),
        )
    return dict(zip(query_ids, groups.tolist(), strict=True))


def given_folds(query_ids: Iterable[str], folds: Mapping[str, int]) -> dict[str, int]:
    """Return the given fold (0, 1, 2 ...) of every query; refuse folds without queries, and queries without a fold."""
    query_ids = list(query_ids)
    missing = [query_id for query_id in query_ids if query_id not in folds]
    if missing:
        raise InvalidInputError(
            f"folds: expected a fold for every judged query, got none for {missing[0]!r} ({len(missing)} such "
            "queries in all). Add them, or remove their judgements."
        )
    number = max(folds.values()) + 1
    _check_number(number, len(query_ids))
    chosen = {query_id: folds[query_id] for query_id in query_ids}
    empty_folds = sorted(set(range(number)) - set(chosen.values()))
    if empty_folds:
        raise InvalidInputError(
            f"folds: expected judged queries in every fold, got none in fold {empty_folds[0]}. Drop it."
        )
    return chosen


def training_size(folds: Mapping[str, int]) -> int:
    """Return the number of queries that are not held out, in the fold where most are not."""
    return len(folds) - int(np.bincount(list(folds.values())).min())


def _check_number(n_folds: int, n_queries: int) -> None:
    """Refuse too few folds, and fewer queries, or groups of near duplicates, than folds."""
    if n_folds < FEWEST:
        raise InvalidInputError(f"folds: expected at least {FEWEST} (training, validation, test), got {n_folds}.")
    if n_queries < n_folds:
        raise InvalidInputError(
            f"folds: expected at least {n_folds} judged queries for {n_folds} folds, got {n_queries}. "
            "Judge more queries or use fewer folds."
        )


@dataclass(frozen=True, eq=False)
class FoldData:
    """Data that a fold is trained and ranked on.

    Where all folds have the same data, it is also what returns the data of a fold (`FoldTraining.data_of`).

    trained  whether each row may be trained on, (n_rows,); None: all may. All rows of held-out queries are ranked
    """

    data: RankingData
    trained: NDArray[np.bool_] | None = None

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold: those of all folds."""
        return self

    def training(self, queries: NDArray[np.bool_]) -> RankingData:
        """Return some queries, chosen by (n_queries,), with those of their rows that may be trained on."""
        data = self.data
        selected = np.flatnonzero(queries)
        if self.trained is not None:
            data = data.of_rows(np.flatnonzero(self.trained & queries[query_rows(data.query_ptr)]))
        return data.select(selected)


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
        names = [name for name in data.data.feature_names if name.startswith(HISTORY)]
        chosen = None if recipe.features is None else tuple(names)
        recipe = replace(recipe, families=families, features=chosen, history=None, encoder=None, runs=())
        return cls(data.data, data.trained, histories, names, [features(history, recipe).X for history in histories])

    def __call__(self, fold: int) -> FoldData:
        """Return the data of a fold."""
        X = self.data.X.copy()
        X[:, [self.data.feature_names.index(name) for name in self.names]] = self.of_folds[fold]
        recipe = {**(self.data.recipe or {}), "history": self.histories[fold].checksum}
        return FoldData(replace(self.data, X=X, recipe=recipe), self.trained)


class Workers(Protocol):
    """What calls a function for each of some items, in this process or on a cluster: an index, `InProcess`."""

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
    return model, tried, unseen.run(predicted(model, unseen))


def predicted(model: Ranker, unseen: RankingData) -> Floats:
    """Return the scores of held-out queries, (n_rows,); a run that the model was started from has theirs, too."""
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


TUNING_FOLDS = 3  # of the training queries, where no other queries compare the settings
REPORTED = 5  # iterations from one report of the measure, after which a setting may be given up, to the next
PART = 1_000_000  # more than the iterations on one part of the queries: steps of the next part begin after these
LENGTHS = ("n_estimators", "n_epochs", "max_iter")  # parameters that end a training without validation data


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search has found.

    Parameters
    ----------
    parameters : mapping
        The best setting: what differs from the defaults.
    tries : sequence of Try
        All settings, the defaults first.

    """

    parameters: Mapping[str, Any]
    tries: Sequence[Try]

    def __str__(self) -> str:
        """Return the best setting in one line."""
        value = best_try(self.tries).value
        first = self.tries[0].value
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items()) or "the defaults"
        n_pruned = sum(tried.value is None for tried in self.tries)
        found = f"best of {len(self.tries)} settings ({n_pruned} given up early): {chosen}"
        return f"{found}: {value:.4f}, defaults {first:.4f}"


@dataclass(frozen=True)
class Tuning:
    """A search of hyper-parameters.

    Parameters
    ----------
    n_settings : int
        Number of settings to try in addition to the defaults.
    random_state : int
        Random seed of the settings and of the folds.

    """

    n_settings: int = 20
    random_state: int = 0

    def search(self, model: Ranker, train: RankingData, stop: RankingData | None = None) -> Tuned:
        """Return the best setting of a ranker's parameters; those that the caller has changed keep their values.

        Parameters
        ----------
        model : Ranker
            The ranker.
        train : RankingData
            Training data.
        stop : RankingData or None
            Queries that end the trainings and compare the settings. None: each third of the training queries in turn;
            the number of iterations (`n_estimators`, `n_epochs`, `max_iter`) then is the mean of the best ones.

        Returns
        -------
        Tuned
            The best setting, and all tries.

        Raises
        ------
        InvalidInputError
            For a ranker without parameters to search.
        RerankError
            Where Optuna is not installed.

        """
        optuna = _optuna()
        space = search_space(model)
        if self.n_settings < 1:
            raise InvalidInputError(f"tune: expected a number of settings from 1, got {self.n_settings}. Raise it.")
        parts: list[tuple[RankingData, RankingData | None]] = [(train, stop)]
        if stop is None:
            folds = assign_folds(train, TUNING_FOLDS, self.random_state, groups=groups_by_id(train))
            thirds = FoldTraining(FoldData(train), folds, fit_best, learns_from_all=True)  # splits, and trains nothing
            parts = [(thirds.train_and_stop(fold)[0], thirds.unseen(fold)) for fold in range(TUNING_FOLDS)]
        study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner(n_startup_trials=4))
        study.enqueue_trial({name: values[0] for name, values in space.items()})
        tries = []
        for number in range(self.n_settings + 1):
            study.sampler = optuna.samplers.TPESampler(seed=self.random_state + number)
            trial = study.ask()
            setting = {name: trial.suggest_categorical(name, values) for name, values in space.items()}
            changed = {name: value for name, value in setting.items() if value != space[name][0]}
            value = _value(model.unfitted_copy().set_params(**setting), parts, trial)
            state = optuna.trial.TrialState.PRUNED if value is None else optuna.trial.TrialState.COMPLETE
            study.tell(trial, value, state)
            tries.append(Try(changed, value))
            words = ", ".join(f"{name}={value!r}" for name, value in changed.items()) or "defaults"
            figure = "given up early" if value is None else f"{value:.4f}"
            log.info("tune: %d of %d: %s: %s", number, self.n_settings, words, figure)
        parameters = dict(best_try(tries).parameters)
        if stop is None:
            lengths = [name for name in LENGTHS if name in model.get_params(deep=False)]
            parameters |= dict.fromkeys(lengths, study.best_trial.user_attrs["iterations"])
        tuned = Tuned(parameters, tries)
        log.info("tune: %s", tuned)
        return tuned


def search_space(model: Ranker) -> dict[str, list[Any]]:
    """Return the values of each parameter that is searched, the default first: of those that have their defaults."""
    declared = declared_parameters(type(model))
    searched = {name: parameter for name, parameter in sorted(declared.items()) if parameter.search}
    if not searched:
        raise InvalidInputError(
            f"tune: expected a ranker with parameters to search, got {model.kind}, which has none. Do not tune it."
        )
    values = model.get_params(deep=False)
    space = {
        name: list(dict.fromkeys([parameter.default, *parameter.search]))
        for name, parameter in searched.items()
        if values[name] == parameter.default
    }
    if not space:
        raise InvalidInputError(
            f"tune: expected a parameter of {model.kind} to search ({', '.join(searched)}), got none that is not "
            "given. Give fewer, or do not tune."
        )
    return space


def fit_best(
    model: Ranker,
    tuning: Tuning | None,
    train: RankingData,
    stop: RankingData | None,
) -> tuple[Ranker, list[Try]]:
    """Return a new ranker, fitted with the best setting of the search, and all tries; without `tuning`, one of these.

    model  whose parameters the new ranker has where the search does not change them
    """
    tuned = None if tuning is None else tuning.search(model, train, stop)
    best = model.unfitted_copy().set_params(**({} if tuned is None else tuned.parameters))
    best.fit(train, eval_set=stop)
    return best, [Try({}, _best_value(best))] if tuned is None else list(tuned.tries)


def best_try(tries: Sequence[Try]) -> Try:
    """Return the best try, of equal ones the first."""
    return max(tries, key=lambda one: -inf if one.value is None else one.value)


def _optuna() -> Any:
    """Return Optuna, which says nothing of its own."""
    try:
        import optuna
    except ImportError as error:
        raise RerankError("optuna: expected it installed for tuning, got none. Run `pip install optuna`.") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _value(model: Ranker, parts: Sequence[tuple[RankingData, RankingData | None]], trial: Any) -> float | None:
    """Return the mean over the parts of the best measure of a ranker with a setting; None where it is given up.

    The mean of the best iterations is kept with the trial.

    parts  training data and the queries that stop the training and are measured, of each part
    """
    values = []
    iterations = []
    pruned = False
    for number, (train, stop) in enumerate(parts):

        def follow(progress: TrainingProgress, number: int = number) -> None:
            nonlocal pruned
            if progress.iteration % REPORTED == 0:
                (curve,) = progress.evals_result["valid"].values()
                trial.report(curve[-1], number * PART + progress.iteration)
                pruned = bool(trial.should_prune())
                if pruned:
                    progress.stop()

        fitted = model.unfitted_copy().fit(train, eval_set=stop, callbacks=[follow])
        if pruned:
            return None
        values.append(_best_value(fitted) or 0.0)
        iterations.append(fitted.best_iteration_)
    trial.set_user_attr("iterations", max(1, round(float(np.mean(iterations)))))
    return float(np.mean(values))


def _best_value(model: Ranker) -> float | None:
    """Return the best measure on the validation data, or that of a ranker that cross-validates; None without any."""
    curves = list(model.evals_result_.get("valid", {}).values())
    return max(curves[0]) if curves else getattr(model, "cross_validated_", None)
