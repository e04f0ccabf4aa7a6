"""Feature extraction: checks its arguments, then computes the features in batches of queries.

Normalisation within the query, which makes the values of a column comparable between queries.

minmax  (x - min) / (max - min) over the query's rows; 0 where all are equal
zscore  (x - mean) / standard deviation over the query's rows; 0 where all are equal
rank    1 + number of the query's rows with a greater value
Missing values stay missing and do not influence the others.

Which columns a recipe computes, keeps and normalises.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import unknown_name
from rerank.features.base import ColumnGroup, FieldFamily, RunFamily, column_groups, field_columns
from rerank.features.candidates import Candidates, gather_candidates
from rerank.features.families.relative import relate
from rerank.features.inputs import Records, check_scores, doc_numbers, labels_of, resolve_recipe, scores_in, tokens_of
from rerank.features.match import match
from rerank.features.near_duplicates import query_groups
from rerank.features.recipe import Recipe
from rerank.runtime.progress import track
from rerank.runtime.threads import FEW_ROWS, in_threads, kernel_threads
from rerank.types import Ints, Qrels, RankingData, Run
from rerank.types.forward import ForwardIndex
from rerank.vectors.encoder import query_vectors

_FORMS = ("minmax", "zscore", "rank")  # in the order of the kernel's columns
_COLUMNS = 32  # normalised at a time; the kernel computes all three forms of each
_log = logging.getLogger("rerank")
_BATCH_ROWS = 1 << 16
# Rows of a part, for which all families are computed one after the other: with fewer rows, calls of kernels take longer
# than the work; with more, postings and matches leave the processor's cache from family to family.
_LEAST_PART = 1 << 12
_MOST_PART = 1 << 14
_PARTS_A_THREAD = 4
_COPIED_ROWS = 1 << 10  # which stay in the processor's cache until all of their columns are copied
_FEW_PAIRS = 1 << 8  # starting a thread takes longer than it saves
Groups = Sequence[tuple[int, ColumnGroup]]


def chosen_columns(what: str, patterns: Sequence[str], names: Sequence[str]) -> Ints:
    """Return the indices of the columns that match one of the patterns, ascending; refuse a pattern without a match."""
    for pattern in patterns:
        if not any(_matches(name, pattern) for name in names):
            raise unknown_name(f"recipe: {what}", pattern, names)
    chosen = [any(_matches(name, pattern) for pattern in patterns) for name in names]
    return np.flatnonzero(np.array(chosen, dtype=np.bool_))


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def normalised_columns(table: Mapping[str, str], names: Sequence[str]) -> dict[str, Ints]:
    """Return the column indices of each normalisation but none; a column takes that of the last matching pattern."""
    if not table:
        return {}
    form_of = np.full(len(names), "none", dtype=object)
    for pattern, form in table.items():
        if pattern != "*":
            form_of[chosen_columns("normalisation", [pattern], names)] = form
        else:
            form_of[:] = form
    return {form: np.flatnonzero(form_of == form) for form in _FORMS if (form_of == form).any()}


def normalise(X: NDArray[np.float32], query_ptr: Ints, columns: Mapping[str, Ints]) -> None:
    """Normalise columns in place, query by query, with the formulas of the relative family.

    Shapes: X float32 (n_rows, n_features); query_ptr int64 (n_queries + 1,).
    """
    for form, indices in columns.items():
        for first in range(0, len(indices), _COLUMNS):
            some = indices[first : first + _COLUMNS]
            all_forms = np.empty((len(X), 3 * len(some)), dtype=np.float32)
            relate(query_ptr, np.ascontiguousarray(X[:, some]), all_forms)
            X[:, some] = all_forms[:, _FORMS.index(form) :: 3]


@dataclass(frozen=True, eq=False)
class ColumnPlan:
    """The columns that are computed, and those of them that are returned.

    Parameters
    ----------
    groups : tuple of (int, ColumnGroup)
        Groups of computed columns, each with the number of its first column.
    n_computed : int
        Number of computed columns.
    returned : ndarray of shape (n_features,) and dtype int64
        Numbers of the computed columns that are returned.
    names : tuple of str
        Names of the returned columns.
    normalised : mapping from str to ndarray of dtype int64
        Numbers of the returned columns that each normalisation changes.

    """

    groups: tuple[tuple[int, ColumnGroup], ...]
    n_computed: int
    returned: Ints
    names: tuple[str, ...]
    normalised: Mapping[str, Ints]

    @classmethod
    def of(cls, forward: ForwardIndex, recipe: Recipe) -> ColumnPlan:
        """Return the plan of a recipe with explicit names; groups without a wanted column are not computed."""
        without = tuple(name for name, field in forward.fields.items() if field.positions is None)
        if recipe.functions:  # may be redefined under the same name
            plan, left_out = cls._made(recipe, without)
        else:
            plan, left_out = _remembered_plan(_PlanKey(recipe, without))
        for line in left_out:
            _log.info(*line)
        return plan

    @property
    def n_filled(self) -> int:
        """Number of computed columns that a group fills."""
        return sum(len(group.features) for _, group in self.groups)

    def of_names(self, needed: frozenset[str]) -> ColumnPlan:
        """Return the plan without the groups that have no feature of these names; their columns are NaN."""
        return _remembered_part(self, needed)

    @classmethod
    def _made(cls, recipe: Recipe, without: tuple[str, ...]) -> tuple[ColumnPlan, tuple[tuple[str, str, str], ...]]:
        """Return the plan, and log lines about what is left out for the fields `without` positions."""
        groups = column_groups(recipe)
        all_names = [name for group in groups for name in group.names]
        wanted = set(all_names)
        if recipe.features is not None:
            wanted = {all_names[column] for column in chosen_columns("features", recipe.features, all_names)}
        normalised = normalised_columns(recipe.normalisation, all_names)
        groups = tuple(group for group in groups if wanted & set(group.names))
        left_out = tuple(group for group in groups if group.field in without and _needs_positions(group))
        groups = tuple(group for group in groups if group not in left_out)
        computed = [name for group in groups for name in group.names]
        returned = np.array([column for column, name in enumerate(computed) if name in wanted], dtype=np.int64)
        names = tuple(computed[column] for column in returned.tolist())
        column_of = {name: column for column, name in enumerate(names)}
        returned_names = {form: [all_names[column] for column in columns] for form, columns in normalised.items()}
        ends = np.cumsum([len(group.features) for group in groups]).tolist()
        plan = cls(
            groups=tuple(zip([0, *ends], groups, strict=False)),
            n_computed=len(computed),
            returned=returned,
            names=names,
            normalised={
                form: np.array([column_of[name] for name in chosen if name in column_of], dtype=np.int64)
                for form, chosen in returned_names.items()
            },
        )
        return plan, _log_lines(left_out)


class _PlanKey:
    """A recipe and the fields without positions, hashable; a recipe's mapping of normalisations is not."""

    def __init__(self, recipe: Recipe, without: tuple[str, ...]) -> None:
        self.recipe = recipe
        self.without = without
        self._values = (*(_hashable(getattr(recipe, part.name)) for part in fields(recipe)), without)

    def __hash__(self) -> int:
        return hash(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _PlanKey) and self._values == other._values


