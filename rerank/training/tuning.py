"""Search of hyper-parameters with Optuna (`pip install 'lucene-rerank[tune]'`), without the held-out queries.

The defaults are tried first, the settings after them are drawn by the tree-structured Parzen estimator (Bergstra,
Bardenet, Bengio and Kegl 2011, Algorithms for hyper-parameter optimization). A setting is given up where its measure is
below the median of the earlier settings at the same iteration on the same queries (Optuna's median pruner).

The space of a ranker is declared with its parameters (`rerank.rankers.parameters`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, RerankError
from rerank.rankers.parameters import declared_parameters
from rerank.rankers.ranker import Ranker
from rerank.rankers.training import TrainingProgress
from rerank.training.folds import Try, assign_folds, groups_by_id
from rerank.types import RankingData
from rerank.types.query_table import text_table

FOLDS = 3  # of the training queries, where no other queries compare the settings
LOOKS = 5  # iterations between two looks at a curve
PART = 1_000_000  # more than the iterations on one fold
LENGTHS = ("n_estimators", "n_epochs", "max_iter")  # parameters that end a training without validation data
_log = logging.getLogger("rerank")


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search has found.

    Parameters
    ----------
    parameters : mapping
        The best setting: what differs from the defaults.
    tries : sequence of Try
        All settings, the defaults first.
    importances : mapping of str to float
        Share of each parameter in the differences of the measure (Optuna's PED-ANOVA), the greatest first; empty
        where too few settings were tried.

    """

    parameters: Mapping[str, Any]
    tries: Sequence[Try]
    importances: Mapping[str, float]

    def __str__(self) -> str:
        """Return the best setting, and what mattered as a table."""
        value = best_try(self.tries).value
        first = self.tries[0].value
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items()) or "the defaults"
        rows = [(name, f"{share:.2f}") for name, share in self.importances.items()]
        n_pruned = sum(tried.value is None for tried in self.tries)
        found = f"best of {len(self.tries)} settings ({n_pruned} given up early): {chosen}"
        return f"{found}: {value:.4f}, defaults {first:.4f}\n{text_table(rows, ['parameter', 'importance'])}"


