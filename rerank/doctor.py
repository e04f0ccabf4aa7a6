"""Checks of files of judgements, runs, topics and features, and of index folders: one by one, and across files.

To add a check, write a function that takes a source of each of its kinds and yields findings, and list it in `CHECKS`.

Figures on test queries that are near duplicates of training queries say little about new queries. Near duplicates are
found by the words of the queries (lower case) and by their relevant documents: by the cosine of tf-idf weights
(`rerank/features/near_duplicates.py`), with the idf ln((1 + N) / df) over both files.
"""

from __future__ import annotations

import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import chain, product
from logging import WARNING, LogRecord
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.errors import FileFormatError, IndexFolderError, InvalidInputError, first_names, log, shown
from rerank.files.data import DATA_ENDINGS, read_data
from rerank.files.irds import data_set_name
from rerank.files.line_records import finite_number, is_header
from rerank.files.source import check_file, file_mode, open_source, text
from rerank.files.svmlight import read_svmlight
from rerank.files.topics import read_topics
from rerank.files.trec import QRELS, RUN, parse_label, read_qrels, read_run
from rerank.types import Floats, Ints, Qrels, RankingData, Run, query_rows
from rerank.types.forward import counted_terms
from rerank.types.ids import Ids, written_apart

if TYPE_CHECKING:
    from rerank.types.forward import ForwardIndex

FIRST_BYTES = 1 << 16  # read from a file to detect its kind
FIRST_LINES = 100
BINARY_ENDINGS = (".npz", ".parquet")
SEVERITIES = ("error", "warning", "note")
HIGHEST = 10  # labels of most test collections end at 4, of a few at 10
NAMED = 10  # features that a finding lists
SAID_ALWAYS = "each command that reads it logs this"
JUDGED_DEPTH = 10  # first documents of a query whose judgements are counted
_BLOCK = 256  # test queries that are compared with all training queries at once
_WORD = re.compile(r"\w+")
_NO_TOPIC = re.compile(rb'\s*\{(\s*"[^"]*"\s*:\s*\{\s*"[^"]*"\s*:\s*-?[\d.]|.*"(is_?)?(click(ed)?|action_name)"\s*:)')
_MODEL = re.compile(  # of this package, LightGBM, RankLib and XGBoost
    rb'\s*(\{"format": ?"rerank-model"|tree\r?\n|(##.*\n)+\s*<ensemble|\{"learner"|\{L)'
)


@dataclass(frozen=True)
class CheckedSource:
    """A file or an index folder that was read: its kind, path and content; without content, the error of its reader.

    warnings  what its reader logged
    """

    kind: str
    path: str
    content: Any
    error: str = ""
    warnings: Sequence[str] = ()


def read_sources(named: Sequence[tuple[str | None, str | Path]]) -> list[CheckedSource]:
    """Read files as all commands do; a kind that is None is detected by the content of the file."""
    return [_read(kind, Path(path)) for kind, path in named]


def _read(kind: str | None, path: Path) -> CheckedSource:
    if kind is None and path.is_dir():
        kind = "index"
    elif kind != "index" and data_set_name(path) is None:
        check_file(path, "a file to examine")
    of_content = kind_of(path) if kind in (None, "train", "test") else str(kind)
    name = of_content if kind in (None, of_content) else f"{kind}_{of_content}"
    try:
        with _logged_warnings() as warnings:
            return CheckedSource(name, str(path), READERS[of_content](path), warnings=warnings)
    except (FileFormatError, InvalidInputError, IndexFolderError) as error:
        return CheckedSource(name, str(path), None, str(error).rstrip("."))


@contextmanager
def _logged_warnings() -> Iterator[list[str]]:
    """Yield a list of the warnings that are logged in the block; they become findings and are not shown."""
    warnings: list[str] = []

    def is_no_warning(record: LogRecord) -> bool:
        if record.levelno >= WARNING:
            warnings.append(record.getMessage().rstrip("."))
        return record.levelno < WARNING

    log.addFilter(is_no_warning)
    try:
        yield warnings
    finally:
        log.removeFilter(is_no_warning)


