"""What a user sees when all goes well."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import click
import numpy as np
import pytest

import rerank
from rerank.cli.main import VERBS, cli, run
from rerank.cli.options import ELSEWHERE
from rerank.evaluation.comparison import CORRECTIONS, DEFAULT_CORRECTION, DEFAULT_TEST, FORMATS, TESTS
from rerank.features.family import known_families
from rerank.features.recipe import Recipe
from rerank.rankers.parameters import declared_parameters
from rerank.rankers.registry import known_rankers, ranker_class
from rerank.types import counted
from tests.cli.conftest import SMALL, Command, tree


def test_help_is_shown_where_no_verb_is_given(command: Command) -> None:
    done = command("-h")
    assert done.code == 0
    assert command("") == done
    assert all(f"  {verb} " in done.out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_each_verb_says_what_it_takes(verb: str, command: Command) -> None:
    done = command(f"{verb} -h")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: rerank {verb} [OPTIONS]")
    shown = cli.get_command(None, verb)  # type: ignore[arg-type]
    assert all(option.help for option in shown.params if option.param_type_name == "option")
    assert "RANGE" not in done.out


def test_version_is_the_packages(command: Command) -> None:
    assert command("--version").out == f"rerank, version {rerank.__version__}\n"


def test_rankers_are_named_by_the_help(command: Command) -> None:
    assert f"Ranker: {', '.join(sorted(known_rankers()))}." in " ".join(command("train -h").out.split())


@pytest.mark.parametrize("ranker", known_rankers())
def test_parameters_of_a_ranker_are_listed_with_default_accepted_values_and_help(ranker: str, command: Command) -> None:
    done = command("train", "-h", ranker)
    assert (done.code, done.err) == (0, "")
    told = " ".join(done.out.split())
    for name, each in declared_parameters(ranker_class(ranker)).items():
        assert (f" {name} : {each.field.type_name}, default={each.default!r} {each.help}" in told) == (
            name not in ELSEWHERE
        )
        assert name in ELSEWHERE or not each.field.accepts() or f"Accepted: {each.field.accepts()}." in told


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_a_screen(verb: str, command: Command) -> None:
    assert command(f"{verb} -h").out.count("\n") <= 50
    declared = cli.get_command(click.Context(cli), verb)
    assert declared is not None
    assert sum(isinstance(each, click.Option) and each.name != "help" for each in declared.params) <= 18


def test_training_that_learns_nothing_says_so(command: Command, tmp_path: Path) -> None:
    done = command("train", "data.npz", "-o", str(tmp_path / "model.json"), "-p", "min_child_samples=1000000")
    assert done.code == 0
    assert "rerank: lambdamart: expected to learn from the data, got no split in" in done.err


def test_parameters_reach_the_model(command: Command, world: Path, tmp_path: Path) -> None:
    given = {"learning_rate": 0.3, "num_leaves": 3, "normalize": False, "random_state": 7, "n_estimators": 2}
    given |= {"split": "least-squares", "sigma": 2.0}
    texts = [word for name, value in given.items() for word in ("-p", f"{name}={value}")]
    done = command("train", "data.npz", "-o", str(tmp_path / "m.json"), "--metric", "nDCG@5", *texts)
    assert done.code == 0
    model = rerank.read_model(tmp_path / "m.json")
    assert {name: model.get_params()[name] for name in given} == given
    assert model.metric == "nDCG@5"


@pytest.mark.parametrize("ranker", known_rankers())
def test_every_ranker_trains_and_ranks(command: Command, tmp_path: Path, ranker: str) -> None:
    small = {"n_estimators": 3, "min_child_samples": 5, "num_leaves": 4, "n_epochs": 2}
    small["members"] = "2*lambdamart(n_estimators=3, num_leaves=4), ranksvm(max_iter=20)"
    known = declared_parameters(ranker_class(ranker)).keys() - ELSEWHERE.keys()
    options = [word for name in small if name in known for word in ("-p", f"{name}={small[name]}")]
    model = str(tmp_path / "model.json")
    assert command("train", "data.npz", "-o", model, "--ranker", ranker, "--base", "run:bm25.run", *options).code == 0
    assert command("rank", model, "data.npz", "-o", str(tmp_path / "out.run")).code == 0
    assert (tmp_path / "out.run").read_text().split()[-1] == ranker


@pytest.mark.parametrize("metric", ["AP", "ERR@20", "RR@10", "AUC"])
def test_train_improves_the_metric_that_it_is_asked_for(metric: str, command: Command, tmp_path: Path) -> None:
    model, run = tmp_path / "m.json", tmp_path / "better.run"
    assert command("train", "data.npz", "-o", str(model), "--metric", metric, *SMALL).code == 0
    assert command("rank", str(model), "data.npz", "-o", str(run)).code == 0
    figures = command("evaluate", "qrels.txt", "bm25.run", str(run), "-m", metric, "--format", "json")
    before, after = (result["mean"][metric] for result in json.loads(figures.out)["runs"].values())
    assert after > before


def test_index_says_what_it_holds_on_stderr(command: Command, tmp_path: Path) -> None:
    done = command(f"index corpus.jsonl -o {tmp_path}/index --fields title")
    assert done == (0, "", f"rerank: {tmp_path}/index: 120 documents; fields: contents, title\n")
    assert command(f"-q index corpus.jsonl -o {tmp_path}/index --overwrite") == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_retrieve_to_stdout_is_the_run_and_nothing_else(command: Command, world: Path, tmp_path: Path) -> None:
    done = command("retrieve index topics.tsv -o - -k 30")
    assert (done.code, done.err) == (0, "")
    assert done.out == (world / "bm25.run").read_text()
    (tmp_path / "bm25.run").write_text(done.out)
    run = rerank.read_run(tmp_path / "bm25.run")
    assert list(run) == list(rerank.read_topics(world / "topics.tsv"))


def test_topics_without_hits_are_told_of(command: Command, world: Path, tmp_path: Path) -> None:
    text = (world / "topics.tsv").read_text() + "".join(f"none{number}\tzzyzx\n" for number in range(5))
    (tmp_path / "topics.tsv").write_text(text)
    done = command(f"retrieve index {tmp_path / 'topics.tsv'} -o {tmp_path / 'run'}")
    assert done.code == 0
    message = f"which a run file cannot contain: 5 of {text.count(chr(10))} (none0, none1, none2, ...).\n"
    assert f"rerank: Topics without hits, {message}" in done.err


def test_text_and_binary_data_train_the_same_model(command: Command, tmp_path: Path) -> None:
    for name in ("data.npz", "data.svm.gz"):
        assert command("train", name, "-o", f"{tmp_path}/{name}.json", *SMALL).code == 0
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("data.npz", "data.svm.gz"))
    assert one["learned"] == other["learned"]


def test_train_says_what_came_of_it(command: Command, tmp_path: Path) -> None:
    done = command("train", "data.npz", "-o", f"{tmp_path}/m.json", "--validate", "data.npz", *SMALL)
    assert (done.code, done.out) == (0, "")
    size = "[0-9]+ trees?, [0-9]+ leaves"
    assert re.search(rf"^rerank: {tmp_path}/m\.json: {size}, nDCG@10 0\.", done.err.splitlines()[-1])
    assert command("-q", "train", "data.npz", "-o", f"{tmp_path}/m.json", *SMALL) == (0, "", "")


def test_rank_and_rerank_give_the_same_run(command: Command) -> None:
    ranked = command("rank model.json data.npz -o -")
    assert ranked.code == 0
    assert command("rerank index model.json topics.tsv -o - -k 30") == ranked
    assert command("rerank index model.json topics.tsv -o - -k 30 --run bm25.run") == ranked


@pytest.mark.parametrize("base", ["feature:bm25.contents", "run:bm25.run", "model:model.json", "run:dense.run"])
def test_a_warm_start_is_applied_when_the_model_is(base: str, command: Command, world: Path, tmp_path: Path) -> None:
    run = rerank.read_run(world / "bm25.run")
    rerank.write_run(rerank.Run.of({q: {d: -s for d, s in run[q].items()} for q in run}), world / "dense.run")
    if base.startswith("feature:"):
        names = rerank.read_data(world / "data.npz").feature_names
        base = f"feature:{next(name for name in names if 'bm25' in name)}"
    trained = command("train", "data.npz", "-o", f"{tmp_path}/m.json", "--base", base, *SMALL)
    assert trained.code == 0, trained.err
    more = ["--base", base] if base == "run:dense.run" else []
    ranked = command("rank", f"{tmp_path}/m.json", "data.npz", "-o", "-", *more)
    assert ranked.code == 0, ranked.err
    assert ranked.out != command("rank model.json data.npz -o -").out
    if more:
        bare = command("rank", f"{tmp_path}/m.json", "data.npz", "-o", "-")
        assert bare.code == 2
        assert f"{tmp_path}/m.json: expected the scores of run" in bare.err


def test_evaluate_prints_figures_on_stdout_and_notes_on_stderr(command: Command, tmp_path: Path) -> None:
    done = command("evaluate qrels.txt bm25.run")
    assert (done.code, done.err) == (0, "")
    assert done.out.split()[:6] == ["run", "nDCG@10", "AP", "RR", "P@10", "R@1000"]
    (tmp_path / "one.run").write_text("q1 Q0 d1 1 1.0 x\n")
    partial = command(f"evaluate qrels.txt {tmp_path}/one.run -m AP")
    assert "9 of 10 judged queries are not in the run and do not count; with -c they count as 0" in partial.err
    assert command(f"-q evaluate qrels.txt {tmp_path}/one.run -m AP") == (0, partial.out, "")
    assert command(f"evaluate qrels.txt {tmp_path}/one.run -m AP -c").err == ""


def test_evaluate_writes_other_forms_and_files(command: Command, tmp_path: Path) -> None:
    command("rank model.json data.npz -o reranked.run")
    table = command("evaluate qrels.txt bm25.run reranked.run -m nDCG@10 -m AP")
    assert "paired t-test" in table.out
    figures = json.loads(command("evaluate qrels.txt bm25.run --format json --per-query -m AP").out)
    assert len(figures["runs"]["bm25.run"]["per_query"]["AP"]) == 10
    done = command(f"evaluate qrels.txt bm25.run --format tsv -m AP -o {tmp_path}/figures.tsv")
    assert done == (0, "", "")
    assert (tmp_path / "figures.tsv").read_text().startswith("bm25.run\tAP\t")


@pytest.fixture(scope="module")
def reranked(world: Path) -> str:
    """A second run, in the world's folder."""
    run = rerank.read_run(world / "bm25.run")
    turned = {q: {doc: -score for doc, score in run[q].items()} for q in run}
    rerank.write_run(rerank.Run.of(turned), world / "turned.run")
    return "turned.run"


