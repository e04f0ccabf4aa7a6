"""Reading of history files, see `rerank.history.store`."""

from __future__ import annotations

from pathlib import Path

from rerank.files.source import check_file
from rerank.history.collection import Neighbours
from rerank.history.history import History
from rerank.history.judged import Judged
from rerank.history.store import KIND, stored_words
from rerank.runtime import container
from rerank.types import Ints


def read_history(path: str | Path) -> History:
    """Read a history that `History.save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    History
        The history.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        If it is no history, of another version, or damaged.

    """
    path = check_file(path, "a history (.npz)")
    about, arrays = container.read(path, KIND)
    words = stored_words(arrays["words"])
    names = ("query_ids", "word_ptr", "query_words", "freqs", "doc_ptr", "docs", "labels")
    judged = Judged(words=words, **{name: arrays[name] for name in names})
    if _divides_equal(judged, arrays["folds"]):
        raise KIND.error(path, "folds that divide queries of the same terms")
    history = History(
        judged=judged,
        folds=arrays["folds"],
        neighbours=Neighbours(arrays["near_docs"], arrays["near_cosines"]),
        doc_ids=arrays["doc_ids"],
        n_terms=about["terms"],
        fingerprint=about["fingerprint"],
    )
    if history.checksum != about["checksum"]:
        raise KIND.error(path, f"content of checksum {history.checksum} in place of {about['checksum']!r}")
    return history


def _divides_equal(judged: Judged, folds: Ints) -> bool:
    """Return whether queries of the same terms are in different folds: one would learn from the other."""
    fold_of_key = dict(zip(judged.keys(), folds.tolist(), strict=True))
    return any(fold_of_key[key] != fold for key, fold in zip(judged.keys(), folds.tolist(), strict=True))
