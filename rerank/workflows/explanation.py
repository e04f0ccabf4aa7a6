"""Why a document is ranked where it is: the scores, and what each feature adds to them, as records, text and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

from rerank.history.bound import JudgedRelevant
from rerank.types.display import Shown
from rerank.types.frames import new_frame
from rerank.workflows.explanation_page import html_page, plot, png
from rerank.workflows.explanation_words import (
    feature_row,
    further_sentences,
    rank_side,
    ranks_sentence,
    reasons_sentence,
    table_header,
    text_table,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Pair = tuple[float, float]


@dataclass(frozen=True)
class ExplainedDocument:
    """A document, or the mean of the candidates.

    Parameters
    ----------
    doc_id : str
        The document; empty for the mean of the candidates.
    rank_before, rank_after : int or None
        Ranks in the candidates and after reranking, from 1; None for the mean.
    score : float
        The model's score.
    base_score : float
        The part of the score that the model starts from; 0 for a model without a base.
    constant : float
        The part of the score that no feature adds: the expected score of the model, and the score of a base run.
    judged : tuple of JudgedRelevant
        The most similar judged queries to which the document is relevant, where the model has a history.

    """

    doc_id: str
    rank_before: int | None
    rank_after: int | None
    score: float
    base_score: float
    constant: float
    judged: tuple[JudgedRelevant, ...] = ()

    @property
    def label(self) -> str:
        """The document id, or `mean`."""
        return self.doc_id or "mean"


@dataclass(frozen=True)
class ExplainedFeature:
    """A feature of two documents, or of one and of the mean of the candidates.

    Parameters
    ----------
    name : str
        The feature.
    meaning, unit : str
        Its documentation.
    values : tuple of two floats
        Its values, as the model reads them; NaN is missing. The mean is that of the values that are not missing.
    contributions : tuple of two floats
        What it adds to the two scores.

    """

    name: str
    meaning: str
    unit: str
    values: Pair
    contributions: Pair

    @property
    def difference(self) -> float:
        """What the feature adds to the difference of the scores."""
        return self.contributions[0] - self.contributions[1]


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """Which features put a document above another one, or above the mean of the candidates.

    `print(explanation)` shows it in words and as a table; `to_dict`, `to_frame`, `to_html` and `plot` give other forms.

    Parameters
    ----------
    query_id, query : str
        The query and its text.
    model : str
        The kind of the ranker.
    base : str
        What the model starts from, in words; empty for a model without a base.
    k : int
        Number of documents that are reranked.
    n_candidates : int
        Number of documents that the features and scores were computed with. Above k where a document is ranked below
        it: its score is the one that it would have, had it been reranked.
    documents : tuple of two ExplainedDocument
        The documents that are compared; the second may be the mean of the candidates.
    features : tuple of ExplainedFeature
        All features of the model, by the size of what they add to the difference, largest first.

    """

    query_id: str
    query: str
    model: str
    base: str
    k: int
    n_candidates: int
    documents: tuple[ExplainedDocument, ExplainedDocument]
    features: tuple[ExplainedFeature, ...]

    @property
    def difference(self) -> float:
        """Score of the first document minus that of the second."""
        return self.documents[0].score - self.documents[1].score

    @property
    def rest(self) -> float:
        """The part of the difference that no feature adds: the difference of the scores of a base run."""
        return self.documents[0].constant - self.documents[1].constant

    @cached_property
    def largest_part(self) -> float:
        """Size of the largest contribution to a score, or of the part that no feature adds."""
        sizes = [abs(part) for feature in self.features for part in feature.contributions]
        return max([*sizes, abs(self.rest)])

    @property
    def title(self) -> str:
        """What is explained, as a heading."""
        first, second = self.documents
        return f"Why {first.doc_id} is {rank_side(self)} {second.doc_id or 'the mean of its query'}"

    def __str__(self) -> str:
        """Return the explanation in words and as a table."""
        return "\n\n".join([f"Query {self.query_id}: {self.query}", *self.sentences(), text_table(self)])

    def summary(self) -> str:
        """Return the sentence that names the features."""
        return reasons_sentence(self)

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the first n features, and the number of features."""
        rows = [feature_row(feature) for feature in self.features[:n]]
        return table_header(self), rows, len(self.features)

    def sentences(self) -> list[str]:
        """Return the explanation in plain words: where the documents were and are, and which features did it."""
        return [ranks_sentence(self), reasons_sentence(self), *further_sentences(self)]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values; a missing value is None."""
        return {
            "query_id": self.query_id,
            "query": self.query,
            "model": self.model,
            "base": self.base,
            "k": self.k,
            "n_candidates": self.n_candidates,
            "words": self.sentences(),
            "difference": self.difference,
            "difference_of_no_feature": self.rest,
            "documents": [
                {
                    **vars(document),
                    "doc_id": document.doc_id or None,
                    "judged": [vars(each) for each in document.judged],
                }
                for document in self.documents
            ],
            "features": [
                {
                    **vars(feature),
                    "values": [None if isnan(value) else value for value in feature.values],
                    "contributions": list(feature.contributions),
                    "difference": feature.difference,
                }
                for feature in self.features
            ],
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each feature: values, contributions, difference, meaning, unit."""
        first, second = (document.label for document in self.documents)
        columns = {
            "feature": [feature.name for feature in self.features],
            f"value {first}": [feature.values[0] for feature in self.features],
            f"value {second}": [feature.values[1] for feature in self.features],
            f"contribution {first}": [feature.contributions[0] for feature in self.features],
            f"contribution {second}": [feature.contributions[1] for feature in self.features],
            "difference": [feature.difference for feature in self.features],
            "meaning": [feature.meaning for feature in self.features],
            "unit": [feature.unit for feature in self.features],
        }
        return new_frame(columns)

    def to_html(self) -> str:
        """Return the explanation as a self-contained page with a chart."""
        return html_page(self)

    def to_png(self) -> bytes:
        """Return the plot as a PNG file."""
        return png(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot what the features add to the difference as horizontal bars, with matplotlib."""
        return plot(self, ax)
