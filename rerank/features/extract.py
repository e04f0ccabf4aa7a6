"""Feature extraction: checks its arguments, then computes the features in batches of queries.

The columns that a recipe computes, keeps and normalises.

Normalisation within the query, which makes the values of a column comparable between queries.

minmax  (x - min) / (max - min) over the query's rows; 0 where all are equal
zscore  (x - mean) / standard deviation over the query's rows; 0 where all are equal
rank    1 + number of the query's rows with a greater value
Missing values stay missing and do not influence the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, log, unknown_name
from rerank.features.columns import ColumnGroup, column_groups, columns_of
from rerank.features.families.functions import FUNCTIONS
from rerank.features.families.relative import FORMS, relate
from rerank.features.match import CandidateBatch, Documents, gather_candidates, match
from rerank.features.near_duplicates import query_groups
from rerank.features.recipe import (
    Recipe,
    default_family_names,
    defined_functions,
    family,
    history_family_names,
    known_names,
    space_family_names,
)
from rerank.runtime.progress import track
from rerank.runtime.threads import FEW_ROWS, in_threads, kernel_threads
from rerank.types import (
    Floats,
    ForwardIndex,
    Ints,
    Passages,
    Qrels,
    RankingData,
    Run,
    pointers,
    query_blocks,
    query_rows,
)
from rerank.types.order import scores_and_ranks
from rerank.vectors.query_vectors import Encoded, query_vectors
from rerank.vectors.vectors import ENCODER, LSI, Vectors

PASSAGES = "passages"  # the family
_REMEDIES = {
    "vectors": "Learn them (`rerank vectors INDEX`), or train on features without them.",
    "history": "Learn it (`rerank history INDEX TOPICS QRELS`), or train on features without it.",
    "encoder": "Bind it (`rerank vectors INDEX --encoder NAME`, or Index.open(..., encoder=...)), or train on features "
    "without it.",
}
_COLUMNS = 32  # normalised at a time; the kernel computes all three forms of each
_FEW_PAIRS = 1 << 8  # starting a thread takes longer than it saves
_PARTS_A_THREAD = 4
_LEAST_PART = 1 << 12  # rows: with fewer, calls of kernels take longer than the work
_BATCH_ROWS = 1 << 16
# Rows of a part, for which the families of a field are computed one after the other: with more, postings and matches
# leave the processor's cache from family to family.
_MOST_PART = 1 << 14
_LONG_QUERY = 1 << 9  # tokens, from which on a row of a part counts as several, so that its matches fit into memory


@dataclass(frozen=True, eq=False)
class Records:
    """Inputs of the features that need more than the index and the run.

    Parameters
    ----------
    runs : mapping from str to Run
        Other runs by name, whose scores and ranks become features.
    documents : callable, optional
        Returns documents by number as they were indexed, for user-defined functions over documents.
    vectors : Vectors, optional
        Vectors of the index.
    history : rerank.history.judged.IndexHistory, optional
        What is learned from judgements, on the index.
    encoded : Encoded, optional
        Vectors of an encoder for the queries and the documents of the index.
    passages : Passages, optional
        The passages that the index keeps.

    """

    runs: Mapping[str, Run] = field(default_factory=dict)
    documents: Documents | None = None
    vectors: Vectors | None = None
    history: Any = None
    encoded: Encoded | None = None
    passages: Passages | None = None


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
    """Return the features of every query-document pair of a run; those that are not `needed` may be NaN."""
    data, extraction = _prepared(forward, query_terms, run, recipe, qrels, records, threads, needed)
    X = np.empty(data.X.shape, dtype=np.float32)
    for _ in extraction.blocks(X):
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
    data, extraction = _prepared(forward, query_terms, run, recipe, qrels, records, threads)
    return data, extraction.blocks()


def _prepared(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None,
    qrels: Qrels | None,
    records: Records | None,
    threads: int | None,
    needed: Collection[str] | None = None,
) -> tuple[RankingData, _Extraction]:
    """Return everything but the features, and what computes them."""
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
    about = plan.names, recipe.to_dict(), dict(forward.fingerprint)
    groups = None if qrels is None else query_groups(forward, tokens)
    return rows_without_features(run, qrels, records.runs, *about, groups), extraction


@dataclass(frozen=True, eq=False)
class _Extraction:
    """What the features of the rows of a run are computed from; its rows are in trec_eval's order.

    tokens      of each query
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
        """Fill the rows of the queries [first, last): each thread takes fields of a part of them.

        User code runs on the calling thread.
        """
        n_rows = len(out)
        query_ptr = self.run.query_ptr[first : last + 1]
        lengths = np.array([len(tokens) for tokens in self.tokens[first:last]], dtype=np.int64)
        work_ptr = pointers(np.diff(query_ptr) * (1 + lengths // _LONG_QUERY))
        if sum(len(planned.chosen) for planned in self.plan.groups) < out.shape[1]:  # others may be NaN
            out.fill(np.nan)
        # For few rows, starting a thread takes longer than it saves.
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
        )

    def _by_field(self, calling_thread: bool) -> list[list[Planned]]:
        """Return the groups of each field, the field of most tokens first, so that threads end at similar times."""
        chosen = [planned for planned in self.plan.groups if planned.group.family.calling_thread == calling_thread]
        by_field = [list(groups) for _, groups in groupby(chosen, lambda planned: planned.group.field)]
        sizes = {name: of_field.n_tokens for name, of_field in self.forward.fields.items()}
        return sorted(by_field, key=lambda groups: -sizes.get(groups[0].group.field or "", 0))

    def _fill_groups(self, task: tuple[CandidateBatch, NDArray[np.float32], Sequence[Planned]]) -> None:
        """Fill groups of one field, which is matched once for all of them, or of none."""
        candidates, out, groups = task
        name = groups[0].group.field
        rows = candidates if name is None else match(candidates, self.forward.fields[name])
        for group, first, chosen in groups:
            values = columns_of(group.name, rows, self.recipe)
            out[:, first : first + len(chosen)] = values if len(chosen) == values.shape[1] else values[:, chosen]


class Planned(NamedTuple):
    """A group of columns of which some are returned.

    first   number of the first returned column among all that are returned
    chosen  indices of the group's columns that are returned, ascending
    """

    group: ColumnGroup
    first: int
    chosen: list[int]


@dataclass(frozen=True, eq=False)
class ColumnPlan:
    """The columns that are returned: their names, and the groups that compute them.

    normalised  numbers of the columns of each normalisation
    left_out    fields whose columns a family cannot compute, since they were indexed without positions, by family
    """

    names: tuple[str, ...]
    groups: tuple[Planned, ...]
    normalised: Mapping[str, Ints]
    left_out: Mapping[str, list[str]]


def column_plan(forward: ForwardIndex, recipe: Recipe) -> ColumnPlan:
    """Return the plan of a recipe with explicit names."""
    without = frozenset(name for name, of_field in forward.fields.items() if of_field.positions is None)
    make = _column_plan.__wrapped__ if recipe.functions else _column_plan  # functions may be defined anew
    plan = make(recipe, without)
    for name, of_fields in plan.left_out.items():
        log.info(
            "features of the family %s are left out for %s: indexed without positions.", name, ", ".join(of_fields)
        )
    return plan


@lru_cache(maxsize=32)
def _column_plan(recipe: Recipe, without: frozenset[str]) -> ColumnPlan:
    """Return the plan of a recipe for an index in which these fields are `without` positions."""
    groups = column_groups(recipe)
    all_names = [name for group in groups for name in group.names]
    forms = normalisations(recipe.normalisation, all_names)
    chosen_names = set(all_names if recipe.features is None else names_matching("features", recipe.features, all_names))
    names: list[str] = []
    planned = []
    left_out: dict[str, list[str]] = {}
    for group in groups:
        chosen = [number for number, name in enumerate(group.names) if name in chosen_names]
        if chosen and group.family.needs_positions and group.field in without:
            left_out.setdefault(group.name, []).append(str(group.field))
        elif chosen:
            planned.append(Planned(group, len(names), chosen))
            names += [group.names[number] for number in chosen]
    of_columns = np.array([forms.get(name, "none") for name in names])
    return ColumnPlan(
        names=tuple(names),
        groups=tuple(planned),
        normalised={form: np.flatnonzero(of_columns == form) for form in set(forms.values())},
        left_out=left_out,
    )


def names_matching(what: str, patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the names that are, or match, one of the patterns, in order; refuse a pattern without a match."""
    found = {pattern: {name for name in names if name == pattern or fnmatchcase(name, pattern)} for pattern in patterns}
    for pattern, of_pattern in found.items():
        if not of_pattern:
            raise unknown_name(f"recipe: {what}", pattern, names)
    chosen = set().union(*found.values())
    return [name for name in names if name in chosen]


def normalisations(table: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the normalisation of each name that has one but none; that of the last pattern that matches holds."""
    forms: dict[str, str] = {}
    for pattern, form in table.items():
        forms |= dict.fromkeys(names if pattern == "*" else names_matching("normalisation", [pattern], names), form)
    return {name: form for name, form in forms.items() if form != "none"}


def normalise(X: NDArray[np.float32], query_ptr: Ints, columns: Mapping[str, Ints]) -> None:
    """Normalise columns in place, query by query, with the formulas of the relative family.

    Shapes: X float32 (n_rows, n_features); query_ptr int64 (n_queries + 1,).
    """
    for form, indices in columns.items():
        for first in range(0, len(indices), _COLUMNS):
            some = indices[first : first + _COLUMNS]
            X[:, some] = relate(query_ptr, X[:, some])[:, FORMS.index(form) :: len(FORMS)]


def rows_without_features(
    run: Run,
    qrels: Qrels | None,
    runs: Mapping[str, Run],
    names: tuple[str, ...],
    recipe: Mapping[str, Any],
    fingerprint: Mapping[str, Any],
    query_groups: Ints | None = None,
) -> RankingData:
    """Return everything but the features of a run in trec_eval's order: X is a zero-stride placeholder of NaN.

    names, recipe, fingerprint  those of the features
    query_groups                those of near duplicates, see `query_groups`
    """
    labels = ideal_labels = ideal_ptr = None
    if qrels is not None:
        labels = qrels.lookup(run.query_ids, run.query_ptr, run.doc_ids)[0].astype(np.float64)
        ideal_labels, ideal_ptr = qrels.ideal(run.query_ids)
    return RankingData(
        query_ids=run.query_ids,
        query_ptr=run.query_ptr,
        doc_ids=run.doc_ids,
        X=np.broadcast_to(np.float32(np.nan), (run.n_rows, len(names))),
        feature_names=names,
        labels=labels,
        base_scores=run.scores,
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        query_groups=query_groups,
        recipe=recipe,
        fingerprint=fingerprint,
        retriever=run.retriever,
        run_retrievers={name: made for name in recipe["runs"] if runs and (made := runs[name].retriever) is not None},
    )


def resolved(recipe: Recipe, forward: ForwardIndex, records: Records) -> Recipe:
    """Return the recipe with explicit names: of what the index and the records have."""
    found = {
        "vectors": None if records.vectors is None else records.vectors.checksum,
        "encoder": None if records.encoded is None else records.encoded.name,
        "history": None if records.history is None else records.history.checksum,
    }
    check_resources(recipe, found)
    names = {
        "fields": tuple(forward.fields),
        "numbers": tuple(forward.numbers),
        "functions": _usable_functions(recipe, forward, records.documents),
        "runs": tuple(records.runs),
    }
    spaces = () if records.vectors is None else tuple(records.vectors.spaces)
    return _resolved(recipe, tuple(names.items()), tuple(found.items()), spaces, records.passages)


@lru_cache(maxsize=32)
def _resolved(
    recipe: Recipe,
    known: tuple[tuple[str, tuple[str, ...]], ...],
    made_with: tuple[tuple[str, str | None], ...],
    spaces: tuple[str, ...],
    passages: Passages | None,
) -> Recipe:
    """Return the recipe with explicit names, which is checked once for all queries of a model on an index.

    known      what the index and the records have: fields, numbers, functions and other runs
    made_with  checksums, and the name of the encoder
    spaces     of vectors, but for that of the encoder
    passages   those of the index
    """
    names = dict(known)
    found = dict(made_with)
    spaces = (*spaces, ENCODER) if found["encoder"] else spaces
    families = recipe.families
    if families is None:
        learned = history_family_names(spaces) if found["history"] else ()
        on_request = () if passages is None else (PASSAGES,)
        families = (*default_family_names(), *on_request, *space_family_names(spaces), *learned)
    needed = {family(name).needs_space for name in families}
    missing = [name for name in recipe.runs if name not in names["runs"]]
    if missing:
        raise InvalidInputError(
            f"runs: expected the runs that the recipe names ({', '.join(recipe.runs)}), got none called "
            f"{missing[0]!r}. Give it, e.g. --run {missing[0]}=FILE, or with texts as a number of each."
        )
    return replace(
        recipe,
        fields=known_names("fields", recipe.fields, names["fields"]),
        families=families,
        numbers=known_names("numbers", recipe.numbers, names["numbers"]),
        functions=defined_functions(recipe.functions, names["functions"]),
        runs=recipe.runs or names["runs"],
        vectors=found["vectors"] if LSI in needed else None,
        history=found["history"] if any(family(name).needs_history for name in families) else None,
        encoder=found["encoder"] if ENCODER in needed else None,
        passages=(recipe.passages or str(passages or Passages())) if PASSAGES in families else None,
    )


def _usable_functions(recipe: Recipe, forward: ForwardIndex, documents: Documents | None) -> tuple[str, ...]:
    """Return the names of the functions that can be called: of those over documents none, if the index stores none."""
    unusable = [name for name, function in FUNCTIONS.items() if function.over == "document"]
    if unusable and documents is not None:
        first = np.array([np.argmax(forward.doc_ids != "")])  # that is not deleted
        unusable = unusable if documents(first)[0] is None else []
    named = [name for name in recipe.functions or () if name in unusable]
    if named:
        raise InvalidInputError(
            f"recipe: functions: expected an index that keeps its documents for {named[0]!r}, got one without. "
            "Index with raw documents (-storeRaw), or leave the function out."
        )
    if unusable and recipe.functions is None:
        log.info("features %s are left out: the index does not store documents.", ", ".join(unusable))
    return tuple(name for name in FUNCTIONS if name not in unusable)


def check_resources(recipe: Recipe, found: Mapping[str, str | None]) -> None:
    """Refuse a recipe whose resources are missing, or are others than those that its features were made with.

    found  checksum of the vectors and of the history, name of the encoder; None for one that is missing
    """
    for what, name in found.items():
        made_with = getattr(recipe, what)
        space = {"vectors": LSI, "encoder": ENCODER}.get(what)
        families = {name: family(name) for name in recipe.families or ()}
        needed = [
            name
            for name, member in families.items()
            if (member.needs_history if space is None else member.needs_space == space)
        ]
        named = f"the {what} {'' if what == 'encoder' else 'of checksum '}"
        if name is None and (made_with is not None or needed):
            expected = f"{named}{made_with}" if made_with else f"the {what} for the family {needed[0]}"
            raise InvalidInputError(f"{what}: expected {expected}, got none. {_REMEDIES[what]}")
        if name is not None and made_with not in (None, name):
            raise InvalidInputError(
                f"{what}: expected {named}{made_with}, which the features were made with, got {name}. Bind the one "
                "that was expected, or train on features of the other."
            )


def scores_in(other: Run, run: Run | RankingData) -> Floats:
    """Return score and rank in another run of each row of a run, (n_rows, 2) float64; NaN where it has no such row."""
    other = other.select(other.query_numbers([query_id for query_id in run if query_id in other]))
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
            f"run: expected documents that the index holds, got {len(unknown)} of {run.n_rows} rows with "
            f"others, e.g. {str(run.doc_ids[unknown[0]])!r} (query {str(query_id)!r}). Use the index that the run "
            "was made on."
        )
    return numbers
