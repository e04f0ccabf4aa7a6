"""Base class of the rankers: a scikit-learn estimator that learns from queries, ranks, saves and loads."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, UnknownParameterError, log, shown
from rerank.files.inputs import RunLike, data_of, run_of
from rerank.files.source import check_file, open_source
from rerank.files.trec import read_run
from rerank.history.history import History
from rerank.metrics.registry import parse_measure
from rerank.rankers.arrays import (
    BinnedInput,
    LabelledArrays,
    category_values,
    coded,
    column_names,
    feature_matrix,
    finite_column,
    labelled_rows,
    validation_arrays,
    zeros_of,
)
from rerank.rankers.bases import (
    NO_BASE,
    UNSUPERVISED,
    Base,
    CandidateRunBase,
    GivenScoresBase,
    NoBase,
    StoredBase,
    model_readers,
    resolve_base,
    run_scores,
)
from rerank.rankers.calibration import Calibration, Probabilities
from rerank.rankers.early_stopping import Callback, EarlyStopping
from rerank.rankers.estimator import Estimator, check_parameters, not_fitted_error, plain_parameters
from rerank.rankers.last_stage import LastStage
from rerank.rankers.matching import check_columns, matching
from rerank.rankers.model_file import MODEL_FILE, OF_INDEX, VERSION, check_parts
from rerank.rankers.registry import known_rankers, stored_rankers
from rerank.rankers.retriever_checks import check_base_run, check_retrievers, note_unknown_start
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import PreferenceRows, TrainingSet, check_size, check_training_data
from rerank.rankers.validation import Validation
from rerank.runtime.codec import field_of, plain, restored
from rerank.runtime.fields import Choice, Flag, Names, Plain, Record, SchemaError, Table, at
from rerank.runtime.mapped_rows import is_mapped, row_blocks
from rerank.runtime.threads import kernel_threads
from rerank.trees.categories import CategoryValues
from rerank.trees.content import in_order
from rerank.trees.forest import Forest
from rerank.types import Floats, Ints, RankingData, Run, counted, numbered_names
from rerank.types.preferences import Preferences
from rerank.types.retriever import RETRIEVERS, Retriever, retriever_members
from rerank.types.statistics import Statistics
from rerank.types.text_tables import text_table

NOT_STORED = "not kept in the model file"


class Ranker(Estimator):
    """Base class of the rankers: input, base ranker, prediction; a learner adds `_learn` and `_scores`.

    A ranker is an estimator of scikit-learn.

    Attributes
    ----------
    feature_names_ : tuple of str
        Names of the features.
    feature_names_in_ : ndarray of shape (n_features,), object
        The same, where the features had names.
    n_features_in_ : int
        Number of features.
    best_iteration_ : int
        Iterations that the model keeps.
    evals_result_ : dict
        {"valid": {measure: values}}: the metric on the validation data before and after each iteration.
    base_ : Base
        What the model starts from.
    recipe_, fingerprint_, retriever_, run_retrievers_
        Recipe, index and retrievers of the training data, where they are known.
    calibration_ : Calibration or None
        How scores become probabilities, where `rerank.train` has learned it.
    last_stage_ : LastStage or None
        How the scores of a slow scorer reorder the first documents, where `rerank.train` has learned it.
    history_ : History or None
        The judged queries that features of similar queries are computed from, where `rerank.train` has learned them.
    statistics_ : Statistics or None
        Statistics of the collection, with which texts are ranked without an index, where `rerank.train` has stored
        them.
    categories_ : dict
        The values of each `category` column of the data frame that the model was trained on, in the order of their
        codes. The columns of other frames are coded in the same way.

    """

    kind: ClassVar[str] = ""
    weights_at: ClassVar[str] = ""  # the attribute that holds all weights, or its part: `net_.weights`
    nothing_learned: ClassVar[str] = "no weight but 0. Give other features"  # what a warning says of equal scores
    learns_from_pairs: ClassVar[bool] = False
    weighs_rows: ClassVar[bool] = False  # takes weights of documents, and not only of queries
    trains_mapped: ClassVar[bool] = False  # reads mapped features block by block; takes `memory`
    cross_validates: ClassVar[bool] = False  # without an eval_set, chooses by held-out queries; see cross_validated_
    learned: ClassVar[Mapping[str, Any]]  # annotations of what was learned, by attribute without the last underscore
    cross_validated_: float  # metric of the choice on the held-out training queries
    metric: Any
    early_stopping_rounds: int
    base: Any
    n_jobs: int | None
    calibration_: Calibration | None = None
    last_stage_: LastStage | None = None
    history_: History | None = None
    statistics_: Statistics | None = None
    categories_: Mapping[str, Sequence[Any]] = MappingProxyType({})
    _columns_named = False  # whether training had a data frame, whose columns have names
    ordered_ = True  # whether the order of the features is known: the file of an imported model may only name them

    @abstractmethod
    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        """Learn from canonical data."""

    @abstractmethod
    def _scores(self, X: NDArray[np.float32]) -> Floats:
        """Return what the learner adds to the base scores, (n_rows,) float64."""

    def features_read(self) -> frozenset[str]:
        """Return the names of the features that scores depend on; the values of all others have no effect on them.

        Returns
        -------
        frozenset of str
            Those that a test of a tree reads, for a ranker of trees; all of them for others. Those that probabilities
            depend on are among them.

        """
        self._check_fitted()
        predictors = () if self.calibration_ is None else self.calibration_.predictors
        own = {self.feature_names_[column] for column in self._columns_read().tolist()}
        return self.base_.features_read() | own | set(predictors)

    def learns_from_all(self, n_queries: int) -> bool:
        """Return whether the ranker needs no validation data to end its training.

        Parameters
        ----------
        n_queries : int
            Number of training queries.

        Returns
        -------
        bool
            True for a ranker that cross-validates, and for trees whose number follows from few queries.

        """
        return self.cross_validates

    def _columns_read(self) -> Ints:
        """Return the columns of the features that `_scores` depends on."""
        return np.arange(self.n_features_in_)

    def _keeps_directions(self) -> bool:
        """Return whether monotone constraints hold for the scores; if so, they must for scores computed from these."""
        return False

    def _learned_nothing(self) -> str:
        """Return why the learner gives all documents the same score, for a warning; "" where it does not."""
        return "" if getattr(self, "weights_", np.empty(0)).any() else self.nothing_learned

    def _restore(self, learned: Mapping[str, Any]) -> None:
        """Set the attributes of what was learned."""
        for name, value in learned.items():
            setattr(self, f"{name}_", value)

    def _check_learned(self) -> None:
        """Raise SchemaError unless the learned attributes of a stored model fit each other."""

    def _describe(
        self,
        names: tuple[str, ...],
        recipe: Any = None,
        fingerprint: Any = None,
        retriever: Retriever | None = None,
        run_retrievers: Mapping[str, Retriever] = MappingProxyType({}),
        base: Base = NO_BASE,
    ) -> None:
        """Set the attributes that describe the features, and the base that scores start from."""
        self.feature_names_ = names
        self.n_features_in_ = len(names)
        self.recipe_ = recipe
        self.fingerprint_ = fingerprint
        self.retriever_ = retriever
        self.run_retrievers_ = dict(run_retrievers)
        self.base_ = base

    def _follow(self, stopping: EarlyStopping) -> None:
        """Set the number of iterations to keep, and the measure after each."""
        self.best_iteration_ = stopping.best
        self.evals_result_ = stopping.results()

    def fit(
        self,
        X: RankingData | ArrayLike | str | Path,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        eval_init_score: Any = None,
        preferences: Preferences | Iterable[Sequence[Any]] | None = None,
        callbacks: Iterable[Callback] | None = None,
        memory: int | str | None = None,
    ) -> Self:
        """Train the ranker.

        Parameters
        ----------
        X : RankingData or the path of its file, or array, data frame or sparse matrix of shape (n_rows, n_features)
            Features; NaN is a missing value. The columns of a data frame give the names of the features. A sparse
            matrix is converted to a dense one, and its zeros are values, not missing.
        y : array of shape (n_rows,)
            Labels. Left out, as qid, group and sample_weight are, if X is RankingData, which contains them.
        qid : array of shape (n_rows,)
            Query of each row, in any order.
        group : array of shape (n_queries,)
            Instead of qid: the number of rows of each query; the rows of a query must be adjacent.
        init_score : array of shape (n_rows,), optional
            Scores of a base ranker. `predict` then needs init_score, too.
        sample_weight : array of shape (n_rows,), optional
            Weights. Those that differ within a query are weights of documents, which LambdaMART and MART take: a pair
            of documents weighs the product of theirs, as if each were there as often.
        eval_set : RankingData, path, (X, y, qid), or (X, y) with eval_qid or eval_group; or a list of one, optional
            Validation data for early stopping.
        eval_qid, eval_group : array, or list of one, optional
            Queries or group sizes of eval_set, like qid and group.
        eval_init_score : array, or list of one, optional
            Base scores of eval_set, if init_score is given.
        preferences : Preferences, path, or rows (qid, better docid, worse docid[, probability]), optional
            Preference pairs to train on instead of labels, which may then be missing. X must be RankingData, which
            contains the document ids. Only for rankers that can be trained on pairs (`learns_from_pairs`).
        callbacks : iterable of callables, optional
            Each is called after each iteration with a `TrainingProgress`: its iteration, evals_result, and stop(). One
            that raises ends the training.
        memory : int or str, optional
            For rankers of boosted trees: maximum memory of the process, in bytes or as a size such as "4GB". The model
            does not depend on it. The binned features are kept in a memory-mapped temporary file if they do not fit. If
            the data are mapped, too (`rerank.read_data(path, mapped=True)`), the features are never in memory as a
            whole.

        Returns
        -------
        Ranker
            The ranker itself.

        Raises
        ------
        InvalidInputError
            If the ranker cannot be trained on the data.

        """
        check_parameters(self)
        rows: Any = data_of(X)
        if memory is not None:
            self._check_able("memory", "trains_mapped", "a ranker of boosted trees")
        if preferences is not None:
            self._check_able("preferences", "learns_from_pairs", "a ranker that learns from pairs")
        if init_score is not None and self.base is not None:
            raise InvalidInputError("init_score: expected no base= beside it, got both. Pass one of them.")
        context = TrainingContext.of(callbacks, memory)
        pairs = PreferenceRows.of(preferences, rows)
        if pairs is not None and rows.labels is None:
            rows = replace(rows, labels=np.zeros(rows.n_rows))
        learner = self.unfitted_copy()  # all or nothing: a failed training leaves this ranker as it was
        if "categorical_feature" in self.parameter_fields:
            learner.categories_ = category_values(rows)
        rows = learner._read(rows)
        learner._columns_named = not isinstance(rows, RankingData) and column_names(rows) is not None
        data, start, binned = labelled_rows(
            rows, y, qid, group, init_score, sample_weight, categories=learner._are_categories
        )
        base = given_base(self.base, data.feature_names)
        if not isinstance(rows, RankingData) and not learner._columns_named:
            check_width(base, data.n_features)
        valid = validation_arrays(data_of(eval_set), eval_qid, eval_group, eval_init_score)
        learner._fit_data(data, base, start, pairs, valid, context, binned)
        unlearned = {name: value for name, value in vars(self).items() if not name.endswith("_")}  # callers' attributes
        self.__dict__ = {**unlearned, **vars(learner), **self.get_params(deep=False)}
        return self

    def _are_categories(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which features of these names have no order, (n_features,)."""
        return np.zeros(len(names), np.bool_)

    def _check_able(self, what: str, ability: str, expected: str) -> None:
        """Refuse an argument that only the rankers with an ability take."""
        if not getattr(self, ability):
            able = ", ".join(name for name, ranker in known_rankers().items() if getattr(ranker, ability))
            raise UnknownParameterError(
                f"{what}: expected {expected}, got {type(self).__name__}. Take one of {able}, or leave it out."
            )

    def _fit_data(
        self,
        data: RankingData,
        base: Any,
        start: Floats | None,
        pairs: PreferenceRows | None,
        valid: LabelledArrays | None,
        context: TrainingContext,
        binned: BinnedInput | None,
    ) -> None:
        """Learn from data.

        base    as `given_base` returns it
        start   scores to start from, (n_rows,); None: those of the base
        pairs   preferences to learn from in place of labels
        valid   as `validation_arrays` returns it
        binned  as `labelled_rows` returns it
        """
        data = self._loaded(data)
        check_training_data(data, "training data")
        if data.row_weights is not None:
            self._check_able("sample_weight", "weighs_rows", "a ranker that weighs rows, or one weight a query")
        if isinstance(base, Ranker) and hasattr(base, "base_"):  # `resolve_base` refuses one that is not fitted
            check_retrievers(base, data.retriever, data.run_retrievers, "training data")
            self._check_categories(base)
        origin: Base = GivenScoresBase()
        if start is None:
            origin, start = resolve_base(base, data)
        retriever = data.retriever
        if retriever is not None and retriever.depth is None:  # which is how many documents are reranked by default
            retriever = replace(retriever, depth=int(np.diff(data.query_ptr).max()))
        if retriever is None and isinstance(origin, CandidateRunBase) and isinstance(base, Run):
            retriever = base.retriever  # the run is that of the candidates
        self._describe(data.feature_names, data.recipe, data.fingerprint, retriever, data.run_retrievers, origin)
        note_unknown_start(self)
        validation = None if valid is None else self._validation_set(valid, base)
        check_size("base", start, "scores")
        with kernel_threads(self.n_jobs):
            train = TrainingSet.of(data, start, pairs, getattr(self, "random_state", 0) or 0)
            train = replace(train, base_worth=origin.worth)
            if binned is not None and context.memory is None and getattr(self, "max_bin", 0) == binned[1].max_bin:
                train = replace(train, binned=in_order(binned[1], binned[0][train.order]))
            self._learn(train, validation, context)
        self._warn_of_nothing()

    def _check_categories(self, base: Ranker) -> None:
        """Refuse a base model whose category columns have other codes than these."""
        # A base that was trained on codes has no categories_, but trees that split on sets of codes read them.
        has_sets = isinstance(forest := getattr(base, "forest_", None), Forest) and len(forest.categories) > 0
        named = dict(zip(base._as_trained(tuple(self.categories_)), self.categories_.values(), strict=True))
        if (base.categories_ or (has_sets and named)) and base.categories_ != named:
            raise InvalidInputError(
                "base: expected a model whose category columns have the categories of X in the same order, got "
                "others. Give the columns its categories (Series.cat.set_categories), as base.categories_ has "
                "them; for a base without them, give codes (Series.cat.codes) and categorical_feature."
            )

    def _loaded(self, data: RankingData) -> RankingData:
        """Return data with features in memory, unless the learner reads mapped ones block by block."""
        return data if self.trains_mapped or not is_mapped(data.X) else replace(data, X=np.array(data.X))

    def _stopping(
        self, valid: TrainingSet | None, context: TrainingContext, judged: Callable[[Floats], Floats] | None = None
    ) -> EarlyStopping:
        """Return what follows the metric on the validation data, if any, and decides when the ranker stops learning.

        judged  as for `EarlyStopping`
        """
        return EarlyStopping(valid, parse_measure(self.metric), self.early_stopping_rounds, context.callbacks, judged)

    def predict(
        self,
        X: RankingData | ArrayLike | str | Path,
        *,
        init_score: ArrayLike | None = None,
        base: RunLike | None = None,
    ) -> Floats:
        """Return the score of every row, including that of the base ranker.

        Parameters
        ----------
        X : RankingData or the path of its file, or array, data frame or sparse matrix of shape (n_rows, n_features)
            Features of RankingData are found by name. The columns of an array must be in the order of training, and
            those of a data frame must also have the same names.
        init_score : array of shape (n_rows,), optional
            Base scores, where the model was fitted with `init_score`.
        base : Run, {qid: {docid: score}} or path, optional
            The run to start from, where the model was warm-started from a run.

        Returns
        -------
        ndarray of shape (n_rows,), float64
            Scores; a higher one is a better document.

        Raises
        ------
        ModelMismatchError
            If a feature is missing, if base scores are needed but not given, or if the scores that the model starts
            from were retrieved with other parameters.

        """
        self._check_fitted()
        starts_at_0 = init_score is None and base is None and isinstance(self.base_, NoBase)
        if starts_at_0 and not isinstance(X, RankingData | str | Path):
            rows = self._matrix(self._read(X))  # no record of them is needed: one row is scored in half the time
            with kernel_threads(self.n_jobs, len(rows)):
                return 0.0 + self._scores(rows)  # 0.0 is the start, as below: -0.0 becomes 0.0
        data = self._rows_to_score(X, init_score, base)
        with kernel_threads(self.n_jobs, data.n_rows):
            return self._start_scores(data, init_score, base) + self._scores_of(data.X)

    def _scores_of(self, X: NDArray[np.float32]) -> Floats:
        """Return `_scores` of all rows, computed block by block where X is mapped."""
        if not is_mapped(X):
            return self._scores(X)
        return np.concatenate([np.empty(0), *(self._scores(block) for _, block in row_blocks(X))])

    def contributions(
        self,
        X: RankingData | ArrayLike | str | Path,
        *,
        init_score: ArrayLike | None = None,
        base: RunLike | None = None,
        rows: ArrayLike | None = None,
    ) -> Floats:
        """Return what each feature contributes to the score of every row.

        For trees, these are exact path-dependent SHAP values (LightGBM's `pred_contrib`): where the value of a feature
        is unknown, both children of a node count, weighted by their training rows. For a linear ranker, a contribution
        is weight times input, and its mean over the training rows is 0. For an ensemble with a linear second stage, it
        is the weighted sum of the members' contributions. If the base ranker is a feature, its score is part of the
        contribution of this feature; if it is a model, its contributions are added to those of the features that it
        uses.

        Parameters
        ----------
        X, init_score, base : as for `predict`
            The rows, and the scores to start from.
        rows : array of shape (n_rows,), int, optional
            Numbers of the rows to explain; all by default. A base that standardises scores within a query needs the
            others of the query as well: pass X as it was scored.

        Returns
        -------
        ndarray of shape (n_rows, n_features + 1), float64
            The last column is what no feature adds: the expected score, and the scores of a base run. The sum of a
            row is its score, up to rounding.

        Raises
        ------
        InvalidInputError
            Where the ranker has no contributions: nets, ensembles with a net or a boosted second stage, and imported
            trees without the training rows of their leaves.
        ModelMismatchError
            As in `predict`.

        References
        ----------
        Lundberg, Erion and Lee (2018), Consistent individualized feature attribution for tree ensembles.

        """
        data = self._rows_to_score(X, init_score, base)
        chosen = np.arange(data.n_rows) if rows is None else np.asarray(rows, np.int64)
        out = np.zeros((len(chosen), self.n_features_in_ + 1))
        of_base = np.zeros((data.n_rows, self.n_features_in_ + 1))
        with kernel_threads(self.n_jobs, len(chosen)) as n_threads:
            self._add_contributions(data.X[chosen], out, n_threads)
            if init_score is None and base is None:
                self.base_.add_contributions(data, of_base)
            else:
                of_base[:, -1] += self._start_scores(data, init_score, base)
        return out + of_base[chosen]

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        """Add each feature's contribution to `_scores` to out, (n_rows, n_features + 1), zeros."""
        raise InvalidInputError(
            f"contributions: expected a ranker of trees or a linear one, got {self.kind}. Train one of these."
        )

    def _rows_to_score(self, X: Any, init_score: ArrayLike | None, base: object) -> RankingData:
        """Return the rows with the model's features, checked; those of an array as a record with one query, `q`."""
        self._check_fitted()
        X = self._read(X)
        if isinstance(X, RankingData):
            data = self._matching(X)
            check_retrievers(self, X.retriever, X.run_retrievers, "data", init_score is None and base is None)
            return data
        array = self._matrix(X)
        if self.base_.by_query:
            raise ModelMismatchError(
                "X: expected RankingData, within whose queries the base standardises scores, got an array without "
                "queries. Pass RankingData."
            )
        rows = np.array(["q"]), np.array([0, len(array)]), np.zeros(len(array), dtype="U1"), array
        return RankingData(*rows, self.feature_names_, zeros=zeros_of(X))

    def score(
        self,
        X: RankingData | ArrayLike | str | Path,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        base: RunLike | None = None,
    ) -> float:
        """Return the mean of the ranker's metric over the queries, with their weights.

        Parameters
        ----------
        X, y, qid, group, sample_weight : as for `fit`
            Labelled data.
        init_score, base : as for `predict`
            Scores to start from.

        Returns
        -------
        float
            The weighted mean.

        """
        self._check_fitted()
        rows: Any = data_of(X)
        scores = self.predict(rows, init_score=init_score, base=base)
        data, scores_of_rows, _ = labelled_rows(self._read(rows), y, qid, group, scores, sample_weight)
        check_training_data(data, "data")
        measured = TrainingSet.of(data, np.asarray(scores_of_rows))
        return Validation(measured, parse_measure(self.metric)).value(measured.start_scores)

    def rank(
        self,
        data: RankingData | str | Path,
        *,
        init_score: ArrayLike | None = None,
        base: RunLike | None = None,
        name: str | None = None,
    ) -> Run:
        """Return the documents of each query in the order of their new scores.

        Parameters
        ----------
        data : RankingData or path
            Candidates with their features, or their file.
        init_score, base : as for `predict`
            Scores to start from.
        name : str, optional
            The run's name; the ranker's by default.

        Returns
        -------
        Run
            The documents of each query by score, equal scores by document id, both descending.

        """
        self._check_fitted()
        record = data_of(data)
        if not isinstance(record, RankingData):
            raise InvalidInputError(
                f"data: expected RankingData or the path of its file, got {type(record).__name__}. Call predict."
            )
        return record.run(self.predict(record, init_score=init_score, base=base), name or self.kind)

    def probabilities(self, data: RankingData, *, base: RunLike | None = None, texts: bool = False) -> Probabilities:
        """Return the probability that each document is relevant, and that any document of a query is.

        Parameters
        ----------
        data : RankingData
            Candidates with their features.
        base : as for `predict`
            Scores to start from.
        texts : bool
            Whether the documents were handed over, and are not the candidates that the model was trained on.

        Returns
        -------
        Probabilities
            `documents` (n_rows,), in the model's order within a query, and `lists` (n_queries,).

        Raises
        ------
        ModelMismatchError
            Where the model has no calibration; and as `predict` does.

        """
        calibration = self.calibrated()
        return calibration.probabilities(self._rows_to_score(data, None, base), self.predict(data, base=base), texts)

    def calibrated(self) -> Calibration:
        """Return how scores become probabilities.

        Returns
        -------
        Calibration
            `calibration_`.

        Raises
        ------
        ModelMismatchError
            For a model without one.

        """
        self._check_fitted()
        if self.calibration_ is None:
            raise ModelMismatchError(
                "model: expected one with calibrated scores, got one without. Train it with `rerank train INDEX TOPICS "
                "QRELS` (without --no-estimate), which calibrates where enough is judged, or leave out min_score and "
                "abstain."
            )
        return self.calibration_

    def weights(self) -> Floats:
        """Return all learned numbers as one array.

        Returns
        -------
        ndarray of shape (n_weights,), dtype float64
            Of a net: those of its layers. Of a linear ranker: weights of the features, then of the inputs that are 1
            where a feature is missing. Of boosted trees: values of all leaves, tree by tree, in the unit of the scores.

        """
        self._check_fitted()
        if not self.weights_at:
            raise InvalidInputError(
                f"weights: expected a net, a linear ranker or trees, got {self.kind}. Train one of these."
            )
        return np.array(attrgetter(self.weights_at)(self))

    def with_weights(self, weights: ArrayLike) -> Self:
        """Return a copy of the model with other learned numbers, and without calibration and last stage.

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
        array = np.array(weights, dtype=np.float64)
        count = len(self.weights())
        if array.shape != (count,):
            raise InvalidInputError(f"weights: expected {count} numbers, got shape {array.shape}. Change weights().")
        other = copy(self)
        owner, _, part = self.weights_at.partition(".")
        setattr(other, owner, replace(getattr(other, owner), **{part: array}) if part else array)
        other.calibration_ = other.last_stage_ = None  # those of other scores
        return other

    def checksum(self) -> str:
        """Return a checksum of what scores depend on: features, base, what was learned.

        Returns
        -------
        str
            Sixteen hexadecimal digits.

        """
        without_effect = ("parameters", "calibration", "last_stage", *OF_INDEX)  # on scores of given features
        parts = {name: value for name, value in self.to_dict().items() if name not in without_effect}
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, which contains no code.

        Parameters
        ----------
        path : str or Path
            The model file. It is written completely or not at all.

        Raises
        ------
        InvalidInputError
            If `read_model` would refuse the model.

        """
        try:
            stored = self.to_dict()
            restored(Ranker, stored)
        except SchemaError as error:
            raise InvalidInputError(f"model: {error}") from None
        MODEL_FILE.write(path, {"version": VERSION, **stored})

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values.

        Returns
        -------
        dict
            What the model file holds, but for its format, checksum and version.

        """
        self._check_fitted()
        return {
            "ranker": self.kind,
            "parameters": plain_parameters(self),
            "feature_names": list(self.feature_names_),
            "recipe": Plain().read(self.recipe_),
            "fingerprint": Plain().read(self.fingerprint_),
            **retriever_members(self.retriever_, self.run_retrievers_),
            "columns": self._columns_named,
            "base": self.base_.to_dict(),
            "learned": {name: plain(getattr(self, f"{name}_")) for name in self.learned},
            "calibration": plain(self.calibration_),
            "last_stage": plain(self.last_stage_),
            "history": plain(self.history_),
            "statistics": plain(self.statistics_),
            "categories": plain(self.categories_),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return the model that `to_dict` wrote.

        Parameters
        ----------
        stored : mapping
            What `to_dict` returned.

        Returns
        -------
        Ranker
            The model.

        Raises
        ------
        InvalidInputError
            If it is not a model of this ranker.

        """
        model: Self = restored(cls, stored)
        return model

    @classmethod
    def _restored(cls, stored: Any) -> Ranker:
        """Return the model that `to_dict` wrote, of this class or a subclass; raises SchemaError."""
        kinds = {name: kind for name, kind in stored_rankers().items() if issubclass(kind, cls)}
        with at("ranker"):
            kind = kinds[Choice(lambda: kinds).read(stored.get("ranker") if isinstance(stored, Mapping) else None)]
        parts = {
            "parameters": Record(kind.parameter_fields, partial=True),
            "feature_names": Names(),
            "recipe": Plain(),
            "fingerprint": Plain(),
            **RETRIEVERS,
            "columns": Flag(),
            "base": StoredBase(STORED_MODEL),
            "learned": field_of(kind.learned),
            "calibration": field_of(Calibration | None),
            "last_stage": field_of(LastStage | None),
            "history": field_of(History | None),
            "statistics": field_of(Statistics | None),
            "categories": Table(CategoryValues()),
        }
        record = Record(parts, {"retriever": None, "run_retrievers": {}, "last_stage": None, **OF_INDEX})
        values = record.read({name: value for name, value in stored.items() if name != "ranker"})
        model = kind(**values.pop("parameters"))
        model._columns_named = values.pop("columns")
        model.n_features_in_ = len(values["feature_names"])
        model._restore({**values.pop("learned"), **values})
        check_parts(model)
        return model

    def _warn_of_nothing(self) -> None:
        """Log a warning where the model adds the same to every document."""
        reason = self._learned_nothing()
        if reason and self.evals_result_ and self.best_iteration_ == 0:
            reason = "no iteration that betters the measure of the validation data. Give other features or more queries"
        if reason:
            ranks = "has one score for all documents" if isinstance(self.base_, NoBase) else "ranks as its base does"
            log.warning("%s: expected to learn from the data, got %s. The model %s.", self.kind, reason, ranks)

    def _validation_set(self, arrays: LabelledArrays, base: Any) -> TrainingSet:
        """Return the canonical validation data, with scores to start from.

        base  of `given_base`
        """
        X = self._read(arrays[0])
        data, scores, _ = labelled_rows(X, *arrays[1:], prefix="eval_", categories=self._are_categories)
        if isinstance(self.base_, GivenScoresBase) and scores is None:
            raise InvalidInputError("eval_set: expected eval_init_score beside init_score, got none. Pass both.")
        if isinstance(X, RankingData):
            data = self._matching(self._loaded(X))
            check_retrievers(self, X.retriever, X.run_retrievers, "validation data", scores is None)
        else:
            check_columns(self, data.X, column_names(X), "eval_set")
            data = replace(data, feature_names=self.feature_names_)
        check_training_data(data, "validation data")
        if scores is None:
            scores = run_scores(base, data) if isinstance(base, Run) else self.base_.scores(data)
        check_size("base", scores, "scores")
        return TrainingSet.of(data, scores)

    def _start_scores(self, data: RankingData, init_score: ArrayLike | None, base: Any) -> Floats:
        """Return the scores that the model's own are added to: those given, of a given run, or of `base_`."""
        if init_score is not None:
            return finite_column("init_score", init_score, data.n_rows, "score")
        if base is None:
            return self.base_.scores(data)
        run = run_of(base)
        check_base_run(self, run)
        return run_scores(run, data)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features (n_features,), as scikit-learn has them; none where X had no names."""
        if self.feature_names_ == numbered_names(self.n_features_in_):
            raise AttributeError(f"{type(self).__name__} was fitted without feature names")
        return np.array(self.feature_names_, dtype=object)

    def _as_trained(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return names of features as the model has them, where its owner changes some letters."""
        return names

    def _names_of(self, data: RankingData) -> tuple[str, ...]:
        """Return the names that features of data have in the model."""
        return self._as_trained(data.feature_names)

    def _read(self, X: Any) -> Any:
        """Return rows as they are given or read from their file, with codes in place of a data frame's categories."""
        return coded(data_of(X), self.categories_)

    def _matrix(self, X: object) -> NDArray[np.float32]:
        """Return the features of an array, data frame or sparse matrix, whose columns must be those of the model."""
        array = feature_matrix(X)
        check_columns(self, array, column_names(X), "X")
        return array

    def _matching(self, data: RankingData) -> RankingData:
        """Return the data with the model's features in the model's order; features are known by name."""
        return matching(self, data)

    def size_in_words(self) -> str:
        """Return how much a fitted ranker consists of, e.g. its iterations.

        Returns
        -------
        str
            The number of iterations, of trees or the members.

        """
        return counted(self.best_iteration_, "iteration")

    def about(self) -> dict[str, str]:
        """Return what a fitted ranker is and what it was made from, in words.

        Returns
        -------
        dict of str to str
            What it consists of, its features, what it starts from, its measure, candidates and collection, by name.

        """
        start, weight = str(self.base_), getattr(self, "base_weight_", None)
        made = self.fingerprint_ or {}
        counts = [f"{made[name]:,} {name}" for name in ("documents", "terms") if made.get(name) is not None]
        return {
            "ranker": f"{type(self).__name__} ({self.kind})",
            "consists of": self.size_in_words(),
            "features": f"{self.n_features_in_:,}, of which {len(self.features_read()):,} have an effect",
            "starts from": start if weight is None else f"{start}; {weight}",
            "trained for": str(self.metric),
            "candidates": str(self.retriever_ or NOT_STORED),
            "collection": ", ".join(counts) or NOT_STORED,
        }

    def _repr_html_(self) -> str | None:
        """Return what a fitted ranker is as a table, for a notebook."""
        return text_table(list(self.about().items()), ("", ""), 2, "html") if self.__sklearn_is_fitted__() else None

    def __repr__(self) -> str:
        """Return the parameters that are not the defaults, and what a fitted ranker is and was trained on."""
        if not self.__sklearn_is_fitted__():
            return super().__repr__()
        collection = self.about()["collection"]
        made = "" if collection == NOT_STORED else f", trained on an index of {collection}"
        features = counted(self.n_features_in_, "feature")
        return f"{super().__repr__()}: {self.size_in_words()}, {features}, starts from {self.base_}{made}"

    def _check_fitted(self) -> None:
        if not hasattr(self, "base_"):
            error = not_fitted_error() if "sklearn.exceptions" in sys.modules else InvalidInputError
            raise error(f"{type(self).__name__}: expected a fitted model, got a new one. Call fit first.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "base_")


STORED_MODEL = field_of(Ranker)


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
    if str(path) == UNSUPERVISED and not Path(UNSUPERVISED).exists():
        raise InvalidInputError(
            f"{path}: expected a model file, got the name of a ranking of an index or of texts, which has no file. "
            "Name a model of `rerank train`."
        )
    source = check_file(path, "a model file")

    def restored_model(stored: dict[str, Any]) -> Ranker:
        version = stored.pop("version", None)
        if type(version) is not int or version != VERSION:
            raise ModelMismatchError(
                f"{source}: expected model version {VERSION}, got {shown(version)}. "
                "Train the model again (`rerank train`), or update rerank."
            )
        model: Ranker = STORED_MODEL.read(stored)
        return model

    with open_source(source) as handle:
        return MODEL_FILE.read(handle, source, restored_model)


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


def given_base(base: Any, names: tuple[str, ...] | None = None) -> Any:
    """Return the parameter `base` of a ranker, with mappings, run:FILE, model:FILE and other systems' models read.

    names  of the features, for the model of another system that only numbers them
    """
    if isinstance(base, str) and base.startswith("run:"):
        return read_run(base.removeprefix("run:"))
    if isinstance(base, str) and base.startswith("model:"):
        return read_model(base.removeprefix("model:"))
    if base is None or isinstance(base, str | Run | Ranker):
        return base
    if isinstance(base, Mapping):
        return Run.of(base)
    read = (reader(base, names) for reader in model_readers().values())
    return next((converted for converted in read if converted is not None), base)


def check_width(base: Any, n_features: int) -> None:
    """Refuse a base model of another number of columns than an array's, which have no names."""
    expected = getattr(base, "n_features_in_", n_features)
    if expected != n_features:
        raise ModelMismatchError(
            f"X: expected the {expected} columns of the base's model, got {n_features}. Pass these, or a frame with "
            "names."
        )
