"""`rerank rerank`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rerank.cli.cluster import cluster_options, opened_cluster, opened_index
from rerank.cli.options import (
    applying_options,
    base_file,
    candidates_option,
    other_index_option,
    output_option,
    path_type,
    read_base_run,
    read_history,
    read_named_runs,
    split_run_files,
    start_option,
)


@click.command("rerank", short_help="retrieve and reorder")
@click.argument("index", type=path_type)
@click.argument("model", type=path_type)
@click.argument("topics", type=path_type)
@output_option("the run")
@candidates_option()
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
    type=click.IntRange(1),
    help="Candidates that the first stage scores; by default 10,000, or -k if that is more.",
)
@start_option()
@other_index_option()
@applying_options()
@cluster_options()
def command(
    index: Path,
    model: Path,
    topics: Path,
    output: Path,
    run_files: tuple[str, ...],
    texts: Path | None,
    text_field: str | None,
    base: str | None,
    history: Path | None,
    language: str | None,
    vectors: Path | None,
    union: str | None,
    encoder: str | None,
    first: Path | None,
    first_k: int | None,
    cluster: str | None,
    cluster_security: Path | None,
    **options: Any,
) -> None:
    """Write the top k documents of INDEX for TOPICS in the order of MODEL.

    Documents of `--run` below the top k follow in their order. With `--texts`, documents that INDEX need not hold are
    reordered: statistics of the collection are those of INDEX.
    """
    from rerank.cli.file_names import check_documents, check_queries, errors_with_files, model_files
    from rerank.files.lists import read_texts
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run, write_run
    from rerank.rankers.store import load_model
    from rerank.workflows.index import encoder_of
    from rerank.workflows.rerank import rerank
    from rerank.workflows.texts import TextsToRank, rerank_topics

    if first_k is not None and first is None:
        raise click.UsageError("--first-k: expected --first beside it, got none. Add --first MODEL.")
    given = {"--history": history, "--union": union, "--first": first, "--cluster": cluster}
    _check_options(run_files, texts, text_field, [name for name, value in given.items() if value is not None])
    ranker, queries, base_run = load_model(model), read_topics(topics), read_base_run(base)
    run, named = split_run_files(run_files)
    runs = read_named_runs(named)
    candidates = None if run is None else read_run(run)
    options |= {"base": base_run}
    records: dict[str, Any] = {"vectors": vectors, "union": union, "history": read_history(history), "encoder": encoder}
    records |= {"first": None if first is None else load_model(first), "first_k": first_k}
    with opened_cluster(cluster, cluster_security) as workers, opened_index(index, language, workers) as opened:
        if candidates is not None and run is not None and texts is None:
            check_queries(candidates, run, queries, topics)
            check_documents(candidates, run, opened)
        files = {**model_files(model, run, history), "first_k": "--first-k", "first stage": first}
        with errors_with_files({**files, **base_file(base, base_run), "scores": run or "--run"}):
            if workers is not None:
                result = workers.rerank(opened, ranker, queries, candidates, runs=runs, **records, **options)
            elif texts is None:
                result = rerank(opened, ranker, queries, candidates, runs=runs, **records, **options)
            else:
                read = read_texts(texts, queries, opened.forward.fields)
                beside: dict[str, Any] = {"vectors": opened.read_vectors(vectors), "encoder": encoder_of(encoder)}
                given_texts = TextsToRank(read.documents, read.locations, candidates, text_field, runs, **beside)
                result = rerank_topics(opened, ranker, queries, given_texts, **options)
    write_run(result, output)


def _check_options(run_files: tuple[str, ...], texts: Path | None, text_field: str | None, given: list[str]) -> None:
    """Refuse options that have no effect together; `given` are those that need documents of INDEX."""
    if text_field is not None and texts is None:
        raise click.UsageError("--text-field: expected --texts beside it, got none. Add --texts FILE.")
    if "--union" in given and (texts is not None or split_run_files(run_files)[0] is not None):
        raise click.UsageError("--union: expected neither --texts nor candidates of --run, got one. Leave one out.")
    if texts is not None and given:
        raise click.UsageError(f"{given[0]}: expected documents of INDEX, got --texts. Leave out one of the two.")