def test_evaluate_compares_with_the_baseline_that_is_named(command: Command, reranked: str) -> None:
    first = command(f"evaluate qrels.txt bm25.run {reranked} -m nDCG@10 --test wilcoxon --correction bh")
    assert "p: two-sided Wilcoxon signed-rank test" in first.out
    assert "Benjamini-Hochberg over 1 run x 1 measure" in first.out
    other = command(f"evaluate qrels.txt bm25.run {reranked} -m nDCG@10 --baseline {reranked} --format json")
    figures = json.loads(other.out)
    assert figures["baseline"] == reranked
    assert list(figures["runs"]) == ["bm25.run", reranked]
    alone = command(f"evaluate qrels.txt bm25.run -m nDCG@10 --baseline {reranked} --format json")
    assert json.loads(alone.out)["runs"]["bm25.run"] == figures["runs"]["bm25.run"]


def test_evaluate_writes_a_page_with_the_queries_that_changed(command: Command, reranked: str, tmp_path: Path) -> None:
    arguments = f"qrels.txt bm25.run {reranked} -m nDCG@10 -m AP"
    done = command(f"evaluate {arguments} --topics topics.tsv --corpus corpus.jsonl -o {tmp_path}/page.html")
    assert done == (0, "", "")
    page = (tmp_path / "page.html").read_text("utf8")
    assert "<h1>Runs on qrels.txt</h1>" in page
    figures = json.loads(command(f"evaluate {arguments} --format json").out)
    for each in figures["runs"].values():
        assert all(f"{value:.4f}" in page for value in each["mean"].values())


