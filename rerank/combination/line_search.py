"""The best alpha of alpha * a + (1 - alpha) * b for a measure: its exact steps, where documents cross.

Each document's score is a line in alpha, and the measure changes only where two lines cross (Burges 2010, section 7.1).
For each document that a measure counts, all its crossings are sorted and walked, and its share of the measure is
followed; the shares' changes, as whole numbers, add up to the step function of the mean over the queries.

Conventions. Equal scores rank in the order of the rows. A crossing at c makes up to two steps: at c itself, where the
documents tie, and behind it. A step's `key` orders them: the bits of c, doubled, plus 1 for the step behind it.
The initial values, at alpha 0, are steps from 0 with key 0. A c between two float64 is the nearest one.

Memory. Steps are first only summed, in buckets of alpha: a bucket's sum of rises bounds what the measure can reach in
it. Kept are the steps of those buckets that can hold the best value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numba import prange

from rerank.metrics.base import Measure
from rerank.metrics.structures import PrefixSum, RankedLists
from rerank.runtime.kernels import helper, kernel
from rerank.types import Floats, Ints, pointers

LAST_KEY = int(np.float64(1.0).view(np.int64)) * 2  # alpha 1, where ties are ties
MOST_BUCKETS = 1 << 18
TOLERANCE = 1e-12  # means closer than this are the same: what rounding leaves
LABELS_AT_ONCE = 1 << 22  # of the lists for which a measure without a prefix-sum form is computed at a time


@dataclass(frozen=True, eq=False)
class Lines:
    """Documents whose scores are alpha * a + (1 - alpha) * b.

    query_ptr     (n_queries + 1,) int64; equal scores rank in the order of the rows
    a, b          (n_rows,) float64
    labels        (n_rows,) float64
    weights       (n_queries,) float64 of the mean
    ideal_labels  all positive labels of each query, best first, with `ideal_ptr`
    """

    query_ptr: Ints
    a: Floats
    b: Floats
    labels: Floats
    weights: Floats
    ideal_labels: Floats
    ideal_ptr: Ints


@dataclass(frozen=True)
class BestAlpha:
    """The best alpha and the widest interval [low, high] about it, both ends included, on which the measure is best."""

    alpha: float
    low: float
    high: float


def best_alpha(lines: Lines, measure: Measure, inside: bool = False) -> BestAlpha:
    """Return the alpha in [0, 1] at which the measure's weighted mean over the queries is greatest.

    inside  leave out 0 and 1 themselves, where one of the two rankers has no weight
    Of equally good intervals the widest is taken, of equally wide ones the lowest; alpha is its middle.
    """
    prefix_sum = measure.prefix_sum(RankedLists(lines.labels, lines.query_ptr, lines.ideal_labels, lines.ideal_ptr))
    if prefix_sum is None:
        unit = _unit(float(len(lines.labels)) * lines.weights.max(initial=0.0) * len(lines.weights))
        keys, steps = _steps_by_measuring(lines, measure, unit)
        return _best_interval(keys, np.cumsum(steps), TOLERANCE * unit * lines.weights.sum(), inside)
    unit = _unit(_bound(prefix_sum, lines))
    keys, values = _best_buckets(lines, prefix_sum, unit, inside)
    return _best_interval(keys, values, TOLERANCE * unit * lines.weights.sum(), inside)


def best_share(lines: Lines, measure: Measure) -> float:
    """Return the share in (0, infinity) at which the measure of the scores b + share * a is greatest.

    The order is that of alpha * a + (1 - alpha) * b with share = alpha / (1 - alpha), so alpha inside (0, 1) is
    searched, and the interval chosen and its middle taken there, as in `best_alpha`: above the last crossing c that is
    the share 1 + 2 c. At 0, which is left out, documents tie that any share parts.
    """
    alpha = best_alpha(lines, measure, inside=True).alpha
    return alpha / (1.0 - alpha)


def order_at(lines: Lines, alpha: float) -> Ints:
    """Return the rows query by query in their order at alpha, (n_rows,) int64, with ties where lines cross there."""
    scores = alpha * lines.a + (1.0 - alpha) * lines.b
    order = np.empty(len(scores), dtype=np.int64)
    _fill_order(lines.query_ptr, lines.a, lines.b, scores, int(np.float64(alpha).view(np.int64)) * 2, order)
    return order


def _unit(bound: float) -> float:
    """Return the whole units of 1.0: a power of two with which sums of up to `bound` stay below 2^61."""
    share, exponent = np.frexp(max(bound, 1.0))
    return float(np.ldexp(1.0, 60 - int(exponent) + int(share == 0.5)))


def _bound(prefix_sum: PrefixSum, lines: Lines) -> float:
    """Return what the sum over the queries of the measure's terms, and of their changes, cannot exceed."""
    first, last = lines.query_ptr[:-1], lines.query_ptr[1:]
    gains, added = (np.concatenate([[0.0], np.cumsum(np.abs(part))]) for part in (prefix_sum.gains, prefix_sum.add))
    most = (gains[last] - gains[first]) * (abs(prefix_sum.initial) + added[last] - added[first])
    return float(
        (most * np.abs(prefix_sum.norms) * lines.weights).sum() * np.abs(prefix_sum.discounts).max(initial=0.0)
    )