def kind_of(path: Path) -> str:
    """Return the kind of a file, detected by its name and its first lines."""
    if not stat.S_ISREG(file_mode(path, "a file to examine")):
        raise FileFormatError(path, None, "expected a file, got a pipe or device. Write it to a file first.")
    if path.name.endswith(BINARY_ENDINGS):
        return "data"
    with open_source(path) as handle:
        beginning = handle.read(FIRST_BYTES)
    if _MODEL.match(beginning):
        raise FileFormatError(
            path,
            None,
            "expected judgements, a run, topics or features, got a model. See `rerank explain MODEL`; `rerank import` "
            "one of another system.",
        )
    lines = [line for line in beginning.splitlines() if line.strip() and not line.startswith(b"#")]
    kinds = Counter(kind for kind in map(_kind, lines[:FIRST_LINES]) if kind)
    if not kinds:
        first = shown(lines[0].strip()) if lines else "none"
        raise FileFormatError(
            path,
            None,
            f"expected rows of qrels, a run, topics or features, got {first}. Say what it is with --qrels, --run, "
            "--topics or --data; give logs of clicks to `rerank clicks`.",
        )
    return kinds.most_common(1)[0][0]


def _kind(line: bytes) -> str | None:
    """Return the kind of file that a line belongs to, or None."""
    fields = line.split()
    if line.lstrip().startswith((b"{", b"<")):  # a run in JSON and a log of clicks are read by no reader here
        return None if _NO_TOPIC.match(line) else "topics"
    if len(fields) > 1 and b":" in fields[1] and finite_number(fields[0]) is not None:
        return "qrels" if (*fields, b"")[2].startswith(b"#") else "data"  # a judgement list
    if line.count(b"\t") == 1:
        return "topics"
    is_of_beir = len(fields) == 3 and is_header(text(fields[0]))
    if is_of_beir or (len(fields) == len(QRELS.columns) and parse_label(fields[QRELS.value]) is not None):
        return "qrels"
    if len(fields) >= len(RUN.columns) and finite_number(fields[RUN.value]) is not None:
        return "run"
    return None


def _read_features(path: Path) -> RankingData:
    """Read ranking data; a file of another ending is text."""
    return read_data(path) if path.name.endswith(DATA_ENDINGS) else read_svmlight(path)


def _read_arrays(path: Path) -> ForwardIndex | None:
    """Return the forward arrays that are kept in an index folder, None without them; Java does not start."""
    from rerank.lucene.arrays import read_arrays, read_header
    from rerank.lucene.folder import check_index_folder, commit_hash
    from rerank.lucene.shards import SUBFOLDER

    commit = commit_hash(check_index_folder(path))
    header = read_header(path / SUBFOLDER)
    if header is None:
        return None
    if header["commit"] != commit:
        raise IndexFolderError(f"{path / SUBFOLDER}: expected forward arrays of {path}, got those of another state")
    return read_arrays(path / SUBFOLDER, again=True)


READERS: dict[str, Callable[[Path], Any]] = {
    "qrels": read_qrels,
    "run": read_run,
    "topics": read_topics,
    "data": _read_features,
    "index": _read_arrays,
}


@dataclass(frozen=True)
class Finding:
    """A problem in a file: an error (rerank refuses the file, or results are wrong), a warning or a note.

    Parameters
    ----------
    severity : {"error", "warning", "note"}
        How serious the problem is.
    path : str
        The file.
    count : int
        Number of occurrences.
    message : str
        The problem, for its first occurrence.
    effect : str
        What it does to results.

    """

    severity: str
    path: str
    count: int
    message: str
    effect: str

    @property
    def text(self) -> str:
        """The finding as one line; a message of a reader begins with its path and line."""
        location = "" if self.message.startswith(self.path) else f"{self.path}: "
        more = f" ({self.count} in all)" if self.count > 1 else ""
        return f"{self.severity:<7}  {location}{self.message}{more}; {self.effect}"


