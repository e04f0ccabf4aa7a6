"""What rankers share that `fit` does not train."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

from rerank.errors import InvalidInputError
from rerank.rankers.parameters import JOBS, jobs_parameter
from rerank.rankers.ranker import Ranker
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.fields import Field, Names, Plain, at
from rerank.types import Floats, Ints


class Untrained(Ranker):
    """Base class of the rankers that are made otherwise than by `fit`."""

    metric: ClassVar[str] = "nDCG@10"  # type: ignore[misc]  # of `score`
    what: ClassVar[str]  # what cannot be trained, for messages
    source_: str
    constant_: float
    zero_missing_: Ints
    sums_: str
    missing_values_: Floats
    unlisted_missing_: bool
    first_number_: int
    weights_: Floats

    def fit(self, *arguments: Any, **named: Any) -> NoReturn:
        """Refuse: there is nothing to learn."""
        raise InvalidInputError(
            f"{self.kind}: expected a ranker that can be trained, got {self.what}. Train a ranker that starts from it "
            "(base=, --base)."
        )

    def about(self) -> dict[str, str]:
        """Return what the ranker is, without a measure: it was trained for another one, or for none.

        Returns
        -------
        dict of str to str
            As of every ranker, without its measure.

        """
        return {name: value for name, value in super().about().items() if name != "trained for"}


@dataclass(eq=False, repr=False)
class Imported(Untrained):
    """Base class of rankers that another system trained."""

    n_jobs: int | None = jobs_parameter()

    parameter_fields: ClassVar[Mapping[str, Field]] = {"n_jobs": JOBS}
    base: ClassVar[None] = None  # type: ignore[misc]

    @classmethod
    def _of(cls, feature_names: Sequence[str], recipe: Mapping[str, Any] | None, **learned: Any) -> Self:
        """Return a fitted ranker with these attributes.

        Raises InvalidInputError for feature names or a recipe that a model file could not hold.
        """
        model = cls()
        with at("feature_names"):
            names = Names().read(list(feature_names))
        model._describe(names, Plain().read(recipe))
        model._restore({"evals_result": {}, **learned})
        return model

    def unfitted_copy(self) -> Self:
        """Return a copy that is still fitted: the model was trained elsewhere and is not trained again."""
        return copy(self)

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        """Check the number of features; as a member of an ensemble the model is not trained again."""
        self._check_fitted()
        if not self.ordered_:
            raise InvalidInputError(
                "members: expected models whose features are in the order of training, got one whose file only names "
                "them. Import it with feature_names."
            )
        if train.X.shape[1] != self.n_features_in_:
            raise InvalidInputError(
                f"training data: expected the {self.n_features_in_} features of the imported model, got "
                f"{train.X.shape[1]}. Make the data with the features that the model was trained on."
            )
