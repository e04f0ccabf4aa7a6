"""What a run has for each query that is no figure (trec_eval's relstring), beside the tables of figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rerank.evaluation.evaluate import EvaluationResult


def text_lines(results: Mapping[str, EvaluationResult], form: str) -> Iterator[str]:
    """Yield lines `run measure query text`, parted by tabs as in TSV; a comment each in LaTeX."""
    note = "% " if form == "latex" else ""
    for run, found in results.items():
        for measure, texts in found.texts.items():
            for query_id, text in zip(found.query_ids.tolist(), texts.tolist(), strict=True):
                yield f"{note}{run}\t{measure}\t{query_id}\t{text}\n"
