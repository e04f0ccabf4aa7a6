"""`rerank experiment`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    bm25_options,
    file_option,
    folder_option,
    functions_option,
    language_option,
    measures_option,
    metric_option,
    path_type,
    threads_option,
)
from rerank.cli.rankers import given_parameters, parameter_options, ranker_option
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.workflows.experiment import Study

MEASURES = ("RR@10", "nDCG@10", "AP")
INPUTS = ("index", "topics", "qrels")
BESIDE_REPLAY = frozenset(["replay", "output"])


@click.command("experiment", short_help="a whole study")
@click.argument("index", type=path_type, required=False)
@click.argument("topics", type=path_type, required=False)
@click.argument("qrels", type=path_type, required=False)
@folder_option("runs, models, folds, figures and the record of the study", required=False)
@click.option(
    "--folds",
    metavar="N|FILE",
    default="5",
    show_default=True,
    help="Parts of the judged queries, 3 or more, which --random-state deals, stratified by their number of relevant "
    "documents; or a file of lines `query id, tab, fold`.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Times that the folds are dealt anew.",
)
@click.option(
    "--tune",
    type=click.IntRange(min=1),
    metavar="[N]",
    is_flag=False,
    flag_value=20,
    help="Search hyper-parameters that are not given, in each fold, on its training queries alone: N settings "
    "(20 where none is said) beside the defaults.",
)
@click.option(
    "--replay",
    type=path_type,
    metavar="FOLDER",
    help="Repeat the study of this folder and compare all files byte for byte; takes only -o beside it.",
)
@ranker_option()
@metric_option()
@measures_option(MEASURES)
@bm25_options()
@file_option("--recipe", "TOML that says what features are made, see `rerank features --recipe-template`.")
@functions_option()
@parameter_options
@language_option()
@threads_option()
@click.pass_context
def command(context: click.Context, /, replay: Path | None, output: Path | None, **options: Any) -> None:
    """Compare BM25, the ranker, and the ranker started from BM25, on held-out queries of k folds."""
    if replay is not None:
        _refuse_others(context)
        click.echo(_replayed(replay, output))
        return
    missing = next((name for name in (*INPUTS, "output") if context.params.get(name) is None), None)
    if missing is not None:
        said = "'-o' / '--output'" if missing == "output" else f"'{missing.upper()}'"
        raise click.UsageError(f"Missing {'option' if missing == 'output' else 'argument'} {said}.", context)
    assert output is not None, "checked above"
    click.echo(_studied(output, **options))


def _studied(output: Path, index: Path, topics: Path, qrels: Path, language: str | None, **options: Any) -> str:
    from rerank.cli.places import places
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.experiment import run_experiment
    from rerank.workflows.index import Index

    study = _study(**options)
    folds = None if isinstance(study.folds, int) else options["folds"]
    queries, judgements = read_topics(topics), read_qrels(qrels)
    with Index.open(index, language) as opened, places({"qrels": qrels, "folds": folds, "recipe": options["recipe"]}):
        table = run_experiment(opened, queries, judgements, output, study).table
    _write_provenance(output, {"index": index, "topics": topics, "qrels": qrels})
    return table


def _study(
    folds: str,
    tune: int | None,
    ranker: str,
    metric: str,
    measures: tuple[str, ...],
    recipe: Path | None,
    repeats: int,
    k: int,
    k1: float,
    b: float,
    threads: int | None,
    **options: Any,
) -> Study:
    from rerank.features.recipe import Recipe
    from rerank.files.folds import read_folds
    from rerank.metrics.registry import parse_measure, parse_measures
    from rerank.workflows.experiment import Study

    names = tuple(measure.name for measure in parse_measures(measures or MEASURES))
    parameters = given_parameters(ranker, options)
    seed = parameters.pop("random_state", 0)
    dealt = int(folds) if folds.lstrip("-").isdigit() else read_folds(folds)
    metric = parse_measure(metric).name
    chosen = None if recipe is None else Recipe.from_toml(recipe)
    return Study(ranker, metric, names, k, k1, b, dealt, seed, threads, parameters, repeats, tune or 0, chosen)


def _replayed(folder: Path, output: Path | None) -> str:
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.index import Index
    from rerank.workflows.record import read_provenance, read_record
    from rerank.workflows.replay import replay_experiment

    read_record(folder)
    given = {name: Path(place) for name, place in read_provenance(folder)["inputs"].items()}
    topics, qrels = read_topics(given["topics"]), read_qrels(given["qrels"])
    with Index.open(given["index"]) as index:
        shown = {name: str(place) for name, place in given.items()}
        done = replay_experiment(folder, index, topics, qrels, output, shown)
    if output is not None:
        _write_provenance(output, given)
    return f"{done.result.table}\n\nreplay: {done.n_files} files are those of {folder}, byte for byte"


def _write_provenance(folder: Path, inputs: Mapping[str, Path]) -> None:
    from datetime import UTC, datetime

    from rerank.workflows.record import write_provenance

    places = {name: str(path.resolve()) for name, path in inputs.items()}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    write_provenance(folder, {"command": sys.argv, "date": now, "inputs": places})


def _refuse_others(context: click.Context) -> None:
    """Refuse what would make a replay another study."""
    given = click.core.ParameterSource.COMMANDLINE
    for name in context.params:
        if name not in BESIDE_REPLAY and context.get_parameter_source(name) is given:
            shown = name.upper() if name in INPUTS else f"--{name.replace('_', '-')}"
            raise InvalidInputError(
                f"--replay: expected nothing but -o beside it, got {shown}. The record holds all of the study."
            )
