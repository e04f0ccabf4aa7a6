"""Reranking in two stages: a cheap model chooses, among many candidates, those that the model reorders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.metrics.lists import ranks
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import fitted_model
from rerank.types import Floats, Ints, RankingData, Run, pointers, query_rows
from rerank.types.ids import Ids

DEPTH = 10_000
SomeRun = TypeVar("SomeRun", bound=Run)


@dataclass(frozen=True)
class FirstStage:
    """The model of the first stage.

    Parameters
    ----------
    model : Ranker
        The cheap model.
    k : int
        Number of candidates of each query that it scores.

    """

    model: Ranker
    k: int = DEPTH

    @classmethod
    def of(cls, model: Ranker | str | Path | None, k: int | None, second_k: int) -> Self | None:
        """Return the first stage of the arguments of `rerank`; None without a model.

        Raises InvalidInputError for a depth without a model, or one below `second_k`, that of the second stage.
        """
        if model is None:
            if k is not None:
                raise InvalidInputError("first_k: expected a model of the first stage, got none. Give it (first=).")
            return None
        depth = max(DEPTH, second_k) if k is None else k
        if depth < second_k:
            raise InvalidInputError(
                f"first_k: expected at least k, the {second_k} documents of the second stage, got {depth}. Raise it."
            )
        return cls(fitted_model(model), depth)

    def choose(self, candidates: SomeRun, data: RankingData, k: int, base: Run | None = None) -> tuple[SomeRun, Run]:
        """Return the k best candidates of each query by the model, and all candidates with the others behind these.

        The chosen ones keep their scores and order: the features of the second stage are those of the candidates'
        retriever, as in training. The others follow in the order of the model.
        """
        query, row, position = (
            query_rows(candidates.query_ptr),
            np.arange(candidates.n_rows),
            ranks(candidates.query_ptr),
        )
        scores = self._scores(candidates, data, self.model.predict(data, base=base))
        rank = np.empty(len(row), np.int64)
        rank[np.lexsort((row, -scores, query))] = position
        chosen = rank < k
        order = np.lexsort((np.where(chosen, row, len(row) + rank), query))
        kept = replace(
            candidates,
            query_ptr=pointers(np.minimum(np.diff(candidates.query_ptr), k)),
            doc_ids=candidates.doc_ids[chosen],
            scores=candidates.scores[chosen],
        )
        run = Run(candidates.query_ids, candidates.query_ptr, candidates.doc_ids[order], candidates.scores)
        return kept, run

    def _scores(self, candidates: Run, data: RankingData, predicted: Floats) -> Floats:
        """Return the score of each candidate from those of the rows of the data; -inf below the depth."""
        query = query_rows(candidates.query_ptr)
        rows, scores = np.arange(candidates.n_rows), np.full(candidates.n_rows, -np.inf)
        if data.n_rows < candidates.n_rows:
            rows = np.flatnonzero(ranks(candidates.query_ptr) < self.k)
        of_data = _by_document(data.doc_ids, query_rows(data.query_ptr))
        scores[rows[_by_document(candidates.doc_ids[rows], query[rows])]] = predicted[of_data]
        return scores


@contextmanager
def errors_of_first_stage() -> Iterator[None]:
    """Say of an error of the block that it is about the first stage."""
    try:
        yield
    except (InvalidInputError, ModelMismatchError) as error:
        raise type(error)(f"first stage: {error}") from error


def _by_document(doc_ids: Ids, query: Ints) -> Ints:
    """Return the rows by query and document id."""
    return np.lexsort((doc_ids, query))