def _best_buckets(lines: Lines, prefix_sum: PrefixSum, unit: float, inside: bool) -> tuple[Ints, Ints]:
    """Return the keys of the steps that can border the best interval, ascending, and the measure behind each."""
    n_buckets = int(min(MOST_BUCKETS, max(1 << 10, len(lines.labels))))
    chunks = np.linspace(0, len(lines.query_ptr) - 1, 2 * numba.get_num_threads() + 1).astype(np.int64)
    depth = int(np.flatnonzero(prefix_sum.discounts).max(initial=-1)) + 1
    walked = (
        chunks,
        lines.query_ptr,
        lines.a,
        lines.b,
        (prefix_sum.gains, prefix_sum.add, prefix_sum.keep, prefix_sum.initial, prefix_sum.discounts, depth),
        prefix_sum.norms * lines.weights * unit,
    )
    totals, rises, counts = np.zeros((3, len(chunks) - 1, n_buckets), dtype=np.int64)
    _sum_buckets(*walked, np.ones(n_buckets, np.bool_), totals, rises, counts)
    ends = np.cumsum(totals.sum(axis=0))
    starts = ends - totals.sum(axis=0)
    filled = counts.sum(axis=0) > 0
    slack = int(TOLERANCE * unit * lines.weights.sum())
    measured = filled & (np.arange(n_buckets) < n_buckets - inside)  # the last bucket ends with alpha 1
    least = np.max(ends, where=measured, initial=ends.min(initial=0))
    wanted = filled & (starts + rises.sum(axis=0) >= least - slack)
    step_ptr = pointers(counts[:, wanted].sum(axis=1))
    keys, steps = np.empty((2, step_ptr[-1]), dtype=np.int64)
    _collect_steps(*walked, wanted, step_ptr, keys, steps)
    keys, steps = _joined(keys, steps)
    bucket = np.minimum((_alphas(keys) * n_buckets).astype(np.int64), n_buckets - 1)
    before = np.cumsum(steps) - steps
    first = np.concatenate([[0], np.flatnonzero(np.diff(bucket)) + 1]).astype(np.int64) if len(keys) else bucket
    offsets = starts[bucket[first]] - before[first]
    return keys, before + steps + np.repeat(offsets, np.diff(np.append(first, len(keys))))


def _joined(keys: Ints, steps: Ints) -> tuple[Ints, Ints]:
    """Return the keys ascending, each once, and the sum of the steps at each."""
    order = np.argsort(keys, kind="stable")
    keys, steps = keys[order], steps[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.add.reduceat(steps, first) if len(first) else steps


def _alphas(keys: Ints) -> Floats:
    """Return where on [0, 1] each key lies."""
    return (keys >> 1).view(np.float64)


def _best_interval(keys: Ints, values: Ints, slack: float, inside: bool) -> BestAlpha:
    """Return the widest interval of neighbouring pieces whose value is best; `values` hold from a key to the next."""
    if not len(keys):
        return BestAlpha(0.5, 0.0, 1.0)
    ends = np.append(keys[1:], LAST_KEY + 1)
    if inside:
        keys, ends = np.maximum(keys, 1), np.minimum(ends, LAST_KEY)
    low, high = _alphas(keys), _alphas(ends)
    low = np.where(keys & 1, np.nextafter(low, 2.0), low)
    high = np.where(ends & 1, high, np.nextafter(high, -1.0))
    there = low <= high  # between neighbouring numbers there is no alpha
    best = there & (values >= values[there].max() - slack)
    edges = np.diff(np.concatenate([[False], best | ~there, [False]]).astype(np.int8))
    spans = [
        (low[pieces].min(), high[pieces].max())
        for first, last in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)
        if len(pieces := first + np.flatnonzero(best[first:last]))
    ]
    left, right = max(spans, key=lambda span: (span[1] - span[0], -span[0]))
    return BestAlpha(float(left + (right - left) / 2), float(left), float(right))


