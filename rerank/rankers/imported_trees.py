"""Trees that another library trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import ModelMismatchError, log
from rerank.rankers.arrays import column_names, feature_matrix, is_sparse
from rerank.rankers.boosted import ForestRanker
from rerank.rankers.imported import Imported
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.registry import register
from rerank.runtime.fields import LARGEST_FLOAT32, Choice, Number, SchemaError, Whole
from rerank.runtime.mapped_rows import changed_rows
from rerank.trees.forest import Forest
from rerank.types import Floats, Ints, RankingData, numbered_names
from rerank.types.ranking_data import BOTH, UNLISTED

SUMS = {"float64": np.float64, "float32": np.float32}
ZERO = float(np.float32(1e-35))  # LightGBM's kZeroThreshold: values of at most this size are zero


def saved_name(name: str) -> str:
    """Return a feature's name as LightGBM stores it: with _ for blanks."""
    return name.replace(" ", "_")


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
        Numbers of the features of which 0 (in LightGBM, also a size of up to 1e-35) is read as missing.
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
        "divisor": Number(1e-300, LARGEST_FLOAT32),
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
        return cls._of(
            feature_names,
            recipe,
            forest=trees.forest,
            constant=trees.constant,
            divisor=trees.divisor,
            zero_missing=trees.zero_missing,
            best_iteration=trees.forest.n_trees,
            source=source,
            sums=str(trees.forest.leaf_value.dtype),
            ordered=trees.is_ordered,
            missing_values=np.array(trees.missing_values, dtype=np.float64),
            unlisted_missing=trees.unlisted_missing,
            first_number=trees.first_number,
        )

    def _as_trained(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return feature names, with _ for blanks where a model of LightGBM has them so."""
        if self.source_ != "lightgbm":
            return names
        known = set(self.feature_names_)
        changed = tuple(name if name in known else saved_name(name) for name in names)
        return changed if len(set(changed)) == len(changed) else names

    def _names_of(self, data: RankingData) -> tuple[str, ...]:
        """Return the names that the data's features have in the model; for LETOR rows, the model's numbers."""
        return super()._names_of(self._numbered_as_trained(data))

    def _read(self, X: Any) -> Any:
        """Return rows as `Ranker._read` does, a frame with the columns' names as the model has them."""
        names = column_names(X) if self.categories_ and hasattr(X, "items") else None  # a frame of pandas
        renamed = X if names is None else X.rename(columns=dict(zip(names, self._as_trained(names), strict=True)))
        return super()._read(renamed)

    def _matrix(self, X: object) -> NDArray[np.float32]:
        """Return bare features, with NaN for what a sparse X does not list where it is missing."""
        return super()._matrix(feature_matrix(X, np.nan) if is_sparse(X) and self.unlisted_missing_ else X)

    def _matching(self, data: RankingData) -> RankingData:
        """Return the data with the model's features; unlisted values are missing if `unlisted_missing_`."""
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

        LightGBM and XGBoost number columns from 0, so that a model that they trained on such a file has one column
        more.
        """
        n_features = self.n_features_in_
        by_number = data.zeros is not None and tuple(self.feature_names_) == numbered_names(n_features)
        by_number &= data.n_features < n_features and data.feature_names == numbered_names(data.n_features)
        if not by_number or self.first_number_ == 1 or data.first_number == 0:
            return data
        if self.first_number_ == -1:
            raise ModelMismatchError(
                f"data: expected rows with {n_features} features, got up to {data.n_features}, and a model that does "
                "not read its first column, which is number 0 where its owner read such a file itself. Import it with "
                f"feature_names 0 to {n_features - 1} in that case, else 1 to {n_features}."
            )
        log.warning("data: features are numbered from 0, as LightGBM reads a file; its column 0 was empty in training")
        return replace(data, feature_names=numbered_names(data.n_features + 1)[1:])

    def _with_missing(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the rows with NaN where the model's library reads another value as missing."""
        if len(self.missing_values_):
            return np.where(np.isin(X, self.missing_values_.astype(np.float32)), np.float32(np.nan), X)
        if not len(self.zero_missing_):
            return X
        X = X.copy()
        columns = X[:, self.zero_missing_]
        X[:, self.zero_missing_] = np.where(np.abs(columns) <= ZERO, np.float32(np.nan), columns)
        return X

    def _check_learned(self) -> None:
        super()._check_learned()
        if (np.diff(np.concatenate([[-1], self.zero_missing_, [self.n_features_in_]])) <= 0).any():
            raise SchemaError("ascending features, each once", "others", path="zero_missing")
        self.forest_ = replace(self.forest_, leaf_value=self.forest_.leaf_value.astype(SUMS[self.sums_]))
