"""Who made the judgements of a qrels file: `QRELS.provenance.json` beside it, as qrels themselves have no place for it.

The file says for each judge, `person` or the name of a function, how many labels it gave and the date of the last one.
Labels that it does not count were in the qrels before.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rerank.errors import FileFormatError
from rerank.files.source import parse_json, read_text
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Record, SchemaError, Table, Text, Whole

PERSON = "person"
_VERSION = 1
_REMEDY = "Restore it, or delete it to judge without it"
_SHARE = Record({"labels": Whole(0, 2**53), "date": Text(100)})
_FILE = Record({"version": Whole(_VERSION, _VERSION), "judges": Table(_SHARE)})
_log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Share:
    """The labels of one judge: their number, and the date of the last one."""

    labels: int
    date: str


def provenance_file(qrels: str | Path) -> Path:
    """Return the path of the file that says who made the judgements of a qrels file."""
    return Path(f"{qrels}.provenance.json")


def read_provenance(qrels: str | Path) -> dict[str, Share]:
    """Return the share of each judge in a qrels file; none where nothing is known."""
    path = provenance_file(qrels)
    if not path.is_file():
        return {}
    value = parse_json(read_text(path, "who made the judgements"), path, remedy=_REMEDY)
    try:
        judges = _FILE.read(value, {})["judges"]
    except SchemaError as error:
        raise FileFormatError(path, None, error.fault(f"{_REMEDY}.")) from None
    return {name: Share(**share) for name, share in judges.items()}


def write_provenance(qrels: str | Path, judges: Mapping[str, Share]) -> None:
    """Write the share of each judge in a qrels file."""
    with whole_file(provenance_file(qrels)) as file:
        stored = {name: asdict(share) for name, share in judges.items()}
        file.write(json.dumps({"version": _VERSION, "judges": stored}, indent=1) + "\n")


def warn_of_functions(qrels: str | Path) -> None:
    """Warn where judgements are a function's: a model is not to be evaluated on labels of the judge it learned from.

    C. Clarke and L. Dietz, LLM-based Relevance Assessment Still Can't Replace Human Relevance Assessment,
    arXiv 2412.17156.
    """
    for name, share in read_provenance(qrels).items():
        if name != PERSON:
            text = "%s: %d labels are those of the function %s: models that learned from it are overestimated on them."
            _log.warning(text, qrels, share.labels, name)
