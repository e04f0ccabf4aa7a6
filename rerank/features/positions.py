"""Kernels of the proximity family: one pass over the merged positions of a query's terms, document by document.

merged, owners  positions of all query terms in one ascending order, and the term of each; at an equal position by term
present         terms that the document holds, ascending
said            tokens of the query: the term of each

A row costs n * (14 + ln(k)) + k^2 for n occurrences of k query terms: each occurrence meets those of the 14 positions
before it, LOOK_BACK of them at most. Memory is 24 bytes for each pair of query terms.
"""

from __future__ import annotations

import numpy as np

from rerank.runtime.kernels import helper, kernel

WINDOWS = (3, 8, 15)
NEAR = 5  # Rasolofo and Savoy's longest distance
TERM_WEIGHT, ORDERED_WEIGHT, UNORDERED_WEIGHT, SDM_WINDOW = 0.85, 0.1, 0.05, 8
TAO_ALPHA = 0.3
LOOK_BACK = 128  # occurrences; only an index with many terms at one position has more of them in a window
PHRASE_STEPS = 1 << 25  # comparisons of one phrase count, where the index has several query terms at one position
SPAN, SPAN_DENSITY, FIRST, PHRASE, PROXIMITY, TP_SCORE, TP_DIST, SDM = range(12, 20)
_FEW_STEPS = 1024  # occurrences of the first token times tokens, up to which each is looked up by itself
_FEW = 8  # terms, up to which positions are merged by comparing the next one of each
_IN_CACHE = 64  # terms whose table of pairs fits into the first cache of a processor, about


@kernel()
def fill_proximity(queries, matches, postings, lengths, saturation, k1, mu, out):  # type: ignore[no-untyped-def]
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
        n_terms, n_rows = len(wanted), query_ptr[query + 1] - query_ptr[query]
        said = tokens[token_ptr[query] : token_ptr[query + 1]]
        if n_terms == 0:
            out[query_ptr[query] : query_ptr[query + 1]] = np.nan
            continue
        counts = tf[tf_ptr[query] : tf_ptr[query + 1]].reshape(n_rows, n_terms)
        most = _most_matches(counts)
        merged, owners = np.empty(most, np.int32), np.empty(most, np.int32)
        keys = np.empty((2, most if n_terms > _FEW else 0), np.int64)
        starts, taken, held = np.empty(n_terms, np.int64), np.empty(n_terms, np.int64), np.empty(n_terms, np.int64)
        n_said, first_said, pairs = _read_query(said, n_terms)
        (follower_ptr, followers), borders = _followers(said, pairs), _borders(said)
        tallies, constants = np.zeros((3, 4), np.int64), _chances(n_said, pairs, follower_ptr, followers, p, mu)
        sums, near = np.zeros(n_terms), np.zeros((n_terms, n_terms))
        for number in range(n_rows):
            row = query_ptr[query] + number
            here, columns, weigh = counts[number], out[row], (k1, saturation[row])
            n_held = _locate(docs[row], wanted, here, postings, starts, held)
            present = held[:n_held]
            log_length, n_pairs = np.log(lengths[row] + mu), 0
            if n_held < min(n_terms, 2):
                _fill_alone(postings[4], starts, present, columns)
            else:
                if n_held > _FEW:
                    n_merged = _merge_runs(postings[4], starts, here, present, keys, merged, owners)
                else:
                    n_merged = _merge(postings[4], starts, here, present, taken, merged, owners)
                n_pairs = _count_pairs(merged, owners, n_merged, first_said, pairs, near, tallies, columns)
                columns[PROXIMITY] = _weigh_pairs(present, near, idf, weigh) if n_pairs > 0 else 0.0
                _fill_stretch(merged, owners, n_merged, n_held, taken, columns)
                _fill_neighbours(merged, owners, n_merged, present, sums, idf, weigh, columns)
                columns[PHRASE] = 0.0
                if n_held == n_terms and here[said[0]] * len(said) <= _FEW_STEPS:
                    columns[PHRASE] = _count_phrases(postings[4], starts, here, said)
                elif n_held == n_terms:
                    columns[PHRASE] = _count_phrases_in_one_pass(merged, owners, n_merged, said, borders)
            columns[SDM] = _dependence(
                here, present, n_said, pairs, follower_ptr, followers, n_pairs, p, mu, constants, log_length
            )


