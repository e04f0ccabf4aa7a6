"""Replay of a study from its folder, with the same inputs and settings; output files are compared byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.files.records import QrelsLike, TopicsLike, qrels_of, topics_of
from rerank.vectors.encoder import Encoder
from rerank.workflows.experiment import StudyResult, run_experiment
from rerank.workflows.index import Index
from rerank.workflows.output_folder import check_output_folder
from rerank.workflows.record import check_files, check_inputs, input_checksums, read_record
from rerank.workflows.study import Study


@dataclass(frozen=True, eq=False)
class Replay:
    """A repeated study; all of its `n_files` output files are equal to those of the record."""

    result: StudyResult
    n_files: int


def replay_experiment(
    folder: str | Path,
    index: Index,
    topics: TopicsLike,
    qrels: QrelsLike,
    output: str | Path | None = None,
    names: Mapping[str, str] | None = None,
) -> Replay:
    """Repeat the study of a folder, including tuning."""
    record: dict[str, Any] = read_record(Path(folder))
    target = None if output is None else check_output_folder(output)
    if target is not None and target.resolve() == Path(folder).resolve():
        raise InvalidInputError(f"{target}: expected another folder than that of the study. Name a new one.")
    _check_encoder(record["encoder"], index.encoder)
    topics, qrels = topics_of(topics), qrels_of(qrels)
    check_inputs(record, input_checksums(index, topics, qrels, index.vectors), names or {})
    study = Study.from_dict(record["study"])
    with TemporaryDirectory() as scratch:
        folder_written = target or Path(scratch)
        result = run_experiment(index, topics, qrels, folder_written, study)
        return Replay(result, check_files(record, folder_written))


def _check_encoder(recorded: str, encoder: Encoder | None) -> None:
    """Refuse another encoder than that of the record, "" if the study had none."""
    name = "" if encoder is None else encoder.name
    if name != recorded:
        raise InvalidInputError(
            f"replay: expected {f'the encoder of the study, {shown(recorded)}' if recorded else 'no encoder'}, got "
            f"{name or 'none'}. Bind what the study was made with (`rerank vectors INDEX --encoder`)."
        )
