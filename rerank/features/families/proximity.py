"""The proximity family: how near to each other the query's terms stand. It needs an index with positions.

position   place of a token in the field, from 0, as the index holds it: a stop word that the analyser drops leaves a
           gap in a document, but none in a query
window w   holds two tokens whose positions differ by w - 1 at most
adjacent   two tokens of the query, one behind the other; two of the same term are passed over
pair       two distinct terms of the query, the one that the query has first standing first
tf, len, idf, p, df  as in the LETOR family; K = k1 * (1 - b + b * dl / avgdl), BM25's, with Lucene's length

Each occurrence counts: a term that stands twice beside another makes two pairs. A query without terms leaves
everything missing; a query of one term has no pairs, and counts of pairs are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import Cost, Feature, FieldFamily, Missing
from rerank.features.statistics import frozen

WINDOWS = (3, 8, 15)
NEAR = 5  # Rasolofo and Savoy's longest distance
TERM_WEIGHT, ORDERED_WEIGHT, UNORDERED_WEIGHT, SDM_WINDOW = 0.85, 0.1, 0.05, 8
TAO_ALPHA = 0.3
_QUERY = (Missing.NO_QUERY_TERMS,)
_PYSERINI = "Pyserini 0.22's {}; Metzler & Croft, SIGIR 2005, section 2.3"
_SPAN, _SPAN_DENSITY, _FIRST, _PHRASE, _PROXIMITY, _TP_SCORE, _TP_DIST, _SDM = range(12, 20)


def _pair_features(stem: str, of: str, name: str, order: str) -> list[Feature]:
    return [
        Feature(
            name=f"{stem}_{window}",
            meaning=f"Number of times {of} stand{order} in a window of {window} tokens.",
            formula=f"sum over {of} of the occurrences with {'0 < ' if order else '0 < |'}b - a{'' if order else '|'}"
            f" < {window}; a, b their positions",
            source=_PYSERINI.format(name),
            unit="pairs",
            missing=_QUERY,
            cost=Cost.POSITIONS,
        )
        for window in WINDOWS
    ]


_FEATURES = (
    *_pair_features("ordered_adjacent", "adjacent query terms", "OrderedSequentialPairs", " in order"),
    *_pair_features("unordered_adjacent", "adjacent query terms", "UnorderedSequentialPairs", ""),
    *_pair_features("ordered_pairs", "pairs of query terms", "OrderedQueryPairs", " in order"),
    *_pair_features("unordered_pairs", "pairs of query terms", "UnorderedQueryPairs", ""),
    Feature(
        "span",
        "Length of the shortest stretch that holds every query term that the field holds.",
        "least (last position - first position + 1) over such stretches",
        "Tao & Zhai, SIGIR 2007, MinCover",
        "tokens",
        low=1.0,
        missing=(Missing.NO_MATCH,),
        cost=Cost.POSITIONS,
    ),
    Feature(
        "span_density",
        "Share of that stretch that its query terms need at least.",
        "covered / span",
        "Tao & Zhai, SIGIR 2007, normalised span",
        "share",
        high=inf,  # above 1 only where an analyser puts two terms in one place
        missing=(Missing.NO_MATCH,),
        cost=Cost.POSITIONS,
    ),
    Feature(
        "first_position",
        "Place of the first query term in the field.",
        "least position of a query term",
        "Troy & Zhang, SIGIR 2007, chronological term rank",
        "tokens",
        missing=(Missing.NO_MATCH,),
        cost=Cost.POSITIONS,
    ),
    Feature(
        "phrase",
        "Number of times the whole query stands in the field, word for word.",
        "number of positions from which all tokens of the query follow each other without a gap",
        "Metzler & Croft, SIGIR 2005, #1 of the whole query",
        "occurrences",
        missing=_QUERY,
        cost=Cost.POSITIONS,
    ),
    Feature(
        "proximity",
        "BM25-like sum over pairs that stand near to each other.",
        f"sum over pairs of min(idf) * (k1 + 1) * x / (x + K), x = sum over |a - b| <= {NEAR} of 1 / (a - b)^2",
        "Rasolofo & Savoy, ECIR 2003, eq. 4 to 6, with Lucene's idf",
        "nats",
        missing=_QUERY,
        cost=Cost.POSITIONS,
    ),
    Feature(
        "tp_score",
        "BM25-like sum over terms that neighbour another query term.",
        "sum over t of min(1, idf) * (k1 + 1) * x / (x + K), x = sum over neighbouring matches t, s, t != s, of "
        "idf(s) / distance^2",
        "Buettcher, Clarke & Lushman, SIGIR 2006, section 2",
        "score",
        missing=_QUERY,
        cost=Cost.POSITIONS,
    ),
    Feature(
        "tp_dist",
        "How near the two nearest different query terms are.",
        f"ln({TAO_ALPHA} + exp(-least distance of two different query terms))",
        "Tao & Zhai, SIGIR 2007, eq. 1, MinDist",
        "score",
        low=-2.0,
        missing=(Missing.ONE_MATCH,),
        cost=Cost.POSITIONS,
    ),
    Feature(
        "sdm",
        "Sequential dependence model: terms, adjacent pairs in order, adjacent pairs in a window of 8.",
        f"{TERM_WEIGHT} * sum over tokens f(tf, p) + {ORDERED_WEIGHT} * sum over adjacent f(#1, p * p) + "
        f"{UNORDERED_WEIGHT} * sum over adjacent f(#uw8, {2 * (SDM_WINDOW - 1)} * p * p); f(x, p) = ln((x + mu * p) / "
        "(len + mu)); the collection's share of a pair is what chance would give",
        "Metzler & Croft, SIGIR 2005, table 1 and section 4.2",
        "nats",
        low=-inf,
        high=inf,
        missing=(Missing.NO_QUERY_TERMS, Missing.NO_KNOWN_TERM),
        cost=Cost.POSITIONS,
    ),
)


class ProximityFeatures(FieldFamily):
    """Pairs in windows, spans, phrases, proximity scores, the sequential dependence model."""

    needs_positions = True

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 20)."""
        batch, field = block.candidates, block.field
        if field.positions is None:
            raise ValueError(f"{field.name} is indexed without positions")
        _fill(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.terms, batch.token_ptr, batch.tokens),
            (block.tf_ptr, block.tf, block.idf, block.collection_freq / max(field.n_tokens, 1)),
            (
                frozen(field.doc_ptr),
                frozen(field.terms),
                frozen(field.freqs),
                frozen(field.position_ptr),
                frozen(field.positions),
            ),
            block.lengths,
            block.bm25_saturation(recipe),
            recipe.bm25_k1,
            recipe.lm_dirichlet_mu,
            out,
        )


