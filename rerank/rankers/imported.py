"""Rankers that `fit` does not train: the unsupervised sum, and models of other systems, whose scores are theirs."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, log
from rerank.rankers.arrays import column_names, feature_matrix, is_sparse, numbered_names
from rerank.rankers.bases import UNSUPERVISED, UnsupervisedBase
from rerank.rankers.boosted import ForestRanker
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.parameters import JOBS, jobs_parameter
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import register
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.fields import LARGEST, Choice, Field, Names, Number, Plain, SchemaError, Whole, at, check_length
from rerank.runtime.mapped_rows import changed_rows
from rerank.trees.categories import check_codes
from rerank.trees.contributions import add_contributions
from rerank.trees.forest import Forest
from rerank.trees.score import score_rows
from rerank.types import Floats, Ints, RankingData
from rerank.types.ranking_data import BOTH, UNLISTED
from rerank.types.retriever import Retriever

SUMS = {"float64": np.float64, "float32": np.float32}
LARGEST_VALUE = 1e18  # of a feature that is weighed: larger ones count as this, so that scores stay within float32
ZERO = float(np.float32(1e-35))  # LightGBM's kZeroThreshold: values of at most this size are zero


def stored_name(name: str) -> str:
    """Return a feature's name as LightGBM stores it: with _ for blanks."""
    return name.replace(" ", "_")


class Untrained(Ranker):
    """Base class of the rankers that are made otherwise than by `fit`."""

    metric: ClassVar[str] = "nDCG@10"  # type: ignore[misc]  # of `score`
    what: ClassVar[str]  # what cannot be trained, for messages
    source_: str
    constant_: float
    divisor_: float
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


@dataclass(eq=False, repr=False)
class Imported(Untrained):
    """Base class of rankers that another system trained."""

    n_jobs: int | None = jobs_parameter()

    parameter_fields: ClassVar[Mapping[str, Field]] = {"n_jobs": JOBS}
    base: ClassVar[None] = None  # type: ignore[misc]

    @classmethod
    def _of(cls, feature_names: Sequence[str], recipe: Mapping[str, Any] | None, learned: Mapping[str, Any]) -> Self:
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


