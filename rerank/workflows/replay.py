"""A study repeated from its folder: the same inputs and choices, and files that are compared byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rerank.types import Qrels, Topics
from rerank.workflows.experiment import Study, StudyResult, check_output_folder, run_experiment
from rerank.workflows.index import Index
from rerank.workflows.record import check_files, check_inputs, input_checksums, read_record


@dataclass(frozen=True, eq=False)
class Replay:
    """A study that was repeated; `n_files` files of it are those of the record, byte for byte."""

    result: StudyResult
    n_files: int


def replay_experiment(
    folder: str | Path,
    index: Index,
    topics: Topics | Mapping[str, str],
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    output: str | Path | None = None,
    places: Mapping[str, str] | None = None,
) -> Replay:
    """Repeat the study of a folder, searches of hyper-parameters included.

    output  folder for what the study writes; nothing stays where none is given
    places  what messages call `index`, `topics` and `qrels`
    Raises InvalidInputError, in one line, where an input is not the record's, and where a file comes out otherwise.
    """
    record: dict[str, Any] = read_record(Path(folder))
    target = None if output is None else check_output_folder(output)
    topics, qrels = Topics.of(topics), Qrels.of(qrels)
    check_inputs(record, input_checksums(index, topics, qrels), places or {})
    study = Study.from_dict(record["study"])
    with TemporaryDirectory() as scratch:
        written = target or Path(scratch)
        result = run_experiment(index, topics, qrels, written, study)
        return Replay(result, check_files(record, written))
