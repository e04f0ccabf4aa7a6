"""`rerank rerank`."""

from __future__ import annotations

from pathlib import Path

import click

from rerank.cli.cluster import cluster_option, opened_cluster, opened_index
from rerank.cli.options import (
    Whole,
    base_file,
    depth_option,
    functions_option,
    language_option,
    other_index_option,
    output_option,
    path_type,
    read_base_run,
    read_named_runs,
    run_option,
    split_run_files,
    start_option,
    threads_option,
)


@click.command("rerank", short_help="retrieve and reorder")
@click.argument("index", type=path_type)
@click.argument("model", type=path_type)
@click.argument("topics", type=path_type)
@output_option("the run")
@run_option()
@click.option(
    "--texts",
    metavar="FILE",
    type=path_type,
    help="Texts to reorder, which INDEX need not hold: JSON objects, one a line, with qid, id, and text or the fields "
    "of INDEX. Their scores come from --run, otherwise from BM25.",
)
@click.option("--text-field", metavar="NAME", help="Field of INDEX that `text` of --texts is; contents by default.")
@click.option(
    "--first",
    metavar="MODEL",
    type=path_type,
    help="Model of a first stage: it chooses the top k among the first --first-k candidates.",
)
@click.option(
    "--first-k",
    metavar="N",
    type=Whole(),
    help="Candidates that the first stage scores; by default 10,000, or -k if that is more.",
)
@start_option()
@other_index_option()
@depth_option(None)
@functions_option()
@language_option()
@threads_option()
@cluster_option()
def command(
    index: Path,
    model: Path,
    topics: Path,
    output: Path,
    run_files: tuple[str, ...],
    texts: Path | None,
    text_field: str | None,
    base: str | None,
    other_index: bool,
    k: int | None,
    language: str | None,
    first: Path | None,
    first_k: int | None,
    threads: int | None,
    cluster: str | None,
) -> None:
    """Write the top k documents of INDEX for TOPICS in the order of MODEL.

    The candidates are those that MODEL was trained on, and its features need nothing beside INDEX. Documents of
    `--run` below the top k follow in their order. With `--texts`, documents that INDEX need not hold are reordered:
    statistics of the collection are those of INDEX.
    """
    from rerank.cli.file_names import check_documents, check_queries, errors_with_files, model_files
    from rerank.files.lists import read_texts
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run, write_run
    from rerank.rankers.store import read_model
    from rerank.workflows.rerank import rerank
    from rerank.workflows.texts import TextsToRank, rerank_topics

    if first_k is not None and first is None:
        raise click.UsageError("--first-k: expected --first beside it, got none. Add --first MODEL.")
    given = {"--first": first, "--cluster": cluster}
    _check_options(texts, text_field, [name for name, value in given.items() if value is not None])
    ranker, queries, base_run = read_model(model), read_topics(topics), read_base_run(base)
    run, named = split_run_files(run_files)
    candidates = None if run is None else read_run(run)
    bound = {"runs": read_named_runs(named), "threads": threads, "check_models": not other_index}
    with (
        opened_cluster(cluster) as workers,
        opened_index(index, language, workers, **bound) as opened,
    ):
        if candidates is not None and run is not None and texts is None:
            check_queries(candidates, run, queries, topics)
            check_documents(candidates, run, opened)
        files = {**model_files(model, run), "first_k": "--first-k", "first stage": first}
        with errors_with_files({**files, **base_file(base, base_run), "scores": run or "--run"}):
            if texts is None:
                apply = rerank if workers is None else workers.rerank
                stage = None if first is None else read_model(first)
                result = apply(opened, ranker, queries, candidates, k=k, base=base_run, first=stage, first_k=first_k)
            else:
                read = read_texts(texts, queries, opened.forward.fields)
                given_texts = TextsToRank(read.documents, read.locations, candidates, text_field)
                result = rerank_topics(opened, ranker, queries, given_texts, k=k, base=base_run)
    write_run(result, output)


def _check_options(texts: Path | None, text_field: str | None, given: list[str]) -> None:
    """Refuse options that have no effect together; `given` are those that need documents of INDEX."""
    if text_field is not None and texts is None:
        raise click.UsageError("--text-field: expected --texts beside it, got none. Add --texts FILE.")
    if texts is not None and given:
        raise click.UsageError(f"{given[0]}: expected documents of INDEX, got --texts. Leave out one of the two.")
