"""The proximity family: how near the query's terms are to each other. It needs an index with positions.

position        index of a token in the field, from 0; a removed stop word leaves a gap in a field, but none in a query
window w        holds two tokens whose positions differ by at most w - 1
adjacent        two successive tokens of the query; those of the same term are left out
pair            two distinct terms of the query, ordered by their first token in the query
merged, owners  positions of all query terms in a document, ascending, and the term of each; ties are ordered by term
present         query terms that the document holds, ascending
query_tokens    term of each token of the query
tf, len, idf, p, df  as in the LETOR family; K = k1 * (1 - b + b * dl / avgdl), BM25's, with Lucene's length

Each occurrence counts: a term that is twice next to another makes two pairs. If a query has no terms, all features are
missing; a query of one term has no pairs, and counts of pairs are 0. This family uses a query up to the 1,024th of its
distinct terms, which is Lucene's default limit.

A document takes time n * (14 + k) + k^2 for n occurrences of k query terms: each occurrence is paired with those at the
14 positions before it. It is paired with at most LOOK_BACK of them, a limit that is reached only where an index has
many terms at one position. Memory is 24 bytes for each pair of query terms.

References
----------
Metzler & Croft, SIGIR 2005; Tao & Zhai, SIGIR 2007; Troy & Zhang, SIGIR 2007; Rasolofo & Savoy, ECIR 2003; Buettcher,
Clarke & Lushman, SIGIR 2006.

"""

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, FieldFamily, Missing, register
from rerank.features.match import FieldBlock, gather_candidates, match
from rerank.features.recipe import Recipe
from rerank.runtime.elementary import exp, log, log1p
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import prefetch
from rerank.runtime.mapped_rows import read_only_view

WINDOWS = (3, 8, 15)
NEAR = 5  # greatest distance of Rasolofo and Savoy
TERM_WEIGHT = 0.85
ORDERED_WEIGHT = 0.1
UNORDERED_WEIGHT = 0.05
SDM_WINDOW = 8
TAO_ALPHA = 0.3
LOOK_BACK = 128  # occurrences; windows have more only where an index has many terms at one position
PHRASE_STEPS = 1 << 25  # most comparisons for the phrase count of a document
SPAN, SPAN_DENSITY, FIRST, PHRASE, PROXIMITY, TP_SCORE, TP_DIST, SDM = range(12, 20)
_NO_POSITION = np.int64(2**63 - 1)
MOST_TERMS = 1024  # Lucene's default limit of clauses
_QUERY = (Missing.NO_QUERY_TERMS,)


