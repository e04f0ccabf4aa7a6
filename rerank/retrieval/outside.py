"""The nearest documents by vectors from outside, as a run: a source of candidates, of features, or of a fusion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rerank.errors import InvalidInputError
from rerank.files.data import checked_vectors, read_vectors
from rerank.retrieval.sources.nearest import nearest_hits
from rerank.types import Run, pointers
from rerank.types.ids import Ids

VectorsLike = str | Path | tuple[Any, ArrayLike]


def nearest_run(
    documents: VectorsLike, queries: VectorsLike, k: int = 1000, *, name: str = "dense", threads: int | None = None
) -> Run:
    """Return the documents of the greatest cosine to each query, by vectors that another system computed.

    Give the run to an index as a source of candidates (`index.using(runs={"dense": run})`, candidates
    `bm25:1000,run:dense.run`), or to `fuse`.

    Parameters
    ----------
    documents, queries : path, or (ids, array of shape (n, dimensions))
        Vectors with their ids: a .npy file with a file of the ids beside it, a Parquet file, or arrays.
    k : int
        Number of documents of each query; those of a cosine of 0 or less are left out.
    name : str
        Name of the run.
    threads : int, optional
        Number of threads; None is all cores. The run does not depend on it.

    Returns
    -------
    Run
        The documents. Up to 50,000 all are compared; of more, those that an index finds where the extra `nearest` is
        installed.

    Raises
    ------
    InvalidInputError, FileFormatError
        For vectors that are not finite, ids that are there twice, and queries of other dimensions than the documents.

    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise InvalidInputError(f"k: expected a number of documents from 1, got {k!r}. Pass e.g. 1000.")
    (doc_ids, vectors), (query_ids, wanted) = _read(documents), _read(queries)
    if vectors.shape[1] != wanted.shape[1]:
        raise InvalidInputError(
            f"vectors: expected queries of {vectors.shape[1]} dimensions as the documents have, got {wanted.shape[1]}. "
            "Encode both with the same model."
        )
    hits = list(nearest_hits(wanted, vectors, doc_ids, int(k), threads))
    docs = np.concatenate([np.empty(0, np.int64), *(found for found, _ in hits)])
    scores = np.concatenate([np.empty(0), *(of_hits for _, of_hits in hits)])
    return Run(query_ids, pointers([len(found) for found, _ in hits]), doc_ids[docs], scores, name)


def _read(vectors: VectorsLike) -> tuple[Ids, Any]:
    if isinstance(vectors, str | Path):
        return read_vectors(vectors)
    if not isinstance(vectors, tuple | list) or len(vectors) != 2:
        raise InvalidInputError(
            f"vectors: expected a file, or ids and an array of the same length, got {type(vectors).__name__}. "
            "Pass (ids, array)."
        )
    return checked_vectors(*vectors)
