"""LETOR / SVMlight text: what is read, what is refused, what survives a round trip."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files import data as formats, rows as row_tables, svmlight
from rerank.files.svmlight import read_svmlight, write_svmlight
from rerank.types import RankingData, pointers
from rerank.types.ids import id_array
from tests.files.records import assert_same, ranking_data
from tests.oracles import files as oracle


def written(folder: Path, text: str | bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def small_data() -> RankingData:
    X = np.array([[12.5, 0, np.nan], [0.1, 140, 0]], dtype=np.float32)
    return RankingData(
        id_array(["q1"]),
        pointers([2]),
        id_array(["d1", "d#2"]),
        X,
        ("bm25", "length", "age"),
        labels=np.array([2.0, 0.5]),
        base_scores=np.array([12.5, 0.1]),
        recipe={"name": "letor"},
    )


@given(ranking_data())
@settings(max_examples=200)
def test_data_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, data: RankingData) -> None:
    path = tmp_path_factory.mktemp("svm") / "data.svm"
    write_svmlight(data, path)
    assert_same(read_svmlight(path), data)


def test_written_text_is_what_the_format_says(tmp_path: Path) -> None:
    write_svmlight(small_data(), tmp_path / "data.svm")
    assert (tmp_path / "data.svm").read_text() == (
        "# features: bm25 length age\n"
        '# rerank: {"version": 1, "recipe": {"name": "letor"}}\n'
        "2 qid:q1 1:12.5 3:nan # docid = d1 base = 12.5\n"
        "0.5 qid:q1 1:0.1 2:140.0 # docid = d#2 base = 0.1\n"
    )


def test_gzip_bytes_repeat_and_read_back(tmp_path: Path) -> None:
    for name in ("a.svm.gz", "b.svm.gz"):
        write_svmlight(small_data(), tmp_path / name)
    assert (tmp_path / "a.svm.gz").read_bytes() == (tmp_path / "b.svm.gz").read_bytes()
    assert_same(read_svmlight(tmp_path / "a.svm.gz"), small_data())


def test_features_in_any_order_absent_ones_and_odd_spacing_are_right(tmp_path: Path) -> None:
    text = "# a comment\n1.0 qid:7  3:2.5\t1:-5e-1  \r\n\n-2 qid:7\n 0 qid:7 2:+.5#x\n"
    data = read_svmlight(written(tmp_path, text))
    np.testing.assert_array_equal(data.X, np.array([[-0.5, 0, 2.5], [0, 0, 0], [0, 0.5, 0]], np.float32))
    assert data.feature_names == ("1", "2", "3")
    assert data.doc_ids.tolist() == ["2", "4", "5"]
    assert data.labels is not None
    assert data.labels.tolist() == [1.0, -2.0, 0.0]
    assert data.base_scores is None
    assert data.weights is None
    assert data.recipe is None


def test_rows_of_a_query_need_not_stand_together(tmp_path: Path) -> None:
    text = "1 qid:b 1:1 #docid = x\n0 qid:a 1:2\n2 qid:b 1:3 # docid=y inc = 1\n"
    data = read_svmlight(written(tmp_path, text))
    assert list(data) == ["b", "a"]
    assert data.query_ptr.tolist() == [0, 2, 3]
    assert data.doc_ids.tolist() == ["x", "y", "2"]
    assert data.X[:, 0].tolist() == [1, 3, 2]
    assert data.labels is not None
    assert data.labels.tolist() == [1, 2, 0]


def test_queries_of_joined_files_that_have_the_same_id_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    part = "1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n0 qid:2 1:4\n"
    assert len(read_svmlight(written(tmp_path, part))) == 2
    rows = part.splitlines(keepends=True)
    assert len(read_svmlight(written(tmp_path, "".join(rows[0::2] + rows[1::2] + rows[0::2])))) == 2  # in any order
    assert caplog.text == ""
    assert len(read_svmlight(written(tmp_path, part + part))) == 2
    assert "data.txt: 2 queries have rows in two places, which count as one query." in caplog.text


def test_queries_come_from_the_companion_file_when_rows_bear_none(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"1 1:1\n0 2:1\n0\n"), "rank.train.gz")
    written(tmp_path, "2\n1\n", "rank.train.query")
    data = read_svmlight(path)
    assert list(data) == ["1", "2"]
    assert data.query_ptr.tolist() == [0, 2, 3]


def test_companions_of_lightgbm_and_xgboost_are_read_or_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = b"1 1:1\n0 2:1\n2 1:3\n"
    beside = {"query": "2\n1\n", "weight": "1\n2\n.5\n", "init": "3\n-1\n0\n", "position": "1\n2\n1\n"}
    for ending, text in beside.items():
        written(tmp_path, text, f"rank.txt.{ending}")
    data = read_svmlight(written(tmp_path, rows, "rank.txt"))
    assert data.row_weights is not None
    assert data.row_weights.tolist() == [1, 2, 0.5]
    assert data.base_scores is not None
    assert data.base_scores.tolist() == [3, -1, 0]
    assert (
        f'base scores are those of {tmp_path / "rank.txt.init"}: rankers with base="run" start from them' in caplog.text
    )
    assert "found beside it and not read: rank.txt.position" in caplog.text
    for ending, text in {"group": "2\n1\n", "weight": "4\n1\n", "base_margin": "1\n2\n3\n"}.items():
        written(tmp_path, text, f"xgb.txt.{ending}")
    data = read_svmlight(written(tmp_path, gzip.compress(rows), "xgb.txt.gz"))
    assert data.weights is not None
    assert data.weights.tolist() == [4, 1]
    assert data.base_scores is not None
    assert data.base_scores.tolist() == [1, 2, 3]


def test_companions_of_files_that_hold_all_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    formats.write_data(small_data(), tmp_path / "data.npz")
    written(tmp_path, "1\n1\n", "data.npz.weight")
    written(tmp_path, "2\n", "data.svm.query")
    formats.write_data(small_data(), tmp_path / "data.svm")
    for name in ("data.npz", "data.svm"):
        formats.read_data(tmp_path / name)
    assert "data.npz: found beside it and not read: data.npz.weight" in caplog.text
    assert "data.svm: found beside it and not read: data.svm.query" in caplog.text


@pytest.mark.parametrize(
    ("head", "pairs", "values"),
    [
        (
            "# Generated by dump_svmlight_file from scikit-learn 1.7.2\n# Column indices are zero-based\n#",
            "1:5 2:7",
            [0, 5, 7],
        ),
        ("# Column indices are one-based", "1:5 2:7", [5, 7]),
        ("# feature ids are 0-based", "0:4 2:7", [4, 0, 7]),
        ("# zero-indexed features", "1:5 2:7", [0, 5, 7]),
        ("# feature indices start at 0", "1:5 2:7", [0, 5, 7]),
        ("# columns are not zero-based", "1:5 2:7", [5, 7]),
        ("# Features are numbered from 0", "1:5 2:7", [0, 5, 7]),
        ("# feature indices: 0..2", "1:5 2:7", [0, 5, 7]),
        ("# index base: 0", "1:5 2:7", [0, 5, 7]),
    ],
)
def test_features_are_counted_from_where_the_head_says(
    head: str, pairs: str, values: list[float], tmp_path: Path
) -> None:
    data = read_svmlight(written(tmp_path, f"{head}\n1 qid:1 {pairs}\n"))
    assert data.X.tolist() == [values]
    assert data.feature_names == tuple(str(number) for number in range(1, len(values) + 1))


@pytest.mark.parametrize(
    "head",
    [
        "# zero based",
        "# zero_based=True",
        "# columns: zero_based = False",
        "# one-based? no, zero-based indices",
        "# column indices are zero-based\n# column indices are one-based",
    ],
)
def test_head_that_leaves_in_doubt_where_features_begin_is_refused(head: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"says where the numbers of features begin, got .* Write `Column ind"):
        read_svmlight(written(tmp_path, f"{head}\n1 qid:1 1:5\n"))


def test_weights_behind_labels_are_read_as_xgboost_reads_them(tmp_path: Path) -> None:
    data = read_svmlight(written(tmp_path, "1:0.5 qid:1 1:5\n0:2 qid:1 1:6\n2:1 qid:2 1:7 # docid = a\n"))
    assert data.labels.tolist() == [1, 0, 2]
    assert data.row_weights.tolist() == [0.5, 2, 1]


BAD = {
    "": r": expected rows `label qid:Q feature:value …`, got no row. Name a file with rows",
    "# only a comment\n": r"got no row",
    "x qid:1 1:1\n": r":1: expected a finite number as label, got 'x'. Correct the label",
    "1 qid:1 1:1\nnan qid:1 1:1\n": r":2: expected a finite number as label, got 'nan'",
    "1 qid:1 1:1\n1 1:1\n": r":2: expected `qid:Q` after the label, got none. Write the query id",
    "1:2 1:1\n": r":1: expected a finite number as label, got '1:2'",
    "1:x qid:1 1:1\n": r":1: expected a finite number as weight, got 'x'",
    "1:2 qid:1 1:1\n1 qid:1 1:1\n": r":2: expected `weight = W` in the comment of every row or of none",
    "1 1:1\n": r":1: expected `qid:Q` after the label, got none. Write it, or the size .* data\.txt\.query",
    "1 qid: 1:1\n": r":1: expected a query id after `qid:`, got none",
    "1 qid:1 1:1\n1 qid:1 1:high\n": r":2: expected feature:value, .* or nan, got '1:high'. Correct it, or write nan",
    "1 qid:1 1:1\n1 qid:1 2:1 1:NULL\n": r":2: .* missing value \(sed 's/:NULL/:nan/g'\)",
    "1 qid:1 1:inf\n": r":1: expected feature:value, .* a finite float32 or nan, got '1:inf'",
    "1 qid:1 1:1e39\n": r"got '1:1e39'",
    "1 qid:1 1:1_0\n": r"got '1:1_0'",
    "1 qid:1 1: 2:1\n": r":1: expected feature:value, .*, got '1:'",
    "1 qid:1 1: 5:3 7\n": r":1: expected feature:value, .*, got '1:'",
    "1 qid:1 1:2:3 4\n": r":1: expected feature:value, .*, got '1:2:3'",
    "1 qid:1 1:0.5-3 2:1\n": r"got '1:0.5-3'",
    "1 qid:1 1\n": r":1: expected feature:value, .*, got '1'\. Correct it\.$",
    "1 qid:1 0:1\n": r":1: .*, got '0:1'. If features count from 0, write `# Column indices are zero-based` as the",
    "1 qid:1 2000000:1\n": r"expected feature:value, a number from 1 to 100000 .*, got '2000000:1'",
    "1 qid:1 bm25:1\n": r"expected feature:value, a number from 1 to 100000 .*, got 'bm25:1'\. Correct it\.$",
    "1 qid:1 1.5:1\n": r"expected feature:value, a number from 1 to 100000 .*, got '1.5:1'",
    "1 qid:1 1:1\n1 qid:1 3:1 2:5 3:1\n": r":2: expected each feature once in a row, got feature 3 again. Keep",
    "1 qid:1 1:1 #docid = a\n1 qid:2 1:1 #docid = a\n1 qid:1 # docid = a": (
        r":3: expected each document once in a query, got 'a' again in query '1'. Remove one"
    ),
    "1 qid:1 # docid = a base = x\n": r":1: expected a finite number as base, got 'x'. Correct the base",
    "1 qid:1 # docid = a base = 1\n1 qid:1\n": r":2: expected `base = S` in the comment of every row or of none",
    b"1 qid:1 # docid = caf\xe9\n": r":1: expected UTF-8 text, got byte 0xe9",
    f"# features: {'a' * 513}\n1 qid:1 1:1\n": r":1: expected ids of 1 to 512 characters .* Rename it",
    "# features: a\n1 qid:1 2:1\n": r":1: expected names for 2 features, got 1. Name them all",
    "# rerank: {\n1 qid:1 2:1\n": r":1: expected a JSON object, got a text that breaks off",
    '# x\n# rerank: {"version": 2}\n1 qid:1\n': r":2: version: expected 1, got 2",
    "# rerank: [1]\n1 qid:1\n": r":1: expected a JSON object, got '\[1\]'",
    "1 qid:1 # docid = a weight = 1\n1 qid:1\n": r":2: expected `weight = W` in the comment of every row or of none",
    '# rerank: {"version": 1, "ideal_labels": [1]}\n1 qid:1\n': r":1: ideal_labels: expected an object, got \[1\]",
    '# rerank: {"version": 1, "ideal_labels": {"2": [1]}}\n1 qid:1\n': r":1: .*ideal labels of every query, .* '1'",
    '# rerank: {"version": 1, "ideal_labels": {"1": ["x"]}}\n1 qid:1\n': r":1: ideal_labels\['1'\]\[0\]: .*, got 'x'",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_text_is_refused_in_one_line(tmp_path: Path, text: str | bytes) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileFormatError, match=BAD[text]) as caught:
        read_svmlight(path)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("1\n", r"query: expected sizes that add up to the 2 rows of rank\.txt, got 1. Correct"),
        ("1\n-1\n", r"query:2: expected the number of rows of a query, got '-1'. Write one size a line"),
    ],
)
def test_companion_that_does_not_fit_is_refused(tmp_path: Path, sizes: str, message: str) -> None:
    path = written(tmp_path, "1 1:1\n0 1:2\n", "rank.txt")
    written(tmp_path, sizes, "rank.txt.query")
    with pytest.raises(FileFormatError, match=message):
        read_svmlight(path)


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="expected a file of feature rows, got nothing there"):
        read_svmlight(tmp_path / "no.svm")
    with pytest.raises(FileFormatError, match="expected a file of feature rows, got a folder"):
        read_svmlight(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query_ids": id_array(["q#1"])}, "got 'q#1'. Rename it"),
        ({"query_ids": id_array([""])}, "got ''. Rename it"),
        ({"doc_ids": id_array(["a b", "c"])}, "got 'a b'. Rename it"),
        ({"feature_names": ("a", "b c", "d")}, "data: expected ids .*, got 'b c'"),
        ({"labels": np.array([np.nan, 1])}, "expected finite labels, got NaN"),
        ({"base_scores": np.array([np.inf, 1])}, "expected finite base scores"),
        ({"X": np.full((2, 3), np.inf, np.float32)}, "expected finite features or NaN, got infinity"),
    ],
)
def test_data_that_would_not_read_back_are_not_written(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        write_svmlight(replace(small_data(), **change), tmp_path / "data.svm")
    assert list(tmp_path.iterdir()) == []


def test_pairs_are_those_that_python_reads() -> None:
    rng = np.random.default_rng(0)
    pairs = [(int(feature), float(np.float32(rng.normal()))) for feature in rng.integers(1, 20, 2000)]
    parsed = svmlight._parsed_pairs(b" ".join(b"%d:%.9g" % pair for pair in pairs), 1)
    assert parsed is not None
    assert list(zip(parsed[0].tolist(), parsed[1].tolist(), strict=True)) == pairs


def test_mq2008_equals_the_slow_reader(shared_data: Path) -> None:
    path = shared_data / "letor" / "mq2008" / "S1.txt"
    rows, data = oracle.read_svmlight(path.read_text(), 46), read_svmlight(path)
    assert data.X.shape == (2933, 46)
    assert len(data) == len({query_id for _, query_id, _ in rows})
    np.testing.assert_array_equal(data.X, np.array([values for _, _, values in rows], np.float32))
    assert data.labels is not None
    assert data.labels.tolist() == [label for label, _, _ in rows]
    assert np.repeat(data.query_ids, np.diff(data.query_ptr)).tolist() == [query_id for _, query_id, _ in rows]
    assert data.doc_ids[0] == "GX008-86-4444840"


def test_lightgbm_files_take_their_queries_from_the_companion(shared_data: Path) -> None:
    folder = shared_data / "letor" / "lightgbm_lambdarank"
    data = read_svmlight(folder / "rank.train")
    sizes = [int(size) for size in (folder / "rank.train.query").read_text().split()]
    assert data.X.shape == (3005, 300)
    assert np.diff(data.query_ptr).tolist() == sizes
    assert data.X[0, 9] == np.float32(0.89)
    assert read_svmlight(folder / "rank.test").X.shape == (768, 300)


def test_repeated_features_of_tfr_example_are_refused(shared_data: Path) -> None:
    with pytest.raises(FileFormatError, match=r"train\.txt:1: expected each feature once .*feature 17 again"):
        read_svmlight(shared_data / "letor" / "tfr_example" / "train.txt")


def test_rows_that_are_far_larger_when_dense_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "0 qid:1 1:1\n" * 60_000 + "0 qid:1 100000:1\n")
    message = r":60001: expected features whose dense rows have at most [\d,]+ bytes, got feature 100000 in one of"
    with pytest.raises(FileFormatError, match=message):
        read_svmlight(path)


def test_features_that_do_not_fit_into_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "0 qid:1 100:1\n1 qid:1 1:1\n")
    monkeypatch.setattr(row_tables, "memory_limit", lambda: 799)
    with pytest.raises(FileFormatError, match=r"got 2 rows of 100 features \(800 bytes\). Number"):
        read_svmlight(path)
    assert read_svmlight(path, mapped=True).X.shape == (2, 100)


@pytest.mark.parametrize(
    ("comments", "ids"),
    [
        (["# 1A", "# 1B other words", "# 1A"], ["1A", "1B", "1A"]),  # as SVMrank's example has them
        (["#docid = GX1 inc = 1", "# docid = GX2", "#docid = GX1"], ["GX1", "GX2", "GX1"]),
        (["# docno: a", "# docno: b", "# doc_id = c"], ["a", "b", "c"]),
        (["# bad", "# bad", "# good"], ["1", "2", "3"]),  # no ids: one is twice in a query
        (["# 1A", "", "# 1C"], ["1", "2", "3"]),
    ],
)
def test_comments_name_the_documents_where_they_can(
    comments: list[str], ids: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rows = ["1 qid:1 1:1", "0 qid:1 2:1", "1 qid:2 1:2"]
    path = tmp_path / "rows.txt"
    path.write_text("".join(f"{row} {comment}\n" for row, comment in zip(rows, comments, strict=True)))
    assert read_svmlight(path).doc_ids.tolist() == ids
    assert ("comments of rows that are no ids of documents are left out" in caplog.text) == (ids == ["1", "2", "3"])
