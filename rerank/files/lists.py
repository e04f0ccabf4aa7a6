"""Topics, and small files of one entry a line, plain or gzip; blank lines are skipped.

The format of topics is detected by the beginning of the file:
- two columns with a tab: `q1<TAB>text`; or a number, a colon and the text, as of the terabyte track: `1:text`;
- TREC topics: `<top> <num> Number: 301 <title> text … </top>`; a title (or <query>, of the microblog track) may have
  several lines and ends at the next tag; <desc> and <narr> are skipped; closing tags and the words `Number:` and
  `Topic:` are optional;
- XML of TREC's later tracks: <topic> with the id as number= (or id=, or in <number>) and the text in <query>, <title>
  or <summary>, else the text of the whole topic (clinical trials; disease, gene and so on of precision medicine);
- JSON: objects with an id (`id`, `qid`, `query_id`, `_id`) and a text (`text`, `query`, `title`, `input`), one a line,
  in an array or over several lines.
White space around a text is removed. A topic without text is left out, and a warning counts them. A first line that
names the columns (`qid<TAB>query`), a repeated tag in a <top>, and text outside of topics are refused.

Other files; folds and preferences may have comments (`#`):

names        the name of a feature
folds        `qid<TAB>fold`: whole numbers, which are renumbered from 0 in their order, so that 1 to 5 become 0 to 4
preferences  `qid<TAB>better docid<TAB>worse docid[<TAB>probability]`: the probability that the first document is
             better, from 0 to 1 and by default 1; pairs may contradict each other and may be repeated, each counts
texts        query-document pairs as JSON objects:
             {"qid": "q1", "id": "d1", "text": "Heat flow in a wing"}
             {"qid": "q1", "id": "d2", "title": "Heat flow", "body": "…", "year": 1967}
             qid and id are text or whole numbers; `text` is the document as plain text, where no field has this name;
             other keys are fields and numbers of the index
vectors      .npy: NumPy's array of shape (n, dimensions); the ids are in a file of the same name with .ids, one a line
             .parquet: columns `id` (or query_id, qid, doc_id, docno) and `vector` (or embedding), a list of numbers

Who made the judgements of a qrels file: `QRELS.provenance.json` beside it, as qrels themselves have no place for it.

The file says for each judge, `person` or the name of a function, how many labels it gave and the date of the last one.
Labels that it does not count were in the qrels before. It also says how many labels the qrels have with these: it is
written before them, and a process that is killed between the two leaves qrels of fewer.

Records as public functions take them: as they are, as mappings or data frames, or as the path of their file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, log, shown
from rerank.files.corpus import data_set_name, data_set_topics
from rerank.files.data import opened_parquet, read_data
from rerank.files.source import (
    FileLike,
    LineFault,
    check_file,
    check_ids,
    columns_of,
    filled_lines,
    finite_number,
    id_text,
    is_header,
    json_object,
    json_objects,
    objects_of_lines,
    of_line,
    read_text,
    records,
    refuse_header,
    refuse_stray,
    text_lines,
    whole_number,
    without_markup,
)
from rerank.files.trec import read_qrels, read_run, read_subtopic_qrels
from rerank.runtime.codec import Text, Whole, first_repeated, is_unicode, plain, restored
from rerank.runtime.output import whole_file
from rerank.types import Qrels, Run, Topics
from rerank.types.ids import WHITE_SPACE, Ids, id_array
from rerank.types.ranking_data import Preferences
from rerank.types.records import SubtopicQrels
from rerank.types.tables import Frame, is_frame

ID_KEYS = ("id", "qid", "query_id", "_id")
TEXT_KEYS = ("text", "query", "title", "input")
_WITHIN = ("topics within <top> and </top>", "Remove it")
XML_TEXTS = ("query", "title", "summary")  # elements of a topic, the first that it has
Entry = tuple[int | None, str, str]  # line, query id, text
# A tag ends before the next one begins: tags without their ends are then read once, not once for each.
_TOPICS = {
    tag: re.compile(rf"<{tag}\b([^<>]*)>(.*?)(?=</{tag}\s*>|<{tag}\b|\Z)", re.IGNORECASE | re.DOTALL)
    for tag in ("topic", "top")
}
_NUMBERED = re.compile(r"\s*\d+:(?!\d+:)")
_NUM = re.compile(r"<num\b[^<>]*>\s*(?:number\s*:)?([^<]*)", re.IGNORECASE)
_TITLE, _QUERY = (
    re.compile(rf"<{tag}\b[^<>]*>\s*(?:topic\s*:)?(.*?)(?=</?[a-z]+\b[^<>]*>|\Z)", re.IGNORECASE | re.DOTALL)
    for tag in ("title", "query")
)
_NUMBER_OF = re.compile(r"\b(?:number|num|id|qid)\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_NUMBER = re.compile(r"<(number|num|id|qid)\b[^<>]*>(?:\s*number\s*:)?([^<]*)(?:</\1\s*>)?", re.IGNORECASE)
_TEXTS = [re.compile(rf"<{tag}\b[^<>]*>(.*?)</{tag}\s*>", re.IGNORECASE | re.DOTALL) for tag in XML_TEXTS]


def read_topics(path: FileLike) -> Topics:
    """Read topics.

    Parameters
    ----------
    path : str, Path or file object
        A file of two columns, TREC topics or JSONL, plain or gzip; or `irds:NAME`, a data set of ir_datasets.

    Returns
    -------
    Topics
        The topics in the order of the file.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a line without id or text, an id with white space, a repeated id, or a file without topics.

    """
    name = data_set_name(path)
    source = Path(str(path)) if name is not None else check_file(path, "a topics file")
    entries = _entries(source) if name is None else ((None, *entry) for entry in data_set_topics(name))
    topics: dict[str, str] = {}
    blank: list[FileFormatError] = []
    for line, query_id, text in entries:
        of_line(source, line, check_ids, "", [query_id])
        if query_id in topics:
            message = f"expected each query once, got {shown(query_id)} again. Remove one of the two."
            raise FileFormatError(source, line, message)
        if text.strip():
            topics[query_id] = text.strip()
        else:
            message = f"expected a text for query {shown(query_id)}, got none. Write it or drop the query."
            blank.append(FileFormatError(source, line, message))
    if blank and not topics:
        raise blank[0]
    if blank:  # a topic without text is left out
        log.warning("topics without text are left out: %d; the first: %s", len(blank), blank[0])
    return Topics(topics)


def write_topics(topics: Topics | Mapping[str, str], path: str | Path) -> None:
    """Write topics."""
    topics = Topics.of(topics)
    check_ids("topics: ", topics)
    as_json = str(path).removesuffix(".gz").endswith(".jsonl")
    first = next(iter(topics), "")
    if not as_json and (first.startswith(("{", "<")) or is_header(first)):  # it would be read as another format
        raise InvalidInputError(
            f"topics: expected a first id that no other format begins with, got {shown(first)}. "
            "Write to a .jsonl file, or rename it."
        )
    lines = [_line(query_id, text, as_json) for query_id, text in topics.items()]
    with whole_file(path) as handle:
        handle.writelines(lines)


def _entries(path: Path) -> Iterator[Entry]:
    """Yield the topics of a file in the format that its first line shows."""
    lines = list(text_lines(path))
    filled = [(line, content) for line, content in lines if content.strip()]
    if not filled:
        raise FileFormatError(
            path, None, "expected at least one topic, got an empty file. Write lines of id, tab, text."
        )
    first = filled[0][1].lstrip()
    if first.startswith("<"):
        yield from _marked_up(path, "\n".join(content for _, content in lines))
    elif first.startswith("{") or (first.startswith("[") and "\t" not in first):
        for line, members in objects_of_lines(path, iter(lines)):
            yield line, *of_line(path, line, _json_entry, members)
    else:
        of_line(path, filled[0][0], refuse_header, first)
        for line, content in filled:
            yield line, *of_line(path, line, _tab_entry, content)


def _marked_up(path: Path, text: str) -> Iterator[Entry]:
    """Yield the topics in <topic> or <top>; text outside of <top> is refused."""
    is_xml = _TOPICS["topic"].search(text) is not None
    entry = _xml_entry if is_xml else _trec_entry
    end = 0
    line = 1
    for topic in _TOPICS["topic" if is_xml else "top"].finditer(text):
        if not is_xml:
            refuse_stray(path, line, text[end : topic.start()], *_WITHIN)
        line += text.count("\n", end, topic.start())
        yield line, *of_line(path, line, entry, topic[1], topic[2])
        line += text.count("\n", topic.start(), topic.end())
        end = topic.end()
    if not end:
        first = text.lstrip()
        line = 1 + text.count("\n", 0, len(text) - len(first))
        raise FileFormatError(
            path, line, f"expected <top>, got {shown(first.splitlines()[0].strip())}. Name a TREC topics file."
        )
    if not is_xml:
        refuse_stray(path, line, text[end:], *_WITHIN)


def _tab_entry(content: str) -> tuple[str, str]:
    columns = content.split("\t")
    if len(columns) == 1 and _NUMBERED.match(content):
        columns = content.split(":", 1)
    if len(columns) != 2:
        remedy = "Put a tab after the id" if len(columns) == 1 else "Write spaces for the tabs in the text"
        raise LineFault(f"expected 2 columns with a tab (query id, text), got {len(columns)}. {remedy}.")
    return columns[0].strip(WHITE_SPACE), columns[1]


def _json_entry(topic: Mapping[str, object]) -> tuple[str, str]:
    return _member(topic, ID_KEYS), _member(topic, TEXT_KEYS)


def _member(topic: Mapping[str, object], keys: tuple[str, ...]) -> str:
    """Return the value of the first of some keys in the object as text."""
    key = next((key for key in keys if topic.get(key) is not None), None)
    if key is None:
        raise LineFault(f"expected one of the keys {', '.join(keys)}, got {shown(', '.join(topic))}. Add one.")
    value = topic[key]
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise LineFault(f"expected text as {key!r}, got {type(value).__name__}. Write it in quotes.")
    if not is_unicode(str(value)):
        raise LineFault(f"expected text as {key!r}, got half of a surrogate pair. Correct the \\u escape.")
    return str(value)


def _xml_entry(attributes: str, content: str) -> tuple[str, str]:
    number = _NUMBER_OF.search(attributes)
    own = _NUMBER.search(content)
    query_id = number[1] if number else own[2] if own else ""
    if not query_id.strip():
        raise LineFault('expected the number of the topic that begins here, got none. Write <topic number="1">.')
    content = content if number else _NUMBER.sub(" ", content, count=1)
    found = (pattern.search(content) for pattern in _TEXTS)
    text = next((match[1] for match in found if match), content)
    return unescape(query_id).strip(), " ".join(unescape(without_markup(text)).split())


def _trec_entry(_: str, block: str) -> tuple[str, str]:
    pattern = _QUERY if _QUERY.search(block) and not _TITLE.search(block) else _TITLE
    return _tagged(_NUM, "num", block), " ".join(_tagged(pattern, "title", block).split())


def _tagged(pattern: re.Pattern[str], tag: str, block: str) -> str:
    matches = list(pattern.finditer(block))
    if not matches:
        raise LineFault(f"expected <{tag}> in the topic that begins here, got none. Add it.")
    if len(matches) > 1:
        raise LineFault(
            f"expected one <{tag}> in the topic that begins here, got {len(matches)}. Close each topic with </top>."
        )
    return matches[0].group(1).strip()


def _line(query_id: str, text: str, as_json: bool) -> str:
    if not text.strip() or not is_unicode(text) or (not as_json and any(letter in text for letter in "\t\n\r\0")):
        raise InvalidInputError(
            f"topics: expected a text {'' if as_json else 'without tabs and line ends '}for query {query_id!r}, "
            f"got {shown(text)}. {'Correct the text' if as_json else 'Write to a .jsonl file, or correct the text'}."
        )
    if as_json:
        return json.dumps({"id": query_id, "text": text}, ensure_ascii=False) + "\n"
    return f"{query_id}\t{text.strip()}\n"


TEXT_KEY = "text"
PERSON = "person"
_VERSION = 1
IDS = ("id", "query_id", "qid", "doc_id", "docno")
VECTOR = ("vector", "embedding")
MOST_DIMENSIONS = 4096
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
        if not {"qid", "id"} <= members.keys():
            got = shown(", ".join(members))
            raise FileFormatError(path, line, f"expected the keys qid and id, got {got}. Rename them.")
        query_id, doc_id = (of_line(path, line, id_text, key, members.pop(key)) for key in ("qid", "id"))
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
            log.warning(text, qrels, share.labels, name)


def read_vectors(path: str | Path) -> tuple[Ids, NDArray[np.float32]]:
    """Read vectors with their ids.

    Parameters
    ----------
    path : str or Path
        A file that ends in .npy, with the ids beside it, or in .parquet.

    Returns
    -------
    ids : ndarray of shape (n,), dtype str
        The ids, each once.
    vectors : ndarray of shape (n, dimensions), dtype float32
        The vectors; those of a .npy file of float32 are a memory map.

    Raises
    ------
    FileFormatError, MissingFileError
        For a file that is damaged or missing.

    """
    path = check_file(path, "a file of vectors")
    if path.suffix not in {".npy", ".parquet"}:
        raise FileFormatError(path, None, "expected vectors in a file that ends in .npy or .parquet. Rename it.")
    if path.suffix == ".parquet":
        return of_line(path, None, checked_vectors, *_of_parquet(path))
    try:
        values = np.lib.format.open_memmap(path, mode="r")  # nothing in the file is executed
    except Exception:  # a damaged header raises errors of many kinds
        raise FileFormatError(
            path, None, "expected an array of NumPy, got another file. Write it by np.save."
        ) from None
    names = check_file(path.with_suffix(".ids"), "the ids of the vectors, one a line")
    ids = [content.strip() for _, content in filled_lines(names)]
    return of_line(path, None, checked_vectors, ids, values)


def checked_vectors(ids: Any, values: Any) -> tuple[Ids, NDArray[np.float32]]:
    """Return ids and vectors as arrays; raise InvalidInputError for what they cannot be."""
    labels = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    for number, label in enumerate(labels):
        if label is None or isinstance(label, float | np.floating):
            raise InvalidInputError(
                f"vectors: expected ids that are text or whole numbers, got {label!r} at vector {number}. Give each "
                "vector its id."
            )
    names = list(map(str, labels))
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not 1 <= array.shape[1] <= MOST_DIMENSIONS:
        raise InvalidInputError(
            f"vectors: expected numbers of shape (n, dimensions) with 1 to {MOST_DIMENSIONS} dimensions, got "
            f"{array.dtype} of shape {array.shape}. Correct the array."
        )
    if len(names) != len(array):
        raise InvalidInputError(
            f"vectors: expected an id for each of {len(array)} vectors, got {len(names)}. Write one id a vector."
        )
    check_ids("vectors: ", (), names)
    repeated = first_repeated(names)
    if repeated is not None:
        raise InvalidInputError(
            f"vectors: expected each id once, got {shown(names[repeated])} twice. Drop one of the vectors."
        )
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(array, dtype=np.float32)
    for first in range(0, len(vectors), 1 << 12):
        infinite = np.flatnonzero(~np.isfinite(vectors[first : first + (1 << 12)]).all(axis=1))
        if len(infinite):
            raise InvalidInputError(
                f"vectors: expected finite numbers within float32, got others for {shown(names[first + infinite[0]])}. "
                "Encode it again."
            )
    return id_array(names), vectors


def _of_parquet(path: Path) -> tuple[list[Any], NDArray[Any]]:
    """Return ids and vectors of a Parquet file."""
    with opened_parquet(path) as file:
        table = file.read()
        columns = [next((name for name in names if name in table.column_names), None) for names in (IDS, VECTOR)]
        if None in columns:
            have = shown(", ".join(table.column_names))
            raise FileFormatError(path, None, f"expected the columns id and vector, got {have}. Rename the columns.")
        ids, rows = (table.column(name).to_pylist() for name in columns)
    try:
        return ids, np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise FileFormatError(
            path,
            None,
            "expected ids as text and vectors as lists of numbers of one length, got others. Correct them.",
        ) from None


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
