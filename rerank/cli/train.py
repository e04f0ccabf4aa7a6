"""`rerank train`."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.options import (
    ELSEWHERE,
    NO_BASE,
    UNSUPERVISED,
    RankerOptions,
    base_file,
    candidates_option,
    cluster_option,
    file_option,
    functions_option,
    new_ranker,
    opened_cluster,
    opened_index,
    option,
    output_option,
    path_argument,
    ranker_names,
    refuse_beside,
    takes,
    threads_option,
)
from rerank.errors import MissingFileError

if TYPE_CHECKING:
    from rerank.clicks.record import Clicks
    from rerank.rankers.ranker import Ranker
    from rerank.training.tuning import Tuning
    from rerank.types import Run

log = logging.getLogger("rerank")
RANKER = "lambdamart"  # of DATA, and where -p gives parameters
INSTEAD = ("teacher", "clicks")  # of judgements
FROM_DATA = ("validate", "preferences", "memory")
ONE_PROCESS = ("preferences", "memory")
WITHOUT_EFFECT = {  # a form of the verb -> the options that have no effect in it
    "INDEX TOPICS QRELS": FROM_DATA,
    "--teacher": (*FROM_DATA, "tune", "clicks"),
    "--clicks": (*FROM_DATA, "tune"),
    "DATA": ("candidates", "recipe", "no_estimate", "functions"),
    "--tune": ONE_PROCESS,
    "--cluster": ONE_PROCESS,
}


@dataclass(frozen=True)
class Options(RankerOptions):
    """What `rerank train` takes."""

    ranker: str | None = option(  # type: ignore[assignment]
        "--ranker",
        metavar="NAME",
        help=f"Ranker: {', '.join(ranker_names())}.  [default: lambdamart; auto with INDEX and fewer than 300 judged "
        "queries]",
    )
    data: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="INDEX TOPICS [QRELS] | DATA...")
    output: Path = output_option("the model")
    base: str | None = option(
        "--base",
        metavar="KIND[:NAME]",
        help="Ranker to start from: feature:NAME, run:FILE, model:FILE, unsupervised or none.  [default: unsupervised "
        "with INDEX, none with DATA]",
    )
    candidates: str | None = candidates_option("bm25,rm3 (with vectors, lsi:200)")
    recipe: Path | None = file_option("--recipe", "TOML file of features (see `rerank features`).")
    tune: tuple[str, ...] = option(
        "--tune",
        metavar="N|bm25",
        multiple=True,
        help="Tune: try N settings of the ranker (extra tune), or BM25's k1 and b. Repeatable.",
    )
    no_estimate: bool = option("--no-estimate", is_flag=True, help="Do not estimate the metric.")
    teacher: Path | None = file_option("--teacher", "Instead of QRELS: run whose scores to learn.")
    clicks: tuple[Path, ...] = file_option("--clicks", "Instead of QRELS: click log. Repeatable.", multiple=True)
    functions: tuple[Path, ...] = functions_option()
    validate: Path | None = file_option("--validate", "With DATA: data for early stopping.")
    preferences: Path | None = file_option(
        "--preferences",
        "With DATA: pairs to train on instead of labels.",
    )
    memory: str | None = option(
        "--memory",
        metavar="SIZE",
        help="With DATA: maximum memory, e.g. 4GB.",
    )
    threads: int | None = threads_option()
    cluster: str | None = cluster_option()


def _describe(context: click.Context, parameter: click.Parameter, ranker: str | None) -> None:
    """Print the help of `-h`, or the parameters of the ranker of `-h RANKER`, and exit."""
    if ranker is None:
        return
    if not ranker:
        click.echo(context.get_help())
        context.exit()
    from rerank.rankers.parameters import declared_parameters, documentation
    from rerank.rankers.ranker import ranker_class

    kind = ranker_class(ranker)
    declared = [each for each in declared_parameters(kind).values() if each.name not in ELSEWHERE]
    click.echo(f"{ranker}: {str(kind.__doc__).partition(chr(10))[0]}\n\n{documentation(declared)}")
    context.exit()


@click.command("train", short_help="train a ranker", add_help_option=False)
@click.option(
    "-h",
    "--help",
    is_flag=False,
    flag_value="",
    is_eager=True,
    expose_value=False,
    callback=_describe,
    metavar="[RANKER]",
    help="Show this, or what -p sets.",
)
@takes(Options)
def command(options: Options) -> None:
    """Train a ranker on INDEX, TOPICS and their judgements QRELS, or on DATA.

    From an index, candidates are retrieved from all sources that need no judgements. If there are many queries, a fifth
    of them is held out for early stopping. Cross-validation estimates the metric and calibrates the scores. With
    `--teacher` or `--clicks`, no judgements are needed. DATA are feature files (.npz, .parquet, .svm or .txt, the last
    two also with .gz), or folders of them.
    """
    from rerank.index.bound import is_index
    from rerank.runtime.output import check_outputs

    check_outputs({"--output": options.output})
    sources = [name for name in INSTEAD if getattr(options, name)]
    n_of_index = 2 if sources else 3
    if len(options.data) == n_of_index and not options.data[0].exists() and not options.data[0].suffix:
        raise MissingFileError(options.data[0], "the folder of an index")
    if len(options.data) == n_of_index and is_index(options.data[0]):
        _check(f"--{sources[0]}" if sources else "INDEX TOPICS QRELS")
        (_learn_without_judgements if sources else _train_on_index)(options)
    elif len(options.data) == 2 and is_index(options.data[0]):
        raise click.UsageError(
            "expected INDEX TOPICS QRELS as arguments, got an index and topics. Add judgements, --teacher or --clicks"
        )
    elif sources:
        raise click.UsageError(
            f"--{sources[0]}: expected INDEX TOPICS as arguments, got {len(options.data)} names. Leave out the others."
        )
    else:
        _check("DATA")
        _train_on_data(options)


def _check(form: str) -> None:
    """Refuse options that have no effect in a form of the verb."""
    refuse_beside(form, WITHOUT_EFFECT[form])


def _tuning(options: Options) -> tuple[Tuning | None, bool]:
    """Return the search of the ranker's parameters, kept beside the model, and whether BM25 is tuned."""
    from rerank.training.tuning import Tuning

    numbers = [text for text in options.tune if text != "bm25"]
    if len(numbers) > 1 or len(options.tune) > len(numbers) + 1 or not all(text.isdecimal() for text in numbers):
        raise click.UsageError(f"--tune: expected a number of settings, or bm25, got {' '.join(options.tune)!r}.")
    path = options.output.with_suffix(".tuning.jsonl")
    return Tuning(int(numbers[0]), path) if numbers else None, len(options.tune) > len(numbers)


