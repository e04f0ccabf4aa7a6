"""Whether the scores of a run are the probabilities that they claim to be."""

from __future__ import annotations

import numpy as np

from rerank.errors import InvalidInputError
from rerank.files.records import QrelsLike, RunLike, qrels_of, run_of
from rerank.metrics.reliability import BINS, Reliability


def reliability(qrels: QrelsLike, run: RunLike, *, target: int = 1, bins: int = BINS) -> Reliability:
    """Compare a run of probabilities with judgements.

    Parameters
    ----------
    qrels : Qrels, mapping, DataFrame or path
        Judgements. A document without one is not relevant; queries without one are left out.
    run : Run, mapping, DataFrame or path
        Documents whose scores are probabilities of relevance, as `rerank(..., cutoff=Cutoff())` returns them.
    target : int
        Least label of a relevant document.
    bins : int
        Number of bins of equal mass.

    Returns
    -------
    Reliability
        Promised and observed shares of relevant documents, Brier score and expected calibration error.

    Raises
    ------
    InvalidInputError
        If no query is judged, or a score is not from 0 to 1.

    """
    qrels, run = qrels_of(qrels), run_of(run)
    judged = run.select(np.flatnonzero([query_id in qrels for query_id in run]))
    if not judged.n_rows:
        raise InvalidInputError(
            "run: expected documents of judged queries, got none. Check that both files use the same query ids."
        )
    labels = [qrels[query_id].get(doc_id, 0) for query_id in judged for doc_id in judged[query_id]]
    return Reliability.of(np.array(labels) >= target, judged.scores, bins)
