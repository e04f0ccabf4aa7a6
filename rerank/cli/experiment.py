"""`rerank experiment`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.cluster import cluster_option, opened_cluster, opened_index
from rerank.cli.options import (
    UNSUPERVISED,
    Whole,
    candidates_option,
    file_option,
    folder_option,
    functions_option,
    measures_option,
    option,
    path_argument,
    takes,
    threads_option,
)
from rerank.cli.parameters import RankerOptions, given_parameters

if TYPE_CHECKING:
    from rerank.workflows.study import Study

MEASURES = ("RR@10", "nDCG@10", "AP")
ELSEWHERE = {"metric": "--metric", "n_jobs": "--threads"}
_FOLDS = re.compile(r"(?:([0-9]{1,6})x)?(-?[0-9]{1,9})")


@dataclass(frozen=True)
class Options(RankerOptions):
    """What `rerank experiment` takes."""

    index: Path = path_argument()
    topics: Path = path_argument()
    qrels: Path = path_argument()
    output: Path = folder_option("runs, models, folds, figures and the record of the study")
    folds: str = option(
        "--folds",
        metavar="N|RxN|FILE",
        default="5",
        show_default=True,
        help="Folds of the queries, 3 or more; 4x5 assigns 5 folds 4 times; or a file of lines: query id, tab, fold.",
    )
    tune: int | None = option(
        "--tune",
        type=Whole(),
        metavar="[N]",
        is_flag=False,
        flag_value=20,
        help="Tune what -p does not give, in each fold: try N settings, 20 by default.",
    )
    measures: tuple[str, ...] = measures_option(MEASURES)
    k: int = option(
        "-k", "--hits", type=Whole(), metavar="N", default=1000, show_default=True, help="Documents of a source."
    )
    candidates: str | None = candidates_option("bm25,rm3 (with vectors, lsi:200)")
    base: str = option(
        "--base",
        metavar="KIND[:NAME]",
        default=UNSUPERVISED,
        help="Start from unsupervised (default), feature:NAME or run: the scores of the candidates.",
    )
    recipe: Path | None = file_option("--recipe", "TOML file of the features (see `rerank features`).")
    learn_history: bool = option("--learn-history", is_flag=True, help="Learn features of judgements in each fold.")
    learning_curve: bool = option(
        "--learning-curve",
        is_flag=True,
        help="Only curves of the metric by training queries: plackettluce, lambdamart, and --ranker, e.g. auto.",
    )
    functions: tuple[Path, ...] = functions_option()
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


@click.command("experiment", short_help="run a study")
@takes(Options)
def command(given: Options) -> None:
    """Compare BM25, the unsupervised ranking, the ranker, and the ranker started from --base, on held-out queries.

    Candidates, features and training are those of `rerank train`; `--candidates bm25 --base run` reranks BM25's.
    `-p random_state=N` is the seed of folds, tuning and rankers. BM25's k1 and b are those of --candidates.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.provenance import warn_of_functions
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.workflows.experiment import run_experiment
    from rerank.workflows.learning_curve import learning_curve
    from rerank.workflows.output_folder import check_output_folder
    from rerank.workflows.record import provenance

    check_output_folder(given.output)
    if given.learning_curve and given.measures:
        raise click.UsageError("-m: expected --metric with --learning-curve, got -m. Leave it out.")
    options = {"candidates": "--candidates", "base": "--base", "tune": "--tune", "learn_history": "--learn-history"}
    with errors_with_files(options):
        study = _study(given)
    folds = None if isinstance(study.folds, int) else given.folds
    queries, judgements = read_topics(given.topics), read_qrels(given.qrels)
    warn_of_functions(given.qrels)
    files = {"qrels": given.qrels, "folds": folds, "repeats": "--folds", "recipe": given.recipe}
    with (
        opened_cluster(given.cluster) as workers,
        opened_index(given.index, workers) as index,
        errors_with_files({**options, **files}),
    ):
        if given.learning_curve:
            click.echo(learning_curve(index, queries, judgements, given.output, study))
            return
        inputs = {"index": given.index, "topics": given.topics, "qrels": given.qrels}
        result = run_experiment(index, queries, judgements, given.output, study, provenance(inputs))
    click.echo(result.table)


def _study(given: Options) -> Study:
    """Return the settings of the options."""
    from rerank.features.recipe import Recipe
    from rerank.files.lists import read_folds
    from rerank.metrics.registry import parse_measure, parse_measures
    from rerank.runtime.schema import Whole as WholeNumber
    from rerank.workflows.study import Study

    numbers = _FOLDS.fullmatch(given.folds)
    seed = {"random_state": WholeNumber(0, 2**31 - 1)}
    parameters = given_parameters(given.ranker, given.parameters, ELSEWHERE, seed)
    return Study(
        ranker=given.ranker,
        metric=parse_measure(given.metric).name,
        measures=tuple(measure.name for measure in parse_measures(given.measures or MEASURES)),
        k=given.k,
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
