"""Weights of features that another system learned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rerank.rankers.imported import Imported
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.registry import register
from rerank.runtime.fields import check_length
from rerank.types import Floats, counted

LARGEST_VALUE = 1e18  # larger values of a feature count as this one, so that scores stay within float32


@register("importedlinear", is_trained=False)
@dataclass(eq=False, repr=False)
class ImportedWeights(Imported):
    """Weights of features that another system learned; made by `rerank.import_model`, not by `fit`.

    The score of a row is constant + sum of weight * value; a missing value counts as 0, and one whose
    size is above 1e18 as 1e18 with its sign.

    Parameters
    ----------
    n_jobs : int or None
        Without effect.

    Attributes
    ----------
    source_ : str
        The format that the model was read from.
    weights_ : (n_features,) float64
        The weights of the features.
    constant_ : float
        What is added to the sum.

    """

    what: ClassVar[str] = "weights of another system"
    weights_at: ClassVar[str] = "weights_"
    learned: ClassVar[Mapping[str, Any]] = {**PROGRESS, "source": str, "constant": float, "weights": Floats}

    @classmethod
    def of(
        cls,
        weights: Sequence[float],
        feature_names: Sequence[str],
        source: str,
        *,
        constant: float = 0.0,
        recipe: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return a fitted ranker with the attributes above.

        Raises InvalidInputError for feature names or a recipe that a model file could not hold.
        """
        return cls._of(
            feature_names,
            recipe,
            best_iteration=0,
            source=source,
            constant=constant,
            weights=np.array(weights, dtype=np.float64),
        )

    @property
    def feature_importances_(self) -> Floats:
        """Size of each feature's weight, (n_features,) float64."""
        return np.abs(self.weights_)

    def size_in_words(self) -> str:
        """Return the number of weights.

        Returns
        -------
        str
            The number.

        """
        return counted(len(self.weights_), "weight")

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        scores = np.zeros(len(X))
        for column, weight in enumerate(self.weights_.tolist()):  # summed in the other system's order
            scores += weight * _known_values(X[:, column])
        return scores + self.constant_

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        out[:, :-1] += _known_values(X) * self.weights_
        out[:, -1] += self.constant_

    def _check_learned(self) -> None:
        check_length(self.weights_, self.n_features_in_, "weights")


def _known_values(X: NDArray[np.float32]) -> Floats:
    """Return values as float64 within LARGEST_VALUE, 0 where they are missing."""
    return np.nan_to_num(X.astype(np.float64)).clip(-LARGEST_VALUE, LARGEST_VALUE)
