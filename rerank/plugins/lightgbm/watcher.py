"""Training that LightGBM's callbacks follow, and may end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import lightgbm
import numpy as np

from rerank.errors import InvalidInputError, log, shown
from rerank.metrics.registry import parse_measure
from rerank.plugins.lightgbm.eval_sets import EvalSet
from rerank.plugins.lightgbm.parameters import ALIASES, EXPONENTIAL
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.early_stopping import EarlyStopping, callback_fault
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.mart import MART
from rerank.rankers.training_context import TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.trees.booster import StepLength
from rerank.types import Floats

STOPS = 30  # `order` of LightGBM's early-stopping callbacks


class Watcher(EarlyStopping):
    """Measures the eval sets after each iteration, and calls the callbacks, which get the watcher as their model.

    All trees are kept, or those up to the best iteration that a callback names as it ends the training.
    """

    def __init__(
        self, sets: list[EvalSet], metrics: list[Any], callbacks: Iterable[Any], params: dict[str, Any], training: str
    ) -> None:
        """Take the eval sets; `training` is the name of the one that is the training data, "" if none is."""
        super().__init__(None, parse_measure(EXPONENTIAL), 1)
        self.valid: TrainingSet | None = None  # the rows of all eval sets
        self.boosters = [self]  # read by LightGBM's callback `reset_parameter`
        self._sets = sets
        self._metrics = metrics
        self.params = params
        self._training = training
        called = list(callbacks)
        order = {id(callback): getattr(callback, "order", n - len(called)) for n, callback in enumerate(called)}
        called.sort(key=lambda callback: order[id(callback)])
        self._before = [callback for callback in called if getattr(callback, "before_iteration", False)]
        self._after = [callback for callback in called if not getattr(callback, "before_iteration", False)]
        self.learning_rate: float = params["learning_rate"]
        self.best_iteration = 0

    def reset_parameter(self, params: Mapping[str, Any]) -> Watcher:
        """Change the learning rate; no other parameter changes while trees are grown."""
        values = {ALIASES.get(name, name): value for name, value in params.items()}
        for name in values:
            if name != "learning_rate":
                raise InvalidInputError(f"reset_parameter: expected learning_rate, got {shown(name)}. Leave it out.")
        self.learning_rate = float(values["learning_rate"])
        return self

    @property
    def step_length(self) -> StepLength | None:
        """Function that calls the callbacks before an iteration and returns the tree's factor; None for none."""
        return self._step if self._before else None

    def _step(self, scores: Floats, values: Floats) -> float:
        for callback in self._before:
            self._call(callback, None)
        return self.learning_rate

    def add(self, scores: Floats) -> bool:
        """Take the scores (n_rows,) of the eval sets, in canonical order, after one more iteration."""
        by_row = np.empty(len(scores))
        by_row[slice(None) if self.valid is None else self.valid.order] = scores
        ends = np.cumsum([len(of_set.labels) for of_set in self._sets], dtype=np.int64)
        results = []
        for of_set, of_rows in zip(self._sets, np.split(by_row, ends[:-1]), strict=False):
            results += of_set.results(self._metrics, of_rows)
        self._stopped = any(self._call(callback, results) for callback in self._after)
        self._iteration += 1
        self.best = self.best_iteration or self._iteration
        return True

    def _call(self, callback: Any, results: Any) -> bool:
        """Call a callback; return whether it ends the training."""
        model: Any = self
        n_trees = self.params["n_estimators"]
        if getattr(callback, "order", None) == STOPS and results:  # the training data stop no training
            results = [figure for figure in results if figure.dataset_name != self._training]
            if not results:
                if self._iteration == 0:
                    log.warning("early stopping: no effect, as the only eval set is the training data")
                return False
        try:
            callback(lightgbm.callback.CallbackEnv(model, self.params, self._iteration, 0, n_trees, results))
        except Exception as error:
            if not hasattr(error, "best_iteration"):
                raise callback_fault(error, self._iteration + 1) from error
            self.best_iteration = int(error.best_iteration) + 1
            return True
        return False


class WatchedTrees(BoostedTrees):
    """Boosted trees whose training a `Watcher` follows, which is their only callback."""

    def _stopping(self, valid: TrainingSet | None, context: TrainingContext, judged: Any = None) -> EarlyStopping:
        self._watcher = cast("Watcher", context.callbacks[0])
        self._watcher.valid = valid
        return self._watcher

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        return self._watcher.step_length


class WatchedLambdaMART(WatchedTrees, LambdaMART):
    """The ranker of the objective lambdarank."""


class WatchedMART(WatchedTrees, MART):
    """The ranker of the objective rank_xendcg."""

    def _unit(self, train: TrainingSet) -> float:
        return 1.0  # trees start from scores in their own unit, as LightGBM's do


WATCHED: dict[type[BoostedTrees], type[WatchedTrees]] = {LambdaMART: WatchedLambdaMART, MART: WatchedMART}