@kernel()
def _fill(queries, matches, field_positions, of_rows, longest, k1, mu, out):
    """Fill all columns of `out` (n_rows, 20) float32.

    queries     query_ptr, docs, term_ptr, token_ptr, tokens as in CandidateBatch
    matches     tf_ptr, tf, first_tokens, idf as in FieldBlock, and p (n_query_terms,)
    field_positions  position_ptr, positions of the field
    of_rows     (n_rows,) tokens and BM25's K
    longest     most tokens of a row
    """
    query_ptr, docs, term_ptr, token_ptr, tokens = queries
    tf_ptr, tf, first_tokens, all_idf, all_p = matches
    position_ptr, positions = field_positions
    lengths, saturation = of_rows
    merged = np.empty(longest, np.int32)
    owners = np.empty(longest, np.int32)
    tallies = np.zeros((3, 4), np.int64)
    for query in range(len(query_ptr) - 1):
        of_query = slice(term_ptr[query], term_ptr[query + 1])
        idf = all_idf[of_query]
        p = all_p[of_query]
        row_docs = docs[query_ptr[query] : query_ptr[query + 1]]
        n_terms = len(idf)
        query_tokens = tokens[token_ptr[query] : token_ptr[query + 1]]
        if n_terms == 0:
            out[query_ptr[query] : query_ptr[query + 1]] = np.nan
            continue
        counts = tf[tf_ptr[query] : tf_ptr[query + 1]].reshape(len(row_docs), n_terms)
        tokens_before = first_tokens[tf_ptr[query] : tf_ptr[query + 1]].reshape(len(row_docs), n_terms)
        starts = np.empty(n_terms, np.int64)
        ends = np.empty(n_terms, np.int64)
        heads = np.empty(n_terms, np.int64)
        inside = np.empty(n_terms, np.int64)
        held_terms = np.empty(n_terms, np.int64)
        sums = np.zeros(n_terms)
        near = np.zeros((n_terms, n_terms))
        query_freq, first_token, pairs = _read_query(query_tokens, n_terms)
        constants = _chances(query_freq, pairs, p, mu)
        for index in range(len(row_docs)):
            row = query_ptr[query] + index
            _prefetch_row(index, row_docs, counts, tokens_before, position_ptr, positions)
            columns = out[row]
            columns[0:SPAN] = 0.0
            columns[SPAN:] = np.nan
            columns[PHRASE:TP_DIST] = 0.0
            bm25 = (k1, saturation[row])
            n_present = 0
            for term in range(n_terms):
                if counts[index, term] > 0:
                    starts[term] = position_ptr[docs[row]] + tokens_before[index, term]
                    ends[term] = starts[term] + counts[index, term]
                    held_terms[n_present] = term
                    n_present += 1
            present = held_terms[:n_present]
            n_merged = _merge(positions, starts, ends, present, heads, merged, owners)
            n_pairs = 0
            if n_present > 1:
                n_pairs = _count_pairs(merged, owners, n_merged, first_token, pairs, near, tallies, columns)
                _fill_neighbours(merged, owners, n_merged, present, sums, idf, bm25, columns)
            if n_present == n_terms:
                columns[PHRASE] = _count_phrases(merged, owners, n_merged, query_tokens)
            if n_present > 0:
                span = _shortest_span(merged, owners, n_merged, n_present, inside)
                columns[SPAN], columns[SPAN_DENSITY], columns[FIRST] = span, n_present / span, merged[0]
            columns[PROXIMITY], columns[SDM] = _weigh(
                counts[index], present, query_freq, pairs, near, n_pairs, idf, p, mu, bm25, constants,
                log(lengths[row] + mu),
            )  # fmt: skip


@helper()
def _read_query(query_tokens, n_terms):
    """Return the number of tokens of each term, the first token of each, and the pairs of adjacent tokens.

    pairs  (n_terms, n_terms, 4): number of tokens a followed by b; number of tokens a and b that are adjacent in any
           order; two counts of a document, see `_count_pairs`
    """
    query_freq = np.zeros(n_terms, np.int64)
    first_token = np.zeros(n_terms, np.int64)
    pairs = np.zeros((n_terms, n_terms, 4), np.int32)
    for token in range(len(query_tokens) - 1, -1, -1):
        b = query_tokens[token]
        query_freq[b] += 1
        first_token[b] = token
        if token > 0 and query_tokens[token - 1] != b:
            a = query_tokens[token - 1]
            pairs[a, b, 0] += 1
            pairs[a, b, 1] += 1
            pairs[b, a, 1] += 1
    return query_freq, first_token, pairs


@helper()
def _chances(query_freq, pairs, p, mu):
    """Return the dependence model's score without matches, length apart, and the weight of ln(len + mu)."""
    total = 0.0
    weight = 0.0
    for a in range(len(p)):
        if p[a] > 0.0:
            total += TERM_WEIGHT * query_freq[a] * log(mu * p[a])
            weight += TERM_WEIGHT * query_freq[a]
        for b in range(len(p)):
            times = pairs[a, b, 0]
            chance = mu * p[a] * p[b]
            if times > 0 and chance > 0.0:
                total += times * ORDERED_WEIGHT * log(chance)
                total += times * UNORDERED_WEIGHT * log(2 * (SDM_WINDOW - 1) * chance)
                weight += times * (ORDERED_WEIGHT + UNORDERED_WEIGHT)
    return total, weight


