"""`rerank experiment`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.cluster import cluster_option, opened_cluster, opened_index
from rerank.cli.options import (
    Whole,
    bm25_options,
    candidates_option,
    file_option,
    folder_option,
    functions_option,
    language_option,
    measures_option,
    metric_option,
    path_type,
    threads_option,
)
from rerank.cli.parameters import given_parameters, ranker_options
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.workflows.study import Study

MEASURES = ("RR@10", "nDCG@10", "AP")
INPUTS = ("index", "topics", "qrels")
ELSEWHERE = {"metric": "--metric", "n_jobs": "--threads", "random_state": "--random-state"}
BESIDE_REPLAY = frozenset(["replay", "output"])


@click.command("experiment", short_help="run a study")
@click.argument("index", type=path_type, required=False)
@click.argument("topics", type=path_type, required=False)
@click.argument("qrels", type=path_type, required=False)
@folder_option("runs, models, folds, figures and the record of the study", required=False)
@click.option(
    "--folds",
    metavar="N|FILE",
    default="5",
    show_default=True,
    help="Folds of the queries, 3 or more; or a file of lines: query id, tab, fold.",
)
@click.option(
    "--repeats",
    type=Whole(most=1_000_000),
    metavar="N",
    default=1,
    show_default=True,
    help="Times that folds are assigned.",
)
@click.option(
    "--random-state",
    type=Whole(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Random seed of folds, tuning and rankers.",
)
@click.option(
    "--tune",
    type=Whole(),
    metavar="[N]",
    is_flag=False,
    flag_value=20,
    help="Tune what -p does not give, in each fold: try N settings, 20 by default.",
)
@click.option(
    "--replay",
    type=path_type,
    metavar="FOLDER",
    help="Repeat the study of this folder and compare all files byte for byte.",
)
@ranker_options()
@metric_option()
@measures_option(MEASURES)
@bm25_options()
@file_option("--recipe", "TOML file of the features (see `rerank features`).")
@click.option(
    "--learn-history",
    is_flag=True,
    help="Learn features from the training queries of each fold too.",
)
@functions_option()
@candidates_option()
@language_option()
@threads_option()
@cluster_option()
@click.pass_context
def command(context: click.Context, /, replay: Path | None, output: Path | None, **options: Any) -> None:
    """Compare BM25, the ranker, and the ranker started from BM25, on held-out queries of k folds."""
    if replay is not None:
        _refuse_others(context)
        click.echo(_replayed(replay, output))
        return
    missing = next((name for name in (*INPUTS, "output") if context.params.get(name) is None), None)
    if missing is not None:
        argument = "'-o' / '--output'" if missing == "output" else f"'{missing.upper()}'"
        raise click.UsageError(f"Missing {'option' if missing == 'output' else 'argument'} {argument}.", context)
    assert output is not None, "checked above"
    click.echo(_studied(output, **options))


def _studied(
    output: Path,
    index: Path,
    topics: Path,
    qrels: Path,
    language: str | None,
    cluster: str | None,
    **options: Any,
) -> str:
    from rerank.cli.file_names import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.experiment import run_experiment
    from rerank.workflows.output_folder import check_output_folder

    check_output_folder(output)
    study = _study(**options)
    folds = None if isinstance(study.folds, int) else options["folds"]
    queries, judgements = read_topics(topics), read_qrels(qrels)
    with (
        opened_cluster(cluster) as workers,
        opened_index(index, language, workers) as opened,
        errors_with_files({"qrels": qrels, "folds": folds, "recipe": options["recipe"], "candidates": "--candidates"}),
    ):
        provenance = _provenance({"index": index, "topics": topics, "qrels": qrels})
        return run_experiment(opened, queries, judgements, output, study, provenance).table


def _study(
    ranker: str,
    parameters: tuple[str, ...],
    metric: str,
    measures: tuple[str, ...],
    folds: str,
    tune: int | None,
    recipe: Path | None,
    **options: Any,
) -> Study:
    """Return the settings of the options."""
    from rerank.features.recipe import Recipe
    from rerank.files.lists import read_folds
    from rerank.metrics.registry import parse_measure, parse_measures
    from rerank.workflows.study import Study

    return Study(
        ranker=ranker,
        metric=parse_measure(metric).name,
        measures=tuple(measure.name for measure in parse_measures(measures or MEASURES)),
        folds=int(folds) if folds.lstrip("-").isdigit() else read_folds(folds),
        parameters=given_parameters(ranker, parameters, ELSEWHERE),
        tune=tune or 0,
        recipe=None if recipe is None else Recipe.from_toml(recipe),
        **options,
    )


def _replayed(folder: Path, output: Path | None) -> str:
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.index import Index
    from rerank.workflows.record import read_provenance, read_record, write_provenance
    from rerank.workflows.replay import replay_experiment

    read_record(folder)
    paths = {name: Path(path) for name, path in read_provenance(folder)["inputs"].items() if path}
    topics, qrels = read_topics(paths["topics"]), read_qrels(paths["qrels"])
    with Index.open(paths["index"]) as index:
        names = {name: str(path) for name, path in paths.items()}
        replayed = replay_experiment(folder, index, topics, qrels, output, names)
    if output is not None:
        write_provenance(output, _provenance(paths))
    return f"{replayed.result.table}\n\nreplay: {replayed.n_files} files are those of {folder}, byte for byte"


def _provenance(inputs: Mapping[str, Path]) -> dict[str, Any]:
    """Return the paths of a study's inputs, the command and the date."""
    from datetime import UTC, datetime

    from rerank.files.irds import data_set_name

    paths = {name: str(path if data_set_name(path) else path.resolve()) for name, path in inputs.items()}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"command": sys.argv, "date": now, "inputs": paths}


def _refuse_others(context: click.Context) -> None:
    """Refuse options that would change the study of a replay."""
    from_command_line = click.core.ParameterSource.COMMANDLINE
    for each in context.command.params:
        if each.name not in BESIDE_REPLAY and context.get_parameter_source(str(each.name)) is from_command_line:
            option = each.opts[-1] if isinstance(each, click.Option) else each.human_readable_name
            raise InvalidInputError(
                f"--replay: expected no other option than -o, got {option}. The record contains the whole study."
            )