@dataclass(frozen=True)
class Tuning:
    """A search of hyper-parameters.

    Parameters
    ----------
    n_settings : int
        Number of settings to try in addition to the defaults.
    path : str, Path or None
        File that the tries are kept in (Optuna's journal): a search on the same data goes on from it.
    random_state : int
        Random seed of the settings and of the folds.

    """

    n_settings: int = 20
    path: str | Path | None = None
    random_state: int = 0

    def search(self, model: Ranker, train: RankingData, stop: RankingData | None = None) -> Tuned:
        """Return the best setting of a ranker's parameters; those that are not the defaults are kept.

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
            The best setting, all tries, and what mattered.

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
        parts = _thirds(train, self.random_state) if stop is None else [(train, stop)]
        study, keep = self._study(optuna, model, parts)
        for number in range(len(study.trials), self.n_settings + 1):
            study.sampler = optuna.samplers.TPESampler(
                seed=self.random_state + number
            )  # drawn alike after a resumption
            if not number:
                study.enqueue_trial({name: values[0] for name, values in space.items()})
            trial = study.ask()
            setting = {name: trial.suggest_categorical(name, values) for name, values in space.items()}
            value = _value(model.unfitted_copy().set_params(**setting), parts, trial)
            state = optuna.trial.TrialState.PRUNED if value is None else optuna.trial.TrialState.COMPLETE
            study.tell(trial, value, state)
            keep(study.trials[-1])
            shown = ", ".join(f"{name}={value!r}" for name, value in _changes(space, setting).items()) or "defaults"
            _log.info(
                "tune: %d of %d: %s: %s",
                *(number, self.n_settings, shown, "given up early" if value is None else f"{value:.4f}"),
            )
        tuned = _tuned(optuna, study, space, model, with_length=stop is None)
        _log.info("tune: %s", tuned)
        return tuned

    def _study(self, optuna: Any, model: Ranker, parts: Sequence[Any]) -> tuple[Any, Callable[[Any], None]]:
        """Return the study with the tries of the file, and what adds one to the file.

        The study itself is in memory: the file is written once for each setting, not for each look at a curve.
        """
        pruner = optuna.pruners.MedianPruner(n_startup_trials=4)
        study = optuna.create_study(direction="maximize", pruner=pruner)
        if self.path is None:
            return study, lambda trial: None
        arrays = [array for pair in parts for data in pair for array in (data.X, data.query_ptr, data.labels)]
        name = _digest(np.array([f"{model!r} {self.random_state}"]), *arrays)
        if Path(self.path).is_file() and Path(self.path).read_bytes()[-1:] not in (b"", b"\n"):
            raise FileFormatError(
                self.path, None, "expected tries of a search, got a last line that breaks off. Remove that line."
            )
        try:
            storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(self.path)))
            kept = optuna.create_study(direction="maximize", storage=storage, study_name=name, load_if_exists=True)
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(
                self.path, None, f"expected tries of a search, got other content ({error}). Remove the file."
            ) from error
        study.add_trials(kept.trials[: self.n_settings + 1])
        if study.trials:
            _log.info("tune: %s: goes on after %d settings", self.path, len(study.trials))
        return study, kept.add_trial


def _digest(*arrays: NDArray[Any]) -> str:
    """Return a digest of arrays: their types, shapes and bytes."""
    total = sha256()
    for array in arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def search_space(model: Ranker) -> dict[str, list[Any]]:
    """Return the values of each parameter that is searched, the default first."""
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
    """Return a new ranker like this one, fitted with the best setting, and all settings tried; without tuning one."""
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
        raise RerankError(
            "optuna: expected it installed for tuning, got none. Run `pip install 'lucene-rerank[tune]'`."
        ) from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _thirds(data: RankingData, random_state: int) -> list[tuple[RankingData, RankingData]]:
    """Return training data and the queries that they are compared on, for each fold."""
    fold_of = assign_folds(data, FOLDS, random_state, groups=groups_by_id(data))
    folds = np.array([fold_of[query_id] for query_id in data])
    return [
        (data.select(np.flatnonzero(folds != fold)), data.select(np.flatnonzero(folds == fold)))
        for fold in range(FOLDS)
    ]


def _value(model: Ranker, parts: Sequence[tuple[RankingData, RankingData]], trial: Any) -> float | None:
    """Return the mean of a setting's best measure over the parts; None where it is given up.

    The mean of the best iterations is kept with the trial.
    """
    values = []
    iterations = []
    pruned = False
    for number, (train, stop) in enumerate(parts):

        def follow(progress: TrainingProgress, number: int = number) -> None:
            nonlocal pruned
            if progress.iteration % LOOKS == 0:
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


def _changes(space: Mapping[str, Sequence[Any]], setting: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs from the defaults in a setting."""
    return {name: value for name, value in setting.items() if value != space[name][0]}


def _tuned(optuna: Any, study: Any, space: Mapping[str, Sequence[Any]], model: Ranker, with_length: bool) -> Tuned:
    """Return what a study has found."""
    complete = [trial for trial in study.trials if trial.state == optuna.trial.TrialState.COMPLETE]
    kept = {trial.number for trial in complete}
    tries = [
        Try(_changes(space, trial.params), trial.value if trial.number in kept else None) for trial in study.trials
    ]
    best = study.best_trial
    parameters = {}
    if with_length:
        lengths = [name for name in LENGTHS if name in model.get_params(deep=False)]
        parameters = dict.fromkeys(lengths, best.user_attrs["iterations"])
    importances = {}
    if len({trial.value for trial in complete}) > 1:
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        importances = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return Tuned({**_changes(space, best.params), **parameters}, tries, importances)