@njit(cache=True, parallel=True, nogil=True, error_model="numpy")
def _fill(queries, matches, postings, lengths, saturation, k1, mu, out):  # type: ignore[no-untyped-def]
    """Fill all columns; one thread a query.

    queries     query_ptr, docs, term_ptr, terms, token_ptr, tokens as in Candidates
    matches     tf_ptr, tf, idf, p as in FieldBlock
    postings    doc_ptr, terms, freqs, position_ptr, positions of the field
    saturation  (n_rows,) K
    """
    query_ptr, docs, term_ptr, terms, token_ptr, tokens = queries
    tf_ptr, tf, idf, p = matches
    for query in prange(len(query_ptr) - 1):
        own = slice(term_ptr[query], term_ptr[query + 1])
        n_terms, n_rows = len(terms[own]), query_ptr[query + 1] - query_ptr[query]
        said = tokens[token_ptr[query] : token_ptr[query + 1]]
        if n_terms == 0:
            out[query_ptr[query] : query_ptr[query + 1]] = np.nan
            continue
        counts = tf[tf_ptr[query] : tf_ptr[query + 1]].reshape(n_rows, n_terms)
        most = 0
        for number in range(n_rows):
            most = max(most, counts[number].sum())
        starts, pointers = np.empty(n_terms, np.int64), np.empty(n_terms, np.int64)
        merged, whose = np.empty(most, np.int32), np.empty(most, np.int32)
        order = _first_said(said, n_terms)
        for number in range(n_rows):
            row = query_ptr[query] + number
            here = counts[number]
            length, weigh = np.float64(lengths[row]), (k1, saturation[row])
            positions = _locate(docs[row], terms[own], here, postings, starts)
            n_merged = _merge(positions, starts, here, pointers, merged, whose)
            columns = out[row]
            _fill_adjacent(positions, starts, here, said, p[own], length, mu, columns)
            _fill_pairs(positions, starts, here, order, idf[own], weigh, columns)
            _fill_stretch(merged, whose, n_merged, pointers, columns)
            _fill_neighbours(merged, whose, n_merged, idf[own], weigh, columns)
            columns[_PHRASE] = _count_phrases(positions, starts, here, said)


