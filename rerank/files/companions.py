"""Companions of files of ranking data, as of LightGBM and XGBoost: the path with an ending added, a number a line.

A companion that is not read is named in a warning.
"""

from collections.abc import Mapping
from pathlib import Path

from rerank.errors import log
from rerank.types.data_frames import QUERY_ID
from rerank.types.ranking_data import (
    BASE_SCORE,
    WEIGHT,
)

COMPANIONS = {  # of a file of rows, by what is added to its path: the column that they hold; None: never read
    ".query": QUERY_ID,
    ".group": QUERY_ID,
    ".weight": WEIGHT,
    ".init": BASE_SCORE,
    ".base_margin": BASE_SCORE,
    ".position": None,
}


def companions_of(path: Path) -> dict[str, Path]:
    """Return the companions of a file, by their ending."""
    names = str(path).removesuffix(".gz"), path
    paths = [(ending, Path(f"{name}{ending}")) for name in names for ending in COMPANIONS]
    return {ending: companion for ending, companion in paths if companion.is_file()}


def name_unread(path: Path, companions: Mapping[str, Path]) -> None:
    """Name the companions that are not read in a warning."""
    if companions:
        log.warning(
            "%s: found beside it and not read: %s", path, ", ".join(companion.name for companion in companions.values())
        )
