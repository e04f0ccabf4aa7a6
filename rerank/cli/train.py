"""`rerank train`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rerank
from rerank.cli.options import (
    COUNT,
    ELSEWHERE,
    NO_BASE,
    UNSUPERVISED,
    base_file,
    begins_with_index,
    candidates_option,
    cluster_option,
    errors_with_files,
    functions_option,
    history_option,
    metric_option,
    new_ranker,
    opened_index,
    output_option,
    parameters_option,
    path_argument,
    path_option,
    read_if,
    recipe_option,
    refuse_beside,
    registered_names,
    remove_query_option,
)
from rerank.errors import log

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

RANKER = "lambdamart"  # of DATA, and where -p gives parameters
FROM_DATA = ("validate", "preferences", "memory")
ONE_PROCESS = ("preferences", "memory")
WITHOUT_EFFECT = {  # a form of the verb -> the options that have no effect in it
    "INDEX TOPICS QRELS": FROM_DATA,
    "--teacher": (*FROM_DATA, "tune", "clicks"),
    "--clicks": (*FROM_DATA, "tune"),
    "DATA": ("candidates", "recipe", "no_estimate", "history", "functions", "remove_query"),
    "--tune": ONE_PROCESS,
    "--cluster": ONE_PROCESS,
}


def _describe(context: click.Context, parameter: click.Parameter, ranker: str | None) -> None:
    """Print the help of `-h`, or the parameters of the ranker of `-h RANKER`, and exit."""
    if ranker is None:
        return
    if not ranker:
        click.echo(context.get_help())
        context.exit()
    from rerank.rankers.parameters import declared_parameters, documentation
    from rerank.rankers.registry import ranker_class

    kind = ranker_class(ranker)
    declared = [parameter for parameter in declared_parameters(kind).values() if parameter.name not in ELSEWHERE]
    click.echo(f"{ranker}: {str(kind.__doc__).partition(chr(10))[0]}\n\n{documentation(declared)}")
    context.exit()


@click.command("train", add_help_option=False)
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
@path_argument("data", nargs=-1, required=True, metavar="INDEX TOPICS [QRELS] | DATA...")
@click.option(
    "--ranker",
    metavar="NAME",
    help=f"Ranker: {registered_names('rerank.rankers')}.  [default: lambdamart; auto with INDEX and fewer than 300 "
    "judged queries]",
)
@parameters_option
@metric_option()
@output_option("the model")
@click.option(
    "--base",
    metavar="KIND[:NAME]",
    help="Ranker to start from: feature:NAME, run:FILE, model:FILE, unsupervised or none.  [default: unsupervised with "
    "INDEX, none with DATA]",
)
@candidates_option("bm25,rm3 (with vectors, lsi:200)")
@recipe_option
@click.option("--tune", metavar="N", type=COUNT, help="Tune: try N settings of the ranker (extra tune).")
@click.option("--no-estimate", is_flag=True, help="Do not estimate the metric.")
@path_option("--teacher", text="Instead of QRELS: run whose scores to learn.")
@path_option("--clicks", text="Instead of QRELS: click log. Repeatable.", multiple=True)
@functions_option
@history_option
@path_option("--validate", text="With DATA: data for early stopping.")
@path_option("--preferences", text="With DATA: pairs to train on instead of labels.")
@click.option("--memory", metavar="SIZE", help="With DATA: maximum memory, e.g. 4GB.")
@remove_query_option
@cluster_option
def command(
    data: tuple[Path, ...],
    ranker: str | None,
    parameters: tuple[str, ...],
    metric: str,
    output: Path,
    base: str | None,
    tune: int | None,
    teacher: Path | None,
    clicks: tuple[Path, ...],
    cluster: str | None,
    **options: Any,
) -> None:
    """Train a ranker on INDEX, TOPICS and their judgements QRELS, or on DATA.

    From an index, candidates are retrieved from all sources that need no judgements. If there are many queries, a fifth
    of them is held out for early stopping. Cross-validation estimates the metric and calibrates the scores. With
    `--teacher` or `--clicks`, no judgements are needed. DATA are feature files (.npz, .parquet, .svm or .txt, the last
    two also with .gz), or folders of them.
    """
    from rerank.metrics.registry import parse_measure

    measure = parse_measure(metric).name  # refuses an unknown one before anything is computed
    form = _form(data, "--teacher" if teacher else "--clicks" if clicks else "")
    from_index = form != "DATA"
    refuse_beside(form, WITHOUT_EFFECT[form])
    tuning = None if tune is None else rerank.Tuning(tune)

    def new_model(default: str) -> Ranker:
        chosen = ranker or (RANKER if parameters or tuning is not None else default)
        return new_ranker(chosen, parameters, metric, base or (UNSUPERVISED if from_index else NO_BASE))

    if from_index:
        bound = {"history": None if options["history"] else False, "remove_query": options["remove_query"]}
        with opened_index(data[0], cluster, *data[1:], **bound) as index:
            topics, labels, default, files = _read_labels(index, data, teacher, clicks)
            model = new_model(default)
            files = {**files, "recipe": options["recipe"], "candidates": "--candidates"}
            with errors_with_files({**files, **base_file(base, model.base)}):
                _, estimate = rerank.train(
                    index,
                    topics,
                    labels,
                    model,
                    candidates=options["candidates"],
                    recipe=read_if(rerank.Recipe.from_toml, options["recipe"]),
                    tuning=tuning,
                    estimate=not options["no_estimate"],
                )
    else:
        estimate = None
        model = _train_on_data(data, new_model(RANKER), base, tuning, cluster, options)
    model.save(output)
    history = model.evals_result_.get("valid", {}).get(measure, []) if options["validate"] else []
    figure = f", {measure} {max(history):.4f} on {options['validate']}" if history else ""
    log.info("%s: %s%s", output, model.size_in_words(), figure)
    for part in (estimate, model.calibration_ if from_index else None):
        if part is not None:
            click.echo(part)
    if model.history_ is not None:
        click.echo(
            f"features use judgements of {len(model.history_.query_ids)} other queries, which the model holds "
            "(--no-history leaves them out)"
        )


def _form(data: tuple[Path, ...], instead: str) -> str:
    """Return the form of the arguments, a key of WITHOUT_EFFECT; `instead` is the option in place of QRELS."""
    from rerank.index.bound_index import is_index

    if begins_with_index(data, 2 if instead else 3):
        return instead or "INDEX TOPICS QRELS"
    if instead:
        raise click.UsageError(
            f"{instead}: expected INDEX TOPICS as arguments, got {len(data)} names. Leave out the others."
        )
    if len(data) == 2 and is_index(data[0]):
        raise click.UsageError(
            "expected INDEX TOPICS QRELS as arguments, got an index and topics. Add judgements, --teacher or --clicks"
        )
    return "DATA"


def _read_labels(
    index: rerank.Index, data: tuple[Path, ...], teacher: Path | None, clicks: tuple[Path, ...]
) -> tuple[rerank.Topics, rerank.Qrels | rerank.Run | rerank.Clicks, str, dict[str, str | Path | None]]:
    """Return topics, their judgements, teacher or clicks, the ranker by default, and the files that errors name."""
    from rerank.files.provenance import warn_of_functions
    from rerank.training.defaults import default_ranker

    topics = rerank.read_topics(data[1])
    if clicks:
        log_of_clicks = rerank.read_clicks(clicks, topics=topics, documents=set(index.forward.doc_ids.tolist()))
        return topics, log_of_clicks, RANKER, {}
    if teacher is not None:
        labels: rerank.Qrels | rerank.Run = rerank.read_run(teacher)
        files: dict[str, str | Path | None] = {"teacher": teacher}
    else:
        labels = rerank.read_qrels(data[2])
        files = {"qrels": data[2], "training data": data[2]}
        warn_of_functions(data[2])
    return topics, labels, default_ranker(sum(query_id in labels for query_id in topics)), files


def _train_on_data(
    data: tuple[Path, ...],
    model: Ranker,
    base: str | None,
    tuning: rerank.Tuning | None,
    cluster: str | None,
    options: Mapping[str, Any],
) -> Ranker:
    """Return the model, fitted on files of features."""
    from rerank.files.data import DATA_ENDINGS
    from rerank.files.rows import data_files

    for form, is_used in (("--tune", tuning is not None), ("--cluster", cluster is not None)):
        if is_used:
            refuse_beside(form, WITHOUT_EFFECT[form])
    memory, validate = options["memory"], options["validate"]
    files = {
        "training data": " ".join(map(str, data)),
        "validation data": validate,
        "preferences": options["preferences"],
        **base_file(base, model.base),
        "data": None if base else validate,
        "memory": "--memory",
    }
    with errors_with_files(files):
        rows = rerank.read_data(data, memory is not None)
        read = {file.resolve() for file in data_files(data, DATA_ENDINGS)}
        if validate is not None and any(file.resolve() in read for file in data_files(validate, DATA_ENDINGS)):
            log.warning(
                "--validate: expected other data than those of the training, got %s, which is in both.", validate
            )
        valid = None if validate is None else rerank.read_data(validate, memory is not None)
        pairs = read_if(rerank.read_preferences, options["preferences"])
        if tuning is not None:
            model.set_params(**tuning.search(model, rows, valid).parameters)
        if cluster is not None:
            with rerank.Cluster(cluster) as workers:
                return workers.train(model, rows, valid)
        return model.fit(rows, eval_set=valid, memory=memory, preferences=pairs)
