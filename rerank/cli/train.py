"""`rerank train`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.cluster import cluster_options, opened_cluster
from rerank.cli.options import (
    base_file,
    file_option,
    metric_option,
    output_option,
    path_type,
    read_base,
    threads_option,
)
from rerank.cli.rankers import given_parameters, parameter_options, ranker_option
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker
    from rerank.types.preferences import Preferences

log = logging.getLogger("rerank")


@click.command("train", short_help="train a ranker")
@click.argument("data", type=path_type)
@output_option("the model")
@file_option("--validate", "Data on which early stopping watches the metric.")
@ranker_option()
@file_option("--preferences", "Preference pairs to learn from in place of labels: qid, better, worse[, probability].")
@metric_option()
@click.option(
    "--base",
    metavar="KIND:NAME",
    help="Start from feature:NAME, run:FILE or model:FILE (LambdaSMART).",
)
@parameter_options
@threads_option()
@cluster_options()
def command(
    data: Path,
    output: Path,
    validate: Path | None,
    ranker: str,
    preferences: Path | None,
    metric: str,
    base: str | None,
    threads: int | None,
    cluster: str | None,
    cluster_security: Path | None,
    **options: Any,
) -> None:
    """Train a ranker on DATA (.npz; .svm or .txt, also with .gz)."""
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import read_data
    from rerank.metrics.registry import parse_measure
    from rerank.rankers.registry import ranker_class

    parameters = given_parameters(ranker, options)
    learner, measure = ranker_class(ranker), parse_measure(metric).name
    start = read_base(base)
    train, valid = read_data(data), None if validate is None else read_data(validate)
    model = learner(metric=metric, base=start, n_jobs=threads, **parameters)
    pairs: dict[str, Any] = {} if preferences is None else {"preferences": _preferences(learner, preferences)}
    files = {"training data": data, "validation data": validate, "preferences": preferences, **base_file(base, start)}
    with (
        opened_cluster(cluster, cluster_security) as workers,
        errors_with_files({**files, "data": None if base else validate}),
    ):
        model.fit(train, eval_set=valid, cluster=workers, **pairs)
    model.save(output)
    history = model.evals_result_.get("valid", {}).get(measure, [])
    figure = f", {measure} {max(history):.4f} on {validate}" if history else ""
    log.info("%s: %d iterations%s", output, model.best_iteration_, figure)


def _preferences(learner: type[Ranker], path: Path) -> Preferences:
    """Read preference pairs for a ranker that learns from them; any other is refused."""
    from rerank.files.preferences import read_preferences
    from rerank.rankers.ranker import rankers_of_pairs

    if not learner.learns_from_pairs:
        able = ", ".join(rankers_of_pairs())
        raise InvalidInputError(
            f"--preferences: expected a ranker that learns from pairs ({able}), got {learner.kind}. "
            "Choose one with --ranker."
        )
    return read_preferences(path)
