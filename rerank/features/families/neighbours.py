"""The neighbours family: mean scores of the documents that are most similar to a document (score regularisation).

Similar documents are relevant to the same queries: a word of the query that a document lacks may occur in the documents
that are nearest to it.

v(d)   vector of a field: idf * v * tf / (tf + k1 * (1 - b + b * dl / avgdl)) of each term, v as in `bm25_bursty`,
       divided by its norm; without terms that more than 100 documents, and more than a tenth of all, hold
first  the query's 100 best documents by `bm25_bursty` of the field; ties are in the order of the run
N(d)   the 5 documents of `first`, other than d, whose v has the greatest cosine with v(d); of ties, the better ranked

References
----------
Jardine & van Rijsbergen, Information Storage and Retrieval 1971 (cluster hypothesis); Diaz, CIKM 2005 (regularised
scores).

"""

import numpy as np
from numpy.typing import NDArray

from rerank.features.columns import columns_of
from rerank.features.families.feedback import MAX_DOC_SHARE, FeedbackFeatures
from rerank.features.families.letor import LetorFeatures
from rerank.features.family import Feature, FieldFamily, Missing, register
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.statistics import burstiness, field_idf, kept_by_size, postings
from rerank.runtime.kernels import helper, kernel
from rerank.types import FieldArrays, Floats

N_FIRST = 100  # best documents of a score, among which the nearest are looked for
N_NEAREST = 5  # of them, by which a document is scored
FEW_DOCUMENTS = 100  # terms of more documents, and of a larger share than MAX_DOC_SHARE, are slow and say little
_SCORES = {
    "bm25": ("letor", LetorFeatures, "bm25_bursty", ()),
    "rm3": ("feedback", FeedbackFeatures, "rm3_10", (Missing.NO_FEEDBACK,)),
}
_ORDER = 0  # column of scores that orders the documents