@njit(cache=True, nogil=True)
def _first_said(said, n_terms):  # type: ignore[no-untyped-def]
    """Return the query's terms in the order in which it first has them."""
    order, n_order, seen = np.empty(n_terms, np.int64), 0, np.zeros(n_terms, np.uint8)
    for term in said:
        if not seen[term]:
            seen[term] = 1
            order[n_order] = term
            n_order += 1
    return order


@njit(cache=True, nogil=True)
def _locate(doc, terms, counts, postings, starts):  # type: ignore[no-untyped-def]
    """Return the positions of a document; fill `starts` with where those of each query term begin in them."""
    doc_ptr, doc_terms, freqs, position_ptr, positions = postings
    posting, start = doc_ptr[doc], 0
    for term in range(len(terms)):
        if counts[term] > 0:
            while doc_terms[posting] != terms[term]:
                start += freqs[posting]
                posting += 1
            starts[term] = start
    return positions[position_ptr[doc] : position_ptr[doc + 1]]


@njit(cache=True, nogil=True)
def _merge(positions, starts, counts, taken, merged, whose):  # type: ignore[no-untyped-def]
    """Put the positions of all query terms in one order; return their number."""
    taken[:] = 0
    n_merged = 0
    while True:
        best = -1
        for term in range(len(counts)):
            if taken[term] < counts[term]:
                place = positions[starts[term] + taken[term]]
                if best < 0 or place < merged[n_merged]:
                    best, merged[n_merged] = term, place
        if best < 0:
            return n_merged
        whose[n_merged] = best
        taken[best] += 1
        n_merged += 1


@njit(cache=True, nogil=True)
def _count(positions, first_a, n_a, first_b, n_b):  # type: ignore[no-untyped-def]
    """Return how often b stands right behind a; within each window behind a, before a; and sum of 1 / distance^2."""
    exact, nearness, low = 0, 0.0, 0
    behind_3, behind_8, behind_15, before_3, before_8, before_15 = 0, 0, 0, 0, 0, 0
    for number in range(first_a, first_a + n_a):
        while low < n_b and positions[first_b + low] <= positions[number] - WINDOWS[2]:
            low += 1
        for other in range(low, n_b):
            distance = positions[first_b + other] - positions[number]
            if distance >= WINDOWS[2]:
                break
            if distance > 0:
                exact += distance == 1
                behind_3 += distance < WINDOWS[0]
                behind_8 += distance < WINDOWS[1]
                behind_15 += 1
            elif distance < 0:
                before_3 += -distance < WINDOWS[0]
                before_8 += -distance < WINDOWS[1]
                before_15 += 1
            if distance != 0 and abs(distance) <= NEAR:
                nearness += 1.0 / (distance * distance)
    return exact, (behind_3, behind_8, behind_15), (before_3, before_8, before_15), nearness


