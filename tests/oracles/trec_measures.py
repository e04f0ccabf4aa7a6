"""trec_eval's measures, slow and obvious: one list, one loop.

ranked  labels in rank order; None where the qrels lack the document, negative where it was in the pool but not judged
pool    labels of all documents that the qrels hold for the query
"""

from __future__ import annotations

import math


def _hits(ranked, rel):
    return [label is not None and label >= rel for label in ranked]


def _judged(label):
    return label is not None and label >= 0


def _total(pool, rel):
    return sum(label >= rel for label in pool)


def _share(part, whole):
    return part / whole if whole else 0.0


def rprec(ranked, pool, rel=1, mult=1.0):
    depth = int(mult * _total(pool, rel) + 0.9)
    return _share(sum(_hits(ranked, rel)[:depth]), depth)


def ap(ranked, pool, rel=1, cutoff=None):
    hits = _hits(ranked, rel)[:cutoff]
    return _share(sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit), _total(pool, rel))


def bpref(ranked, pool, rel=1):
    total, not_relevant, value = _total(pool, rel), sum(0 <= label < rel for label in pool), 0.0
    for i, hit in enumerate(_hits(ranked, rel)):
        if hit:
            above = sum(_judged(label) and label < rel for label in ranked[:i])
            value += 1.0 - (min(above, total) / min(not_relevant, total) if above else 0.0)
    return _share(value, total)


def inf_ap(ranked, pool, rel=1, epsilon=1e-5):
    value = 0.0
    for i, hit in enumerate(_hits(ranked, rel)):
        if hit and i == 0:
            value += 1.0
        elif hit:
            above = ranked[:i]
            pooled = sum(label is not None for label in above)
            relevant, judged = sum(_hits(above, rel)), sum(map(_judged, above))
            value += 1 / (i + 1) + i / (i + 1) * pooled / i * (relevant + epsilon) / (judged + 2 * epsilon)
    return _share(value, _total(pool, rel))


def iprec(ranked, pool, recall, rel=1, rounding="nearest"):
    hits, total = _hits(ranked, rel), _total(pool, rel)
    wanted = int(recall * total + (0.5 if rounding == "nearest" else 0.9))
    precisions = [
        sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit and sum(hits[: i + 1]) >= max(wanted, 1)
    ]
    return max(precisions, default=0.0)


def avg_iprec(ranked, pool, recalls=tuple(point / 10 for point in range(11)), rel=1):
    return sum(iprec(ranked, pool, recall, rel) for recall in recalls) / len(recalls)


def success(ranked, pool, cutoff, rel=1):
    return float(any(_hits(ranked, rel)[:cutoff]))


def rel_p(ranked, pool, cutoff, rel=1):
    return _share(sum(_hits(ranked, rel)[:cutoff]), min(cutoff, _total(pool, rel)))


def set_p(ranked, pool, rel=1, relative=False):
    return _share(sum(_hits(ranked, rel)), min(len(ranked), _total(pool, rel)) if relative else len(ranked))


def set_r(ranked, pool, rel=1):
    return _share(sum(_hits(ranked, rel)), _total(pool, rel))


def set_ap(ranked, pool, rel=1):
    return set_p(ranked, pool, rel) * set_r(ranked, pool, rel)


def set_f(ranked, pool, rel=1, beta=1.0):
    precision, recall = set_p(ranked, pool, rel), set_r(ranked, pool, rel)
    return _share((beta + 1) * precision * recall, beta * precision + recall)


def num_q(ranked, pool):
    return 1.0


def num_ret(ranked, pool, rel=None):
    return float(len(ranked) if rel is None else sum(_hits(ranked, rel)))


def num_rel(ranked, pool, rel=1):
    return float(_total(pool, rel))


def num_nonrel_ret(ranked, pool, rel=1):
    return float(sum(_judged(label) and label < rel for label in ranked))


def utility(ranked, pool, worth=(1, -1, 0, 0), n_docs=0, rel=1):
    result, total = sum(_hits(ranked, rel)), _total(pool, rel)
    parts = (result, len(ranked) - result, total - result, n_docs + result - len(ranked) - total)
    return float(sum(one * part for one, part in zip(worth, parts, strict=True)))


def judged(ranked, pool, cutoff=None):
    return _share(sum(label is not None for label in ranked[:cutoff]), len(ranked[:cutoff]))


def unjudged(ranked, pool, cutoff):
    return sum(not _judged(label) for label in ranked[:cutoff]) / cutoff


def rbp_residual(ranked, pool, p=0.8):
    rest = sum(p**i for i, label in enumerate(ranked) if not _judged(label))
    return (1 - p) * rest + p ** len(ranked) if ranked else 0.0


def rel_string(ranked, pool, cutoff=10):
    letters = ["-" if label is None else "." if label < 0 else ">" if label > 9 else str(label) for label in ranked]
    return "".join(letters[:cutoff])


def _gain(label, gains):
    if not _judged(label):
        return 0.0
    return gains.get(label, float(label))


def _ideal(pool, gains):
    return sorted((gain for gain in (_gain(label, gains) for label in pool) if gain > 0), reverse=True)


def _dcg(gains, depth):
    return sum(gain / math.log2(i + 2) for i, gain in enumerate(gains[:depth]))


def _ndcg(ranked, pool, gains, depth):
    gained = [_gain(label, gains) for label in ranked]
    return _share(_dcg(gained, depth), _dcg(_ideal(pool, gains), depth))


def ndcg(ranked, pool, cutoff=None, gains=None):
    return _ndcg(ranked, pool, gains or {}, cutoff)


def ndcg_rel(ranked, pool, gains=None):
    gains = gains or {}
    points = [i + 1 for i, label in enumerate(ranked) if _gain(label, gains) > 0]
    values = [_ndcg(ranked, pool, gains, depth) for depth in points]
    n_ideal = len(_ideal(pool, gains))
    values += [_ndcg(ranked, pool, gains, None)] * (n_ideal - len(points))
    return max(_share(sum(values), n_ideal), 0.0)


def r_ndcg(ranked, pool, gains=None, rel=1):
    gains = gains or {}
    ideal = _ideal(pool, gains)
    points = [i + 1 for i in range(len(ideal)) if i + 1 == len(ideal) or ideal[i + 1] != ideal[i]]
    values = [_ndcg(ranked, pool, gains, depth) for depth in points]
    if len(ranked) > len(ideal) + 1:
        values.append(_ndcg(ranked, pool, gains, None))
    return _share(sum(values), len(values)) if _total(pool, rel) else 0.0


def g(ranked, pool, gains=None):
    gains = gains or {}
    ideal, value, cost, gained = _ideal(pool, gains), 0.0, 0.0, 0.0
    for i, label in enumerate(ranked):
        cost += max(ideal[i], 1.0) if i < len(ideal) else 1.0
        gained += _gain(label, gains)
        value += _gain(label, gains) / math.log2(2 + cost - gained)
    return _share(value, sum(ideal))


def bin_g(ranked, pool, rel=1):
    hits = _hits(ranked, rel)
    value = sum(1 / math.log2(2 + i - sum(hits[:i])) for i, hit in enumerate(hits) if hit)
    return _share(value, _total(pool, rel))
