"""Model files: JSON with a version, the features' names, the recipe and the index's fingerprint.

Each ranker declares its parameters and what it learned (`rerank.runtime.codec`); saving and loading check a model
completely against the declaration.

Rankers whose scores are a function of one vector of numbers: nets, linear rankers, boosted trees.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, shown
from rerank.files.source import checked_path
from rerank.rankers.ranker import Ranker, read_model_file
from rerank.rankers.standardize import BLOCK, Standardizer
from rerank.rankers.training import TrainingSet
from rerank.runtime.codec import at
from rerank.trees.forest import Forest
from rerank.types import Floats, Ints


def read_model(path: str | Path) -> Ranker:
    """Read and check a model file.

    Parameters
    ----------
    path : str or Path
        A file that `Ranker.save` or `rerank train` wrote.

    Returns
    -------
    Ranker
        The model.

    Raises
    ------
    FileFormatError
        For a file that is no model or a damaged one, with the place and the reason.
    ModelMismatchError
        For a version of the format that this package cannot read.
    MissingFileError
        Where there is no file.

    """
    return read_model_file(checked_path(path))


def fitted_model(model: Ranker | str | Path) -> Ranker:
    """Return a model, or that of a file; raises scikit-learn's NotFittedError for one that is not fitted."""
    if isinstance(model, str | Path):
        return read_model(model)
    if isinstance(getattr(model, "model", None), Ranker):
        raise InvalidInputError(
            f"model: expected a ranker, got {type(model).__name__}, what `train` returns. Take its model (.model)."
        )
    if not isinstance(model, Ranker):
        raise InvalidInputError(
            f"model: expected a fitted ranker or the path of its file, got {shown(repr(model))}. A model of another "
            "system is imported first: import_model(model, recipe=...)."
        )
    model._check_fitted()
    return model


class WeightedRanker(Ranker):
    """Base class of the rankers whose weights can be read and changed."""

    @abstractmethod
    def _weights(self) -> Floats:
        """Return the weights of the fitted model, (n_weights,) float64, not copied."""

    @abstractmethod
    def _set_weights(self, weights: Floats) -> None:
        """Take other weights, (n_weights,) float64."""

    def weights(self) -> Floats:
        """Return all weights, (n_weights,) float64.

        Returns
        -------
        ndarray of shape (n_weights,), dtype float64
            Of a net: those of its layers. Of a linear ranker: weights of the features, then of the inputs that are 1
            where a feature is missing. Of boosted trees: values of all leaves, tree by tree, in the unit of the scores.

        """
        self._check_fitted()
        return self._weights().copy()

    def with_weights(self, weights: ArrayLike) -> Self:
        """Return a copy of the model with other weights, (n_weights,) float64.

        Parameters
        ----------
        weights : array of shape (n_weights,)
            Weights, as `weights` returns them.

        Returns
        -------
        Ranker
            The copy.

        Raises
        ------
        InvalidInputError
            If the number of weights is another.

        """
        self._check_fitted()
        array = np.array(weights, dtype=np.float64)
        count = len(self._weights())
        if array.shape != (count,):
            raise InvalidInputError(f"weights: expected {count} numbers, got shape {array.shape}. Change weights().")
        other = copy(self)
        other._set_weights(array)
        other.calibration_ = None  # that of other scores
        return other


class ForestRanker(Ranker):
    """Base class of the rankers that add up the values of trees."""

    forest_: Forest

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of each feature's splits, (n_features,) float64."""
        return self.forest_.gains(self.n_features_in_)

    def _columns_read(self) -> Ints:
        return np.unique(self.forest_.feature).astype(np.int64)

    def _learned_nothing(self) -> str:
        splits = len(self.forest_.feature) > 0 and self.forest_.leaf_value.any()
        return "" if splits else self.nothing_learned

    def _check_learned(self) -> None:
        with at("forest"):
            self.forest_.check_features(self.n_features_in_)


class StandardizedRanker(WeightedRanker):
    """Base class of the rankers that read standardized features."""

    standardizer_: Standardizer

    @abstractmethod
    def _input_scores(self, inputs: Floats) -> Floats:
        """Return the score of each row of inputs (n_rows, n_inputs), (n_rows,)."""

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        blocks = (X[first : first + BLOCK] for first in range(0, len(X), BLOCK))
        parts = [self._input_scores(self.standardizer_.inputs(block)) for block in blocks]
        return np.concatenate([np.empty(0), *parts])

    def _held_out(
        self, valid: TrainingSet | None, unit: float, scores: Callable[[Any, NDArray[np.float32]], Floats]
    ) -> Callable[[Any], Floats]:
        """Return what gives the validation rows' scores under other weights; of no rows where there are none.

        scores  of inputs under these weights, to which the start scores are added, in this unit
        """
        if valid is None:
            return lambda weights: np.empty(0)
        inputs = self.standardizer_.inputs(valid.X, valid.order, np.float32)
        return lambda weights: valid.start_scores + unit * scores(weights, inputs)
