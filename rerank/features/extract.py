"""From a run to features: the edge where input is checked, and the loop over batches of queries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.base import FieldFamily, RunFamily
from rerank.features.columns import ColumnGroup, column_groups, field_columns
from rerank.features.functions import functions
from rerank.features.match import Candidates, Documents, gather_candidates, match
from rerank.features.normalise import chosen_columns, normalise, normalised_columns
from rerank.features.recipe import Recipe
from rerank.runtime.progress import track
from rerank.runtime.threads import in_threads, kernel_threads
from rerank.types import Floats, Ints, Qrels, RankingData, Run, query_rows
from rerank.types.forward import ForwardIndex

_BATCH_ROWS = 1 << 16
_PART_ROWS = 1 << 10  # smaller parts of a batch cost more to begin than they spread over the threads
_PARTS_A_THREAD = 2
_log = logging.getLogger("rerank")


def extract(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None = None,
    qrels: Qrels | None = None,
    *,
    runs: Mapping[str, Run] | None = None,
    documents: Documents | None = None,
    threads: int | None = None,
) -> RankingData:
    """Return the features of every query-document pair of a run.

    query_terms  query id -> tokens as the index's analyser makes them, repetitions included
    recipe       fields, families, parameters; every field, the default families and parameters, where None
    qrels        gives the labels (0 for an unjudged document) and the ideal; no labels where None
    runs         other runs, by name, whose scores and ranks are features
    documents    reads documents by number as they were indexed, for the user's functions over documents
    threads      all cores where None; the result does not depend on it, bit for bit

    Rows stand query by query as in the run, within a query as trec_eval orders them. Raises
    InvalidInputError where the run has a query without terms in `query_terms`, a document that the index
    does not hold or a score that is no finite number, or the recipe a field that the index does not have.
    """
    data, fill = _extraction(forward, query_terms, run, recipe, qrels, runs or {}, documents, threads)
    X = np.empty(data.X.shape, dtype=np.float32)
    for _ in fill(X):
        pass
    return replace(data, X=X)


def extract_blocks(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None = None,
    qrels: Qrels | None = None,
    *,
    runs: Mapping[str, Run] | None = None,
    documents: Documents | None = None,
    threads: int | None = None,
) -> tuple[RankingData, Iterator[NDArray[np.float32]]]:
    """Return all but the features, which come block by block: no more than some queries' are ever in memory.

    The X of the data has the shape of the whole and takes no room; what it holds means nothing. The blocks
    (rows, n_features) float32 stand in the order of its rows. Arguments and errors are those of `extract`.
    """
    data, fill = _extraction(forward, query_terms, run, recipe, qrels, runs or {}, documents, threads)
    return data, fill(None)


def _extraction(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None,
    qrels: Qrels | None,
    runs: Mapping[str, Run],
    documents: Documents | None,
    threads: int | None,
) -> tuple[RankingData, Callable[[NDArray[np.float32] | None], Iterator[NDArray[np.float32]]]]:
    """Return all but the features, and what computes them, see `_blocks`."""
    recipe = _resolved(recipe or Recipe(), forward, runs, documents)
    run = run.take(run.trec_order())
    _check_scores(run)
    tokens = _tokens_of(run, query_terms)
    outside = {name: _outside(run, runs[name]) for name in recipe.runs} if runs else {}
    candidates = gather_candidates(
        forward, tokens, run.query_ptr, _doc_numbers(forward, run), run.scores, outside, documents
    )
    candidates = replace(candidates, query_ids=run.query_ids, doc_ids=run.doc_ids)
    plan = _Plan.of(forward, recipe)
    ideal_labels, ideal_ptr = (None, None) if qrels is None else qrels.ideal(run.query_ids)
    data = RankingData(
        query_ids=run.query_ids,
        query_ptr=run.query_ptr,
        doc_ids=run.doc_ids,
        X=np.broadcast_to(np.float32(np.nan), (run.n_rows, len(plan.names))),
        feature_names=plan.names,
        labels=None if qrels is None else _labels(qrels, run),
        base_scores=run.scores,
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        recipe=recipe.to_dict(),
        fingerprint=dict(forward.fingerprint),
        retriever=run.retriever,
        run_retrievers={name: made for name in recipe.runs if runs and (made := runs[name].retriever) is not None},
    )
    return data, partial(_blocks, forward, candidates, plan, recipe, threads)


@dataclass(frozen=True)
class _Plan:
    """What is computed, and what becomes of it.

    groups      groups of columns, each with its first column
    width       number of columns computed
    kept        (n_features,) int64 of them
    names       of those kept
    normalised  columns of those kept, by normalisation
    """

    groups: tuple[tuple[int, ColumnGroup], ...]
    width: int
    kept: Ints
    names: tuple[str, ...]
    normalised: Mapping[str, Ints]

    @classmethod
    def of(cls, forward: ForwardIndex, recipe: Recipe) -> _Plan:
        groups = column_groups(recipe)
        names_of = [group.names for group in groups]
        everything = [name for names in names_of for name in names]
        wanted = set(everything)
        if recipe.features is not None:
            wanted = {everything[place] for place in chosen_columns("features", recipe.features, everything)}
        how = normalised_columns(recipe.normalisation, everything)
        used = tuple(
            group for group, names in zip(groups, names_of, strict=True) if any(name in wanted for name in names)
        )
        groups = _computable(forward, used)
        computed = [name for group in groups for name in group.names]
        kept = np.array([place for place, name in enumerate(computed) if name in wanted], dtype=np.int64)
        names = tuple(computed[place] for place in kept.tolist())
        places = {name: place for place, name in enumerate(names)}
        normalised = {
            form: np.array([places[everything[c]] for c in columns if everything[c] in places], dtype=np.int64)
            for form, columns in how.items()
        }
        ends = np.cumsum([len(group.features) for group in groups]).tolist()
        placed = tuple(zip([0, *ends], groups, strict=False))
        return cls(placed, len(computed), kept, names, normalised)


def _blocks(
    forward: ForwardIndex,
    candidates: Candidates,
    plan: _Plan,
    recipe: Recipe,
    threads: int | None,
    X: NDArray[np.float32] | None,
) -> Iterator[NDArray[np.float32]]:
    """Yield the features batch by batch: as rows of X (n_rows, n_features), or each as an array of its own."""
    batches = list(candidates.batches(_BATCH_ROWS))
    with kernel_threads(threads, candidates.n_rows) as count:
        _log.debug("features of %d rows on %d threads", candidates.n_rows, count)
        for rows, batch in track(batches, "features"):
            kept = np.empty((batch.n_rows, len(plan.kept)), dtype=np.float32) if X is None else X[rows]
            _fill_batch(forward, batch, plan, recipe, count, kept)
            yield kept


def _fill_batch(
    forward: ForwardIndex, batch: Candidates, plan: _Plan, recipe: Recipe, n_threads: int, kept: NDArray[np.float32]
) -> None:
    """Fill the rows of one batch: some of its queries after others on each thread, what users wrote on this one."""
    block = kept if len(plan.kept) == plan.width else np.empty((batch.n_rows, plan.width), dtype=np.float32)
    alone = [placed for placed in plan.groups if placed[1].family.calling_thread]
    together = [placed for placed in plan.groups if not placed[1].family.calling_thread]
    _fill_groups(forward, batch, alone, recipe, block)

    def fill(part: tuple[slice, Candidates]) -> None:
        rows, queries = part
        _fill_groups(forward, queries, together, recipe, block[rows])
        if block is not kept:
            np.take(block[rows], plan.kept, axis=1, out=kept[rows], mode="clip")
        normalise(kept[rows], queries.query_ptr, plan.normalised)

    size = -(-batch.n_rows // (_PARTS_A_THREAD * n_threads)) if n_threads > 1 else batch.n_rows
    in_threads(fill, batch.batches(max(size, _PART_ROWS)), n_threads)


def _fill_groups(
    forward: ForwardIndex,
    batch: Candidates,
    groups: Sequence[tuple[int, ColumnGroup]],
    recipe: Recipe,
    out: NDArray[np.float32],
) -> None:
    """Fill some columns; a field is matched once for all of them, which stand together."""
    block = None
    for first, group in groups:
        columns = out[:, first : first + len(group.features)]
        if group.field is not None:
            if block is None or block.field is not forward.fields[group.field]:
                block = match(batch, forward.fields[group.field])
            columns[:] = field_columns(group.name, block, recipe)
        elif isinstance(group.family, RunFamily):
            found = np.empty(columns.shape, dtype=np.float32)
            group.family.fill(batch, recipe, found)
            columns[:] = found


def _computable(forward: ForwardIndex, groups: tuple[ColumnGroup, ...]) -> tuple[ColumnGroup, ...]:
    """Leave out the families that need positions where a field has none, and say so."""
    without = [name for name, field in forward.fields.items() if field.positions is None]
    left_out = [
        group
        for group in groups
        if group.field in without and isinstance(group.family, FieldFamily) and group.family.needs_positions
    ]
    for name in dict.fromkeys(group.name for group in left_out):
        fields = ", ".join(str(group.field) for group in left_out if group.name == name)
        _log.info("features of the family %s are left out for %s: indexed without positions.", name, fields)
    return tuple(group for group in groups if group not in left_out)


def _resolved(recipe: Recipe, forward: ForwardIndex, runs: Mapping[str, Run], documents: Documents | None) -> Recipe:
    """Return the recipe with all names spelt out; functions over documents need an index that keeps these."""
    unusable = [name for name, function in functions().items() if function.over == "document"]
    if unusable and documents is not None and documents(np.array([_first(forward)]))[0] is not None:
        unusable = []
    usable = [name for name in functions() if name not in unusable]
    named = [name for name in recipe.functions or () if name in unusable]
    if named:
        raise InvalidInputError(
            f"recipe: functions: expected an index that keeps its documents for {named[0]!r}, got one without. "
            "Index with raw documents (-storeRaw), or leave the function out."
        )
    if unusable and recipe.functions is None:
        _log.info("features %s are left out: the index keeps no documents.", ", ".join(unusable))
    return _with_runs(recipe, runs).resolve(forward.fields, forward.numbers, usable)


def _first(forward: ForwardIndex) -> int:
    """Return a document that is not deleted."""
    return int(np.argmax(forward.doc_ids != ""))


def _with_runs(recipe: Recipe, runs: Mapping[str, Run]) -> Recipe:
    """Return the recipe with the names of the other runs; where it names some, those must be given."""
    if not recipe.runs:
        return replace(recipe, runs=tuple(runs))
    missing = [name for name in recipe.runs if name not in runs]
    if missing:
        raise InvalidInputError(
            f"runs: expected the runs that the recipe names ({', '.join(recipe.runs)}), got none called "
            f"{missing[0]!r}. Give it, e.g. --run {missing[0]}=FILE."
        )
    return recipe


def _outside(run: Run, other: Run) -> Floats:
    """Return score and rank in another run of each row of a run, (n_rows, 2); NaN where it is not there."""
    other = other.take(other.trec_order())
    table = np.full((run.n_rows, 2), np.nan)
    for number, query_id in enumerate(run):
        if query_id in other:
            theirs = other.rows(query_id)
            places = {doc_id: place for place, doc_id in enumerate(other.doc_ids[theirs].tolist())}
            rows = range(int(run.query_ptr[number]), int(run.query_ptr[number + 1]))
            found = [(row, places[doc_id]) for row in rows if (doc_id := str(run.doc_ids[row])) in places]
            mine = np.array(found, dtype=np.int64).reshape(-1, 2)
            table[mine[:, 0], 0] = other.scores[theirs][mine[:, 1]]
            table[mine[:, 0], 1] = mine[:, 1] + 1
    return table


def _labels(qrels: Qrels, run: Run) -> NDArray[np.float64]:
    labels, _ = qrels.lookup(run.query_ids, run.query_ptr, run.doc_ids)
    return labels.astype(np.float64)


def _tokens_of(run: Run, query_terms: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    missing = [query_id for query_id in run if query_id not in query_terms]
    if missing:
        raise InvalidInputError(
            f"topics: expected a topic for every query of the run, got none for {len(missing)} of {len(run)}, "
            f"e.g. {missing[0]!r}. Add the topics or drop these queries from the run."
        )
    tokens = [query_terms[query_id] for query_id in run]
    for query_id, terms in zip(run, tokens, strict=True):
        if isinstance(terms, str):
            raise InvalidInputError(
                f"topics: expected a list of analysed terms for query {query_id!r}, got text. "
                "Analyse it as the index was."
            )
    return tokens


def _doc_numbers(forward: ForwardIndex, run: Run) -> Ints:
    numbers = forward.doc_numbers(run.doc_ids)
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        query_id = run.query_ids[query_rows(run.query_ptr)[unknown[0]]]
        raise InvalidInputError(
            f"run: expected documents that the index holds, got {len(unknown)} of {run.n_rows} rows with "
            f"others, e.g. {str(run.doc_ids[unknown[0]])!r} (query {str(query_id)!r}). Use the index that the run "
            "was made on."
        )
    return numbers


def _check_scores(run: Run) -> None:
    wrong = np.flatnonzero(~np.isfinite(run.scores))
    if len(wrong):
        raise InvalidInputError(
            f"run: expected finite scores, got {len(wrong)} others, e.g. {run.scores[wrong[0]]} for document "
            f"{str(run.doc_ids[wrong[0]])!r}. Correct the run."
        )
