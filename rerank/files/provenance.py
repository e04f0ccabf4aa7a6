"""Who made the judgements of a qrels file: `QRELS.provenance.json` beside it, as qrels themselves have no place for it.

The file says for each judge, `person` or the name of a function, how many labels it gave and the date of the last one.
Labels that it does not count were in the qrels before. It also says how many labels the qrels have with these: it is
written before them, and a process that is killed between the two leaves qrels of fewer.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rerank.errors import FileFormatError
from rerank.files.source import parse_json, read_text
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Record, SchemaError, Table, Text, Whole

PERSON = "person"
_VERSION = 1
_REMEDY = "Restore it, or delete it to judge without it"
_SHARE = Record({"labels": Whole(0, 2**53), "date": Text(100)})
_FILE = Record({"version": Whole(_VERSION, _VERSION), "labels": Whole(0, 2**53), "judges": Table(_SHARE)})
_log = logging.getLogger("rerank")


@dataclass(frozen=True)
class Share:
    """The labels of one judge: their number, and the date of the last one."""

    labels: int
    date: str


def provenance_file(qrels: str | Path) -> Path:
    """Return the path of the file that says who made the judgements of a qrels file."""
    return Path(f"{qrels}.provenance.json")


def read_provenance(qrels: str | Path, n_labels: int | None = None) -> dict[str, Share]:
    """Return the share of each judge in a qrels file; none where nothing is known.

    Where the file has only `n_labels`, those of its last judge that were not written any more are not counted.
    """
    path = provenance_file(qrels)
    if not path.is_file():
        return {}
    value = parse_json(read_text(path, "who made the judgements"), path, remedy=_REMEDY)
    try:
        content = _FILE.read(value, {})
    except SchemaError as error:
        raise FileFormatError(path, None, error.fault(f"{_REMEDY}.")) from None
    judges = {name: Share(**share) for name, share in content["judges"].items()}
    if judges and n_labels is not None and n_labels < content["labels"]:
        name, last = max(judges.items(), key=lambda judge: judge[1].date)
        judges[name] = replace(last, labels=max(last.labels - (content["labels"] - n_labels), 0))
    return judges


def write_provenance(qrels: str | Path, judges: Mapping[str, Share], n_labels: int) -> None:
    """Write the share of each judge in a qrels file of `n_labels`."""
    with whole_file(provenance_file(qrels)) as file:
        stored = {name: asdict(share) for name, share in judges.items()}
        file.write(json.dumps({"version": _VERSION, "labels": n_labels, "judges": stored}, indent=1) + "\n")


def warn_of_functions(qrels: str | Path) -> None:
    """Warn where judgements are a function's: a model is not to be evaluated on labels of the judge it learned from.

    C. Clarke and L. Dietz, LLM-based Relevance Assessment Still Can't Replace Human Relevance Assessment,
    arXiv 2412.17156.
    """
    for name, share in read_provenance(qrels).items():
        if name != PERSON:
            text = "%s: %d labels are those of the function %s: models that learned from it are overestimated on them."
            _log.warning(text, qrels, share.labels, name)
