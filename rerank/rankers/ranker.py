"""What every ranker is: a scikit-learn estimator that learns from queries, ranks, saves and loads."""

from __future__ import annotations

import logging
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.rankers.arrays import (
    check_index,
    column_names,
    data_from_arrays,
    feature_matrix,
    number_column,
    numbered_names,
)
from rerank.rankers.origin import check_base_run, check_retrievers, note_unknown_start
from rerank.rankers.parameters import check_parameters, plain_parameters
from rerank.rankers.store import StoredModel, save_model
from rerank.rankers.training import TrainingSet, check_training_data
from rerank.rankers.warm_start import BareBase, CandidateRunBase, NoBase, StoredBase, resolve_base, run_scores
from rerank.runtime.schema import (
    LARGEST,
    Anything,
    Choice,
    Field,
    Names,
    Numbers,
    Plain,
    Record,
    SchemaError,
    Sizes,
    Table,
    Whole,
    at,
)
from rerank.runtime.threads import kernel_threads
from rerank.types import Floats, RankingData, Run
from rerank.types.retriever import RETRIEVERS, retriever_members

log = logging.getLogger("rerank")
PROGRESS: dict[str, Field] = {  # of the training of any ranker
    "best_iteration": Whole(0, 1_000_000),
    "evals_result": Table(Table(Numbers())),
}
_PARTS: dict[str, Field] = {
    "feature_names": Names(binds="n_features"),
    "recipe": Plain(),
    "fingerprint": Plain(),
    **RETRIEVERS,
    "learned": Anything(),
}
_NAMING = ("fields", "families", "features", "numbers", "functions", "runs")  # what these choose shows in the names


