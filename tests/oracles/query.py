"""The performance and prior families once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import log, log2, nan
from statistics import pstdev

from tests.oracles.features import Pair


def likeness(pair: Pair, term: str) -> float:
    return (1 + log(pair.cf(term))) * log(1 + len(pair.holders) / pair.df(term))


def scs(pair: Pair) -> float:
    words = [word for word in pair.query if pair.df(word)]
    shares = {word: words.count(word) / len(words) for word in words}
    return sum(share * log2(share / (pair.cf(word) / pair.n_tokens)) for word, share in shares.items())


PERFORMANCE: dict[str, Callable[[Pair], float]] = {
    "scs": scs,
    "scq_sum": lambda pair: sum(likeness(pair, term) for term in pair.known),
    "scq_mean": lambda pair: sum(likeness(pair, term) for term in pair.known) / len(pair.known),
    "scq_max": lambda pair: max(likeness(pair, term) for term in pair.known),
    "idf_deviation": lambda pair: pstdev(pair.idf(term) for term in pair.known),
    "df_share": lambda pair: max(pair.df(term) for term in pair.known) / len(pair.holders),
}


def performance(pair: Pair, name: str) -> float:
    return PERFORMANCE[name](pair) if pair.known else nan


def is_common(pair: Pair, term: str) -> bool:
    return pair.df(term) > 0.1 * len(pair.holders)


PRIOR: dict[str, Callable[[Pair], float]] = {
    "entropy": lambda pair: -sum(n / pair.length * log(n / pair.length) for n in Counter(pair.document).values()),
    "stop_share": lambda pair: (
        sum(n for word, n in Counter(pair.document).items() if is_common(pair, word)) / pair.length
    ),
    "unique_terms": lambda pair: len(set(pair.document)),
    "unique_share": lambda pair: len(set(pair.document)) / pair.length,
    "mean_idf": lambda pair: sum(n * pair.idf(word) for word, n in Counter(pair.document).items()) / pair.length,
}


def prior(pair: Pair, name: str) -> float:
    return PRIOR[name](pair) if pair.length else nan