@njit(cache=True, nogil=True)
def _fill_adjacent(positions, starts, counts, said, p, length, mu, columns):  # type: ignore[no-untyped-def]
    """Fill counts of adjacent query terms, and the sequential dependence model."""
    columns[0:6] = 0.0
    single, ordered, unordered, known = 0.0, 0.0, 0.0, False
    for place in range(len(said)):
        a = said[place]
        if p[a] > 0.0:
            known = True
            single += np.log((counts[a] + mu * p[a]) / (length + mu))
        if place + 1 == len(said) or said[place + 1] == a:
            continue
        b = said[place + 1]
        exact, both = 0, 0
        if counts[a] > 0 and counts[b] > 0:
            exact, behind, before, _ = _count(positions, starts[a], counts[a], starts[b], counts[b])
            for window in range(3):
                columns[window] += behind[window]
                columns[3 + window] += behind[window] + before[window]
            both = behind[1] + before[1]
        if p[a] > 0.0 and p[b] > 0.0:
            chance = mu * p[a] * p[b]
            ordered += np.log((exact + chance) / (length + mu))
            unordered += np.log((both + 2 * (SDM_WINDOW - 1) * chance) / (length + mu))
    model = TERM_WEIGHT * single + ORDERED_WEIGHT * ordered + UNORDERED_WEIGHT * unordered
    columns[_SDM] = model if known else np.nan


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_pairs(positions, starts, counts, order, idf, weigh, columns):  # type: ignore[no-untyped-def]
    """Fill counts of pairs of query terms, and Rasolofo and Savoy's score."""
    columns[6:12] = 0.0
    score, (k1, half) = 0.0, weigh
    for number in range(len(order)):
        a = order[number]
        if counts[a] == 0:
            continue
        for b in order[number + 1 :]:
            if counts[b] == 0:
                continue
            _, behind, before, nearness = _count(positions, starts[a], counts[a], starts[b], counts[b])
            for window in range(3):
                columns[6 + window] += behind[window]
                columns[9 + window] += behind[window] + before[window]
            if nearness > 0.0:
                score += min(idf[a], idf[b]) * (k1 + 1.0) * nearness / (nearness + half)
    columns[_PROXIMITY] = score


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_stretch(merged, whose, n_merged, inside, columns):  # type: ignore[no-untyped-def]
    """Fill the shortest stretch with all matched terms, its density, and the first position."""
    columns[_SPAN], columns[_SPAN_DENSITY], columns[_FIRST] = np.nan, np.nan, np.nan
    if n_merged == 0:
        return
    inside[:] = 0
    covered, held, low, span = 0, 0, 0, np.inf
    for place in range(n_merged):
        covered += inside[whose[place]] == 0
        inside[whose[place]] = 1
    inside[:] = 0
    for high in range(n_merged):
        held += inside[whose[high]] == 0
        inside[whose[high]] += 1
        while held == covered:
            span = min(span, merged[high] - merged[low] + 1)
            inside[whose[low]] -= 1
            held -= inside[whose[low]] == 0
            low += 1
    columns[_SPAN], columns[_SPAN_DENSITY], columns[_FIRST] = span, covered / span, merged[0]


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_neighbours(merged, whose, n_merged, idf, weigh, columns):  # type: ignore[no-untyped-def]
    """Fill Buettcher, Clarke and Lushman's score, and Tao and Zhai's least distance."""
    sums, least = np.zeros(len(idf)), np.inf
    for place in range(1, n_merged):
        a, b = whose[place - 1], whose[place]
        if a != b:
            distance = max(merged[place] - merged[place - 1], 1)
            least = min(least, distance)
            sums[a] += idf[b] / (distance * distance)
            sums[b] += idf[a] / (distance * distance)
    score, (k1, half) = 0.0, weigh
    for term in range(len(idf)):
        if sums[term] > 0.0:
            score += min(1.0, idf[term]) * (k1 + 1.0) * sums[term] / (sums[term] + half)
    columns[_TP_SCORE] = score
    columns[_TP_DIST] = np.log(TAO_ALPHA + np.exp(-least)) if least < np.inf else np.nan


@njit(cache=True, nogil=True)
def _count_phrases(positions, starts, counts, said):  # type: ignore[no-untyped-def]
    """Return how often all tokens of the query follow each other."""
    for term in said:
        if counts[term] == 0:
            return 0
    found = 0
    for number in range(counts[said[0]]):
        wanted, place = positions[starts[said[0]] + number], 1
        while place < len(said):
            low, high = starts[said[place]], starts[said[place]] + counts[said[place]]
            end = high
            while low < high:
                middle = (low + high) >> 1
                if positions[middle] < wanted + place:
                    low = middle + 1
                else:
                    high = middle
            if low == end or positions[low] != wanted + place:
                break
            place += 1
        found += place == len(said)
    return found


FAMILY = ProximityFeatures()