def examine(sources: Sequence[CheckedSource]) -> list[Finding]:
    """Run every check on the sources of its kinds; return the findings, the most severe first."""
    findings = [Finding("error", s.path, 1, s.error, "rerank refuses it") for s in sources if s.error]
    findings += [Finding("warning", s.path, 1, text, SAID_ALWAYS) for s in sources for text in s.warnings]
    of_kind = _by_kind([source for source in sources if not source.error])
    for kinds, check in CHECKS:
        for parts in product(*(of_kind.get(kind, []) for kind in kinds)):
            findings += check(*parts)
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def _by_kind(sources: Sequence[CheckedSource]) -> dict[str, list[CheckedSource]]:
    """Return the sources of each kind; data of training and testing are data, too.

    Where there are judgements for both, topics that are given for neither are taken for both, and topics of queries
    that are not judged are left out.
    """
    of_kind: dict[str, list[CheckedSource]] = {}
    for source in sources:
        of_kind.setdefault(source.kind, []).append(source)
        if source.kind.endswith("_data"):
            of_kind.setdefault("data", []).append(source)
    if {"train_qrels", "test_qrels"} <= set(of_kind):
        for part in ("train", "test"):
            judged = {query_id for source in of_kind[f"{part}_qrels"] for query_id in source.content}
            topics = of_kind.get(f"{part}_topics") or of_kind.get("topics", [])
            of_kind[f"{part}_topics"] = [
                replace(source, content={name: text for name, text in source.content.items() if name in judged})
                for source in topics
            ]
    return of_kind


def as_text(findings: Sequence[Finding], kinds: Sequence[str]) -> str:
    """Return findings as lines, and one line that counts them and names the kinds of the sources."""
    counts = Counter(finding.severity for finding in findings)
    summary = ", ".join(f"{counts[name]} {name}{'s' * (counts[name] != 1)}" for name in SEVERITIES)
    sources = f"{len(kinds)} file{'s' * (len(kinds) != 1)} examined ({', '.join(kinds).replace('_', ' ')})"
    return "\n".join([*(finding.text for finding in findings), f"{sources}: {summary}"])


def _about(
    source: CheckedSource, severity: str, names: Sequence[str] | Ids, message: str, effect: str
) -> Iterator[Finding]:
    """Yield one finding about queries or documents, if there are any; `{}` in the message is the name of the first."""
    if len(names):
        yield Finding(severity, source.path, len(names), message.replace("{}", shown(str(names[0]))), effect)


def _missing(
    severity: str, message: str, effect: str, source: CheckedSource, other: CheckedSource
) -> Iterator[Finding]:
    """Yield one finding about the queries of a file that are not in another."""
    missing = [query_id for query_id in source.content if query_id not in other.content]
    effect = written_apart(missing, other.content) or effect
    yield from _about(source, severity, missing, f"{message} is not in {other.path}", effect)


def _relevance(qrels: CheckedSource) -> Iterator[Finding]:
    """Queries without a relevant document, and labels that no collection uses."""
    judged: Qrels = qrels.content
    relevant = np.bincount(query_rows(judged.query_ptr)[judged.labels > 0], minlength=len(judged))
    yield from _about(
        qrels,
        "warning",
        judged.query_ids[relevant == 0],
        "query {} has no document with a label above 0",
        "each run has 0 there in nDCG, AP, RR, P and R: it lowers all means equally",
    )
    yield from _about(
        qrels,
        "note",
        judged.doc_ids[judged.labels < 0],
        "label below 0 for document {}",
        "it is not relevant; bpref, infAP and --judged-only take it as not judged",
    )
    yield from _high_labels(qrels)


def _high_labels(source: CheckedSource) -> Iterator[Finding]:
    yield from _about(
        source,
        "warning",
        source.content.doc_ids[source.content.labels > HIGHEST],
        f"label above {HIGHEST} for document " + "{}",
        "the document outweighs all others in nDCG; a number of another column?",
    )


def _scores(run: CheckedSource) -> Iterator[Finding]:
    """Queries whose documents all have the same score."""
    yield from _about(
        run,
        "warning",
        _tied(run.content, run.content.scores),
        "all documents of query {} have one score",
        "rerank and trec_eval order them by document id, not by a ranker",
    )


def _tied(table: Run | RankingData, values: Floats) -> list[str]:
    """Return the queries of two or more documents whose values (n_rows,) are all equal."""
    several = np.flatnonzero(np.diff(table.query_ptr) > 1)
    rows = [values[table.query_ptr[query] : table.query_ptr[query + 1]] for query in several.tolist()]
    return [str(table.query_ids[query]) for query, own in zip(several, rows, strict=True) if own.min() == own.max()]


