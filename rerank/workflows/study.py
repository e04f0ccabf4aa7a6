"""Settings of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.features.recipe import Recipe
from rerank.metrics.registry import each_named, named
from rerank.rankers.warm_start import UNSUPERVISED
from rerank.runtime.schema import Anything, Field, Flag, Items, Plain, Record, Sizes, Table, Text, Whole, at

MEASURES = ("RR@10", "nDCG@10", "AP")
RUN = "run"  # the base of a study of the candidates as they were retrieved


@dataclass(frozen=True)
class Study:
    """Settings of a study.

    Parameters
    ----------
    ranker : str
        Name of the ranker, which is trained without a base and, as a second system, from `base`.
    metric : str
        Measure for training and early stopping.
    measures : tuple of str
        Measures of the evaluation.
    k : int
        Number of documents of each query, of each source without a depth of its own.
    folds : int or mapping of str to int
        Number of folds, to which judged queries are assigned at random, stratified by their number of relevant
        documents; or the fold of each query, from 0.
    random_state : int
        Random seed of folds, tuning and rankers.
    threads : int or None
        Number of threads; None is all cores.
    parameters : mapping
        Hyper-parameters of the ranker that differ from its defaults.
    repeats : int
        Number of times that folds are assigned, with random_state, random_state + 1, ...
    tune : int
        Number of hyper-parameter settings that are tried in each fold in addition to `parameters`; 0 is none.
    recipe : Recipe or None
        The features; None is the default recipe.
    candidates : str or None
        Sources of the documents that are reranked, see `Index.search`; None is the union of BM25, RM3 and, with
        vectors, the nearest documents, as in `rerank.train`. The baseline is BM25 with their k1 and b.
    base : str
        What the second system starts from. "unsupervised" and "feature:NAME": rankers are trained as `rerank.train`
        does, on the first 100 documents of each source, and the unsupervised ranking is a system, too. "run", the
        scores of the candidates: all of them are trained on, and a fold is always left to stop on.
    learn_history : bool
        Whether features are learned from judgements too: in each fold from its training queries only, whose own
        features are out of fold.

    """

    ranker: str = "lambdamart"
    metric: str = "nDCG@10"
    measures: tuple[str, ...] = MEASURES
    k: int = 1000
    folds: int | Mapping[str, int] = 5
    random_state: int = 0
    threads: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1
    tune: int = 0
    recipe: Recipe | None = None
    candidates: str | None = None
    base: str = UNSUPERVISED
    learn_history: bool = False

    def __post_init__(self) -> None:
        """Keep measures of ir_measures by their names; refuse a base that is stored elsewhere."""
        kind, _, name = self.base.partition(":")
        if self.base not in (UNSUPERVISED, RUN) and not (kind == "feature" and name):
            raise InvalidInputError(
                f"base: expected unsupervised, run or feature:NAME, got {shown(self.base)}. Start from one of them."
            )
        object.__setattr__(self, "metric", named(self.metric))
        object.__setattr__(self, "measures", tuple(each_named(self.measures)))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; `from_dict` is the inverse."""
        folds = self.folds if isinstance(self.folds, int) else dict(self.folds)
        recipe = None if self.recipe is None else self.recipe.to_dict()
        plain = {"measures": list(self.measures), "folds": folds, "parameters": dict(self.parameters), "recipe": recipe}
        return {**vars(self), **plain}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Study:
        """Return the study of plain values; raise InvalidInputError if a part is missing or invalid."""
        with at("study"):
            fields = _STUDY.read(values, {})
        recipe = None if fields["recipe"] is None else Recipe.from_dict(fields["recipe"])
        return cls(**{**fields, "measures": tuple(fields["measures"]), "recipe": recipe})


@dataclass(frozen=True)
class _Folds(Field):
    """A number of folds, or the fold of each query."""

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the folds."""
        fold = Whole(0, 1_000_000)
        return Table(fold).read(value, sizes) if isinstance(value, Mapping) else fold.read(value, sizes)


_STUDY = Record(
    {
        "ranker": Text(100),
        "metric": Text(1000),
        "measures": Items(Text(1000)),
        "k": Whole(1, 2**31 - 1),
        "folds": _Folds(),
        "random_state": Whole(0, 2**63),
        "threads": Whole(1, 1_000_000, optional=True),
        "parameters": Table(Anything()),
        "repeats": Whole(1, 1_000_000),
        "tune": Whole(0, 1_000_000),
        "recipe": Plain(),
        "candidates": Anything(),
        "base": Text(1000),
        "learn_history": Flag(),
    },
    optional={"candidates": None, "learn_history": False},
)
