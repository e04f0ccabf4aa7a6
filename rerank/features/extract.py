"""From a run to features: the edge where input is checked, and the loop over batches of queries."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.features.match import Candidates, gather_candidates, match
from rerank.features.recipe import Recipe
from rerank.features.registry import ColumnGroup, FieldFamily, RunFamily, column_groups, field_columns
from rerank.forward import ForwardIndex
from rerank.progress import track
from rerank.threads import kernel_threads
from rerank.types import Floats, Ints, Qrels, RankingData, Run, query_rows

_BATCH_ROWS = 1 << 16
_log = logging.getLogger("rerank")


def extract(
    forward: ForwardIndex,
    query_terms: Mapping[str, Sequence[str]],
    run: Run,
    recipe: Recipe | None = None,
    qrels: Qrels | None = None,
    *,
    runs: Mapping[str, Run] | None = None,
    threads: int | None = None,
) -> RankingData:
    """Return the features of every query-document pair of a run.

    query_terms  query id -> tokens as the index's analyser makes them, repetitions included
    recipe       fields, families, parameters; every field, the default families and parameters, where None
    qrels        gives the labels (0 for an unjudged document) and the ideal; no labels where None
    runs         other runs, by name, whose scores and ranks are features
    threads      all cores where None; the result does not depend on it, bit for bit

    Rows stand query by query as in the run, within a query as trec_eval orders them. Raises
    InvalidInputError where the run has a query without terms in `query_terms`, a document that the index
    does not hold or a score that is no finite number, or the recipe a field that the index does not have.
    """
    recipe = _with_runs(recipe or Recipe(), runs or {}).resolve(forward.fields)
    run = run.take(run.trec_order())
    _check_scores(run)
    tokens = _tokens_of(run, query_terms)
    outside = {name: _outside(run, runs[name]) for name in recipe.runs} if runs else {}
    candidates = gather_candidates(forward, tokens, run.query_ptr, _doc_numbers(forward, run), run.scores, outside)
    groups = _computable(forward, column_groups(recipe))
    with kernel_threads(threads, run.n_rows) as count:
        _log.debug("features of %d rows on %d threads", run.n_rows, count)
        X = _fill(forward, candidates, groups, recipe)
    ideal_labels, ideal_ptr = (None, None) if qrels is None else qrels.ideal(run.query_ids)
    return RankingData(
        query_ids=run.query_ids,
        query_ptr=run.query_ptr,
        doc_ids=run.doc_ids,
        X=X,
        feature_names=tuple(name for group in groups for name in group.names),
        labels=None if qrels is None else _labels(qrels, run),
        base_scores=run.scores,
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        recipe=recipe.to_dict(),
        fingerprint=dict(forward.fingerprint),
    )


def _fill(
    forward: ForwardIndex, candidates: Candidates, groups: tuple[ColumnGroup, ...], recipe: Recipe
) -> NDArray[np.float32]:
    X = np.empty((candidates.n_rows, sum(len(group.features) for group in groups)), dtype=np.float32)
    batches = list(candidates.batches(_BATCH_ROWS))
    for rows, batch in track(batches, "features"):
        _fill_batch(forward, batch, groups, recipe, X[rows])
    return X


def _fill_batch(
    forward: ForwardIndex,
    batch: Candidates,
    groups: tuple[ColumnGroup, ...],
    recipe: Recipe,
    out: NDArray[np.float32],
) -> None:
    """Fill the rows of one batch; a field is matched once for all its families, which stand together."""
    first, block = 0, None
    for group in groups:
        last = first + len(group.features)
        if group.field is not None:
            if block is None or block.field is not forward.fields[group.field]:
                block = match(batch, forward.fields[group.field])
            out[:, first:last] = field_columns(group.name, block, recipe)
        elif isinstance(group.family, RunFamily):
            columns = np.empty((batch.n_rows, last - first), dtype=np.float32)
            group.family.fill(batch, recipe, columns)
            out[:, first:last] = columns
        first = last


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


def _with_runs(recipe: Recipe, runs: Mapping[str, Run]) -> Recipe:
    """Return the recipe with the names of the other runs; where it names some, those must be given."""
    if not recipe.runs:
        return replace(recipe, runs=tuple(runs))
    missing = [name for name in recipe.runs if name not in runs]
    if missing:
        raise InvalidInputError(
            f"runs: expected the runs that the recipe names ({', '.join(recipe.runs)}), found none called "
            f"{missing[0]!r}; give it, e.g. --run {missing[0]}=FILE."
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
            f"topics: expected a topic for every query of the run, found none for {len(missing)} of {len(run)}, "
            f"e.g. {missing[0]!r}; add the topics or drop these queries from the run."
        )
    tokens = [query_terms[query_id] for query_id in run]
    for query_id, terms in zip(run, tokens, strict=True):
        if isinstance(terms, str):
            raise InvalidInputError(
                f"topics: expected a list of analysed terms for query {query_id!r}, found text; "
                "analyse it as the index was."
            )
    return tokens


def _doc_numbers(forward: ForwardIndex, run: Run) -> Ints:
    numbers = forward.doc_numbers(run.doc_ids)
    unknown = np.flatnonzero(numbers < 0)
    if len(unknown):
        query_id = run.query_ids[query_rows(run.query_ptr)[unknown[0]]]
        raise InvalidInputError(
            f"run: expected documents that the index holds, found {len(unknown)} of {run.n_rows} rows with "
            f"others, e.g. {str(run.doc_ids[unknown[0]])!r} (query {str(query_id)!r}); use the index that the run "
            "was made on."
        )
    return numbers


def _check_scores(run: Run) -> None:
    wrong = np.flatnonzero(~np.isfinite(run.scores))
    if len(wrong):
        raise InvalidInputError(
            f"run: expected finite scores, found {len(wrong)} others, e.g. {run.scores[wrong[0]]} for document "
            f"{str(run.doc_ids[wrong[0]])!r}; mend the run."
        )
