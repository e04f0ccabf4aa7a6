"""Why a document is ranked where it is: what each feature adds to its score, against another document or the mean.

The mean is that of the query's candidates. An explanation is shown in words, as a table, as JSON and as a page.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, log, shown
from rerank.evaluation.page import Account, Section
from rerank.features.columns import column_groups
from rerank.features.normalise import normalisations
from rerank.features.recipe import Recipe
from rerank.files.inputs import RunLike, TopicsLike, run_of, topics_of
from rerank.index.bound_model import BoundModel, Scored
from rerank.index.index import Index, opened
from rerank.rankers.bases import NoBase, OtherRunBase, run_scores
from rerank.rankers.ranker import Ranker
from rerank.types import Run, Topics

Pair = tuple[float, float]
TABLE_ROWS = 20  # features of the table; the page has all
NAMED_EVIDENCE = 6  # kinds of evidence that a sentence names
NAMED, OPPOSED = 3, 2  # features that a sentence names: for the difference, and against it
LEAST_SHARE = 1e-6  # of the largest contribution: smaller ones are rounding
NO_FEATURE = "(no feature)"
BASE = "(base)"
COLUMNS = "Values of the features, what they add to each score, and the difference; the columns sum to the scores."
_FORMS = {"minmax": "scaled to 0 to 1", "zscore": "in standard deviations from the mean", "rank": "as a rank"}


@dataclass(frozen=True)
class ExplainedDocument:
    """A document, or the mean of the candidates.

    Parameters
    ----------
    doc_id : str
        The document; empty for the mean of the candidates.
    rank_before, rank_after : int or None
        Ranks in the candidates and after reranking, from 1; None for the mean.
    score : float
        The model's score.
    base_score : float
        The part of the score that the model starts from; 0 for a model without a base.
    constant : float
        The part of the score that no feature adds: the expected score of the model, and the score of a base run.

    """

    doc_id: str
    rank_before: int | None
    rank_after: int | None
    score: float
    base_score: float
    constant: float

    @property
    def label(self) -> str:
        """The document id, or `mean`."""
        return self.doc_id or "mean"


@dataclass(frozen=True)
class ExplainedFeature:
    """A feature of two documents, or of one and of the mean of the candidates.

    Parameters
    ----------
    name : str
        The feature.
    meaning, unit : str
        Its documentation.
    values : tuple of two floats
        Its values, as the model reads them; NaN is missing. The mean is that of the values that are not missing.
    contributions : tuple of two floats
        What it adds to the two scores.
    evidence : str
        What its family is about, e.g. "title match"; empty where the data do not say what the feature is.

    """

    name: str
    meaning: str
    unit: str
    values: Pair
    contributions: Pair
    evidence: str = ""

    @property
    def difference(self) -> float:
        """What the feature adds to the difference of the scores."""
        return self.contributions[0] - self.contributions[1]


@dataclass(frozen=True, repr=False)
class Explanation(Account):
    """Which features put a document above another one, or above the mean of the candidates.

    `print(explanation)` shows it in words and as a table; `to_dict` and `to_html` give other forms.

    Parameters
    ----------
    query_id, query : str
        The query and its text.
    model : str
        The kind of the ranker.
    base : str
        What the model starts from, in words; empty for a model without a base.
    n_candidates : int
        Number of documents that are reranked.
    documents : tuple of two ExplainedDocument
        The documents that are compared; the second may be the mean of the candidates.
    features : tuple of ExplainedFeature
        All features of the model, ordered by the absolute value of their contribution to the difference.

    """

    query_id: str
    query: str
    model: str
    base: str
    n_candidates: int
    documents: tuple[ExplainedDocument, ExplainedDocument]
    features: tuple[ExplainedFeature, ...]

    @property
    def difference(self) -> float:
        """Score of the first document minus that of the second."""
        return self.documents[0].score - self.documents[1].score

    @property
    def rest(self) -> float:
        """The part of the difference that no feature adds: the difference of the scores of a base run."""
        return self.documents[0].constant - self.documents[1].constant

    @cached_property
    def largest_part(self) -> float:
        """Size of the largest contribution to a score, or of the part that no feature adds."""
        sizes = [abs(part) for feature in self.features for part in feature.contributions]
        return max([*sizes, abs(self.rest)])

    def counts(self, value: float) -> bool:
        """Return whether a difference is more than rounding."""
        return abs(value) > LEAST_SHARE * self.largest_part

    @property
    def side(self) -> str:
        """Whether the first document is above or below the second: by rank, or by score where one is the mean."""
        first, second = (document.rank_after for document in self.documents)
        lead = self.difference if first is None or second is None else second - first
        return "above" if lead > 0 else "below" if lead < 0 else "at"

    @property
    def title(self) -> str:  # type: ignore[override]
        """What is explained, as a heading."""
        first, second = self.documents
        return f"Why {first.doc_id} is {self.side} {second.doc_id or 'the mean of its query'}"

    @property
    def subtitle(self) -> str:  # type: ignore[override]
        """The query."""
        return f"Query {self.query_id}: {self.query}"

    def sentences(self) -> list[str]:
        """Return the explanation in plain words: ranks, kinds of evidence, features, and the base."""
        sentences = [_ranks_sentence(self), *_evidence_sentence(self), _reasons_sentence(self)]
        if self.base:
            scores = _of_both(self, [document.base_score for document in self.documents])
            part = "" if self.counts(self.rest) else "; the contributions of the features include it"
            sentences.append(f"The model starts from {self.base} ({scores}){part}.")
        return sentences

    def by_evidence(self) -> dict[str, float]:
        """Return what the features of each kind of evidence add to the difference, the largest first.

        Returns
        -------
        dict of str to float
            The sums by kind: "title match", "body proximity" and so on, and what the model starts from.

        """
        sums: dict[str, float] = {}
        for feature in self.features:
            sums[feature.evidence] = sums.get(feature.evidence, 0.0) + feature.difference
        if self.counts(self.rest):
            sums[self.base or BASE] = sums.get(self.base or BASE, 0.0) + self.rest
        return dict(sorted(sums.items(), key=lambda item: -abs(item[1])))

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values; a missing value is None."""
        parts = {"words": self.sentences(), "difference": self.difference, "difference_of_no_feature": self.rest}
        return {**super().to_dict(), **parts}

    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the sections of the text, or of the page."""
        lines = [line for sentence in self.sentences() for line in sentence.splitlines()]
        sections = [Section("Summary", lines), _contributions(self, len(self.features) if page else TABLE_ROWS)]
        if page:
            meanings = [[feature.name, feature.meaning, feature.unit] for feature in self.features]
            header = ["feature", "meaning", "unit"]
            sections.append(Section("Meaning of the features", (), meanings, header, len(header)))
        return sections


def _number(value: float) -> str:
    """Return a value with four digits, or `missing`."""
    return "missing" if isnan(value) else f"{value:.4g}"


def _signed(*values: float) -> list[str]:
    """Return values with a sign and four digits."""
    return [f"{value:+.4g}" for value in values]


def _of_both(explanation: Explanation, values: Sequence[float]) -> str:
    """Return the values of the two documents with their labels."""
    first, second = explanation.documents
    return f"{first.label} {_number(values[0])}, {second.label} {_number(values[1])}"


def _listed(parts: list[tuple[float, str]], most: int) -> str:
    """Return the first `most` phrases, and the sum of the values of the others.

    parts  value and phrase of each
    """
    others = len(parts) - most
    total = sum(value for value, _ in parts[most:])
    verb = "add" if total > 0 else "take"
    more = [f"{others} others {verb} {abs(total):.4g} together"] if others > 1 else [text for _, text in parts[most:]]
    return "; ".join([*(text for _, text in parts[:most]), *more])


def _ranks_sentence(explanation: Explanation) -> str:
    """Return a sentence for each document with its ranks and its score."""
    return "\n".join(
        f"{document.doc_id}: rank {document.rank_before} of the candidates, {document.rank_after} after reranking, "
        f"score {document.score:.6g}."
        if document.doc_id
        else f"Mean of the {explanation.n_candidates} candidates: score {document.score:.6g}."
        for document in explanation.documents
    )


def _evidence_sentence(explanation: Explanation) -> list[str]:
    """Return a sentence of what the kinds of evidence add, none where the data do not say what the features are."""
    if not any(feature.evidence for feature in explanation.features):
        return []
    parts = [
        (value, f"{name or 'other features'} {value:+.4g}")
        for name, value in explanation.by_evidence().items()
        if explanation.counts(value)
    ]
    first, second = explanation.documents
    text = f"{first.doc_id} beside {second.doc_id or 'the mean of its candidates'}, by evidence: "
    return [f"{text}{_listed(parts, NAMED_EVIDENCE)}."] if parts else []


def _reasons_sentence(explanation: Explanation) -> str:
    """Return the sentence that names the features with the largest contributions for and against the first document."""
    first, second = explanation.documents
    other = second.doc_id or f"the mean of its {explanation.n_candidates} candidates"
    gap = explanation.difference
    reasons = [
        (feature.difference, feature.name, feature.values, f": {feature.meaning}") for feature in explanation.features
    ]
    reasons.append((explanation.rest, explanation.base or BASE, (first.base_score, second.base_score), ""))
    parts = [
        (
            value,
            f"{name} {'adds' if value > 0 else 'takes'} {abs(value):.4g} ({_of_both(explanation, values)}{meaning})",
        )
        for value, name, values, meaning in sorted(reasons, key=lambda reason: -abs(reason[0]))
        if explanation.counts(value)
    ]
    if not parts:
        reason = ": equal scores are ordered by document id, descending" if second.doc_id else ""
        return f"No feature distinguishes {first.doc_id} from {other}{reason}."
    leading = [part for part in parts if (part[0] > 0) == (gap >= 0)]
    opposing = [part for part in parts if (part[0] > 0) != (gap >= 0)]
    head = f"{first.doc_id} is {explanation.side} {other} by {abs(gap):.4g}"
    text = f"{head}: {_listed(leading, NAMED)}." if leading else f"{head}."
    return f"{text} Against this, {_listed(opposing, OPPOSED)}." if opposing else text


def _contributions(explanation: Explanation, most: int) -> Section:
    """Return the table of contributions: the `most` largest differences, the sum of the others, the rest, scores."""
    n_listed = min(most, sum(explanation.counts(feature.difference) for feature in explanation.features))
    others = explanation.features[n_listed:]
    rows = [
        [feature.name, *map(_number, feature.values), *_signed(*feature.contributions, feature.difference)]
        for feature in explanation.features[:n_listed]
    ]
    if others:
        sums = [sum(feature.contributions[column] for feature in others) for column in (0, 1)]
        rows.append([f"{len(others)} others", "", "", *_signed(*sums, sums[0] - sums[1])])
    first, second = explanation.documents
    rest = explanation.rest if explanation.counts(explanation.rest) else 0.0
    rows += [
        [NO_FEATURE, "", "", *_signed(first.constant, second.constant, rest)],
        ["score", "", "", *_signed(first.score, second.score, explanation.difference)],
    ]
    labels = [first.label, second.label]
    header = ["feature", *labels, *(f"adds to {label}" for label in labels), "difference"]
    return Section("Contributions", [COLUMNS], rows, header, 1)


def explain(
    index: Index | str | Path,
    model: Ranker | str | Path,
    topics: TopicsLike,
    query: str,
    documents: str | Sequence[str],
    run: RunLike | None = None,
    *,
    base: RunLike | None = None,
) -> Explanation:
    """Explain why one document is ranked above another, or above or below the mean of the candidates of its query.

    Scores and ranks are those of the model alone; what a scorer of the index changes in them is not explained.

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
        Candidates, or their run file; None is those of the model. Documents that the model reranks can be explained: as
        many of each query as in its training.
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
        If the query is not among the topics, a document is not among those reranked, or contributions are not defined
        for the model (see `Ranker.contributions`).
    ModelMismatchError
        If the model has no recipe or does not fit the index or the candidates.

    """
    base = None if base is None else run_of(base)
    with opened(index) as searched:
        bound = BoundModel.of(searched, model, union=run is None)
        topic = _topic(topics_of(topics), query)
        if run is not None:
            run = _of_query(run_of(run), query)
        k = bound.depth(None, run)
        candidates = bound.find_candidates(topic, run, k, base)
        scored = bound.scored(bound.features(candidates, topic, candidates.among_first(k), whole=True), base)
        if (last := bound.last_stage()) is not None:
            stage, scorer = last
            log.warning("explain: ranks are those before %s orders the first %d.", scorer.name, stage.depth)
    model = bound.model
    doc_ids = _documents(documents, scored.data.doc_ids.tolist(), query)
    orders = [order.doc_ids.tolist() for order in (candidates, scored.run(model.kind))]
    ranked = [(doc_id, *(order.index(doc_id) + 1 for order in orders)) for doc_id in doc_ids]
    (first, own, added), (second, others, others_added) = _sides(bound, scored, ranked)
    meanings = feature_meanings(Recipe.from_dict(scored.data.recipe or {}))
    features = []
    for column, name in enumerate(model.feature_names_):
        meaning, unit, evidence = meanings.get(name, ("a feature of the model", "", ""))
        pairs = (own[column], others[column]), (added[column], others_added[column])
        features.append(ExplainedFeature(name, meaning, unit, *pairs, evidence))
    features.sort(key=lambda feature: -abs(feature.difference))
    start = "" if isinstance(model.base_, NoBase) else str(model.base_ if base is None else OtherRunBase(base.name))
    return Explanation(query, topic[query], model.kind, start, scored.data.n_rows, (first, second), tuple(features))


def _sides(
    bound: BoundModel, scored: Scored, ranked: Sequence[tuple[Any, ...]]
) -> list[tuple[ExplainedDocument, list[float], list[float]]]:
    """Return two documents, each with its features' values and contributions; a single one is compared with the mean.

    ranked  id, rank before and rank after of one or two documents
    """
    data = scored.data
    contributions = bound.contributions(scored)
    base_scores = bound.model.base_.scores(data) if scored.base is None else run_scores(scored.base, data)
    totals = np.column_stack([scored.scores, base_scores, contributions[:, -1]])
    values = np.column_stack([data.column(name) for name in bound.model.feature_names_])
    sides = []
    for doc_id, before, after in [*ranked, ("", None, None)][:2]:
        rows = data.doc_ids == doc_id if doc_id else np.ones(data.n_rows, dtype=np.bool_)
        with warnings.catch_warnings(action="ignore"):  # a feature that all documents lack
            means = np.nanmean(values[rows], axis=0)
            # Smaller means are rounding, e.g. of standardised scores.
            means[np.abs(means) < 1e-6 * np.nanmax(np.abs(values[rows]), axis=0)] = 0.0
        document = ExplainedDocument(doc_id, before, after, *totals[rows].mean(axis=0).tolist())
        sides.append((document, means.tolist(), contributions[rows, :-1].mean(axis=0).tolist()))
    return sides


def feature_meanings(recipe: Recipe) -> dict[str, tuple[str, str, str]]:
    """Return meaning, unit and evidence of each column of a recipe with explicit names.

    Field and normalisation are part of the meaning; the evidence is that of the family, with the field.
    """
    groups = column_groups(recipe)
    forms = normalisations(recipe.normalisation, [name for group in groups for name in group.names])
    meanings = {}
    for group in groups:
        for name, feature in zip(group.names, group.features, strict=True):
            meaning = feature.meaning.rstrip(".")
            evidence = group.family.evidence
            if group.field is not None:
                in_field = meaning.replace("the field", f"the field {group.field}", 1)
                meaning = in_field if in_field != meaning else f"{meaning}, field {group.field}"
                evidence = f"{group.field} {evidence}"
            if name in forms:
                meanings[name] = f"{meaning}, {_FORMS[forms[name]]} within the query", "", evidence
            else:
                meanings[name] = meaning, feature.unit, evidence
    return meanings


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


def _documents(documents: str | Sequence[str], reranked: Sequence[str], query: str) -> list[str]:
    """Return the ids of one or two of the documents that are reranked; an id may contain commas."""
    known = set(reranked)
    chosen = [documents] if isinstance(documents, str) else list(documents)
    if len(chosen) == 1 and chosen[0] not in known:
        text = chosen[0]
        pairs = [[text[:place], text[place + 1 :]] for place, letter in enumerate(text) if letter == ","]
        chosen = next((pair for pair in pairs if known.issuperset(pair)), pairs[0] if pairs else chosen)
    missing = [doc_id for doc_id in chosen if doc_id not in known]
    if missing:
        raise InvalidInputError(
            f"documents: expected documents among the {len(known)} that are reranked for query {shown(query)}, got "
            f"{shown(missing[0])}. Give a run that holds it."
        )
    if not 1 <= len(set(chosen)) == len(chosen) <= 2:
        raise InvalidInputError(
            f"documents: expected one document or two different ones, got {shown(chosen)}. Name two, e.g. A,B."
        )
    return chosen
