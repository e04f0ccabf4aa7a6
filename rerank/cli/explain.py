"""`rerank explain`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.applying import ModelOptions
from rerank.cli.options import file_option, option, read_base_run, takes

if TYPE_CHECKING:
    from rerank.workflows.explanation import Explanation


@dataclass(frozen=True)
class Options(ModelOptions):
    """What `rerank explain` takes."""

    query: str = option("--query", metavar="QID", required=True, help="Id of the query.")
    documents: tuple[str, ...] = option(
        "--documents",
        metavar="A[,B]",
        multiple=True,
        required=True,
        help="Ids of two documents to compare, or of one document to compare with the mean of the candidates. Give the "
        "option twice if ids contain commas.",
    )
    form: str = option(
        "--format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Output format.",
    )
    html: Path | None = file_option("--html", "Also write an HTML page with a chart, which can be read offline.")
    png: Path | None = file_option("--png", "Also write the chart as a picture; requires matplotlib.")


@click.command("explain", short_help="why a document is ranked where it is")
@takes(Options)
def command(given: Options) -> None:
    """Explain why MODEL (a file, or `unsupervised`) ranks document A above document B for a query of TOPICS.

    For each feature, the output has its values, its contribution to each score (exact SHAP values for trees, weight
    times input for linear rankers) and its meaning.
    """
    from rerank.cli.file_names import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run
    from rerank.runtime.output import check_outputs
    from rerank.workflows.explain import explain

    check_outputs({"--html": given.html, "--png": given.png})
    ranker, queries, base = given.ranker(), read_topics(given.topics), read_base_run(given.base)
    file = given.run_file()
    run = None if file is None else read_run(file)
    files = given.files(base) | {"query": given.topics, "documents": "--documents", "contributions": given.model}
    with given.opened() as index:
        given.check_candidates(run, queries, index)
        with errors_with_files(files):
            explanation = explain(index, ranker, queries, given.query, given.documents, run, k=given.k, base=base)
    _write(explanation, given)


def _write(explanation: Explanation, given: Options) -> None:
    """Write the picture and the page, and print the explanation."""
    import json

    from rerank.runtime.output import whole_file

    if given.png is not None:
        picture = explanation.to_png()
        with whole_file(given.png, binary=True) as file:
            file.write(picture)
    if given.html is not None:
        with whole_file(given.html) as file:
            file.write(explanation.to_html())
    as_json = given.form == "json"
    click.echo(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1) if as_json else str(explanation))