@helper()
def _prefetch_row(index, docs, counts, first_tokens, position_ptr, positions):
    """Prefetch the positions of the query's terms of the document two rows below, and the pointer four below."""
    if index + 4 < len(counts):
        prefetch(position_ptr, docs[index + 4])
    if index + 2 < len(counts):
        first = position_ptr[docs[index + 2]]
        for term in range(counts.shape[1]):
            if counts[index + 2, term] > 0:
                prefetch(positions, first + first_tokens[index + 2, term])


@helper()
def _merge(positions, starts, ends, present, heads, merged, owners):
    """Merge the positions of the terms that a document holds; return their number.

    starts, ends  first position of each term, IN and OUT, and the one after its last
    heads   work space: the next position of each of the terms, and in the lower half its index in `present`
    """
    n_merged = 0
    for index in range(len(present)):
        heads[index] = np.int64(positions[starts[present[index]]]) << 32 | index
        n_merged += ends[present[index]] - starts[present[index]]
    for number in range(n_merged):
        least = heads[0]
        for index in range(1, len(present)):
            least = min(least, heads[index])
        index = least & 0xFFFFFFFF
        term = present[index]
        merged[number], owners[number] = least >> 32, term
        starts[term] += 1
        heads[index] = np.int64(positions[starts[term]]) << 32 | index if starts[term] < ends[term] else _NO_POSITION
    return n_merged


@helper()
def _count_pairs(merged, owners, n_merged, first_token, pairs, near, tallies, columns):
    """Fill the counts of pairs in all windows, which are 0 before; return the number in the widest.

    near     (n_terms, n_terms): the sum of 1 / distance^2 over occurrences of a before b is added
    pairs    (n_terms, n_terms, 4): if a and b are adjacent in the query, the number of a directly before b is added at
             2, and the number of a before b in the window of the dependence model at 3
    tallies  (3, 4) work space for the counts of a row, 0 before and after
    """
    n_pairs = 0
    for high in range(1, n_merged):
        b = owners[high]
        for low in range(high - 1, max(high - LOOK_BACK, 0) - 1, -1):
            a = owners[low]
            distance = merged[high] - merged[low]
            if distance >= WINDOWS[2]:
                break
            if a == b or distance == 0:
                continue
            window = np.int64(distance >= WINDOWS[0]) + np.int64(distance >= WINDOWS[1])
            either = pairs[a, b, 1]
            tallies[window, 0] += pairs[a, b, 0]
            tallies[window, 1] += either
            tallies[window, 2] += first_token[a] < first_token[b]
            n_pairs += 1
            tallies[window, 3] += 1
            if distance < SDM_WINDOW and either > 0:
                pairs[a, b, 2] += distance == 1
                pairs[a, b, 3] += 1
            if distance <= NEAR:
                near[a, b] += 1.0 / (distance * distance)
    if n_pairs > 0:
        for kind in range(4):
            total = 0
            for width in range(3):
                total += tallies[width, kind]
                columns[3 * kind + width] = total
                tallies[width, kind] = 0
    return n_pairs


@helper()
def _weigh(counts, present, query_freq, pairs, near, n_pairs, idf, p, mu, bm25, constants, log_length):
    """Return Rasolofo and Savoy's score and the dependence model's; reset `near` and the counts of a document to 0.

    ln(x + c) = ln(c) + ln(1 + x / c): `constants` has the first terms, only matches contribute to the second.
    """
    k1, half = bm25
    total, weight = constants
    score = 0.0
    for number in range(len(present)):
        a = present[number]
        total += TERM_WEIGHT * query_freq[a] * log1p(counts[a] / (mu * p[a]))
        for other in range(len(present) if n_pairs > 0 else 0):
            b = present[other]
            both = pairs[a, b, 3] + pairs[b, a, 3]
            times = pairs[a, b, 0]
            if both > 0 and times > 0:
                chance = mu * p[a] * p[b]
                total += times * ORDERED_WEIGHT * log1p(pairs[a, b, 2] / chance)
                total += times * UNORDERED_WEIGHT * log1p(both / (2 * (SDM_WINDOW - 1) * chance))
            if other < number:  # neither pair is read again
                nearness = near[a, b] + near[b, a]
                if nearness > 0.0:
                    score += min(idf[a], idf[b]) * (k1 + 1.0) * nearness / (nearness + half)
                    near[a, b], near[b, a] = 0.0, 0.0
                if both > 0:
                    pairs[a, b, 2:] = 0
                    pairs[b, a, 2:] = 0
    return score, total - weight * log_length if weight > 0.0 else np.nan


