"""The ranker that needs no judgements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.rankers.ranker import PROGRESS, Ranker, register_fitted
from rerank.rankers.training import ALONE, TrainingContext, TrainingSet
from rerank.rankers.warm_start import UNSUPERVISED, UnsupervisedBase
from rerank.runtime.schema import Field
from rerank.types import Floats, Ints
from rerank.types.retriever import Retriever


@register_fitted(UNSUPERVISED)
@dataclass(eq=False, repr=False)
class Unsupervised(Ranker):
    """The sum of a document's standardised scores, which needs no judgements: nothing is learned from the labels.

    `rerank.rerank(index, "unsupervised", topics)` makes one of what the index has. Other rankers start from the same
    sum by base="unsupervised".

    References
    ----------
    Montague and Aslam (2001), Relevance score normalization for metasearch.

    """

    learned: ClassVar[Mapping[str, Any]] = PROGRESS
    parameter_fields: ClassVar[Mapping[str, Field]] = {}
    base: ClassVar[str] = UNSUPERVISED  # type: ignore[misc]  # which holds the sum
    metric: ClassVar[str] = "nDCG@10"  # type: ignore[misc]  # of `score`
    n_jobs: ClassVar[None] = None  # type: ignore[misc]

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        recipe: Mapping[str, Any],
        fingerprint: Mapping[str, Any],
        retriever: Retriever | None,
    ) -> Self:
        """Return the ranker over some features, which needs no data.

        Parameters
        ----------
        names : tuple of str
            Names of the features.
        recipe : mapping
            Their recipe, as plain values.
        fingerprint : mapping
            The fingerprint of the index.
        retriever : Retriever or None
            What retrieves the candidates; None for those of any other system.

        Returns
        -------
        Unsupervised
            The ranker.

        """
        model = cls()
        model._take_features(names)
        model.recipe_, model.fingerprint_ = recipe, fingerprint
        model.retriever_ = retriever
        model.base_ = UnsupervisedBase.of(names)
        model.best_iteration_, model.evals_result_ = 0, {}
        return model

    def fit(self, *arguments: Any, **named: Any) -> NoReturn:
        """Refuse: there is nothing to learn."""
        raise InvalidInputError(
            "unsupervised: expected a ranker that can be trained, got one that learns nothing. Train a ranker that "
            "starts from it (base='unsupervised', --base unsupervised)."
        )

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        self._check_fitted()

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return np.zeros(len(X))

    def _columns_read(self) -> Ints:
        return np.empty(0, dtype=np.int64)

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        return

    def _largest_score(self) -> float:
        return 0.0
