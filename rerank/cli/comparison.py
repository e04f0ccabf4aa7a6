"""What `rerank evaluate` and `rerank report` share: measures of runs by trec_eval's rules, and a baseline."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import Whole, measures_option, option, path_argument, samples_option
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster
    from rerank.evaluation.comparison import Comparison
    from rerank.evaluation.evaluate import EvaluationResult
    from rerank.metrics.base import Measure
    from rerank.types import Qrels, Run
    from rerank.types.subtopics import SubtopicQrels

log = logging.getLogger("rerank")
MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")


@dataclass(frozen=True)
class ComparisonOptions:
    """Runs, measures, trec_eval's rules and the statistics of a comparison."""

    qrels: Path = path_argument()
    runs: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="RUN [RUN ...]")
    measures: tuple[str, ...] = measures_option(MEASURES)
    complete: bool = option(
        "-c",
        "--complete",
        is_flag=True,
        help="Count judged queries that are not in the run as 0.",
    )
    level: int = option(
        "-l",
        "--level",
        type=Whole(),
        metavar="N",
        default=1,
        show_default=True,
        help="Smallest label that counts as relevant, for measures without rel=.",
    )
    depth: int | None = option(
        "-M",
        "--depth",
        type=Whole(),
        metavar="N",
        help="Evaluate only the top N documents of each query.  [default: all]",
    )
    judged_only: bool = option("-J", "--judged-only", is_flag=True, help="Remove unjudged documents before evaluation.")
    # Choices are written out here, as help must not import SciPy; a test compares them with significance.py.
    test: str = option(
        "--test",
        type=click.Choice(["t", "wilcoxon", "randomisation"]),
        default="t",
        show_default=True,
        help="Significance test of the table; JSON and TSV have all.",
    )
    correction: str = option(
        "--correction",
        type=click.Choice(["holm", "bonferroni", "bh", "none"]),
        default="holm",
        show_default=True,
        help="Correction over all runs and measures; bh is Benjamini-Hochberg.",
    )
    samples: tuple[int, int] = samples_option("the randomisation test and the bootstrap")

    def rules(self) -> dict[str, Any]:
        """Return the rules, as `rerank.evaluate` takes them."""
        return {name: getattr(self, name) for name in ("complete", "depth", "judged_only", "level")}

    def parsed_measures(self) -> Sequence[Measure]:
        """Return the measures."""
        from rerank.metrics.registry import parse_measures

        return parse_measures(self.measures or MEASURES, self.level)


def measured(
    given: ComparisonOptions,
    runs: Iterable[tuple[str, Run]],
    judgements: Qrels | SubtopicQrels,
    cluster: Cluster | None = None,
) -> dict[str, EvaluationResult]:
    """Return the result of each run, by the name of its file."""
    from rerank.cli.file_names import errors_with_files
    from rerank.evaluation.evaluate import evaluate

    evaluated = evaluate if cluster is None else cluster.evaluate
    measures, rules = given.parsed_measures(), given.rules()
    results = {}
    for path, run in runs:
        with errors_with_files({f"run {run.name}": path}):
            results[path] = evaluated(judgements, run, measures, **rules)
        absent = len(judgements) - sum(query_id in run for query_id in judgements)
        if absent and not given.complete:
            text = "%s: %d of %d judged queries are not in the run and do not count; with -c they count as 0"
            log.info(text, path, absent, len(judgements))
    return results


def compared(given: ComparisonOptions, results: dict[str, EvaluationResult], baseline: Path) -> Comparison:
    """Return the comparison of the runs with the baseline."""
    from rerank.evaluation.comparison import compare_results

    samples, seed = given.samples
    return compare_results(
        results, str(baseline), test=given.test, correction=given.correction, samples=samples, seed=seed
    )


def check_no_measure_among(runs: Sequence[Path]) -> None:
    """Refuse `-m nDCG@10 AP`, which reads as a run called AP."""
    from rerank.metrics.registry import parse_measures

    for path in runs:
        if path.exists():
            continue
        try:
            parse_measures([str(path)])
        except InvalidInputError:
            continue
        raise InvalidInputError(f"{path}: expected a run file, got nothing there but a measure. Write -m {path}.")
