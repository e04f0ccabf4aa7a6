"""The passages family once more: every passage cut out of the list of tokens."""

from __future__ import annotations

from math import nan

from tests.oracles.features import Pair, Tokens, lucene_length


def windows(length: int, window: int, stride: int) -> list[tuple[int, int]]:
    """Return where each passage begins and ends."""
    found, begin = [], 0
    while length:
        found.append((begin, min(begin + window, length)))
        if begin + window >= length:
            break
        begin += stride
    return found


def sizes(pair: Pair) -> tuple[int, int]:
    window, stride = (pair.recipe["passages"] or "200/100").split("/")
    return int(window), int(stride)


def score(pair: Pair, passage: Tokens) -> float:
    k1, b = pair.recipe["bm25_k1"], pair.recipe["bm25_b"]
    average = pair.n_tokens / len(pair.holders)
    saturation = k1 * (1 - b + b * min(lucene_length(pair.length), sizes(pair)[0]) / average)
    tfs = {term: list(passage).count(term) for term in pair.terms}
    return sum(pair.qtf(term) * pair.idf(term) * tf / (tf + saturation) for term, tf in tfs.items() if tf)


def value(pair: Pair, name: str) -> float:
    cut = windows(pair.length, *sizes(pair))
    if name == "passages":
        return len(cut)
    if not pair.terms:
        return nan
    texts = [pair.document[begin:end] for begin, end in cut]
    scores = [score(pair, text) for text in texts] or [0.0]
    held = [len(set(text) & set(pair.terms)) for text in texts] or [0]
    hits = sum(number > 0 for number in held)
    best = scores.index(max(scores))
    return {
        "passage_max": max(scores),
        "passage_mean3": sum(sorted(scores)[-3:]) / min(3, len(scores)),
        "passage_mean": sum(scores) / len(scores),
        "passage_first": scores[0],
        "passage_hits": hits,
        "passage_share": hits / len(cut) if cut else nan,
        "passage_covered": max(held) / len(pair.terms),
        "passage_place": cut[best][0] / pair.length if hits else nan,
    }[name]
