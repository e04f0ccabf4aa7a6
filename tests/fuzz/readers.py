"""The fuzzed readers of files, with seeds, mutations for their format, and checks of what they return.

A reader returns a record or raises one of the package's errors. A record that was read can be used, and is the same
after it was written and read again; otherwise `WrongRecord` is raised.
"""

from __future__ import annotations

import gzip
import json
import shutil
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

import rerank
from rerank.clicks.reading import read_clicks, write_clicks
from rerank.doctor import as_text, examine, read_sources
from rerank.errors import IndexFolderError, RerankError
from rerank.experiments.study import VERSION, Study, read_settings
from rerank.features.catalogue import template
from rerank.features.extract import extract
from rerank.features.family import history_family_names
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.files.corpus import corpus_format, read_documents
from rerank.files.data import read_data, write_data
from rerank.files.lists import read_folds, read_names, read_preferences, write_folds
from rerank.files.sgml import SgmlDocument, read_sgml, sgml_files
from rerank.files.texts import TextsFile, read_texts
from rerank.files.topics import read_topics, write_topics
from rerank.files.trec import read_qrels, read_run, read_subtopic_qrels, write_qrels, write_run
from rerank.history.history import History, read_history
from rerank.index.index import Index
from rerank.index.model_checks import check_model
from rerank.lucene import arrays as postings, folder as shards
from rerank.lucene.build import build_index, build_index_from_sgml
from rerank.lucene.documents import CorpusFiles, write_documents
from rerank.lucene.search import Searcher
from rerank.rankers.ranker import read_model
from rerank.rankers.registry import known_rankers
from rerank.runtime.json_files import checksum_of
from rerank.training.folds import given_folds
from rerank.types import Qrels, RankingData, Run, pointers
from rerank.types.retriever import Retriever
from rerank.types.vocabulary import find_terms
from rerank.vectors.vectors import Vectors
from tests.fuzz.mutations import (
    archive_of,
    members,
    mutate_archive,
    mutate_bytes,
    mutate_json,
    mutate_json_lines,
    mutate_text,
)

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
MEASURES = ("nDCG@10", "AP", "RR", "P@5", "ERR@10", "nDCG(dcg='exp-log2')@5", "RBP", "Bpref")
WORDS = ("river", "bank", "money", "loan", "water", "flow", "heat", "naïve", "流れ", "😀")
BASES = ("feature", "run", "other", "scores", "model")


class WrongRecord(Exception):
    """A record that was read fails a check."""


@dataclass(frozen=True)
class Reader:
    """One reader.

    seeds   (work folder) -> inputs that must be read
    read    path of an input -> record; may raise the package's errors
    check   record, folder for files -> None; raises an error if the record is wrong
    name    of the file that an input is written to
    mutate  input, random generator -> input
    java    whether it starts Java: memory is then not limited, and coverage is not measured
    """

    seeds: Callable[[Path], Iterable[bytes]]
    read: Callable[[Path], Any]
    check: Callable[[Any, Path], None]
    name: str = "input.txt"
    mutate: Callable[[bytes, Random], bytes] = mutate_text
    java: bool = False


def same(one: Any, other: Any) -> bool:
    """Return whether two records are equal, NaN being equal to NaN."""
    if is_dataclass(one) and type(one) is type(other):
        return all(same(getattr(one, part.name), getattr(other, part.name)) for part in fields(one))
    if isinstance(one, np.ndarray):
        alike = isinstance(other, np.ndarray) and one.shape == other.shape
        return alike and bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f" and other.dtype.kind == "f"))
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping) and list(one) == list(other) and all(same(one[key], other[key]) for key in one)
        )
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or one != one)


def expect_same(one: Any, other: Any, what: str = "written and read again") -> None:
    """Raise WrongRecord if two records differ."""
    if not same(one, other):
        raise WrongRecord(f"{what}: another record")


def beginnings(*names: str, n_lines: int = 12) -> list[bytes]:
    """Return the first lines of those real files that exist."""
    files = [SHARED / name for name in names]
    return [b"".join(path.read_bytes().splitlines(True)[:n_lines]) for path in files if path.is_file()]


def with_packed(seeds: Iterable[bytes]) -> list[bytes]:
    """Return seeds, and the first of them packed by gzip too."""
    inputs = list(seeds)
    return [*inputs, gzip.compress(inputs[0], mtime=0)]


# Judgements, runs, topics


