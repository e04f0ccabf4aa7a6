"""What the verbs share that apply a model to an index: `rerank rerank` and `rerank explain`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rerank.cli.cluster import opened_index
from rerank.cli.options import (
    UNSUPERVISED,
    base_file,
    base_run_option,
    depth_option,
    functions_option,
    option,
    path_argument,
    read_named_runs,
    threads_option,
)

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster
    from rerank.rankers.ranker import Ranker
    from rerank.types import Run, Topics
    from rerank.workflows.index import Index


@dataclass(frozen=True)
class CandidateOptions:
    """Options of the verbs that apply a model to an index: where candidates come from, and what the model needs."""

    run_files: tuple[str, ...] = option(
        "--run",
        metavar="[NAME=]FILE",
        multiple=True,
        help="Run with the candidates, instead of retrieving them; NAME=FILE is a run whose scores the model uses as "
        "features. Repeatable.",
    )
    base: str | None = base_run_option()
    other_index: bool = option("--other-index", is_flag=True, help="Allow a model that was trained on another index.")
    k: int | None = depth_option(None)
    functions: tuple[Path, ...] = functions_option()
    threads: int | None = threads_option()


@dataclass(frozen=True)
class ModelOptions(CandidateOptions):
    """Arguments and options of the verbs that apply a model to an index."""

    index: Path = path_argument()
    model: Path = path_argument()
    topics: Path = path_argument()

    def ranker(self) -> Ranker | str:
        """Return the model of the file MODEL, or the name of the unsupervised ranking."""
        from rerank.rankers.store import read_model

        return UNSUPERVISED if self.model == Path(UNSUPERVISED) else read_model(self.model)

    def run_file(self) -> Path | None:
        """Return the file of candidates of `--run`, that without a name; None if there is none."""
        files = [Path(item) for item in self.run_files if "=" not in item]
        if len(files) > 1:
            raise click.UsageError(
                f"--run: expected one file of candidates, got {len(files)}. Give others as NAME=FILE."
            )
        return files[0] if files else None

    def opened(self, cluster: Cluster | None = None) -> AbstractContextManager[Index]:
        """Return the opened index, with the runs of `--run` that have a name."""
        runs = read_named_runs(tuple(item for item in self.run_files if "=" in item))
        check = not self.other_index
        return opened_index(self.index, cluster, runs=runs, threads=self.threads, check_models=check)

    def check_candidates(self, run: Run | None, topics: Topics, index: Index) -> None:
        """Refuse candidates of `--run` with a query that has no topic, or a document that is not in the index."""
        from rerank.cli.file_names import check_documents, check_queries

        file = self.run_file()
        if run is not None and file is not None:
            check_queries(run, file, topics, self.topics)
            check_documents(run, file, index)

    def files(self, base_run: Run | None) -> dict[str, str | Path | None]:
        """Return the file of each object that errors are about, for `errors_with_files`."""
        run, of_model = self.run_file(), dict.fromkeys(("model", "data", "recipe", "base", "candidates"), self.model)
        return {**of_model, "run": run, **base_file(self.base, base_run)}
