"""`rerank train`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.cluster import cluster_option, opened_cluster, opened_index
from rerank.cli.options import (
    base_file,
    candidates_option,
    depth_option,
    file_option,
    functions_option,
    language_option,
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
FROM_INDEX = ("candidates", "k", "recipe", "no_estimate", "functions", "language")  # options of one form alone
FROM_DATA = ("validate", "preferences", "memory", "checkpoint")


@click.command("train", short_help="train a ranker")
@click.argument("data", type=path_type, nargs=-1, required=True, metavar="INDEX TOPICS QRELS | DATA...")
@output_option("the model")
@ranker_options()
@candidates_option()
@depth_option()
@file_option("--recipe", "TOML file of the features (see `rerank features`).")
@click.option("--no-estimate", is_flag=True, help="Do not estimate the metric on held-out queries.")
@functions_option()
@language_option()
@file_option("--validate", "For DATA: data on which early stopping watches the metric.")
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
@threads_option()
@cluster_option()
@click.pass_context
def command(context: click.Context, /, data: tuple[Path, ...], **options: Any) -> None:
    """Train a ranker: from INDEX and the judgements QRELS of TOPICS, or on DATA.

    From an index, candidates are retrieved and features computed; a fifth of the queries stops the training early, and
    the metric is estimated by cross-validation. The model is then all that `rerank rerank` needs. DATA are files
    (.npz, .parquet; .svm or .txt, also with .gz), or folders of them.
    """
    from rerank.runtime.output import check_outputs
    from rerank.workflows.bound import is_index

    check_outputs({"--output": options["output"], "--checkpoint": options["checkpoint"]})
    if len(data) == 3 and is_index(data[0]):
        _refuse(context, FROM_DATA, "DATA")
        _train_on_index(*data, **options)
    else:
        _refuse(context, FROM_INDEX, "INDEX TOPICS QRELS")
        _train_on_data(data, **options)


def _refuse(context: click.Context, names: Sequence[str], needed: str) -> None:
    """Refuse options that only the other form of the command takes."""
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = "-k" if name == "k" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option}: expected {needed} as arguments, got others. Leave the option out.")


def _model(options: Mapping[str, Any]) -> Ranker:
    """Return the ranker of the options, not fitted."""
    from rerank.rankers.ranker import ranker_class

    given = given_parameters(options["ranker"], options["parameters"])
    learner = ranker_class(options["ranker"])
    return learner(metric=options["metric"], base=read_base(options["base"]), n_jobs=options["threads"], **given)


def _train_on_index(index: Path, topics: Path, qrels: Path, **options: Any) -> None:
    from rerank.cli.file_names import errors_with_files
    from rerank.features.recipe import Recipe
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.types.retriever import BM25
    from rerank.workflows.train import train

    model, queries, judgements = _model(options), read_topics(topics), read_qrels(qrels)
    recipe = None if options["recipe"] is None else Recipe.from_toml(options["recipe"])
    files = {"qrels": qrels, "recipe": options["recipe"], "candidates": "--candidates", "training data": qrels}
    files |= base_file(options["base"], model.base)
    with (
        opened_cluster(options["cluster"]) as workers,
        opened_index(index, options["language"], workers, threads=options["threads"]) as opened,
        errors_with_files(files),
    ):
        candidates, estimated = options["candidates"] or BM25, not options["no_estimate"]
        estimate = train(
            opened, queries, judgements, model, candidates=candidates, k=options["k"], recipe=recipe, estimate=estimated
        )
    model.save(options["output"])
    log.info("%s: %d iterations", options["output"], model.best_iteration_)
    if estimate is not None:
        click.echo(estimate)


def _train_on_data(data: tuple[Path, ...], **options: Any) -> None:
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import read_data
    from rerank.metrics.registry import parse_measure
    from rerank.rankers.checkpoint import Checkpoint
    from rerank.rankers.context import TrainingOptions

    measure, output, validate = parse_measure(options["metric"]).name, options["output"], options["validate"]
    model = _model(options)
    state = None if options["checkpoint"] is None else Checkpoint(options["checkpoint"])
    limits = _limits(model, data, validate, options["memory"], state)
    mapped = options["memory"] is not None
    train, valid = read_data(data, mapped), None if validate is None else read_data(validate, mapped)
    preferences = options["preferences"]
    pairs: dict[str, Any] = {} if preferences is None else {"preferences": _preferences(type(model), preferences)}
    files = {"training data": " ".join(map(str, data)), "validation data": validate, "preferences": preferences}
    with (
        opened_cluster(options["cluster"]) as workers,
        errors_with_files(
            {
                **files,
                **base_file(options["base"], model.base),
                "data": None if options["base"] else validate,
                "memory": "--memory",
            }
        ),
    ):
        model.fit(train, eval_set=valid, training=TrainingOptions(workers, **limits), **pairs)
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
