"""Records as public functions take them: as they are, as mappings or data frames, or as the path of their file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rerank.files.data import read_data
from rerank.files.topics import read_topics
from rerank.files.trec import read_qrels, read_run
from rerank.types import Qrels, Run, Topics
from rerank.types.frames import Frame

TopicsLike = Topics | Mapping[str, str] | Frame | str | Path
QrelsLike = Qrels | Mapping[str, Mapping[str, int]] | Frame | str | Path
RunLike = Run | Mapping[str, Mapping[str, float]] | Frame | str | Path


def topics_of(topics: TopicsLike) -> Topics:
    """Return topics, read from their file where a path is given."""
    return read_topics(topics) if isinstance(topics, str | Path) else Topics.of(topics)


def qrels_of(qrels: QrelsLike) -> Qrels:
    """Return judgements, read from their file where a path is given."""
    return read_qrels(qrels) if isinstance(qrels, str | Path) else Qrels.of(qrels)


def data_of(data: Any) -> Any:
    """Return ranking data, read from their file where a path is given; anything else as it is."""
    return read_data(data) if isinstance(data, str | Path) else data


def run_of(run: RunLike) -> Run:
    """Return a run, read from its file where a path is given."""
    return read_run(run) if isinstance(run, str | Path) else Run.of(run)
