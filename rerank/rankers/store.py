"""Model files: JSON with a version, the features' names, the recipe and the index's fingerprint.

Each ranker declares its parameters and what it learned (`rerank.runtime.schema`); saving and loading check a model
completely against the declaration.
"""

from __future__ import annotations

from pathlib import Path

from rerank.errors import InvalidInputError, shown
from rerank.files.source import reads_files
from rerank.rankers.model_file import read_model_file
from rerank.rankers.ranker import Ranker, StoredModel


@reads_files
def read_model(path: str | Path) -> Ranker:
    """Read and check a model file.

    Parameters
    ----------
    path : str or Path
        A file that `Ranker.save` or `rerank train` wrote.

    Returns
    -------
    Ranker
        The model.

    Raises
    ------
    FileFormatError
        For a file that is no model or a damaged one, with the place and the reason.
    ModelMismatchError
        For a version of the format that this package cannot read.
    MissingFileError
        Where there is no file.

    """
    model: Ranker = read_model_file(path, StoredModel())
    return model


def fitted_model(model: Ranker | str | Path) -> Ranker:
    """Return a model, or that of a file; raises scikit-learn's NotFittedError for one that is not fitted."""
    if isinstance(model, str | Path):
        return read_model(model)
    if isinstance(getattr(model, "model", None), Ranker):
        raise InvalidInputError(
            f"model: expected a ranker, got {type(model).__name__}, what `train` returns. Take its model (.model)."
        )
    if not isinstance(model, Ranker):
        raise InvalidInputError(
            f"model: expected a fitted ranker or the path of its file, got {shown(repr(model))}. A model of another "
            "system is imported first: import_model(model, recipe=...)."
        )
    model._check_fitted()
    return model
