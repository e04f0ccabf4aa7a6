"""Every feature once more, from lists of tokens, by its definition and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log, log2, nan, sqrt
from typing import Any

Tokens = Sequence[str]


class Texts(list[Tokens]):
    """One field of all documents, its words counted once."""

    @cached_property
    def counters(self) -> list[Counter[str]]:
        return [Counter(text) for text in self]


@dataclass
class Pair:
    """A query, one field of a document, that field of all documents, and the recipe's parameters."""

    query: Tokens
    document: Tokens
    collection: Texts
    recipe: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.terms = sorted(set(self.query))
        self.holders = [document for document in self.collection if document]
        self.length = len(self.document)
        self.counter = Counter(self.document)
        self.n_tokens = sum(len(document) for document in self.collection)

    def tf(self, term: str) -> int:
        return self.counter[term]

    def qtf(self, term: str) -> int:
        return list(self.query).count(term)

    def df(self, term: str) -> int:
        return sum(term in counter for counter in self.collection.counters)

    def p(self, term: str) -> float:
        return self.cf(term) / self.n_tokens

    def cf(self, term: str) -> int:
        return sum(counter[term] for counter in self.collection.counters)

    def idf(self, term: str) -> float:
        df = self.df(term)
        return log(1 + (len(self.holders) - df + 0.5) / (df + 0.5))

    @property
    def known(self) -> list[str]:
        return [term for term in self.terms if self.df(term)]

    @property
    def no_query_terms(self) -> bool:
        return not self.terms

    @property
    def no_known_term(self) -> bool:
        return not self.known

    @property
    def empty_field(self) -> bool:
        return self.length == 0

    @property
    def no_match(self) -> bool:
        return not any(self.tf(term) for term in self.terms)

    @property
    def one_match(self) -> bool:
        return sum(self.tf(term) > 0 for term in self.terms) < 2

    @property
    def no_feedback(self) -> bool:
        """Whether the field is empty in all candidates; here those are the whole collection."""
        return not self.holders

    @property
    def not_in_run(self) -> bool:
        return False


def covered(pair: Pair) -> float:
    return sum(pair.tf(term) > 0 for term in pair.terms) if pair.terms else nan


def covered_ratio(pair: Pair) -> float:
    return covered(pair) / len(pair.terms) if pair.terms else nan


def stream_length(pair: Pair) -> float:
    return pair.length


def idf_sum(pair: Pair) -> float:
    return sum(pair.idf(term) for term in pair.known) if pair.known else nan


def tf_values(pair: Pair) -> list[float]:
    return [pair.tf(term) for term in pair.terms]


def normalised_tf_values(pair: Pair) -> list[float]:
    return [pair.tf(term) / pair.length for term in pair.terms] if pair.length else []


def tf_idf_values(pair: Pair) -> list[float]:
    return [pair.tf(term) * pair.idf(term) if pair.df(term) else 0.0 for term in pair.terms]


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    return mean([(value - mean(values)) ** 2 for value in values])


def boolean(pair: Pair) -> float:
    return float(all(pair.tf(term) for term in pair.terms)) if pair.terms else nan


def vector_space(pair: Pair) -> float:
    if not pair.known or not pair.length:
        return nan
    query = {term: pair.qtf(term) * pair.idf(term) for term in pair.known}
    document = {term: pair.tf(term) * pair.idf(term) for term in set(pair.document)}
    product = sum(weight * document.get(term, 0.0) for term, weight in query.items())
    return product / (sqrt(sum(w * w for w in query.values())) * sqrt(sum(w * w for w in document.values())))


def lucene_length(length: int) -> int:
    """SmallFloat.byte4ToInt(SmallFloat.intToByte4(length)), bit by bit as in Java."""
    if length < 24:
        return length
    rest = length - 24
    n_bits = rest.bit_length()
    if n_bits < 4:
        return 24 + rest
    shift = n_bits - 4
    code = ((rest >> shift) & 0x07) | ((shift + 1) << 3)
    return 24 + (((code & 0x07) | 0x08) << ((code >> 3) - 1))


def bm25(pair: Pair) -> float:
    if not pair.terms:
        return nan
    k1, b = pair.recipe["bm25_k1"], pair.recipe["bm25_b"]
    score = 0.0
    for term in pair.query:
        if pair.tf(term):
            relative = lucene_length(pair.length) / (pair.n_tokens / len(pair.holders))
            score += pair.idf(term) * pair.tf(term) / (pair.tf(term) + k1 * (1 - b + b * relative))
    return score


def burstiness(pair: Pair, term: str) -> float:
    n_docs = len(pair.holders)
    return 0.2 + max(0.0, log2(n_docs / pair.df(term)) + log2(1 - exp(-pair.cf(term) / n_docs)))


def bm25_bursty(pair: Pair) -> float:
    if not pair.terms:
        return nan
    parts = (replace(pair, query=[term]) for term in pair.query if pair.tf(term))
    return sum(burstiness(part, part.query[0]) * bm25(part) for part in parts)


def lm_absolute(pair: Pair) -> float:
    delta, unique = pair.recipe["lm_absolute_delta"], len(set(pair.document))
    return _log_probability(
        pair,
        lambda tf, p: max(tf - delta, 0) / pair.length + delta * unique / pair.length * p,
        defined=pair.length > 0,
    )


def lm_dirichlet(pair: Pair) -> float:
    mu = pair.recipe["lm_dirichlet_mu"]
    return _log_probability(pair, lambda tf, p: (tf + mu * p) / (pair.length + mu))


def lm_jelinek_mercer(pair: Pair) -> float:
    share = pair.recipe["lm_jelinek_mercer_lambda"]
    return _log_probability(pair, lambda tf, p: (1 - share) * tf / pair.length + share * p, defined=pair.length > 0)


def _log_probability(pair: Pair, probability: Callable[[int, float], float], defined: bool = True) -> float:
    words = [word for word in pair.query if pair.df(word)]
    if not words or not defined:
        return nan
    return sum(log(probability(pair.tf(word), pair.p(word))) for word in words)


VALUES = {"tf": tf_values, "normalised_tf": normalised_tf_values, "tf_idf": tf_idf_values}
POOLS = {"sum": sum, "min": min, "max": max, "mean": mean, "variance": variance}


def pooled(stem: str, pool: str) -> Callable[[Pair], float]:
    def value(pair: Pair) -> float:
        values = VALUES[stem](pair)
        return POOLS[pool](values) if values else nan

    return value


SINGLE = (covered, covered_ratio, stream_length, idf_sum, boolean, vector_space, bm25, bm25_bursty)
LANGUAGE_MODELS = (lm_absolute, lm_dirichlet, lm_jelinek_mercer)
FIELD_FEATURES: dict[str, Callable[[Pair], float]] = {
    **{feature.__name__: feature for feature in (*SINGLE, *LANGUAGE_MODELS)},
    **{f"{stem}_{pool}": pooled(stem, pool) for stem in VALUES for pool in POOLS},
}
