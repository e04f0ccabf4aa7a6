"""Options of `rerank evaluate` for the comparison of runs and the HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rerank.cli.options import Decorator, Whole, file_option, path_type
from rerank.errors import InvalidInputError, MissingFileError

if TYPE_CHECKING:
    from rerank.evaluation.comparison import Comparison, QueryDetail
    from rerank.evaluation.page.figures import TrainedModel
    from rerank.types import Qrels, Run, Topics

PAGE_CHANGES = 3  # queries with the largest gains, and losses, on a page without --changes


@dataclass(frozen=True)
class ComparisonOptions:
    """Values of the options of `comparison_options`."""

    baseline: Path | None
    test: str
    correction: str
    samples: int
    seed: int
    changes: int | None
    topics: Path | None
    corpus: Path | None
    html: Path | None
    title: str | None
    models: tuple[Path, ...]

    @property
    def needs_runs(self) -> bool:
        """Whether the documents of the runs are needed after the evaluation."""
        return self.html is not None or bool(self.changes)


def comparison_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `ComparisonOptions`."""
    for option in reversed((*_statistics_options(), *_page_options())):
        command = option(command)
    return command


def _statistics_options() -> tuple[Decorator, ...]:
    # Choices are written out here, as help must not import SciPy; a test compares them with significance.py.
    return (
        click.option("--baseline", type=path_type, metavar="RUN", help="Run to compare with; the first by default."),
        click.option(
            "--test",
            type=click.Choice(["t", "wilcoxon", "randomisation"]),
            default="t",
            show_default=True,
            help="Significance test whose p-values are shown; JSON and TSV have those of all tests.",
        ),
        click.option(
            "--correction",
            type=click.Choice(["holm", "bonferroni", "bh", "none"]),
            default="holm",
            show_default=True,
            help="Correction of p-values over all runs and measures; bh is Benjamini-Hochberg.",
        ),
        click.option(
            "--samples",
            type=Whole(100),
            metavar="N",
            default=10_000,
            show_default=True,
            help="Samples of the randomisation test and the bootstrap.",
        ),
        click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="Seed of the samples."),
    )


def _page_options() -> tuple[Decorator, ...]:
    return (
        click.option(
            "--changes",
            type=Whole(0),
            metavar="N",
            help=f"Show the N queries that gained most and the N that lost most, "
            f"under the first measure.  [default: 0; {PAGE_CHANGES} with --html]",
        ),
        file_option("--topics", "Topics, whose text is shown with the queries."),
        file_option("--corpus", "JSONL documents, whose text is shown with the documents that changed rank."),
        file_option("--html", "Write a page with tables, charts, gains and losses: one file, no network."),
        click.option("--title", metavar="TEXT", help="Heading of the page."),
        click.option(
            "--model",
            "models",
            type=path_type,
            metavar="MODEL",
            multiple=True,
            help="Model, or folder of models, whose training the page shows. Can be repeated.",
        ),
    )


def check_options(options: ComparisonOptions, n_runs: int, form: str) -> None:
    """Refuse options that would have no effect, before the runs are read."""
    for name, value in (("--model", options.models), ("--title", options.title)):
        if value and options.html is None:
            raise InvalidInputError(f"{name}: expected --html FILE with it, got none. Add --html.")
    if options.changes and n_runs < 2:
        raise InvalidInputError("--changes: expected a run to compare with, got none. Name two runs or --baseline.")
    if options.changes and form not in ("table", "json") and options.html is None:
        raise InvalidInputError(f"--changes: expected --format table or json, got {form}. Or write a page (--html).")
    if options.corpus is not None:
        from rerank.files.corpus import read_documents

        read_documents(options.corpus)  # refuses a missing corpus now; documents are read later, if any is shown
    if not options.needs_runs and (options.topics or options.corpus):
        name = "--topics" if options.topics else "--corpus"
        raise InvalidInputError(f"{name}: expected --changes N or --html FILE with it, got neither. Add one.")


def changed_queries(
    comparison: Comparison, options: ComparisonOptions, qrels: Qrels, runs: Mapping[str, Run], topics: Topics | None
) -> Sequence[QueryDetail]:
    """Return the queries that gained and lost most."""
    from rerank.evaluation.comparison import query_details

    n_queries = options.changes if options.changes is not None else PAGE_CHANGES * (options.html is not None)
    return query_details(comparison, n_queries, qrels, runs, topics) if n_queries and comparison.systems else []


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
    from rerank.evaluation.page.figures import TrainedModel
    from rerank.rankers.store import read_model

    trained = []
    for path in _model_files(paths):
        model = read_model(path)
        measure, history = next(iter(model.evals_result_.get("valid", {}).items()), ("", []))
        gains = getattr(model, "feature_importances_", ())  # learners other than trees have none
        total = float(sum(gains)) or 1.0
        shares = zip(model.feature_names_, (float(gain) / total for gain in gains), strict=False)
        ordered = dict(sorted(shares, key=lambda share: (-share[1], share[0])))
        name = path.name.removesuffix(".json").removesuffix(".model")
        trained.append(TrainedModel(name, measure, history, model.best_iteration_, ordered))
    return trained


def _model_files(paths: Sequence[Path]) -> list[Path]:
    files = []
    for path in paths:
        inside = sorted(path.glob("*.model.json")) if path.is_dir() else [path]
        if not inside:
            raise MissingFileError(path, "model files (*.model.json) in the folder")
        files += inside
    return files


def write_page(
    comparison: Comparison,
    options: ComparisonOptions,
    qrels: tuple[Path, Qrels],
    runs: Mapping[str, Run],
    details: Sequence[QueryDetail],
    documents: Mapping[str, str],
    topics: Topics | None,
) -> None:
    """Write the page of `--html`."""
    from rerank.evaluation.comparison import run_curves
    from rerank.evaluation.page.build import html_page
    from rerank.evaluation.page.figures import PageContent
    from rerank.runtime.output import whole_file

    path, judgements = qrels
    page = html_page(
        PageContent(
            options.title or f"Runs on {path.name}",
            comparison,
            {name: run_curves(judgements, run, comparison.results[name]) for name, run in runs.items()},
            details,
            documents,
            topics or {},
            trained_models(options.models),
        )
    )
    with whole_file(options.html or Path("-")) as file:
        file.write(page)