def _steps_by_measuring(lines: Lines, measure: Measure, unit: float) -> tuple[Ints, Ints]:
    """Return all steps of a measure of which only values can be computed: it is evaluated after each crossing."""
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for query in range(len(lines.query_ptr) - 1):
        rows = slice(*lines.query_ptr[query : query + 2])
        a, b, labels = lines.a[rows], lines.b[rows], lines.labels[rows]
        if len(labels):
            keys = np.unique(np.append(_crossing_keys(a, b, labels), 0))
            ideal = lines.ideal_labels[slice(*lines.ideal_ptr[query : query + 2])]
            values = _measured(a, b, labels, ideal, keys, measure) * (unit * lines.weights[query])
            parts.append((keys, np.diff(np.rint(values).astype(np.int64), prepend=0)))
    return _joined(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _measured(a: Floats, b: Floats, labels: Floats, ideal: Floats, keys: Ints, measure: Measure) -> Floats:
    """Return the measure of one query from each key on."""
    values = np.empty(len(keys))
    order = np.argsort(-b, kind="stable")
    at_once = max(1, LABELS_AT_ONCE // len(labels))
    for first in range(0, len(keys), at_once):
        some = keys[first : first + at_once]
        ranked = np.empty((len(some), len(labels)))
        _fill_ranked(a, b, labels, some, order, ranked)
        lists = RankedLists(
            ranked.ravel(),
            pointers(np.full(len(some), len(labels))),
            np.tile(ideal, len(some)),
            pointers(np.full(len(some), len(ideal))),
        )
        values[first : first + at_once] = measure.scores(lists)
    return values


@helper(inline="always")
def _change(at_zero, at_one, first):  # type: ignore[no-untyped-def]
    """Return whether a document ranks above another at alpha 0, where that changes, and on which side.

    The crossing is in [0, 1], -1 where nothing changes; the side is 1 for a change behind that alpha, 0 for one at it.
    at_zero, at_one  its score minus the other's at the ends
    first            whether it ranks first where they tie
    """
    if at_zero == 0.0:
        behind = at_one > 0.0 or (at_one == 0.0 and first)
        return first, (0.0 if behind != first else -1.0), 1
    above = at_zero > 0.0
    if at_one == 0.0:
        return above, (1.0 if above != first else -1.0), 0
    if above == (at_one > 0.0):
        return above, -1.0, 0
    crossing = at_zero / (at_zero - at_one)
    if crossing <= 0.0:
        return above, 0.0, 1
    return above, min(crossing, 1.0), (1 if first == above and crossing < 1.0 else 0)


@helper()
def _document_steps(  # type: ignore[no-untyped-def]
    i, first, last, a, b, terms, scale, wanted, crossings, others, keys, steps
):
    """Fill keys and steps with the changes of one document's share of the measure; return their number.

    None where no wanted bucket holds a crossing of the document.

    terms   gains, add, keep, own, discounts of the prefix-sum form, and the depth at which the discounts end
    scale   whole units of a term of this query
    wanted  (n_buckets,) bool
    crossings (n,) float64 and others (n,) int64 are for work: the rows that cross document i, ~row for those that fall
    """
    gains, add, keep, own, discounts, depth = terms
    bits = crossings.view(np.int64)
    rank, total, product, stops, n, falling, n_wanted = 0, own, 1.0, 0, 0, 0, int(wanted[0])
    for j in range(first, last):
        if j == i:
            continue
        above, crossing, behind = _change(b[j] - b[i], a[j] - a[i], j < i)
        if above:
            rank += 1
            total += add[j]
            if keep[j] == 0.0:
                stops += 1
            else:
                product *= keep[j]
        if crossing >= 0.0:
            n_wanted += wanted[min(int(crossing * wanted.shape[0]), wanted.shape[0] - 1)]
            crossings[n] = crossing
            bits[n] = bits[n] * 2 + behind
            others[n] = ~j if above else j
            falling += above
            n += 1
    if n_wanted == 0 or rank - falling >= depth:
        return 0
    share = round(scale * gains[i] * discounts[rank] * total * product) if stops == 0 else 0
    keys[0], steps[0], n_steps = 0, share, 1
    order = np.argsort(bits[:n])
    for number in range(n):
        other = others[order[number]]
        j = other if other >= 0 else ~other
        sign = 1 if other >= 0 else -1
        rank += sign
        total += sign * add[j]
        if keep[j] == 0.0:
            stops += sign
        else:
            product = product * keep[j] if other >= 0 else product / keep[j]
        key = bits[order[number]]
        if number + 1 < n and bits[order[number + 1]] == key:
            continue
        new = round(scale * gains[i] * discounts[rank] * total * product) if stops == 0 else 0
        if new != share:
            keys[n_steps], steps[n_steps] = key, new - share
            n_steps += 1
            share = new
    return n_steps


@kernel(parallel=True)
def _sum_buckets(  # type: ignore[no-untyped-def]
    chunks, query_ptr, a, b, terms, scales, wanted, totals, rises, counts
):
    """Add up the steps, those upwards, and their number by bucket of alpha; a thread takes a chunk of queries."""
    n_buckets = totals.shape[1]
    longest = np.max(query_ptr[1:] - query_ptr[:-1])
    for chunk in prange(chunks.shape[0] - 1):
        keys, steps = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
        work = (np.empty(longest), np.empty(longest, np.int64), keys, steps)
        for q in range(chunks[chunk], chunks[chunk + 1]):
            first, last = query_ptr[q], query_ptr[q + 1]
            for i in range(first, last):
                if terms[0][i] == 0.0 or scales[q] == 0.0:
                    continue
                n = _document_steps(i, first, last, a, b, terms, scales[q], wanted, *work)
                for step in range(n):
                    keys[step] >>= 1
                    bucket = min(int(keys.view(np.float64)[step] * n_buckets), n_buckets - 1)
                    totals[chunk, bucket] += steps[step]
                    rises[chunk, bucket] += max(steps[step], 0)
                    counts[chunk, bucket] += 1


@kernel(parallel=True)
def _collect_steps(  # type: ignore[no-untyped-def]
    chunks, query_ptr, a, b, terms, scales, wanted, out_ptr, out_keys, out_steps
):
    """Fill out_keys and out_steps with the steps of the wanted buckets; a chunk's begin at out_ptr[chunk]."""
    n_buckets = wanted.shape[0]
    longest = np.max(query_ptr[1:] - query_ptr[:-1])
    for chunk in prange(chunks.shape[0] - 1):
        keys, steps = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
        work = (np.empty(longest), np.empty(longest, np.int64), keys, steps)
        bits = np.empty(1, np.int64)
        out = out_ptr[chunk]
        for q in range(chunks[chunk], chunks[chunk + 1]):
            first, last = query_ptr[q], query_ptr[q + 1]
            for i in range(first, last):
                if terms[0][i] == 0.0 or scales[q] == 0.0 or out == out_ptr[chunk + 1]:
                    continue
                n = _document_steps(i, first, last, a, b, terms, scales[q], wanted, *work)
                for step in range(n):
                    bits[0] = keys[step] >> 1
                    if wanted[min(int(bits.view(np.float64)[0] * n_buckets), n_buckets - 1)]:
                        out_keys[out], out_steps[out] = keys[step], steps[step]
                        out += 1


@helper()
def _ranks_above(i, j, a, b, key, bits):  # type: ignore[no-untyped-def]
    """Return whether row i ranks above row j from a key on; bits (1,) int64 is for work."""
    above, crossing, behind = _change(b[i] - b[j], a[i] - a[j], i < j)
    if crossing < 0.0:
        return above
    bits.view(np.float64)[0] = crossing
    return above != (bits[0] * 2 + behind <= key)


@helper()
def _settle(a, b, key, order, bits):  # type: ignore[no-untyped-def]
    """Put rows that are nearly in order exactly in the order that holds from a key on."""
    for position in range(1, order.shape[0]):
        row, to = order[position], position
        while to > 0 and _ranks_above(row, order[to - 1], a, b, key, bits):
            order[to] = order[to - 1]
            to -= 1
        order[to] = row


@kernel(parallel=True)
def _fill_order(query_ptr, a, b, scores, key, out):  # type: ignore[no-untyped-def]
    """Fill out (n_rows,) with the rows of each query in the order that holds from a key on."""
    for q in prange(query_ptr.shape[0] - 1):
        first, last = query_ptr[q], query_ptr[q + 1]
        order = np.argsort(-scores[first:last], kind="mergesort")
        _settle(a[first:last], b[first:last], key, order, np.empty(1, np.int64))
        out[first:last] = order + first


@kernel()
def _crossing_keys(a, b, labels):  # type: ignore[no-untyped-def]
    """Return the keys at which two documents of different labels swap, in no order."""
    crossings, n = np.empty(labels.shape[0] * (labels.shape[0] - 1) // 2), 0
    bits = crossings.view(np.int64)
    for i in range(labels.shape[0]):
        for j in range(i + 1, labels.shape[0]):
            if labels[i] != labels[j]:
                _, crossing, behind = _change(b[i] - b[j], a[i] - a[j], True)
                if crossing >= 0.0:
                    crossings[n] = crossing
                    bits[n] = bits[n] * 2 + behind
                    n += 1
    return bits[:n].copy()


@kernel()
def _fill_ranked(a, b, labels, keys, order, out):  # type: ignore[no-untyped-def]
    """Fill out (n_keys, n) with the labels in the order from each key on; `order` is updated from key to key."""
    bits = np.empty(1, np.int64)
    for number in range(keys.shape[0]):
        _settle(a, b, keys[number], order, bits)
        for rank in range(order.shape[0]):
            out[number, rank] = labels[order[rank]]
