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
    is_given,
    measures_option,
    opened_cluster,
    opened_index,
    option,
    path_argument,
    read_named_runs,
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
def command(given: Options) -> None:
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

    check_output_folder(given.output)
    if len(given.data) == 1 and (given.data[0] / SETTINGS).is_file():
        _repeat(given, given.data[0])
        return
    _check_curve(given)
    with errors_with_files(OPTIONS):
        study = _study(given)
    from_index = len(given.data) == 3 and is_index(given.data[0])
    paths = _paths(given, from_index)
    with _opened(given, paths) as inputs, errors_with_files({**OPTIONS, **_files(given, paths)}):
        if "qrels" in paths:
            warn_of_functions(paths["qrels"])
        if given.learning_curve:
            click.echo(learning_curve(*inputs, given.output, study))
            return
        runs = read_named_runs(given.runs)
        result = run_experiment(*inputs, given.output, study, runs=runs, inputs=paths)
    click.echo(result.table)


def _repeat(given: Options, folder: Path) -> None:
    """Run the study of a folder again, with the inputs and settings that it names."""
    from rerank.experiments.experiment import run_experiment
    from rerank.experiments.settings import read_settings
    from rerank.experiments.study import Study
    from rerank.rankers.store import read_model

    for each in fields(Options):
        if each.name not in ("data", "output", "cluster") and is_given(each.name):
            name = each.name.replace("_", "-")
            raise click.UsageError(f"--{name}: expected only -o beside the folder of an experiment. Leave it out.")
    if given.output.resolve() == folder.resolve():
        raise InvalidInputError(f"{folder}: expected another folder than that of the study. Name a new one.")
    settings = read_settings(folder)
    paths = settings["inputs"]
    if not {"index", "data"} & paths.keys():
        raise InvalidInputError(f"{folder}: expected a study of `rerank experiment`, got one of Python. Run it there.")
    study = Study.from_dict(settings["study"], read_model(paths["model"]) if "model" in paths else None)
    runs = read_named_runs(tuple(f"{name}={path}" for name, path in paths.get("runs", {}).items()))
    with _opened(given, paths) as inputs:
        click.echo(run_experiment(*inputs, given.output, study, runs=runs, inputs=paths).table)


def _check_curve(given: Options) -> None:
    """Refuse options that a learning curve does not take."""
    if given.learning_curve and given.measures:
        raise click.UsageError("-m: expected --metric with --learning-curve, got -m. Leave it out.")
    if given.learning_curve and given.runs:
        raise click.UsageError("--run: expected no run with --learning-curve, got some. Leave it out.")


def _paths(given: Options, from_index: bool) -> dict[str, Any]:
    """Return the paths of the inputs by name; refuse options of the other form."""
    paths: dict[str, Any] = dict(zip(("index", "topics", "qrels"), given.data, strict=True)) if from_index else {}
    if not from_index:
        paths = {"data": given.data}
        for name in ("functions", "cluster"):
            if getattr(given, name):
                raise click.UsageError(f"--{name}: expected INDEX TOPICS QRELS as arguments, got others. Leave it out.")
    if given.base is not None and given.base.startswith("model:"):
        paths["model"] = Path(given.base.removeprefix("model:"))
    runs = dict(pair.partition("=")[::2] for pair in given.runs)
    return {**paths, **({"runs": runs} if runs else {})}


def _files(given: Options, paths: dict[str, Any]) -> dict[str, Any]:
    """Return the file or the option of each object that errors are about."""
    folds = None if _FOLDS.fullmatch(given.folds) else given.folds
    data = " ".join(map(str, paths.get("data", ())))
    files = {"qrels": paths.get("qrels"), "folds": folds, "repeats": "--folds", "recipe": given.recipe}
    return {**files, "runs": "--run", "k": "-k", **({"data": data, "training data": data} if data else {})}


@contextmanager
def _opened(given: Options, paths: dict[str, Any]) -> Iterator[tuple[Index | RankingData, Topics | None, Qrels | None]]:
    """Yield an index, topics and judgements, or data alone."""
    from rerank.files.data import read_data
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels

    if "index" not in paths:
        yield read_data(paths["data"]), None, None
        return
    topics, qrels = read_topics(paths["topics"]), read_qrels(paths["qrels"])
    with opened_cluster(given.cluster) as workers, opened_index(paths["index"], workers) as index:
        yield index, topics, qrels


def _study(given: Options) -> Study:
    """Return the settings of the options."""
    from rerank.experiments.study import Study
    from rerank.features.recipe import Recipe
    from rerank.files.lists import read_folds
    from rerank.metrics.registry import parse_measure, parse_measures
    from rerank.retrieval.base import DEPTH
    from rerank.runtime.schema import Whole as WholeNumber

    numbers = _FOLDS.fullmatch(given.folds)
    seed = {"random_state": WholeNumber(0, 2**31 - 1)}
    parameters = given_parameters(given.ranker, given.parameters, ELSEWHERE, seed)
    return Study(
        ranker=given.ranker,
        metric=parse_measure(given.metric).name,
        measures=tuple(measure.name for measure in parse_measures(given.measures or MEASURES)),
        k=given.k or DEPTH,
        folds=read_folds(given.folds) if numbers is None else int(numbers[2]),
        random_state=parameters.pop("random_state", 0),
        threads=given.threads,
        parameters=parameters,
        repeats=int(numbers[1]) if numbers is not None and numbers[1] else 1,
        tune=given.tune or 0,
        recipe=None if given.recipe is None else Recipe.from_toml(given.recipe),
        candidates=given.candidates,
        base=given.base,
        learn_history=given.learn_history,
    )
