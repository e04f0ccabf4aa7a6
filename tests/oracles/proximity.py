"""The proximity family once more: every pair of positions looked at, every stretch tried."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import exp, log, nan

import numpy as np
from numpy.typing import NDArray

from tests.oracles.features import Pair, lucene_length


def places(pair: Pair, term: str) -> NDArray[np.int64]:
    return np.flatnonzero(np.array([*pair.document, ""]) == term)


def adjacent(pair: Pair) -> list[tuple[str, str]]:
    return [(a, b) for a, b in pairwise(pair.query) if a != b]


def pairs(pair: Pair) -> list[tuple[str, str]]:
    return list(combinations(dict.fromkeys(pair.query), 2))


def distances(pair: Pair, a: str, b: str) -> NDArray[np.int64]:
    """Every position of b less every position of a."""
    return np.subtract.outer(places(pair, b), places(pair, a)).ravel()


def counted(pair: Pair, name: str) -> float:
    order, of, window = name.split("_")
    wanted = {"adjacent": adjacent, "pairs": pairs}[of](pair)
    result = np.concatenate([np.empty(0), *(distances(pair, a, b) for a, b in wanted)])
    return int(((result < int(window)) & (result > (0 if order == "ordered" else -int(window)))).sum())


def matches(pair: Pair) -> list[tuple[int, str]]:
    return [(position, token) for position, token in enumerate(pair.document) if token in pair.terms]


def span(pair: Pair) -> float:
    result = matches(pair)
    wanted, best = {token for _, token in result}, nan
    for number, (first, _) in enumerate(result):
        held = set()
        for last, token in result[number:]:
            held.add(token)
            if held == wanted:
                best = last - first + 1 if best != best else min(best, last - first + 1)
                break
    return best


def span_density(pair: Pair) -> float:
    return len({token for _, token in matches(pair)}) / span(pair)


def first_position(pair: Pair) -> float:
    return matches(pair)[0][0] if matches(pair) else nan


def phrase(pair: Pair) -> float:
    n_tokens = len(pair.query)
    return sum(list(pair.document[i : i + n_tokens]) == list(pair.query) for i in range(pair.length))


def saturation(pair: Pair) -> float:
    k1, b = pair.recipe["bm25_k1"], pair.recipe["bm25_b"]
    return k1 * (1 - b + b * lucene_length(pair.length) / (pair.n_tokens / len(pair.holders)))


def saturated(pair: Pair, value: float) -> float:
    return (pair.recipe["bm25_k1"] + 1) * value / (value + saturation(pair))


def proximity(pair: Pair) -> float:
    score = 0.0
    for a, b in pairs(pair):
        result = distances(pair, a, b)
        near = (1 / result[abs(result) <= 5] ** 2).sum()
        score += min(pair.idf(a), pair.idf(b)) * saturated(pair, near) if near else 0.0
    return score


def tp_score(pair: Pair) -> float:
    sums = dict.fromkeys(pair.terms, 0.0)
    for (here, a), (there, b) in pairwise(matches(pair)):
        if a != b:
            sums[a] += pair.idf(b) / (there - here) ** 2
            sums[b] += pair.idf(a) / (there - here) ** 2
    return sum(min(1.0, pair.idf(term)) * saturated(pair, value) for term, value in sums.items() if value)


def tp_dist(pair: Pair) -> float:
    result = [abs(gaps).min() for a, b in pairs(pair) if len(gaps := distances(pair, a, b))]
    return log(0.3 + exp(-min(result))) if result else nan


def sdm(pair: Pair) -> float:
    mu = pair.recipe["lm_dirichlet_mu"]
    if not pair.known:
        return nan

    def smoothed(count: float, share: float) -> float:
        return log((count + mu * share) / (pair.length + mu))

    def share(term: str) -> float:
        return pair.cf(term) / pair.n_tokens

    single = sum(smoothed(pair.tf(term), share(term)) for term in pair.query if share(term))
    known = [(a, b) for a, b in adjacent(pair) if share(a) and share(b)]
    ordered = sum(smoothed((distances(pair, a, b) == 1).sum(), share(a) * share(b)) for a, b in known)
    unordered = sum(smoothed((abs(distances(pair, a, b)) < 8).sum(), 14 * share(a) * share(b)) for a, b in known)
    return 0.85 * single + 0.1 * ordered + 0.05 * unordered


SINGLE = {model.__name__: model for model in (span, span_density, first_position, proximity, tp_score, tp_dist, sdm)}


def value(pair: Pair, name: str) -> float:
    if name in ("span", "span_density", "first_position"):
        return SINGLE[name](pair) if matches(pair) else nan
    if not pair.terms:
        return nan
    if name == "phrase":
        return phrase(pair)
    return SINGLE[name](pair) if name in SINGLE else counted(pair, name)