def test_choices_of_a_comparison_are_those_there_are() -> None:
    options = {option.name: option for option in cli.get_command(None, "evaluate").params}  # type: ignore[union-attr,arg-type]
    assert tuple(options["test"].type.choices) == tuple(TESTS)
    assert tuple(options["correction"].type.choices) == tuple(CORRECTIONS)
    assert options["test"].default == DEFAULT_TEST
    assert options["correction"].default == DEFAULT_CORRECTION
    assert options["form"].type.choices == FORMATS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("bm25.run --topics topics.tsv", "--topics: expected a page with it, got -. Write -o FILE.html"),
        ("bm25.run --corpus corpus.jsonl -o x.json", "--corpus: expected a page with it, got x.json"),
        ("bm25.run -o nowhere/page.html", "nowhere: expected a folder to write into"),
        ("bm25.run nowhere.run", "nowhere.run: expected a run file"),
    ],
)
def test_comparisons_that_cannot_be_are_refused(arguments: str, message: str, command: Command, reranked: str) -> None:
    done = command(f"evaluate qrels.txt {arguments}")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_experiment_prints_its_table_and_fills_its_folder(command: Command, tmp_path: Path) -> None:
    done = command("experiment", "index", "topics.tsv", "qrels.txt", "-o", f"{tmp_path}/study", "--folds", "3", *SMALL)
    assert done.code == 0
    assert done.out == (tmp_path / "study" / "table.txt").read_text()
    figures = json.loads((tmp_path / "study" / "results.json").read_text())
    assert figures["study"]["parameters"] == {"n_estimators": 3, "min_child_samples": 5, "num_leaves": 4}