def _qrels_seeds(work: Path) -> list[bytes]:
    own = b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 -1\n\n# note\nq2\t0\td\xc3\xa9\t1\r\nq1 0 d9 4\n"
    real = beginnings("collections/cranfield/qrels.txt", "collections/nfcorpus/qrels.test.txt", "trec_eval/qrels.test")
    return with_packed([own, *real])


def _subtopics_seeds(work: Path) -> list[bytes]:
    return with_packed([b"q1 1 d1 2\nq1 2 d1 0\nq2 1 d3 -1\n\n# note\nq2\t2\td\xc3\xa9\t1\r\nq1 1 d9 4\n"])


def _check_subtopics(record: Any, folder: Path) -> None:
    docs = dict.fromkeys(record.doc_ids.tolist(), 1.0)
    names = ["alpha_nDCG@3", "ERR_IA@5", "StRecall@5"]
    result = rerank.evaluate(record, dict.fromkeys(record, docs), names)
    if any(not 0.0 <= value <= 1.0 + 1e-9 for name in names for value in result.vector(name)):
        raise WrongRecord("a measure of diversity beyond 0 and 1")


def _check_qrels(record: Any, folder: Path) -> None:
    write_qrels(record, folder / "again")
    expect_same(record, read_qrels(folder / "again"))
    run = Run(record.query_ids, record.query_ptr, record.doc_ids, np.arange(record.n_rows) * 0.5, "all")
    with suppress(RerankError):
        rerank.evaluate(record, run, MEASURES)


def _run_seeds(work: Path) -> list[bytes]:
    own = b"q1 Q0 d1 1 3.5 tag\nq1 Q0 d2 2 3.25 tag\nq2 Q0 d3 1 -1e-3 tag\nq2 Q0 d4 2 -2 tag more\n"
    own += b"q1 Q0 d\xc3\xa9 3 1e2 tag\n"
    return with_packed([own, *beginnings("trec_eval/results.test", "trec_eval/results.trunc", n_lines=20)])


def _check_run(record: Any, folder: Path) -> None:
    write_run(record, folder / "again")
    expect_same(record, read_run(folder / "again"))
    judged = {query: dict.fromkeys(list(record[query])[::2], 1) or {"d": 0} for query in record}
    with suppress(RerankError):
        rerank.evaluate(judged, record, MEASURES)
    with suppress(RerankError):
        rerank.fuse([record, record], "rrf")


def _topics_seeds(work: Path) -> list[bytes]:
    trec = (
        b"<top>\n\n<num> Number: 301\n<title> Topic: heat flow\nof wings\n\n<desc> Description:\nAll of it.\n</top>\n"
        b"<top><num>302</num><title>bank loan</title><narr>x</narr></top>\n"
    )
    lines = b'{"id": "q1", "text": "heat"}\n{"qid": 2, "query": "flow \\u00e9"}\n{"_id": "q3", "title": "wing"}\n'
    real = beginnings("collections/cranfield/topics.tsv", "collections/cacm/topics.tsv", n_lines=4)
    return with_packed([b"q1\theat flow\nq2\t bank loan \n\nq3\t\xe6\xb5\x81\n", trec, lines, *real])


def _mutate_topics(data: bytes, random: Random) -> bytes:
    return (mutate_json_lines if data.lstrip().startswith(b"{") else mutate_text)(data, random)


def _check_topics(record: Any, folder: Path) -> None:
    write_topics(record, folder / "again.jsonl")
    expect_same(record, read_topics(folder / "again.jsonl"))
    texts = "".join(record.values())
    if not any(letter in texts for letter in "\t\n"):
        with suppress(RerankError):  # a first id that looks like the beginning of another format
            write_topics(record, folder / "again.tsv")
            expect_same(record, read_topics(folder / "again.tsv"), "written as two columns and read again")


# Features and labels


def small_data(n_queries: int = 12, n_rows: int = 8, n_features: int = 5) -> RankingData:
    """Return data to train on, some values missing."""
    random = np.random.default_rng(5)
    X = random.normal(size=(n_queries * n_rows, n_features)).astype(np.float32)
    X[random.random(X.shape) < 0.05] = np.nan
    X[:, 0] = np.nan_to_num(X[:, 0])
    labels = np.clip(np.round(X[:, 0] + random.normal(size=len(X))), 0, 2).astype(np.float64)
    return RankingData(
        np.array([f"q{number}" for number in range(n_queries)]),
        pointers([n_rows] * n_queries),
        np.array([f"d{number}" for number in range(len(X))]),
        X,
        tuple(f"f{number}" for number in range(n_features)),
        labels=labels,
        base_scores=X[:, 0].astype(np.float64),
        recipe=Recipe(families=("letor",)).to_dict(),
        fingerprint={"documents": 12, "fields": {"title": {"tokens": 4}}},
        retriever=Retriever.bm25(0.9, 0.4),
        run_retrievers={"dense": Retriever("dense-v1")},
    )