@helper()
def _shortest_span(merged, owners, n_merged, n_present, inside):
    """Return the length of the shortest span with all terms that the document holds; inside (n_terms,) work space."""
    inside[:] = 0
    n_inside = 0
    low = 0
    span = np.inf
    for high in range(n_merged):
        n_inside += inside[owners[high]] == 0
        inside[owners[high]] += 1
        while n_inside == n_present:
            span = min(span, merged[high] - merged[low] + 1)
            inside[owners[low]] -= 1
            n_inside -= inside[owners[low]] == 0
            low += 1
    return span


@helper()
def _fill_neighbours(merged, owners, n_merged, present, sums, idf, bm25, columns):
    """Fill Buettcher, Clarke and Lushman's score, and Tao and Zhai's least distance."""
    least = np.inf
    for index in range(1, n_merged):
        a = owners[index - 1]
        b = owners[index]
        if a != b:
            distance = max(merged[index] - merged[index - 1], 1)
            least = min(least, distance)
            sums[a] += idf[b] / (distance * distance)
            sums[b] += idf[a] / (distance * distance)
    score, (k1, half) = 0.0, bm25
    for term in present:
        if sums[term] > 0.0:
            score += min(1.0, idf[term]) * (k1 + 1.0) * sums[term] / (sums[term] + half)
        sums[term] = 0.0
    columns[TP_SCORE] = score
    if least < np.inf:
        columns[TP_DIST] = log(TAO_ALPHA + exp(-least))


@helper()
def _count_phrases(merged, owners, n_merged, query_tokens):
    """Return the number of occurrences of the whole query, found with at most PHRASE_STEPS comparisons."""
    n_phrases = 0
    steps = 0
    for first in range(n_merged):
        if owners[first] != query_tokens[0]:
            continue
        index = first
        n_matched = 1
        while n_matched < len(query_tokens) and index < n_merged and steps < PHRASE_STEPS:
            steps += 1
            place = merged[first] + n_matched
            if merged[index] > place:
                break
            n_matched += merged[index] == place and owners[index] == query_tokens[n_matched]
            index += 1
        n_phrases += n_matched == len(query_tokens)
    return n_phrases


def _pair_features(stem: str, of: str, name: str, order: str) -> list[Feature]:
    return [
        Feature(
            name=f"{stem}_{window}",
            meaning=f"Number of times {of} occur{order} in a window of {window} tokens.",
            formula=f"sum over {of} of the occurrences with {'0 < ' if order else '0 < |'}b - a{'' if order else '|'}"
            f" < {window}; a, b their positions",
            source=f"Pyserini 0.22's {name}; Metzler & Croft, SIGIR 2005, section 2.3",
            unit="pairs",
            missing=_QUERY,
        )
        for window in WINDOWS
    ]


