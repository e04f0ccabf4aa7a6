"""A model as it is served: what it needs of a request's candidates, checked once, when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.recipe import Recipe
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import read_model
from rerank.rankers.warm_start import CandidateRunBase
from rerank.retrieval.candidates import Candidates, run_names
from rerank.service.settings import BM25_NAME, Settings, name_of
from rerank.types import RankingData
from rerank.types.retriever import BM25, Retriever
from rerank.workflows.applying import check_candidates, check_index, model_candidates, model_recipe
from rerank.workflows.index import Index
from rerank.workflows.unsupervised import unsupervised_model

STRONGEST = 6  # features that explain a document
START = "start: BM25"  # what explanations call the scores that a model starts from


@dataclass(frozen=True, eq=False)
class Ranking:
    """A model, or BM25 alone, under the name that requests use.

    Parameters
    ----------
    name : str
        Its name.
    model : Ranker or None
        The model.
    recipe : Recipe or None
        Its features.
    candidates : Candidates
        Where the candidates come from.
    explains : bool
        Whether the model has contributions.
    checksum : str
        Checksum of the model's file; empty without a file.

    """

    name: str
    model: Ranker | None = None
    recipe: Recipe | None = None
    candidates: Candidates = field(default_factory=Candidates)
    explains: bool = False
    checksum: str = ""

    @property
    def needs_index(self) -> str:
        """What the features need that is known of documents of the index alone; empty if texts can be ranked."""
        if self.recipe is not None and self.recipe.history is not None:
            return "a history"
        return "several runs" if self.reads_runs else ""

    @property
    def reads_runs(self) -> bool:
        """Whether features are the scores of several sources."""
        return self.recipe is not None and bool(self.recipe.runs)

    @property
    def is_calibrated(self) -> bool:
        """Whether scores have probabilities."""
        return self.model is not None and self.model.calibration_ is not None

    @property
    def is_union(self) -> bool:
        """Whether the candidates come from another source than BM25."""
        return not self.candidates.is_single or self.candidates.sources[0].name != BM25

    def described(self) -> dict[str, Any]:
        """Return the entry of /models."""
        kind = "bm25" if self.model is None else self.model.kind
        n_features = 0 if self.model is None else int(self.model.n_features_in_)
        described = {"id": self.name, "object": "model", "ranker": kind, "features": n_features}
        more = {"explains": self.explains, "calibrated": self.is_calibrated, "checksum": self.checksum}
        return {**described, **more}


def bm25_ranking() -> Ranking:
    """Return BM25 with Anserini's parameters."""
    return Ranking(BM25_NAME)


def load_rankings(settings: Settings, index: Index) -> list[Ranking]:
    """Return the served model and the others, read and checked; raises RerankError where one cannot be served."""
    named = {name_of(path): path for path in settings.others}
    taken = {BM25_NAME, settings.served_name, *settings.model_names} & set(named)
    if taken or len(named) < len(settings.others):
        raise InvalidInputError(
            f"models: expected files of different names, got {', '.join(map(str, settings.others))} beside "
            f"{BM25_NAME} and {settings.served_name}. Rename one: requests name models by their files."
        )
    served = {settings.served_name: settings.model, **named}
    return [_load_ranking(index, name, path) for name, path in served.items()]


def _load_ranking(index: Index, name: str, path: Path | None) -> Ranking:
    model = unsupervised_model(index) if path is None else read_model(path)
    recipe, candidates = model_recipe(model), model_candidates(model)
    check_index(index, model)
    file = next(iter(run_names(candidates.sources)), None)
    if file is not None:
        raise ModelMismatchError(
            f"{path}: expected candidates that the service can retrieve, got the run {file}. Train a model "
            "without the run."
        )
    others = set(recipe.runs) - ({part.name for part in candidates.sources} if not candidates.is_single else set())
    if others:
        raise ModelMismatchError(
            f"{path}: expected a model whose features the service can compute, got one that needs the scores "
            f"of other runs ({', '.join(sorted(others))}). Train one without."
        )
    checksum = "" if path is None else sha256(path.read_bytes()).hexdigest()[:16]
    ranking = Ranking(name, model, recipe, candidates, checksum=checksum)
    if not ranking.is_union:
        check_candidates(model, Retriever.bm25(candidates.k1, candidates.b, candidates.field), {}, None, "model")
    return ranking


def explains(ranking: Ranking, data: RankingData) -> bool:
    """Return whether the model has contributions: nets and ensembles have none."""
    try:
        return ranking.model is not None and len(strongest_features(ranking, data)) == data.n_rows
    except InvalidInputError:
        return False


def strongest_features(ranking: Ranking, data: RankingData) -> list[list[dict[str, Any]]]:
    """Return the features that add or take most of each row's score, the strongest first.

    Where the model starts from BM25's scores, they are the feature START.
    """
    model = ranking.model
    if model is None:
        return [[] for _ in range(data.n_rows)]
    contributions = model.contributions(data)
    names = [*map(str, model.feature_names_), START]
    columns = {name: number for number, name in enumerate(data.feature_names)}
    values: list[NDArray[Any]] = [data.X[:, columns[name]] for name in names[:-1]]
    starts = isinstance(model.base_, CandidateRunBase) and data.base_scores is not None
    contributions[:, -1] = data.base_scores if starts else 0.0
    values.append(contributions[:, -1])
    strongest = np.argsort(-np.abs(contributions), axis=1, kind="stable")[:, :STRONGEST]
    return [
        [
            {"feature": names[j], "value": _finite(float(values[j][row])), "contribution": float(contributions[row, j])}
            for j in chosen
            if contributions[row, j] != 0.0
        ]
        for row, chosen in enumerate(strongest.tolist())
    ]


def _finite(value: float) -> float | None:
    """Return a feature's value for JSON, which has no NaN: a missing value is null."""
    return value if np.isfinite(value) else None
