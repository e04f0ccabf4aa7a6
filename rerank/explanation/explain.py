"""Why a document is ranked where it is: what each feature adds, as records, in words, as a table, JSON and a page.

Explaining a ranking: what each feature adds to the scores of two documents, or of one against its query's mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.evaluation.page.figures import Element, difference_list, element, page_text, scrolling, section, table
from rerank.features.base import column_groups
from rerank.features.extract import normalisations
from rerank.features.match import gather_candidates
from rerank.features.recipe import Recipe
from rerank.files.lists import RunLike, TopicsLike, run_of, topics_of
from rerank.history.base import JudgedRelevant
from rerank.index.index import Index, opened
from rerank.pipeline.applying import applied_model
from rerank.pipeline.rerank import candidate_features, depth_of, find_candidates, with_tail
from rerank.rankers.ranker import Ranker
from rerank.rankers.warm_start import Base, CandidateRunBase, FeatureBase, ModelBase, run_scores
from rerank.types import Floats, RankingData, Run, Topics
from rerank.types.frames import new_frame
from rerank.types.ids import id_array
from rerank.types.query_table import Shown, text_table

Pair = tuple[float, float]


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
    judged : tuple of JudgedRelevant
        The most similar judged queries to which the document is relevant, where the model has a history.

    """

    doc_id: str
    rank_before: int | None
    rank_after: int | None
    score: float
    base_score: float
    constant: float
    judged: tuple[JudgedRelevant, ...] = ()

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
class Explanation(Shown):
    """Which features put a document above another one, or above the mean of the candidates.

    `print(explanation)` shows it in words and as a table; `to_dict`, `to_frame` and `to_html` give other forms.

    Parameters
    ----------
    query_id, query : str
        The query and its text.
    model : str
        The kind of the ranker.
    base : str
        What the model starts from, in words; empty for a model without a base.
    k : int
        Number of documents that are reranked.
    n_candidates : int
        Number of documents for which features and scores were computed. It is larger than k if an explained document
        is below rank k; its score is then the one that it would have if it had been reranked.
    documents : tuple of two ExplainedDocument
        The documents that are compared; the second may be the mean of the candidates.
    features : tuple of ExplainedFeature
        All features of the model, ordered by the absolute value of their contribution to the difference.

    """

    query_id: str
    query: str
    model: str
    base: str
    k: int
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

    @property
    def title(self) -> str:
        """What is explained, as a heading."""
        first, second = self.documents
        return f"Why {first.doc_id} is {rank_side(self)} {second.doc_id or 'the mean of its query'}"

    def __str__(self) -> str:
        """Return the explanation in words and as a table."""
        header, rows = table_rows(self, TABLE_ROWS)
        return "\n\n".join([f"Query {self.query_id}: {self.query}", *self.sentences(), text_table(rows, header)])

    def summary(self) -> str:
        """Return the sentence that names the features."""
        return reasons_sentence(self)

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the column names, the first n features, and the number of features."""
        rows = [feature_row(feature) for feature in self.features[:n]]
        return table_header(self), rows, len(self.features)

    def sentences(self) -> list[str]:
        """Return the explanation in plain words: ranks, kinds of evidence, features, and notes."""
        return [ranks_sentence(self), *evidence_sentence(self), reasons_sentence(self), *further_sentences(self)]

    def by_evidence(self) -> dict[str, float]:
        """Return what the features of each kind of evidence add to the difference, the largest first.

        Returns
        -------
        dict of str to float
            "title match", "body proximity" and so on, and what the model starts from.

        """
        sums: dict[str, float] = {}
        for feature in self.features:
            sums[feature.evidence] = sums.get(feature.evidence, 0.0) + feature.difference
        if _counts(self, self.rest):
            sums[self.base or BASE] = sums.get(self.base or BASE, 0.0) + self.rest
        return dict(sorted(sums.items(), key=lambda item: -abs(item[1])))

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values; a missing value is None."""
        return {
            "query_id": self.query_id,
            "query": self.query,
            "model": self.model,
            "base": self.base,
            "k": self.k,
            "n_candidates": self.n_candidates,
            "words": self.sentences(),
            "difference": self.difference,
            "difference_of_no_feature": self.rest,
            "documents": [
                {
                    **vars(document),
                    "doc_id": document.doc_id or None,
                    "judged": [vars(each) for each in document.judged],
                }
                for document in self.documents
            ],
            "features": [
                {
                    **vars(feature),
                    "values": [None if isnan(value) else value for value in feature.values],
                    "contributions": list(feature.contributions),
                    "difference": feature.difference,
                }
                for feature in self.features
            ],
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each feature: values, contributions, difference, meaning, unit."""
        first, second = (document.label for document in self.documents)
        columns = {
            "feature": [feature.name for feature in self.features],
            f"value {first}": [feature.values[0] for feature in self.features],
            f"value {second}": [feature.values[1] for feature in self.features],
            f"contribution {first}": [feature.contributions[0] for feature in self.features],
            f"contribution {second}": [feature.contributions[1] for feature in self.features],
            "difference": [feature.difference for feature in self.features],
            "meaning": [feature.meaning for feature in self.features],
            "unit": [feature.unit for feature in self.features],
        }
        return new_frame(columns)

    def to_html(self) -> str:
        """Return the explanation as a self-contained page with a chart."""
        return html_page(self)


NAMED_EVIDENCE = 6
NAMED, OPPOSED = 3, 2  # features that the sentence names: those for the difference, and those against it
TABLE_ROWS = 20
LEAST_SHARE = 1e-6  # of the largest contribution: smaller ones are rounding
NO_FEATURE = "(no feature)"
BASE = "(base)"


def bars(explanation: Explanation, n: int) -> list[tuple[str, float]]:
    """Return the n largest differences by name, the part of no feature among them, and the sum of the others."""
    rows = [(feature.name, feature.difference) for feature in explanation.features]
    if _counts(explanation, explanation.rest):
        rows.append((explanation.base or BASE, explanation.rest))
    rows = sorted((row for row in rows if _counts(explanation, row[1])), key=lambda row: -abs(row[1]))
    if len(rows) <= n:
        return rows
    return [*rows[: n - 1], (f"{len(rows) - n + 1} others", sum(value for _, value in rows[n - 1 :]))]


def number(value: float) -> str:
    """Return a value with four digits, or `missing`."""
    return "missing" if isnan(value) else f"{value:.4g}"


def _counts(explanation: Explanation, value: float) -> bool:
    """Return whether a difference is more than rounding."""
    return abs(value) > LEAST_SHARE * explanation.largest_part


def rank_side(explanation: Explanation) -> str:
    """Return whether the first document is above or below the second: by rank, or by score where one is the mean."""
    first, second = explanation.documents
    if first.rank_after is None or second.rank_after is None:
        return _side_by_score(explanation)
    return "above" if first.rank_after < second.rank_after else "below"


def _side_by_score(explanation: Explanation) -> str:
    return "above" if explanation.difference > 0 else "below" if explanation.difference < 0 else "at"


def ranks_sentence(explanation: Explanation) -> str:
    """Return a sentence for each document with its ranks and its score."""
    parts = [
        f"{document.doc_id}: rank {document.rank_before} of the candidates, {document.rank_after} after reranking, "
        f"score {document.score:.6g}."
        for document in explanation.documents
        if document.doc_id
    ]
    mean = next((document for document in explanation.documents if not document.doc_id), None)
    if mean is not None:
        parts.append(f"Mean of the {explanation.n_candidates} candidates: score {mean.score:.6g}.")
    return "\n".join(parts)


def reasons_sentence(explanation: Explanation) -> str:
    """Return the sentence that names the features with the largest contributions for and against the first document."""
    first, second = explanation.documents
    other = second.doc_id or f"the mean of its {explanation.n_candidates} candidates"
    gap = explanation.difference
    parts = [(feature.difference, _phrase(explanation, feature)) for feature in explanation.features]
    parts.append((explanation.rest, _base_phrase(explanation)))
    parts = [part for part in sorted(parts, key=lambda part: -abs(part[0])) if _counts(explanation, part[0])]
    if not parts:
        reason = ": equal scores are ordered by document id, descending" if second.doc_id else ""
        return f"No feature distinguishes {first.doc_id} from {other}{reason}."
    adds = [part for part in parts if part[0] > 0]
    takes = [part for part in parts if part[0] < 0]
    leading, opposing = (adds, takes) if gap >= 0 else (takes, adds)
    side = _side_by_score(explanation)
    head = f"is {side} {other} by {abs(gap):.4g}"
    if side != rank_side(explanation):
        head = f"scores {abs(gap):.4g} {'more' if gap > 0 else 'less'} than {other}"
    text = f"{first.doc_id} {head}: {_listed(leading, NAMED)}." if leading else f"{first.doc_id} {head}."
    return f"{text} Against this, {_listed(opposing, OPPOSED)}." if opposing else text


def evidence_sentence(explanation: Explanation) -> list[str]:
    """Return a sentence of what the kinds of evidence add, none where the data do not say what the features are."""
    if not any(feature.evidence for feature in explanation.features):
        return []
    parts = [
        (value, f"{name or 'other features'} {value:+.4g}")
        for name, value in explanation.by_evidence().items()
        if _counts(explanation, value)
    ]
    if not parts:
        return []
    first, second = explanation.documents
    other = second.doc_id or "the mean of its candidates"
    return [f"{first.doc_id} beside {other}, by evidence: {_listed(parts, NAMED_EVIDENCE)}."]


def _phrase(explanation: Explanation, feature: ExplainedFeature) -> str:
    """Return what a feature adds or takes, with its values and its meaning."""
    verb = "adds" if feature.difference > 0 else "takes"
    values = _of_both(explanation, feature.values)
    return f"{feature.name} {verb} {abs(feature.difference):.4g} ({values}: {feature.meaning})"


def _base_phrase(explanation: Explanation) -> str:
    first, second = explanation.documents
    verb = "adds" if explanation.rest > 0 else "takes"
    scores = _of_both(explanation, (first.base_score, second.base_score))
    return f"{explanation.base or BASE} {verb} {abs(explanation.rest):.4g} ({scores})"


def _of_both(explanation: Explanation, values: Sequence[float]) -> str:
    first, second = explanation.documents
    return f"{first.label} {number(values[0])}, {second.label} {number(values[1])}"


def _listed(parts: list[tuple[float, str]], most: int) -> str:
    """Return the first phrases, and the sum of the others."""
    others = len(parts) - most
    total = sum(value for value, _ in parts[most:])
    verb = "add" if total > 0 else "take"
    more = [f"{others} others {verb} {abs(total):.4g} together"] if others > 1 else [text for _, text in parts[most:]]
    return "; ".join([*(text for _, text in parts[:most]), *more])


def further_sentences(explanation: Explanation) -> list[str]:
    """Return what the reader must know beside the sentence: a base, documents below k, an order by rank."""
    first, second = explanation.documents
    notes = []
    if explanation.base:
        scores = _of_both(explanation, (first.base_score, second.base_score))
        part = "" if _counts(explanation, explanation.rest) else "; the contributions of the features include it"
        notes.append(f"The model starts from {explanation.base} ({scores}){part}.")
    for document in explanation.documents:
        if document.judged:
            queries = "; ".join(
                f"{each.query_id} ({each.terms}; label {each.label:g}, cosine {each.cosine:.2f})"
                for each in document.judged
            )
            notes.append(f"{document.doc_id} is judged relevant for similar queries: {queries}.")
    below = [document for document in explanation.documents if (document.rank_before or 0) > explanation.k]
    for document in below:
        notes.append(
            f"{document.doc_id} is ranked {document.rank_before} in the candidates, below k = {explanation.k}, and is "
            f"not reranked. Scores and contributions are those of a reranking of {explanation.n_candidates} candidates."
        )
    if below and second.doc_id and explanation.difference and rank_side(explanation) != _side_by_score(explanation):
        notes.append(f"{first.doc_id} is {rank_side(explanation)} {second.doc_id} because of k, not of the model.")
    return notes


def table_header(explanation: Explanation) -> list[str]:
    """Return the names of the columns of `feature_row`."""
    first, second = (document.label for document in explanation.documents)
    return ["feature", first, second, f"adds to {first}", f"adds to {second}", "difference", "meaning"]


def feature_row(feature: ExplainedFeature) -> list[Any]:
    """Return name, values, contributions, difference and meaning of a feature."""
    values = [number(value) for value in feature.values]
    return [feature.name, *values, *feature.contributions, feature.difference, feature.meaning]


def table_rows(explanation: Explanation, n: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of text: the n features that differ most, then the others, no feature, and the sums."""
    counted = [_counts(explanation, feature.difference) for feature in explanation.features]
    n_listed = sum(counted) if n is None else min(n, sum(counted))
    listed = explanation.features[:n_listed]
    others = explanation.features[n_listed:]
    rows = [
        [feature.name, *map(number, feature.values), *_signed(*feature.contributions, feature.difference)]
        for feature in listed
    ]
    if others:
        sums = [sum(feature.contributions[column] for feature in others) for column in (0, 1)]
        rows.append([f"{len(others)} others", "", "", *_signed(*sums, sums[0] - sums[1])])
    first, second = explanation.documents
    rest = explanation.rest if _counts(explanation, explanation.rest) else 0.0
    rows.append([NO_FEATURE, "", "", *_signed(first.constant, second.constant, rest)])
    rows.append(["score", "", "", *_signed(first.score, second.score, explanation.difference)])
    return table_header(explanation)[:-1], rows


def _signed(*values: float) -> list[str]:
    return [f"{value:+.4g}" for value in values]


BARS = 15


def html_page(explanation: Explanation) -> str:
    """Return the page as text."""
    sentences = explanation.sentences()[1:]  # the ranks are on the cards
    cards = element("div", [_card(explanation, document) for document in explanation.documents], class_="cards")
    words = element("div", [element("p", sentence) for sentence in sentences], class_="words")
    sections = [section("summary", "Summary", cards, words)]
    if bars(explanation, BARS):
        sections.append(section("chart", "Largest contributions", _chart(explanation)))
    sections += [
        section("contributions", "Contributions", _contributions(explanation)),
        section("features", "Meaning of the features", _meanings(explanation)),
    ]
    return page_text(explanation.title, f"Query {explanation.query_id}: {explanation.query}", sections)


def _card(explanation: Explanation, document: ExplainedDocument) -> Element:
    """Return a document's score in large type, with its ranks."""
    if not document.doc_id:
        ranks = f"{explanation.n_candidates} candidates"
    else:
        ranks = f"rank {document.rank_before} before, rank {document.rank_after} after reranking"
    return element(
        "div",
        element("h3", document.doc_id or "Mean of the candidates", class_="keys"),
        element("p", element("strong", number(document.score)), " score", class_="big"),
        element("p", ranks, class_="quiet"),
        class_="card",
    )


def _chart(explanation: Explanation) -> Element:
    rows = bars(explanation, BARS)
    description = ", ".join(f"{name} {value:+.4g}" for name, value in rows)
    chart = difference_list("contributions-chart", explanation.title, description, rows, _axis_label(explanation))
    first, second = (document.doc_id or "the mean" for document in explanation.documents)
    caption = f"What each feature adds to the score of {first} minus that of {second}."
    return element("figure", element("figcaption", caption), chart)


def _axis_label(explanation: Explanation) -> str:
    first, second = explanation.documents
    label = f"contribution to {first.label} minus {second.label}"
    return label if len(label) <= 60 else "difference of the contributions"


def _contributions(explanation: Explanation) -> Element:
    header, rows = table_rows(explanation)
    caption = "Values of the features, what they add to each score, and the difference; the columns sum to the scores."
    return scrolling(table(header, rows), caption)


def _meanings(explanation: Explanation) -> Element:
    rows = [[feature.name, feature.meaning, feature.unit] for feature in explanation.features]
    return scrolling(table(["feature", "meaning", "unit"], rows, n_left=3), "All features of the model.")


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
    with opened(index) as searched:
        model = applied_model(model, searched, union=run is None)
        topic = _topic(topics_of(topics), query)
        k = depth_of(model, k)
        if run is not None:
            run = _of_query(run_of(run), query)
        candidates = find_candidates(searched, model, topic, run, k, base)
        doc_ids = _documents(documents, candidates, query)
        ranks = [candidates.doc_ids.tolist().index(doc_id) + 1 for doc_id in doc_ids]
        data = reranked = candidate_features(searched, model, topic, candidates, k, whole=True)
        judged = _judged(searched, model, topic, doc_ids)
        if max(ranks) > k:
            data = candidate_features(searched, model, topic, candidates, max(ranks), whole=True)
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
    learned = history.on(index.forward)
    numbers = index.forward.doc_numbers(id_array(list(doc_ids)))
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
    forms = normalisations(recipe.normalisation, names)
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
