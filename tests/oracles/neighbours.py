"""The neighbours family once more: one field of a query's candidates, document by document, from lists of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import fsum, nan, sqrt

from tests.oracles.features import Pair, burstiness, lucene_length

FIRST, NEAREST = 100, 5
SHARE, MOST = 0.1, 100


def means_of_nearest(
    documents: Sequence[Sequence[str]], pair: Pair, order: Sequence[float], scores: Sequence[float]
) -> list[float]:
    """Return the mean score of the nearest of the first documents, of each document.

    documents  the field of each candidate, in the order of the run
    pair       any pair of the query and the collection
    order      scores by which documents are the first
    """
    vectors = [vector(document, pair) for document in documents]
    first = sorted(range(len(documents)), key=lambda number: -order[number])[:FIRST]
    means = []
    for number, document in enumerate(documents):
        cosines = [(cosine(vectors[number], vectors[other]), scores[other]) for other in first if other != number]
        nearest = sorted((each for each in cosines if each[0] > 0), key=lambda each: -each[0])[:NEAREST]
        weight = fsum(similarity for similarity, _ in nearest)
        mean = fsum(similarity * score for similarity, score in nearest) / weight if nearest else 0.0
        means.append(mean if document and pair.terms else nan)
    return means


def vector(document: Sequence[str], pair: Pair) -> dict[str, float]:
    k1, b = pair.recipe["bm25_k1"], pair.recipe["bm25_b"]
    relative = lucene_length(len(document)) / (pair.n_tokens / len(pair.holders)) if document else 0.0
    most = max(SHARE * len(pair.holders), MOST)
    counts = sorted((word, tf) for word, tf in Counter(document).items() if pair.df(word) <= most)
    weights = {
        word: pair.idf(word) * burstiness(pair, word) * tf / (tf + k1 * (1 - b + b * relative)) for word, tf in counts
    }
    norm = sqrt(fsum(weight**2 for weight in weights.values()))
    return {word: weight / norm for word, weight in weights.items()}


def cosine(one: dict[str, float], other: dict[str, float]) -> float:
    return fsum(weight * other.get(word, 0.0) for word, weight in one.items())