def _svmlight_seeds(work: Path) -> list[bytes]:
    data = small_data(3, 4)
    write_data(data, work / "data.svm")
    own = b"0 qid:1 1:0.5 3:nan # docid = d1 base = 2\n2 qid:1 2:1e-3 # docid = d2 base = 1.5\n"
    own += b"1.5 qid:x 1:-4 # docid = d1 base = 0\n"
    real = beginnings("letor/mq2008/S1.txt", n_lines=5)
    return with_packed([own, (work / "data.svm").read_bytes(), *real])


def _sizes_seeds(work: Path) -> list[bytes]:
    rows = b"0 1:0.5 2:1\n1 2:0.25\n2 1:3\n0 3:1\n"
    return [archive_of({"data.txt": rows, "data.txt.query": b"3\n1\n"})]


def _read_sizes(path: Path) -> RankingData:
    folder = unpacked(path)
    return read_data(folder / "data.txt")


def unpacked(path: Path) -> Path:
    """Return a fresh folder with the parts of an archive; a damaged archive is an empty folder."""
    folder = path.with_name("unpacked")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in (members(path.read_bytes()) or {}).items():
        if name and "/" not in name and "\0" not in name and name not in (".", ".."):
            (folder / name).write_bytes(content)
    return folder


def _check_data(record: RankingData, folder: Path) -> None:
    write_data(record, folder / "again.npz")
    expect_same(record, read_data(folder / "again.npz"))
    with suppress(RerankError):  # an id with white space: an archive can hold it
        write_data(record, folder / "again.svm")
        read_data(folder / "again.svm")
    with suppress(RerankError):
        rerank.LambdaMART(n_estimators=2, num_leaves=3, n_jobs=1).fit(record)
    with suppress(RerankError):
        record.ideal()
    if record.recipe is not None:
        with suppress(RerankError):
            Recipe.from_dict(record.recipe)


def _check_svmlight(record: RankingData, folder: Path) -> None:
    with warnings.catch_warnings():
        write_data(record, folder / "again.svm")
    expect_same(record, read_data(folder / "again.svm"), "written as text and read again")
    _check_data(record, folder)


def _data_seeds(work: Path) -> list[bytes]:
    data = small_data(3, 4)
    bare = RankingData(data.query_ids, data.query_ptr, data.doc_ids, data.X, data.feature_names)
    seeds = []
    for number, each in enumerate((data, bare)):
        write_data(each, work / f"{number}.npz")
        seeds.append((work / f"{number}.npz").read_bytes())
    return seeds


def _parquet_seeds(work: Path) -> list[bytes]:
    seeds = []
    for number, data in enumerate((small_data(3, 4), small_data(9, 30))):
        write_data(data, work / f"{number}.parquet")
        seeds.append((work / f"{number}.parquet").read_bytes())
    return seeds


def _preferences_seeds(work: Path) -> list[bytes]:
    return with_packed([b"q1\td1\td2\nq1\td2\td3\t0.75\n\n# note\nq2\td1\td\xc3\xa9\t1\n"])


def _check_preferences(record: Any, folder: Path) -> None:
    rows = zip(record.query_ids, record.better, record.worse, record.probabilities.tolist(), strict=True)
    lines = [f"{query}\t{better}\t{worse}\t{sure!r}\n" for query, better, worse, sure in rows]
    (folder / "again").write_text("".join(lines), encoding="utf8")
    expect_same(record, read_preferences(folder / "again"))


def _clicks_seeds(work: Path) -> list[bytes]:
    lines = [
        {"query": "heat", "document": "d1", "position": 1, "clicked": 1, "session": "s", "time": 5},
        {
            "query": "Heat ",
            "document": "d\u00e9",
            "position": 2,
            "clicked": False,
            "session": "s",
            "time": "2024-05-01",
        },
        {"query": "b", "document": "d1", "position": 1, "clicked": 0, "session": "t", "time": None},
        {"query": "b", "document": "d2", "position": 0, "clicked": 0, "session": "t", "time": None},
    ]
    shown = {"object": {"object_id": "d1"}, "position": {"ordinal": 1}}
    events = [
        {"query_id": "1", "user_query": "wing", "query_response_hit_ids": ["d1", "d2"]},
        {"action_name": "impression", "query_id": "1", "event_attributes": shown, "timestamp": 5, "session_id": "s"},
        {"action_name": "click", "query_id": "1", "event_attributes": shown},
    ]
    return with_packed(["\n".join(map(json.dumps, each)).encode() + b"\n" for each in (lines, events)])