def _judged_share(qrels: CheckedSource, run: CheckedSource) -> Iterator[Finding]:
    """Share of the first documents that are judged."""
    ranking: Run = run.content
    known = ranking.select(ranking.query_numbers(qrels.content)).head(JUDGED_DEPTH)
    _, judged = qrels.content.lookup(known.query_ids, known.query_ptr, known.doc_ids)
    if known.n_rows and judged.mean() < 0.5:
        share = f"{1 - judged.mean():.0%} of the first {JUDGED_DEPTH} documents of each query"
        effect = "they count as not relevant: compare with `evaluate --judged-only`"
        if not judged.any():
            apart = written_apart(known.doc_ids.tolist(), qrels.content.doc_ids.tolist())
            effect = f"all measures are 0: {apart or 'do qrels and run use the same document ids?'}"
        yield Finding(
            "note" if judged.any() else "warning",
            run.path,
            int((~judged).sum()),
            f"{share} are not judged in {qrels.path}",
            effect,
        )


def _labels(data: CheckedSource) -> Iterator[Finding]:
    """Labels that are negative or too high, and queries whose documents all have the same label."""
    if data.content.labels is None:
        return
    yield from _about(
        data,
        "warning",
        data.content.doc_ids[data.content.labels < 0],
        "label below 0 for document {}",
        "measures treat it as not relevant; objectives that use labels as numbers rank it below label 0",
    )
    yield from _high_labels(data)
    tied = _tied(data.content, data.content.labels)
    yield from _about(
        data,
        "note",
        tied,
        "all documents of query {} have one label",
        "no pair of its documents can be learnt from, and no order of them is better than another",
    )
    if len(tied) == np.count_nonzero(np.diff(data.content.query_ptr) > 1):
        yield Finding("error", data.path, 1, "no query has two labels", "there is nothing to learn")


def _features(data: CheckedSource) -> Iterator[Finding]:
    """Features that are missing, constant, or equal to an earlier one."""
    X = data.content.X
    names = data.content.feature_names
    shares = np.isnan(X).mean(axis=0)
    if shares.any():
        worst = int(shares.argmax())
        yield Finding(
            "note",
            data.path,
            int(np.isnan(X).any(axis=1).sum()),
            f"{shares.mean():.2%} of all values are NaN, most of them in feature {names[worst]} ({shares[worst]:.2%})",
            "trees send a missing value its own way; linear rankers and nets fill it in",
        )
    constant = ((X[:1] == X) | (np.isnan(X) & np.isnan(X[:1]))).all(axis=0)
    yield from _listed(
        data,
        [names[column] for column in np.flatnonzero(constant)],
        "constant features",
        "no ranker can use them; they only cost time and memory",
    )
    first: dict[bytes, str] = {}
    pairs = []
    for column in np.flatnonzero(~constant):
        content = np.ascontiguousarray(X[:, column]) + np.float32(0)  # -0 becomes 0
        earlier = first.setdefault(blake2b(content.tobytes()).digest(), names[column])
        if earlier != names[column]:
            pairs.append(f"{names[column]} = {earlier}")
    yield from _listed(
        data,
        pairs,
        "duplicate features",
        "trees choose the first; importances are split or lost, and linear weights are not unique",
    )


def _listed(data: CheckedSource, names: list[str], what: str, effect: str) -> Iterator[Finding]:
    yield from _about(data, "note", names, f"{what}: {first_names(names, NAMED)}", effect)


def _index(index: CheckedSource) -> Iterator[Finding]:
    """Documents without a term, ids that two documents have, and fields without content."""
    forward = index.content
    if forward is None:
        yield Finding(
            "note",
            index.path,
            1,
            "no forward arrays",
            "they are made when features are first computed; documents and fields are not checked here",
        )
        return
    doc_ids = forward.doc_ids  # in order: equal ids are adjacent, those of deleted documents are empty
    lengths = [np.asarray(field.lengths) for field in forward.fields.values()]
    without_text = doc_ids[~np.any([column > 0 for column in lengths], axis=0) & (doc_ids != "")]
    yield from _about(
        index,
        "warning",
        without_text,
        "document {} has no text",
        "BM25 does not retrieve them, and their text features say nothing",
    )
    again = doc_ids[1:][(doc_ids[1:] == doc_ids[:-1]) & (doc_ids[1:] != "")]
    yield from _about(
        index, "error", again, "document {} occurs again", "features are those of the first document with the id"
    )
    empty = [name for name, field in forward.fields.items() if not field.n_tokens]
    empty += [name for name, values in forward.numbers.items() if np.isnan(values).all()]
    yield from _about(
        index,
        "warning",
        empty,
        f"fields without content: {', '.join(empty)}",
        "features of these fields are constant; leave them out of the recipe",
    )


