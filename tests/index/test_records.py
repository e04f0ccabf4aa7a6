"""Records are taken as they are, as mappings, or as the path of their file, wherever a public function takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.experiments.study import Study
from tests.tiny import Tiny

TYPES = {"topics": "TopicsLike", "qrels": "QrelsLike", "run": "RunLike", "run_a": "RunLike", "run_b": "RunLike"}
TYPES |= {"runs": "RunLike"}
# They make records, write them, or are given what another public function has made of its arguments.
OTHERS = {"Topics.of", "Qrels.of", "Run.of", "Run.joined", "write_run", "write_qrels", "Recipe", "History.of_terms"}
OTHERS |= {"Index.retrieve", "Index.some_features"}


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in rerank.__all__:
        value = getattr(rerank, name)
        function = value.__init__ if inspect.isclass(value) else value
        if inspect.isfunction(function):
            yield name, function
        if inspect.isclass(value):
            yield from (
                (f"{name}.{member}", function)
                for member, function in inspect.getmembers(
                    value, lambda each: inspect.isfunction(each) or inspect.ismethod(each)
                )
                if not member.startswith("_")
            )


def test_every_public_function_takes_paths_of_records() -> None:
    taken = {
        (name, parameter): str(inspect.signature(function).parameters[parameter].annotation)
        for name, function in public()
        if name not in OTHERS
        for parameter in TYPES
        if parameter in inspect.signature(function).parameters
    }
    assert len(taken) > 20
    wider = {"QrelsLike": "JudgementsLike"}  # and those of subtopics
    assert {
        place: kind
        for place, kind in taken.items()
        if TYPES[place[1]] not in kind and wider.get(TYPES[place[1]], "none") not in kind
    } == {}


@pytest.fixture(scope="module")
def files(index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Paths of the topics, the qrels, a run, another run and a model."""
    folder = tmp_path_factory.mktemp("records")
    collection.write(folder)
    rerank.write_run(index.search(collection.topics, 30), folder / "bm25.run")
    rerank.write_run(index.search(collection.topics, 30, field="title"), folder / "title.run")
    model = rerank.RankSVM(max_iter=5)
    rerank.train(index, folder / "topics.tsv", folder / "qrels.txt", model, k=30, estimate=False)
    model.save(folder / "model.json")
    return {path.stem: path for path in folder.iterdir()}


CALLS: dict[str, Callable[..., Any]] = {
    "search": lambda index, topics, qrels, run, other: dict(index.search(topics, 5)),
    "features": lambda index, topics, qrels, run, other: index.features(run, topics, qrels).to_frame(),
    "using": lambda index, topics, qrels, run, other: (
        index.using(runs={"other": other}).features(run, topics).to_frame()
    ),
    "history": lambda index, topics, qrels, run, other: rerank.History.learn(index, topics, qrels).checksum,
    "evaluate": lambda index, topics, qrels, run, other: rerank.evaluate(qrels, run, ["AP"])["AP"],
    "compare": lambda index, topics, qrels, run, other: str(rerank.compare(qrels, {"a": run, "b": other}, ["AP"])),
    "fuse": lambda index, topics, qrels, run, other: dict(rerank.fuse([run, other], "best", qrels=qrels)),
    "combine": lambda index, topics, qrels, run, other: rerank.combine(run, other, qrels).alpha,
    "run_experiment": lambda index, topics, qrels, run, other: rerank.run_experiment(
        index, topics, qrels, study=Study(ranker="ranksvm", parameters={"max_iter": 2}, folds=3)
    ).comparison.to_frame(),
}


@pytest.mark.parametrize("name", CALLS)
def test_paths_give_what_records_give(name: str, index: rerank.Index, files: dict[str, Path]) -> None:
    paths = [files[each] for each in ("topics", "qrels", "bm25", "title")]
    readers = (rerank.read_topics, rerank.read_qrels, rerank.read_run, rerank.read_run)
    records = [read(path) for read, path in zip(readers, paths, strict=True)]
    with_paths, with_records = CALLS[name](index, *paths), CALLS[name](index, *records)
    same = with_paths.equals(with_records) if hasattr(with_paths, "equals") else with_paths == with_records
    assert same


