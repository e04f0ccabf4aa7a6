"""Learned features once more, from plain dicts and by their definition; no fold, the given queries are the history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, log1p, nan, sqrt

import numpy as np
from numpy.typing import NDArray

Tokens = Sequence[str]
Scores = dict[str, float]


@dataclass
class Learned:
    """Documents (fields of tokens), past queries (tokens), and the labels of relevant documents of each.

    latent       vector of a query
    latent_docs  vectors of the documents
    """

    documents: Mapping[str, Mapping[str, Tokens]]
    queries: Mapping[str, Tokens]
    labels: Mapping[str, Mapping[str, int]]
    latent: Callable[[Tokens], NDArray[np.float32]]
    latent_docs: Mapping[str, NDArray[np.float32]]
    kept_terms: int = 40
    n_nearest_docs: int = 20
    n_nearest_queries: int = 30

    def __post_init__(self) -> None:
        self.relevant = {
            query_id: {
                doc: label for doc, label in self.labels[query_id].items() if label > 0 and doc in self.documents
            }
            for query_id in self.queries
        }

    @cached_property
    def counts(self) -> dict[str, Counter[str]]:
        return {doc: Counter(fields["contents"]) for doc, fields in self.documents.items()}

    def idf(self, term: str) -> float:
        n_with = sum(bool(counter) for counter in self.counts.values())
        df = sum(term in counter for counter in self.counts.values())
        return log(n_with / df) if df else log(len(self.documents))

    def vector(self, tokens: Tokens) -> dict[str, float]:
        weights = {term: (1 + log(n)) * self.idf(term) for term, n in Counter(tokens).items()}
        norm = sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {term: weight / norm for term, weight in weights.items()}

    def heaviest(self, doc: str) -> dict[str, float]:
        weights = {term: (1 + log(n)) * self.idf(term) for term, n in self.counts[doc].items()}
        kept = sorted(weights, key=lambda term: (-weights[term], term.encode()))[: self.kept_terms]
        norm = sqrt(sum(weights[term] ** 2 for term in kept)) or 1.0
        return {term: weights[term] / norm for term in kept}

    @cached_property
    def nearest_docs(self) -> dict[str, list[tuple[str, float]]]:
        vectors, order = {doc: self.heaviest(doc) for doc in self.documents}, list(self.documents)
        nearest = {}
        for doc in order:
            pairs = [
                (other, sum(weight * vectors[other].get(term, 0.0) for term, weight in vectors[doc].items()))
                for other in order
                if other != doc
            ]
            positive = [(other, cosine) for other, cosine in pairs if cosine > 1e-12]
            nearest[doc] = sorted(positive, key=lambda pair: -pair[1])[: self.n_nearest_docs]
        return nearest

    def smooth(self, scores: Scores) -> Scores:
        values = {}
        for doc, near in self.nearest_docs.items():
            total = sum(cosine * scores.get(other, 0.0) for other, cosine in near)
            values[doc] = total / sum(cosine for _, cosine in near) if total > 0 else nan
        return values

    def neighbours(self, query: Tokens) -> Scores:
        own, cosines = self.vector(query), {}
        for query_id in sorted(self.queries):
            other = self.vector(self.queries[query_id])
            cosines[query_id] = sum(weight * other.get(term, 0.0) for term, weight in own.items())
        return self.of_nearest(cosines, self.n_nearest_queries, 2)

    def latent_neighbours(self, query: Tokens, nearest: int, power: int) -> Scores:
        own = self.latent(query).astype(np.float64)
        others = {query_id: self.latent(self.queries[query_id]).astype(np.float64) for query_id in sorted(self.queries)}
        norms = {query_id: np.linalg.norm(own) * np.linalg.norm(other) for query_id, other in others.items()}
        cosines = {name: float(own @ others[name] / norms[name]) if norms[name] else 0.0 for name in others}
        return self.of_nearest(cosines, nearest, power)

    def of_nearest(self, cosines: Mapping[str, float], nearest: int, power: int) -> Scores:
        near = sorted((name for name in cosines if cosines[name] > 0), key=lambda name: -cosines[name])
        scores: Scores = {}
        for query_id in near[:nearest]:
            for doc, label in self.relevant[query_id].items():
                gain = label / sqrt(len(self.relevant[query_id]))
                scores[doc] = scores.get(doc, 0.0) + cosines[query_id] ** power * gain
        return scores

    def expansion(self, query: Tokens) -> Scores:
        fields: dict[str, Counter[str]] = {}
        for query_id, tokens in self.queries.items():
            for doc in self.relevant[query_id]:
                fields.setdefault(doc, Counter()).update(tokens)
        fields = {doc: field for doc, field in fields.items() if field}
        average = sum(field.total() for field in fields.values()) / max(len(fields), 1)
        scores: Scores = {}
        for term, n in Counter(query).items():
            df = sum(term in field for field in fields.values())
            idf = log1p((len(fields) - df + 0.5) / (df + 0.5))
            for doc, field in fields.items():
                if term in field:
                    saturation = 0.9 * (0.6 + 0.4 * field.total() / average)
                    scores[doc] = scores.get(doc, 0.0) + n * idf * field[term] / (field[term] + saturation)
        return scores

    def mapped(self, query: Tokens, n_unmapped: float = 300.0) -> Scores:
        def unit(vector: NDArray[np.float32]) -> NDArray[np.float64]:
            return vector.astype(np.float64) / (np.linalg.norm(vector) or 1.0)

        docs = {doc: unit(vector) for doc, vector in self.latent_docs.items()}
        pairs = []
        for query_id, tokens in self.queries.items():
            labels = self.relevant[query_id]
            past = unit(self.latent(tokens))
            if past.any() and any(docs[doc].any() for doc in labels):
                mean = sum(label * docs[doc] for doc, label in labels.items()) / sum(labels.values())
                pairs.append((past, mean))
        own = unit(self.latent(query))
        identity = np.eye(len(own))
        likeness = float(np.mean([p @ r for p, r in pairs]))
        strength = n_unmapped / len(own)
        left = sum((np.outer(p, p) for p, _ in pairs), strength * identity)
        right = sum((np.outer(p, r) for p, r in pairs), strength * likeness * identity)
        mapped = np.linalg.solve(left, right).T @ own
        norm = np.linalg.norm(mapped)
        return {doc: float(mapped @ vector / norm) for doc, vector in docs.items() if norm and vector.any()}

    def prior(self) -> Scores:
        return dict(Counter(doc for docs in self.relevant.values() for doc in docs))

    def columns(self, query: Tokens) -> dict[str, Scores]:
        """Return all scores of a query, by feature and document; a missing one has no entry or NaN."""
        neighbours, expansion = self.neighbours(query), self.expansion(query)
        latent, wide = self.latent_neighbours(query, 30, 2), self.latent_neighbours(query, 100, 4)
        return {
            "history.expansion": expansion,
            "history.expansion_smoothed": self.smooth(expansion),
            "history.map": self.mapped(query),
            "history.neighbours": neighbours,
            "history.neighbours_smoothed": self.smooth(neighbours),
            "history.neighbours_lsi": latent,
            "history.neighbours_lsi_smoothed": self.smooth(latent),
            "history.neighbours_lsi_wide": wide,
            "history.neighbours_lsi_wide_smoothed": self.smooth(wide),
            "history.prior": {doc: float(count) for doc, count in self.prior().items()},
        }
