"""Output of measures that return text for each query (trec_eval's relstring), after the tables of figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rerank.evaluation.evaluate import EvaluationResult


def text_lines(results: Mapping[str, EvaluationResult], form: str) -> Iterator[str]:
    """Yield lines `run measure query text`, separated by tabs as in TSV; as comments in LaTeX."""
    note = "% " if form == "latex" else ""
    for run, result in results.items():
        for measure, texts in result.texts.items():
            for query_id, text in zip(result.query_ids.tolist(), texts.tolist(), strict=True):
                yield f"{note}{run}\t{measure}\t{query_id}\t{text}\n"
