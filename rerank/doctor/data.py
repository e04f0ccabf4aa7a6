"""Checks of features and labels."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np

from rerank.doctor.findings import Finding, at, check
from rerank.doctor.reading import DataRows
from rerank.doctor.records import HIGHEST, returning_queries, tied_queries

NAMED = 10  # features that a finding lists


@check("data")
def query_returns(data: DataRows) -> Iterator[Finding]:
    """Queries whose rows are not contiguous."""
    effect = "rerank joins its rows; RankLib, XGBoost and LightGBM's group sizes make two queries of it"
    yield from returning_queries(data, "warning", effect)


@check("data")
def one_label(data: DataRows) -> Iterator[Finding]:
    """Queries whose documents all have one label."""
    if data.labels is None:
        return
    order, query_ptr = data.by_query
    labels, first = data.labels[order], query_ptr[:-1]
    is_constant = np.minimum.reduceat(labels, first) == np.maximum.reduceat(labels, first)
    rows = data.first_rows(np.flatnonzero(is_constant))

    def describe(row: int) -> str:
        return f"all documents of query {data.name(row)} have the label {data.labels[row]:g}"  # type: ignore[index]

    if is_constant.all():
        yield from at(data, "error", rows, describe, "no query has two labels: there is nothing to learn")
    else:
        effect = "no pair of its documents can be learnt from, and no order of them is better than another"
        yield from at(data, "note", rows, describe, effect)


@check("data")
def labels_out_of_range(data: DataRows) -> Iterator[Finding]:
    """Labels that are not finite, negative, or larger than any grade in use."""
    if data.labels is None:
        return
    labels = data.labels

    def describe(row: int) -> str:
        return f"label {labels[row]:g} for document {data.doc(row)} of query {data.name(row)}"

    yield from at(data, "error", np.flatnonzero(~np.isfinite(labels)), describe, "rerank refuses to train on it")
    effect = "measures treat it as not relevant; objectives that use labels as numbers rank it below label 0"
    yield from at(data, "warning", np.flatnonzero(labels < 0), describe, effect)
    effect = "the document outweighs all others in nDCG; a number of another column?"
    yield from at(data, "warning", np.flatnonzero((labels > HIGHEST) & np.isfinite(labels)), describe, effect)


@check("data")
def base_scores_tied(data: DataRows) -> Iterator[Finding]:
    """Queries whose documents all have one base score."""
    if data.bases is not None:
        yield from tied_queries(data, data.bases, "base score", "a warm start from them starts cold there")


@check("data")
def base_scores_missing(data: DataRows) -> Iterator[Finding]:
    """Rows without a base score, if other rows have one."""
    if data.bases is not None:
        rows = np.flatnonzero(~np.isfinite(data.bases))
        share = f"{len(rows) / len(data.bases):.2%} of the rows have no finite base score, and others have one"
        yield from at(data, "error", rows, share, "rerank refuses the file: a warm start needs all of them")


@check("data")
def values_not_finite(data: DataRows) -> Iterator[Finding]:
    """Features that are missing (NaN) or infinite."""
    for severity, what, mask, effect in (
        ("note", "NaN", np.isnan(data.X), "trees send a missing value its own way; linear rankers and nets fill it in"),
        (
            "error",
            "infinite",
            np.isinf(data.X),
            "rerank refuses to read them, and to train on them",
        ),
    ):
        shares = mask.mean(axis=0)
        worst = int(shares.argmax()) if len(shares) else 0
        share = f"{mask.mean() if mask.size else 0.0:.2%} of all values are {what}"
        most = f", most of them in feature {data.feature_names[worst]} ({shares[worst]:.2%})" if mask.any() else ""
        yield from at(data, severity, np.flatnonzero(mask.any(axis=1)), share + most, effect)


@check("data")
def constant_features(data: DataRows) -> Iterator[Finding]:
    """Features with one value in all rows."""
    same = ((data.X[:1] == data.X) | (np.isnan(data.X) & np.isnan(data.X[:1]))).all(axis=0)
    columns = np.flatnonzero(same)
    if len(columns):
        effect = "no ranker can use them; they only cost time and memory"
        names = _named([data.feature_names[column] for column in columns])
        yield _about_features(data, len(columns), f"constant features: {names}", effect)


@check("data")
def duplicate_features(data: DataRows) -> Iterator[Finding]:
    """Features that equal an earlier one in all rows; constant ones are ignored."""
    first: dict[bytes, str] = {}
    pairs = []
    for name, column in zip(data.feature_names, np.ascontiguousarray(data.X.T), strict=True):
        if (column == column[:1]).all():
            continue
        earlier = first.setdefault(blake2b((column + 0.0).tobytes()).digest(), name)  # -0 becomes 0
        if earlier != name:
            pairs.append(f"{name} = {earlier}")
    if pairs:
        effect = "trees choose the first; importances are split or lost, and linear weights are not unique"
        yield _about_features(data, len(pairs), f"duplicate features: {_named(pairs)}", effect)


def _named(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def _about_features(data: DataRows, count: int, message: str, effect: str) -> Finding:
    return Finding("note", data.path, (), count, message, effect)
