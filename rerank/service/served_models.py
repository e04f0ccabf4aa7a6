"""The models that requests name: models on the index, which are checked when they are loaded, and BM25 alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.index.bound_model import BoundModel, Scored
from rerank.index.collection import Collection
from rerank.index.index import Index
from rerank.index.text_collection import model_for_texts
from rerank.rankers.bases import UNSUPERVISED, CandidateRunBase
from rerank.retrieval.candidates import Candidates
from rerank.runtime.codec import finite
from rerank.service.settings import BM25_NAME, Settings, name_of
from rerank.types import BM25, Ints

STRONGEST = 6  # features that explain a document
START = "start: BM25"  # name in explanations of the scores that a model starts from


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model, or BM25 alone, under the name that requests use.

    Parameters
    ----------
    name : str
        Its name.
    bound : BoundModel or None
        The model on the index; None is BM25 alone.
    explains : bool
        Whether the model has contributions.
    meanings : mapping of str to str
        Meaning of each of its features, in words.
    checksum : str
        Checksum of the model's file; empty without a file.

    """

    name: str
    bound: BoundModel | None = None
    explains: bool = False
    meanings: Mapping[str, str] = field(default_factory=dict)
    checksum: str = ""

    @property
    def candidates(self) -> Candidates:
        """Where the candidates come from."""
        return Candidates() if self.bound is None else self.bound.candidates

    @property
    def reads_runs(self) -> bool:
        """Whether features are scores of several sources, which only the documents of a search have."""
        return self.bound is not None and bool(self.bound.recipe.runs)

    @property
    def is_calibrated(self) -> bool:
        """Whether scores become probabilities of relevance."""
        return self.bound is not None and self.bound.model.calibration_ is not None

    @property
    def is_union(self) -> bool:
        """Whether the candidates do not come from BM25 alone."""
        return not self.candidates.is_single or self.candidates.sources[0].name != BM25

    def described(self) -> dict[str, Any]:
        """Return the entry of /models; the highest label is that of the judgements in the model, or 2 without any."""
        history = None if self.bound is None else self.bound.model.history_
        labels = () if history is None else (label for own in history.labels for label in own)
        return {
            "id": self.name,
            "object": "model",
            "ranker": "bm25" if self.bound is None else self.bound.model.kind,
            "features": 0 if self.bound is None else int(self.bound.model.n_features_in_),
            "highest_label": max(1, int(max(labels, default=2))),
            "explains": self.explains,
            "calibrated": self.is_calibrated,
            "checksum": self.checksum,
        }


def opened_collection(settings: Settings) -> Collection:
    """Return the index, or what the default model holds of the index of its training."""
    if settings.index is not None:
        return Index.open(settings.index)
    return model_for_texts(settings.model or UNSUPERVISED).index


def load_models(settings: Settings, index: Collection) -> list[ServedModel]:
    """Load and check the default model and the others; raises RerankError where one cannot be served."""
    named = {name_of(path): path for path in settings.others}
    taken = {BM25_NAME, settings.served_name, *settings.model_names} & set(named)
    if taken or len(named) < len(settings.others):
        raise InvalidInputError(
            f"models: expected files of different names, got {', '.join(map(str, settings.others))} beside "
            f"{BM25_NAME} and {settings.served_name}. Rename one: requests name models by their files."
        )
    return [_load_model(index, name, path) for name, path in {settings.served_name: settings.model, **named}.items()]


def _load_model(index: Collection, name: str, path: Path | None) -> ServedModel:
    bound = BoundModel.of(index, path or UNSUPERVISED)
    candidates = bound.candidates
    own = set() if candidates.is_single else {part.name for part in candidates.sources}
    others = {
        *(part.name for part in candidates.sources if part.file is not None),
        *(set(bound.recipe.runs or ()) - own),
    }
    if others:
        raise ModelMismatchError(
            f"{path}: expected a model whose candidates and features the service can compute, got one that needs "
            f"other runs ({', '.join(sorted(others))}). Train one without."
        )
    checksum = "" if path is None else sha256(path.read_bytes()).hexdigest()[:16]
    served = ServedModel(name, bound, checksum=checksum)
    if not served.is_union:
        bound.check_candidates(bound.text_options().retriever, {}, what="model")
    return served


def strongest_features(
    bound: BoundModel, scored: Scored, rows: Ints, meanings: Mapping[str, str]
) -> list[list[dict[str, Any]]]:
    """Return, for some rows of the scored data, the features that change the score most, the strongest first.

    Where the model starts from BM25's scores, these are the feature START.
    """
    data = scored.data
    contributions = bound.contributions(scored, rows)
    starts = isinstance(bound.model.base_, CandidateRunBase) and data.base_scores is not None
    contributions[:, -1] = data.base_scores[rows] if starts else 0.0  # type: ignore[index]
    names = [*map(str, bound.model.feature_names_), START]
    columns = {name: number for number, name in enumerate(data.feature_names)}
    values = np.column_stack([data.X[rows][:, [columns[name] for name in names[:-1]]], contributions[:, -1]])
    strongest = np.argsort(-np.abs(contributions), axis=1, kind="stable")[:, :STRONGEST]
    return [
        [
            {
                "feature": names[j],
                "meaning": meanings.get(names[j], ""),
                "value": finite(float(values[row, j])),
                "contribution": float(contributions[row, j]),
            }
            for j in chosen
            if contributions[row, j] != 0.0
        ]
        for row, chosen in enumerate(strongest.tolist())
    ]
