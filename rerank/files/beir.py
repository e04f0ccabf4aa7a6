"""Files of BEIR: folders with corpus.jsonl and queries.jsonl, and its data sets of ir_datasets.

The queries of ArguAna and Quora are documents of the collection, which find themselves first. BEIR leaves the document
with the id of the query out of every ranking (its `ignore_identical_ids`).
"""

from pathlib import Path

import numpy as np

from rerank.files.corpus import BEIR
from rerank.files.irds import data_set_name
from rerank.types import Run

DATA_SETS = "beir/"  # beginning of their names
OWN_DOCUMENTS = "%d of %d queries have the id of a document that they find; these %s (%s leaves them out)"  # a line


def n_own_documents(run: Run) -> int:
    """Return the number of queries that find the document of their own id; 0 where most are below a list's first tenth.

    Ids that are numbers coincide by chance, anywhere in a list; a query that is a document finds itself far above.
    """
    own = run.own_rows()
    n_above = 0
    for row, query in zip(own.tolist(), (np.searchsorted(run.query_ptr, own, side="right") - 1).tolist(), strict=True):
        scores = run.scores[slice(*run.query_ptr[query : query + 2].tolist())]
        n_above += bool(10 * np.count_nonzero(scores > run.scores[row]) < len(scores))
    return len(own) if 2 * n_above >= len(own) else 0


def removes_query(asked: bool | None, *files: object) -> bool:
    """Return whether the document with the id of the query is left out; None: as BEIR does with its files."""
    paths = (file for file in files if isinstance(file, str | Path))
    return any(map(_is_of_beir, paths)) if asked is None else asked


def _is_of_beir(file: str | Path) -> bool:
    """Return whether a path is one of BEIR: of a folder, of its qrels, or a data set."""
    name = data_set_name(file)
    if name is not None:
        return name.startswith(DATA_SETS)
    return any(all((folder / member).is_file() for member in BEIR) for folder in list(Path(file).parents)[:2])
