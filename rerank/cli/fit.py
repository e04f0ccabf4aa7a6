"""`rerank fit`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.cluster import cluster_option, opened_cluster
from rerank.cli.options import base_file, file_option, option, output_option, path_argument, takes, threads_option
from rerank.cli.parameters import RankerOptions, base_option, new_ranker

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Options(RankerOptions):
    """What `rerank fit` takes."""

    data: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="DATA...")
    output: Path = output_option("the model")
    base: str | None = base_option()
    validate: Path | None = file_option("--validate", "Data on which early stopping watches the metric.")
    preferences: Path | None = file_option(
        "--preferences", "Preference pairs to learn from in place of labels: qid, better, worse[, probability]."
    )
    memory: str | None = option(
        "--memory",
        metavar="SIZE",
        help="Memory that training of boosted trees may take, e.g. 4GB; the model is the same.",
    )
    checkpoint: Path | None = file_option(
        "--checkpoint", "File that the state of training of boosted trees is kept in, to go on from if it is killed."
    )
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


@click.command("fit", short_help="train a ranker on features")
@takes(Options)
def command(given: Options) -> None:
    """Train a ranker on DATA, features with labels as `rerank features` writes them.

    DATA are files (.npz, .parquet; .svm or .txt, also with .gz), or folders of them.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import read_data
    from rerank.files.lists import read_preferences
    from rerank.metrics.registry import parse_measure
    from rerank.rankers.checkpoint import Checkpoint
    from rerank.rankers.context import TrainingOptions
    from rerank.runtime.output import check_outputs

    check_outputs({"--output": given.output, "--checkpoint": given.checkpoint})
    measure, model = parse_measure(given.metric).name, new_ranker(given, given.base, given.threads)
    state, mapped = None if given.checkpoint is None else Checkpoint(given.checkpoint), given.memory is not None
    with errors_with_files(_files(given, model)):
        _check_memory(given, model)
        data = read_data(given.data, mapped)
        valid = None if given.validate is None else read_data(given.validate, mapped)
        pairs = None if given.preferences is None else read_preferences(given.preferences)
        with opened_cluster(given.cluster) as workers:
            training = TrainingOptions(workers, given.memory, state)
            model.fit(data, eval_set=valid, training=training, preferences=pairs)
    model.save(given.output)
    if state is not None:
        state.remove()
    history = model.evals_result_.get("valid", {}).get(measure, [])
    figure = f", {measure} {max(history):.4f} on {given.validate}" if history else ""
    log.info("%s: %d iterations%s", given.output, model.best_iteration_, figure)


def _files(given: Options, model: Ranker) -> dict[str, str | Path | None]:
    """Return the file or the option of each object that errors are about."""
    return {
        "training data": " ".join(map(str, given.data)),
        "validation data": given.validate,
        "preferences": given.preferences,
        **base_file(given.base, model.base),
        "data": None if given.base else given.validate,
        "memory": "--memory",
        "checkpoint": "--checkpoint",
    }


def _check_memory(given: Options, model: Ranker) -> None:
    """Refuse memory that is too little before the data are read."""
    from rerank.files.data import data_shape
    from rerank.rankers.boosted import BoostedTrees

    if given.memory is not None and isinstance(model, BoostedTrees):
        shape = data_shape(given.data) or (0, 0)
        valid = None if given.validate is None else data_shape(given.validate)
        model.check_memory(given.memory, *shape, 0 if valid is None else valid[0])
