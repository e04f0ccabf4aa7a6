"""The passages family: how well the passages of a field fit the query. It needs an index with positions.

passage  window of WINDOW words, a new one every STRIDE words: the recipe's `passages`, 200/100 by default. Passage j
         holds the positions from j * STRIDE to before j * STRIDE + WINDOW. A removed stop word counts as a word
n        number of passages of a field of s words: 0 for an empty field, whose scores are 0; 1 where s is at most
         WINDOW; otherwise 1 + ceil((s - WINDOW) / STRIDE), the last of which ends with the field
score    BM25 of a passage: sum over t in T of qtf * idf * tf / (tf + k1 * (1 - b + b * pl / avgdl)), with the passage's
         tf, idf and avgdl of the whole field, and pl = min(dl, WINDOW): Lucene's length of the field, up to a window
T, qtf, idf, dl, avgdl  as in the LETOR family

Where a field is one passage, passage_max, passage_mean3, passage_mean and passage_first are the feature bm25.

A document of one passage takes time by the number of query terms. One of several takes time also by the number of its
passages and, for each position of a query term, by the number of passages that hold the position.

References
----------
Callan, SIGIR 1994; Dai & Callan, SIGIR 2019; Zhang, Yates & Lin, ECIR 2021.

"""

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, FieldFamily, Missing, register
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.statistics import cached_by_field
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import prefetch
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.types import FieldArrays, Ints, Passages

BEST = 3  # number of best passages whose mean score is a feature
N_COLUMNS = 9
COUNT, MAX, MEAN_OF_BEST, MEAN, FIRST, HITS, SHARE, COVERED, PLACE = range(N_COLUMNS)
_CALLAN = "Callan, SIGIR 1994"
_DAI = "Dai & Callan, SIGIR 2019"
_ZHANG = "Zhang, Yates & Lin, ECIR 2021"


def fill_passages(block: FieldBlock, recipe: Recipe, passages: Passages, out: NDArray[np.float32]) -> Ints:
    """Fill `out` (n_rows, 9), and return the number of each row's best passage, (n_rows,) int64; 0 without a match."""
    batch = block.candidates
    field = block.field
    best = np.zeros(batch.n_rows, dtype=np.int64)
    _fill(
        (batch.query_ptr, batch.docs, batch.term_ptr, batch.query_freq),
        (block.candidates.tf_ptr, *block.matches, block.idf),
        (read_only_view(field.position_ptr), read_only_view(field.positions)),
        field_spans(field),
        block.bm25_saturation(recipe, passages.window),
        (passages.window, passages.stride),
        out,
        best,
    )
    return best


@cached_by_field
def field_spans(field: FieldArrays) -> NDArray[np.int32]:
    """Return each document's number of words up to the last indexed one, (n_docs,) int32; 0 for an empty field."""
    spans = np.zeros(len(field.lengths), dtype=np.int32)
    if field.positions is not None:
        filled = np.flatnonzero(np.diff(field.position_ptr))
        with read_in_order(field.positions):
            spans[filled] = np.maximum.reduceat(field.positions, field.position_ptr[filled]) + 1
    return spans


@kernel()
def _fill(queries, matches, field_positions, spans, saturation, sizes, out, best):
    """Fill all columns of `out` (n_rows, 9) float32, and the number of the best passage, `best` (n_rows,).

    queries     query_ptr, docs, term_ptr, query_freq as in CandidateBatch
    matches     tf_ptr, tf, first_tokens, idf as in FieldBlock
    field_positions  position_ptr and positions of the field
    spans       (n_docs,) of `field_spans`
    saturation  (n_rows,) k1 * (1 - b + b * pl / avgdl) of the row's passages
    sizes       window and stride
    """
    query_ptr, docs, term_ptr, query_freq = queries
    tf_ptr, tf, first_tokens, idf = matches
    position_ptr, positions = field_positions
    window, stride = sizes
    scores = np.zeros(1)
    counts = np.zeros((2, 1), np.int64)
    top = np.zeros(BEST + 1)
    for query in range(len(query_ptr) - 1):
        first_term = term_ptr[query]
        n_terms = term_ptr[query + 1] - term_ptr[query]
        for row in range(query_ptr[query], query_ptr[query + 1]):
            span = np.int64(spans[docs[row]])
            start = tf_ptr[query] + (row - query_ptr[query]) * n_terms
            n_passages = 1 + (max(span - window, 0) + stride - 1) // stride if span > 0 else 0
            out[row] = np.nan
            out[row, COUNT] = n_passages
            if n_terms == 0:
                continue
            if row + 4 < query_ptr[query + 1]:
                prefetch(position_ptr, docs[row + 4])
                prefetch(spans, docs[row + 4])
            if row + 2 < query_ptr[query + 1] and spans[docs[row + 2]] > window:
                for match in range(start + 2 * n_terms, start + 3 * n_terms):
                    if tf[match] > 0:
                        prefetch(positions, position_ptr[docs[row + 2]] + first_tokens[match])
            if n_passages > len(scores):
                scores = np.zeros(2 * n_passages)
                counts = np.zeros((2, 2 * n_passages), np.int64)
            for number in range(n_terms):
                count = np.int64(tf[start + number])
                if count > 0:
                    weight = query_freq[first_term + number] * idf[first_term + number]
                    if n_passages == 1:
                        scores[0] += weight * count / (count + saturation[row])
                        counts[0, 0] += 1
                    else:
                        token = position_ptr[docs[row]] + first_tokens[start + number]
                        _add_term(
                            positions[token : token + count],
                            window,
                            stride,
                            n_passages,
                            weight,
                            saturation[row],
                            scores,
                            counts,
                        )
            total = 0.0
            top[:] = 0.0
            n_hits = 0
            most_held = 0
            out[row, FIRST] = scores[0]
            for passage in range(n_passages):
                score = scores[passage]
                n_held = counts[0, passage]
                scores[passage], counts[0, passage] = 0.0, 0
                total += score
                n_hits += n_held > 0
                most_held = max(most_held, n_held)
                if score > top[0]:
                    best[row] = passage
                place = BEST
                while place > 0 and score > top[place - 1]:
                    top[place] = top[place - 1]
                    place -= 1
                top[place] = score
            out[row, MAX], out[row, HITS], out[row, COVERED] = top[0], n_hits, most_held / n_terms
            out[row, MEAN_OF_BEST] = (top[0] + top[1] + top[2]) / max(min(n_passages, BEST), 1)  # BEST is 3
            out[row, MEAN] = total / max(n_passages, 1)
            if n_passages > 0:
                out[row, SHARE] = n_hits / n_passages
            if n_hits > 0:
                out[row, PLACE] = best[row] * stride / span


