"""Settings of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.features.recipe import Recipe
from rerank.metrics.registry import each_named, named
from rerank.rankers.parameters import check_names, declared_parameters
from rerank.rankers.ranker import Ranker, StoredModel, ranker_class
from rerank.rankers.store import fitted_model
from rerank.rankers.warm_start import given_base
from rerank.runtime.schema import Anything, Field, Flag, Items, Plain, Record, Sizes, Table, Text, Whole, at

MEASURES = ("RR@10", "nDCG@10", "AP")
BASES = UNSUPERVISED, RUN, NO_BASE = "unsupervised", "run", "none"  # without a name
MODEL = "model"
SYSTEMS = OF_BM25, FIRST_STAGE, FUSED, BASE = "BM25", "candidates", "RRF", "base"  # that learn nothing
OF_RANKER = {"metric": "metric", "random_state": "random_state", "n_jobs": "threads", "base": "base"}


@dataclass(frozen=True)
class Study:
    """Settings of a study, for `run_experiment`.

    Parameters
    ----------
    ranker : str or Ranker
        Name of the ranker, or one with its parameters, e.g. `LambdaMART(num_leaves=15)`. It is trained twice:
        without a base, and from `base`.
    metric : str
        Measure for training and early stopping.
    measures : tuple of str
        Measures of the evaluation.
    k : int
        Number of documents per query, from each source whose depth is not given.
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
        Number of times that queries are assigned to folds, with random_state, random_state + 1, ...
    tune : int
        Number of settings of hyper-parameters to try in each fold, in addition to `parameters`; 0 for no tuning.
    recipe : Recipe or None
        The features; None is the default recipe.
    candidates : str or None
        Sources of the documents that are reranked, see `Index.search`; None is the union of BM25, RM3 and, with
        vectors, the nearest documents, as in `rerank.train`. The baseline is BM25 with their k1 and b.
    base : str, Ranker, model of LightGBM or XGBoost, or None
        What the second system starts from: "unsupervised", "feature:NAME", "run" (the scores of the candidates),
        "model:FILE" or a fitted model, which is then a system, too, or "none" for no second system. None is
        "unsupervised" for an index and "none" for data. With "run", all candidates of an index are trained on, and a
        fold is always left to stop on; otherwise rankers are trained as `rerank.train` does, on the first 100 documents
        of each source, and the unsupervised ranking is a system, too.
    learn_history : bool
        Whether features are learned from judgements too: in each fold from its training queries only, whose own
        features are out of fold.

    """

    ranker: Any = "lambdamart"  # always a name once the study is made
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
    base: Any = None
    learn_history: bool = False

    def __post_init__(self) -> None:
        """Take a ranker's settings, keep measures of ir_measures by their names, and check numbers and the base."""
        if isinstance(self.ranker, Ranker):
            for name, value in _settings_of(self.ranker, self.parameters).items():
                object.__setattr__(self, name, value)
        kind, _, name = str(self.base).partition(":")
        if isinstance(self.base, str) and self.base not in BASES and not (name and kind in ("feature", MODEL)):
            raise _unknown_base(self.base)
        for name in ("k", "random_state", "threads", "tune", "learn_history"):
            with at(name):
                _STUDY.fields[name].read(getattr(self, name), {})
        object.__setattr__(self, "metric", named(self.metric))
        object.__setattr__(self, "measures", tuple(each_named(self.measures)))

    @property
    def trained(self) -> dict[str, str | Ranker | None]:
        """What each system that is trained starts from, by its name in tables and files."""
        name, base = ranker_class(self.ranker).__name__, self.base
        if base == NO_BASE:
            return {name: None}
        kind = MODEL if isinstance(base, Ranker) else OF_BM25 if base == RUN else str(base).partition(":")[0]
        return {name: None, "LambdaSMART" if name == "LambdaMART" else f"{name} from {kind}": base}

    @classmethod
    def of(cls, study: Study | None, settings: Mapping[str, Any]) -> Study:
        """Return a study with other settings, by name; None is the defaults.

        Parameters
        ----------
        study : Study or None
            The study.
        settings : mapping
            Settings that differ.

        Returns
        -------
        Study
            The study.

        """
        check_names("study", settings, [each.name for each in fields(cls)])
        return replace(study or cls(), **settings)

    def starting(self, default: str, names: tuple[str, ...] | None = None) -> Study:
        """Return the study with the fitted model that its base names, and a default base.

        Parameters
        ----------
        default : str
            The base where the study names none.
        names : tuple of str or None
            Names of the features, where they are known.

        Returns
        -------
        Study
            The study.

        """
        base = default if self.base is None else given_base(self.base, StoredModel(), names)
        if not isinstance(base, str | Ranker):
            raise _unknown_base(base)
        return replace(self, base=fitted_model(base) if isinstance(base, Ranker) else base)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values, in which a model to start from is "model"; see `from_dict`.

        Returns
        -------
        dict
            The settings.

        """
        folds = self.folds if isinstance(self.folds, int) else dict(self.folds)
        recipe = None if self.recipe is None else self.recipe.to_dict()
        in_words = self.base is None or (isinstance(self.base, str) and not self.base.startswith(f"{MODEL}:"))
        plain = {"measures": list(self.measures), "folds": folds, "parameters": dict(self.parameters), "recipe": recipe}
        return {**vars(self), **plain, "base": self.base if in_words else MODEL}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], model: Any = None) -> Study:
        """Return the study of plain values.

        Parameters
        ----------
        values : mapping
            What `to_dict` returned.
        model : Ranker, str or None
            The model that the study starts from, or "model:FILE", where it starts from one.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        InvalidInputError
            If a part is missing or invalid.

        """
        with at("study"):
            given = _STUDY.read(values, {})
        recipe = None if given["recipe"] is None else Recipe.from_dict(given["recipe"])
        if given["base"] == MODEL and model is not None:
            given["base"] = model
        return cls(**{**given, "measures": tuple(given["measures"]), "recipe": recipe})


def _settings_of(ranker: Ranker, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a study that a ranker's parameters give: those that differ from their defaults."""
    defaults = {name: each.default for name, each in declared_parameters(type(ranker)).items()}
    values = ranker.get_params(deep=False)
    changed = {name: value for name, value in values.items() if name in defaults and value is not defaults[name]}
    given = {OF_RANKER[name]: value for name, value in changed.items() if name in OF_RANKER and value != defaults[name]}
    own = {name: value for name, value in changed.items() if name not in OF_RANKER}
    return {"ranker": ranker.kind, **given, "parameters": {**own, **parameters}}


def _unknown_base(base: Any) -> InvalidInputError:
    return InvalidInputError(
        f"base: expected unsupervised, run, none, feature:NAME, model:FILE or a fitted model, got {shown(base)}. Start "
        "from one of them."
    )


@dataclass(frozen=True)
class _Folds(Field):
    """A number of folds, or the fold of each query."""

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the folds."""
        fold = Whole(0, 1_000_000)
        return Table(fold).read(value, sizes) if isinstance(value, Mapping) else fold.read(value, sizes)


@dataclass(frozen=True)
class _Base(Text):
    """A base by its name, or none that is named."""

    def read(self, value: Any, sizes: Sizes) -> Any:
        """Return the base."""
        return None if value is None else super().read(value, sizes)


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
        "base": _Base(),
        "learn_history": Flag(),
    },
    optional={"candidates": None, "learn_history": False},
)
