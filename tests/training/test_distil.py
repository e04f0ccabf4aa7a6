"""Students of a teacher's run, without judgements."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pytest

import rerank
from rerank.cli.main import cli
from rerank.errors import InvalidInputError
from rerank.metrics.registry import parse_measure
from rerank.training.cross_validation import query_values
from rerank.training.teacher import with_gains
from tests.tiny import Tiny, more_queries


def student() -> rerank.LambdaMART:
    return rerank.LambdaMART(n_estimators=10, min_child_samples=5, num_leaves=4)


@pytest.fixture(scope="module")
def topics(collection: Tiny) -> dict[str, str]:
    return more_queries(collection)[0]


@pytest.fixture(scope="module")
def teacher(index: rerank.Index, collection: Tiny, topics: dict[str, str]) -> rerank.Run:
    """The run of a larger model, trained on judgements."""
    run = index.search(topics, 60)
    data = index.features(run, topics, more_queries(collection)[1])
    model = rerank.LambdaMART(n_estimators=40, min_child_samples=5, base="run").fit(data)
    return model.rank(data)


def test_student_is_nearer_to_its_teacher_than_the_candidates_are(
    index: rerank.Index, teacher: rerank.Run, topics: dict[str, str]
) -> None:
    model, estimate = rerank.train(index, topics, teacher, student(), candidates="bm25", k=60)
    assert estimate is not None
    assert estimate.model > estimate.candidates + 0.05
    assert "against the teacher by cross-validation in 5 folds of 20 queries: candidates" in str(estimate)
    data = with_gains(index.features(index.search(topics, 60), topics), teacher)
    values = query_values(data, model.predict(data), parse_measure("nDCG@10"))
    assert values.mean() > estimate.candidates
    assert model.calibration_ is None
    assert len(rerank.rerank(index, model, topics)) == len(topics)


def test_unsupervised_run_can_teach_a_small_model(index: rerank.Index, topics: dict[str, str]) -> None:
    run = rerank.rerank(index, "unsupervised", topics)
    _, estimate = rerank.train(index, topics, run, student(), candidates="bm25", k=60)
    assert estimate is not None
    assert estimate.model > estimate.candidates


def test_gains_follow_the_scores_of_the_teacher_within_a_query(index: rerank.Index, topics: dict[str, str]) -> None:
    some = dict(list(topics.items())[:3])
    data = index.features(index.search(some, 10), some)
    first, second, third = data
    docs = {name: data.doc_ids[data.rows(name)].tolist() for name in data}
    scores = {first: {docs[first][0]: -8.0, docs[first][1]: -4.0, docs[first][2]: 0.0, "other": 9.0}}
    scores[second] = dict.fromkeys(docs[second], 1.0)
    taught = with_gains(data, rerank.Run.of(scores))
    assert list(taught) == [first]  # the second has one score, the third none
    gains = dict(zip(taught.doc_ids.tolist(), taught.labels.tolist(), strict=True))
    assert gains == {docs[first][0]: 0.0, docs[first][1]: 3.0, docs[first][2]: 15.0}
    assert third not in taught


def test_teacher_of_too_few_topics_is_refused(index: rerank.Index, topics: dict[str, str], teacher: rerank.Run) -> None:
    few = {query_id: teacher[query_id] for query_id in list(topics)[:9]}
    for run, number in ((rerank.Run.of(few), 9), (rerank.Run.of({"other": {"d1": 1.0}}), 0)):
        with pytest.raises(InvalidInputError, match=f"teacher: expected at least 10 topics .*, got {number}") as error:
            rerank.train(index, topics, run, student())
        assert "Let it rank the candidates of more topics" in str(error.value)


def test_union_may_be_a_teacher_and_is_refused_alike_where_topics_are_too_few(
    index: rerank.Index, topics: dict[str, str]
) -> None:
    few = dict(list(topics.items())[:9])
    with pytest.raises(InvalidInputError, match=r"teacher: expected at least 10 topics .*, got 9"):
        rerank.train(index, few, index.search(few, candidates="bm25:20,rm3:20"))


def test_command_learns_from_a_teacher_without_judgements(
    index: rerank.Index, teacher: rerank.Run, topics: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "topics.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in topics.items()))
    rerank.write_run(teacher, tmp_path / "teacher.run")
    files = [str(index.path), str(tmp_path / "topics.tsv"), "-o", str(tmp_path / "student.json")]
    options = ["--teacher", str(tmp_path / "teacher.run"), "-p", "n_estimators=10", "-p", "min_child_samples=5"]
    cli.main(["train", *files, *options, "--candidates", "bm25:60"], standalone_mode=False)
    assert "nDCG@10 against the teacher" in capsys.readouterr().out
    run = rerank.rerank(index, tmp_path / "student.json", topics)
    assert np.diff(run.query_ptr).max() <= 60
    with pytest.raises(click.UsageError, match="expected INDEX TOPICS QRELS as arguments, got an index and topics"):
        cli.main(["train", *files], standalone_mode=False)
    with pytest.raises(click.UsageError, match="--teacher: expected INDEX TOPICS as arguments, got 3 names"):
        cli.main(["train", str(index.path), *files, *options], standalone_mode=False)
    with pytest.raises(click.UsageError, match="--tune: expected"):
        cli.main(["train", *files, *options, "--tune", "2"], standalone_mode=False)
