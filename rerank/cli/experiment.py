"""`rerank experiment`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rerank.cli.options import bm25_options, folder_option, measures_option, metric_option, path_type, threads_option
from rerank.cli.rankers import given_parameters, parameter_options, ranker_option

MEASURES = ("RR@10", "nDCG@10", "AP")


@click.command("experiment", short_help="a whole study")
@click.argument("index", type=path_type)
@click.argument("topics", type=path_type)
@click.argument("qrels", type=path_type)
@folder_option("runs, models, folds and figures")
@click.option(
    "--folds",
    type=click.IntRange(min=3),
    metavar="N",
    default=5,
    show_default=True,
    help="Parts of the judged queries, 3 or more; --random-state deals them.",
)
@ranker_option()
@metric_option()
@measures_option(MEASURES)
@bm25_options()
@parameter_options
@threads_option()
def command(
    index: Path,
    topics: Path,
    qrels: Path,
    output: Path,
    folds: int,
    ranker: str,
    metric: str,
    measures: tuple[str, ...],
    k: int,
    k1: float,
    b: float,
    threads: int | None,
    **options: Any,
) -> None:
    """Compare BM25, the ranker, and the ranker started from BM25, on held-out queries of k folds."""
    from rerank.cli.places import places
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.metrics.registry import parse_measure, parse_measures
    from rerank.workflows.experiment import Study, run_experiment
    from rerank.workflows.index import Index

    names = tuple(measure.name for measure in parse_measures(measures or MEASURES))
    parameters = given_parameters(ranker, options)
    seed = parameters.pop("random_state", 0)
    study = Study(ranker, parse_measure(metric).name, names, k, k1, b, folds, seed, threads, parameters)
    queries, judgements = read_topics(topics), read_qrels(qrels)
    with Index.open(index) as opened, places({"qrels": qrels}):
        click.echo(run_experiment(opened, queries, judgements, output, study).table)
