"""`rerank experiment`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    RankerOptions,
    Whole,
    candidates_option,
    cluster_option,
    file_option,
    folder_option,
    functions_option,
    given_parameters,
    measures_option,
    opened_cluster,
    opened_index,
    option,
    path_argument,
    read_named_runs,
    refuse_beside,
    takes,
    threads_option,
)
from rerank.errors import InvalidInputError

if TYPE_CHECKING:
    from rerank.experiments.study import Study
    from rerank.index.index import Index
    from rerank.types import Qrels, RankingData, Topics

MEASURES = ("RR@10", "nDCG@10", "AP")
OPTIONS = {name: f"--{name.replace('_', '-')}" for name in ("candidates", "base", "tune", "learn_history")}
ELSEWHERE = {"metric": "--metric", "n_jobs": "--threads"}
_FOLDS = re.compile(r"(?:([0-9]{1,6})x)?(-?[0-9]{1,9})")


@dataclass(frozen=True)
class Options(RankerOptions):
    """What `rerank experiment` takes."""

    data: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="INDEX TOPICS QRELS | DATA... | FOLDER")
    output: Path = folder_option("runs, models, figures")
    folds: str = option(
        "--folds",
        metavar="N|RxN|FILE",
        default="5",
        show_default=True,
        help="Number of folds, at least 3; RxN assigns N folds R times; or a file of query id, tab, fold.",
    )
    tune: int | None = option(
        "--tune",
        type=Whole(),
        metavar="[N]",
        is_flag=False,
        flag_value=20,
        help="Tune: try N settings per fold.  [default: 20]",
    )
    measures: tuple[str, ...] = measures_option(MEASURES)
    k: int | None = option(
        "-k", "--hits", type=Whole(), metavar="N", help="Documents per query and source.  [default: 1000]"
    )
    candidates: str | None = candidates_option("bm25,rm3 (with vectors, lsi:200)")
    base: str | None = option(
        "--base",
        metavar="KIND[:NAME]",
        help="Start from unsupervised, feature:NAME, model:FILE, run (the candidates' scores) or none.  [default: "
        "unsupervised; with DATA, none]",
    )
    runs: tuple[str, ...] = option(
        "--run",
        metavar="NAME=FILE",
        multiple=True,
        help="Other run to compare with. Repeatable.",
    )
    recipe: Path | None = file_option("--recipe", "TOML file of features (see `rerank features`).")
    learn_history: bool = option(
        "--learn-history", is_flag=True, help="Learn a history from the training queries of each fold."
    )
    learning_curve: bool = option(
        "--learning-curve",
        is_flag=True,
        help="Only write learning curves by number of queries.",
    )
    functions: tuple[Path, ...] = functions_option()
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


@click.command("experiment", short_help="run a study")
@takes(Options)
def command(options: Options) -> None:
    """Compare a ranker without and with --base, and other runs, on held-out queries.

    With an index, BM25 and the unsupervised ranking are compared, too. DATA are feature files, as for `rerank train`.
    `-p random_state=N` is the seed of all. The FOLDER of an experiment is run again, by its settings.json.
    """
    from rerank.cli.options import errors_with_files
    from rerank.experiments.experiment import run_experiment
    from rerank.experiments.learning_curve import learning_curve
    from rerank.experiments.settings import SETTINGS, check_output_folder
    from rerank.files.lists import warn_of_functions
    from rerank.index.bound import is_index

    check_output_folder(options.output)
    if len(options.data) == 1 and (options.data[0] / SETTINGS).is_file():
        _repeat(options, options.data[0])
        return
    if options.learning_curve:
        refuse_beside("--learning-curve", ("measures", "runs"))
    with errors_with_files(OPTIONS):
        study = _study(options)
    from_index = len(options.data) == 3 and is_index(options.data[0])
    paths = _paths(options, from_index)
    with _opened(options, paths) as inputs, errors_with_files({**OPTIONS, **_files(options, paths)}):
        if "qrels" in paths:
            warn_of_functions(paths["qrels"])
        if options.learning_curve:
            click.echo(learning_curve(*inputs, options.output, study))
            return
        runs = read_named_runs(options.runs)
        result = run_experiment(*inputs, options.output, study, runs=runs, inputs=paths)
    click.echo(result.table)


def _repeat(options: Options, folder: Path) -> None:
    """Run the study of a folder again, with the inputs and settings that it names."""
    from rerank.experiments.experiment import run_experiment
    from rerank.experiments.settings import read_settings
    from rerank.experiments.study import Study
    from rerank.rankers.store import read_model

    own = ("data", "output", "cluster")
    refuse_beside("the folder of an experiment", [each.name for each in fields(Options) if each.name not in own])
    if options.output.resolve() == folder.resolve():
        raise InvalidInputError(f"{folder}: expected another folder than that of the study. Name a new one.")
    settings = read_settings(folder)
    paths = settings["inputs"]
    if not {"index", "data"} & paths.keys():
        raise InvalidInputError(f"{folder}: expected a study of `rerank experiment`, got one of Python. Run it there.")
    study = Study.from_dict(settings["study"], read_model(paths["model"]) if "model" in paths else None)
    runs = read_named_runs(tuple(f"{name}={path}" for name, path in paths.get("runs", {}).items()))
    with _opened(options, paths) as inputs:
        click.echo(run_experiment(*inputs, options.output, study, runs=runs, inputs=paths).table)


def _paths(options: Options, from_index: bool) -> dict[str, Any]:
    """Return the paths of the inputs by name; refuse options of the other form."""
    paths: dict[str, Any] = dict(zip(("index", "topics", "qrels"), options.data, strict=True)) if from_index else {}
    if not from_index:
        paths = {"data": options.data}
        refuse_beside("DATA", ("functions", "cluster"))
    if options.base is not None and options.base.startswith("model:"):
        paths["model"] = Path(options.base.removeprefix("model:"))
    runs = dict(pair.partition("=")[::2] for pair in options.runs)
    return {**paths, **({"runs": runs} if runs else {})}


def _files(options: Options, paths: dict[str, Any]) -> dict[str, Any]:
    """Return the file or the option of each object that errors are about."""
    folds = None if _FOLDS.fullmatch(options.folds) else options.folds
    data = " ".join(map(str, paths.get("data", ())))
    files = {"qrels": paths.get("qrels"), "folds": folds, "repeats": "--folds", "recipe": options.recipe}
    return {**files, "runs": "--run", "k": "-k", **({"data": data, "training data": data} if data else {})}


@contextmanager
def _opened(
    options: Options, paths: dict[str, Any]
) -> Iterator[tuple[Index | RankingData, Topics | None, Qrels | None]]:
    """Yield an index, topics and judgements, or data alone."""
    from rerank.files.data import read_data
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels

    if "index" not in paths:
        yield read_data(paths["data"]), None, None
        return
    topics = read_topics(paths["topics"])
    qrels = read_qrels(paths["qrels"])
    with opened_cluster(options.cluster) as workers, opened_index(paths["index"], workers) as index:
        yield index, topics, qrels


def _study(options: Options) -> Study:
    """Return the settings of the options."""
    from rerank.experiments.study import Study
    from rerank.features.recipe import Recipe
    from rerank.files.lists import read_folds
    from rerank.metrics.registry import parse_measure, parse_measures
    from rerank.retrieval.base import DEPTH
    from rerank.runtime.schema import Whole as WholeNumber

    numbers = _FOLDS.fullmatch(options.folds)
    seed = {"random_state": WholeNumber(0, 2**31 - 1)}
    parameters = given_parameters(options.ranker, options.parameters, ELSEWHERE, seed)
    return Study(
        ranker=options.ranker,
        metric=parse_measure(options.metric).name,
        measures=tuple(measure.name for measure in parse_measures(options.measures or MEASURES)),
        k=options.k or DEPTH,
        folds=read_folds(options.folds) if numbers is None else int(numbers[2]),
        random_state=parameters.pop("random_state", 0),
        threads=options.threads,
        parameters=parameters,
        repeats=int(numbers[1]) if numbers is not None and numbers[1] else 1,
        tune=options.tune or 0,
        recipe=None if options.recipe is None else Recipe.from_toml(options.recipe),
        candidates=options.candidates,
        base=options.base,
        learn_history=options.learn_history,
    )
