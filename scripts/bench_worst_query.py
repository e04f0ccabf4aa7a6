#!/usr/bin/env python3
"""Seconds of all features for one long query and one document of 5 MB, whose terms are all in the query.

The document (title, body, and both as contents) has 800,000 tokens in random order, drawn from as many words as the
query has distinct ones that the proximity family reads: it is the slowest that we know. Queries are four words
repeated, or distinct words. Each is extracted once before it is timed; the median of three is shown.

Run:  .venv/bin/python scripts/bench_worst_query.py [--quick] [--output FILE]
"""

from __future__ import annotations

import numpy as np
from bench_common import arguments, machine, report, seconds

from rerank.features.extract import extract
from rerank.features.families.proximity import MOST_TERMS
from rerank.features.recipe import Recipe
from rerank.features.registry import index_family_names
from rerank.types import Ints, Run, pointers
from rerank.types.forward import FieldArrays, ForwardIndex, document_slots

N_TOKENS = 800_000
QUERY_TOKENS = (4, 100, 1_000, 10_000)
FEW = 4


def one_document(tokens: Ints, n_terms: int) -> ForwardIndex:
    """Return the forward arrays of one document, given as term numbers below `n_terms`."""
    words = [word(number).encode() for number in range(n_terms)]
    parts = {"title": tokens[:8], "body": tokens[8:], "contents": tokens}
    doc_ids = np.array(["d"])
    return ForwardIndex(
        doc_ids=doc_ids,
        doc_slots=document_slots(doc_ids),
        vocabulary=np.frombuffer(b"".join(words), dtype=np.uint8),
        term_ptr=pointers([len(each) for each in words]),
        fields={name: _field(name, part, n_terms) for name, part in parts.items()},
    )


def _field(name: str, tokens: Ints, n_terms: int) -> FieldArrays:
    terms, freqs = np.unique(tokens, return_counts=True)
    occurrences = np.bincount(tokens, minlength=n_terms)
    return FieldArrays(
        name=name,
        doc_ptr=pointers([len(terms)]),
        terms=terms.astype(np.int32),
        freqs=freqs.astype(np.int32),
        positions=np.argsort(tokens, kind="stable").astype(np.int32),
        position_ptr=pointers([len(tokens)]),
        lengths=np.array([len(tokens)], dtype=np.int32),
        doc_freq=(occurrences > 0).astype(np.int32),
        collection_freq=occurrences.astype(np.int64),
        n_docs_with=1,
    )


def word(number: int) -> str:
    """Return the text of a term; terms ascend by number."""
    return f"t{number:06d}"


def main() -> None:
    """Time each length of query, repeated and distinct, and report."""
    options = arguments(__doc__)
    n_tokens = N_TOKENS // 10 if options.quick else N_TOKENS
    recipe, run, random = Recipe(families=index_family_names()), Run.of({"q": {"d": 1.0}}), np.random.default_rng(0)
    figures: dict[str, object] = {"machine": machine("numpy", "numba"), "tokens of the document": n_tokens}
    for length in QUERY_TOKENS:
        for kind, n_distinct in (("four words repeated", FEW), ("distinct words", length)):
            forward = one_document(random.integers(0, min(n_distinct, MOST_TERMS), n_tokens), n_distinct)
            query = {"q": [word(position % n_distinct) for position in range(length)]}
            extract(forward, query, run, recipe)
            times = seconds({"features": lambda f=forward, q=query: extract(f, q, run, recipe)}, 3)
            figures[f"query of {length:,} tokens, {kind}: all features, s"] = times["features"]
    report([], figures, options.output)


if __name__ == "__main__":
    main()
