"""Replay of a study from its folder, with the same inputs and settings; output files are compared byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.types import Qrels, Topics
from rerank.vectors.encoder import Encoder
from rerank.vectors.vectors import Vectors
from rerank.workflows.experiment import StudyResult, run_experiment
from rerank.workflows.index import Index, encoder_of
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
    topics: Topics | Mapping[str, str],
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    output: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    *,
    vectors: Vectors | str | Path | None = None,
    encoder: Encoder | str | Callable[[list[str]], Any] | None = None,
) -> Replay:
    """Repeat the study of a folder, including tuning."""
    record: dict[str, Any] = read_record(Path(folder))
    target = None if output is None else check_output_folder(output)
    if target is not None and target.resolve() == Path(folder).resolve():
        raise InvalidInputError(f"{target}: expected another folder than that of the study. Name a new one.")
    used = _encoder(record["encoder"], encoder)
    topics, qrels = Topics.of(topics), Qrels.of(qrels)
    vectors = index.read_vectors(vectors)
    check_inputs(record, input_checksums(index, topics, qrels, vectors), names or {})
    study = Study.from_dict(record["study"])
    with TemporaryDirectory() as scratch:
        folder_written = target or Path(scratch)
        result = run_experiment(index, topics, qrels, folder_written, study, vectors=vectors, encoder=used)
        return Replay(result, check_files(record, folder_written))


def _encoder(recorded: str, given: Encoder | str | Callable[[list[str]], Any] | None) -> Encoder | None:
    """Return the encoder that is given; refuse another one than that of the record, "" if the study had none."""
    if given is None and recorded:
        raise InvalidInputError(
            f"replay: expected the encoder of the study, {shown(recorded)}, got none. Give it (encoder=, --encoder)."
        )
    encoder = encoder_of(given)
    if encoder is not None and encoder.name != recorded:
        expected = f"the encoder of the study, {shown(recorded)}" if recorded else "no encoder, as the study had none"
        raise InvalidInputError(f"replay: expected {expected}, got {encoder.name}. Give what the study was made with.")
    return encoder