def _click_tables(work: Path) -> list[bytes]:
    rows = "heat,d1,1,1,s,5,a\n'wing',\"d,2\",2,false,s,2024-05-01T10:00:00Z,b\nx,d1,,0,t,,a\n"
    return with_packed([b"query,document,position,clicked,session,time,ranker\n" + rows.encode()])


def _check_clicks(record: Any, folder: Path) -> None:
    write_clicks(record, folder / "again.jsonl")
    again = read_clicks(folder / "again.jsonl")
    rows, others = ([row[:4] for row in each.first_rows(each.n_rows)[1]] for each in (record, again))
    expect_same(rows, others)
    if record.clicked.any():
        rerank.estimate_clicks(record)


def _folds_seeds(work: Path) -> list[bytes]:
    return with_packed(["".join(f"q{number}\t{number % 3 + 1}\n" for number in range(9)).encode()])


def _check_folds(record: dict[str, int], folder: Path) -> None:
    write_folds(record, folder / "again")
    expect_same(record, read_folds(folder / "again"))
    with suppress(RerankError):
        given_folds(list(record), record)


def _corpus_seeds(work: Path) -> list[bytes]:
    own = b'{"id": "d1", "title": "Heat", "body": "flow", "year": 1967}\n{"_id": 2, "contents": "x", "tags": null}\n'
    real = beginnings("collections/cacm/corpus.jsonl", "collections/cranfield/corpus.jsonl", n_lines=2)
    return with_packed([own, *real])


def _check_corpus(record: list[dict[str, Any]], folder: Path) -> None:
    lines = "".join(json.dumps({**document, "nothing": None}) + "\n" for document in record)
    (folder / "again.jsonl").write_text(lines, encoding="utf8")
    expect_same(record, list(read_documents(folder / "again.jsonl")))
    corpus = folder / "documents"
    corpus.mkdir()
    try:
        with suppress(RerankError):
            write_documents(record, CorpusFiles([corpus], "jsonl"), None)
    finally:
        shutil.rmtree(corpus)


def _texts_seeds(work: Path) -> list[bytes]:
    own = b'{"qid": "q1", "id": "d1", "text": "heat flow"}\n{"qid": "q1", "id": 2, "title": "Heat", "year": 1967}\n'
    return with_packed([own + b'{"qid": "q2", "id": "d1", "title": "bank", "body": "\\u6d41"}\n'])


def _check_texts(record: TextsFile, folder: Path) -> None:
    lines = []
    for query_id, documents in record.documents.items():
        for doc_id, document in documents.items():
            lines.append(json.dumps({"qid": query_id, "id": doc_id, **document}) + "\n")
    (folder / "again.jsonl").write_text("".join(lines), encoding="utf8")
    again = read_texts(folder / "again.jsonl", ("q1", "q2"))
    expect_same(record.documents, again.documents)


def _names_seeds(work: Path) -> list[bytes]:
    return with_packed([b"bm25.title\nlength\nna\xc3\xafve name\n\n"])


def _check_names(record: tuple[str, ...], folder: Path) -> None:
    (folder / "again").write_text("\n".join(record), encoding="utf-8-sig")  # a first name may begin with such a mark
    expect_same(record, read_names(folder / "again"))


def _check_documents(record: list[SgmlDocument], folder: Path) -> None:
    for document in record:
        expect_same((document.is_indexed, document.location.count(":") > 0), (document.is_indexed, True))
        document.text.encode("utf8")


def _sgml_seeds(work: Path) -> list[bytes]:
    own = (
        b"<DOC>\n<DOCNO> AP-1 </DOCNO>\n<HEADLINE>Heat &amp; flow</HEADLINE>\n"
        b"<TEXT>\nWater of the river.\n</TEXT>\n</DOC>\n"
        b"<DOC>\n<DOCNO>AP-2</DOCNO>\n<TEXT>Bank loan</TEXT>\n</DOC>\n"
    )
    return [own]


def _read_sgml(path: Path) -> Path:
    folder = path.with_name("sgml-index")
    shutil.rmtree(folder, ignore_errors=True)
    if corpus_format(path) == "trec":
        build_index_from_sgml(path, folder, threads=1)
    else:
        build_index(read_documents(path, others=True), folder, threads=1)
    return folder


