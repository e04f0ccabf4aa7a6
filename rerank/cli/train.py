"""`rerank train`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import click

from rerank.cli.cluster import cluster_option, opened_cluster, opened_index
from rerank.cli.options import (
    base_file,
    candidates_option,
    depth_option,
    file_option,
    functions_option,
    option,
    output_option,
    path_argument,
    takes,
    threads_option,
)
from rerank.cli.parameters import RankerOptions, base_option, new_ranker

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options(RankerOptions):
    """What `rerank train` takes."""

    index: Path = path_argument()
    topics: Path = path_argument()
    qrels: Path = path_argument()
    output: Path = output_option("the model")
    base: str | None = base_option()
    candidates: str | None = candidates_option()
    k: int = depth_option()
    recipe: Path | None = file_option("--recipe", "TOML file of the features (see `rerank features`).")
    no_estimate: bool = option("--no-estimate", is_flag=True, help="Do not estimate the metric on held-out queries.")
    functions: tuple[Path, ...] = functions_option()
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


@click.command("train", short_help="train a ranker from an index")
@takes(Options)
def command(given: Options) -> None:
    """Train a ranker from INDEX and the judgements QRELS of TOPICS.

    Candidates are retrieved and features computed; a fifth of the queries stops the training early, and the metric is
    estimated by cross-validation. The model is then all that `rerank rerank` needs. `rerank fit` trains on features
    that are in files.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.features.recipe import Recipe
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.types.retriever import BM25
    from rerank.workflows.train import train

    model = new_ranker(given, given.base, given.threads)
    queries, judgements = read_topics(given.topics), read_qrels(given.qrels)
    files = {"qrels": given.qrels, "training data": given.qrels, "recipe": given.recipe, "candidates": "--candidates"}
    with (
        opened_cluster(given.cluster) as workers,
        opened_index(given.index, workers, threads=given.threads) as index,
        errors_with_files({**files, **base_file(given.base, model.base)}),
    ):
        estimate = train(
            index,
            queries,
            judgements,
            model,
            candidates=given.candidates or BM25,
            k=given.k,
            recipe=None if given.recipe is None else Recipe.from_toml(given.recipe),
            estimate=not given.no_estimate,
        )
    model.save(given.output)
    log.info("%s: %d iterations", given.output, model.best_iteration_)
    if estimate is not None:
        click.echo(estimate)