@register("neighbours")
class NeighboursFeatures(FieldFamily):
    """Means of the scores of the nearest among the query's first documents."""

    evidence = "match of similar documents"
    of_whole = True
    rising = ("*",)
    listed = tuple(
        Feature(
            name=f"{stem}_neighbours",
            meaning=f"Mean {score} of the {N_NEAREST} first documents that are most like this one; 0 where none is.",
            formula=f"sum over N(d) of cosine * {score} / sum over N(d) of cosine",
            source="regularised scores of Diaz, CIKM 2005, over nearest neighbours",
            unit=next(feature.unit for feature in of_family.listed if feature.name == score),
            missing=(Missing.NO_QUERY_TERMS, *missing, Missing.EMPTY_FIELD),
        )
        for stem, (_, of_family, score, missing) in _SCORES.items()
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 2)."""
        batch = block.candidates
        scores = [
            columns_of(name, block, recipe)[:, [feature.name for feature in of_family.listed].index(score)]
            for name, of_family, score, _ in _SCORES.values()
        ]
        _fill(
            batch.query_ptr,
            batch.docs,
            postings(block.field),
            _weights(block.field),
            block.bm25_saturation(recipe),
            np.stack(scores, axis=1),
            out,
        )


@kept_by_size
def _weights(field: FieldArrays) -> Floats:
    """Return idf * burstiness of every term, (n_terms,) float64; 0 for terms that are left out of vectors."""
    most = max(MAX_DOC_SHARE * field.n_docs_with, FEW_DOCUMENTS)
    weights = field_idf(field) * burstiness(field.doc_freq, field.collection_freq, field.n_docs_with)
    return np.where(np.asarray(field.doc_freq) <= most, weights, 0.0)


@kernel()
def _fill(query_ptr, docs, postings, weights, saturation, scores, out):
    """Fill `out` (n_rows, n_scores) float32.

    docs        (n_rows,) document numbers
    postings    doc_ptr, terms, freqs of the field
    weights     (n_terms,) of `_weights`
    saturation  (n_rows,) BM25's k1 * (1 - b + b * dl / avgdl)
    scores      (n_rows, n_scores) float32, NaN where missing
    """
    doc_ptr, doc_terms, freqs = postings
    slots = np.full(len(weights), -1, np.int32)
    for query in range(len(query_ptr) - 1):
        first = query_ptr[query]
        last = query_ptr[query + 1]
        rows = first + _best(scores[first:last, _ORDER], N_FIRST, -np.inf)
        slot_terms, begins, numbers, values = _by_term(rows, docs, postings, weights, saturation, slots)
        place = np.full(last - first, -1, np.int64)
        for number in range(len(rows)):
            place[rows[number] - first] = number
        products = np.empty(len(rows))
        for row in range(first, last):
            products[:] = 0.0
            doc = docs[row]
            for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
                slot = slots[doc_terms[posting]]
                if slot >= 0:
                    weight = _saturated(weights[doc_terms[posting]], freqs[posting], saturation[row])
                    for index in range(begins[slot], begins[slot + 1]):
                        products[numbers[index]] += weight * values[index]
            if place[row - first] >= 0:
                products[place[row - first]] = 0.0
            _mean_of_nearest(products, rows, row, scores, out)
            if len(rows) == 0 or doc_ptr[doc] == doc_ptr[doc + 1]:
                out[row] = np.nan
        for slot in range(len(slot_terms)):
            slots[slot_terms[slot]] = -1


@helper()
def _best(values, most, least):
    """Return the numbers of the greatest values above `least`, in descending order; ties ascend by number."""
    best = np.empty(most, np.int64)
    n_best = 0
    for number in range(len(values)):
        value = values[number]
        if not value > least or (n_best == most and value <= values[best[most - 1]]):  # NaN is not above
            continue
        index = min(n_best, most - 1)
        while index > 0 and values[best[index - 1]] < value:
            best[index] = best[index - 1]
            index -= 1
        best[index] = number
        n_best = min(n_best + 1, most)
    return best[:n_best]


@helper()
def _by_term(rows, docs, postings, weights, saturation, slots):
    """Return the vectors of the first documents term by term, and give each of their terms a slot in `slots`.

    Returns the term of each slot, where the entries of the slot begin, and the document's number in `rows` and weight
    of each entry.
    """
    doc_ptr, doc_terms, freqs = postings
    n_postings = 0
    for row in rows:
        n_postings += doc_ptr[docs[row] + 1] - doc_ptr[docs[row]]
    slot_terms = np.empty(n_postings, np.int64)
    begins = np.zeros(n_postings + 2, np.int64)
    of_postings = np.empty((3, n_postings))  # slot, number of the document and weight, document by document
    n_slots = 0
    n_kept = 0
    for number in range(len(rows)):
        row = rows[number]
        first = n_kept
        squares = 0.0
        for posting in range(doc_ptr[docs[row]], doc_ptr[docs[row] + 1]):
            term = doc_terms[posting]
            if weights[term] == 0.0:
                continue
            if slots[term] < 0:
                slots[term], slot_terms[n_slots] = n_slots, term
                n_slots += 1
            weight = _saturated(weights[term], freqs[posting], saturation[row])
            of_postings[0, n_kept], of_postings[1, n_kept], of_postings[2, n_kept] = slots[term], number, weight
            begins[slots[term] + 2] += 1
            squares += weight * weight
            n_kept += 1
        of_postings[2, first:n_kept] /= np.sqrt(squares)
    for slot in range(n_slots):
        begins[slot + 2] += begins[slot + 1]
    numbers = np.empty(n_kept, np.uint8)  # small types, so that all entries stay in the processor's nearest cache
    values = np.empty(n_kept, np.float32)
    for kept in range(n_kept):
        end = np.int64(of_postings[0, kept]) + 1
        index = begins[end]
        numbers[index], values[index] = np.uint8(of_postings[1, kept]), of_postings[2, kept]
        begins[end] = index + 1
    return slot_terms[:n_slots], begins[: n_slots + 1], numbers, values


@helper()
def _saturated(weight, freq, saturation):
    """Return a term's weight in a document."""
    return weight * np.float64(freq) / (np.float64(freq) + saturation)


@helper()
def _mean_of_nearest(products, rows, row, scores, out):
    """Fill a row of `out` with the mean scores of the first documents that have the greatest products."""
    nearest = _best(products, N_NEAREST, 0.0)
    for score in range(scores.shape[1]):
        total = 0.0 * scores[row, score]  # 0, or NaN: a score is missing for all documents of a query or none
        weight = 0.0
        for number in nearest:
            total += products[number] * scores[rows[number], score]
            weight += products[number]
        out[row, score] = total / weight if weight > 0.0 else total
