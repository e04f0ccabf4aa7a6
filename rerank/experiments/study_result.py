"""Results of a study: held-out runs, models and measures, as tables and as the files of its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from rerank.evaluation.comparison import Comparison, compare_results, figure, render
from rerank.evaluation.comparison_page import report
from rerank.evaluation.evaluate import EvaluationResult
from rerank.evaluation.page import Axis, Curve, Section
from rerank.experiments.study import Study
from rerank.files.lists import write_folds
from rerank.files.trec import write_run
from rerank.rankers.last_stage import DEPTHS, Gain
from rerank.rankers.ranker import Ranker
from rerank.runtime.codec import plain
from rerank.runtime.output import write_text
from rerank.training.cross_validation import Try
from rerank.training.estimate import DEFAULT_METRIC
from rerank.training.tuning import best_try
from rerank.types import Run, counted


@dataclass(frozen=True, repr=False)
class ScorerCurve(Curve):
    """A measure by the number of documents of each query that the scorer scores.

    Parameters
    ----------
    measure : str
        Name of the measure.
    gains : mapping of str to Gain
        What the scorer brings to each system.

    """

    measure: str
    gains: Mapping[str, Gain]
    header = ("system", "calls", "measure")

    @property
    def title(self) -> str:  # type: ignore[override]
        """Heading of the chart and the table."""
        return f"{self.measure} on held-out queries by the calls of the scorer for a query"

    @property
    def rows(self) -> list[tuple[str, int, float]]:
        """System, number of calls and mean of each point; the last row of a system is the scorer's order alone."""
        rows = []
        for system, gain in self.gains.items():
            rows += [
                (system, 0, gain.without),
                *((system, stage.depth, value) for stage, value in gain.curve),
                (f"scorer alone, of {system}", DEPTHS[-1], gain.alone),
            ]
        return rows

    def parts(self, page: bool = False) -> list[Section]:
        """Return the points, with their chart."""
        rows = [[system, f"{calls}", figure(value)] for system, calls, value in self.rows]
        chart = self.chart(Axis("calls of the scorer for a query", [0, *DEPTHS], lambda calls: (1.0 + calls) ** 0.5))
        return [Section("Points", (), rows, ["system", "calls", self.measure], 1, [chart])]


@dataclass(frozen=True, eq=False)
class Trial:
    """Results of one assignment of queries to folds.

    Parameters
    ----------
    folds : mapping of str to int
        Fold of each judged query.
    runs : mapping of str to Run
        Held-out run of each system. If the index has a scorer, each trained system is there a second time, followed
        by the scorer; how it is used in a fold was chosen on the other folds.
    models : mapping of str to sequence of Ranker
        Models of each trained system, by held-out fold.
    tries : mapping of str to sequence of sequence of Try
        Settings that were tried for each trained system and fold; held-out queries were not used.
    gains : mapping of str to Gain
        What the scorer of the index brings to each trained system.
    noise : mapping of str to float
        Standard deviation of the training's measure over random states, for each trained system that uses random
        numbers: a smaller difference between two systems means nothing. Measured in the first fold of the first trial.

    """

    folds: Mapping[str, int]
    runs: Mapping[str, Run]
    models: Mapping[str, Sequence[Ranker]]
    tries: Mapping[str, Sequence[Sequence[Try]]]
    gains: Mapping[str, Gain] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """Results of a study, which `print` shows as tables.

    Parameters
    ----------
    trials : sequence of Trial
        One trial for each repeat.
    results : mapping of str to EvaluationResult
        Results of each system, averaged over the trials for each query.
    baseline : str or None
        System that the others are compared with; None is the first.
    added : sequence of str
        Systems that the study added by itself; their p-values are corrected as a family of their own.
    measure : str
        Name of the measure of the training.
    resources : mapping of str to str
        What features were computed from, besides the documents, by name: history (judgements of other queries),
        vectors, encoder.

    """

    trials: Sequence[Trial]
    results: Mapping[str, EvaluationResult]
    baseline: str | None = None
    added: Sequence[str] = ()
    measure: str = DEFAULT_METRIC
    resources: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def comparison(self) -> Comparison:
        """The results, compared with those of the baseline."""
        remarks = resource_notes(self.resources)
        if noise := self.trials[0].noise:
            figures = ", ".join(f"{system} {value:.4f}" for system, value in noise.items())
            remarks.append(f"standard deviation of {self.measure} over random states: {figures}")
        remarks += tie_notes({system: n_tied(self.runs[system]) for system in self.models})
        return compare_results(self.results, self.baseline, added=self.added, remarks=remarks)

    def __repr__(self) -> str:
        return repr(self.comparison)

    def _repr_markdown_(self) -> str:
        return self.comparison._repr_markdown_()

    @property
    def folds(self) -> Mapping[str, int]:
        """Fold of each judged query in the first trial."""
        return self.trials[0].folds

    @property
    def runs(self) -> Mapping[str, Run]:
        """Held-out run of each system in the first trial."""
        return self.trials[0].runs

    @property
    def models(self) -> Mapping[str, Sequence[Ranker]]:
        """Models of each trained system in the first trial, by held-out fold."""
        return self.trials[0].models