def _check_built(folder: Path, other: Path) -> None:
    forward = postings.open_forward(folder)
    with Searcher(folder) as searcher:
        searcher.search({"q": "heat flow"}, k=5)
        of_lucene = searcher.doc_ids[forward.lucene_docs]
        expect_same(of_lucene, np.asarray(forward.doc_ids), "ids of Lucene and of the arrays")


# Recipes, models, studies


def _recipe_seeds(work: Path) -> list[bytes]:
    own = (
        b'fields = ["title", "contents"]\nfamilies = ["letor", "prior"]\nfeatures = ["*"]\nnumbers = ["year"]\n'
        b'bm25_k1 = 1.2\nrm3_share = 0.25\n[normalisation]\n"*" = "zscore"\n"bm25.*" = "minmax"\n'
    )
    return [own, template().encode("utf8"), b'normalisation = "rank"\nfeatures = ["bm25.title"]\n']


def _check_recipe(record: Recipe, folder: Path) -> None:
    (folder / "again.toml").write_text(record.to_toml(), encoding="utf8")
    expect_same(record, Recipe.from_toml(folder / "again.toml"))
    expect_same(record, Recipe.from_dict(json.loads(json.dumps(record.to_dict()))), "as JSON and back")
    with suppress(RerankError):
        features_of(_forward(folder.parent), record)


@cache
def _forward(work: Path) -> Any:
    return postings.open_forward(work / "base-index")


def features_of(forward: Any, recipe: Recipe | None) -> RankingData:
    """Return the features of two queries over some documents of an index."""
    doc_ids = [str(doc_id) for doc_id in forward.doc_ids if doc_id]
    run = Run.of({"q1": {d: float(n) for n, d in enumerate(doc_ids)}, "q2": {d: 1.0 for d in doc_ids[::2]}})
    return extract(
        forward, {"q1": ["heat", "flow", "heat", "naïv"], "q2": ["bank", "loan", "unseen"]}, run, recipe, threads=1
    )


def model_seeds(kind: str, work: Path) -> list[bytes]:
    """Return stored models of one ranker: cold, and from each kind of base."""
    data = small_data()
    small = {
        "n_estimators": 3,
        "num_leaves": 4,
        "min_child_samples": 5,
        "n_epochs": 2,
        "hidden_units": 3,
        "max_iter": 5,
        "n_folds": 2,
        "n_jobs": 1,
    }
    if kind == "ensemble":
        small["members"] = "lambdamart(n_estimators=2, num_leaves=3), lambdarank(n_epochs=1), ranksvm"
    cls = known_rankers()[kind]
    inputs = {name: value for name, value in small.items() if name in cls().get_params(deep=False)}
    seeds = []
    for base in (None, *BASES):
        ranker = cls(**inputs)
        scores = np.zeros(data.n_rows) if base == "scores" else None
        ranker.set_params(base=_base(base, data, small))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker.fit(data, init_score=scores)
        ranker.save(work / "model.json")
        seeds.append((work / "model.json").read_bytes())
    return seeds


def _base(base: str | None, data: RankingData, small: Mapping[str, Any]) -> Any:
    if base == "model":
        return rerank.LambdaMART(n_estimators=2, num_leaves=3, n_jobs=1).fit(data)
    if base == "other":
        return data.run(np.arange(data.n_rows) * 0.1, "other")
    return {"feature": "feature:f0", "run": "run"}.get(base or "")


def _check_model(model: Any, folder: Path) -> None:
    model.save(folder / "again.json")
    again = read_model(folder / "again.json")
    names = tuple(model.feature_names_)
    data = small_data(2, 8)
    X = np.random.default_rng(1).normal(size=(data.n_rows, len(names))).astype(np.float32)
    X[3:] = np.where(np.random.default_rng(2).random(X[3:].shape) < 0.2, np.nan, X[3:])
    data = RankingData(data.query_ids, data.query_ptr, data.doc_ids, X, names, base_scores=data.base_scores)
    for extra in ({"init_score": np.zeros(data.n_rows)}, {"base": data.run(np.ones(data.n_rows))}, {}):
        try:
            scores = model.predict(data, **extra)
        except RerankError:
            if extra:
                raise
            continue
        if scores.shape != (data.n_rows,) or not np.isfinite(scores).all():
            raise WrongRecord("a model that was read scores rows with NaN or infinity")
        expect_same(scores, again.predict(data, **extra), "scores of the model written and read again")
    expect_same(plain(model.to_dict()), plain(again.to_dict()))
    if model.recipe_ is not None:
        with suppress(RerankError):
            Recipe.from_dict(model.recipe_)
    with suppress(RerankError):
        check_model(Index(folder.parent / "base-index"), model)