def test_rerank_and_explain_take_paths(index: rerank.Index, files: dict[str, Path]) -> None:
    topics, run, model = rerank.read_topics(files["topics"]), rerank.read_run(files["bm25"]), files["model"]
    with_paths = rerank.rerank(index, model, files["topics"], files["bm25"])
    assert dict(with_paths) == dict(rerank.rerank(index, model, topics, run))
    documents = list(run["q0"])[:2]
    explained = [rerank.explain(index, model, *given, "q0", documents) for given in ([files["topics"]], [topics])]
    assert str(explained[0]) == str(explained[1])


@pytest.mark.parametrize("kind", ["run", "model"])
def test_base_is_named_as_on_the_command_line(kind: str, index: rerank.Index, files: dict[str, Path]) -> None:
    path = {"run": files["title"], "model": files["model"]}[kind]
    data = index.features(files["bm25"], files["topics"], files["qrels"])
    read = rerank.read_run if kind == "run" else rerank.read_model
    named = rerank.LambdaMART(n_estimators=3, min_child_samples=3, base=f"{kind}:{path}").fit(data, eval_set=data)
    given = rerank.LambdaMART(n_estimators=3, min_child_samples=3, base=read(path)).fit(data, eval_set=data)
    assert named.to_dict() == given.to_dict()
    assert named.evals_result_ == given.evals_result_
    start = files["title"] if kind == "run" else None
    with_path = named.rank(data, base=start)
    assert dict(with_path) == dict(given.rank(data, base=None if start is None else rerank.read_run(start)))


@pytest.mark.parametrize("kind", ["run", "model"])
def test_base_without_its_file_is_refused(kind: str, index: rerank.Index, files: dict[str, Path]) -> None:
    data = index.features(files["bm25"], files["topics"], files["qrels"])
    with pytest.raises(rerank.errors.MissingFileError, match=r"nowhere: expected a .* file"):
        rerank.LambdaMART(base=f"{kind}:nowhere").fit(data)


def test_queries_that_are_written_in_two_ways_are_named(
    index: rerank.Index, collection: Tiny, caplog: pytest.LogCaptureFixture
) -> None:
    topics = {f"{number}": text for number, text in enumerate(collection.topics.values(), 1)}
    run = index.search(topics, k=5)
    padded = rerank.Run.of({f"{query_id:0>2}": run[query_id] for query_id in run})
    qrels = {f"{number:0>2}": labels for number, labels in enumerate(collection.qrels.values(), 1)}
    rerank.History.learn(index, topics, qrels)
    index.using(runs={"other": padded}).features(run, topics)
    with pytest.raises(rerank.errors.InvalidInputError, match="expected at least 10 topics with different scores"):
        rerank.train(index, topics, padded, candidates="bm25", k=5)
    assert [message.partition(" differ")[0] for message in caplog.messages if "differ in zeros" in message] == [
        "topics: '1' and '01'",
        "run rerank: '1' and '01'",
        "topics: '1' and '01'",
    ]


def test_features_say_how_many_queries_and_documents_are_judged(
    index: rerank.Index, collection: Tiny, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = index.search(collection.topics, k=5)
    qrels = {query_id: collection.qrels[query_id] for query_id in list(collection.topics)[2:]}
    judged = sum(doc in qrels.get(query_id, {}) for query_id in run for doc in run[query_id])
    with caplog.at_level("INFO", "rerank"):
        index.write_features(tmp_path / "data.npz", run, collection.topics, qrels)
    assert "qrels: 2 of 10 queries have no judgements, e.g. q0: all their documents get label 0. Leave" in caplog.text
    assert f"labels: 10 queries, {run.n_rows} documents, of which {judged} are judged" in caplog.text
