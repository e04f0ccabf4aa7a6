"""The feedback family once more: whole queries, from lists of tokens in the order of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log2, nan, sqrt

from tests.oracles.features import Pair, burstiness, lucene_length

Weights = dict[str, float]


class Feedback:
    """A query with its candidates' fields in the order of the run."""

    def __init__(self, query: Sequence[str], documents: Sequence[Sequence[str]], pair: Pair) -> None:
        self.query, self.documents, self.pair = query, documents, pair
        self.known = [word for word in query if pair.df(word)]
        self.places = [position for position, document in enumerate(documents) if document]

    def discount(self, k: int) -> list[float]:
        weights = [1 / log2(rank + 2) for rank in range(len(self.places[:k]))]
        return [weight / sum(weights) for weight in weights]

    def model(self, k: int) -> Weights:
        results: Weights = {}
        for position, weight in zip(self.places, self.discount(k), strict=False):
            document = self.documents[position]
            for word in sorted(set(document)):
                results[word] = results.get(word, 0.0) + weight * list(document).count(word) / len(document)
        return results

    def best(self, weights: Weights, size: int) -> Weights:
        rare = {word: w for word, w in weights.items() if self.pair.df(word) <= max(0.1 * len(self.pair.holders), 1)}
        return dict(sorted(rare.items(), key=lambda item: -item[1])[:size])

    def unit(self, document: Sequence[str]) -> Weights:
        vector = {word: n * self.pair.idf(word) for word, n in Counter(document).items()}
        norm = sqrt(sum(weight**2 for weight in vector.values()))
        return {word: weight / norm for word, weight in vector.items()}

    def bm25(self, document: Sequence[str], weights: Weights) -> float:
        pair, score = self.pair, 0.0
        k1, b = pair.recipe["bm25_k1"], pair.recipe["bm25_b"]
        relative = lucene_length(len(document)) / (pair.n_tokens / len(pair.holders))
        for word, tf in Counter(document).items():
            score += weights.get(word, 0.0) * pair.idf(word) * tf / (tf + k1 * (1 - b + b * relative))
        return score

    def rm3(self, k: int, size: int) -> Weights:
        best = self.best(self.model(k), size)
        share = self.pair.recipe["rm3_share"]
        mixed = {word: share * weight / sum(best.values()) for word, weight in best.items()}
        weights = {word: n * burstiness(self.pair, word) for word, n in Counter(self.known).items()}
        for word, weight in weights.items():
            mixed[word] = mixed.get(word, 0.0) + (1 - share) * weight / sum(weights.values())
        return mixed

    def rocchio(self, k: int, size: int) -> Weights:
        centroid: Weights = {}
        for position in self.places[:k]:
            for word, weight in self.unit(self.documents[position]).items():
                centroid[word] = centroid.get(word, 0.0) + weight / len(self.places[:k])
        best = self.best(centroid, size)
        norm = sqrt(sum(weight**2 for weight in best.values()))
        mixed = {word: self.pair.recipe["rocchio_beta"] * weight / norm for word, weight in best.items()}
        weights = {word: n * burstiness(self.pair, word) for word, n in Counter(self.known).items()}
        length = sqrt(sum(weight**2 for weight in weights.values()))
        for word, weight in weights.items():
            mixed[word] = mixed.get(word, 0.0) + self.pair.recipe["rocchio_alpha"] * weight / length
        return mixed

    def similarity(self, position: int, k: int) -> float:
        ours = self.documents[position]
        others = [other for other in self.places[:k] if Counter(self.documents[other]) != Counter(ours)]
        ours = self.unit(ours)
        cosines = [
            sum(weight * ours.get(word, 0.0) for word, weight in self.unit(self.documents[other]).items())
            for other in others
        ]
        return sum(cosines) / len(cosines) if cosines else 0.0

    def clarity(self) -> float:
        return sum(p * log2(p / (self.pair.cf(word) / self.pair.n_tokens)) for word, p in self.model(10).items())

    def column(self, name: str) -> list[float]:
        if not self.places:
            return [nan] * len(self.documents)
        stem, _, k = name.rpartition("_")
        if stem == "rm3":
            weights = self.rm3(int(k), {5: 20, 10: 50, 20: 100}[int(k)])
            return [self.bm25(document, weights) for document in self.documents]
        if stem == "similarity":
            return [
                self.similarity(position, int(k)) if document else nan
                for position, document in enumerate(self.documents)
            ]
        if name == "rocchio":
            weights = self.rocchio(10, 30)
            return [self.bm25(document, weights) for document in self.documents]
        if name == "clarity":
            return [self.clarity()] * len(self.documents)
        best = self.best(self.model(10), 20)
        return [sum(word in document for word in best) / max(len(best), 1) for document in self.documents]
