"""Checks of judgements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.doctor.findings import Finding, at, check
from rerank.doctor.reading import QrelsRows
from rerank.doctor.repeats import repeated_rows, returning_queries

HIGHEST = 10  # grades of test collections end at 4, those of a few at 10


@check("qrels")
def query_returns(qrels: QrelsRows) -> Iterator[Finding]:
    """Queries whose rows are not contiguous."""
    effect = "rerank and trec_eval join its rows; a tool that reads query by query keeps one part"
    yield from returning_queries(qrels, "note", effect)


@check("qrels")
def judged_again(qrels: QrelsRows) -> Iterator[Finding]:
    """Documents judged twice in a query, with the same or another label."""
    again, first = repeated_rows(qrels.query, qrels.doc_ids)
    before = dict(zip(again.tolist(), first.tolist(), strict=True))
    conflict = qrels.labels[again] != qrels.labels[first]

    def describe(row: int) -> str:
        labels = f"{qrels.labels[before[row]]}, then {qrels.labels[row]}"
        how = (
            f"with another label ({labels})"
            if qrels.labels[row] != qrels.labels[before[row]]
            else "with the same label"
        )
        return f"document {qrels.doc(row)} of query {qrels.name(row)} is judged again, {how}"

    effect = "rerank refuses the file; elsewhere the order of the lines decides which label counts"
    yield from at(qrels, "error", again[conflict], describe, effect)
    yield from at(qrels, "error", again[~conflict], describe, "rerank refuses the file; drop the second line")


@check("qrels")
def nothing_relevant(qrels: QrelsRows) -> Iterator[Finding]:
    """Queries without a positive label."""
    highest = np.full(len(qrels.names), np.iinfo(np.int64).min)
    np.maximum.at(highest, qrels.query, qrels.labels)
    rows = qrels.first_rows(np.flatnonzero(highest <= 0))
    message = "query {} has no document with a label above 0"
    effect = "each run has 0 there in nDCG, AP, RR, P and R: it lowers all means equally"
    yield from at(qrels, "warning", rows, lambda row: message.format(qrels.name(row)), effect)


@check("qrels")
def labels_out_of_range(qrels: QrelsRows) -> Iterator[Finding]:
    """Labels that are negative, or larger than any grade in use."""

    def describe(row: int) -> str:
        return f"label {qrels.labels[row]} for document {qrels.doc(row)} of query {qrels.name(row)}"

    effect = "it is not relevant; bpref, infAP and --judged-only take it as not judged"
    yield from at(qrels, "note", np.flatnonzero(qrels.labels < 0), describe, effect)
    effect = "the document outweighs all others in nDCG; a number of another column?"
    yield from at(qrels, "warning", np.flatnonzero(qrels.labels > HIGHEST), describe, effect)
