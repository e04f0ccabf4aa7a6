"""Write ndeval.json: random diversity qrels and a run, and the values of pyndeval, ir_measures' provider, by query.

Run from the checkout, with pyndeval installed: python -m tests.metrics.golden.make_ndeval
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import ir_measures
import numpy as np

GOLDEN = Path(__file__).with_name("ndeval.json")
MEASURES = (
    "alpha_nDCG@1",
    "alpha_nDCG@10",
    "alpha_nDCG(alpha=0.3)@20",
    "alpha_nDCG(rel=2)@5",
    "alpha_DCG@5",
    "alpha_DCG(alpha=0.2,rel=2)@7",
    "ERR_IA@10",
    "nERR_IA@20",
    "StRecall@10",
    "StRecall(rel=2)@3",
)


def main() -> None:
    qrels, run = records(np.random.default_rng(0))
    judgements = [ir_measures.Qrel(query, doc, label, subtopic) for query, subtopic, doc, label in qrels]
    ranking = [ir_measures.ScoredDoc(query, doc, score) for query, doc, score in run]
    values = {}
    for name in MEASURES:
        measure = ir_measures.parse_measure(name)
        values[name] = {each.query_id: each.value for each in ir_measures.iter_calc([measure], judgements, ranking)}
    golden = {"pyndeval": version("pyndeval"), "qrels": qrels, "run": run, "values": values}
    GOLDEN.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


def records(random: np.random.Generator) -> tuple[list[tuple[str, str, str, int]], list[tuple[str, str, float]]]:
    """Queries with 1 to 6 subtopics, some without a relevant document, and lists of 1 to 34 documents."""
    qrels, run = [], []
    docs = [f"d{doc:02d}" for doc in range(40)]
    for number in range(30):
        query, has_relevant = f"q{number:02d}", number % 7 > 0
        for subtopic in range(random.integers(1, 7)):
            for doc in random.permutation(docs)[: random.integers(0, 12)].tolist():
                qrels.append((query, str(subtopic), doc, int(random.integers(0, 4) * has_relevant)))
        retrieved = random.permutation(docs)[: random.integers(1, 35)].tolist()
        run += [(query, doc, float(score)) for doc, score in zip(retrieved, random.permutation(40), strict=False)]
    return qrels, run


if __name__ == "__main__":
    main()
