"""What retrieved the candidates belongs to the model: in tags of runs, data, model files and messages."""

from __future__ import annotations

from pathlib import Path

import pytest

import rerank
from rerank.rankers import retriever_checks
from tests.cli.conftest import SMALL, Command


@pytest.fixture(autouse=True)
def forget_notes() -> None:
    """A note is logged once in a process."""
    retriever_checks._note.cache_clear()


@pytest.fixture(scope="module")
def models(world: Path) -> Path:
    """Runs, data and models of BM25 with other parameters, and a run with a tag that holds no parameters."""
    from rerank.cli.main import run

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world)
        for line in (
            "retrieve index topics.tsv -o b.run -k 30 --candidates bm25-k1=2.5-b=0.4",
            "features index topics.tsv b.run -o b.npz --qrels qrels.txt",
            f"train b.npz --base run:b.run -o warm.json {' '.join(SMALL)}",
        ):
            assert run(["-q", *line.split()]) == 0
        text = (world / "b.run").read_text().replace("bm25-k1=2.5-b=0.4", "Anserini")
        (world / "tag.run").write_text(text)
        assert run(["-q", "features", "index", "topics.tsv", "tag.run", "-o", "tag.npz", "--qrels", "qrels.txt"]) == 0
    return world


def test_retrieve_writes_a_tag_that_tells_k1_and_b(command: Command, models: Path) -> None:
    assert {line.split()[5] for line in (models / "b.run").read_text().splitlines()} == {"bm25-k1=2.5-b=0.4"}
    assert {line.split()[5] for line in (models / "bm25.run").read_text().splitlines()} == {"bm25-k1=0.9-b=0.4"}
    assert command("evaluate qrels.txt b.run").err == ""


def test_rerank_without_a_run_retrieves_with_the_models_own_parameters(command: Command, models: Path) -> None:
    ranked = command("rank warm.json b.npz -o -")
    assert (ranked.code, ranked.err) == (0, "")
    assert command("rerank index warm.json topics.tsv -o - -k 30") == ranked
    assert command("rerank index warm.json topics.tsv -o - -k 30 --run b.run") == ranked


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ("rank warm.json data.npz", "data.npz"),
        ("rerank index warm.json topics.tsv --run bm25.run", "bm25.run"),
        (f"train b.npz --base run:b.run --validate data.npz {' '.join(SMALL)}", "data.npz"),
        (f"train data.npz --base model:warm.json {' '.join(SMALL)}", "data.npz"),
    ],
)
def test_candidates_of_other_parameters_are_refused(
    command: Command, models: Path, tmp_path: Path, arguments: str, subject: str
) -> None:
    done = command(f"{arguments} -o {tmp_path}/out")
    assert done.code == 2
    assert done.err == (
        f"rerank: {subject}: expected candidates of bm25-k1=2.5-b=0.4, whose scores the model starts from, got "
        "candidates of bm25-k1=0.9-b=0.4. Retrieve with k1 2.5 and b 0.4, or train the model on such a run.\n"
    )
    assert not (tmp_path / "out").exists()


def test_candidates_of_an_unknown_retriever_are_taken_and_said_once(command: Command, models: Path) -> None:
    expected = command("rank warm.json b.npz -o -").out
    for arguments in ("rank warm.json tag.npz", "rerank index warm.json topics.tsv --run tag.run"):
        retriever_checks._note.cache_clear()
        done = command(f"{arguments} -o -")
        assert (done.code, done.out) == (0, expected)
        assert done.err == (
            "rerank: model: trained on candidates of bm25-k1=2.5-b=0.4, applied to candidates of Anserini; "
            "the scores it starts from may differ\n"
        )


def test_training_from_an_unknown_retriever_says_so(command: Command, models: Path, tmp_path: Path) -> None:
    done = command(f"train tag.npz --base run:tag.run -o {tmp_path}/m.json {' '.join(SMALL)}")
    assert done.code == 0
    assert "base: what retrieved the run is unknown (tag Anserini); apply the model to candidates" in done.err
    assert str(rerank.read_model(tmp_path / "m.json").retriever_) == "Anserini"


def test_cold_model_takes_other_candidates_and_says_so(command: Command, models: Path) -> None:
    done = command("rank model.json b.npz -o -")
    assert done.code == 0
    assert done.err == (
        "rerank: model: trained on candidates of bm25-k1=0.9-b=0.4, applied to candidates of bm25-k1=2.5-b=0.4; "
        "features may differ\n"
    )
