"""The proximity family: how near to each other the query's terms stand. It needs an index with positions.

position   place of a token in the field, from 0, as indexed: a dropped stop word leaves a gap, but none in a query
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
from numpy.typing import NDArray

from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.registry import Cost, Feature, FieldFamily, Missing
from rerank.features.statistics import frozen
from rerank.kernels import helper, kernel

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
        postings = (field.doc_ptr, field.terms, field.freqs, field.position_ptr, field.positions)
        _fill(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.terms, batch.token_ptr, batch.tokens),
            (block.tf_ptr, block.tf, block.idf, block.collection_freq / max(field.n_tokens, 1)),
            tuple(frozen(array) for array in postings),
            block.lengths,
            block.bm25_saturation(recipe),
            recipe.bm25_k1,
            recipe.lm_dirichlet_mu,
            out,
        )


@kernel()
def _fill(queries, matches, postings, lengths, saturation, k1, mu, out):  # type: ignore[no-untyped-def]
    """Fill all columns.

    queries     query_ptr, docs, term_ptr, terms, token_ptr, tokens as in Candidates
    matches     tf_ptr, tf, idf, p as in FieldBlock
    postings    doc_ptr, terms, freqs, position_ptr, positions of the field
    saturation  (n_rows,) K
    """
    query_ptr, docs, term_ptr, terms, token_ptr, tokens = queries
    tf_ptr, tf, all_idf, all_p = matches
    for query in range(len(query_ptr) - 1):
        own = slice(term_ptr[query], term_ptr[query + 1])
        wanted, idf, p = terms[own], all_idf[own], all_p[own]
        n_terms, n_rows, room = len(wanted), query_ptr[query + 1] - query_ptr[query], 0
        said = tokens[token_ptr[query] : token_ptr[query + 1]]
        if n_terms == 0:
            out[query_ptr[query] : query_ptr[query + 1]] = np.nan
            continue
        counts = tf[tf_ptr[query] : tf_ptr[query + 1]].reshape(n_rows, n_terms)
        for match in range(tf_ptr[query], tf_ptr[query + 1]):
            room += tf[match]
        merged, whose = np.empty(room, np.int32), np.empty(room, np.int32)
        starts, taken, held = np.empty(n_terms, np.int64), np.empty(n_terms, np.int64), np.empty(n_terms, np.int64)
        n_said, first_said, adjacent = _read_query(said, n_terms)
        constants = _chances(n_said, adjacent, p, mu)
        sums, found = np.zeros(n_terms), np.zeros((3, n_terms, n_terms))
        for number in range(n_rows):
            row = query_ptr[query] + number
            here, columns, weigh = counts[number], out[row], (k1, saturation[row])
            n_held = _locate(docs[row], wanted, here, postings, starts, held)
            present = held[:n_held]
            n_merged = _merge(postings[4], starts, here, present, taken, merged, whose)
            _count_pairs(merged, whose, n_merged, first_said, adjacent, found, columns)
            log_length = np.log(lengths[row] + mu)
            columns[_SDM] = _dependence(here, present, n_said, adjacent, found, p, mu, constants, log_length)
            columns[_PROXIMITY] = _weigh_pairs(present, found, idf, weigh)
            _fill_stretch(merged, whose, n_merged, n_held, taken, columns)
            _fill_neighbours(merged, whose, n_merged, present, sums, idf, weigh, columns)
            columns[_PHRASE] = _count_phrases(postings[4], starts, here, said) if n_held == n_terms else 0.0


@helper()
def _read_query(said, n_terms):  # type: ignore[no-untyped-def]
    """Return how often each term is said, where first, and how often one behind another, (n_terms, n_terms)."""
    n_said, first_said = np.zeros(n_terms, np.int64), np.zeros(n_terms, np.int64)
    adjacent = np.zeros((n_terms, n_terms), np.int64)
    for place in range(len(said) - 1, -1, -1):
        n_said[said[place]] += 1
        first_said[said[place]] = place
        if place > 0 and said[place - 1] != said[place]:
            adjacent[said[place - 1], said[place]] += 1
    return n_said, first_said, adjacent


@helper()
def _chances(n_said, adjacent, p, mu):  # type: ignore[no-untyped-def]
    """Return the sequential dependence model of a field without a match, but for its length; weight of ln(len)."""
    total, weight = 0.0, 0.0
    for a in range(len(p)):
        if p[a] > 0.0:
            total += TERM_WEIGHT * n_said[a] * np.log(mu * p[a])
            weight += TERM_WEIGHT * n_said[a]
        for b in range(len(p)):
            if adjacent[a, b] > 0 and p[a] > 0.0 and p[b] > 0.0:
                chance, times = mu * p[a] * p[b], adjacent[a, b]
                total += times * ORDERED_WEIGHT * np.log(chance)
                total += times * UNORDERED_WEIGHT * np.log(2 * (SDM_WINDOW - 1) * chance)
                weight += adjacent[a, b] * (ORDERED_WEIGHT + UNORDERED_WEIGHT)
    return total, weight


@helper()
def _locate(doc, terms, counts, postings, starts, held):  # type: ignore[no-untyped-def]
    """Fill which query terms a document holds, and where the positions of each begin; return their number."""
    doc_ptr, doc_terms, freqs, position_ptr, _ = postings
    posting, start, n_held = doc_ptr[doc], position_ptr[doc], 0
    for term in range(len(terms)):
        if counts[term] > 0:
            place = _find(doc_terms, posting, doc_ptr[doc + 1], terms[term])
            for before in range(posting, place):
                start += freqs[before]
            posting, starts[term], held[n_held] = place, start, term
            n_held += 1
    return n_held


@helper()
def _find(values, low, high, wanted):  # type: ignore[no-untyped-def]
    """Return the place of the first of some ascending values that is not less than the wanted one."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@helper()
