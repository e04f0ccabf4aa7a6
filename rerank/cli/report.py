"""`rerank report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.comparison import ComparisonOptions, check_no_measure_among, compared, measured
from rerank.cli.options import Whole, file_option, option, path_type, takes
from rerank.errors import InvalidInputError, MissingFileError

if TYPE_CHECKING:
    from rerank.evaluation.comparison import Comparison, QueryDetail
    from rerank.evaluation.page.figures import TrainedModel
    from rerank.types import Qrels, Run

PAGE, JSON = (".html", ".htm"), ".json"  # endings of an output file; any other is that of text


@dataclass(frozen=True)
class Options(ComparisonOptions):
    """What `rerank report` takes."""

    output: Path = option(
        "-o",
        "--output",
        type=path_type,
        metavar="FILE",
        default=Path("-"),
        help="Output file: an HTML page (.html), JSON (.json) or text.  [default: text on stdout]",
    )
    changes: int = option(
        "--changes",
        type=Whole(0),
        metavar="N",
        default=3,
        show_default=True,
        help="Show the N queries that gained most and the N that lost most, by the first measure.",
    )
    topics: Path | None = file_option("--topics", "Topics, to show the text of the queries.")
    corpus: Path | None = file_option(
        "--corpus", "JSONL documents, to show the text of the documents that changed rank."
    )
    title: str | None = option("--title", metavar="TEXT", help="Title of the HTML page.")
    models: tuple[Path, ...] = option(
        "--model",
        type=path_type,
        metavar="MODEL",
        multiple=True,
        help="Model, or folder of models, whose training the HTML page shows. Repeatable.",
    )

    @property
    def is_page(self) -> bool:
        """Whether the output is a page."""
        return self.output.suffix.lower() in PAGE


@click.command("report", short_help="compare runs query by query")
@takes(Options)
def command(given: Options) -> None:
    """Compare RUNs with the first one: the tables of `rerank evaluate`, and the queries that changed most.

    With -o FILE.html, the report is a single HTML page with tables and charts that can be read offline.
    """
    from rerank.evaluation.comparison import query_details
    from rerank.evaluation.report import render
    from rerank.files.provenance import warn_of_functions
    from rerank.files.topics import read_topics
    from rerank.files.trec import read_qrels, read_run
    from rerank.runtime.output import whole_file

    given.parsed_measures()  # refuses an unknown one before the runs are read
    check_no_measure_among(given.runs)
    _check_options(given)
    judgements, topics = read_qrels(given.qrels), None if given.topics is None else read_topics(given.topics)
    warn_of_functions(given.qrels)
    runs = {str(path): read_run(path) for path in given.runs}
    comparison = compared(given, measured(given, runs.items(), judgements), given.runs[0])
    changed = given.changes and comparison.systems
    details = query_details(comparison, given.changes, judgements, runs, topics) if changed else []
    documents = document_texts(given.corpus, details)
    if given.is_page:
        text = page_of(given, comparison, judgements, runs, details, documents, topics or {})
    else:
        form = "json" if given.output.suffix == JSON else "table"
        text = render(comparison, form, details=details, documents=documents) + "\n"
    with whole_file(given.output) as file:
        file.write(text)


def _check_options(given: Options) -> None:
    """Refuse options that would have no effect, and a corpus that is missing, before the runs are read."""
    for name, value in (("--model", given.models), ("--title", given.title)):
        if value and not given.is_page:
            raise InvalidInputError(f"{name}: expected a page with it, got {given.output}. Write -o FILE.html.")
    if given.corpus is not None:
        from rerank.files.corpus import read_documents

        read_documents(given.corpus)  # documents are read later, if any is shown


def document_texts(corpus: Path | None, details: Sequence[QueryDetail]) -> dict[str, str]:
    """Return the texts of the documents in the details, with their fields joined; one pass over the corpus."""
    if corpus is None or not details:
        return {}
    from rerank.evaluation.comparison import moved_documents
    from rerank.files.corpus import read_documents
    from rerank.files.irds import data_set_name

    doc_ids = moved_documents(details)
    texts = {}
    only = None if data_set_name(corpus) is None else "contents"  # the data set's own choice of text
    for document in read_documents(corpus):
        doc_id = document.pop("id")
        if doc_id in doc_ids:
            texts[doc_id] = document[only] if only else " ".join(str(value) for value in document.values())
    return texts


def trained_models(paths: Sequence[Path]) -> list[TrainedModel]:
    """Return the training of the models; a folder means all its files `*.model.json`."""
    from rerank.rankers.store import read_model
    from rerank.workflows.card import trained_model

    names = [(path, path.name.removesuffix(".json").removesuffix(".model")) for path in _model_files(paths)]
    return [trained_model(name, read_model(path)) for path, name in names]


def _model_files(paths: Sequence[Path]) -> list[Path]:
    files = []
    for path in paths:
        inside = sorted(path.glob("*.model.json")) if path.is_dir() else [path]
        if not inside:
            raise MissingFileError(path, "model files (*.model.json) in the folder")
        files += inside
    return files


def page_of(
    given: Options,
    comparison: Comparison,
    judgements: Qrels,
    runs: Mapping[str, Run],
    details: Sequence[QueryDetail],
    documents: Mapping[str, str],
    topics: Mapping[str, str],
) -> str:
    """Return the page."""
    from rerank.evaluation.comparison import run_curves
    from rerank.evaluation.page.build import html_page
    from rerank.evaluation.page.figures import PageContent

    curves = {name: run_curves(judgements, run, comparison.results[name]) for name, run in runs.items()}
    title, models = given.title or f"Runs on {given.qrels.name}", trained_models(given.models)
    return html_page(PageContent(title, comparison, curves, details, documents, topics, models))