def _hashable(value: Any) -> Any:
    return tuple(value.items()) if isinstance(value, Mapping) else value


@lru_cache(maxsize=32)
def _remembered_plan(key: _PlanKey) -> tuple[ColumnPlan, tuple[tuple[str, str, str], ...]]:
    return ColumnPlan._made(key.recipe, key.without)


@lru_cache(maxsize=32)
def _remembered_part(plan: ColumnPlan, needed: frozenset[str]) -> ColumnPlan:
    groups = tuple((first, group) for first, group in plan.groups if not needed.isdisjoint(group.names))
    is_needed = np.array([name in needed for name in plan.names], dtype=np.bool_)
    normalised = {form: columns[is_needed[columns]] for form, columns in plan.normalised.items()}
    return replace(plan, groups=groups, normalised=normalised)


def _needs_positions(group: ColumnGroup) -> bool:
    return isinstance(group.family, FieldFamily) and group.family.needs_positions


def _log_lines(left_out: Sequence[ColumnGroup]) -> tuple[tuple[str, str, str], ...]:
    """Return log lines about families that need positions for fields that were indexed without them."""
    line = "features of the family %s are left out for %s: indexed without positions."
    names = dict.fromkeys(group.name for group in left_out)
    fields_of = {name: [str(group.field) for group in left_out if group.name == name] for name in names}
    return tuple((line, name, ", ".join(of_name)) for name, of_name in fields_of.items())


