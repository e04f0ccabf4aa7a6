"""The proximity family: how near to each other the query's terms stand. It needs an index with positions.

position   place of a token in the field, from 0, as indexed: a dropped stop word leaves a gap, but none in a query
window w   holds two tokens whose positions differ by w - 1 at most
adjacent   two tokens of the query, one behind the other; two of the same term are passed over
pair       two distinct terms of the query, the one that the query has first standing first
tf, len, idf, p, df  as in the LETOR family; K = k1 * (1 - b + b * dl / avgdl), BM25's, with Lucene's length

Each occurrence counts: a term that stands twice beside another makes two pairs. A query without terms leaves
everything missing; a query of one term has no pairs, and counts of pairs are 0. A query is read up to the 1,024th of
its distinct terms, which is as many as Lucene takes by default; the tokens behind are left out of this family. An
occurrence is paired with the 128 before it at most, which only an index with many terms at one position reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from rerank.features.base import Cost, Feature, FieldFamily, Missing
from rerank.features.match import FieldBlock, match
from rerank.features.positions import (
    NEAR,
    ORDERED_WEIGHT,
    SDM_WINDOW,
    TAO_ALPHA,
    TERM_WEIGHT,
    UNORDERED_WEIGHT,
    WINDOWS,
    fill_proximity,
)
from rerank.features.recipe import Recipe
from rerank.features.registry import register
from rerank.features.statistics import frozen

MOST_TERMS = 1024  # Lucene's default limit of clauses
_QUERY = (Missing.NO_QUERY_TERMS,)
_PYSERINI = "Pyserini 0.22's {}; Metzler & Croft, SIGIR 2005, section 2.3"


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


@register("proximity")
class ProximityFeatures(FieldFamily):
    """Pairs in windows, spans, phrases, proximity scores, the sequential dependence model."""

    needs_positions = True
    limit = f"reads a query up to its {MOST_TERMS:,}th distinct term"

    def features(self, recipe: Recipe) -> Sequence[Feature]:
        """Return the features in the order of their columns."""
        return _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 20)."""
        field = block.field
        if field.positions is None:
            raise ValueError(f"{field.name} is indexed without positions")
        batch = block.candidates.first_terms(MOST_TERMS)
        if batch is not block.candidates:
            block = match(batch, field)
        postings = (field.doc_ptr, field.terms, field.freqs, field.position_ptr, field.positions)
        fill_proximity(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.terms, batch.token_ptr, batch.tokens),
            (block.tf_ptr, block.tf, block.idf, block.collection_freq / max(field.n_tokens, 1)),
            tuple(frozen(array) for array in postings),
            block.lengths,
            block.bm25_saturation(recipe),
            recipe.bm25_k1,
            recipe.lm_dirichlet_mu,
            out,
        )
