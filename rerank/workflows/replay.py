"""Replay of a study from its folder, with the same inputs and settings; output files are compared byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.files.records import QrelsLike, RunLike, TopicsLike
from rerank.rankers.ranker import Ranker
from rerank.vectors.encoder import Encoder
from rerank.workflows.experiment import StudyResult, run_experiment
from rerank.workflows.output_folder import check_output_folder
from rerank.workflows.record import check_files, check_inputs, input_checksums, read_record
from rerank.workflows.study import Study
from rerank.workflows.study_inputs import SourceLike, StudyInputs, opened_source


@dataclass(frozen=True, eq=False)
class Replay:
    """A repeated study; all of its `n_files` output files are equal to those of the record."""

    result: StudyResult
    n_files: int


def replay_experiment(
    folder: str | Path,
    source: SourceLike,
    topics: TopicsLike | None = None,
    qrels: QrelsLike | None = None,
    output: str | Path | None = None,
    *,
    runs: Mapping[str, RunLike] | None = None,
    model: Ranker | str | None = None,
    names: Mapping[str, str] | None = None,
) -> Replay:
    """Repeat the study of a folder, including tuning; `model` is what it starts from, where that is a model."""
    record: dict[str, Any] = read_record(Path(folder))
    target = None if output is None else check_output_folder(output)
    if target is not None and target.resolve() == Path(folder).resolve():
        raise InvalidInputError(f"{target}: expected another folder than that of the study. Name a new one.")
    with opened_source(source, topics) as opened:
        _check_encoder(record["encoder"], getattr(opened, "encoder", None))
        inputs = StudyInputs.of(opened, topics, qrels, runs)
        study = inputs.study(Study.from_dict(record["study"], model))
        check_inputs(record, input_checksums(inputs, study), names or {})
        with TemporaryDirectory() as scratch:
            folder_written = target or Path(scratch)
            result = run_experiment(opened, topics, qrels, folder_written, study, runs=runs)
            return Replay(result, check_files(record, folder_written))


def _check_encoder(recorded: str, encoder: Encoder | None) -> None:
    """Refuse another encoder than that of the record, "" if the study had none."""
    name = "" if encoder is None else encoder.name
    if name != recorded:
        raise InvalidInputError(
            f"replay: expected {f'the encoder of the study, {shown(recorded)}' if recorded else 'no encoder'}, got "
            f"{name or 'none'}. Bind what the study was made with (`rerank vectors INDEX --encoder`)."
        )
