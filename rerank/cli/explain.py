"""`rerank explain`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.options import (
    CandidateOptions,
    ModelOptions,
    measures_option,
    option,
    path_argument,
    path_type,
    read_base_run,
    refuse_beside,
    takes,
)

if TYPE_CHECKING:
    from rerank.explanation.card import ModelCard
    from rerank.explanation.explain import Explanation
    from rerank.explanation.importance import Dependence

OF_ONE_QUERY = ("query", "documents", "run_files", "base", "other_index", "k", "functions", "threads")


@dataclass(frozen=True)
class Options(CandidateOptions):
    """What `rerank explain` takes."""

    files: tuple[Path, ...] = path_argument(nargs=-1, required=True, metavar="INDEX MODEL TOPICS | MODEL [DATA...]")
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
    measures: tuple[str, ...] = measures_option(("that of the training",))
    use: str = option("--use", metavar="TEXT", default="", help="In a card: what the model is for.")
    output: Path | None = option(
        "-o",
        "--output",
        type=path_type,
        metavar="FILE",
        help="File: a page (.html), JSON (.json), else text.  [default: stdout]",
    )

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
def command(options: Options) -> None:
    """Explain why MODEL (a file, or `unsupervised`) ranks document A above document B for a query of TOPICS.

    For each feature, the output has its values, its contribution to each score (exact SHAP values for trees, weight
    times input for linear rankers) and its meaning. With --dependence and feature files DATA, it has the mean score of
    the documents if the feature had one value in all of them, for several values.

    MODEL without a query is described by a card: data, features and their importance, measures, constraints,
    calibration. DATA, feature files as for `rerank train`, are described, too, and the model is measured on them: give
    queries that it has not seen.
    """
    from rerank.index.bound import is_index
    from rerank.runtime.output import check_outputs

    check_outputs({"--output": options.output})
    if options.dependence is not None:
        _write(_dependence(options), options.output)
    elif options.query or options.documents or (len(options.files) == 3 and is_index(options.files[0])):
        _write(_explained(options), options.output)
    else:
        _write(_card(options), options.output)


def _explained(options: Options) -> Explanation:
    from rerank.cli.options import errors_with_files
    from rerank.explanation.explain import explain
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_run

    applied = options.applied()
    assert options.query is not None
    ranker = applied.ranker()
    queries = read_topics(applied.topics)
    base = read_base_run(applied.base)
    file = applied.run_file()
    run = None if file is None else read_run(file)
    files = applied.files(base) | {"query": applied.topics, "documents": "--documents", "contributions": applied.model}
    with applied.opened() as index:
        applied.check_candidates(run, queries, index)
        with errors_with_files(files):
            return explain(index, ranker, queries, options.query, options.documents, run, k=options.k, base=base)


def _card(options: Options) -> ModelCard:
    from rerank.cli.options import errors_with_files
    from rerank.explanation.card import model_card
    from rerank.files.data import read_data

    refuse_beside("the card of MODEL", OF_ONE_QUERY)
    model, *data = options.files
    if not data and options.measures:
        raise click.UsageError("-m: expected DATA to measure the model on, got none. Name data, or leave it out")
    with errors_with_files({"data": " ".join(map(str, data))}):
        return model_card(model, read_data(data) if data else None, measures=options.measures, use=options.use)


def _dependence(options: Options) -> Dependence:
    from rerank.cli.options import errors_with_files
    from rerank.explanation.importance import dependence
    from rerank.files.data import read_data

    refuse_beside("--dependence", OF_ONE_QUERY)
    if len(options.files) < 2:
        raise click.UsageError("--dependence: expected MODEL DATA as arguments, got one name. Add a file of features.")
    model, *data = options.files
    with errors_with_files({"feature": "--dependence", "data": " ".join(map(str, data))}):
        return dependence(model, read_data(data), options.dependence or "")


def _write(result: Explanation | Dependence | ModelCard, output: Path | None) -> None:
    """Print the result, or write it in the form that the ending of the file says."""
    import json

    from rerank.runtime.output import whole_file

    form = "" if output is None else output.suffix
    writers = {".html": "to_html", ".json": "to_dict"}
    if form in writers and not hasattr(result, writers[form]):
        raise click.UsageError(f"-o: expected .html or text of a model's card, got {form}. Name another file")
    if output is None:
        click.echo(str(result).rstrip("\n"))
        return
    content = f"{str(result).rstrip()}\n"
    if form == ".json":
        content = json.dumps(result.to_dict(), ensure_ascii=False, indent=1) + "\n"  # type: ignore[union-attr]
    elif form in writers:
        content = getattr(result, writers[form])()
    with whole_file(output) as file:
        file.write(content)
