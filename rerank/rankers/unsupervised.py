"""The ranker that learns nothing: the sum of standardised scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rerank.rankers.bases import UNSUPERVISED, UnsupervisedBase
from rerank.rankers.imported import Untrained
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.registry import register
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.fields import Field
from rerank.types import Floats, Ints, Retriever


@register(UNSUPERVISED, is_trained=False)
@dataclass(eq=False, repr=False)
class Unsupervised(Untrained):
    """The sum of a document's standardised scores, which needs no judgements: nothing is learned from the labels.

    `rerank.rerank(index, "unsupervised", topics)` makes one of what the index has. Other rankers start from the same
    sum by base="unsupervised".

    References
    ----------
    Montague and Aslam (2001), Relevance score normalization for metasearch.

    """

    what: ClassVar[str] = "one that learns nothing"
    learned: ClassVar[Mapping[str, Any]] = PROGRESS
    parameter_fields: ClassVar[Mapping[str, Field]] = {}
    base: ClassVar[str] = UNSUPERVISED  # type: ignore[misc]  # which holds the sum
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
        model._describe(names, recipe, fingerprint, retriever, base=UnsupervisedBase.of(names))
        model._restore({"best_iteration": 0, "evals_result": {}})
        return model

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        self._check_fitted()

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        return np.zeros(len(X))

    def _columns_read(self) -> Ints:
        return np.empty(0, dtype=np.int64)

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        return