@helper()
def _fill_alone(positions, starts, present, columns):  # type: ignore[no-untyped-def]
    """Fill all columns but the last of a document that holds one of several terms, or none: there are no pairs."""
    columns[0:SDM] = 0.0
    columns[SPAN], columns[SPAN_DENSITY], columns[FIRST], columns[TP_DIST] = np.nan, np.nan, np.nan, np.nan
    if len(present) > 0:
        columns[SPAN], columns[SPAN_DENSITY], columns[FIRST] = 1.0, 1.0, positions[starts[present[0]]]


@helper()
def _most_matches(counts):  # type: ignore[no-untyped-def]
    """Return the greatest number of occurrences that a row has."""
    most = 0
    for row in range(counts.shape[0]):
        total = 0
        for term in range(counts.shape[1]):
            total += counts[row, term]
        most = max(most, total)
    return most


@helper()
def _read_query(said, n_terms):  # type: ignore[no-untyped-def]
    """Return how often each term is said, where first, and how often one right before another, or beside it.

    pairs  (n_terms, n_terms, 4): tokens a that b follows; these and tokens b that a follows; two counts of each
           document, see `_count_pairs`
    """
    n_said, first_said = np.zeros(n_terms, np.int64), np.zeros(n_terms, np.int64)
    pairs = np.zeros((n_terms, n_terms, 4), np.int32)
    for place in range(len(said) - 1, -1, -1):
        b = said[place]
        n_said[b] += 1
        first_said[b] = place
        if place > 0 and said[place - 1] != b:
            a = said[place - 1]
            pairs[a, b, 0] += 1
            pairs[a, b, 1] += 1
            pairs[b, a, 1] += 1
    return n_said, first_said, pairs


@helper()
def _followers(said, pairs):  # type: ignore[no-untyped-def]
    """Return, for each term, the distinct terms that follow it in the query, ascending: pointers and terms."""
    n_terms = pairs.shape[0]
    pointers, terms, n_found = np.zeros(n_terms + 1, np.int64), np.empty(len(said), np.int64), 0
    for a in range(n_terms):
        for b in range(n_terms):
            if pairs[a, b, 0] > 0:
                terms[n_found] = b
                n_found += 1
        pointers[a + 1] = n_found
    return pointers, terms


@helper()
def _borders(said):  # type: ignore[no-untyped-def]
    """Return, for each prefix of the query, the length of its longest border (Knuth, Morris & Pratt 1977)."""
    borders, length = np.zeros(len(said), np.int64), 0
    for place in range(1, len(said)):
        while length > 0 and said[length] != said[place]:
            length = borders[length - 1]
        length += said[length] == said[place]
        borders[place] = length
    return borders


@helper()
def _chances(n_said, pairs, follower_ptr, followers, p, mu):  # type: ignore[no-untyped-def]
    """Return the sequential dependence model of a field without a match, but for its length; weight of ln(len)."""
    total, weight = 0.0, 0.0
    for a in range(len(p)):
        if p[a] > 0.0:
            total += TERM_WEIGHT * n_said[a] * np.log(mu * p[a])
            weight += TERM_WEIGHT * n_said[a]
        for place in range(follower_ptr[a], follower_ptr[a + 1]):
            b = followers[place]
            if p[a] > 0.0 and p[b] > 0.0:
                chance, times = mu * p[a] * p[b], pairs[a, b, 0]
                total += times * ORDERED_WEIGHT * np.log(chance)
                total += times * UNORDERED_WEIGHT * np.log(2 * (SDM_WINDOW - 1) * chance)
                weight += times * (ORDERED_WEIGHT + UNORDERED_WEIGHT)
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
def _merge(positions, starts, counts, present, taken, merged, owners):  # type: ignore[no-untyped-def]
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
        merged[n_merged], owners[n_merged] = least, best
        taken[best] += 1
        n_merged += 1