class Ranker(BaseEstimator):  # type: ignore[misc]
    """Base class of the rankers: input, base ranker, prediction; a learner adds `_learn` and `_scores`.

    After `fit`: `feature_names_`, `n_features_in_`, `base_`, `recipe_`, `fingerprint_`, `retriever_` and
    `run_retrievers_` (of the data), `best_iteration_` and `evals_result_` ({"valid": {measure: values}}); and
    `feature_names_in_` where the features had names.
    """

    kind: ClassVar[str] = ""
    parameter_fields: ClassVar[Mapping[str, Field]]  # of the constructor's arguments but `base`
    base: Any
    n_jobs: int | None

    @abstractmethod
    def _learn(self, train: TrainingSet, valid: TrainingSet | None) -> None:
        """Learn from canonical data."""

    @abstractmethod
    def _scores(self, X: NDArray[np.float32]) -> Floats:
        """Return what the learner adds to the base scores, (n_rows,) float64."""

    def _learned_nothing(self) -> str:
        """Return what was found in place of something that tells documents apart; empty where something was learned."""
        return ""

    @abstractmethod
    def _learned(self) -> dict[str, Any]:
        """Return what was learned as plain JSON values."""

    @abstractmethod
    def _learned_fields(self) -> Record:
        """Return the declaration of what `_learned` returns; sizes hold `n_features`."""

    @abstractmethod
    def _restore(self, learned: Mapping[str, Any]) -> None:
        """Take back what `_learned` returned, as its fields read it."""

    @abstractmethod
    def _largest_score(self) -> float:
        """Return a bound of what the learner adds to the base scores, up or down."""

    def fit(
        self,
        X: RankingData | ArrayLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: Any = None,
        eval_init_score: ArrayLike | None = None,
    ) -> Self:
        """Learn to rank.

        X                RankingData, or features (n_rows, n_features) with `y` (n_rows,) labels and `qid`
                         (n_rows,) queries, in any order; NaN is missing. The columns of a data frame are features
                         by name; a sparse matrix is made dense, and its zeros are values
        init_score       (n_rows,) scores of a base ranker; `predict` will ask for them too
        sample_weight    (n_rows,) weights, the same for all rows of a query
        eval_set         RankingData, or (X, y, qid), on which early stopping watches the measure
        eval_init_score  (n_rows,) of eval_set, where init_score is given
        Returns the fitted ranker. Raises InvalidInputError where the data cannot be learned from.
        """
        check_parameters(self)
        data, scores = self._given(X, y, qid, init_score, sample_weight)
        check_training_data(data, "training data")
        if isinstance(self.base, Ranker) and hasattr(self.base, "base_"):
            check_retrievers(self.base, data.retriever, data.run_retrievers, "training data")
        self.base_, start = (BareBase(), scores) if scores is not None else resolve_base(self.base, data)
        self.feature_names_, self.n_features_in_ = data.feature_names, data.n_features
        self.recipe_, self.fingerprint_ = data.recipe, data.fingerprint
        self.retriever_, self.run_retrievers_ = data.retriever, dict(data.run_retrievers)
        if self.retriever_ is None and isinstance(self.base_, CandidateRunBase) and isinstance(self.base, Run):
            self.retriever_ = self.base.retriever  # of a run whose scores are the data's
        note_unknown_start(self)
        valid = None
        if eval_set is not None:
            valid = self._validation_set(eval_set, eval_init_score)
        with kernel_threads(self.n_jobs):
            self._learn(TrainingSet.of(data, start), valid)
        self._warn_of_nothing()
        return self

    def predict(
        self,
        X: RankingData | ArrayLike,
        *,
        init_score: ArrayLike | None = None,
        base: Run | Mapping[str, Mapping[str, float]] | None = None,
    ) -> Floats:
        """Return the score of every row, (n_rows,) float64, the base ranker's share included.

        X           RankingData, whose features are known by name, or (n_rows, n_features) features in the order of
                    training; the columns of a data frame must have the names of training, in that order
        init_score  (n_rows,) base scores, where the model was fitted with bare ones
        base        the run to start from, where the model was warm-started from a run
        Raises ModelMismatchError where features are unknown, base scores are wanted and not given, or the scores that
        the model starts from were retrieved with other parameters.
        """
        self._check_fitted()
        check_index("init_score", init_score, X)
        data = self._matching(X) if isinstance(X, RankingData) else self._rows(X)
        if isinstance(X, RankingData):
            check_retrievers(self, X.retriever, X.run_retrievers, "data", init_score is None and base is None)
        with kernel_threads(self.n_jobs, data.n_rows):
            return self._start(data, init_score, base) + self._scores(data.X)

    def rank(
        self,
        data: RankingData,
        *,
        init_score: ArrayLike | None = None,
        base: Run | Mapping[str, Mapping[str, float]] | None = None,
        name: str | None = None,
    ) -> Run:
        """Return the documents of each query in the order of their new scores."""
        return data.run(self.predict(data, init_score=init_score, base=base), name or self.kind)

    def save(self, path: str | Path) -> None:
        """Write the model as JSON: no code in it, nothing of pickle."""
        save_model(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values."""
        self._check_fitted()
        return {
            "ranker": self.kind,
            "parameters": plain_parameters(self),
            "feature_names": list(self.feature_names_),
            "recipe": Plain().read(self.recipe_, {}),
            "fingerprint": Plain().read(self.fingerprint_, {}),
            **retriever_members(self.retriever_, self.run_retrievers_),
            "base": self.base_.to_dict(),
            "learned": self._learned(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the model that `to_dict` wrote; raises InvalidInputError where it is none of this ranker."""
        return cls.read(stored, StoredModel(), {})

    @classmethod
    def read(cls, stored: Any, inner: Field, sizes: Sizes) -> Self:
        """Return the model that `to_dict` wrote, after a check of the whole of it; raises SchemaError.

        inner  reads the models inside it
        sizes  `depth`: how many models it is inside
        """
        sizes = {"depth": sizes.get("depth", 0)}
        kind = {"ranker": Choice(lambda: [cls.kind]), "parameters": Record(cls.parameter_fields, partial=True)}
        parts = {**kind, **_PARTS, "base": StoredBase(inner)}
        found = Record(parts, optional={"retriever": None, "run_retrievers": {}}).read(stored, sizes)
        model = cls(**found["parameters"])
        model.feature_names_, model.n_features_in_ = found["feature_names"], len(found["feature_names"])
        model.recipe_, model.fingerprint_ = found["recipe"], found["fingerprint"]
        model.retriever_, model.run_retrievers_ = found["retriever"], found["run_retrievers"]
        model.base_ = found["base"]
        with at("base"):
            model.base_.check_features(model.feature_names_)
        with at("learned"):
            model._restore(model._learned_fields().read(found["learned"], sizes))
            if not model._largest_score() <= LARGEST:
                raise SchemaError(f"scores up to {LARGEST:.3g}", f"some up to {model._largest_score():.3g}")
        return model

    def _warn_of_nothing(self) -> None:
        """Log a warning where the model adds the same to every document."""
        found = self._learned_nothing()
        if found and self.evals_result_ and self.best_iteration_ == 0:
            found = "no iteration that betters the measure of the validation data. Give other features or more queries"
        if found:
            ranks = "has one score for all documents" if isinstance(self.base_, NoBase) else "ranks as its base does"
            log.warning("%s: expected to learn from the data, got %s. The model %s.", self.kind, found, ranks)

    def _given(
        self,
        X: RankingData | ArrayLike,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        init_score: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> tuple[RankingData, Floats | None]:
        if isinstance(X, RankingData):
            data, order = X, np.arange(X.n_rows)
        else:
            if y is None:
                raise InvalidInputError("y: expected a label for every row, got none. Pass fit(X, y, qid=qid).")
            data, order = data_from_arrays(X, y, qid, sample_weight)
        if init_score is None:
            return data, None
        check_index("init_score", init_score, X)
        if self.base is not None:
            raise InvalidInputError("init_score: expected no base= beside it, got both. Pass one of them.")
        return data, number_column("init_score", init_score, data.n_rows, "score")[order]

    def _validation_set(self, eval_set: Any, init_score: ArrayLike | None) -> TrainingSet:
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if not isinstance(eval_set, RankingData) and not (isinstance(eval_set, tuple | list) and len(eval_set) == 3):
            raise InvalidInputError("eval_set: expected RankingData or (X, y, qid), got another value. Pass either.")
        X, y, qid = (eval_set, None, None) if isinstance(eval_set, RankingData) else eval_set
        if isinstance(self.base_, BareBase) and init_score is None:
            raise InvalidInputError("eval_set: expected eval_init_score beside init_score, got none. Pass both.")
        if isinstance(X, RankingData):
            data, order = self._matching(X), None
            check_retrievers(self, X.retriever, X.run_retrievers, "validation data", init_score is None)
        else:
            data, order = data_from_arrays(X, y, qid)
            self._check_columns(data.X, column_names(X), "eval_set")
            data = replace(data, feature_names=tuple(self.feature_names_))
        check_training_data(data, "validation data")
        if init_score is not None:
            scores = number_column("eval_init_score", init_score, data.n_rows, "score")
            return TrainingSet.of(data, scores if order is None else scores[order])
        if isinstance(self.base, Run | Mapping):
            return TrainingSet.of(data, run_scores(Run.of(self.base), data))
        return TrainingSet.of(data, self.base_.scores(data))

    def _start(self, data: RankingData, init_score: ArrayLike | None, base: Any) -> Floats:
        if init_score is not None:
            return number_column("init_score", init_score, data.n_rows, "score")
        if base is None:
            return self.base_.scores(data)
        run = Run.of(base)
        check_base_run(self, run)
        return run_scores(run, data)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features (n_features,), as scikit-learn has them; none where X had no names."""
        names = tuple(self.feature_names_)
        if names == numbered_names(len(names)):
            raise AttributeError(f"{type(self).__name__} was fitted without feature names")
        return np.array(names, dtype=object)

    def _check_columns(self, X: NDArray[np.float32], names: tuple[str, ...] | None, what: str) -> None:
        """Refuse columns that are not those of training; warn as scikit-learn does where one side has no names."""
        kind, trained = type(self).__name__, tuple(self.feature_names_)
        if names is not None and names != trained:
            if hasattr(self, "feature_names_in_") or not set(names).isdisjoint(trained):
                raise ModelMismatchError(f"{what}: {_difference(trained, names)}")
            warnings.warn(f"X has feature names, but {kind} was fitted without feature names", UserWarning, 4)
        if X.shape[1] != self.n_features_in_:
            raise ModelMismatchError(
                f"{what}: expected {self.n_features_in_} features a row, got shape {X.shape}. Pass the "
                "columns that it was trained on."
            )
        if names is None and hasattr(self, "feature_names_in_"):
            text = f"X does not have valid feature names, but {kind} was fitted with feature names"
            warnings.warn(text, UserWarning, 4)

    def _rows(self, X: Any) -> RankingData:
        """Return bare features as a record with one nameless query."""
        array = feature_matrix(X)
        self._check_columns(array, column_names(X), "X")
        ids = np.zeros(len(array), dtype="U1")
        return RankingData(np.array(["q"]), np.array([0, len(array)]), ids, array, tuple(self.feature_names_))

    def _matching(self, data: RankingData) -> RankingData:
        """Return the data with the model's features in the model's order; features are known by name."""
        _check_recipe(self.recipe_, data.recipe)
        if data.feature_names == tuple(self.feature_names_):
            return data
        missing = [name for name in self.feature_names_ if name not in data.feature_names]
        if missing:
            raise ModelMismatchError(
                f"data: expected the model's {self.n_features_in_} features, got {data.n_features}, without "
                f"{', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}. Make the data with the model's recipe."
            )
        places = [data.feature_names.index(name) for name in self.feature_names_]
        log.info("data: %d features that the model does not use are left out", data.n_features - len(places))
        return replace(data, X=np.ascontiguousarray(data.X[:, places]), feature_names=tuple(self.feature_names_))

    def _check_fitted(self) -> None:
        if not hasattr(self, "base_"):
            raise InvalidInputError(f"{type(self).__name__}: expected a fitted model, got a new one. Call fit first.")


def _check_recipe(trained: Mapping[str, Any] | None, given: Mapping[str, Any] | None) -> None:
    """Refuse features of the same names that were computed in another way: other parameters or normalisation."""
    for key in trained or {}:
        same = given is None or key not in given or given[key] == (trained or {})[key]
        if not same and key not in _NAMING:
            raise ModelMismatchError(
                f"data: expected features made with the model's recipe ({key}: {(trained or {})[key]}), got another "
                f"({key}: {(given or {})[key]}). Make the data with the model's recipe."
            )


def _difference(trained: tuple[str, ...], names: tuple[str, ...]) -> str:
    """Return in what the names of a data frame's columns differ from those of training, and what to do."""
    unknown = [name for name in names if name not in trained]
    missing = [name for name in trained if name not in names]
    if not unknown and not missing:
        place = next(place for place, pair in enumerate(zip(trained, names, strict=True)) if pair[0] != pair[1])
        return (
            f"expected the columns in the order of training, got {names[place]!r} where {trained[place]!r} was "
            f"(column {place + 1}). Pass X[list(model.feature_names_)]."
        )
    parts = [
        f"{what} {', '.join(map(repr, some[:3]))}{' ...' if len(some) > 3 else ''}"
        for what, some in (("got", unknown), ("without", missing))
        if some
    ]
    return f"expected the columns of training by name, {' and '.join(parts)}. Pass the columns that were trained on."
