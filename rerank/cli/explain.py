"""`rerank explain`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.applying import CandidateOptions, ModelOptions
from rerank.cli.options import file_option, option, path_argument, read_base_run, takes

if TYPE_CHECKING:
    from rerank.workflows.dependence import Dependence
    from rerank.workflows.explanation import Explanation

OF_ONE_QUERY = ("query", "documents", "run_files", "base", "other_index", "k", "functions", "threads")


@dataclass(frozen=True)
class Options(CandidateOptions):
    """What `rerank explain` takes."""

    files: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="INDEX MODEL TOPICS | MODEL DATA...")
    query: str | None = option("--query", metavar="QID", help="Id of the query.")
    documents: tuple[str, ...] = option(
        "--documents",
        metavar="A[,B]",
        multiple=True,
        help="Ids of two documents to compare, or of one document to compare with the mean of the candidates. Give the "
        "option twice if ids contain commas.",
    )
    dependence: str | None = option(
        "--dependence", metavar="FEATURE", help="With MODEL DATA: how the scores depend on a feature."
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

    def applied(self) -> ModelOptions:
        """Return the options of a model that is applied to an index."""
        if len(self.files) != 3:
            raise click.UsageError(f"arguments: expected INDEX MODEL TOPICS, got {len(self.files)} names.")
        for name in ("query", "documents"):
            if not getattr(self, name):
                raise click.UsageError(f"Missing option '--{name}'.")
        shared = {each.name: getattr(self, each.name) for each in fields(CandidateOptions)}
        index, model, topics = self.files
        return ModelOptions(**shared, index=index, model=model, topics=topics)


@click.command("explain", short_help="why a document is ranked where it is")
@takes(Options)
def command(given: Options) -> None:
    """Explain why MODEL (a file, or `unsupervised`) ranks document A above document B for a query of TOPICS.

    For each feature, the output has its values, its contribution to each score (exact SHAP values for trees, weight
    times input for linear rankers) and its meaning. With --dependence and feature files DATA, it has the mean score of
    the documents if the feature had one value in all of them, for several values.
    """
    from rerank.runtime.output import check_outputs

    check_outputs({"--html": given.html, "--png": given.png})
    _write(_explained(given) if given.dependence is None else _dependence(given), given)


def _explained(given: Options) -> Explanation:
    from rerank.cli.file_names import errors_with_files
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run
    from rerank.workflows.explain import explain

    applied = given.applied()
    assert given.query is not None
    ranker, queries, base = applied.ranker(), read_topics(applied.topics), read_base_run(applied.base)
    file = applied.run_file()
    run = None if file is None else read_run(file)
    files = applied.files(base) | {"query": applied.topics, "documents": "--documents", "contributions": applied.model}
    with applied.opened() as index:
        applied.check_candidates(run, queries, index)
        with errors_with_files(files):
            return explain(index, ranker, queries, given.query, given.documents, run, k=given.k, base=base)


def _dependence(given: Options) -> Dependence:
    from rerank.cli.file_names import errors_with_files
    from rerank.files.data import read_data
    from rerank.workflows.dependence import dependence

    for name in OF_ONE_QUERY:
        if getattr(given, name) not in (None, False, ()):
            named = {"run_files": "run"}.get(name, name).replace("_", "-")
            raise click.UsageError(f"--{named}: expected none beside --dependence, got one. Leave it out.")
    if len(given.files) < 2:
        raise click.UsageError("--dependence: expected MODEL DATA as arguments, got one name. Add a file of features.")
    model, *data = given.files
    with errors_with_files({"feature": "--dependence", "data": " ".join(map(str, data))}):
        return dependence(model, read_data(data), given.dependence or "")


def _write(explanation: Explanation | Dependence, given: Options) -> None:
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
