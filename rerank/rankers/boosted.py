"""What the rankers of boosted trees share: trees one after the other on the gradients of an objective.

Sizes of trees that are not given follow the number of training queries. With few judged queries, many large trees
fit noise. With many, the sizes are LightGBM's. The sizes below 300 queries were chosen on 8 draws of 10, 20 and 40
queries of each development collection.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, log
from rerank.metrics.registry import parse_measure
from rerank.objectives.base import Objective
from rerank.objectives.lambdarank import order_matters
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.base_weight import BaseWeight, WeightedBase
from rerank.rankers.early_stopping import EarlyStopping
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.parameters import (
    SEED,
    base_parameter,
    jobs_parameter,
    parameter,
    stopping_parameter,
    watched_metric,
)
from rerank.rankers.ranker import Ranker
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet, fold_of_queries, without_start
from rerank.runtime.fields import Choice, Number, Whole, at
from rerank.runtime.progress import track
from rerank.trees.binned_data import BinnedData, bin_with
from rerank.trees.booster import Booster, Gradients, StepLength
from rerank.trees.categories import AUTO, CategoryFeatures, category_mask, check_codes
from rerank.trees.columns import Columns
from rerank.trees.constraints import FEATURES, Directions, FeatureGroups, SplitConstraints
from rerank.trees.content import bin_rows
from rerank.trees.contributions import add_contributions
from rerank.trees.forest import MOST_CATEGORIES, Forest
from rerank.trees.grower import SPLIT_RULES
from rerank.trees.score import score_rows
from rerank.trees.structures import TreeLimits
from rerank.trees.tree_values import tree_values
from rerank.types import Floats, Ints, counted, numbered_names, query_rows
from rerank.types.query_folds import folds_of_groups, numbered_groups

FEWEST, FEW_QUERIES, SOME = 50, 300, 1000  # queries below which sizes of trees that are not given are smaller
LEAST_ROWS = 20
SHARE_OF_ROWS = 25


@dataclass(frozen=True)
class Sizes:
    """Sizes of boosted trees, by the names of the rankers' parameters."""

    n_estimators: int
    num_leaves: int
    min_child_samples: int


OF_MANY = Sizes(n_estimators=500, num_leaves=31, min_child_samples=20)
BELOW = {
    FEWEST: Sizes(n_estimators=20, num_leaves=4, min_child_samples=100),
    FEW_QUERIES: Sizes(n_estimators=50, num_leaves=8, min_child_samples=100),
    SOME: Sizes(n_estimators=150, num_leaves=15, min_child_samples=100),
}


def by_queries(name: str) -> str:
    """Return the default values of a size, by number of queries, for the documentation of the parameter."""
    values: dict[int, int] = {}
    for below, sizes in BELOW.items():
        values = {limit: value for limit, value in values.items() if value != getattr(sizes, name)}
        values[below] = getattr(sizes, name)
    smaller = ", ".join(f"{value} below {below}" for below, value in values.items())
    return f"None: {smaller} queries, else {getattr(OF_MANY, name)}."