def _train_on_index(options: Options) -> None:
    from rerank.cli.options import errors_with_files
    from rerank.features.recipe import Recipe
    from rerank.files.lists import warn_of_functions
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels
    from rerank.training.train import default_ranker, train

    folder, topics, qrels = options.data
    queries = read_topics(topics)
    judgements = read_qrels(qrels)
    tuning, bm25 = _tuning(options)
    n_judged = sum(query_id in judgements for query_id in queries)
    chosen = RANKER if options.parameters or tuning is not None else default_ranker(n_judged)
    model = new_ranker(options, options.ranker or chosen, options.base or UNSUPERVISED, options.threads)
    warn_of_functions(qrels)
    files = {"qrels": qrels, "training data": qrels, "recipe": options.recipe, "candidates": "--candidates"}
    with (
        opened_cluster(options.cluster) as workers,
        opened_index(folder, workers, threads=options.threads) as index,
        errors_with_files({**files, **base_file(options.base, model.base)}),
    ):
        _, estimate = train(
            index,
            queries,
            judgements,
            model,
            candidates=options.candidates,
            recipe=None if options.recipe is None else Recipe.from_toml(options.recipe),
            tune_bm25=bm25,
            tuning=tuning,
            estimate=not options.no_estimate,
        )
    model.save(options.output)
    log.info("%s: %d iterations", options.output, model.best_iteration_)
    if estimate is not None:
        click.echo(estimate)
    if model.calibration_ is not None:
        click.echo(model.calibration_)


def _learn_without_judgements(options: Options) -> None:
    from rerank.cli.options import errors_with_files
    from rerank.clicks.reading import read_clicks
    from rerank.features.recipe import Recipe
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run
    from rerank.training.train import default_ranker, train

    folder, topics = options.data
    queries = read_topics(topics)
    files = {"teacher": options.teacher, "recipe": options.recipe, "candidates": "--candidates"}
    with opened_cluster(options.cluster) as workers, opened_index(folder, workers, threads=options.threads) as index:
        if options.clicks:
            documents = set(index.forward.doc_ids.tolist())
            labels: Run | Clicks = read_clicks(options.clicks, topics=queries, documents=documents)
            n_queries = len(labels.query_ids)
        else:
            labels = teacher = read_run(options.teacher)  # type: ignore[arg-type]
            n_queries = sum(query_id in teacher for query_id in queries)
        chosen = RANKER if options.parameters else default_ranker(n_queries)
        model = new_ranker(options, options.ranker or chosen, options.base or UNSUPERVISED, options.threads)
        recipe = None if options.recipe is None else Recipe.from_toml(options.recipe)
        with errors_with_files({**files, **base_file(options.base, model.base)}):
            _, agreement = train(
                index,
                queries,
                labels,
                model,
                candidates=options.candidates,
                recipe=recipe,
                estimate=not options.no_estimate,
            )
    model.save(options.output)
    log.info("%s: %d iterations", options.output, model.best_iteration_)
    if agreement is not None:
        click.echo(agreement)


def _train_on_data(options: Options) -> None:
    from rerank.cli.options import errors_with_files
    from rerank.files.data import read_data
    from rerank.files.lists import read_preferences
    from rerank.metrics.registry import parse_measure

    measure = parse_measure(options.metric).name
    model = new_ranker(options, options.ranker or RANKER, options.base or NO_BASE, options.threads)
    mapped = options.memory is not None
    tuning, bm25 = _tuning(options)
    if bm25:
        raise click.UsageError("--tune: expected a number beside DATA, got bm25. Leave it out, or name an index")
    for form in ("--tune", "--cluster"):
        if getattr(options, form[2:]):
            _check(form)
    with errors_with_files(_files(options, model)):
        data = read_data(options.data, mapped)
        valid = None if options.validate is None else read_data(options.validate, mapped)
        pairs = None if options.preferences is None else read_preferences(options.preferences)
        if tuning is not None:
            model.set_params(**tuning.search(model, data, valid).parameters)
        with opened_cluster(options.cluster) as workers:
            if workers is not None:
                model = workers.train(model, data, valid)
            else:
                model.fit(data, eval_set=valid, memory=options.memory, preferences=pairs)
    model.save(options.output)
    history = model.evals_result_.get("valid", {}).get(measure, [])
    figure = f", {measure} {max(history):.4f} on {options.validate}" if history else ""
    log.info("%s: %d iterations%s", options.output, model.best_iteration_, figure)


def _files(options: Options, model: Ranker) -> dict[str, str | Path | None]:
    """Return the file or the option of each object that errors are about."""
    return {
        "training data": " ".join(map(str, options.data)),
        "validation data": options.validate,
        "preferences": options.preferences,
        **base_file(options.base, model.base),
        "data": None if options.base else options.validate,
        "memory": "--memory",
    }
