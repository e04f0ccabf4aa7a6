"""The proximity family: how near the query's terms are to each other. It needs an index with positions.

position   index of a token in the field, from 0; a removed stop word leaves a gap in a field, but none in a query
window w   holds two tokens whose positions differ by at most w - 1
adjacent   two successive tokens of the query; those of the same term are left out
pair       two distinct terms of the query, ordered by their first token in the query
tf, len, idf, p, df  as in the LETOR family; K = k1 * (1 - b + b * dl / avgdl), BM25's, with Lucene's length

Each occurrence counts: a term that is twice next to another makes two pairs. If a query has no terms, all features are
missing; a query of one term has no pairs, and counts of pairs are 0. This family uses a query up to the 1,024th of its
distinct terms, which is Lucene's default limit. An occurrence is paired with at most the 128 before it, a limit that is
reached only where an index has many terms at one position.

References
----------
Metzler & Croft, SIGIR 2005; Tao & Zhai, SIGIR 2007; Troy & Zhang, SIGIR 2007; Rasolofo & Savoy, ECIR 2003; Buettcher,
Clarke & Lushman, SIGIR 2006.

"""

from __future__ import annotations

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
from rerank.runtime.views import read_only_view

MOST_TERMS = 1024  # Lucene's default limit of clauses
_QUERY = (Missing.NO_QUERY_TERMS,)
_PYSERINI = "Pyserini 0.22's {}; Metzler & Croft, SIGIR 2005, section 2.3"


def _pair_features(stem: str, of: str, name: str, order: str) -> list[Feature]:
    return [
        Feature(
            name=f"{stem}_{window}",
            meaning=f"Number of times {of} occur{order} in a window of {window} tokens.",
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
        "Length of the shortest span with every query term that the field holds.",
        "least (last position - first position + 1) over such spans",
        "Tao & Zhai, SIGIR 2007, MinCover",
        "tokens",
        low=1.0,
        missing=(Missing.NO_MATCH,),
        cost=Cost.POSITIONS,
    ),
    Feature(
        "span_density",
        "Number of query terms in the field as a share of that span.",
        "covered / span",
        "Tao & Zhai, SIGIR 2007, normalised span",
        "share",
        high=inf,  # above 1 only where an analyser puts two terms at one position
        missing=(Missing.NO_MATCH,),
        cost=Cost.POSITIONS,
    ),
    Feature(
        "first_position",
        "Position of the first query term in the field.",
        "least position of a query term",
        "Troy & Zhang, SIGIR 2007, chronological term rank",
        "tokens",
        missing=(Missing.NO_MATCH,),
        cost=Cost.POSITIONS,
    ),
    Feature(
        "phrase",
        "Number of times the whole query occurs in the field as a phrase.",
        "number of positions at which all tokens of the query begin to follow each other without a gap",
        "Metzler & Croft, SIGIR 2005, #1 of the whole query",
        "occurrences",
        missing=_QUERY,
        cost=Cost.POSITIONS,
    ),
    Feature(
        "proximity",
        "BM25-like sum over pairs that are near to each other.",
        f"sum over pairs of min(idf) * (k1 + 1) * x / (x + K), x = sum over |a - b| <= {NEAR} of 1 / (a - b)^2",
        "Rasolofo & Savoy, ECIR 2003, eq. 4 to 6, with Lucene's idf",
        "nats",
        missing=_QUERY,
        cost=Cost.POSITIONS,
    ),
    Feature(
        "tp_score",
        "BM25-like sum over terms next to another query term.",
        "sum over t of min(1, idf) * (k1 + 1) * x / (x + K), x = sum over successive matches t, s, t != s, of "
        "idf(s) / distance^2",
        "Buettcher, Clarke & Lushman, SIGIR 2006, section 2",
        "score",
        missing=_QUERY,
        cost=Cost.POSITIONS,
    ),
    Feature(
        "tp_dist",
        "Nearness of the two nearest distinct query terms.",
        f"ln({TAO_ALPHA} + exp(-least distance of two distinct query terms))",
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
        "(len + mu)); the collection probability of a pair is that of independent terms",
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

    evidence = "proximity"
    rising = ("ordered_*", "unordered_*", "span_density", "phrase", "proximity", "tp_score", "sdm")
    falling = ("span", "first_position")
    needs_positions = True
    independent_rows = True
    limit = f"uses a query up to its {MOST_TERMS:,}th distinct term"
    listed = _FEATURES

    def fill(self, block: FieldBlock, recipe: Recipe, out: NDArray[np.float32]) -> None:
        """Fill `out` (n_rows, 20)."""
        field = block.field
        if field.positions is None:
            raise ValueError(f"{field.name} is indexed without positions")
        batch = block.candidates.first_terms(MOST_TERMS)
        if batch is not block.candidates:
            block = match(batch, field)
        fill_proximity(
            (batch.query_ptr, batch.docs, batch.term_ptr, batch.token_ptr, batch.tokens),
            (block.tf_ptr, *block.matches, block.idf, block.collection_freq / max(field.n_tokens, 1)),
            (read_only_view(field.position_ptr), read_only_view(field.positions)),
            block.lengths,
            block.bm25_saturation(recipe),
            recipe.bm25_k1,
            recipe.lm_dirichlet_mu,
            out,
        )