def sizes_of(ranker: Any, n_queries: int, n_rows: int) -> Sizes:
    """Return the sizes of trees that learn from some queries and rows; a ranker's own where they are not None."""
    sizes = next((sizes for below, sizes in BELOW.items() if n_queries < below), OF_MANY)
    most = max(n_rows // SHARE_OF_ROWS, LEAST_ROWS)
    sizes = replace(sizes, min_child_samples=min(sizes.min_child_samples, most))
    chosen = {name: getattr(ranker, name) for name in asdict(sizes) if getattr(ranker, name) is not None}
    return replace(sizes, **chosen)


STRATEGIES = BAGGING, MVS = "bagging", "mvs"
STARTS = WEIGHTED, FROM_BASE = "weighted", "base"
HALVES = 2  # of the training queries, whose trees score each other: each tree costs twice as much as without a base


class ForestRanker(Ranker):
    """Base class of the rankers that add up the values of trees."""

    weights_at: ClassVar[str] = "forest_.leaf_value"
    forest_: Forest
    constant_: float = 0.0  # added to the values of the trees
    divisor_: float = 1.0  # by which the sum of the values is divided

    @property
    def feature_importances_(self) -> Floats:
        """Total gain of each feature's splits, (n_features,) float64."""
        return self.forest_.gains(self.n_features_in_)

    def size_in_words(self) -> str:
        """Return the numbers of trees and leaves.

        Returns
        -------
        str
            The numbers.

        """
        return f"{counted(self.forest_.n_trees, 'tree')}, {counted(len(self.forest_.leaf_value), 'leaf', 'leaves')}"

    def _columns_read(self) -> Ints:
        return np.unique(self.forest_.feature).astype(np.int64)

    def _learned_nothing(self) -> str:
        splits = len(self.forest_.feature) > 0 and self.forest_.leaf_value.any()
        return "" if splits else self.nothing_learned

    def _check_learned(self) -> None:
        with at("forest"):
            self.forest_.check_features(self.n_features_in_)

    def _check_codes(self, X: NDArray[np.float32]) -> None:
        names = getattr(self, "feature_names_", None)  # a member of an ensemble has none
        check_codes(X, self.forest_.categories, names or numbered_names(X.shape[1]))

    def _with_missing(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the rows with NaN for all values that are read as missing."""
        return X

    def _scores(self, X: NDArray[np.float32]) -> Floats:
        self._check_codes(X)
        scores = score_rows(self.forest_, self._with_missing(X))
        return self.constant_ + (scores if self.divisor_ == 1.0 else scores / self.divisor_)

    def _add_contributions(self, X: NDArray[np.float32], out: Floats, n_threads: int) -> None:
        self._check_codes(X)
        add_contributions(self.forest_, self._with_missing(X), out, n_threads)
        out /= self.divisor_
        out[:, -1] += self.constant_


@dataclass(eq=False, repr=False)
class BoostedTrees(ForestRanker):
    """Base class of the boosted trees; a ranker adds its objective and the objective's parameters.

    F_k = F_(k-1) + learning_rate * leaf, each leaf the Newton step of its rows, -sum gradient / sum curvature. F_0 is
    (base - its mean) / u + the objective's constant: u is the spread of the base scores at the top of the queries, so
    that BM25's 20 and a probability's 0.9 start alike (1 for a cold start). The mean is that of each query where the
    objective only knows differences inside queries, else that of all rows. min_child_weight, min_split_gain,
    reg_alpha and reg_lambda act in units of u; the model is stored in the unit of the base. Where no tree has a split,
    a warning is logged (logger `rerank`).

    Where this differs from Burges 2010 on purpose: splits are those that gain most by Newton steps, G^2 / H over both
    sides, as in LightGBM and XGBoost; equation 11 fits the gradients by least squares, G^2 / rows, which
    split="least-squares" does. Leaves are the Newton steps of section 7 either way.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, sections 5 to 7.

    """

    n_estimators: int | None = parameter(
        None, Whole(1, 1_000_000, optional=True), f"Maximum number of trees. {by_queries('n_estimators')}"
    )
    learning_rate: float = parameter(
        0.1,
        Number(1e-9, 10.0),
        "Factor by which each tree's output is multiplied (shrinkage).",
        search=(0.025, 0.05, 0.1, 0.2),
    )
    num_leaves: int | None = parameter(
        None,
        Whole(2, 4096, optional=True),
        f"Maximum number of leaves per tree. {by_queries('num_leaves')}",
        search=(8, 16, 31, 62),
    )
    max_depth: int = parameter(-1, Whole(-1, 4096), "Maximum depth of a tree; -1 or 0 for no limit.")
    min_child_samples: int | None = parameter(
        None,
        Whole(0, 2**31, optional=True),
        "Minimum number of rows in a leaf, estimated from the leaf's share of the hessian, as in LightGBM. "
        f"{by_queries('min_child_samples')} A default above {LEAST_ROWS} is reduced to 1 / {SHARE_OF_ROWS} of the rows "
        f"where that is less, but not below {LEAST_ROWS}.",
        search=(5, 10, 20, 50, 100),
    )
    min_child_weight: float = parameter(1e-3, Number(0.0), "Minimum sum of the hessian in a leaf.")
    min_split_gain: float = parameter(0.0, Number(0.0), "Minimum gain of a split.")
    reg_alpha: float = parameter(
        0.0,
        Number(0.0),
        "L1 regularisation: number by which the size of a leaf's sum of gradients is reduced, down to 0.",
    )
    reg_lambda: float = parameter(
        0.0,
        Number(0.0),
        "L2 regularisation: number that is added to the hessian of each leaf.",
        search=(0.0, 1.0, 10.0),
    )
    split: str = parameter(
        "newton",
        Choice(lambda: SPLIT_RULES),
        "Criterion for splits: newton (gain of Newton steps, as in LightGBM), or least-squares (fit of the gradients, "
        "as in Burges 2010; the value of a leaf with a hessian below min_child_weight is then 0).",
    )
    monotone_constraints: Any = parameter(
        None,
        Directions(),
        "Directions of features, by name or one for each feature: 1 where the score may not fall with the feature, -1 "
        "where it may not rise, 0 for neither. 'features': those that the families of features declare, of data with a "
        "recipe. Missing values are free. The constraints hold for what the trees add to a base. Only with "
        "split='newton'.",
    )
    interaction_constraints: Any = parameter(
        None,
        FeatureGroups(),
        "Groups of features, by name or number from 0: the splits on the way to a leaf use features of one group. "
        "Features of no group are left out.",
    )
    categorical_feature: Any = parameter(
        AUTO,
        CategoryFeatures(),
        "Features whose values are codes of categories without an order, by name or number from 0: whole numbers from "
        "0 to 65535, NaN where missing. 'auto': the `category` columns of a pandas frame given to `fit`. Of more "
        "categories than max_bin, the least frequent ones count as missing, as do those that training did not see.",
    )
    max_bin: int = parameter(255, Whole(2, 255), "Maximum number of bins per feature.")
    subsample: float = parameter(
        1.0,
        Number(1e-9, 1.0),
        "Share of the queries that each tree is trained on, or of the rows (data_sample_strategy).",
        search=(0.5, 0.75, 1.0),
    )
    data_sample_strategy: str = parameter(
        BAGGING,
        Choice(lambda: STRATEGIES),
        "What `subsample` draws. bagging: whole queries. mvs: rows by the size of their gradients, which are then "
        "weighted (minimal variance sampling); subsample=0.1 takes two thirds of the time on many rows, with "
        "colsample_bytree=0.7 less than three fifths. Only with split='newton'.",
    )
    colsample_bytree: float = parameter(
        1.0, Number(1e-9, 1.0), "Share of the features that each tree can use.", search=(0.3, 0.6, 1.0)
    )
    metric: Any = watched_metric()
    early_stopping_rounds: int = stopping_parameter(100, "trees")
    base: Any = base_parameter()
    start: str = parameter(
        WEIGHTED,
        Choice(lambda: STARTS),
        "How a base is used. weighted: trees are trained from scratch, then added to the base's scores with the weight "
        "that is best on held-out queries (eval_set if given; otherwise each half of the training queries is scored by "
        "trees of the other half). base: trees are trained from the base's scores, F_0 = base.",
    )
    random_state: int = parameter(
        0,
        SEED,
        "Random seed of subsample, colsample_bytree and the halves of the queries. Another than 0 draws the order of "
        "equal scores, too.",
    )
    n_jobs: int | None = jobs_parameter()

    learned: ClassVar[Mapping[str, Any]] = {
        **PROGRESS,
        "constant": float,
        "base_weight": BaseWeight | None,
        "forest": Forest,
    }
    averages: ClassVar[bool] = False  # F_k is the mean of the trees' outputs, not their sum
    trains_mapped: ClassVar[bool] = True

    @abstractmethod
    def _objective(self, train: TrainingSet) -> Objective:
        """Return what is minimised."""

    def _unit(self, train: TrainingSet) -> float:
        """Return what the base scores are divided by."""
        return spread_at_the_top(train)

    def _gradients(self, objective: Objective) -> Gradients:
        """Return what fills the gradients that a tree is fitted to."""
        return objective.gradients

    def _step_length(self, train: TrainingSet) -> StepLength | None:
        """Return what chooses the share of each tree that is taken; None for the learning rate."""
        return None

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        self.base_weight_: BaseWeight | None = None
        self._sizes: Sizes = sizes_of(self, len(train.weights), len(train.order))
        log.debug("%s: %d queries: %s", self.kind, len(train.weights), self._sizes)
        if self.start != WEIGHTED or not train.start_scores.any() or train.pairs is not None:
            _, self.forest_ = self._grow(train, valid, self._stopping(valid, context), self._unit(train), context)
            return
        base = WeightedBase(valid or train, parse_measure(self.metric))
        cold = without_start(train)
        cold_valid = valid and without_start(valid)
        data, forest = self._grow(cold, cold_valid, self._stopping(valid, context, base.best_of), 1.0, context)
        if valid is not None:
            weight = base.best(score_rows(forest, valid.X)[valid.order])
        elif (half := self._halves(train)) is None:
            weight = base.equal(score_rows(forest, train.X)[train.order])
        else:
            weight = base.averaged(self._held_out_scores(cold, half, data))
        log.info("%s: %s", self.kind, weight)
        self.base_weight_ = weight
        self.constant_ = 0.0
        self.forest_ = forest.scaled(weight.factor)

    def _grow(
        self,
        train: TrainingSet,
        valid: TrainingSet | None,
        stopping: EarlyStopping,
        unit: float,
        context: TrainingContext,
    ) -> tuple[BinnedData, Forest]:
        """Grow the trees from the start scores, divided by the unit; return the binned rows and the forest."""
        objective = self._objective(train)
        n_valid = 0 if valid is None else len(valid.order)
        storage = context.storage(len(train.order), train.X.shape[1], n_valid, self._sizes.num_leaves)
        data = train.binned
        is_category = self._is_category(train, valid)
        if data is None or data.max_bin != self.max_bin or (data.columns.bins.is_category != is_category).any():
            data = bin_rows(train.X, train.order, self.max_bin, numba.get_num_threads(), storage, is_category)
        if not data.digests.any():
            raise InvalidInputError(
                "training data: expected a feature with different values, got only constant ones. Check X."
            )
        if train.pairs is None and train.labels.min() == train.labels.max():
            raise InvalidInputError(
                f"training data: expected labels that differ, got only {train.labels[0]:g}. Check that qrels and run "
                "name the same documents."
            )
        constant = objective.constant()
        start, centre = start_in_units(train, unit, by_query=constant is None)
        self.constant_ = unit * (constant or 0.0) - centre
        booster = self._booster(train, objective, start + (constant or 0.0), data)
        self._boost(booster, stopping, valid, data.columns, unit)
        self._follow(stopping)
        return data, Forest.of(booster.trees[: stopping.best]).scaled(unit)

    def _boost(
        self, booster: Booster, stopping: EarlyStopping, valid: TrainingSet | None, columns: Columns, unit: float
    ) -> None:
        """Add trees until the number is reached or the measure of the validation rows, binned alike, no longer rises.

        The measure before the first tree counts: a warm start that no tree betters stays the base ranker.
        """
        scores = np.empty(0)
        if valid is not None:
            if valid.binned is not None and valid.binned.columns is columns:
                blocks = valid.binned.blocks
            else:
                columns = Columns.separate(columns.bins)
                blocks = bin_with(columns, valid.X, valid.order, numba.get_num_threads())
            sums = np.zeros(len(valid.order))
        for _ in stopping.iterations(self._sizes.n_estimators, "trees"):
            tree = booster.add_tree()
            if valid is not None:
                sums += tree_values(replace(tree, leaf_value=unit * tree.leaf_value), columns, blocks)
                scores = valid.start_scores + (self.constant_ + sums)
            stopping.add(scores)

    def _are_categories(self, names: Sequence[str]) -> NDArray[np.bool_]:
        return category_mask(names, len(names), self.categorical_feature, self.categories_)

    def _is_category(self, train: TrainingSet, valid: TrainingSet | None) -> NDArray[np.bool_]:
        """Return which features are categories, (n_features,); refuse values that cannot be categories."""
        mask = self._are_categories(train.names)
        for what, rows in (("training data", train), ("validation data", valid)):
            if rows is not None:
                check_codes(rows.X, np.flatnonzero(mask), train.names, MOST_CATEGORIES, what)
        return mask

    def learns_from_all(self, n_queries: int) -> bool:
        """Return whether the model learns from all queries, since they are too few to hold some out for stopping.

        Parameters
        ----------
        n_queries : int
            Number of training queries.

        Returns
        -------
        bool
            True for fewer than 300 queries, where n_estimators is None.

        """
        return self.n_estimators is None and n_queries < FEW_QUERIES

    def _keeps_directions(self) -> bool:
        return self.monotone_constraints is not None

    def _halves(self, train: TrainingSet) -> Ints | None:
        """Return the half of each query, (n_queries,); None where there are no two queries to learn from.

        Both halves have queries in which the order of the documents changes the measure; near duplicates, which count
        as one query, are in the same half.
        """
        matters = order_matters(parse_measure(self.metric), train.lists) & (train.weights > 0.0)
        groups, first = numbered_groups(train.groups)
        learned = np.isin(np.arange(len(first)), groups[matters])
        if learned.sum() < HALVES:
            return None
        half = fold_of_queries(HALVES, train, self.random_state)
        if len(np.unique(half[matters])) < HALVES:
            half = folds_of_groups(groups, np.argsort(~learned, kind="stable"), HALVES)
        return half

    def _held_out_scores(self, train: TrainingSet, fold: Ints, data: BinnedData) -> Floats:
        """Return what trees that were grown on one half of the queries add to the other half, (n_rows,) float64."""
        held_out = np.zeros(data.n_rows)
        fold_of_row = fold[query_rows(train.query_ptr)]
        for number in range(HALVES):
            half = replace(train, weights=np.where(fold == number, 0.0, train.weights))
            objective = self._objective(half)
            start = np.full(data.n_rows, objective.constant() or 0.0)
            booster = self._booster(half, objective, start, data, np.flatnonzero(fold != number))
            learned = np.zeros(data.n_rows)
            for _ in track(range(self._sizes.n_estimators), f"trees on held-out queries, {number + 1} of {HALVES}"):
                learned += tree_values(booster.add_tree(), data.columns, data.blocks)
            held_out[fold_of_row == number] = learned[fold_of_row == number]
        return held_out

    def _booster(
        self,
        train: TrainingSet,
        objective: Objective,
        start: Floats,
        data: BinnedData,
        grown_on: Ints | None = None,
    ) -> Booster:
        """Return what grows the trees from start scores (n_rows,).

        grown_on  numbers of the queries that trees are grown on; None: all
        """
        samples_rows = self.data_sample_strategy == MVS
        if samples_rows and self.subsample >= 1.0:
            raise InvalidInputError(
                "data_sample_strategy: expected subsample below 1 with 'mvs', got 1. Set e.g. subsample=0.1."
            )
        if samples_rows and self.split != "newton":
            raise InvalidInputError(
                f"data_sample_strategy: expected split='newton' with 'mvs', got {self.split!r}. Leave split out."
            )
        limits = TreeLimits(
            self._sizes.num_leaves,
            self.max_depth or -1,
            self._sizes.min_child_samples,
            self.min_child_weight,
            self.min_split_gain,
            self.reg_alpha,
            self.reg_lambda,
        )
        of_rows = np.repeat(train.weights, np.diff(train.query_ptr))
        return Booster(
            self._gradients(objective),
            numba.get_num_threads(),
            data,
            train.query_ptr,
            start,
            limits,
            self.learning_rate,
            self.subsample,
            self.colsample_bytree,
            self._seed(),
            samples_rows,
            grown_on,
            self.averages,
            None if self.split == "newton" else of_rows * (train.row_weights if len(train.row_weights) else 1.0),
            self._step_length(train),
            self._constraints(train, data.columns.bins.is_category),
        )

    def _constraints(self, train: TrainingSet, is_category: NDArray[np.bool_]) -> SplitConstraints | None:
        """Return the constraints of the features, None without any."""
        if self.monotone_constraints is None and self.interaction_constraints is None:
            return None
        if self.monotone_constraints is not None and self.split != "newton":
            raise InvalidInputError(
                f"monotone_constraints: expected split='newton' with them, got {self.split!r}. Leave split out."
            )
        monotone = self.monotone_constraints
        if isinstance(monotone, str) and monotone == FEATURES:
            from rerank.features.columns import directions

            monotone = directions(getattr(self, "recipe_", None), train.names)
        constraints = SplitConstraints.of(train.names, monotone, self.interaction_constraints)
        both = np.flatnonzero(is_category & (constraints.direction != 0))
        if len(both):
            raise InvalidInputError(
                "monotone_constraints: expected features whose values have an order, got the category "
                f"{train.names[both[0]]!r}. Leave it out of monotone_constraints or of categorical_feature."
            )
        return constraints

    def _seed(self) -> int:
        """Return random_state, or a random seed where it is None."""
        return int(np.random.default_rng().integers(1 << 63)) if self.random_state is None else self.random_state

    @property
    def nothing_learned(self) -> str:  # type: ignore[override]
        """What to do where no tree has a split."""
        return (
            f"no split in {self.forest_.n_trees} trees. Lower min_child_samples ({self._sizes.min_child_samples}) or "
            f"min_child_weight ({self.min_child_weight:g}), or give more queries"
        )