def plain(value: Any) -> Any:
    """Return a value after a round trip through JSON."""
    return json.loads(json.dumps(value))


def _settings_seeds(work: Path) -> list[bytes]:
    study = Study(recipe=Recipe(families=("letor",)), folds={"q1": 0, "q2": 1, "q3": 2}, parameters={"n_estimators": 3})
    settings = {"format": "rerank study", "version": VERSION, "versions": {"python": "3.11"}, "study": study.to_dict()}
    inputs = {"index": "i", "topics": "t", "qrels": "q"}
    return [json.dumps({**settings, "inputs": inputs, "checksums": inputs, "resources": {"vectors": "v"}}).encode()]


def _read_study(path: Path) -> tuple[dict[str, Any], Study]:
    settings = read_settings(path.parent)
    return settings, Study.from_dict(settings["study"])


def _check_study(result: tuple[dict[str, Any], Study], folder: Path) -> None:
    expect_same(plain(result[1].to_dict()), plain(Study.from_dict(plain(result[1].to_dict())).to_dict()))


# The doctor reads everything


def _doctor_seeds(work: Path) -> list[bytes]:
    makers = (_qrels_seeds, _run_seeds, _topics_seeds, _svmlight_seeds, _data_seeds)
    return [seed for maker in makers for seed in maker(work)]


def _mutate_doctor(data: bytes, random: Random) -> bytes:
    return (mutate_archive if data.startswith(b"PK") else _mutate_topics)(data, random)


def _read_doctor(path: Path) -> list[str]:
    texts, kinds = [], (None, "qrels", "run", "topics", "data", "train")
    refused: RerankError | None = None
    for kind in kinds:
        try:
            sources = read_sources([(kind, path)])
        except RerankError as error:
            refused = error
            if len(str(error).splitlines()) != 1:
                raise
            continue
        texts.append(as_text(examine(sources), [sources[0].kind]))
    if not texts and refused is not None:
        raise refused
    return texts


def _check_doctor(texts: list[str], folder: Path) -> None:
    for text in texts:
        text.encode("utf8")


# Index folders


def build_base_index(work: Path) -> None:
    """Build the small index whose folder is damaged, and store its features."""
    random = Random(3)
    documents = [
        {
            "id": f"doc-{number}{'é' if number == 4 else ''}",
            "title": " ".join(random.choices(WORDS, k=3)),
            "body": " ".join(random.choices(WORDS, k=random.randrange(1, 12))),
            **({"year": 1960 + number} if number % 3 else {}),
        }
        for number in range(14)
    ]
    build_index(documents, work / "base-index", threads=1)
    np.save(work / "base-features.npy", features_of(_forward(work), None).X)


def _index_seeds(work: Path) -> list[bytes]:
    return [(work / "base-index" / shards.SUBFOLDER / shards.ARRAYS).read_bytes()]


def _mutate_index(data: bytes, random: Random) -> bytes:
    """Change arrays or the header; their checksums are mostly those of the changed content."""
    return mutate_archive(data, random, of_bytes=0.25)


def _read_index(path: Path) -> Any:
    work, folder = path.parent.parent, path.with_name("index")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / shards.SUBFOLDER).mkdir(parents=True)
    segments = next((work / "base-index").glob("segments_*"))
    shutil.copy(segments, folder)
    shutil.copy(path, folder / shards.SUBFOLDER / shards.ARRAYS)
    with patch.object(postings, "_make", _refuse_making):
        forward = postings.open_forward(folder)
    fitted = _checksums(path) != _checksums(work / "base-index" / shards.SUBFOLDER / shards.ARRAYS)
    return fitted, forward, features_of(forward, None)


