"""Who made the judgements of a qrels file: `QRELS.provenance.json`, as qrels themselves have no place for it.

The file says for each judge, `person` or the name of a function, how many labels it gave and the date of the last one.
Labels that it does not count were in the qrels before. It also says how many labels the qrels have with these: it is
written before them, and a process that is killed between the two leaves qrels of fewer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from rerank.errors import log
from rerank.files.json_lines import json_object
from rerank.files.source import of_line, read_text
from rerank.runtime.codec import plain, restored
from rerank.runtime.fields import Text, Whole
from rerank.runtime.output import write_text

PERSON = "person"
_VERSION = 1


@dataclass(frozen=True)
class Share:
    """The labels of one judge: their number, and the date of the last one."""

    labels: Annotated[int, Whole(0, 2**53)]
    date: Annotated[str, Text(100)]


_PROVENANCE = {"version": Whole(_VERSION, _VERSION), "labels": Whole(0, 2**53), "judges": dict[str, Share]}


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
    stored = of_line(path, None, json_object, read_text(path, "who made the judgements"))
    content = of_line(path, None, restored, _PROVENANCE, stored)
    judges: dict[str, Share] = content["judges"]
    if judges and n_labels is not None and n_labels < content["labels"]:
        name, last = max(judges.items(), key=lambda judge: judge[1].date)
        judges[name] = replace(last, labels=max(last.labels - (content["labels"] - n_labels), 0))
    return judges


def write_provenance(qrels: str | Path, judges: Mapping[str, Share], n_labels: int) -> None:
    """Write the share of each judge in a qrels file of `n_labels`."""
    write_text(
        provenance_file(qrels),
        json.dumps({"version": _VERSION, "labels": n_labels, "judges": plain(judges)}, indent=1) + "\n",
    )


def warn_of_functions(qrels: str | Path) -> None:
    """Warn where judgements are a function's: a model is not to be evaluated on labels of the judge it learned from.

    C. Clarke and L. Dietz, LLM-based Relevance Assessment Still Can't Replace Human Relevance Assessment,
    arXiv 2412.17156.
    """
    for name, share in read_provenance(qrels).items():
        if name != PERSON:
            log.warning(
                "%s: %d labels are those of the function %s: models that learned from it are overestimated on them.",
                qrels,
                share.labels,
                name,
            )
