"""Random small runs, measured here and by pytrec_eval and ir_measures."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import ir_measures
import numpy as np
import pytrec_eval

from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.metrics.base import GEOMETRIC, LEAST_FACTOR, Measure
from rerank.metrics.precision import UP, interpolated, mean_interpolated
from rerank.metrics.registry import parse_measures

# What pytrec_eval measures, all of it; the words are runid, relstring: text, of which it gives no more than a 0.
TREC = sorted(pytrec_eval.supported_measures - {"runid", "relstring"})
IR_MEASURES = ["Judged@3", "Judged@10", "Judged", "nDCG(gains={1:3,2:9})", "nDCG(gains={0:1,1:2,3:7})@5", "RR(rel=2)"]

Case = tuple[dict[str, dict[str, int]], dict[str, dict[str, float]], int, bool]


def random_case(random: np.random.Generator) -> Case:
    """Qrels, run, level of relevance, judged only.

    Ties, repeated and negative scores, scores that only float64 tells apart, unjudged documents, graded and negative
    labels beside a 0, queries without a relevant document, without a run, and without judgements. Peers cannot bear all
    that trec_eval's formats allow; what they cannot is left out.
    """
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    highest, spread = int(random.integers(1, 5)), float(random.choice([0.3, 3.0, 1e9]))
    for number in range(random.integers(1, 6)):
        docs = [f"d{doc}" for doc in random.permutation(30)]
        labels = np.append(0, random.integers(-1, highest + 1, random.integers(0, 20))) * (random.random() < 0.9)
        qrels[f"q{number}"] = dict(zip(docs, labels.tolist(), strict=False))
        if random.random() < 0.9:
            retrieved = random.permutation(docs)[: random.integers(1, 26)].tolist()
            scores = np.round(random.normal(0.0, spread, len(retrieved)), int(random.integers(0, 3)))
            run[f"q{number}"] = dict(zip(retrieved, scores.tolist(), strict=True))
    run["unjudged"] = {"d1": 1.0}
    run["q0"] = run.get("q0", {"d1": -1.0})
    return qrels, run, int(random.integers(1, 3)), bool(random.random() < 0.3)


def difference_to_pytrec_eval(case: Case) -> tuple[float, str, int]:
    """Return the largest difference, of which figure, and how many figures were compared."""
    qrels, run, level, judged_only = case
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(TREC), level, int(judged_only)).evaluate(run)
    names = _ours(tuple(sorted(next(iter(theirs.values())))), level)
    result = evaluate(qrels, run, names.values(), judged_only=judged_only)
    assert set(theirs) == set(result.query_ids.tolist())
    return _largest(result, names, theirs)


def difference_to_ir_measures(case: Case) -> tuple[float, str, int]:
    """Return the largest difference, of which figure, and how many figures were compared."""
    qrels, tied, _, _ = case
    # ir_measures breaks ties in the opposite order in Judged; its gains are those of labels that are not negative.
    run = {query: {doc: rank for rank, doc in enumerate(sorted(docs))} for query, docs in tied.items()}
    qrels = {query: {doc: max(label, 0) for doc, label in docs.items()} for query, docs in qrels.items()}
    parsed = {ir_measures.parse_measure(name): name for name in IR_MEASURES}
    theirs: dict[str, dict[str, float]] = {}
    for row in ir_measures.iter_calc(list(parsed), qrels, run):
        if row.query_id in run:  # it gives a 0 for queries that the run lacks
            theirs.setdefault(row.query_id, {})[parsed[row.measure]] = row.value
    names = dict(zip(IR_MEASURES, parse_measures(IR_MEASURES), strict=True))
    return _largest(evaluate(qrels, run, names.values()), names, theirs)


@cache
def _ours(names: tuple[str, ...], level: int) -> dict[str, Measure]:
    """Our measure for each name that pytrec_eval prints."""
    results = {}
    for name in names:
        (measure,) = parse_measures([name], level)
        if isinstance(measure, interpolated | mean_interpolated):
            measure = replace(measure, rounding=UP)  # pytrec_eval holds trec_eval 9
        if not (name == "num_rel" and level > 1):  # pytrec_eval counts labels from 1, whatever the level
            results[name] = measure
    return results


def _largest(result: EvaluationResult, names: dict[str, Measure], theirs) -> tuple[float, str, int]:
    per_query, largest, where, count = result.per_query, 0.0, "", 0
    for query, figures in theirs.items():
        for name, measure in names.items():
            expected, actual = figures[name], per_query[measure.name][query]
            if measure.averaging == GEOMETRIC:
                actual = math.log(max(actual, LEAST_FACTOR))
            difference = abs(actual - (0.0 if math.isnan(expected) else expected))  # a share of nothing is 0 here
            count += 1
            if difference > largest:
                largest, where = difference, f"{query} {name}: {actual} here, {expected} there"
    return largest, where, count
