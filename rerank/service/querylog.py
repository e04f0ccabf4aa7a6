"""The log of queries: a topics file, the run of their candidates, and their features, as `rerank features` has them."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

from rerank.files.svmlight import append_svmlight
from rerank.service.jobs import SearchJob
from rerank.types import RankingData, Run
from rerank.types.ids import id_array

log = logging.getLogger("rerank")
TOPICS, CANDIDATES = "topics.tsv", "candidates.run"


class QueryLog:
    """Appends to the files of a folder; several processes may do so.

    topics.tsv      query id and text, with a tab between them; the id is that of the request, which clients may repeat,
                    a number that is given once, and the query's in the request
    candidates.run  BM25's documents of each query, a TREC run
    features-X.svm  their features, SVMlight; X differs between models of other features

    Parameters
    ----------
    folder : Path
        The folder, which is made.
    features : bool
        Whether features are written.

    """

    def __init__(self, folder: Path, features: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._features = folder, features
        self._prefix, self._numbers = secrets.token_hex(4), count(1)

    def write(self, job: SearchJob, topics: Mapping[str, str], run: Run, data: RankingData | None) -> None:
        """Write the queries of a request; a full disk is logged and does not fail the request."""
        request = f"{job.request_id}-{self._prefix}{next(self._numbers):x}"
        names = {name: f"{request}-{name.partition(':')[2]}" for name in topics}
        texts = "".join(f"{names[name]}\t{' '.join(text.split())}\n" for name, text in topics.items())
        try:
            with self._locked():
                self._append(TOPICS, texts)
                self._append(CANDIDATES, "".join(_run_lines(run, names)))
                if self._features and data is not None:
                    rows = _of_queries(data, names)
                    append_svmlight(rows, self._folder / f"features-{_digest(rows)}.svm")
        except OSError as error:
            log.warning("query log: expected a folder that can be written, got: %s.", error.strerror)

    def _append(self, name: str, text: str) -> None:
        with open(self._folder / name, "ab") as handle:
            handle.write(text.encode())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock, which ends with the process."""
        with open(self._folder / ".lock", "wb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _run_lines(run: Run, names: Mapping[str, str]) -> Iterator[str]:
    for own, name in names.items():
        rows = run.rows(own)
        scored = zip(run.doc_ids[rows].tolist(), run.scores[rows].tolist(), strict=True)
        for rank, (doc_id, score) in enumerate(scored, start=1):
            yield f"{name} Q0 {doc_id} {rank} {score!r} {run.name}\n"


def _of_queries(data: RankingData, names: Mapping[str, str]) -> RankingData:
    """Return the rows of some queries, under their names in the log."""
    numbers = [number for number, query_id in enumerate(data.query_ids.tolist()) if query_id in names]
    rows = data.select(numbers)
    return replace(rows, query_ids=id_array([names[query_id] for query_id in rows.query_ids.tolist()]))


def _digest(data: RankingData) -> str:
    """Return a few letters that tell features of one recipe from those of another."""
    text = repr((data.feature_names, data.recipe, data.fingerprint, data.retriever))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