@helper()
def _add_term(positions, window, stride, n_passages, weight, saturation, scores, counts):
    """Add a term's score to the passages that hold the term, and 1 to their numbers of terms, `counts[0]`.

    positions  positions of the term in the document, ascending
    counts     (2, n_passages); counts[1] is 0 before and after
    """
    inverse = 1.0 / stride  # faster than a division of integers; with + 0.5 below, no rounding reaches another integer
    for turn in range(2):
        for token in range(len(positions)):
            position = np.int64(positions[token])
            first = np.int64((position - window + 0.5) * inverse) + 1 if position >= window else 0
            last = min(np.int64((position + 0.5) * inverse), n_passages - 1)
            for passage in range(first, last + 1):
                count = counts[1, passage]
                if turn == 0:
                    counts[1, passage] = count + 1
                elif count > 0:
                    scores[passage] += weight * count / (count + saturation)
                    counts[0, passage] += 1
                    counts[1, passage] = 0


def _feature(
    name: str,
    meaning: str,
    formula: str,
    source: str,
    unit: str = "score",
    missing: tuple[Missing, ...] = (Missing.NO_QUERY_TERMS,),
) -> Feature:
    return Feature(name, meaning, formula, source, unit, high=1.0 if unit == "share" else np.inf, missing=missing)


@register("passages")
class PassageFeatures(FieldFamily):
    """Scores of the best, the best three, the first and all passages; how many match, and where the best one is."""

    evidence = "passages"
    rising = ("passage_max", "passage_mean*", "passage_first", "passage_hits", "passage_share", "passage_covered")
    on_request = True
    needs_positions = True
    listed = (
        _feature("passages", "Number of passages.", "n", _CALLAN, "passages", ()),
        _feature("passage_max", "Score of the best passage.", "max of the scores", f"{_DAI}, MaxP"),
        _feature(
            "passage_mean3",
            "Mean score of the best three passages.",
            "sum of the 3 greatest scores / min(3, n)",
            f"{_ZHANG}, KMaxAvgP",
        ),
        _feature("passage_mean", "Mean score of all passages.", "sum of the scores / n", f"{_ZHANG}, AvgP"),
        _feature("passage_first", "Score of the first passage.", "score of passage 0", f"{_DAI}, FirstP"),
        _feature(
            "passage_hits",
            "Passages with a term of the query.",
            "passages with tf > 0 for a t in T",
            _CALLAN,
            "passages",
        ),
        _feature(
            "passage_share",
            "Share of the passages that hold a term of the query.",
            "passage_hits / n",
            _CALLAN,
            "share",
            (Missing.NO_QUERY_TERMS, Missing.EMPTY_FIELD),
        ),
        _feature(
            "passage_covered",
            "Greatest share of the query's terms in one passage.",
            "max over passages of the terms of T in it / |T|",
            _CALLAN,
            "share",
        ),
        _feature(
            "passage_place",
            "Where the best passage begins; the first one of several that are best.",
            "position of its first word / words of the field",
            f"{_DAI}, MaxP",
            "share",
            (Missing.NO_MATCH,),
        ),
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 9)."""
        fill_passages(block, recipe, Passages() if recipe.passages is None else Passages.parse(recipe.passages), out)