def _merge(positions, starts, counts, present, taken, merged, whose):  # type: ignore[no-untyped-def]
    """Put the positions of all query terms in one order; return their number."""
    taken[:], n_merged = 0, 0
    while True:
        best, least = -1, 0
        for term in present:
            place = positions[starts[term] + taken[term]] if taken[term] < counts[term] else -1
            if place >= 0 and (best < 0 or place < least):
                best, least = term, place
        if best < 0:
            return n_merged
        merged[n_merged], whose[n_merged] = least, best
        taken[best] += 1
        n_merged += 1


@helper()
def _count_pairs(merged, whose, n_merged, first_said, adjacent, found, columns):  # type: ignore[no-untyped-def]
    """Fill the counts of pairs, all in one pass over the windows.

    found  (3, n_terms, n_terms): how often a stands right before b, and before b in the window of the dependence
           model, and the sum of 1 / distance^2, are added
    """
    columns[0:12] = 0.0
    for high in range(1, n_merged):
        b = whose[high]
        for low in range(high - 1, -1, -1):
            a, distance = whose[low], merged[high] - merged[low]
            if distance >= WINDOWS[2]:
                break
            if a == b or distance == 0:
                continue
            in_order, ahead, either = first_said[a] < first_said[b], adjacent[a, b], adjacent[a, b] + adjacent[b, a]
            for window in range(3):
                if distance < WINDOWS[window]:
                    columns[window] += ahead
                    columns[3 + window] += either
                    columns[6 + window] += in_order
                    columns[9 + window] += 1
            found[0, a, b] += distance == 1
            found[1, a, b] += distance < SDM_WINDOW
            if distance <= NEAR:
                found[2, a, b] += 1.0 / (distance * distance)


@helper()
def _dependence(counts, present, n_said, adjacent, found, p, mu, constants, log_length):  # type: ignore[no-untyped-def]
    """Return the sequential dependence model: ln(x + c) is ln(c) + ln(1 + x / c), and the last 0 where nothing is."""
    total, weight = constants
    if weight == 0.0:
        return np.nan
    for a in present:
        total += TERM_WEIGHT * n_said[a] * np.log1p(counts[a] / (mu * p[a]))
        for b in present:
            both = found[1, a, b] + found[1, b, a]
            if adjacent[a, b] > 0 and both > 0.0:
                chance, times = mu * p[a] * p[b], adjacent[a, b]
                total += times * ORDERED_WEIGHT * np.log1p(found[0, a, b] / chance)
                total += times * UNORDERED_WEIGHT * np.log1p(both / (2 * (SDM_WINDOW - 1) * chance))
    return total - weight * log_length


@helper()
def _weigh_pairs(present, found, idf, weigh):  # type: ignore[no-untyped-def]
    """Return Rasolofo and Savoy's score; put what was counted of pairs back to 0."""
    score, (k1, half) = 0.0, weigh
    for number in range(len(present)):
        a = present[number]
        for other in range(number):
            b = present[other]
            near = found[2, a, b] + found[2, b, a]
            if near > 0.0:
                score += min(idf[a], idf[b]) * (k1 + 1.0) * near / (near + half)
            found[:, a, b], found[:, b, a] = 0.0, 0.0
    return score


@helper()
def _fill_stretch(merged, whose, n_merged, covered, inside, columns):  # type: ignore[no-untyped-def]
    """Fill the shortest stretch with all matched terms, its density, and the first position."""
    columns[_SPAN], columns[_SPAN_DENSITY], columns[_FIRST] = np.nan, np.nan, np.nan
    if n_merged == 0:
        return
    inside[:] = 0
    held, low, span = 0, 0, np.inf
    for high in range(n_merged):
        held += inside[whose[high]] == 0
        inside[whose[high]] += 1
        while held == covered:
            span = min(span, merged[high] - merged[low] + 1)
            inside[whose[low]] -= 1
            held -= inside[whose[low]] == 0
            low += 1
    columns[_SPAN], columns[_SPAN_DENSITY], columns[_FIRST] = span, covered / span, merged[0]


@helper()
def _fill_neighbours(merged, whose, n_merged, present, sums, idf, weigh, columns):  # type: ignore[no-untyped-def]
    """Fill Buettcher, Clarke and Lushman's score, and Tao and Zhai's least distance."""
    least = np.inf
    for place in range(1, n_merged):
        a, b = whose[place - 1], whose[place]
        if a != b:
            distance = max(merged[place] - merged[place - 1], 1)
            least = min(least, distance)
            sums[a] += idf[b] / (distance * distance)
            sums[b] += idf[a] / (distance * distance)
    score, (k1, half) = 0.0, weigh
    for term in present:
        if sums[term] > 0.0:
            score += min(1.0, idf[term]) * (k1 + 1.0) * sums[term] / (sums[term] + half)
        sums[term] = 0.0
    columns[_TP_SCORE] = score
    columns[_TP_DIST] = np.log(TAO_ALPHA + np.exp(-least)) if least < np.inf else np.nan


@helper()
def _count_phrases(positions, starts, counts, said):  # type: ignore[no-untyped-def]
    """Return how often all tokens of a query, whose terms the field all holds, follow each other."""
    found = 0
    for number in range(counts[said[0]]):
        wanted, place = positions[starts[said[0]] + number], 1
        while place < len(said):
            end = starts[said[place]] + counts[said[place]]
            low = _find(positions, starts[said[place]], end, wanted + place)
            if low == end or positions[low] != wanted + place:
                break
            place += 1
        found += place == len(said)
    return found


FAMILY = ProximityFeatures()
