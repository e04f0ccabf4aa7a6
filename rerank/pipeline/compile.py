"""Compilation of the kernels of a study ahead of their first use; and the archive of Java's classes.

Numba compiles a kernel at its first call, for the types of its arguments. Each part therefore calls its kernels with a
few rows of random values. Kernels of objectives and rankers other than LambdaMART's compile at their first use, which
takes seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from rerank.runtime.progress import track

if TYPE_CHECKING:
    from rerank.types.forward import FieldArrays, ForwardIndex


N_QUERIES = 64
ROWS_A_QUERY = 32
N_DOCUMENTS = 12
N_TERMS = 4
MOST_TOKENS = 6
_log = logging.getLogger("rerank")


def compile_kernels() -> None:
    """Compile the kernels that are not in Numba's cache."""
    for compile_part in track(PARTS.values(), "compiling kernels", len(PARTS)):
        compile_part()


def _grow_trees() -> None:
    import numpy as np

    from rerank.trees.bins import bin_rows, tree_values
    from rerank.trees.boost import Booster, BoostSettings, BoostTask

    random = np.random.default_rng(0)
    n_rows = N_QUERIES * ROWS_A_QUERY
    X = random.normal(size=(n_rows, 32)).astype(np.float32)
    X[:, 2:][random.random((n_rows, 30)) < 0.85] = 0.0  # columns with sparse storage

    def fill(scores: object, grad: object, hess: object) -> None:
        grad[:], hess[:] = X[:, 0], 1.0  # type: ignore[index]

    query_ptr = np.arange(N_QUERIES + 1) * ROWS_A_QUERY
    data = bin_rows(X, np.arange(n_rows), 255, 1)
    task = BoostTask(data, query_ptr, np.zeros(n_rows), BoostSettings())
    tree_values(Booster(task, fill, 1).add_tree(), data.columns, data.blocks)


def _rank_and_score() -> None:
    import numpy as np

    from rerank.metrics.registry import parse_measure
    from rerank.objectives.swap_blocks import lambdarank_for
    from rerank.rankers.arrays import data_from_arrays
    from rerank.rankers.training import TrainingSet, Validation
    from rerank.trees.forest import Forest, Tree
    from rerank.trees.score import score_rows

    random = np.random.default_rng(0)
    n_rows = N_QUERIES * ROWS_A_QUERY
    X = random.normal(size=(n_rows, 2))
    labels = random.integers(0, 3, n_rows)
    data, _ = data_from_arrays(X, labels, np.repeat(np.arange(N_QUERIES), ROWS_A_QUERY))
    rows = TrainingSet.of(data, np.zeros(n_rows))
    measure = parse_measure("nDCG@10")
    scores = np.zeros(n_rows)
    objective = lambdarank_for(measure, rows.lists, rows.weights)
    objective.gradients(scores, np.empty(n_rows), np.empty(n_rows))
    Validation(rows, measure).value(scores)
    stump = np.zeros(1, np.int32), np.zeros(1, np.float32), np.zeros(1, np.bool_)
    forest = Forest.of([Tree(*stump, ~np.zeros(1, np.int32), ~np.ones(1, np.int32), np.ones(1), np.ones(2))])
    score_rows(forest, data.X)
    score_rows(forest, data.X[:1])


def _extract_default() -> None:
    """Compute the families of the default recipe."""
    from rerank.features.recipe import default_family_names
    from rerank.lucene.postings import check_arrays

    _extract(default_family_names())
    check_arrays(_forward())


def _extract_on_request() -> None:
    """Compute the families that the default recipe does not ask for."""
    from rerank.features.recipe import default_family_names, index_family_names

    _extract(name for name in index_family_names() if name not in default_family_names())


def _extract(families: Iterable[str]) -> None:
    """Compute some families of features."""
    from rerank.features.extract import extract
    from rerank.features.recipe import Recipe
    from rerank.types import Run

    run = Run.of({"q": {f"d{number}": float(number) for number in range(N_DOCUMENTS)}})
    extract(_forward(), {"q": ["a", "b", "c"]}, run, Recipe(families=tuple(families)), threads=1)


def _learn_history() -> None:
    """Learn a history and compute the families that need one."""
    from rerank.features.extract import Records, extract
    from rerank.features.recipe import Recipe, history_family_names
    from rerank.history.history import History
    from rerank.types import Qrels, Run

    forward = _forward()
    terms = {"q": ["a", "b"], "r": ["b", "c"], "s": ["c"]}
    qrels = {query_id: {f"d{number}": 1 for number in range(N_DOCUMENTS)} for query_id in terms}
    history = History.of_terms(forward, terms, Qrels.of(qrels))
    run = Run.of({"q": {f"d{number}": float(number) for number in range(N_DOCUMENTS)}})
    extract(forward, terms, run, Recipe(families=history_family_names()), records=Records(history=history), threads=1)


