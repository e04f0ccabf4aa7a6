"""`rerank experiment`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rerank.cli.options import bm25_options, output_option, path_type, threads_option
from rerank.cli.train import given_parameters, parameter_options


@click.command("experiment", short_help="a whole study")
@click.argument("index", type=path_type)
@click.argument("topics", type=path_type)
@click.argument("qrels", type=path_type)
@output_option("everything (a folder: runs, models, folds, figures)")
@click.option("--folds", type=click.IntRange(min=3), default=5, show_default=True, help="Parts of the queries.")
@click.option("--ranker", default="lambdamart", show_default=True, help="The learner.")
@click.option("--metric", default="nDCG@10", show_default=True, help="Measure to train for.")
@click.option("-m", "--measure", "measures", multiple=True, help="Measures of the table.")
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
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.metrics.registry import parse_measure
    from rerank.workflows.experiment import MEASURES, Study, run_experiment
    from rerank.workflows.index import Index

    names = tuple(parse_measure(name).name for name in measures or MEASURES)
    parameters = given_parameters(options)
    seed = parameters.pop("random_state", 0)
    study = Study(ranker, parse_measure(metric).name, names, k, k1, b, folds, seed, threads, parameters)
    queries, judgements = read_topics(topics), read_qrels(qrels)
    with Index.open(index) as opened:
        click.echo(run_experiment(opened, queries, judgements, output, study).table)
