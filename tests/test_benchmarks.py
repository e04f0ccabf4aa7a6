"""Every benchmark says what it measures, is listed without heavy imports, and is what the pages name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import registry
from benchmarks.__main__ import as_text, find, main, run
from benchmarks.draws import DRAWS, STAGES, Draw, Pool
from benchmarks.guard import check
from benchmarks.registry import Benchmark, BenchmarkError, Options, Row, known
from rerank.types import RankingData

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("numba", "scipy", "lightgbm", "xgboost", "pandas", "matplotlib", "jnius", "pyarrow")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
NAMED = re.compile(r"`benchmarks\s+((?:[a-z][a-z0-9-]*\s*)+)")


def squares(options: Options) -> Iterator[Row]:
    """Squares of numbers."""
    for number in range(1, options.pick(4, 2)):
        yield {"number": number, "square": number**2}
    yield {"half": 0.5, "none": None}


def test_every_benchmark_has_a_sentence_its_data_and_its_packages_peer() -> None:
    for name, benchmark in known().items():
        assert re.fullmatch(r"[^\n]{20,240}\.", benchmark.summary), name
        assert benchmark.data, name
        assert benchmark.peer or not {"lightgbm", "xgboost", "jnius"} & set(benchmark.needs), name


def test_listing_imports_nothing_heavy() -> None:
    program = "import sys; from benchmarks.registry import known; print(len(known())); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    number, modules = done.stdout.splitlines()
    assert int(number) == len(known())
    assert set(modules.split()) & set(HEAVY) == set()


def test_list_names_every_benchmark() -> None:
    output = CliRunner().invoke(main, ["--list"]).output
    assert {line.split()[0] for line in output.splitlines()} >= set(known())


def test_pages_name_benchmarks_that_exist() -> None:
    named = {name for page in PAGES for names in NAMED.findall(page.read_text("utf8")) for name in names.split()}
    assert len(named) > 30
    assert named - {"NAME"} <= set(known())


def test_rows_with_the_same_columns_are_one_table() -> None:
    benchmark = Benchmark(squares, "numbers", "", (), None)
    text = as_text(run(benchmark, Options(), None), "github")
    head, *tables = text.split("\n\n")
    assert head.startswith("squares, commit ")
    assert [len(table.splitlines()) for table in tables] == [5, 3]
    assert tables[0].splitlines()[-1].split() == ["|", "3", "|", "9", "|"]


def test_rows_are_written_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BENCHMARKS, "squares", Benchmark(squares, "numbers", "", (), None))
    done = CliRunner().invoke(main, ["squares", "--quick", "--json", str(tmp_path / "out.json")])
    assert done.exit_code == 0, done.output
    (result,) = json.loads((tmp_path / "out.json").read_text("utf8"))
    assert result["rows"] == [{"number": 1, "square": 1}, {"half": 0.5, "none": None}]


def test_missing_package_is_named_in_one_line() -> None:
    benchmarks = {"squares": Benchmark(squares, "numbers", "a peer", ("no_such_module",), None)}
    with pytest.raises(BenchmarkError, match=r"^squares needs no_such_module: pip install no_such_module$"):
        find(benchmarks, "squares")


def test_unknown_collection_is_refused_in_one_line() -> None:
    with pytest.raises(BenchmarkError, match=r"^--collection: expected med, cacm, got cranfield\.$"):
        Options(collections=("cranfield",)).chosen_collections(("med", "cacm"))


def test_guard_fails_where_a_ratio_fell_by_a_tenth() -> None:
    stored = {"scoring": 20.0, "training": 2.5}
    check({"scoring": 18.1, "training": 2.5}, stored)
    with pytest.raises(
        BenchmarkError, match=r"^guard: expected 0\.9 of the stored ratios, got scoring 17\.9 of 20\.0\. "
    ):
        check({"scoring": 17.9, "training": 2.5}, stored)


def test_picture_of_a_benchmark_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"^squares has no picture$"):
        run(Benchmark(squares, "numbers", "", (), None), Options(), tmp_path / "picture.png")


def test_draws_learn_from_no_topic_that_they_measure_on() -> None:
    query_ids = np.array([f"q{number}" for number in range(10)])
    doc_ids = np.array(["d"] * 10)
    data = RankingData(query_ids, np.arange(11), doc_ids, np.zeros((10, 1), np.float32), ("x",))
    pool = Pool(data.select(range(6)), data.select(range(4, 10)), np.zeros(6))
    for seed in range(5):
        train, measured = pool.parts(Draw("any", 4, seed))
        assert len(train) == 4
        names = {*train.query_ids.tolist(), *pool.measured.query_ids[measured].tolist()}
        assert len(names) == len(train) + len(measured)
        assert names >= set(pool.measured.query_ids.tolist())


def test_choices_and_their_check_have_twenty_draws_each_and_share_one_collection() -> None:
    collections = [{draw.collection for draw in DRAWS[stage]} for stage in STAGES]
    assert [len(set(DRAWS[stage])) for stage in STAGES] == [20, 20]
    assert collections[0] & collections[1] == {"nfcorpus"}
