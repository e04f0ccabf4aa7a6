from __future__ import annotations

import re
from pathlib import Path

import pytest

import rerank
from rerank.cli.fuse import command as fuse_command
from rerank.retrieval import fusion
from tests.cli.conftest import Command


def test_fuse_writes_the_run_that_python_makes(command: Command, world: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.run"
    assert (
        command("retrieve", "index", "topics.tsv", "-o", str(other), "--candidates", "bm25-k1=0.9-b=0", "-k", "20").code
        == 0
    )
    files = ["bm25.run", str(other)]
    runs = [rerank.read_run(world / "bm25.run"), rerank.read_run(other)]
    for arguments, expected in (
        ([], rerank.fuse(runs)),
        (
            ["--method", "weighted", "--weights", "0.7,0.3", "--norm", "zscore", "--missing", "lowest"],
            rerank.fuse(runs, "weighted", weights=[0.7, 0.3], norm="zscore", missing="lowest"),
        ),
    ):
        done = command("fuse", *files, *arguments, "-o", str(tmp_path / "out"))
        assert done == (0, "", "")
        rerank.write_run(expected, tmp_path / "expected")
        assert (tmp_path / "out").read_bytes() == (tmp_path / "expected").read_bytes()


def test_best_chosen_on_dev_is_fused_alike_on_test_by_the_options_that_it_says(
    command: Command, world: Path, tmp_path: Path
) -> None:
    other, best = tmp_path / "other.run", tmp_path / "best.run"
    assert (
        command("retrieve", "index", "topics.tsv", "-o", str(other), "--candidates", "bm25-k1=0.9-b=0", "-k", "20").code
        == 0
    )
    files = ["bm25.run", str(other)]
    chosen = command("fuse", *files, "--method", "best", "--qrels", "qrels.txt", "-m", "AP", "-o", str(best))
    assert chosen.code == 0
    assert "where scores are equal as float32); fuse other queries with --method weighted --weights" in chosen.err
    options = chosen.err.split(" with ")[-1].split()
    assert command("fuse", *files, *options, "-o", str(tmp_path / "out")).code == 0
    assert (tmp_path / "out").read_text() == best.read_text().replace(" best\n", " weighted\n")


def test_options_name_every_method_norm_and_way_with_missing_documents() -> None:
    options = {option.name: option for option in fuse_command.params}
    assert set(fusion._METHODS) <= set(re.findall(r"\w+", options["method"].help))
    assert set(fusion._NORMS) <= set(re.findall(r"\w+", options["norm"].help))
    assert tuple(options["missing"].type.choices) == fusion.MISSING


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "fuse bm25.run bm25.run --method best -o out",
            "qrels: expected them for the method best and no other, got none. Pass judgements.",
        ),
        (
            "fuse bm25.run bm25.run --method best --qrels none.txt -o out",
            "none.txt: expected a qrels file, got nothing there. Check the path.",
        ),
        ("fuse bm25.run -o out", "runs: expected at least two to fuse, got 1. Name more runs."),
        ("fuse bm25.run none.run -o out", "none.run: expected a run file, got nothing there. Check the path."),
        (
            "fuse bm25.run bm25.run --method weighted --weights 1;2 -o out",
            "--weights: expected numbers separated by commas, got '1;2'. Write e.g. 0.7,0.3.",
        ),
        (
            "fuse bm25.run bm25.run --method weighted --weights 1 -o out",
            "weights: expected a finite number for each of 2 runs, got [1.0]. Give one weight a run.",
        ),
        (
            "fuse bm25.run bm25.run --missing lowest -o out",
            "--missing: expected it without --method rrf, with which it has no effect."
            " Leave it out (see `rerank fuse -h`)",
        ),
        (
            "fuse bm25.run bm25.run -m AP -o out",
            "-m: expected it without --method rrf, with which it has no effect. Leave it out (see `rerank fuse -h`)",
        ),
    ],
)
def test_fuse_refuses_in_one_line(line: str, message: str, command: Command, world: Path) -> None:
    assert command(line) == (2, "", f"rerank: {message}\n")
    assert not (world / "out").exists()


def test_model_is_learned_from_judgements_and_fuses_other_runs(command: Command, world: Path, tmp_path: Path) -> None:
    other, model, out = tmp_path / "other.run", tmp_path / "fusion.json", tmp_path / "out"
    line = ["retrieve", "index", "topics.tsv", "-o", str(other), "--candidates", "bm25-k1=0.9-b=0", "-k", "20"]
    assert command(*line).code == 0
    files = ["bm25.run", str(other)]
    assert command("fuse", *files, "--learn", "qrels.txt", "--norm", "minmax", "-o", str(model)).code == 0
    assert command("fuse", *files, "--model", str(model), "-o", str(out)).code == 0
    runs = [rerank.read_run(world / "bm25.run"), rerank.read_run(other)]
    learned = rerank.learn_fusion(runs, rerank.read_qrels(world / "qrels.txt"), norm="minmax")
    rerank.write_run(rerank.apply_fusion(learned, runs), tmp_path / "expected")
    assert out.read_bytes() == (tmp_path / "expected").read_bytes()
    for format in ("opensearch-pipeline", "elasticsearch-retriever"):
        assert command("export", str(model), "--to", format, "-o", str(tmp_path / "pipeline.json")).code == 0
    for wrong, said in (("--learn qrels.txt", "got both"), ("--norm minmax", "with which it has no effect")):
        refused = command("fuse", *files, "--model", str(model), *wrong.split(), "-o", str(out))
        assert refused.code == 2
        assert said in refused.err
    assert command("fuse", *files, "--learn", "qrels.txt", "--no-judged", "-o", str(model)).code == 0
    weights = rerank.learn_fusion(runs, rerank.read_qrels(world / "qrels.txt"), judged=False)
    assert rerank.read_model(model).to_dict() == weights.to_dict()
    swapped = command("fuse", *files[::-1], "--model", str(model), "-o", str(out))
    assert swapped.code == 2
    assert "runs: expected the order of training (bm25-k1=0.9-b=0.4, bm25-k1=0.9-b=0.0), got" in swapped.err
