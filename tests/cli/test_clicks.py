"""`rerank clicks`, and clicks in `rerank evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rerank
from benchmarks.users import simulate_clicks, simulate_interleaving
from tests.cli.conftest import SMALL, Command


def test_labels_of_a_simulated_log_train_a_model(command: Command, tmp_path: Path) -> None:
    log, labels = tmp_path / "log.csv.gz", tmp_path / "labels.txt"
    rerank.write_clicks(simulate_clicks("bm25.run", "qrels.txt", spread=1.0, seed=3), log)
    done = command(f"clicks {log} -o {labels} --pairs {tmp_path}/pairs.tsv")
    assert (done.code, done.out) == (0, ""), done.err
    assert "positive label" in done.err.splitlines()[-1]
    estimates = rerank.estimate_clicks(rerank.read_clicks(log))
    qrels = rerank.read_qrels(labels)
    assert {query: qrels[query] for query in qrels} == {query: estimates.to_qrels()[query] for query in qrels}
    pairs, _ = rerank.preference_pairs(rerank.read_clicks(log))
    assert len(rerank.read_preferences(tmp_path / "pairs.tsv")) == len(pairs)
    arguments = f"index topics.tsv {labels} -o {tmp_path}/m.json --candidates bm25:5,rm3:5 --no-estimate"
    assert command("train", *arguments.split(), *SMALL).code == 0


def test_rows_that_were_shown_are_labelled_to_train_on(command: Command, tmp_path: Path) -> None:
    labelled = tmp_path / "labelled.npz"
    line = f"clicks clicks.jsonl -o {tmp_path}/labels.txt --data data.npz"
    assert command(f"{line} --labelled {labelled}").code == 0
    data, shown = rerank.read_data(labelled), rerank.read_qrels(tmp_path / "labels.txt")
    assert all(doc in shown[query] for query in data for doc in data.doc_ids[data.rows(query)].tolist())
    assert command("train", str(labelled), "-o", f"{tmp_path}/m.json", *SMALL).code == 0
    refused = command(f"clicks clicks.jsonl -o {tmp_path}/labels.txt --labelled {labelled}")
    assert refused.code == 2
    assert "--labelled: expected --data, too, got none" in refused.err


def test_queries_that_are_texts_get_ids(command: Command, tmp_path: Path) -> None:
    texts = rerank.read_topics("topics.tsv")
    rows = [json.loads(line) for line in Path("clicks.jsonl").read_text().splitlines()]
    log, labels, topics = (tmp_path / name for name in ("log.jsonl", "labels.txt", "topics.tsv"))
    log.write_text("".join(json.dumps(row | {"query": texts[row["query"]].upper()}) + "\n" for row in rows))
    refused = command(f"clicks {log} -o {labels}")
    assert refused.code == 2
    assert "labels: expected queries with ids, got the text" in refused.err
    assert command(f"clicks {log} -o {labels} --new-topics {topics}").code == 0
    assert {text.lower() for text in rerank.read_topics(topics).values()} <= {text.lower() for text in texts.values()}
    assert next(iter(rerank.read_qrels(labels))) == "q1"
    assert command(f"clicks {log} -o {labels} --topics topics.tsv").code == 0
    assert set(rerank.read_qrels(labels)) <= set(texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("clicks.jsonl --model pbmm", "click model: expected a known name, got 'pbmm'. Did you mean 'pbm'?"),
        ("clicks.jsonl --topics topics.tsv --new-topics x", "--new-topics: expected it without --topics"),
        ("bm25.run", "bm25.run:1: expected a JSON object"),
        (
            "clicks.jsonl --pairs x --labelled x",
            "--labelled: expected another file than that of --pairs, got x for both",
        ),
        ("none.csv", "none.csv: expected a click log, got nothing there"),
        ("index", "index: expected a click log, got a folder. Name a file in it."),
    ],
)
def test_what_cannot_be_is_refused(arguments: str, message: str, command: Command, tmp_path: Path) -> None:
    done = command(f"clicks {arguments} -o {tmp_path}/labels.txt")
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_documents_of_another_index_are_dropped_and_counted(command: Command, tmp_path: Path) -> None:
    assert command(f"clicks clicks.jsonl -o {tmp_path}/a.txt --index index").err.count("dropped") == 0
    done = command(f"clicks clicks.jsonl -o {tmp_path}/b.txt --index other/index")
    assert done.code == 0
    known = set(rerank.Index.open("other/index").forward.doc_ids.tolist())
    n_unknown = sum(json.loads(line)["document"] not in known for line in Path("clicks.jsonl").read_text().splitlines())
    assert f"{n_unknown:,} impressions of unknown documents: dropped." in done.err


def test_runs_that_clicks_on_documents_never_shown_may_turn_are_named(command: Command) -> None:
    run = rerank.read_run("bm25.run")
    first = {query: list(run[query].items())[:10] for query in run}
    near = {query: {doc: score for doc, score in first[query][:8]} | {"new": -1.0} for query in run}
    rerank.write_run(rerank.Run.of({query: dict(first[query][:8]) for query in run}), "short.run")
    rerank.write_run(rerank.Run.of(near), "near.run")
    lines = command("evaluate --clicks clicks.jsonl short.run bm25.run near.run").out.splitlines()
    assert lines[5:] == [
        "Cannot be compared, since clicks on documents never shown may decide: short.run and near.run."
    ]  # no click at rank 9 brings near.run to the value of bm25.run


def test_values_of_runs_are_printed_or_refused(command: Command) -> None:
    run = rerank.read_run("bm25.run")
    strange = {query: {f"new{number}": -float(number) for number in range(10)} for query in run}
    rerank.write_run(rerank.Run.of(strange), "strange.run")
    done = command("evaluate --clicks clicks.jsonl bm25.run strange.run")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    value = rerank.off_policy_value(rerank.read_clicks("clicks.jsonl"), run)
    assert lines[2].split()[:2] == ["bm25.run", f"{value.value:.4f}"]
    assert lines[3].split()[:2] == ["strange.run", "refused"]
    assert lines[0].split()[:4] == ["run", "value", "never", "shown"]
    assert lines[2].split()[2] == f"{value.unseen:.1%}"
    assert lines[4:] == ["strange.run: expected at most 50% of the first documents never shown, got 100%."]
    line = "evaluate --clicks clicks.jsonl bm25.run strange.run --format json"
    figures = json.loads(command(f"{line} -M 5").out)
    expected = rerank.off_policy_value(rerank.read_clicks("clicks.jsonl"), run, rerank.ValueRules(5))
    assert [figures["bm25.run"][name] for name in ("value", "low")] == [expected.value, expected.low]
    assert figures["strange.run"]["value"] is None
    for form, rule in (("latex", r"\toprule"), ("markdown", "|---")):
        assert rule in command(f"evaluate --clicks clicks.jsonl bm25.run --format {form}").out
    for arguments, message in (
        ("--clicks clicks.jsonl bm25.run -m AP", "-m: expected it without --clicks"),
        ("--clicks clicks.jsonl bm25.run --test wilcoxon", "--test: expected it without --clicks"),
        ("--clicks clicks.jsonl bm25.run -o x.html", "x.html: expected a file of text with --clicks, got a page or"),
        ("--clicks clicks.jsonl -o x.PNG", "x.PNG: expected a file of text with --clicks, got a page or a picture."),
        ("qrels.txt", "expected QRELS and at least one RUN, got fewer"),
    ):
        refused = command(f"evaluate {arguments}")
        assert refused.code == 2
        assert message in refused.err


def test_interleaving_is_printed(command: Command, tmp_path: Path) -> None:
    run = rerank.read_run("bm25.run")
    turned = rerank.Run.of({query: {doc: -score for doc, score in run[query].items()} for query in run})
    clicks = simulate_interleaving(run, turned, "qrels.txt", sessions=300)
    rerank.write_clicks(clicks, tmp_path / "log.csv")
    done = command(f"evaluate --clicks {tmp_path}/log.csv")
    assert done.code == 0
    result = rerank.experiment_result(clicks)
    assert done.out.splitlines()[2].split()[:3] == ["A", "B", f"{result.wins}/{result.ties}/{result.losses}"]
    assert json.loads(command(f"evaluate --clicks {tmp_path}/log.csv --format json").out)["p_value"] == result.p_value
    tested = rerank.Clicks.from_rows(["q"] * 4, list("abab"), [1, 2, 1, 2], [1, 0, 0, 1], list("ssrr"), list("AABB"))
    rerank.write_clicks(tested, tmp_path / "assigned.csv")
    lines = command(f"evaluate --clicks {tmp_path}/assigned.csv").out.splitlines()
    assert "1 / rank of first click" in lines[0]
    assert lines[2].split()[:5] == ["A", "B", "1/1", "1.0000/0.5000", "+0.5000"]
    refused = command("evaluate --clicks clicks.jsonl")
    assert refused.code == 2
    assert "interleaving: expected a log with two rankers, got 1 (" in refused.err
