"""Rankers whose scores are a function of one vector of numbers: nets, linear rankers, boosted trees."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError
from rerank.rankers.ranker import Ranker
from rerank.types import Floats


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
        array, count = np.array(weights, dtype=np.float64), len(self._weights())
        if array.shape != (count,):
            raise InvalidInputError(f"weights: expected {count} numbers, got shape {array.shape}. Change weights().")
        other = copy(self)
        other._set_weights(array)
        other.calibration_ = None  # that of other scores
        return other
