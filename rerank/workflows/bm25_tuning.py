"""Search of BM25's k1 and b on judged queries."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.retrieval.candidates import DEPTH, Candidates
from rerank.runtime.progress import track
from rerank.types import Floats, Qrels, Topics
from rerank.types.retriever import BM25, K1, B
from rerank.workflows.index import Index

K1S, BS = (0.6, 0.9, 1.2, 1.6, 2.0, 3.0), (0.2, 0.4, 0.6, 0.75, 0.9)
SETTINGS = ((K1, B), *((k1, b) for k1, b in product(K1S, BS) if (k1, b) != (K1, B)))


@dataclass(frozen=True, eq=False)
class BM25Search:
    """The measure of BM25's run of each judged query with each k1 and b of a grid, whose first is the default.

    Shapes: values float64 (n_settings, n_queries).
    """

    sources: Candidates
    query_ids: tuple[str, ...]
    values: Floats

    @classmethod
    def of(cls, index: Index, topics: Topics, qrels: Qrels, sources: Candidates, measure: str) -> BM25Search:
        """Retrieve the judged topics with each setting."""
        if (sources.k1, sources.b) != (K1, B):
            raise InvalidInputError(
                f"candidates: expected sources without k1 and b, which are tuned, got k1={sources.k1:g} and "
                f"b={sources.b:g}. Leave them out, or do not tune."
            )
        values = []
        for k1, b in track(SETTINGS, "k1 and b"):
            run = index.retrieve(topics, Candidates.parse(BM25, DEPTH, k1=k1, b=b))
            result = evaluate(qrels, run, [measure], complete=True)
            values.append(result.values[measure])
        return cls(sources, tuple(result.query_ids), np.array(values))

    def best(self, query_ids: Collection[str]) -> Candidates:
        """Return the sources with the setting that is best on some queries; of equal ones the first."""
        chosen = np.isin(self.query_ids, list(query_ids))
        k1, b = SETTINGS[int(self.values[:, chosen].mean(axis=1).argmax())]
        return replace(self.sources, k1=k1, b=b)
