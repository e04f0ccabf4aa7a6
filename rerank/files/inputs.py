"""Records as public functions take them: as they are, as mappings or data frames, or as the path of their file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rerank.errors import InvalidInputError, shown
from rerank.files.data import read_data
from rerank.files.topics import read_topics
from rerank.files.trec import read_qrels, read_run, read_subtopic_qrels
from rerank.types import Qrels, Run, SubtopicQrels, Topics
from rerank.types.data_frames import Frame, is_frame, rows_as_frame

TopicsLike = Topics | Mapping[str, str] | Frame | str | Path
QrelsLike = Qrels | Mapping[str, Mapping[str, int]] | Frame | str | Path
JudgementsLike = SubtopicQrels | QrelsLike
RunLike = Run | Mapping[str, Mapping[str, float]] | Frame | str | Path


def topics_of(topics: TopicsLike) -> Topics:
    """Return topics, read from their file where a path is given."""
    if isinstance(topics, str) and " " in topics and not Path(topics).exists() and ":" not in topics:
        raise InvalidInputError(
            f"topics: expected a file, or texts by query id, got a text: {shown(topics)}. Pass {{'q1': text}}."
        )
    return read_topics(topics) if isinstance(topics, str | Path) else Topics.of(topics)


def qrels_of(qrels: JudgementsLike) -> Qrels:
    """Return judgements, read from their file where a path is given."""
    if isinstance(qrels, SubtopicQrels):
        raise InvalidInputError(
            "qrels: expected one label of each document, got judgements of subtopics. Give qrels of documents, or "
            "measure e.g. alpha_nDCG@10."
        )
    return read_qrels(qrels) if isinstance(qrels, str | Path) else Qrels.of(qrels)


def subtopic_qrels_of(qrels: JudgementsLike) -> SubtopicQrels:
    """Return judgements of subtopics, read from their file where a path is given."""
    if isinstance(qrels, str | Path):
        return read_subtopic_qrels(qrels)
    qrels = rows_as_frame(qrels)
    if is_frame(qrels):
        return SubtopicQrels.from_frame(qrels)
    if not isinstance(qrels, SubtopicQrels):
        raise InvalidInputError(
            "qrels: expected judgements of subtopics, got one label of each document. Give rows of query, subtopic, "
            "document and label (rerank.read_subtopic_qrels), or measure e.g. nDCG@10."
        )
    return qrels


def data_of(data: Any) -> Any:
    """Return ranking data, read from their file where a path is given; anything else as it is."""
    return read_data(data) if isinstance(data, str | Path) else data


def run_of(run: RunLike) -> Run:
    """Return a run, read from its file where a path is given."""
    return read_run(run) if isinstance(run, str | Path) else Run.of(run)