def _checksums(path: Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def _check_index(result: tuple[bool, Any, RankingData], folder: Path) -> None:
    fitted, forward, data = result
    forward.doc_numbers(np.array([*forward.doc_ids.tolist(), "none"]))
    for number in range(min(len(forward.term_ptr) - 1, 100)):
        if find_terms(forward, [forward.term(number).encode()]) != [number]:
            raise WrongRecord("a term has another number than the one it is found by")
    if not fitted and not same(data.X, np.load(folder.parent / "base-features.npy")):
        raise WrongRecord("features of a damaged index differ from those of the undamaged one, without an error")


def _refuse_making(index: Path, *others: Any) -> None:
    raise IndexFolderError(f"{index}: arrays would be made anew.")


def _lucene_seeds(work: Path) -> list[bytes]:
    files = [path for path in sorted((work / "base-index").iterdir()) if path.is_file()]
    return [archive_of({path.name: path.read_bytes() for path in files})]


def _mutate_lucene(data: bytes, random: Random) -> bytes:
    return mutate_archive(data, random, of_bytes=0.0)


def _read_lucene(path: Path) -> Any:
    folder = unpacked(path)
    with Searcher(folder) as searcher:
        searcher.statistics()
        searcher.search({"q1": "heat flow", "q2": "bank"}, k=5, threads=1)
        searcher.documents(range(len(searcher.doc_ids)))
        forward = postings.open_forward(folder)
        features_of(forward, None)
    return folder


QUERY_TERMS = {"q1": ["heat", "flow", "heat", "naïv"], "q2": ["bank", "loan", "unseen"], "q3": ["river", "bank"]}


def _history_seeds(work: Path) -> list[bytes]:
    forward = _forward(work)
    doc_ids = [str(doc_id) for doc_id in forward.doc_ids if doc_id]
    qrels = Qrels.of({query_id: {doc_ids[n]: 1, doc_ids[n + 4]: 2} for n, query_id in enumerate(QUERY_TERMS)})
    History.of_terms(forward, QUERY_TERMS, qrels).save(work / "seed-history.json")
    return [(work / "seed-history.json").read_bytes()]


def _check_history(history: History, folder: Path) -> None:
    """It can be used on the index, unless it is refused there, and is the same when it is written and read again."""
    forward = _forward(folder.parent)
    with suppress(RerankError):
        run = Run.of({query_id: {str(doc_id): 1.0 for doc_id in forward.doc_ids[:5]} for query_id in QUERY_TERMS})
        extract(
            forward,
            QUERY_TERMS,
            run,
            Recipe(families=history_family_names(())),
            records=Records(history=history.on(forward)),
            threads=1,
        )
    history.save(folder / "again.json")
    expect_same(read_history(folder / "again.json").to_dict(), history.to_dict())


def _vectors_seeds(work: Path) -> list[bytes]:
    Vectors.learn(_forward(work), dimensions=3, threads=1).save(work / "seed-vectors")
    return [(work / "seed-vectors").read_bytes()]


def _read_vectors(path: Path) -> Vectors:
    """Read vectors and compute features with them."""
    forward = _forward(path.parent.parent)
    vectors = Vectors.read(path, forward)
    run = Run.of({query_id: {str(doc_id): 1.0 for doc_id in forward.doc_ids[:5]} for query_id in QUERY_TERMS})
    extract(forward, QUERY_TERMS, run, Recipe(families=("lsi",)), records=Records(vectors=vectors), threads=1)
    return vectors


def _check_vectors(vectors: Vectors, folder: Path) -> None:
    vectors.save(folder / "again")
    if Vectors.read(folder / "again", vectors.forward).checksum != vectors.checksum:
        raise WrongRecord("vectors that were written and read again have another checksum")


def _nothing(record: Any, folder: Path) -> None:
    """No check: the reader has used what it read."""


def _model_readers() -> Iterator[tuple[str, Reader]]:
    for kind in known_rankers():
        yield (
            f"model-{kind}",
            Reader(
                lambda work, kind=kind: model_seeds(kind, work), read_model, _check_model, "model.json", _mutate_stored
            ),
        )


def _mutate_stored(data: bytes, random: Random) -> bytes:
    """Change a JSON file of this package, whose checksum is mostly that of the changed content."""
    changed = mutate_json(data, random)
    with suppress(ValueError, RecursionError):
        stored = json.loads(changed)
        if isinstance(stored, dict) and random.random() < 0.75:
            content = {name: value for name, value in stored.items() if name not in ("format", "checksum")}
            return json.dumps({**stored, "checksum": checksum_of(content)}).encode()
    return changed


def _exchange_seeds(name: str, work: Path) -> list[bytes]:
    """Return the model of a few trees in another system's format."""
    model = rerank.MART(n_estimators=3, num_leaves=4, min_child_samples=5, n_jobs=1).fit(small_data())
    rerank.export_model(model, work / "exported", name, missing_as_zero=True)
    return [(work / "exported").read_bytes()]


OBLIVIOUS_TREES = {  # as CatBoost writes them
    "features_info": {
        "float_features": [
            {"borders": [0.5], "feature_index": 0, "flat_feature_index": 0, "nan_value_treatment": "AsFalse"},
            {"borders": [1.5], "feature_index": 1, "flat_feature_index": 1, "nan_value_treatment": "AsIs"},
        ]
    },
    "oblivious_trees": [
        {
            "leaf_values": [0.25, -0.5, 1.0, 2.0],
            "splits": [
                {"border": 0.5, "float_feature_index": 0, "split_index": 0, "split_type": "FloatFeature"},
                {"border": 1.5, "float_feature_index": 1, "split_index": 1, "split_type": "FloatFeature"},
            ],
        }
    ],
    "scale_and_bias": [1, [0.125]],
}
STORED = {"catboost": OBLIVIOUS_TREES}  # of formats whose library is not needed


def _stored_readers() -> Iterator[tuple[str, Reader]]:
    for name, stored in STORED.items():
        yield (
            f"import-{name}",
            Reader(
                lambda work, stored=stored: [json.dumps(stored).encode()],
                lambda path, name=name: rerank.import_model(path, format=name),
                _check_model,
                "model.json",
                mutate_json,
            ),
        )


def _exchange_readers() -> Iterator[tuple[str, Reader]]:
    for name in ("lightgbm", "xgboost", "xgboost-dump", "ranklib", "solr"):
        json_text = name in ("xgboost", "xgboost-dump", "solr")
        yield (
            f"import-{name}",
            Reader(
                lambda work, name=name: _exchange_seeds(name, work),
                lambda path, name=name: rerank.import_model(path, format=name),
                _check_model,
                "model.txt",
                mutate_json if json_text else mutate_text,
            ),
        )


READERS: dict[str, Reader] = {
    "qrels": Reader(_qrels_seeds, read_qrels, _check_qrels),
    "subtopics": Reader(_subtopics_seeds, read_subtopic_qrels, _check_subtopics),
    "run": Reader(_run_seeds, read_run, _check_run),
    "topics": Reader(_topics_seeds, read_topics, _check_topics, mutate=_mutate_topics),
    "svmlight": Reader(_svmlight_seeds, read_data, _check_svmlight, "input.svm"),
    "sizes": Reader(_sizes_seeds, _read_sizes, _check_data, "input.zip", lambda d, r: mutate_archive(d, r, 0.0)),
    "data": Reader(_data_seeds, read_data, _check_data, "input.npz", mutate_archive),
    "mapped": Reader(_data_seeds, lambda path: read_data(path, True), _check_data, "input.npz", mutate_archive),
    "preferences": Reader(_preferences_seeds, read_preferences, _check_preferences),
    "clicks": Reader(_clicks_seeds, read_clicks, _check_clicks, "log.jsonl"),
    "click-tables": Reader(_click_tables, read_clicks, _check_clicks, "log.csv"),
    "folds": Reader(_folds_seeds, read_folds, _check_folds),
    "corpus": Reader(
        _corpus_seeds, lambda path: list(read_documents(path)), _check_corpus, "input.jsonl", mutate_json_lines
    ),
    "texts": Reader(
        _texts_seeds,
        lambda path: read_texts(path, ("q1", "q2")),
        _check_texts,
        "input.jsonl",
        mutate_json_lines,
    ),
    "names": Reader(_names_seeds, read_names, _check_names),
    "documents": Reader(_sgml_seeds, lambda path: list(read_sgml(sgml_files(path).read)), _check_documents),
    "recipe": Reader(_recipe_seeds, Recipe.from_toml, _check_recipe, "input.toml"),
    "settings": Reader(_settings_seeds, _read_study, _check_study, "settings.json", mutate_json),
    "doctor": Reader(_doctor_seeds, _read_doctor, _check_doctor, mutate=_mutate_doctor),
    "history": Reader(_history_seeds, read_history, _check_history, "input.json", _mutate_stored),
    "vectors": Reader(_vectors_seeds, _read_vectors, _check_vectors, "input.vectors", mutate_archive),
    "index": Reader(_index_seeds, _read_index, _check_index, "input.npz", _mutate_index),
    **dict(_model_readers()),
    **dict(_exchange_readers()),
    **dict(_stored_readers()),
    "import-any": Reader(  # the format is detected
        lambda work: [_exchange_seeds(name, work)[0] for name in ("lightgbm", "xgboost-dump", "ranklib")],
        rerank.import_model,
        _check_model,
        "model.txt",
    ),
    "sgml": Reader(_sgml_seeds, _read_sgml, _check_built, java=True),
    "lucene": Reader(_lucene_seeds, _read_lucene, _nothing, "input.zip", _mutate_lucene, java=True),
}
if find_spec("pyarrow"):
    READERS["parquet"] = Reader(_parquet_seeds, read_data, _check_data, "input.parquet", mutate_bytes)