def resource_notes(resources: Mapping[str, str]) -> list[str]:
    """Return the line that names what features use besides the documents; an empty list if they use nothing else."""
    names = [f"{name} ({value})" for name, value in resources.items()]
    return [f"features use {', '.join(names)}"] if names else []


def n_tied(run: Run) -> int:
    """Return the number of queries with several documents that all have one score; the run is ordered by score."""
    first = run.query_ptr[:-1]
    last = run.query_ptr[1:] - 1
    several = np.flatnonzero(first < last)
    return int((run.scores[first[several]] == run.scores[last[several]]).sum())


def tie_notes(counts: Mapping[str, int]) -> list[str]:
    """Return a line for each system with tied queries, see `n_tied`; a model that learned nothing ties them all."""
    return [
        f"{system}: {counted(count, 'query has', 'queries have')} one score for all documents, which the ids order"
        for system, count in counts.items()
        if count
    ]


def write_result(result: StudyResult, study: Study, folder: Path, topics: Mapping[str, str]) -> None:
    """Write the files of a study's folder, all but the settings."""
    for number, trial in enumerate(result.trials):
        _write_trial(trial, folder, f".repeat{number}" if len(result.trials) > 1 else "")
    if result.trials[0].gains:
        ScorerCurve(study.metric, result.trials[0].gains).write(folder, "scorer")
    texts = {
        "table.txt": f"{result}\n",
        "table.tex": render(result.comparison, "latex") + "\n",
        "report.html": report("Cross-validation", result.comparison, (), {}, topics),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    figures = {
        "study": study.to_dict(),
        "resources": dict(result.resources),
        "baseline": result.comparison.baseline,
        "systems": {
            system: {
                "policy": evaluated.policy,
                "mean": {measure: evaluated[measure] for measure in study.measures},
                "per_query": {measure: dict(evaluated.per_query[measure]) for measure in study.measures},
            }
            for system, evaluated in result.results.items()
        },
        "trials": [
            {
                "folds": dict(trial.folds),
                "systems": {
                    system: [
                        {"chosen": dict(best_try(tried).parameters), "tried": [vars(setting) for setting in tried]}
                        for tried in tries
                    ]
                    for system, tries in trial.tries.items()
                },
                "noise": dict(trial.noise),
            }
            for trial in result.trials
        ],
    }
    write_text(folder / "results.json", json.dumps(plain(figures), indent=1) + "\n")


def _write_trial(trial: Trial, folder: Path, suffix: str) -> None:
    for system, run in trial.runs.items():
        write_run(run, folder / f"{_file_name(system)}{suffix}.run")
    for system, models in trial.models.items():
        for fold, model in enumerate(models):
            model.save(folder / f"{_file_name(system)}{suffix}.fold{fold}.model.json")
    write_folds(trial.folds, folder / f"folds{suffix}.tsv")


def _file_name(system: str) -> str:
    return system.lower().replace(" ", "-")
