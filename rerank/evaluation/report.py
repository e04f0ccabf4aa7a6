"""Figures as text: a table for the terminal, TSV, JSON, LaTeX."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from tabulate import tabulate

from rerank.errors import unknown_name
from rerank.evaluation.evaluate import EvaluationResult
from rerank.evaluation.significance import PairedDifference, paired_difference

Results = Mapping[str, EvaluationResult]
FORMATS = {"table": "simple", "latex": "latex_booktabs"}


def render(results: Results, form: str = "table", *, per_query: bool = False, baseline: str | None = None) -> str:
    """Return the figures of some runs, by name, as text.

    form       `table`, `tsv`, `json` or `latex`
    per_query  figures of every query too
    baseline   the run that the others are compared with; the first one by default
    """
    baseline = baseline or next(iter(results))
    if form == "json":
        return _json(results, per_query, baseline)
    if form == "tsv":
        return _tsv(results, per_query)
    if form not in FORMATS:
        raise unknown_name("format", form, [*FORMATS, "tsv", "json"])
    parts = [_per_query_table(name, found, form) for name, found in results.items()] if per_query else []
    parts.append(comparison_table(results, baseline=baseline, form=form))
    return "\n\n".join(parts)


def comparison_table(results: Results, baseline: str, form: str = "table") -> str:
    """Return means by run and measure, each other run's difference to the baseline, and the policy in force."""
    measures = next(iter(results.values())).measures
    rows = [[name, *(f"{found[measure]:.4f}" for measure in measures)] for name, found in results.items()]
    note = "% " if form == "latex" else ""
    parts = [_table(rows, ["run", *measures], form)]
    if len(results) > 1:
        parts.append(_table(_difference_rows(results, baseline), _DIFFERENCE_HEADER, form))
        parts.append(f"{note}difference to {baseline}; p of the two-sided paired t-test; queries won/tied/lost")
    parts += [f"{note}policy: {policy}" for policy in sorted({found.policy for found in results.values()})]
    return "\n\n".join(parts)


_DIFFERENCE_HEADER = ["run", "measure", "difference", "t", "p", "W/T/L"]


def _difference_rows(results: Results, baseline: str) -> list[list[str]]:
    rows = []
    for name, found in results.items():
        if name == baseline:
            continue
        for measure in found.measures:
            test = compare(found, results[baseline], measure)
            p_value = "<0.0001" if test.p_value < 1e-4 else f"{test.p_value:.4f}"
            counts = f"{test.wins}/{test.ties}/{test.losses}"
            rows.append([name, measure, f"{test.difference:+.4f}", f"{test.t:.2f}", p_value, counts])
    return rows


def compare(system: EvaluationResult, baseline: EvaluationResult, measure: str) -> PairedDifference:
    """Compare two runs on the queries that both answer."""
    _, mine, theirs = np.intersect1d(system.query_ids, baseline.query_ids, return_indices=True)
    return paired_difference(system.vector(measure)[mine], baseline.vector(measure)[theirs])


def _per_query_table(name: str, found: EvaluationResult, form: str) -> str:
    rows = [
        [query_id, *(f"{found.values[measure][number]:.4f}" for measure in found.measures)]
        for number, query_id in enumerate(found.query_ids.tolist())
    ]
    return _table(rows, [name, *found.measures], form)


def _table(rows: list[list[str]], header: list[str], form: str) -> str:
    left = ("left",) + ("right",) * (len(header) - 1)
    return tabulate(rows, headers=header, tablefmt=FORMATS[form], disable_numparse=True, colalign=left)


def _tsv(results: Results, per_query: bool) -> str:
    """Lines `run measure query value`; the query `all` is the mean, as trec_eval writes it."""
    lines = []
    for name, found in results.items():
        for measure in found.measures:
            if per_query:
                values = zip(found.query_ids.tolist(), found.values[measure].tolist(), strict=True)
                lines += [f"{name}\t{measure}\t{query_id}\t{value:.4f}" for query_id, value in values]
            lines.append(f"{name}\t{measure}\tall\t{found[measure]:.4f}")
    return "\n".join(lines)


def _json(results: Results, per_query: bool, baseline: str) -> str:
    runs: dict[str, Any] = {}
    for name, found in results.items():
        runs[name] = {"mean": {measure: found[measure] for measure in found.measures}, "policy": found.policy}
        if name != baseline:
            tests = {measure: compare(found, results[baseline], measure) for measure in found.measures}
            runs[name]["against_baseline"] = {measure: vars(test) for measure, test in tests.items()}
        if per_query:
            runs[name]["per_query"] = found.per_query
    return json.dumps({"baseline": baseline, "runs": runs}, indent=1)
