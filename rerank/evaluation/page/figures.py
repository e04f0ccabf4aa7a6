"""The charts of the page, each with its caption, its legend and its values as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import log10

from rerank.evaluation.comparison import CUTOFFS, Comparison, QueryDetail, RunCurves
from rerank.evaluation.page.charts import (
    Axis,
    Series,
    bar_list,
    bars_by_query,
    interval_chart,
    key_line,
    line_chart,
    ticks,
)
from rerank.evaluation.page.markup import Element, element, folded, scrolling, table
from rerank.evaluation.report import figure
from rerank.metrics.precision import RECALLS
from rerank.metrics.reliability import Reliability


@dataclass(frozen=True)
class TrainedModel:
    """The training of a model.

    measure         validation measure
    history         its values after 0, 1, 2 ... iterations; empty without validation data
    best_iteration  number of iterations of the final model
    importances     share of the total gain by feature, largest first; empty if the learner has none
    reliability     of its probabilities on queries that were not learned from, where it is calibrated
    """

    name: str
    measure: str
    history: Sequence[float]
    best_iteration: int
    importances: Mapping[str, float]
    reliability: Reliability | None = None


@dataclass(frozen=True)
class PageContent:
    """The content of a page; empty parts are left out.

    curves     curves of each run, by name
    details    queries that gained and lost most
    documents  texts by document id
    topics     texts by query id
    """

    title: str
    comparison: Comparison
    curves: Mapping[str, RunCurves] = field(default_factory=dict)
    details: Sequence[QueryDetail] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)


MOST_FEATURES = 12
TABLE_STEPS = 25  # approximate number of rows in the table of a training curve
Curves = Sequence[tuple[str, RunCurves]]


def interval_figures(comparison: Comparison) -> list[Element]:
    """Return a chart of the differences to the baseline, with intervals, for each measure in which a query differs."""
    differing = [
        measure
        for measure in comparison.compared
        if any(
            comparison.differences[run][measure].ties < comparison.differences[run][measure].n_queries
            for run in comparison.systems
        )
    ]
    return [_interval_figure(comparison, number, measure) for number, measure in enumerate(differing)]


def _interval_figure(comparison: Comparison, number: int, measure: str) -> Element:
    rows = []
    for run in comparison.systems:
        difference = comparison.differences[run][measure]
        rows.append(
            (run, difference.difference, difference.low, difference.high, comparison.is_significant(run, measure))
        )
    description = "; ".join(f"{run} {value:+.4f} ({low:+.4f} to {high:+.4f})" for run, value, low, high, _ in rows)
    title = f"{measure}: difference to {comparison.baseline}"
    chart = interval_chart(f"interval{number}", title, description, rows, f"difference in {measure}")
    return _figure(chart, f"{title} with its 95 % interval; a full dot is significant.")


def query_figure(comparison: Comparison, run: str, number: int, topics: Mapping[str, str]) -> Element:
    """Return a bar chart of the gain or loss of each query under the first measure that is compared."""
    measure = comparison.compared[0]
    paired = comparison.differences[run][measure]
    bars = [
        (f"{change.query_id} {topics.get(change.query_id, '')}: {change.difference:+.4f}", change.difference)
        for change in comparison.changes(run, measure)
    ]
    counts = f"{paired.wins} queries won, {paired.ties} tied, {paired.losses} lost; mean {paired.difference:+.4f}"
    title = f"{measure} by query, {run} minus {comparison.baseline}"
    chart = bars_by_query(f"queries{number}", title, counts, bars, f"difference in {measure}")
    return _figure(chart, f"{title}: {counts}. Its figures are under Every query.")


def recall_figure(curves: Curves) -> Element:
    """Return interpolated precision by recall, a line for each run."""
    series = [
        Series(run, list(zip(RECALLS, curve.precision, strict=True)), number)
        for number, (run, curve) in enumerate(curves)
    ]
    top = max(max(curve.precision) for _, curve in curves)
    title = "Interpolated precision at eleven levels of recall"
    x, y = Axis("recall", [level / 5 for level in range(6)]), Axis("precision", ticks(0.0, top))
    chart = line_chart("recall", title, _named(series), series, x, y)
    return _figure(chart, f"{title}.", series, _line_table("recall", series))


def cutoff_figure(curves: Curves) -> Element:
    """Return a measure by cutoff, a line for each run."""
    series = [
        Series(run, list(zip(CUTOFFS, curve.by_cutoff, strict=True)), number)
        for number, (run, curve) in enumerate(curves)
    ]
    measure, values = curves[0][1].measure, [value for _, curve in curves for value in curve.by_cutoff]
    title = f"{measure}@k by cutoff k"
    x = Axis("cutoff k (logarithmic)", [1, 2, 5, 10, 20, 50, 100], log10)
    chart = line_chart(
        "cutoff", title, _named(series), series, x, Axis(f"{measure}@k", ticks(min(values), max(values)))
    )
    return _figure(chart, f"{title}.", series, _line_table("k", series))


def training_figures(models: Sequence[TrainedModel], runs: Sequence[str]) -> list[Element]:
    """Return charts of the validation measure by iteration and of the most important features.

    A model with the name of a run has the colour of the run.
    """
    others = count(len(runs))
    numbers = [runs.index(model.name) if model.name in runs else next(others) for model in models]
    drawn = [_training_figure(models, numbers)] if any(len(model.history) > 1 for model in models) else []
    calibrated = [(model, n) for model, n in zip(models, numbers, strict=True) if model.reliability is not None]
    drawn += [_reliability_figure(calibrated)] if calibrated else []
    return drawn + [_importance_figure(model, n) for n, model in enumerate(models) if model.importances]


def _reliability_figure(models: Sequence[tuple[TrainedModel, int]]) -> Element:
    """Return the share of relevant documents by promised probability, a line for each model."""
    series, texts, rows = [], [], []
    for model, number in models:
        found = model.reliability
        if found is not None:
            points = list(zip(found.predicted.tolist(), found.observed.tolist(), strict=True))
            series.append(Series(model.name, points, number))
            texts.append(f"{model.name}: Brier score {found.brier:.4f}, expected calibration error {found.error:.4f}")
            counted = zip(points, found.counts.tolist(), strict=True)
            rows += [[model.name, f"{low:.4f}", f"{share:.4f}", f"{count}"] for (low, share), count in counted]
    top = max(max(max(point) for point in one.points) for one in series)
    ideal = Series("as promised", [(0.0, 0.0), (ticks(0.0, top)[-1],) * 2], max(number for _, number in models) + 1)
    title = "Observed share of relevant documents by promised probability"
    x, y = Axis("promised probability", ticks(0.0, top)), Axis("relevant", ticks(0.0, top))
    chart = line_chart("reliability", title, "; ".join(texts), [*series, ideal], x, y)
    caption = f"{title}, in bins of equal mass, of queries that were not learned from. {'; '.join(texts)}."
    return _figure(chart, caption, [*series, ideal], table(["model", "promised", "observed", "documents"], rows))


def _training_figure(models: Sequence[TrainedModel], numbers: Sequence[int]) -> Element:
    series = [
        Series(
            model.name,
            list(enumerate(model.history)),
            number,
            (model.best_iteration, model.history[model.best_iteration]),
        )
        for model, number in zip(models, numbers, strict=True)
        if len(model.history) > 1
    ]
    watched = [model for model in models if len(model.history) > 1]
    measure = ", ".join(sorted({model.measure for model in watched}))
    values = [value for model in watched for value in model.history]
    last = max(len(model.history) for model in watched) - 1
    title = f"{measure} on the validation data by iteration"
    x, y = Axis("iteration", ticks(0, last)), Axis(measure, ticks(min(values), max(values)))
    chart = line_chart("training", title, _named(series), series, x, y)
    every = [one for one in range(last + 1) if one % max(1, last // TABLE_STEPS) == 0 or one == last]
    shown = [Series(one.name, [point for point in one.points if point[0] in every], one.number) for one in series]
    return _figure(chart, f"{title}; the dot is the final model.", series, _line_table("iteration", shown))


def _importance_figure(model: TrainedModel, number: int) -> Element:
    rows = list(model.importances.items())[:MOST_FEATURES]
    rows = [(name, share) for name, share in rows if share > 0]
    title = f"Importance of features in {model.name}"
    description = ", ".join(f"{name} {share:.1%}" for name, share in rows)
    chart = bar_list(f"importance{number}", title, description, rows)
    count = f"the {len(rows)} greatest of {len(model.importances)}"
    caption = f"{title}: share of the total gain, {count}."
    return _figure(chart, caption, (), table(["feature", "share"], [[name, f"{share:.4f}"] for name, share in rows]))


def key(name: str, number: int) -> Element:
    """Return an entry of a legend: a name with its line."""
    return element("span", key_line(number), name, class_="key")


def _named(series: Sequence[Series]) -> str:
    return "; ".join(f"{one.name}: from {one.points[0][1]:.4f} to {one.points[-1][1]:.4f}" for one in series)


def _line_table(x: str, series: Sequence[Series]) -> Element:
    values = [dict(one.points) for one in series]
    x_values = sorted({x_value for one in values for x_value in one})
    rows = [
        [f"{x_value:g}", *(figure(one[x_value]) if x_value in one else "–" for one in values)] for x_value in x_values
    ]
    return table([x, *(one.name for one in series)], rows)


def _figure(chart: Element, caption: str, series: Sequence[Series] = (), fallback: Element | None = None) -> Element:
    keys = [element("li", key(one.name, one.number)) for one in series]
    return element(
        "figure",
        element("figcaption", caption),
        element("ul", keys, class_="keys") if keys else None,
        chart,
        folded("Figures", scrolling(fallback, caption)) if fallback is not None else None,
    )