def test_outputs_may_be_read_by_whom_the_user_lets(command: Command, world: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    command("retrieve", "index", "topics.tsv", "-o", f"{tmp_path}/run")
    plain, written = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "run"))
    assert written == plain
    assert set(tree(tmp_path)) == {"plain", "run"}


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_no_option_of_a_verb_is_there_twice(verb: str) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    options = [option for parameter in command.params for option in parameter.opts]
    assert sorted(options) == sorted(set(options))


def test_features_list_prints_every_feature_of_every_family(command: Command) -> None:
    done = command("features --list")
    assert (done.code, done.err) == (0, "")
    for name, family in known_families().items():
        features = family.features(Recipe())
        start = f"{counted(len(features), 'feature')} of " if features else "A feature for each "
        assert f"\n{name} ({start}" in f"\n{done.out}"
        for feature in features:
            assert f"  {feature.name}\n    {feature.meaning}\n    formula  {feature.formula}\n" in done.out


def test_features_take_other_runs_and_rerank_asks_for_them(command: Command, world: Path, tmp_path: Path) -> None:
    data, model, out = (str(tmp_path / name) for name in ("d.npz", "m.json", "out.run"))
    done = command(
        "features", "index", "topics.tsv", "bm25.run", "-o", data, "--qrels", "qrels.txt", "--run", "a=bm25.run"
    )
    assert done.code == 0
    result = rerank.read_data(data)
    np.testing.assert_array_equal(result.column("run.a.rank"), result.column("run.rank"))
    assert command("train", data, "-o", model, *SMALL).code == 0
    refused = command("rerank", "index", model, "topics.tsv", "-o", out, "--run", "bm25.run")
    assert refused.code == 2
    assert "got none called 'a'. Give it, e.g. --run a=FILE" in refused.err
    done = command("rerank", "index", model, "topics.tsv", "-o", out, "--run", "bm25.run", "--run", "a=bm25.run")
    assert done.code == 0
    assert list(rerank.read_run(out)) == list(rerank.read_run("bm25.run"))


@pytest.mark.parametrize(
    ("words", "expected", "absent"),
    [
        ("rerank ev", ["plain,evaluate"], "plain,train"),
        ("rerank evaluate --jud", ["plain,--judged-only"], "plain,--depth"),
        ("rerank evaluate qrels --correction ho", ["plain,holm"], "plain,none"),
        ("rerank nothing ev", ["plain,evaluate"], "plain,train"),  # an unknown verb raises nothing
    ],
)
def test_a_shell_completes_verbs_options_and_choices(
    words: str, expected: list[str], absent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("_RERANK_COMPLETE", "bash_complete"), ("COMP_WORDS", words)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert run([]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == expected
    assert absent not in printed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_the_script_of_completion(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_RERANK_COMPLETE", f"{shell}_source")
    assert run([]) == 0
    assert f"_RERANK_COMPLETE={shell}_complete" in capsys.readouterr().out
