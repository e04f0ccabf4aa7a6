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
from rerank.cli.parameters import given_parameters, ranker_options
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.rankers.checkpoint import Checkpoint
    from rerank.rankers.ranker import Ranker
    from rerank.types.preferences import Preferences

log = logging.getLogger("rerank")


@click.command("train", short_help="train a ranker")
@click.argument("data", type=path_type, nargs=-1, required=True)
@output_option("the model")
@file_option("--validate", "Data on which early stopping watches the metric.")
@ranker_options()
@file_option("--preferences", "Preference pairs to learn from in place of labels: qid, better, worse[, probability].")
@metric_option()
@click.option(
    "--base",
    metavar="KIND:NAME",
    help="Start from feature:NAME, run:FILE or model:FILE (LambdaSMART).",
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Memory that training of boosted trees may take, e.g. 4GB; the model is the same.",
)
@click.option(
    "--checkpoint",
    type=path_type,
    metavar="FILE",
    help="File that the state of training of boosted trees is kept in, to go on from if it is killed.",
)
@click.option(
    "--checkpoint-seconds",
    type=click.FloatRange(min=0.0),
    metavar="N",
    default=30.0,
    show_default=True,
    help="Time between two states that are written; 0 for every tree.",
)
@threads_option()
@cluster_options()
def command(
    data: tuple[Path, ...],
    output: Path,
    validate: Path | None,
    ranker: str,
    parameters: tuple[str, ...],
    preferences: Path | None,
    metric: str,
    base: str | None,
    memory: str | None,
    checkpoint: Path | None,
    checkpoint_seconds: float,
    threads: int | None,
    cluster: str | None,
    cluster_security: Path | None,
) -> None:
    """Train a ranker on DATA: files (.npz, .parquet; .svm or .txt, also with .gz), or folders of them."""
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import read_data
    from rerank.metrics.registry import parse_measure
    from rerank.rankers.checkpoint import Checkpoint
    from rerank.rankers.registry import ranker_class
    from rerank.runtime.output import check_outputs

    check_outputs({"--output": output, "--checkpoint": checkpoint})
    given = given_parameters(ranker, parameters)
    learner, measure = ranker_class(ranker), parse_measure(metric).name
    start = read_base(base)
    model = learner(metric=metric, base=start, n_jobs=threads, **given)
    state = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_seconds)
    limits = _limits(model, data, validate, memory, state)
    mapped = memory is not None
    train, valid = read_data(data, mapped), None if validate is None else read_data(validate, mapped)
    pairs: dict[str, Any] = {} if preferences is None else {"preferences": _preferences(learner, preferences)}
    name = " ".join(map(str, data))
    files = {"training data": name, "validation data": validate, "preferences": preferences, **base_file(base, start)}
    with (
        opened_cluster(cluster, cluster_security) as workers,
        errors_with_files({**files, "data": None if base else validate, "memory": "--memory"}),
    ):
        model.fit(train, eval_set=valid, cluster=workers, **pairs, **limits)
    model.save(output)
    if state is not None:
        state.remove()
    history = model.evals_result_.get("valid", {}).get(measure, [])
    figure = f", {measure} {max(history):.4f} on {validate}" if history else ""
    log.info("%s: %d iterations%s", output, model.best_iteration_, figure)


def _limits(
    model: Ranker, data: tuple[Path, ...], validate: Path | None, memory: str | None, checkpoint: Checkpoint | None
) -> dict[str, Any]:
    """Return memory and checkpoint as `fit` takes them; too little memory is refused before the data are read."""
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import data_shape
    from rerank.rankers.boosted import BoostedTrees
    from rerank.rankers.ranker import rankers_of_parts

    limits = {"memory": memory, "checkpoint": checkpoint}
    given = [name for name, value in limits.items() if value is not None]
    if given and not isinstance(model, BoostedTrees):
        raise InvalidInputError(
            f"--{given[0]}: expected a ranker of boosted trees ({', '.join(rankers_of_parts())}), got {model.kind}. "
            "Choose one with --ranker."
        )
    if memory is not None and isinstance(model, BoostedTrees):
        shape, valid = data_shape(data) or (0, 0), data_shape(validate) if validate is not None else None
        with errors_with_files({"memory": "--memory"}):
            model.check_memory(memory, *shape, 0 if valid is None else valid[0])
    return {name: limits[name] for name in given}


def _preferences(learner: type[Ranker], path: Path) -> Preferences:
    """Read preference pairs for a ranker that learns from them; any other is refused."""
    from rerank.files.lists import read_preferences
    from rerank.rankers.ranker import rankers_of_pairs

    if not learner.learns_from_pairs:
        able = ", ".join(rankers_of_pairs())
        raise InvalidInputError(
            f"--preferences: expected a ranker that learns from pairs ({able}), got {learner.kind}. "
            "Choose one with --ranker."
        )
    return read_preferences(path)
