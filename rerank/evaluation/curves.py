"""Curves of a run: interpolated precision by recall, and a measure by cutoff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.metrics.iprec import RECALLS, IPrec
from rerank.metrics.registry import parse_measure
from rerank.types import Qrels, Run

CUTOFFS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True)
class RunCurves:
    """Means over the same queries as the run's figures, under the same rules.

    precision   interpolated precision at each of RECALLS
    measure     name of the measure by cutoff, without its cutoff
    by_cutoff   its mean at each of CUTOFFS
    """

    precision: tuple[float, ...]
    measure: str
    by_cutoff: tuple[float, ...]


def run_curves(qrels: Qrels | Mapping[str, Mapping[str, int]], run: Run, result: EvaluationResult) -> RunCurves:
    """Return the curves of a run whose figures are `result`; its first measure with a cutoff is drawn, else nDCG."""
    qrels, rules = Qrels.of(qrels), asdict(result.rules)
    drawn = next((kind for kind in result.kinds.values() if kind.cutoff is not None), parse_measure("nDCG@10"))
    points = [IPrec(recall=recall, rel=result.rules.level) for recall in RECALLS]
    precision = evaluate(qrels, run, points, **rules)
    cuts = [replace(drawn, cutoff=cutoff) for cutoff in CUTOFFS]
    top = run if result.rules.judged_only else run.take(run.trec_order()).head(CUTOFFS[-1])
    by_cutoff = evaluate(qrels, top, cuts, **rules)
    return RunCurves(
        tuple(precision[point.name] for point in points),
        cuts[0].name.removesuffix(f"@{CUTOFFS[0]}"),
        tuple(by_cutoff[cut.name] for cut in cuts),
    )
