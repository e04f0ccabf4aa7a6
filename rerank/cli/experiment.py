"""`rerank experiment`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import rerank
from rerank.cli.options import (
    COUNT,
    begins_with_index,
    candidates_option,
    cluster_option,
    errors_with_files,
    folder_option,
    functions_option,
    history_option,
    measures_option,
    metric_option,
    opened_index,
    parameters_option,
    path_argument,
    ranker_parameters,
    read_if,
    read_named_runs,
    recipe_option,
    refuse_beside,
    run_option,
)
from rerank.errors import InvalidInputError

OPTIONS = {name: f"--{name.replace('_', '-')}" for name in ("candidates", "base", "tune", "baseline")}
OPTIONS["history"] = "--no-history"
ELSEWHERE = {"metric": "--metric", "n_jobs": "--threads"}
MEASURES = ("RR@10", "nDCG@10", "AP")  # the defaults of `Study`, which would slow down help if imported
OF_ANOTHER = ("data", "output", "cluster")  # parameters that go with the folder of an experiment
_FOLDS = re.compile(r"(?:([0-9]{1,6})x)?(-?[0-9]{1,9})")


@click.command("experiment")
@path_argument("data", nargs=-1, required=True, metavar="INDEX TOPICS QRELS | DATA... | FOLDER")
@click.option(
    "--ranker", metavar="NAME", default="lambdamart", show_default=True, help="Ranker (see `rerank train -h`)."
)
@parameters_option
@metric_option()
@folder_option("runs, models, figures", required=True)
@click.option(
    "--folds",
    metavar="N|RxN|FILE",
    default="5",
    show_default=True,
    help="Number of folds, at least 3; RxN assigns N folds R times; or a file of query id, tab, fold.",
)
@click.option(
    "--tune",
    type=COUNT,
    metavar="[N]",
    is_flag=False,
    flag_value=20,
    help="Tune: try N settings per fold.  [default: 20]",
)
@measures_option(" ".join(MEASURES))
@click.option("-k", "--hits", "k", type=COUNT, metavar="N", help="Documents per query and source.  [default: 1000]")
@candidates_option("bm25,rm3 (with vectors, lsi:200)")
@click.option(
    "--base",
    metavar="KIND[:NAME]",
    help="Start from unsupervised, feature:NAME, model:FILE, run:FILE, run (the candidates' scores) or none.  "
    "[default: unsupervised; with DATA, none]",
)
@click.option(
    "--baseline",
    metavar="NAME",
    help="Row of the table that the others are compared with.  [default: the base, or the first row]",
)
@history_option
@run_option("Other run to compare with.")
@recipe_option
@click.option(
    "--learning-curve",
    is_flag=True,
    help="Only write learning curves by number of queries: into a folder, or FILE.png, .svg or .pdf.",
)
@functions_option
@cluster_option
def command(
    data: tuple[Path, ...],
    output: Path,
    folds: str,
    run_files: tuple[str, ...],
    recipe: Path | None,
    learning_curve: bool,
    functions: tuple[Path, ...],
    cluster: str | None,
    **settings: Any,
) -> None:
    """Compare a ranker without and with --base, and other runs, on held-out queries.

    With an index, BM25 and the unsupervised ranking are compared, too. DATA are feature files, as for `rerank train`.
    `-p random_state=N` is the seed of all. The FOLDER of an experiment is run again, by its settings.json.
    """
    from rerank.evaluation.page import PICTURES, matplotlib_figure, write_account
    from rerank.experiments.learning_curve import learning_curve as write_curve
    from rerank.experiments.study import SETTINGS, check_output_folder
    from rerank.files.provenance import warn_of_functions

    is_picture = learning_curve and output.suffix.lower() in PICTURES
    if is_picture:
        matplotlib_figure()  # refuses now, not after the training
    else:
        check_output_folder(output)
    if len(data) == 1 and (data[0] / SETTINGS).is_file():
        _repeat(data[0], output, cluster)
        return
    if learning_curve:
        refuse_beside("--learning-curve", ("measures", "run_files", "baseline"))
    with errors_with_files(OPTIONS):
        study = _study(folds, recipe, settings)
    paths = _paths(data, run_files)
    files = {**OPTIONS, "qrels": paths.get("qrels"), "repeats": "--folds", "recipe": recipe, "runs": "--run", "k": "-k"}
    files["folds"] = None if _FOLDS.fullmatch(folds) else folds
    if "data" in paths:
        refuse_beside("DATA", ("functions", "cluster"))
        files |= dict.fromkeys(("data", "training data"), " ".join(map(str, data)))
    with _opened(paths, cluster) as inputs, errors_with_files(files):
        if "qrels" in paths:
            warn_of_functions(paths["qrels"])
        if learning_curve:
            curve = write_curve(*inputs, None if is_picture else output, study)
            if is_picture:
                write_account(curve, output)
            click.echo(curve)
            return
        result = rerank.run_experiment(*inputs, output, study, runs=read_named_runs(run_files), inputs=paths)
    click.echo(result)


def _paths(data: tuple[Path, ...], run_files: tuple[str, ...]) -> dict[str, Any]:
    """Return the paths of the inputs by name, as the folder of the study stores them."""
    paths: dict[str, Any] = {"data": data}
    if begins_with_index(data, 3):
        paths = dict(zip(("index", "topics", "qrels"), data, strict=True))
    if run_files:
        paths["runs"] = dict(pair.partition("=")[::2] for pair in run_files)
    return paths


def _study(folds: str, recipe: Path | None, settings: Mapping[str, Any]) -> rerank.Study:
    """Return the study of the options, which have the names of its settings; those not given have its defaults."""
    from rerank.metrics.registry import parse_measures
    from rerank.runtime.fields import Whole as WholeNumber

    parse_measures([settings["metric"], *settings["measures"]])  # refuses an unknown one before anything is computed
    chosen = {name: value for name, value in settings.items() if value not in (None, ())}
    seed = {"random_state": WholeNumber(0, 2**31 - 1)}
    parameters = ranker_parameters(chosen["ranker"], chosen.pop("parameters", ()), ELSEWHERE, seed)
    random_state = parameters.pop("random_state", 0)
    numbers = _FOLDS.fullmatch(folds)
    repeats, n_folds = ("1", rerank.read_folds(Path(folds))) if numbers is None else (numbers[1], int(numbers[2]))
    return rerank.Study(
        **chosen,
        folds=n_folds,
        repeats=int(repeats or 1),
        random_state=random_state,
        parameters=parameters,
        recipe=read_if(rerank.Recipe.from_toml, recipe),
    )


def _repeat(folder: Path, output: Path, cluster: str | None) -> None:
    """Run the study of a folder again, with the inputs and settings that it names."""
    from rerank.experiments.study import read_settings

    refuse_beside(
        "the folder of an experiment", {parameter.name for parameter in command.params}.difference(OF_ANOTHER)
    )
    settings = read_settings(folder)
    paths = settings["inputs"]
    if not {"index", "data"} & paths.keys():
        raise InvalidInputError(f"{folder}: expected a study of `rerank experiment`, got one of Python. Run it there.")
    base = next((f"{kind}:{paths[kind]}" for kind in ("model", "run") if kind in paths), None)
    study = rerank.Study.from_dict(settings["study"], base)
    runs = read_named_runs(tuple(f"{name}={path}" for name, path in paths.get("runs", {}).items()))
    with _opened(paths, cluster) as inputs:
        click.echo(rerank.run_experiment(*inputs, output, study, runs=runs, inputs=paths))


@contextmanager
def _opened(paths: Mapping[str, Any], cluster: str | None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield an index, topics and judgements; or data, None and None."""
    if "index" not in paths:
        yield rerank.read_data(paths["data"]), None, None
        return
    topics = rerank.read_topics(paths["topics"])
    qrels = rerank.read_qrels(paths["qrels"])
    with opened_index(paths["index"], cluster, paths["topics"], paths["qrels"]) as index:
        yield index, topics, qrels
