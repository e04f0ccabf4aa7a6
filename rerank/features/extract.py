"""Feature extraction: checks its arguments, then computes the features in batches of queries."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, log
from rerank.features.column_plan import ColumnPlan, Planned, column_plan
from rerank.features.columns import columns_of
from rerank.features.match import CandidateBatch, gather_candidates, match
from rerank.features.normalise import normalise
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records, resolved
from rerank.runtime.progress import track
from rerank.runtime.threads import FEW_ROWS, in_threads, kernel_threads
from rerank.types import Floats, ForwardIndex, Ints, RankingData, Run, pointers, query_blocks, query_rows
from rerank.types.ids import warn_apart
from rerank.types.tie_order import scores_and_ranks
from rerank.vectors.query_vectors import query_vectors

_FEW_PAIRS = 1 << 8  # starting a thread takes longer than it saves
_PARTS_A_THREAD = 4
_LEAST_PART = 1 << 12  # rows; with fewer, calling the kernels takes longer than their work
_BATCH_ROWS = 1 << 16
# Rows of a part, for which the families of a field are computed one after the other: with more, postings and matches
# leave the processor's cache from family to family.
_MOST_PART = 1 << 14
_LONG_QUERY = 1 << 9  # a row counts as one more for each such number of query tokens, so that matches fit into memory


def extract(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None = None,
    *,
    records: Records | None = None,
    needed: Collection[str] | None = None,
    threads: int | None = None,
) -> RankingData:
    """Return the features of every query-document pair of a run; features outside of `needed` may be NaN."""
    data, extraction = _prepared(forward, query_terms, run, recipe, records, threads, needed)
    X = np.empty(data.X.shape, dtype=np.float32)
    for _ in extraction.blocks(X):
        pass
    return replace(data, X=X)


def extract_blocks(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None = None,
    *,
    records: Records | None = None,
    threads: int | None = None,
) -> tuple[RankingData, Iterator[NDArray[np.float32]]]:
    """Return the data of a run without features, and the features in blocks of a few queries.

    Parameters and errors are those of `extract`. Memory holds one block at a time.

    Shapes: blocks float32 (n_rows_of_block, n_features).
    """
    data, extraction = _prepared(forward, query_terms, run, recipe, records, threads)
    return data, extraction.blocks()


def _prepared(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None,
    records: Records | None,
    threads: int | None,
    needed: Collection[str] | None = None,
) -> tuple[RankingData, _Extraction]:
    """Return the data without features, and the extraction that computes the features."""
    records = records or Records()
    recipe = resolved(recipe or Recipe(), forward, records)
    run = run.take(run.trec_order())
    run.check_finite()
    tokens = [query_terms[query_id] for query_id in run]
    plan = column_plan(forward, recipe)
    if needed is not None:
        names = frozenset(needed)
        plan = replace(plan, groups=tuple(some for some in plan.groups if not names.isdisjoint(some.group.names)))
    extraction = _Extraction(
        forward=forward,
        recipe=recipe,
        records=records,
        plan=plan,
        run=run,
        tokens=tokens,
        docs=doc_numbers(forward, run),
        other_runs={name: scores_in(records.runs[name], run) for name in recipe.runs},
        threads=threads,
    )
    return rows_without_features(run, records.runs, plan.names, recipe.to_dict(), dict(forward.fingerprint)), extraction


@dataclass(frozen=True, eq=False)
class _Extraction:
    """The input of the features of a run, whose rows are in trec_eval's order.

    tokens      tokens of each query
    docs        (n_rows,) document numbers
    other_runs  (n_rows, 2) score and rank in other runs, by name
    """

    forward: ForwardIndex
    recipe: Recipe
    records: Records
    plan: ColumnPlan
    run: Run
    tokens: Sequence[Sequence[str]]
    docs: Ints
    other_runs: Mapping[str, Floats]
    threads: int | None

    def blocks(self, X: NDArray[np.float32] | None = None) -> Iterator[NDArray[np.float32]]:
        """Yield the features batch by batch: as rows of X (n_rows, n_features), or as new arrays where X is None."""
        query_ptr = self.run.query_ptr
        for first, last in track(list(query_blocks(query_ptr, _BATCH_ROWS)), "features"):
            rows = slice(*query_ptr[[first, last]].tolist())
            out = np.empty((rows.stop - rows.start, len(self.plan.names)), np.float32) if X is None else X[rows]
            self._fill(first, last, out)
            yield out

    def _fill(self, first: int, last: int, out: NDArray[np.float32]) -> None:
        """Fill `out` with the rows of the queries [first, last).

        A task of a thread is one field of a part of the queries. User code runs on the calling thread.
        """
        n_rows = len(out)
        query_ptr = self.run.query_ptr[first : last + 1]
        lengths = np.array([len(tokens) for tokens in self.tokens[first:last]], dtype=np.int64)
        work_ptr = pointers(np.diff(query_ptr) * (1 + lengths // _LONG_QUERY))
        if sum(len(planned.chosen) for planned in self.plan.groups) < out.shape[1]:  # columns that are not needed
            out.fill(np.nan)
        with kernel_threads(self.threads, FEW_ROWS if n_rows >= _FEW_PAIRS else n_rows) as n_threads:
            log.debug("features of %d rows on %d threads", n_rows, n_threads)
            size = min(max(n_rows // (_PARTS_A_THREAD * n_threads), _LEAST_PART), _MOST_PART)
            parts = [
                (self._candidates(first + start, first + end), out[slice(*(query_ptr[[start, end]] - query_ptr[0]))])
                for start, end in query_blocks(work_ptr, size)
            ]
            tasks = [(*part, groups) for part in parts for groups in self._by_field(calling_thread=False)]
            for part in parts:
                for groups in self._by_field(calling_thread=True):
                    self._fill_groups((*part, groups))
            in_threads(self._fill_groups, tasks, n_threads)
            if self.plan.normalised:
                in_threads(lambda part: normalise(part[1], part[0].query_ptr, self.plan.normalised), parts, n_threads)

    def _candidates(self, first: int, last: int) -> CandidateBatch:
        """Return the queries [first, last) with their rows."""
        run = self.run
        records = self.records
        tokens = self.tokens[first:last]
        query_ids = run.query_ids[first:last]
        rows = slice(*run.query_ptr[[first, last]].tolist())
        return replace(
            gather_candidates(
                self.forward, tokens, run.query_ptr[first : last + 1] - rows.start, self.docs[rows], run.scores[rows]
            ),
            query_ids=query_ids,
            doc_ids=run.doc_ids[rows],
            other_runs={name: table[rows] for name, table in self.other_runs.items()},
            documents=records.documents,
            vectors=query_vectors(records.vectors, records.encoded, self.forward, query_ids.tolist(), tokens),
            history=records.history,
            least_score=0.0 if run.retriever is not None and run.retriever.known else -math.inf,
        )

    def _by_field(self, calling_thread: bool) -> list[list[Planned]]:
        """Return the groups of each field, the field with most tokens first, so that threads end at similar times."""
        chosen = [planned for planned in self.plan.groups if planned.group.family.calling_thread == calling_thread]
        by_field = [list(groups) for _, groups in groupby(chosen, lambda planned: planned.group.field)]
        sizes = {name: of_field.n_tokens for name, of_field in self.forward.fields.items()}
        return sorted(by_field, key=lambda groups: -sizes.get(groups[0].group.field or "", 0))

    def _fill_groups(self, task: tuple[CandidateBatch, NDArray[np.float32], Sequence[Planned]]) -> None:
        """Fill the groups of one field, which is matched once for all of them, or the groups of no field."""
        candidates, out, groups = task
        name = groups[0].group.field
        rows = candidates if name is None else match(candidates, self.forward.fields[name])
        for group, first, chosen in groups:
            values = columns_of(group.name, rows, self.recipe)
            out[:, first : first + len(chosen)] = values if len(chosen) == values.shape[1] else values[:, chosen]


def rows_without_features(
    run: Run,
    runs: Mapping[str, Run],
    names: tuple[str, ...],
    recipe: Mapping[str, Any],
    fingerprint: Mapping[str, Any],
) -> RankingData:
    """Return everything but the features of a run in trec_eval's order: X is a zero-stride placeholder of NaN.

    names, recipe, fingerprint  of the features
    """
    return RankingData(
        query_ids=run.query_ids,
        query_ptr=run.query_ptr,
        doc_ids=run.doc_ids,
        X=np.broadcast_to(np.float32(np.nan), (run.n_rows, len(names))),
        feature_names=names,
        base_scores=run.scores,
        recipe=recipe,
        fingerprint=fingerprint,
        retriever=run.retriever,
        run_retrievers={name: made for name in recipe["runs"] if runs and (made := runs[name].retriever) is not None},
    )


def scores_in(other: Run, run: Run | RankingData) -> Floats:
    """Return score and rank in another run of each row of a run, (n_rows, 2) float64; NaN if that run lacks the row."""
    warn_apart(f"run {other.name}", run, other)
    other = other.select(other.query_numbers(run))
    other = other.take(other.trec_order())
    table = np.full((run.n_rows, 2), np.nan)
    rows, other_rows = other.matches(run.query_ids, run.query_ptr, run.doc_ids)
    table[rows] = scores_and_ranks(other.query_ptr, other.scores)[other_rows]
    return table


def doc_numbers(forward: ForwardIndex, run: Run) -> Ints:
    """Return the document number of each row, (n_rows,) int64; refuse documents that the index does not hold."""
    numbers = forward.doc_numbers(run.doc_ids)
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        query_id = run.query_ids[query_rows(run.query_ptr)[unknown[0]]]
        raise InvalidInputError(
            f"run: expected documents that the index holds, got {len(unknown)} of {run.n_rows} rows "
            f"with others, e.g. {str(run.doc_ids[unknown[0]])!r} (query {str(query_id)!r}). Use the index that the run "
            "was made on."
        )
    return numbers