@register("proximity")
class ProximityFeatures(FieldFamily):
    """Pairs in windows, spans, phrases, proximity scores, the sequential dependence model."""

    evidence = "proximity"
    rising = ("ordered_*", "unordered_*", "span_density", "phrase", "proximity", "tp_score", "sdm")
    falling = ("span", "first_position")
    needs_positions = True
    listed = (
        *_pair_features("ordered_adjacent", "adjacent query terms", "OrderedSequentialPairs", " in order"),
        *_pair_features("unordered_adjacent", "adjacent query terms", "UnorderedSequentialPairs", ""),
        *_pair_features("ordered_pairs", "pairs of query terms", "OrderedQueryPairs", " in order"),
        *_pair_features("unordered_pairs", "pairs of query terms", "UnorderedQueryPairs", ""),
        Feature(
            "span",
            "Length of the shortest span with every query term that the field holds.",
            "least (last position - first position + 1) over such spans",
            "Tao & Zhai, SIGIR 2007, MinCover",
            "tokens",
            low=1.0,
            missing=(Missing.NO_MATCH,),
        ),
        Feature(
            "span_density",
            "Number of query terms in the field as a share of that span.",
            "covered / span",
            "Tao & Zhai, SIGIR 2007, normalised span",
            "share",
            high=inf,  # above 1 only where an analyser puts two terms at one position
            missing=(Missing.NO_MATCH,),
        ),
        Feature(
            "first_position",
            "Position of the first query term in the field.",
            "least position of a query term",
            "Troy & Zhang, SIGIR 2007, chronological term rank",
            "tokens",
            missing=(Missing.NO_MATCH,),
        ),
        Feature(
            "phrase",
            "Number of times the whole query occurs in the field as a phrase.",
            "number of positions at which all tokens of the query begin to follow each other without a gap",
            "Metzler & Croft, SIGIR 2005, #1 of the whole query",
            "occurrences",
            missing=_QUERY,
        ),
        Feature(
            "proximity",
            "BM25-like sum over pairs that are near to each other.",
            f"sum over pairs of min(idf) * (k1 + 1) * x / (x + K), x = sum over |a - b| <= {NEAR} of 1 / (a - b)^2",
            "Rasolofo & Savoy, ECIR 2003, eq. 4 to 6, with Lucene's idf",
            "nats",
            missing=_QUERY,
        ),
        Feature(
            "tp_score",
            "BM25-like sum over terms next to another query term.",
            "sum over t of min(1, idf) * (k1 + 1) * x / (x + K), x = sum over successive matches t, s, t != s, of "
            "idf(s) / distance^2",
            "Buettcher, Clarke & Lushman, SIGIR 2006, section 2",
            "score",
            missing=_QUERY,
        ),
        Feature(
            "tp_dist",
            "Nearness of the two nearest distinct query terms.",
            f"ln({TAO_ALPHA} + exp(-least distance of two distinct query terms))",
            "Tao & Zhai, SIGIR 2007, eq. 1, MinDist",
            "score",
            low=-2.0,
            missing=(Missing.ONE_MATCH,),
        ),
        Feature(
            "sdm",
            "Sequential dependence model: terms, adjacent pairs in order, adjacent pairs in a window of 8.",
            f"{TERM_WEIGHT} * sum over tokens f(tf, p) + {ORDERED_WEIGHT} * sum over adjacent f(#1, p * p) + "
            f"{UNORDERED_WEIGHT} * sum over adjacent f(#uw8, {2 * (SDM_WINDOW - 1)} * p * p); f(x, p) = ln((x + "
            "mu * p) / (len + mu)); the collection probability of a pair is that of independent terms",
            "Metzler & Croft, SIGIR 2005, table 1 and section 4.2",
            "nats",
            low=-inf,
            high=inf,
            missing=(Missing.NO_QUERY_TERMS, Missing.NO_KNOWN_TERM),
        ),
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 20)."""
        field = block.field
        batch = block.candidates
        if np.diff(batch.term_ptr).max(initial=0) > MOST_TERMS:
            cut = [_first_terms(tokens) for tokens in batch.query_tokens]
            batch = gather_candidates(batch.forward, cut, batch.query_ptr, batch.docs, batch.scores)
            block = match(batch, field)
        _fill(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.token_ptr, batch.tokens),
            (block.candidates.tf_ptr, *block.matches, block.idf, block.collection_freq / max(field.n_tokens, 1)),
            (read_only_view(field.position_ptr), read_only_view(field.positions)),
            (block.lengths, block.bm25_saturation(recipe)),
            int(block.lengths.max(initial=0)),
            recipe.bm25_k1,
            recipe.lm_dirichlet_mu,
            out,
        )


def _first_terms(tokens: Sequence[str]) -> Sequence[str]:
    """Return the tokens before the first one that is distinct term number MOST_TERMS + 1."""
    terms = list(dict.fromkeys(tokens))
    return tokens if len(terms) <= MOST_TERMS else tokens[: tokens.index(terms[MOST_TERMS])]
