"""The pooled family once more, from lists of tokens."""

from __future__ import annotations

from collections.abc import Callable
from math import log, log2, nan, pi
from statistics import median

from tests.oracles.features import Pair, lucene_length


def relative_length(pair: Pair) -> float:
    return lucene_length(pair.length) / (pair.n_tokens / len(pair.holders))


def bm25(pair: Pair, term: str) -> float:
    k1, b, tf = pair.recipe["bm25_k1"], pair.recipe["bm25_b"], pair.tf(term)
    return pair.idf(term) * tf / (tf + k1 * (1 - b + b * relative_length(pair)))


def dirichlet(pair: Pair, term: str) -> float:
    mu, length = pair.recipe["lm_dirichlet_mu"], lucene_length(pair.length)
    share = (pair.cf(term) + 1) / (pair.n_tokens + 1)
    return max(0.0, log(1 + pair.tf(term) / (mu * share)) + log(mu / (length + mu)))


def normalised(pair: Pair, term: str) -> float:
    return pair.tf(term) * log2(1 + 1 / relative_length(pair))


def dfr_gl2(pair: Pair, term: str) -> float:
    occurrences = pair.cf(term) + 1
    rate, x = occurrences / (len(pair.holders) + occurrences), normalised(pair, term)
    return (log2(1 + rate) + x * log2((1 + rate) / rate)) / (1 + x)


def dfr_inexpb2(pair: Pair, term: str) -> float:
    n_docs, occurrences, x = len(pair.holders), pair.cf(term), normalised(pair, term)
    expected = n_docs * (1 - ((n_docs - 1) / n_docs) ** occurrences)
    after_effect = (occurrences + 2) / ((pair.df(term) + 1) * (x + 1))
    return x * log2((n_docs + 1) / (expected + 0.5)) * after_effect


def dph(pair: Pair, term: str) -> float:
    tf, share = pair.tf(term), pair.tf(term) / pair.length
    if share == 1:
        return 0.0
    average, n_docs = pair.n_tokens / len(pair.holders), len(pair.holders)
    surprise = tf * log2(tf * average / pair.length * n_docs / pair.cf(term))
    return (1 - share) ** 2 / (tf + 1) * (surprise + 0.5 * log2(2 * pi * tf * (1 - share)))


def sublinear_tf_idf(pair: Pair, term: str) -> float:
    return (1 + log(pair.tf(term))) * pair.idf(term)


def tf(pair: Pair, term: str) -> float:
    return pair.tf(term)


def normalised_tf(pair: Pair, term: str) -> float:
    return pair.tf(term) / pair.length


OF_MATCHES = (bm25, dirichlet, dfr_gl2, dfr_inexpb2, dph, sublinear_tf_idf, tf, normalised_tf)
OF_QUERY: dict[str, Callable[[Pair, str], float]] = {
    "idf": lambda pair, term: pair.idf(term),
    "ictf": lambda pair, term: log(pair.n_tokens / pair.cf(term)),
}
POOLS: dict[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "median": median,
    "max": max,
    "min": min,
    "ratio": lambda values: max(values) / min(values) if abs(min(values)) > 1e-9 else 0.0,
}


def values(pair: Pair, stem: str) -> list[float]:
    if stem in OF_QUERY:
        return [OF_QUERY[stem](pair, term) if pair.df(term) else 0.0 for term in pair.terms]
    model = next(model for model in OF_MATCHES if model.__name__ == stem)
    return [model(pair, term) if pair.tf(term) else 0.0 for term in pair.terms]


def pooled(pair: Pair, name: str) -> float:
    if not pair.terms:
        return nan
    if name == "normalised_tf_idf":
        return sum(pair.tf(term) / pair.length * pair.idf(term) for term in pair.terms if pair.tf(term))
    stem, pool = name.rsplit("_", 1)
    return POOLS[pool](values(pair, stem))