def extract(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None = None,
    qrels: Qrels | None = None,
    *,
    records: Records | None = None,
    needed: Collection[str] | None = None,
    threads: int | None = None,
) -> RankingData:
    """Return the features of every query-document pair of a run."""
    data, fill = _prepare(forward, query_terms, run, recipe or Recipe(), qrels, records or Records(), threads, needed)
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
    records: Records | None = None,
    threads: int | None = None,
) -> tuple[RankingData, Iterator[NDArray[np.float32]]]:
    """Return the features of a run block by block, so that memory holds those of a few queries only.

    Parameters and errors are those of `extract`.

    Shapes: blocks float32 (n_rows_of_block, n_features).
    """
    data, fill = _prepare(forward, query_terms, run, recipe or Recipe(), qrels, records or Records(), threads)
    return data, fill(None)


def _prepare(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe,
    qrels: Qrels | None,
    records: Records,
    threads: int | None,
    needed: Collection[str] | None = None,
) -> tuple[RankingData, Callable[[NDArray[np.float32] | None], Iterator[NDArray[np.float32]]]]:
    """Return everything but the features, and the function that computes them, see `_blocks`."""
    recipe = resolve_recipe(recipe, forward, records)
    run = run.take(run.trec_order())
    check_scores(run)
    tokens = tokens_of(run, query_terms)
    runs = records.runs
    other_runs = {name: scores_in(runs[name], run) for name in recipe.runs} if runs else {}
    candidates = gather_candidates(
        forward, tokens, run.query_ptr, doc_numbers(forward, run), run.scores, other_runs, records.documents
    )
    candidates = replace(
        candidates,
        query_ids=run.query_ids,
        doc_ids=run.doc_ids,
        vectors=query_vectors(records.vectors, records.encoded, forward, list(run), tokens),
        history=None if records.history is None else records.history.on(forward),
    )
    plan = ColumnPlan.of(forward, recipe)
    data = rows_without_features(run, qrels, runs, plan.names, recipe.to_dict(), dict(forward.fingerprint))
    if qrels is not None:
        data = replace(data, query_groups=query_groups(forward, tokens))
    filled = plan if needed is None else plan.of_names(frozenset(needed))
    return data, partial(_blocks, forward, candidates, filled, recipe, threads)


def rows_without_features(
    run: Run,
    qrels: Qrels | None,
    runs: Mapping[str, Run],
    names: tuple[str, ...],
    recipe: Mapping[str, Any],
    fingerprint: Mapping[str, Any],
) -> RankingData:
    """Return everything but the features of a run in trec_eval's order: X is a zero-stride placeholder of NaN.

    names, recipe, fingerprint  those of the features
    """
    ideal_labels, ideal_ptr = (None, None) if qrels is None else qrels.ideal(run.query_ids)
    return RankingData(
        query_ids=run.query_ids,
        query_ptr=run.query_ptr,
        doc_ids=run.doc_ids,
        X=np.broadcast_to(np.float32(np.nan), (run.n_rows, len(names))),
        feature_names=names,
        labels=None if qrels is None else labels_of(qrels, run),
        base_scores=run.scores,
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        recipe=recipe,
        fingerprint=fingerprint,
        retriever=run.retriever,
        run_retrievers={name: made for name in recipe["runs"] if runs and (made := runs[name].retriever) is not None},
    )


