"""Slow, obvious readers of TREC and svmlight text: dicts, line by line."""

from __future__ import annotations


def read_run(text: str) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            query_id, _, doc_id, _, score = line.split()[:5]
            run.setdefault(query_id, {})[doc_id] = float(score)
    return run


def read_qrels(text: str) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            query_id, _, doc_id, label = line.split()
            qrels.setdefault(query_id, {})[doc_id] = int(label)
    return qrels


def trec_eval_order(documents: dict[str, float]) -> list[str]:
    return sorted(documents, key=lambda doc_id: (documents[doc_id], doc_id), reverse=True)


def read_svmlight(text: str, n_features: int) -> list[tuple[float, str, list[float]]]:
    """Rows as (label, query id, values), in the order of the text."""
    rows = []
    for line in text.splitlines():
        columns = line.split("#")[0].split()
        if columns:
            values = [0.0] * n_features
            for pair in columns[2:]:
                feature, value = pair.split(":")
                values[int(feature) - 1] = float(value)
            rows.append((float(columns[0]), columns[1].removeprefix("qid:"), values))
    return rows
