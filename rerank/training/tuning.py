"""Search of hyper-parameters, with Optuna (extra `tune`), which does not see the held-out queries.

The defaults are tried first; the settings after them are drawn by the tree-structured Parzen estimator (Bergstra,
Bardenet, Bengio and Kegl 2011, Algorithms for hyper-parameter optimization). A setting is given up where its measure is
below the median of the earlier settings at the same iteration on the same queries (Optuna's median pruner).

The space of a ranker is declared with its parameters (`rerank.rankers.parameters`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, RerankError, log
from rerank.rankers.early_stopping import TrainingProgress
from rerank.rankers.parameters import declared_parameters
from rerank.rankers.ranker import Ranker
from rerank.training.cross_validation import FoldData, FoldTraining, Try
from rerank.training.folds import assign_folds, groups_by_id
from rerank.types import RankingData

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
        optuna, space = check_tuning(self, model)
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


def check_tuning(tuning: Tuning, model: Ranker) -> tuple[Any, dict[str, list[Any]]]:
    """Return Optuna, and what is searched; refuse a search that is not possible."""
    if tuning.n_settings < 1:
        raise InvalidInputError(f"tune: expected a number of settings from 1, got {tuning.n_settings}. Raise it.")
    return _optuna(), search_space(model)


def search_space(model: Ranker) -> dict[str, list[Any]]:
    """Return the values to try of each searched parameter, the default first; values that the caller has given stay."""
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
            f"tune: expected a parameter of {model.kind} to search ({', '.join(searched)}), got none: the caller has "
            "given all. Leave one out, or do not tune."
        )
    return space


def fit_best(
    model: Ranker,
    tuning: Tuning | None,
    train: RankingData,
    stop: RankingData | None,
) -> tuple[Ranker, list[Try]]:
    """Return a new ranker, fitted with the best setting of the search, and all tries; without `tuning`, a single try.

    model  has the parameters of the new ranker that the search does not change
    """
    tuned = None if tuning is None else tuning.search(model, train, stop)
    best = model.unfitted_copy().set_params(**({} if tuned is None else tuned.parameters))
    best.fit(train, eval_set=stop)
    return best, [Try({}, _best_value(best))] if tuned is None else list(tuned.tries)


def best_try(tries: Sequence[Try]) -> Try:
    """Return the best try, of equal ones the first."""
    return max(tries, key=lambda one: -inf if one.value is None else one.value)


def _optuna() -> Any:
    """Return Optuna, whose own log is limited to warnings."""
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