@helper()
def _merge_runs(positions, starts, counts, present, keys, merged, owners):  # type: ignore[no-untyped-def]
    """Do what `_merge` does, for many terms: neighbouring lists are merged two by two until one is left.

    keys  (2, n) space for position and term in one number
    """
    ends, n_runs, n_merged = np.zeros(len(present) + 1, np.int64), len(present), 0
    source, target = keys[0], keys[1]
    for number in range(n_runs):
        term = present[number]
        for place in range(starts[term], starts[term] + counts[term]):
            source[n_merged] = np.int64(positions[place]) << 32 | term
            n_merged += 1
        ends[number + 1] = n_merged
    while n_runs > 1:
        for run in range(0, n_runs, 2):
            low, middle = ends[run], ends[run + 1]
            end = ends[min(run + 2, n_runs)]
            left, right = low, middle
            for place in range(low, end):
                if right == end or (left < middle and source[left] < source[right]):
                    target[place] = source[left]
                    left += 1
                else:
                    target[place] = source[right]
                    right += 1
            ends[(run >> 1) + 1] = end
        n_runs = (n_runs + 1) >> 1
        source, target = target, source
    for place in range(n_merged):
        merged[place], owners[place] = source[place] >> 32, source[place] & 0xFFFFFFFF
    return n_merged


@helper()
def _count_pairs(merged, owners, n_merged, first_said, pairs, near, tallies, columns):  # type: ignore[no-untyped-def]
    """Fill the counts of pairs, all in one pass over the windows; return the number in the widest.

    near     (n_terms, n_terms): sum of 1 / distance^2, a before b, is added
    pairs    (n_terms, n_terms, 4): where b follows a in the query or a follows b, how often a stands right before b,
             and before b in the window of the dependence model, are added at 2 and 3
    tallies  (3, 4) space for the counts of a row, all 0 before and after
    """
    n_pairs = 0
    add_always = len(first_said) <= _IN_CACHE  # to add 0 where two terms are not adjacent costs less than a branch
    for high in range(1, n_merged):
        b = owners[high]
        for low in range(high - 1, max(high - LOOK_BACK, 0) - 1, -1):
            a, distance = owners[low], merged[high] - merged[low]
            if distance >= WINDOWS[2]:
                break
            if a == b or distance == 0:
                continue
            window = np.int64(distance >= WINDOWS[0]) + np.int64(distance >= WINDOWS[1])
            either = pairs[a, b, 1]
            tallies[window, 0] += pairs[a, b, 0]
            tallies[window, 1] += either
            tallies[window, 2] += first_said[a] < first_said[b]
            n_pairs += 1
            tallies[window, 3] += 1
            if distance < SDM_WINDOW and (add_always or either > 0):
                pairs[a, b, 2] += (distance == 1) & (either > 0)
                pairs[a, b, 3] += either > 0
            if distance <= NEAR:
                near[a, b] += 1.0 / (distance * distance)
    columns[0:12] = 0.0
    if n_pairs > 0:
        for kind in range(4):
            total = 0
            for width in range(3):
                total += tallies[width, kind]
                columns[3 * kind + width] = total
                tallies[width, kind] = 0
    return n_pairs


@helper()
def _dependence(  # type: ignore[no-untyped-def]
    counts, present, n_said, pairs, follower_ptr, followers, n_pairs, p, mu, constants, log_length
):
    """Return the sequential dependence model: ln(x + c) is ln(c) + ln(1 + x / c), and the last 0 where nothing is.

    What was counted of adjacent terms is put back to 0.
    """
    total, weight = constants
    if weight == 0.0:
        return np.nan
    n_both = 0
    for a in present:
        total += TERM_WEIGHT * n_said[a] * np.log1p(counts[a] / (mu * p[a]))
        for place in range(follower_ptr[a], follower_ptr[a + 1] if n_pairs > 0 else 0):
            b = followers[place]
            both = pairs[a, b, 3] + pairs[b, a, 3]
            if both > 0:
                n_both += both
                chance, times = mu * p[a] * p[b], pairs[a, b, 0]
                total += times * ORDERED_WEIGHT * np.log1p(pairs[a, b, 2] / chance)
                total += times * UNORDERED_WEIGHT * np.log1p(both / (2 * (SDM_WINDOW - 1) * chance))
    if n_both > 0:
        for a in present:
            for place in range(follower_ptr[a], follower_ptr[a + 1]):
                b = followers[place]
                pairs[a, b, 2], pairs[a, b, 3], pairs[b, a, 2], pairs[b, a, 3] = 0, 0, 0, 0
    return total - weight * log_length


