"""`rerank explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import (
    base_file,
    depth_option,
    file_option,
    functions_option,
    language_option,
    other_index_option,
    path_type,
    read_base_run,
    read_named_runs,
    run_option,
    split_run_files,
    start_option,
    threads_option,
)

if TYPE_CHECKING:
    from rerank.workflows.explanation import Explanation


@click.command("explain", short_help="why a document is ranked where it is")
@click.argument("index", type=path_type)
@click.argument("model", type=path_type)
@click.argument("topics", type=path_type)
@click.option("--query", metavar="QID", required=True, help="Id of the query.")
@click.option(
    "--documents",
    metavar="A[,B]",
    multiple=True,
    required=True,
    help="Ids of two documents to compare, or of one to compare with the mean of its query's candidates. Give the "
    "option twice where ids contain commas.",
)
@run_option()
@start_option()
@other_index_option()
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of what is printed.",
)
@file_option("--html", "Write the explanation as a self-contained page with a chart.")
@file_option("--png", "Write the chart as a picture; requires matplotlib.")
@depth_option(None)
@functions_option()
@language_option()
@threads_option()
def command(
    index: Path,
    model: Path,
    topics: Path,
    query: str,
    documents: tuple[str, ...],
    run_files: tuple[str, ...],
    base: str | None,
    other_index: bool,
    k: int | None,
    form: str,
    html: Path | None,
    png: Path | None,
    language: str | None,
    threads: int | None,
) -> None:
    """Print which features of MODEL put document A above B for a query of TOPICS.

    For each feature: its values, what it adds to each score (exact SHAP values of trees, weight times input of linear
    rankers) and its meaning.
    """
    from rerank.cli.file_names import check_documents, check_queries, errors_with_files, model_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run
    from rerank.rankers.store import read_model
    from rerank.runtime.output import check_outputs
    from rerank.workflows.explain import explain
    from rerank.workflows.index import Index

    check_outputs({"--html": html, "--png": png})
    run, named = split_run_files(run_files)
    ranker, queries, base_run = read_model(model), read_topics(topics), read_base_run(base)
    candidates = None if run is None else read_run(run)
    bound: dict[str, Any] = {"runs": read_named_runs(named), "threads": threads, "check_models": not other_index}
    with Index.open(index, language, **bound) as opened:
        if candidates is not None and run is not None:
            check_queries(candidates, run, queries, topics)
            check_documents(candidates, run, opened)
        files = model_files(model, run)
        files |= {"query": topics, "documents": "--documents", "contributions": model}
        with errors_with_files({**files, **base_file(base, base_run)}):
            explanation = explain(opened, ranker, queries, query, documents, candidates, k=k, base=base_run)
    _write(explanation, form, html, png)


def _write(explanation: Explanation, form: str, html: Path | None, png: Path | None) -> None:
    import json

    from rerank.runtime.output import whole_file

    if png is not None:
        picture = explanation.to_png()
        with whole_file(png, binary=True) as file:
            file.write(picture)
    if html is not None:
        with whole_file(html) as file:
            file.write(explanation.to_html())
    text = json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1) if form == "json" else str(explanation)
    click.echo(text)