def _blocks(
    forward: ForwardIndex,
    candidates: Candidates,
    plan: ColumnPlan,
    recipe: Recipe,
    threads: int | None,
    X: NDArray[np.float32] | None,
) -> Iterator[NDArray[np.float32]]:
    """Yield the features batch by batch: as rows of X (n_rows, n_features), or as new arrays where X is None."""
    batches = list(candidates.batches(_BATCH_ROWS))
    n_rows = candidates.n_rows
    with kernel_threads(threads, FEW_ROWS if n_rows >= _FEW_PAIRS else n_rows) as n_threads:
        _log.debug("features of %d rows on %d threads", n_rows, n_threads)
        for rows, batch in track(batches, "features"):
            out = np.empty((batch.n_rows, len(plan.returned)), dtype=np.float32) if X is None else X[rows]
            _fill_batch(forward, batch, plan, recipe, n_threads, out)
            yield out


def _fill_batch(
    forward: ForwardIndex, batch: Candidates, plan: ColumnPlan, recipe: Recipe, n_threads: int, out: NDArray[np.float32]
) -> None:
    """Fill the rows of one batch: each thread takes parts of its queries; user code runs on the calling thread.

    If there are fewer parts than threads, each thread takes fields of a part.
    """
    computed = out
    if len(plan.returned) != plan.n_computed:
        computed = np.empty((batch.n_rows, plan.n_computed), dtype=np.float32)
    if plan.n_filled != plan.n_computed:
        computed.fill(np.nan)
    serial = [(first, group) for first, group in plan.groups if group.family.calling_thread]
    parallel = [(first, group) for first, group in plan.groups if not group.family.calling_thread]
    _fill_groups(forward, batch, serial, recipe, computed)
    part_rows = min(max(batch.n_rows // (_PARTS_A_THREAD * n_threads), _LEAST_PART), _MOST_PART)
    parts = list(batch.batches(part_rows))
    shares = [parallel] if len(parts) >= n_threads else _by_field(forward, parallel)

    def fill(task: tuple[slice, Candidates, Groups]) -> None:
        rows, queries, groups = task
        _fill_groups(forward, queries, groups, recipe, computed[rows])
        if len(shares) == 1:
            finish((rows, queries))

    def finish(part: tuple[slice, Candidates]) -> None:
        rows, queries = part
        if computed is not out:
            np.take(computed[rows], plan.returned, axis=1, out=out[rows], mode="clip")
        normalise(out[rows], queries.query_ptr, plan.normalised)

    in_threads(fill, [(*part, share) for part in parts for share in shares], n_threads)
    if len(shares) > 1:
        in_threads(finish, parts, n_threads)


def _by_field(forward: ForwardIndex, groups: Groups) -> list[Groups]:
    """Return the groups of each field, the field of most tokens first, so that threads end at similar times."""
    of_field: dict[str | None, list[tuple[int, ColumnGroup]]] = {}
    for first, group in groups:
        of_field.setdefault(group.field, []).append((first, group))
    sizes = {name: field.n_tokens for name, field in forward.fields.items()}
    names = sorted(of_field, key=lambda name: -1 if name is None else sizes[name], reverse=True)
    return [of_field[name] for name in names]


def _fill_groups(
    forward: ForwardIndex, batch: Candidates, groups: Groups, recipe: Recipe, out: NDArray[np.float32]
) -> None:
    """Fill groups of columns; those of one field are adjacent, and the field is matched once for all of them."""
    block = None
    computed = list[tuple[int, NDArray[np.float32]]]()
    for first, group in groups:
        if group.field is not None:
            if block is None or block.field is not forward.fields[group.field]:
                block = match(batch, forward.fields[group.field])
            computed.append((first, field_columns(group.name, block, recipe)))
        elif isinstance(group.family, RunFamily):
            values = np.empty((batch.n_rows, len(group.features)), dtype=np.float32)
            group.family.fill(batch, recipe, values)
            computed.append((first, values))
    for start in range(0, batch.n_rows, _COPIED_ROWS):
        rows = slice(start, start + _COPIED_ROWS)
        for first, values in computed:
            out[rows, first : first + values.shape[1]] = values[rows]