@helper()
def _weigh_pairs(present, near, idf, weigh):  # type: ignore[no-untyped-def]
    """Return Rasolofo and Savoy's score; put what was counted of near pairs back to 0."""
    score, (k1, half) = 0.0, weigh
    for number in range(len(present)):
        a = present[number]
        for other in range(number):
            b = present[other]
            both = near[a, b] + near[b, a]
            if both > 0.0:
                score += min(idf[a], idf[b]) * (k1 + 1.0) * both / (both + half)
                near[a, b], near[b, a] = 0.0, 0.0
    return score


@helper()
def _fill_stretch(merged, owners, n_merged, covered, inside, columns):  # type: ignore[no-untyped-def]
    """Fill the shortest stretch with all matched terms, its density, and the first position."""
    columns[SPAN], columns[SPAN_DENSITY], columns[FIRST] = np.nan, np.nan, np.nan
    if n_merged == 0:
        return
    inside[:] = 0
    held, low, span = 0, 0, np.inf
    for high in range(n_merged):
        held += inside[owners[high]] == 0
        inside[owners[high]] += 1
        while held == covered:
            span = min(span, merged[high] - merged[low] + 1)
            inside[owners[low]] -= 1
            held -= inside[owners[low]] == 0
            low += 1
    columns[SPAN], columns[SPAN_DENSITY], columns[FIRST] = span, covered / span, merged[0]


@helper()
def _fill_neighbours(merged, owners, n_merged, present, sums, idf, weigh, columns):  # type: ignore[no-untyped-def]
    """Fill Buettcher, Clarke and Lushman's score, and Tao and Zhai's least distance."""
    least = np.inf
    for place in range(1, n_merged):
        a, b = owners[place - 1], owners[place]
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
    columns[TP_SCORE] = score
    columns[TP_DIST] = np.log(TAO_ALPHA + np.exp(-least)) if least < np.inf else np.nan


@helper()
def _count_phrases(positions, starts, counts, said):  # type: ignore[no-untyped-def]
    """Return how often all tokens of a query, whose terms the field all holds, follow each other."""
    n_phrases = 0
    for number in range(counts[said[0]]):
        wanted, place = positions[starts[said[0]] + number], 1
        while place < len(said):
            end = starts[said[place]] + counts[said[place]]
            low = _find(positions, starts[said[place]], end, wanted + place)
            if low == end or positions[low] != wanted + place:
                break
            place += 1
        n_phrases += place == len(said)
    return n_phrases


@helper()
def _count_phrases_in_one_pass(merged, owners, n_merged, said, borders):  # type: ignore[no-untyped-def]
    """Return how often all tokens of a query, owners terms the field all holds, follow each other."""
    n_phrases, length = 0, 0
    for place in range(n_merged):
        gap = merged[place] - merged[place - 1] if place > 0 else 1
        if gap == 0:
            return _count_phrases_of_stacks(merged, owners, n_merged, said)
        if gap > 1:
            length = 0
        while length > 0 and said[length] != owners[place]:
            length = borders[length - 1]
        length += said[length] == owners[place]
        if length == len(said):
            n_phrases += 1
            length = borders[length - 1]
    return n_phrases


@helper()
def _count_phrases_of_stacks(merged, owners, n_merged, said):  # type: ignore[no-untyped-def]
    """Do what `_count_phrases` does where several terms stand at one position; what PHRASE_STEPS reach counts."""
    n_phrases, steps = 0, 0
    for first in range(n_merged):
        if owners[first] != said[0]:
            continue
        here, n_matched = first, 1
        while n_matched < len(said) and here < n_merged and steps < PHRASE_STEPS:
            steps += 1
            wanted = merged[first] + n_matched
            if merged[here] > wanted:
                break
            n_matched += merged[here] == wanted and owners[here] == said[n_matched]
            here += 1
        n_phrases += n_matched == len(said)
    return n_phrases
