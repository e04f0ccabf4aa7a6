"""An explanation in words and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

if TYPE_CHECKING:
    from rerank.workflows.explanation import ExplainedFeature, Explanation

NAMED, OPPOSED = 3, 2  # features that the sentence names: those for the difference, and those against it
TABLE_ROWS = 20
LEAST_SHARE = 1e-6  # of the largest contribution: smaller ones are rounding
NO_FEATURE, BASE = "(no feature)", "(base)"


def bars(explanation: Explanation, n: int) -> list[tuple[str, float]]:
    """Return the n largest differences by name, the part of no feature among them, and the sum of the others."""
    rows = [(feature.name, feature.difference) for feature in explanation.features]
    if _counts(explanation, explanation.rest):
        rows.append((BASE, explanation.rest))
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
    other, gap = second.doc_id or f"the mean of its {explanation.n_candidates} candidates", explanation.difference
    parts = [(feature.difference, _phrase(explanation, feature)) for feature in explanation.features]
    parts.append((explanation.rest, _base_phrase(explanation)))
    parts = [part for part in sorted(parts, key=lambda part: -abs(part[0])) if _counts(explanation, part[0])]
    if not parts:
        reason = ": equal scores are ordered by document id, descending" if second.doc_id else ""
        return f"No feature distinguishes {first.doc_id} from {other}{reason}."
    adds, takes = [part for part in parts if part[0] > 0], [part for part in parts if part[0] < 0]
    leading, opposing = (adds, takes) if gap >= 0 else (takes, adds)
    side = _side_by_score(explanation)
    head = f"is {side} {other} by {abs(gap):.4g}"
    if side != rank_side(explanation):
        head = f"scores {abs(gap):.4g} {'more' if gap > 0 else 'less'} than {other}"
    text = f"{first.doc_id} {head}: {_listed(leading, NAMED)}." if leading else f"{first.doc_id} {head}."
    return f"{text} Against this, {_listed(opposing, OPPOSED)}." if opposing else text


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
    others, total = len(parts) - most, sum(value for value, _ in parts[most:])
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
    listed, others = explanation.features[:n_listed], explanation.features[n_listed:]
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


def text_table(explanation: Explanation) -> str:
    """Return the features that differ most as a table of text."""
    header, rows = table_rows(explanation, TABLE_ROWS)
    align = ("left", *["right"] * (len(header) - 1))
    return tabulate(rows, headers=header, colalign=align, disable_numparse=True)