def _learn_vectors() -> None:
    """Learn vectors, compute the families that need them, and search by vectors and by an expanded query."""
    import numpy as np

    from rerank.features.extract import Records, extract
    from rerank.features.recipe import Recipe, space_family_names
    from rerank.retrieval.base import SearchInputs, source
    from rerank.types import Run
    from rerank.vectors.encoder import Encoded
    from rerank.vectors.vectors import Vectors

    forward = _forward()
    terms = {"q": ["a", "b", "c"]}
    vectors = Vectors.learn(forward, dimensions=2, threads=1)
    encoded = Encoded("", np.ones((forward.n_docs, 2), np.float32), {"q": np.ones(2, np.float32)})
    run = Run.of({"q": {f"d{number}": float(number) for number in range(N_DOCUMENTS)}})
    recipe = Recipe(families=space_family_names(("lsi", "encoder")))
    extract(forward, terms, run, recipe, records=Records(vectors=vectors, encoded=encoded), threads=1)
    inputs = SearchInputs(forward, ["q"], [terms["q"]], run.head, vectors=vectors, threads=1)
    for name in ("rm3", "lsi"):
        source(name).search(inputs, 2)


def _archive_classes() -> None:
    """Make the archive of Java's classes; without it, Java starts more slowly."""
    from rerank.errors import RerankError
    from rerank.lucene.jvm import make_class_archive

    try:
        make_class_archive()
    except (OSError, RerankError) as error:
        _log.warning("%s", error)


def _forward() -> ForwardIndex:
    """Return forward arrays of a few documents, inverted as those of an index."""
    import numpy as np

    from rerank.types.forward import ForwardIndex, document_slots

    doc_ids = np.array([f"d{number}" for number in range(N_DOCUMENTS)])
    return ForwardIndex(
        doc_ids=doc_ids,
        doc_slots=document_slots(doc_ids),
        vocabulary=np.frombuffer(b"abcd", dtype=np.uint8),
        term_ptr=np.arange(N_TERMS + 1),
        fields={"contents": _field()},
        fingerprint={},
    )


def _field() -> FieldArrays:
    import numpy as np

    from rerank.lucene import postings as invert
    from rerank.types import pointers
    from rerank.types.forward import FieldArrays

    random = np.random.default_rng(0)
    terms, docs = np.nonzero(random.random((N_TERMS, N_DOCUMENTS)) < 0.9)
    doc_freq = np.bincount(terms, minlength=N_TERMS).astype(np.int32)
    docs = docs.astype(np.int32)
    freqs = random.integers(1, MOST_TOKENS, len(docs)).astype(np.int32)
    n_postings = np.zeros(N_DOCUMENTS, np.int64)
    lengths = np.zeros(N_DOCUMENTS, np.int64)
    collection_freq = np.empty(N_TERMS, np.int64)
    invert.count_postings(doc_freq, docs, freqs, n_postings, lengths, collection_freq)
    doc_ptr = pointers(n_postings)
    position_ptr = pointers(lengths)
    out = np.empty((2, len(docs)), np.int32)
    positions = np.empty(lengths.sum(), np.int32)
    numbers = np.arange(N_DOCUMENTS, dtype=np.int32)
    postings = (doc_freq, docs, freqs)
    invert.invert_postings(postings, numbers, 0, N_DOCUMENTS, 0, doc_ptr[:-1].copy(), out[0], out[1])
    tokens = np.concatenate([np.arange(freq, dtype=np.int32) for freq in freqs])
    invert.invert_positions(postings, numbers, 0, N_DOCUMENTS, tokens, position_ptr[:-1].copy(), positions)
    counts = lengths.astype(np.int32), doc_freq, collection_freq, N_DOCUMENTS
    return FieldArrays("contents", doc_ptr, out[0], out[1], positions, position_ptr, *counts)


PARTS: Mapping[str, Callable[[], None]] = {
    "trees": _grow_trees,
    "gradients and scores": _rank_and_score,
    "features": _extract_default,
    "features on request": _extract_on_request,
    "features of judgements": _learn_history,
    "vectors and candidates": _learn_vectors,
    "classes of Java": _archive_classes,
}
