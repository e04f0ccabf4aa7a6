"""Small files of one entry a line, plain or gzip; blank lines are skipped, and comments (`#`) in folds and preferences.

names        the name of a feature
folds        `qid<TAB>fold`: whole numbers, which are renumbered from 0 in their order, so that 1 to 5 become 0 to 4
preferences  `qid<TAB>better docid<TAB>worse docid[<TAB>probability]`: the probability that the first document is
             better, from 0 to 1 and by default 1; pairs may contradict each other and may be repeated, each counts
texts        query-document pairs as JSON objects:
             {"qid": "q1", "id": "d1", "text": "Heat flow in a wing"}
             {"qid": "q1", "id": "d2", "title": "Heat flow", "body": "…", "year": 1967}
             qid and id are text or whole numbers; `text` is the document as plain text, where no field has this name;
             other keys are fields and numbers of the index

Who made the judgements of a qrels file: `QRELS.provenance.json` beside it, as qrels themselves have no place for it.

The file says for each judge, `person` or the name of a function, how many labels it gave and the date of the last one.
Labels that it does not count were in the qrels before. It also says how many labels the qrels have with these: it is
written before them, and a process that is killed between the two leaves qrels of fewer.

Records as public functions take them: as they are, as mappings or data frames, or as the path of their file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.data import read_data
from rerank.files.source import (
    LineFault,
    check_file,
    check_ids,
    columns_of,
    finite_number,
    id_text,
    json_object,
    json_objects,
    of_line,
    read_text,
    records,
    refuse_header,
    text_lines,
    whole_number,
)
from rerank.files.topics import read_topics
from rerank.files.trec import read_qrels, read_run, read_subtopic_qrels
from rerank.runtime.codec import Text, Whole, plain, restored
from rerank.runtime.output import whole_file
from rerank.types import Qrels, Run, Topics
from rerank.types.frames import Frame, is_frame
from rerank.types.ids import id_array
from rerank.types.ranking_data import Preferences
from rerank.types.records import SubtopicQrels

TEXT_KEY = "text"
PERSON = "person"
_VERSION = 1
_log = logging.getLogger("rerank")
TopicsLike = Topics | Mapping[str, str] | Frame | str | Path
QrelsLike = Qrels | Mapping[str, Mapping[str, int]] | Frame | str | Path
JudgementsLike = SubtopicQrels | QrelsLike
RunLike = Run | Mapping[str, Mapping[str, float]] | Frame | str | Path


def read_names(path: str | Path) -> tuple[str, ...]:
    """Return the names of features in a text file, one a line; blank lines at the end are passed over.

    Raises FileFormatError for a blank line between names, a name that is there twice, and a file without names.
    """
    path = check_file(path, "a file of feature names")
    names: dict[str, int] = {}
    content = "\n".join(text.strip() for _, text in text_lines(path)).rstrip("\n")
    for line, name in enumerate(content.split("\n") if content else (), 1):
        if not name:
            raise FileFormatError(path, line, "expected a name, got a blank line. Each line is the name of a feature.")
        if names.setdefault(name, line) != line:
            raise FileFormatError(
                path, line, f"expected each name once, got {name!r} again (line {names[name]}). Rename one."
            )
    if not names:
        raise FileFormatError(path, None, "expected names of features, got none. Write one a line.")
    return tuple(names)


def read_folds(path: str | Path) -> dict[str, int]:
    """Read the folds of queries, for `Study`.

    Parameters
    ----------
    path : str or Path
        A file of lines: query id, tab, number of the fold.

    Returns
    -------
    dict of str to int
        The fold of each query, from 0.

    Raises
    ------
    FileFormatError
        With the line, for a query that is there twice, or a fold that is no whole number.

    """
    path = check_file(path, "a file of folds")
    folds: dict[str, int] = {}
    for line, (query_id, fold) in records(path, "query id, tab, fold", _fold):
        if query_id in folds:
            raise FileFormatError(
                path, line, f"expected each query in one fold, got {shown(query_id)} again. Remove one of the two."
            )
        folds[query_id] = fold
    numbers = {fold: number for number, fold in enumerate(sorted(set(folds.values())))}
    return {query_id: numbers[fold] for query_id, fold in folds.items()}


def write_folds(folds: Mapping[str, int], path: str | Path) -> None:
    """Write the fold of each query; raise InvalidInputError for an id or a fold that could not be read again."""
    check_ids("folds: ", folds)
    negative = next((fold for fold in folds.values() if fold < 0), None)
    if negative is not None:
        raise InvalidInputError(f"folds: expected whole numbers from 0, got {negative}. Number the folds 0, 1, 2.")
    with whole_file(path) as file:
        file.writelines(f"{query_id}\t{fold}\n" for query_id, fold in folds.items())


def _fold(content: str) -> tuple[str, int]:
    query_id, fold = columns_of(content, "2 columns (query id, fold)", 2)
    check_ids("", [query_id])
    number = whole_number(fold)
    if number is None:
        raise LineFault(f"expected a whole number as fold, got {shown(fold)}. Number the folds 0, 1, 2.")
    return query_id, number


def read_preferences(path: str | Path) -> Preferences:
    """Read preference pairs.

    Parameters
    ----------
    path : str or Path
        A file of three or four columns separated by tabs, plain or gzip.

    Returns
    -------
    Preferences
        The pairs in the order of the file.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for another number of columns, an id with white space, a document preferred to itself, a
        probability outside 0 to 1, or a file without pairs.

    """
    path = check_file(path, "a file of preferences")
    rows: list[tuple[str, str, str, float]] = []
    for line, row in records(path, "3 or 4 columns (qid, better docid, worse docid[, probability])", _preference):
        if not rows:
            of_line(path, line, refuse_header, row[0])
        rows.append(row)
    queries, better, worse, probabilities = zip(*rows, strict=True)
    return Preferences(id_array(queries), id_array(better), id_array(worse), np.array(probabilities))


def write_preferences(preferences: Preferences, path: str | Path) -> None:
    """Write preference pairs with their probabilities."""
    columns = (preferences.query_ids, preferences.better, preferences.worse, preferences.probabilities)
    check_ids("preferences: ", columns[0].tolist(), np.concatenate(columns[1:3]).tolist())
    with whole_file(path) as file:
        for query_id, better, worse, probability in zip(*(column.tolist() for column in columns), strict=True):
            file.write(f"{query_id}\t{better}\t{worse}\t{probability:.6g}\n")


def _preference(content: str) -> tuple[str, str, str, float]:
    query_id, better, worse, *rest = columns_of(content, "3 or 4 columns", 3, 4)
    check_ids("", [query_id], [better, worse])
    if better == worse:
        raise LineFault(f"expected two documents, got {shown(better)} twice. Drop the line.")
    probability = finite_number(rest[0].encode()) if rest else 1.0
    if probability is None or not 0.0 <= probability <= 1.0:
        raise LineFault(f"expected a probability from 0 to 1, got {shown(rest[0])}. Correct or drop it.")
    return query_id, better, worse, probability


class TextsFile(NamedTuple):
    """Documents by query id and document id, text or fields, and where each is (`file:line`)."""

    documents: dict[str, dict[str, Any]]
    locations: dict[tuple[str, str], str]


def read_texts(path: str | Path, queries: Collection[str], fields: Collection[str]) -> TextsFile:
    """Read texts to rank."""
    read = TextsFile({}, {})
    path = Path(path)
    for line, members in json_objects(path):
        query_id, doc_id = (of_line(path, line, id_text, key, members.pop(key, None)) for key in ("qid", "id"))
        if query_id not in queries:
            raise FileFormatError(
                path, line, f"expected a query of the topics, got {shown(query_id)}. Add it to the topics."
            )
        if (query_id, doc_id) in read.locations:
            first = read.locations[query_id, doc_id]
            raise FileFormatError(
                path, line, f"expected each document once a query, got {shown(doc_id)} again ({first}). Rename it."
            )
        read.documents.setdefault(query_id, {})[doc_id] = of_line(path, line, _document, members, fields)
        read.locations[query_id, doc_id] = f"{path}:{line}"
    return read


def _document(members: dict[str, Any], fields: Collection[str]) -> Any:
    """Return plain text, or the fields."""
    if TEXT_KEY not in members or TEXT_KEY in fields:
        return members
    if len(members) > 1 or not isinstance(members[TEXT_KEY], str):
        got = ", ".join(members) if len(members) > 1 else members[TEXT_KEY]
        raise LineFault(f"expected text as {TEXT_KEY}, and no fields beside it, got {shown(got)}. Correct the line.")
    return members[TEXT_KEY]


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
    with whole_file(provenance_file(qrels)) as file:
        file.write(json.dumps({"version": _VERSION, "labels": n_labels, "judges": plain(judges)}, indent=1) + "\n")


def warn_of_functions(qrels: str | Path) -> None:
    """Warn where judgements are a function's: a model is not to be evaluated on labels of the judge it learned from.

    C. Clarke and L. Dietz, LLM-based Relevance Assessment Still Can't Replace Human Relevance Assessment,
    arXiv 2412.17156.
    """
    for name, share in read_provenance(qrels).items():
        if name != PERSON:
            text = "%s: %d labels are those of the function %s: models that learned from it are overestimated on them."
            _log.warning(text, qrels, share.labels, name)


def topics_of(topics: TopicsLike) -> Topics:
    """Return topics, read from their file where a path is given."""
    if isinstance(topics, str) and " " in topics and not Path(topics).exists() and ":" not in topics:
        raise InvalidInputError(
            f"topics: expected a file, or texts by query id, got a text: {shown(topics)}. Pass {{'q1': text}}."
        )
    return read_topics(topics) if isinstance(topics, str | Path) else Topics.of(topics)


def qrels_of(qrels: JudgementsLike) -> Qrels:
    """Return judgements, read from their file where a path is given."""
    if isinstance(qrels, SubtopicQrels):
        raise InvalidInputError(
            "qrels: expected one label of each document, got judgements of subtopics. Give qrels of documents, or "
            "measure e.g. alpha_nDCG@10."
        )
    return read_qrels(qrels) if isinstance(qrels, str | Path) else Qrels.of(qrels)


def subtopic_qrels_of(qrels: JudgementsLike) -> SubtopicQrels:
    """Return judgements of subtopics, read from their file where a path is given."""
    if isinstance(qrels, str | Path):
        return read_subtopic_qrels(qrels)
    if is_frame(qrels):
        return SubtopicQrels.from_frame(qrels)
    if not isinstance(qrels, SubtopicQrels):
        raise InvalidInputError(
            "qrels: expected judgements of subtopics, got one label of each document. Give rows of query, subtopic, "
            "document and label (rerank.read_subtopic_qrels), or measure e.g. nDCG@10."
        )
    return qrels


def data_of(data: Any) -> Any:
    """Return ranking data, read from their file where a path is given; anything else as it is."""
    return read_data(data) if isinstance(data, str | Path) else data


def run_of(run: RunLike) -> Run:
    """Return a run, read from its file where a path is given."""
    return read_run(run) if isinstance(run, str | Path) else Run.of(run)