@register("imported", is_trained=False)
@dataclass(eq=False, repr=False)
class ImportedTrees(ForestRanker, Imported):
    """Trees of another library, created by `rerank.import_model`, not by `fit`.

    The score of a row is constant + (sum of the trees' leaf values) / divisor.

    Parameters
    ----------
    n_jobs : int or None
        Threads; None or -1 for all cores. Scores do not depend on it.

    Attributes
    ----------
    source_ : str
        The format that the model was read from.
    forest_ : Forest
        The trees; leaf values are float32 where their owner sums in float32.
    constant_ : float
        What is added to the sum.
    divisor_ : float
        What the sum is divided by: the number of trees where their owner takes the mean, else 1.
    zero_missing_ : (m,) int64
        Features of which 0 (in LightGBM, a size of up to 1e-35) is read as missing.
    missing_values_ : (m,) float64
        Numbers that are read as missing in all features, as XGBoost's `missing`.
    unlisted_missing_ : bool
        Whether what a sparse matrix or a row of LETOR text does not list is missing, as in XGBoost; if not, it is 0.

    """

    what: ClassVar[str] = "trees of another system"
    nothing_learned: ClassVar[str] = "trees without a split"
    learned: ClassVar[Mapping[str, Any]] = {
        **PROGRESS,
        "source": str,
        "constant": float,
        "divisor": Number(1e-300, LARGEST),
        "zero_missing": Ints,
        "sums": Choice(lambda: SUMS),
        "forest": Forest,
        "ordered": bool,
        "missing_values": Floats,
        "unlisted_missing": bool,
        "first_number": Whole(-1, 1),
    }

    @classmethod
    def of(
        cls,
        trees: Any,
        feature_names: Sequence[str],
        source: str,
        recipe: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return a fitted ranker of trees (`rerank.exchange.registry.TreeModel`), which are checked already.

        Raises InvalidInputError for feature names or a recipe that a model file could not hold.
        """
        learned = {
            **{name: getattr(trees, name) for name in ("forest", "constant", "divisor", "zero_missing")},
            "best_iteration": trees.forest.n_trees,
            "source": source,
            "sums": str(trees.forest.leaf_value.dtype),
            "ordered": trees.is_ordered,
            "missing_values": np.array(trees.missing_values, dtype=np.float64),
            "unlisted_missing": trees.unlisted_missing,
            "first_number": trees.first_number,
        }
        return cls._of(feature_names, recipe, learned)

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        check_codes(X, self.forest_.categories, self.feature_names_)
        scores = score_rows(self.forest_, self._with_missing(X))
        if self.divisor_ != 1.0:
            scores /= self.divisor_
        return self.constant_ + scores if self.constant_ else scores

    def _as_trained(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return names of features with _ for blanks where a model of LightGBM, which stores names so, has them."""
        if self.source_ != "lightgbm":
            return names
        known = set(self.feature_names_)
        changed = tuple(name if name in known else stored_name(name) for name in names)
        return changed if len(set(changed)) == len(changed) else names

    def _read(self, X: Any) -> Any:
        """Return rows as `Ranker._read` does, a frame with the columns' names as the model has them."""
        names = column_names(X) if self.categories_ and hasattr(X, "items") else None  # a frame of pandas
        renamed = X if names is None else X.rename(columns=dict(zip(names, self._as_trained(names), strict=True)))
        return super()._read(renamed)

    def _matrix(self, X: object) -> NDArray[np.float32]:
        """Return bare features, with NaN for what a sparse X does not list where it is missing."""
        filled = is_sparse(X) and self.unlisted_missing_
        return super()._matrix(feature_matrix(X, np.nan) if filled else X)

    def _matching(self, data: RankingData) -> RankingData:
        """Return the data with the model's features; what a row does not list is missing where the owner says so."""
        matching = super()._matching(self._numbered_as_trained(data))
        if not self.unlisted_missing_ or data.zeros is None:
            return matching
        if data.zeros == BOTH:
            raise ModelMismatchError(
                f"data: expected rows that list no 0, or every feature: what they do not list is missing for "
                f"{self.source_}, got both. Write nan for missing values, and list the others."
            )
        unlisted = [data.zeros == UNLISTED or name not in data.feature_names for name in self.feature_names_]

        def with_missing(X: NDArray[np.float32]) -> NDArray[np.float32]:
            return np.where((X == 0.0) & unlisted, np.float32(np.nan), X)

        return replace(matching, X=changed_rows(matching.X, with_missing, "features with missing values"))

    def _numbered_as_trained(self, data: RankingData) -> RankingData:
        """Return LETOR rows that list fewer features than the model has, with the model's numbers of columns.

        LightGBM and XGBoost number columns from 0, so that one that they trained on such a file has one column more.
        """
        numbers = numbered_names(data.n_features)
        n_features = self.n_features_in_
        by_number = data.zeros is not None and tuple(self.feature_names_) == numbered_names(n_features)
        by_number &= data.n_features < n_features and data.feature_names == numbers
        if not by_number or self.first_number_ == 1 or data.first_number == 0:
            return data
        if self.first_number_ == -1:
            raise ModelMismatchError(
                f"data: expected rows with {n_features} features, got up to {data.n_features}, and a model that does "
                "not read its first column, which is number 0 where its owner read such a file itself. Import it with "
                f"feature_names 0 to {n_features - 1} in that case, else 1 to {n_features}."
            )
        log.warning("data: features are numbered from 0, as LightGBM reads a file; its column 0 was empty in training")
        return replace(data, feature_names=tuple(str(number + 1) for number in map(int, numbers)))

    def _with_missing(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the rows with NaN where their owner reads another value as missing."""
        if len(self.missing_values_):
            return np.where(np.isin(X, self.missing_values_.astype(np.float32)), np.float32(np.nan), X)
        if not len(self.zero_missing_):
            return X
        X = X.copy()
        columns = X[:, self.zero_missing_]
        X[:, self.zero_missing_] = np.where(np.abs(columns) <= ZERO, np.float32(np.nan), columns)
        return X

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        check_codes(X, self.forest_.categories, self.feature_names_)
        added = np.zeros_like(out)
        add_contributions(self.forest_, self._with_missing(X), added, n_threads)
        out += added / self.divisor_
        out[:, -1] += self.constant_

    def _check_learned(self) -> None:
        super()._check_learned()
        if (np.diff(np.concatenate([[-1], self.zero_missing_, [self.n_features_in_]])) <= 0).any():
            raise SchemaError("ascending features, each once", "others", path="zero_missing")
        self.forest_ = replace(self.forest_, leaf_value=self.forest_.leaf_value.astype(SUMS[self.sums_]))


@register("importedlinear", is_trained=False)
@dataclass(eq=False, repr=False)
class ImportedWeights(Imported):
    """Weights of features that another system learned; made by `rerank.import_model`, not by `fit`.

    The score of a row is constant + sum of weight * value; a missing value counts as 0, one of a size
    beyond 1e18 as 1e18.

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
        """Return a fitted ranker of these weights; the arguments are the attributes above.

        Raises InvalidInputError for feature names or a recipe that a model file could not hold.
        """
        learned = {
            "best_iteration": 0,
            "source": source,
            "constant": constant,
            "weights": np.array(weights, dtype=np.float64),
        }
        return cls._of(feature_names, recipe, learned)

    @property
    def feature_importances_(self) -> Floats:
        """Size of each feature's weight, (n_features,) float64."""
        return np.abs(self.weights_)

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        scores = np.zeros(len(X))
        for column, weight in enumerate(self.weights_.tolist()):  # in the owner's order, rows by themselves
            scores += weight * _known_values(X[:, column])
        return scores + self.constant_

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        out[:, :-1] += _known_values(X) * self.weights_
        out[:, -1] += self.constant_

    def _check_learned(self) -> None:
        check_length(self.weights_, self.n_features_in_, "weights")


def _known_values(X: NDArray[np.float32]) -> Floats:
    """Return values as float64, 0 where they are missing."""
    return np.nan_to_num(X.astype(np.float64)).clip(-LARGEST_VALUE, LARGEST_VALUE)
