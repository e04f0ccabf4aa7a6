"""Explaining a ranking: what each feature adds to the scores of two documents, or of one against its query's mean."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.features.candidates import gather_candidates
from rerank.features.columns import column_groups
from rerank.features.normalise import normalised_columns
from rerank.features.recipe import Recipe
from rerank.files.records import RunLike, TopicsLike, run_of, topics_of
from rerank.history.bound import JudgedRelevant
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import Base, CandidateRunBase, FeatureBase, ModelBase, run_scores
from rerank.types import Floats, RankingData, Run, Topics
from rerank.types.ids import id_array
from rerank.workflows.explanation import ExplainedDocument, ExplainedFeature, Explanation
from rerank.workflows.index import Index, opened
from rerank.workflows.rerank import candidate_features, depth_of, find_candidates, with_tail
from rerank.workflows.unsupervised import applied_model

JUDGED_QUERIES = 3  # that are named for a document
_FORMS = {"minmax": "scaled to 0 to 1", "zscore": "in standard deviations from the mean", "rank": "as a rank"}


def explain(
    index: Index | str | Path,
    model: Ranker | str | Path,
    topics: TopicsLike,
    query: str,
    documents: str | Sequence[str],
    run: RunLike | None = None,
    *,
    k: int | None = None,
    base: RunLike | None = None,
) -> Explanation:
    """Explain why one document is ranked above another, or above or below the mean of the candidates of its query.

    Parameters
    ----------
    index, model, topics : as for `rerank`
        The index, the model and the topics.
    query : str
        Id of the query.
    documents : str, or sequence of one or two str
        Ids of two documents to compare, or of one to compare with the mean of the query's candidates. A str is an id,
        or two with a comma between them.
    run : Run, mapping, DataFrame, path or None
        Candidates, or their run file; None is those of the model.
    k : int or None
        Number of documents to rerank. A document of `run` below k is explained as if it had been reranked.
    base : as for `rerank`
        Base scores.

    Returns
    -------
    Explanation
        Ranks and scores of the documents; values, meaning and contribution of each feature. The differences of the
        contributions sum to the difference of the scores, up to rounding.

    Raises
    ------
    InvalidInputError
        If the query is not among the topics, a document is not among the candidates, or contributions are not defined
        for the model (see `Ranker.contributions`).
    ModelMismatchError
        If the model has no recipe or does not fit the index or the candidates.

    """
    base = None if base is None else run_of(base)
    with opened(index) as index:
        model = applied_model(model, index, union=run is None)
        topic, k = _topic(topics_of(topics), query), depth_of(model, k)
        if run is not None:
            run = _of_query(run_of(run), query)
        candidates = find_candidates(index, model, topic, run, k, base)
        doc_ids = _documents(documents, candidates, query)
        ranks = [candidates.doc_ids.tolist().index(doc_id) + 1 for doc_id in doc_ids]
        data = reranked = candidate_features(index, model, topic, candidates, k, whole=True)
        judged = _judged(index, model, topic, doc_ids)
        if max(ranks) > k:
            data = candidate_features(index, model, topic, candidates, max(ranks), whole=True)
    order = with_tail(model.rank(reranked, base=base), candidates, k).doc_ids.tolist()
    ranked = [(doc_id, before, order.index(doc_id) + 1) for doc_id, before in zip(doc_ids, ranks, strict=True)]
    explanation = _explanation(model, topic, data, ranked, base, k)
    first, second = (replace(each, judged=judged.get(each.doc_id, ())) for each in explanation.documents)
    return replace(explanation, documents=(first, second))


def _judged(
    index: Index, model: Ranker, topic: Topics, doc_ids: Sequence[str]
) -> dict[str, tuple[JudgedRelevant, ...]]:
    """Return the similar judged queries to which each document is relevant, by document id.

    There are none where the model has no features of a history.
    """
    history = index.history if (model.recipe_ or {}).get("history") else None
    if history is None:
        return {}
    (query_id,) = topic
    empty = np.zeros(0, dtype=np.int64)
    tokens = index.searcher.analyze([topic[query_id]])
    asked = gather_candidates(index.forward, tokens, np.zeros(2, dtype=np.int64), empty, np.zeros(0))
    learned, numbers = history.on(index.forward), index.forward.doc_numbers(id_array(list(doc_ids)))
    return {
        doc_id: tuple(learned.judged_relevant(asked, 0, query_id, number, JUDGED_QUERIES))
        for doc_id, number in zip(doc_ids, numbers.tolist(), strict=True)
    }


@dataclass(frozen=True)
class _Scores:
    """Scores of the candidates: (n_rows,) scores and base scores, (n_rows, n_features) values and contributions."""

    scores: Floats
    base: Floats
    values: Floats
    contributions: Floats
    constants: Floats

    def of(self, rows: int | slice) -> tuple[Floats, Floats, list[float]]:
        """Return values, contributions, and (score, base score, constant) of a row, or the means over all rows."""
        parts = [np.atleast_2d(part[rows]) for part in (self.values, self.contributions)]
        with warnings.catch_warnings(action="ignore"):  # a feature that all documents lack
            values = np.nanmean(parts[0], axis=0)
        return (
            values,
            parts[1].mean(axis=0),
            [float(np.mean(x[rows])) for x in (self.scores, self.base, self.constants)],
        )


def _explanation(
    model: Ranker, topic: Topics, data: RankingData, ranked: list[tuple[str, int, int]], base: Run | None, k: int
) -> Explanation:
    """Return the explanation of documents, given with their ranks before and after, whose features are in the data."""
    scored = _scored(model, data, base)
    doc_ids = data.doc_ids.tolist()
    sides: list[tuple[str, int | None, int | None, Any]] = [
        (*ranks, scored.of(doc_ids.index(ranks[0]))) for ranks in ranked
    ]
    if len(sides) == 1:
        sides.append(("", None, None, scored.of(slice(None))))
    documents = [ExplainedDocument(doc_id, before, after, *parts[2]) for doc_id, before, after, parts in sides]
    (values, added, _), (other_values, other_added, _) = (side[-1] for side in sides)
    meanings = feature_meanings(Recipe.from_dict(data.recipe or {}))
    features = []
    for column, name in enumerate(model.feature_names_):
        meaning, unit, evidence = meanings.get(name, ("a feature of the model", "", ""))
        pair = (float(values[column]), float(other_values[column]))
        contributions = (float(added[column]), float(other_added[column]))
        features.append(ExplainedFeature(name, meaning, unit, pair, contributions, evidence))
    (query_id,) = topic
    return Explanation(
        query_id=query_id,
        query=topic[query_id],
        model=model.kind,
        base=_base_in_words(model.base_, base),
        k=k,
        n_candidates=data.n_rows,
        documents=(documents[0], documents[1]),
        features=tuple(sorted(features, key=lambda feature: -abs(feature.difference))),
    )


def _scored(model: Ranker, data: RankingData, base: Run | None) -> _Scores:
    contributions = model.contributions(data, base=base)
    return _Scores(
        scores=model.predict(data, base=base),
        base=model.base_.scores(data) if base is None else run_scores(base, data),
        values=np.column_stack([data.column(name) for name in model.feature_names_]),
        contributions=contributions[:, :-1],
        constants=contributions[:, -1],
    )


def feature_meanings(recipe: Recipe) -> dict[str, tuple[str, str, str]]:
    """Return meaning, unit and evidence of each column of a recipe with explicit names.

    Field and normalisation are part of the meaning; the evidence is that of the family, with the field.
    """
    groups = column_groups(recipe)
    names = [name for group in groups for name in group.names]
    forms = {
        names[column]: form
        for form, columns in normalised_columns(recipe.normalisation, names).items()
        for column in columns.tolist()
    }
    meanings = {}
    for group in groups:
        for name, feature in zip(group.names, group.features, strict=True):
            form = f", {_FORMS[forms[name]]} within the query" if name in forms else ""
            unit = "" if name in forms else feature.unit
            evidence = group.family.evidence if group.field is None else f"{group.field} {group.family.evidence}"
            meanings[name] = _with_field(feature.meaning.rstrip("."), group.field) + form, unit, evidence
    return meanings


def _with_field(meaning: str, field: str | None) -> str:
    """Return the meaning of a feature with the name of its field."""
    if field is None:
        return meaning
    named = meaning.replace("the field", f"the field {field}", 1)
    return named if named != meaning else f"{meaning}, field {field}"


def _base_in_words(base: Base, run: Run | None) -> str:
    """Return what a model starts from, in words; empty for a cold start."""
    if run is not None:
        return f"the score of the run {run.name}"
    if isinstance(base, CandidateRunBase):
        return "the score of the candidates' run"
    if isinstance(base, FeatureBase):
        return f"the feature {base.name}"
    return f"the score of another model ({base.model.kind})" if isinstance(base, ModelBase) else ""


def _topic(topics: Topics, query: str) -> Topics:
    """Return the topics with one query only."""
    if query not in topics:
        raise InvalidInputError(
            f"query: expected one of the {len(topics)} topics, got {shown(query)}. Give the id of a topic, "
            f"e.g. {shown(next(iter(topics)))}."
        )
    return Topics({query: topics[query]})


def _of_query(run: Run, query: str) -> Run:
    """Return the run of one query."""
    if query not in run:
        raise InvalidInputError(
            f"run: expected candidates of query {shown(query)}, got none. Give a run that covers it."
        )
    return run.select(run.query_numbers([query]))


def _documents(documents: str | Sequence[str], candidates: Run, query: str) -> list[str]:
    """Return the ids of one or two candidates; an id may contain commas."""
    known = set(candidates.doc_ids.tolist())
    chosen = [documents] if isinstance(documents, str) else list(documents)
    if len(chosen) == 1 and chosen[0] not in known:
        commas = [position for position, letter in enumerate(chosen[0]) if letter == ","]
        pairs = [[chosen[0][:comma], chosen[0][comma + 1 :]] for comma in commas]
        chosen = next((pair for pair in pairs if known.issuperset(pair)), pairs[0] if pairs else chosen)
    missing = [doc_id for doc_id in chosen if doc_id not in known]
    if missing:
        raise InvalidInputError(
            f"documents: expected documents among the {len(known)} candidates of query {shown(query)}, got "
            f"{shown(missing[0])}. Raise k, or give a run that holds it."
        )
    if not 1 <= len(set(chosen)) == len(chosen) <= 2:
        raise InvalidInputError(
            f"documents: expected one document or two different ones, got {shown(chosen)}. Name two, e.g. A,B."
        )
    return chosen
