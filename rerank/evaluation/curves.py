"""Curves of a run: interpolated precision by recall, and a measure by cutoff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.metrics.precision import RECALLS, IPrec
from rerank.metrics.registry import parse_measure
from rerank.types import Qrels, Run

CUTOFFS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True)
class RunCurves:
    """Curves of a run, averaged over the same queries and with the same options as its evaluation.

    precision   mean interpolated precision at each of RECALLS
    measure     name of the measure by cutoff, without its cutoff
    by_cutoff   mean of that measure at each of CUTOFFS
    """

    precision: tuple[float, ...]
    measure: str
    by_cutoff: tuple[float, ...]


def run_curves(qrels: Qrels | Mapping[str, Mapping[str, int]], run: Run, result: EvaluationResult) -> RunCurves:
    """Return the curves of an evaluated run, for the first measure of `result` with a cutoff, or nDCG."""
    qrels, options = Qrels.of(qrels), asdict(result.options)
    measure = next((kind for kind in result.kinds.values() if kind.cutoff is not None), parse_measure("nDCG@10"))
    points = [IPrec(recall=recall, rel=result.options.level) for recall in RECALLS]
    precision = evaluate(qrels, run, points, **options)
    cuts = [replace(measure, cutoff=cutoff) for cutoff in CUTOFFS]
    top = run if result.options.judged_only else run.take(run.trec_order()).head(CUTOFFS[-1])
    by_cutoff = evaluate(qrels, top, cuts, **options)
    return RunCurves(
        tuple(precision[point.name] for point in points),
        cuts[0].name.removesuffix(f"@{CUTOFFS[0]}"),
        tuple(by_cutoff[cut.name] for cut in cuts),
    )
