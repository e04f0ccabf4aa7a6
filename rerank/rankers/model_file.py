"""The file of a model: its format, and whether the parts of a stored model belong together."""

import sys
from typing import Any

from rerank.errors import shown
from rerank.rankers.matching import NAMED
from rerank.runtime.fields import Field, Items, Names, Number, SchemaError, Table, Whole, at
from rerank.runtime.json_files import JsonFile

FORMAT = "rerank-model"  # of a model file
VERSION = 4  # of this format and of what features mean
OF_INDEX = {"history": None, "statistics": None}  # members that are known of an index alone, without effect on scores
MODEL_FILE = JsonFile(
    FORMAT,
    "a model file",
    (
        "Give a file that `rerank train` wrote, or import it (`rerank import`, import_model).",
        "Train the model again, or fetch the file again.",
    ),
)
PROGRESS: dict[str, Field] = {  # what the training of any ranker stores, for `Ranker.learned`
    "best_iteration": Whole(0, 1_000_000),
    "evals_result": Table(Table(Items(Number(-sys.float_info.max, sys.float_info.max), may_be_empty=True))),
}
_COUNT = Whole(0, 2**62)
_COUNTED = ("documents", "terms")  # members of a fingerprint: numbers of the index


def check_parts(model: Any) -> None:
    """Raise SchemaError unless the parts of a restored model belong together."""
    for what, names, member in (("recipe", NAMED, Names(may_be_empty=True)), ("fingerprint", _COUNTED, _COUNT)):
        origin = getattr(model, f"{what}_") or {}
        for name in names:
            if origin.get(name) is not None:
                with at(f"{what}.{name}"):
                    member.read(origin[name])
    if not set(model.categories_) <= set(model.feature_names_):
        raise SchemaError("features of the model", shown(sorted(model.categories_)), path="categories")
    if model.history_ is not None and model.history_.checksum != (model.recipe_ or {}).get("history"):
        raise SchemaError("the history of the recipe", f"that of checksum {model.history_.checksum}", path="history")
    if model.statistics_ is not None and model.statistics_.fingerprint != model.fingerprint_:
        raise SchemaError("those of the fingerprint", "those of another collection", path="statistics")
    with at("base"):
        model.base_.check_features(model.feature_names_)
    with at("learned"):
        model._check_learned()
    if model.calibration_ is None:
        return
    with at("calibration"):
        unknown = [name for name in model.calibration_.predictors if name not in model.feature_names_]
        if unknown:
            raise SchemaError("features of the model", shown(unknown[0]), path="predictors")
        if model.calibration_.checksum != (checksum := model.checksum()):
            raise SchemaError(f"that of the model (checksum {checksum})", f"that of {model.calibration_.checksum}")
