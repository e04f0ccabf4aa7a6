"""A model as it is served: what it needs of a request's candidates, checked once, when it is loaded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.inputs import check_spaces
from rerank.features.recipe import Recipe
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import load_model
from rerank.rankers.warm_start import CandidateRunBase, check_retrievers, trained_retriever
from rerank.retrieval.union import parse_union, union_of_tag
from rerank.service.settings import BM25_NAME, Settings
from rerank.types import RankingData, pointers, query_rows
from rerank.types.retriever import CONTENTS, Retriever
from rerank.workflows.applying import K1, B, check_history, model_bm25, model_recipe
from rerank.workflows.index import Index
from rerank.workflows.rerank import RerankOptions

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
    bm25 : tuple of float, float and str
        k1, b and field of the candidates.
    union : str or None
        Retrievers of the candidates; None is BM25.
    explains : bool
        Whether the model has contributions.

    """

    name: str
    model: Ranker | None = None
    recipe: Recipe | None = None
    bm25: tuple[float, float, str] = (K1, B, CONTENTS)
    union: str | None = None
    explains: bool = False

    @property
    def needs_index(self) -> str:
        """What the features need that is known of documents of the index alone; empty if texts can be ranked."""
        if self.recipe is not None and self.recipe.history is not None:
            return "a history"
        return "" if self.union is None else "several runs"

    def described(self) -> dict[str, Any]:
        """Return the entry of /models."""
        kind = "bm25" if self.model is None else self.model.kind
        n_features = 0 if self.model is None else int(self.model.n_features_in_)
        return {"id": self.name, "object": "model", "ranker": kind, "features": n_features, "explains": self.explains}


def bm25_ranking(field: str = CONTENTS) -> Ranking:
    """Return BM25 with Anserini's parameters."""
    return Ranking(BM25_NAME, bm25=(K1, B, field))


def read_records(settings: Settings, index: Index) -> RerankOptions:
    """Return what models may need beside the candidates, read from its files; raises RerankError."""
    beside = {name: getattr(settings, name) for name in ("vectors", "union", "history", "encoder", "other_index")}
    return RerankOptions.of(k=1, k1=None, b=None, base=None, runs=None, threads=settings.threads, **beside).on(index)


def load_ranking(settings: Settings, index: Index, records: RerankOptions | None = None) -> Ranking:
    """Return the served model, read and compared with what there is; raises RerankError where it cannot be served."""
    if settings.model is None:
        return bm25_ranking()
    records = read_records(settings, index) if records is None else records
    model = load_model(settings.model)
    recipe = model_recipe(model)
    check_history(recipe, getattr(records.history, "checksum", None), "Name its file with --history.")
    check_spaces(recipe, getattr(records.vectors, "checksum", None), getattr(records.encoder, "name", None))
    if not settings.other_index:
        index.check_model(model)
    union, bm25 = _served_union(settings, model), model_bm25(model)
    sources = set() if union is None else {part.name for part in parse_union(union)}
    if set(recipe.runs) - sources:
        raise ModelMismatchError(
            f"{settings.model}: expected a model whose features the service can compute, got one that needs the scores "
            f"of other runs ({', '.join(sorted(set(recipe.runs) - sources))}). Train one without."
        )
    if union is None:
        check_retrievers(model, Retriever.bm25(*bm25), {}, "model")
    return Ranking(settings.served_name, model, recipe, bm25, union)


def _served_union(settings: Settings, model: Ranker) -> str | None:
    """Return the union of candidates of the options or of the model's training; runs in files have no new queries."""
    trained = trained_retriever(model)
    parts = None if trained is None else union_of_tag(trained.name)
    parts = parts if settings.union is None else parse_union(settings.union)
    file = next((part.name for part in parts or () if part.file is not None), None)
    if file is not None:
        raise ModelMismatchError(
            f"{settings.model}: expected candidates that the service can retrieve, got the run {file} in a union. "
            "Name others with --union, or train a model without the run."
        )
    return None if parts is None else ",".join(map(str, parts))


def explains(ranking: Ranking, data: RankingData) -> bool:
    """Return whether the model has contributions: nets and ensembles have none."""
    try:
        return ranking.model is not None and len(strongest_features(ranking, data)) == data.n_rows
    except InvalidInputError:
        return False


def some_rows(data: RankingData, rows: NDArray[np.int64]) -> RankingData:
    """Return some rows of ranking data, in ascending order of their queries."""
    query = query_rows(data.query_ptr)[rows]
    counts = np.bincount(query, minlength=len(data.query_ids))
    return replace(
        data,
        query_ptr=pointers(counts),
        doc_ids=data.doc_ids[rows],
        X=data.X[rows],
        base_scores=None if data.base_scores is None else data.base_scores[rows],
    )


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