def _in_both(train: CheckedSource, test: CheckedSource) -> Iterator[Finding]:
    """Queries that are in both training and test data."""
    yield from _about(
        test,
        "error",
        [query_id for query_id in test.content if query_id in train.content],
        "query {}" + f" is in {train.path} too",
        "figures on the test queries are those of queries that were trained on",
    )


def words_of(text: str) -> list[str]:
    """Return the words of a query."""
    return _WORD.findall(text.lower())


def _near(
    what: str, names_of: Callable[[Any], list[str]], train: CheckedSource, test: CheckedSource
) -> Iterator[Finding]:
    """Yield one finding about the test queries that are near a training query of another id.

    what      what the queries are compared by
    names_of  returns it for the text or the labels of a query
    """
    from rerank.features.near_duplicates import NEAR  # with kernels, which other checks do not need

    values, nearest = nearest_queries(*([names_of(own) for _, own in part.content.items()] for part in (train, test)))
    queries = list(train.content)
    near = [
        f"query {shown(query_id)} is near {shown(queries[number])} of {train.path} (cosine of the {what} {value:.2f})"
        for query_id, value, number in zip(test.content, values.tolist(), nearest.tolist(), strict=True)
        if value >= NEAR and queries[number] != query_id
    ]
    if near:
        yield Finding(
            "warning",
            test.path,
            len(near),
            f"{near[0]}; {len(near)} of {len(test.content)} queries have a cosine of {NEAR} or more",
            "figures on such queries say little about new ones: report those on the others beside them",
        )


def nearest_queries(train: Sequence[Iterable[str]], test: Sequence[Iterable[str]]) -> tuple[Floats, Ints]:
    """Return the greatest cosine of each test query with a training query, and the number of that training query.

    train, test  words, or ids of documents, of each query

    Shapes: cosines float64 (n_test,); nearest int64 (n_test,).
    """
    from scipy.sparse import csr_array

    from rerank.features.near_duplicates import unit_weights

    queries = [list(names) for names in (*train, *test)]
    number = {name: place for place, name in enumerate(dict.fromkeys(chain.from_iterable(queries)))}
    ptr, columns, freqs = counted_terms(queries, number)
    idf = np.log((1.0 + len(queries)) / np.bincount(columns))
    vectors = csr_array((unit_weights(freqs, idf[columns], ptr), columns, ptr), (len(queries), max(len(number), 1)))
    of_train = vectors[: len(train)].T.tocsr()
    cosines = np.zeros(len(test))
    nearest = np.zeros(len(test), np.int64)
    for first in range(0, len(test) if len(train) else 0, _BLOCK):
        products = (vectors[len(train) + first :][:_BLOCK] @ of_train).toarray()
        nearest[first : first + _BLOCK] = products.argmax(axis=1)
        cosines[first : first + _BLOCK] = products.max(axis=1)
    return cosines, nearest


_NEAR_RELEVANT = partial(
    _near, "relevant documents", lambda labels: [doc_id for doc_id, label in labels.items() if label > 0]
)
_NOT_COUNTED = "with `evaluate -c` it counts 0, else it does not count"
CHECKS: tuple[tuple[tuple[str, ...], Callable[..., Iterator[Finding]]], ...] = (
    (("qrels",), _relevance),
    (("run",), _scores),
    (("data",), _labels),
    (("data",), _features),
    (("index",), _index),
    (("qrels", "run"), partial(_missing, "warning", "judged query {}", f"compare on the same queries: {_NOT_COUNTED}")),
    (("run", "qrels"), partial(_missing, "note", "query {}", "without judgements it does not count in the means")),
    (("topics", "run"), partial(_missing, "warning", "topic {}", f"nothing is retrieved for it: {_NOT_COUNTED}")),
    (("run", "topics"), partial(_missing, "error", "query {}", "`features` and `rerank` refuse a run of other topics")),
    (("qrels", "topics"), partial(_missing, "warning", "judged query {}", f"no run contains it: {_NOT_COUNTED}")),
    (("qrels", "run"), _judged_share),
    (("train_data", "test_data"), _in_both),
    (("train_qrels", "test_qrels"), _in_both),
    (("train_topics", "test_topics"), partial(_near, "words", words_of)),
    (("train_qrels", "test_qrels"), _NEAR_RELEVANT),
)
