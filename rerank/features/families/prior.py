"""The prior family: properties of a field that do not depend on the query.

tf, len, u, idf as in the LETOR family. A common term occurs in over a tenth of the documents with the field: common
terms are the stop words that the analyser did not remove.

References
----------
Bendersky, Croft & Diao, WSDM 2011; Zhou & Croft, CIKM 2005.

"""

from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.family import Feature, FieldFamily, Missing, register
from rerank.features.match import FieldBlock
from rerank.features.recipe import Recipe
from rerank.features.statistics import cached_by_field, field_idf, postings
from rerank.runtime.elementary import log
from rerank.runtime.kernels import kernel
from rerank.runtime.mapped_rows import read_in_order, read_only_view
from rerank.types.forward import FieldArrays

_BENDERSKY = "Bendersky, Croft & Diao, WSDM 2011, table 1"
COMMON_SHARE = 0.1  # of the documents that have the field
_MISSING = (Missing.EMPTY_FIELD,)


def _feature(name: str, meaning: str, formula: str, source: str, unit: str, high: float = inf) -> Feature:
    return Feature(name, meaning, formula, source, unit, 0.0, high, _MISSING)


@register("prior")
class PriorFeatures(FieldFamily):
    """Entropy, common terms, distinct terms, rarity."""

    evidence = "quality of the text"
    listed = (
        _feature(
            "entropy",
            "How evenly the field's tokens are spread over its terms.",
            "-sum over its terms of tf / len * ln(tf / len)",
            _BENDERSKY,
            "nats",
        ),
        _feature(
            "stop_share",
            "Share of the field's tokens that are common terms.",
            "sum of tf over its common terms, / len",
            _BENDERSKY + ", fracStops",
            "share",
            1.0,
        ),
        _feature("unique_terms", "Number of distinct terms of the field.", "u", "Pyserini 0.22", "terms"),
        _feature("unique_share", "How rarely terms are repeated in the field.", "u / len", _BENDERSKY, "share", 1.0),
        _feature(
            "mean_idf",
            "How rare the field's terms are.",
            "mean over its tokens of idf",
            "Zhou & Croft, CIKM 2005, document quality",
            "nats",
        ),
    )

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 5)."""
        out[:] = _priors(block.field)[block.candidates.docs]


@cached_by_field
def _priors(field: FieldArrays) -> NDArray[np.float32]:
    """Return the columns of every document, (n_docs, 5)."""
    table = np.empty((len(field.lengths), len(PriorFeatures.listed)), dtype=np.float32)
    arrays = postings(field)
    lengths = read_only_view(field.lengths)
    doc_freq = read_only_view(field.doc_freq)
    with read_in_order(*arrays):
        _fill(arrays, lengths, field_idf(field), doc_freq, COMMON_SHARE * field.n_docs_with, table)
    return table


@kernel()
def _fill(postings, lengths, idf, doc_freq, common, out):
    """Fill the columns of every document; the entropy is ln(len) - (sum of tf * ln(tf)) / len."""
    doc_ptr, terms, freqs = postings
    for doc in range(len(lengths)):
        if lengths[doc] == 0:
            out[doc] = np.nan
            continue
        product = 0.0
        stops = 0
        rarity = 0.0
        for posting in range(doc_ptr[doc], doc_ptr[doc + 1]):
            count = freqs[posting]
            term = terms[posting]
            if count > 1:
                product += count * log(np.float64(count))
            stops += count if doc_freq[term] > common else 0
            rarity += count * idf[term]
        length = np.float64(lengths[doc])
        unique = doc_ptr[doc + 1] - doc_ptr[doc]
        out[doc, 0] = max(log(length) - product / length, 0.0)
        out[doc, 1] = stops / length
        out[doc, 2] = unique
        out[doc, 3] = unique / length
        out[doc, 4] = rarity / length
