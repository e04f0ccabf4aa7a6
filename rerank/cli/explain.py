"""`rerank explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rerank
from rerank.cli.options import (
    base_run_option,
    errors_with_files,
    functions_option,
    measures_option,
    model_applied,
    other_index_option,
    path_argument,
    path_option,
    refuse_beside,
    runs_option,
)

if TYPE_CHECKING:
    from rerank.explanation.explain import Explanation

OF_ONE_QUERY = ("query", "documents", "run_files", "base", "other_index", "functions")


@click.command("explain")
@path_argument("files", nargs=-1, required=True, metavar="INDEX MODEL TOPICS | MODEL [DATA...]")
@runs_option
@base_run_option
@other_index_option
@functions_option
@click.option("--query", metavar="QID", help="Id of the query.")
@click.option(
    "--documents",
    metavar="A[,B]",
    multiple=True,
    help="Ids of two documents to compare, or of one document to compare with the mean of the candidates. Give the "
    "option twice if ids contain commas.",
)
@click.option("--dependence", metavar="FEATURE", help="With MODEL DATA: how the scores depend on a feature.")
@measures_option("that of the training")
@path_option(
    "-o", "--output", text="File: .html, .json, a picture (.png, .svg, .pdf), else Markdown.  [default: stdout]"
)
def command(
    files: tuple[Path, ...],
    dependence: str | None,
    measures: tuple[str, ...],
    output: Path | None,
    **query: Any,
) -> None:
    """Explain why MODEL (a file, or `unsupervised`) ranks document A above document B for a query of TOPICS.

    For each feature, the output has its values, its contribution to each score (exact SHAP values for trees, weight
    times input for linear rankers) and its meaning. With --dependence and feature files DATA, it has the mean score of
    the documents if the feature had one value in all of them, for several values.

    MODEL without a query is described by a card: data, features and their importance, measures, constraints,
    calibration. DATA, feature files as for `rerank train`, are described, too, and the model is measured on them: give
    queries that it has not seen.
    """
    from rerank.evaluation.page import write_account
    from rerank.index.bound_index import is_index

    if dependence is None and (query["query"] or query["documents"] or (len(files) > 1 and is_index(files[0]))):
        refuse_beside("--query", ("measures",))
        write_account(_explained(files, **query), output or "-")
        return
    if dependence is None:
        refuse_beside("the card of MODEL", OF_ONE_QUERY)
    else:
        refuse_beside("--dependence", (*OF_ONE_QUERY, "measures"))
    model, *paths = files
    data = rerank.read_data(paths) if paths else None
    with errors_with_files({"feature": "--dependence", "data": " ".join(map(str, paths))}):
        if dependence is None:
            if data is None and measures:
                raise click.UsageError(
                    "-m: expected DATA to measure the model on, got none. Name data, or leave -m out."
                )
            write_account(rerank.model_card(model, data, measures=measures), output or "-")
        elif data is None:
            raise click.UsageError(
                "--dependence: expected MODEL DATA as arguments, got one name. Add a file of features."
            )
        else:
            write_account(rerank.dependence(model, data, dependence), output or "-")


def _explained(
    files: tuple[Path, ...],
    query: str | None,
    documents: tuple[str, ...],
    run_files: tuple[str, ...],
    base: str | None,
    other_index: bool,
    **_: Any,
) -> Explanation:
    """Return why a document is ranked where it is."""
    if len(files) != 3:
        raise click.UsageError(
            f"arguments: expected INDEX MODEL TOPICS, got {len(files)} names. Name query and documents by --query and "
            "--documents."
        )
    if not query or not documents:
        raise click.UsageError(f"Missing option '--{'documents' if query else 'query'}'.")
    index, model, topics = files
    subjects: dict[str, str | Path | None] = {"query": topics, "documents": "--documents", "contributions": model}
    opening = model_applied(index, model, topics, run_files, base, other_index, remove_query=False)
    with opening as (opened, applied, used), errors_with_files({**used, **subjects}):
        return rerank.explain(opened, **applied, query=query, documents=documents)
