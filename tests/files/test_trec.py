"""Qrels and runs: what is read, what is refused, what survives a round trip."""

from __future__ import annotations

import gzip
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files import text_columns
from rerank.files.trec import QRELS, RUN, read_qrels, read_run, write_qrels, write_run
from rerank.types import Run
from rerank.types.ids import repeated_row
from tests.oracles import files as oracle

GOOD_RUN = "q1 Q0 d1 1 2.5 tag\nq1 Q0 d2 2 1.5 tag\nq2 Q0 d1 1 -3e2 tag\n"

words = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\n\r\x0b\x0c\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=6,
)
query_words = words.filter(lambda word: not word.startswith(("#", "\ufeff")))
scores = st.floats(allow_nan=False, allow_infinity=False)
runs = st.dictionaries(query_words, st.dictionaries(words, scores, min_size=1, max_size=5), min_size=1)
labels = st.integers(-(2**63), 2**63 - 1)
judgements = st.dictionaries(query_words, st.dictionaries(words, labels, min_size=1, max_size=5), min_size=1)


def written(folder: Path, text: str | bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def as_dict(table: object) -> dict[str, dict[str, float]]:
    return {query_id: table[query_id] for query_id in table}  # type: ignore[attr-defined,index]


def as_float32(documents: dict[str, float]) -> dict[str, float]:
    """Scores as trec_eval holds them when it orders documents."""
    with np.errstate(over="ignore"):
        return {doc_id: float(np.float32(score)) for doc_id, score in documents.items()}


@given(runs)
@settings(max_examples=150)
def test_run_survives_a_round_trip(tmp_path_factory: pytest.TempPathFactory, run: dict) -> None:
    path = tmp_path_factory.mktemp("run") / "run.txt"
    write_run(run, path)
    back = read_run(path)
    assert as_dict(back) == run
    assert list(back) == list(run)
    for query_id, documents in run.items():
        assert list(back[query_id]) == oracle.trec_eval_order(as_float32(documents))


@given(judgements)
@settings(max_examples=100)
def test_qrels_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, qrels: dict) -> None:
    path = tmp_path_factory.mktemp("qrels") / "qrels.txt"
    write_qrels(qrels, path)
    assert as_dict(read_qrels(path)) == qrels


@given(runs, st.data())
@settings(max_examples=100)
def test_rows_in_any_order_and_chunk_size_give_the_same_run(
    tmp_path_factory: pytest.TempPathFactory, run: dict, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("run")
    write_run(run, folder / "run.txt")
    lines = (folder / "run.txt").read_text("utf8").removesuffix("\n").split("\n")
    text = "\n".join(data.draw(st.permutations(lines)))
    path = written(folder, text)
    query_ids, query_ptr, rows = text_columns.read_table(path, RUN, chunk_bytes=data.draw(st.integers(1, 200)))
    result = Run(query_ids, query_ptr, rows.doc_ids, rows.values)
    assert as_dict(result) == run


@pytest.mark.parametrize("head", ["", "qid 0 docno label\n", "query-id corpus-id score\n"])
def test_labels_with_a_dot_and_zeros_are_read_below_names_of_columns(head: str, tmp_path: Path) -> None:
    between = "" if "-" in head else "0 "
    rows = [f"{query} {between}{doc} {label}\n" for query, doc, label in (("q", "a", "1.0"), ("q", "b", "-2."))]
    assert read_qrels(written(tmp_path, head + "".join(rows)))["q"] == {"a": 1, "b": -2}
    assert read_run(written(tmp_path, f"qid Q0 docno rank score tag\n{GOOD_RUN}"))["q2"] == {"d1": -300.0}


@pytest.mark.parametrize("text", ["-", ".", "-.", "1.2.3", "1e", "0x1", "1,5", "1-2", "--1", "inf", "nan", "1_0"])
def test_what_is_no_number_is_no_score(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=r":2: expected a finite number as score"):
        read_run(written(tmp_path, f"q Q0 a 1 1.5 t\nq Q0 b 2 {text} t\n"))


def test_a_run_of_many_chunks_is_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    n_rows = 150_000
    lines = [f"q{row // 1000} Q0 clueweb09-en{row:07d} 1 {n_rows + 0.5 - row} t\n" for row in range(n_rows)]
    path = written(tmp_path, "".join(lines))
    assert path.stat().st_size > 2 * text_columns.CHUNK_BYTES
    run = read_run(path)
    assert list(run) == [f"q{number}" for number in range(150)]
    assert run.doc_ids.tolist() == [f"clueweb09-en{row:07d}" for row in range(n_rows)]
    assert run.scores.tolist() == [n_rows + 0.5 - row for row in range(n_rows)]
    again = written(tmp_path, "".join([*lines, lines[7]]))
    with pytest.raises(FileFormatError, match=r":150001: expected each document once in a query, got 'clueweb09-en0"):
        read_run(again)


@pytest.mark.parametrize("text", ["\n" + GOOD_RUN, "# made by hand\n" + GOOD_RUN, " " + GOOD_RUN, GOOD_RUN[:-1]])
def test_blank_lines_comments_and_a_missing_last_newline_change_nothing(tmp_path: Path, text: str) -> None:
    assert as_dict(read_run(written(tmp_path, text))) == oracle.read_run(GOOD_RUN)


def test_comments_that_may_be_rows_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "bm25.run"
    qrels.write_text("# made by hand, see notes\n#\n1 0 a 1\n#tag 0 a 1\n#tag 0 b 2\n")
    run.write_text("1 Q0 a 1 2.5 bm25\n#tag Q0 a 1 2.5 bm25\n")
    assert (list(read_qrels(qrels)), list(read_run(run))) == (["1"], ["1"])
    expected = "a line that begins with # is a comment, but has the columns of a row"
    assert f"qrels.txt:4: {expected} (2 such lines)" in caplog.messages[0]
    assert f"bm25.run:2: {expected} (1 such line)" in caplog.messages[1]


def test_run_bears_the_tag_of_its_first_row(tmp_path: Path) -> None:
    assert read_run(written(tmp_path, GOOD_RUN.replace("tag", "BM25"))).name == "BM25"
    assert read_run(written(tmp_path, "# c\n" + GOOD_RUN.replace("tag", "BM25"))).name == "BM25"


def test_rank_column_is_ignored_and_ties_are_ordered_by_document_id_descending(tmp_path: Path) -> None:
    path = written(tmp_path, "q Q0 a 1 1 t\nq Q0 c 9 1 t\nq Q0 b 5 1.0 t\nq Q0 z 7 0.5 t\n")
    assert list(read_run(path)["q"]) == ["c", "b", "a", "z"]


def test_gzip_and_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    expected = oracle.read_run(GOOD_RUN)
    assert as_dict(read_run(written(tmp_path, gzip.compress(GOOD_RUN.encode()), "run.gz"))) == expected
    assert as_dict(read_run(written(tmp_path, b"\xef\xbb\xbf" + GOOD_RUN.encode()))) == expected
    write_run(expected, tmp_path / "again.gz")
    assert as_dict(read_run(tmp_path / "again.gz")) == expected


def test_written_run_has_six_columns_ranks_from_one_and_its_name(tmp_path: Path) -> None:
    run = Run.from_rows(["q", "q"], ["a", "b"], [0.1, np.float64(np.float32(0.1))], name="mine")
    write_run(run, tmp_path / "run.txt")
    assert (tmp_path / "run.txt").read_text() == "q Q0 b 1 0.10000000149011612 mine\nq Q0 a 2 0.1 mine\n"


BAD_RUNS = {
    "q Q0 d 1 2.5\n": r":1: expected 6 columns \(qid Q0 docno rank score tag\), got 5. Write the missing col",
    GOOD_RUN + "q Q0\n": r":4: expected 6 columns .*, got 2. Write the missing columns",
    "q Q0 my doc 1 2.5 tag\n": r":1: expected 6 columns .*, got 7. Ids may hold no white space",
    GOOD_RUN + "q Q0 d 1 high tag\n": r":4: expected a finite number as score, got 'high'. Correct the score",
    '{"q": {"d": 1.0}}\n': r":1: expected 6 columns .*, got 3. Pass json.load\(f\) of ",
    '{"q": {"d": 1.0, "e": 2.0, "f": 3.0}}\n': r":1: expected 6 columns .*, got 7. Pass json.load\(f\) of ",
    "map\tall\t0.3012\n": r":1: expected 6 columns .*, got 3. These are figures of an evaluation: name what",
    "nDCG@10\t0.3\n": r":1: expected 6 columns .*, got 2. These are figures of an evaluation",
    "map\tq1\t0.3012\n": r":1: expected 6 columns .*, got 3. These are figures of an evaluation",
    "a.run\tAP\t1\t0.3012\n": r":1: expected 6 columns .*, got 4. These are figures of an evaluation",
    "q,Q0,d,1,2.5,tag\n": r":1: expected 6 columns .*, got 1. Read CSV with pandas, ids as text",
    "q\td\t5\nq\te\t3\n": r"expected ranks from 1, got 3. Correct them, or write scores with a decimal point",
    "q Q0 d 1 nan tag\n": r":1: expected a finite number as score, got 'nan'",
    "q Q0 d 1 -inf tag\n": r":1: expected a finite number as score, got '-inf'",
    "q Q0 d 1 1_0 tag\n": r":1: expected a finite number as score, got '1_0'",
    GOOD_RUN + "\nq1 Q0 d2 3 0 tag\n": r":5: expected each document once in a query, got 'd2' again in query 'q1'",
    "q Q0 caf\xe9 1 1 t\n".encode("latin1"): r":1: expected UTF-8 text, got byte 0xe9. Convert the file",
    lzma.compress(GOOD_RUN.encode()): r": expected text or gzip, got xz\. Convert it with `xz -d`",
    pickle.dumps({"q": {"d": 1.0}}): r": expected text or gzip, got a pickle\. Load it in Python, and pass the mapping",
    "version https://git-lfs.github.com/spec/v1\noid sha256:0\n": r"got the pointer of Git LFS to it\. Fetch it with",
    GOOD_RUN.encode("utf-16"): r": expected text or gzip, got UTF-16\. Convert it with `iconv -f UTF-16 -t UTF-8`",
    GOOD_RUN + "q\0 Q0 d 1 1 t\n": r":4: expected text, got a NUL byte",
    "": r"expected lines of 6 columns .*, got no line. Name a file with rows",
    "\n# nothing\n": r"got no line",
}


@pytest.mark.parametrize("text", BAD_RUNS)
def test_bad_run_is_refused_in_one_line(tmp_path: Path, text: str | bytes) -> None:
    path = written(tmp_path, text, "bad.run")
    with pytest.raises(FileFormatError, match=BAD_RUNS[text]) as caught:
        read_run(path)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


BAD_QRELS = {
    "q 0 d\n": r":1: expected 4 columns \(qid iter docno label\), got 3. Write the missing column, name those of all",
    '{"q": {"d": 1}}\n': r":1: expected 4 columns .*, got 3. Pass json.load\(f\) of ",
    '{"q": {"d": 1, "e": 2}}\n': r":1: expected 4 columns .*, got 5. Pass json.load\(f\) of ",
    '{"requests": [{"id": "q", "ratings": []}]}\n': r":1: expected 4 columns .*; of other JSON, write lines with `jq`",
    "Team Name,Case Name,Query Text,Doc ID,Rating\n": r":1: expected 4 columns .*Read CSV with pandas, ids as text",
    "runid\tall\tbm25\n": r":1: expected 4 columns .*, got 3. These are figures of an evaluation: name what",
    "ndcg_cut_10\tq1\t0.3012\n": r":1: expected 4 columns .*, got 3. These are figures of an evaluation",
    "q1\tnDCG@10\t0.3012\n": r":1: expected 4 columns .*, got 3. These are figures of an evaluation",
    "q 0 d 1\nq 0 d e 1\n": r":2: expected 4 columns .*, got 5. Ids may hold no white space",
    "q 0 d 1.5\n": r":1: expected a whole number as label, got '1.5'. Correct the label",
    "q Q0 d 1 0.5 bm25\n": r":1: expected 4 columns .*, got 6. Name judgements: this is a row of a run",
    "q 0 d 1 0.5\n": r":1: expected 4 columns .*, got 5. Keep .* of prels, .*`awk '.print \$1, 0, \$3, \$4.'` with",
    "4 qid:1 1:0.5\n": r":1: expected 4 columns .*, got 3. Of a judgement list, write `# DOCUMENT` at the end",
    "q 0 d 99999999999999999999\n": r":1: expected a whole number as label",
    "q 0 d 1\np 0 d 1\nq 0 d 1\n": r":3: expected each document once in a query, got 'd' again in query 'q'",
    "": r"expected lines of 4 columns",
}


@pytest.mark.parametrize("text", BAD_QRELS)
def test_bad_qrels_are_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=BAD_QRELS[text]):
        read_qrels(written(tmp_path, text))


def test_bad_line_is_named_when_it_stands_in_a_later_chunk(tmp_path: Path) -> None:
    good = "".join(f"q 0 d{row} 1\n" for row in range(1000))
    with pytest.raises(FileFormatError, match=r":1001: expected a whole number"):
        text_columns.read_table(written(tmp_path, good + "q 0 d no\n"), QRELS, chunk_bytes=512)


def test_missing_file_folder_and_damaged_gzip_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"expected a run file, got nothing there\. Check the path"):
        read_run(tmp_path / "no.run")
    with pytest.raises(FileFormatError, match="expected a qrels file, got a folder"):
        read_qrels(tmp_path)
    cut = written(tmp_path, gzip.compress(GOOD_RUN.encode())[:-9], "run.gz")
    with pytest.raises(FileFormatError, match="expected a whole gzip file, got a damaged one"):
        read_run(cut)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"q 1": {"d": 1.0}}, "expected ids .* got 'q 1'"),
        ({"q": {"": 1.0}}, "expected ids in column doc_id, got '' at document '' of query 'q'. Name each one"),
        ({"#q": {"d": 1.0}}, "do not begin with # .*, got '#q'"),
        ({"q": {"d": float("nan")}}, "expected finite numbers in column score, got nan at document 'd' of query 'q'"),
        (Run.from_rows(["q"], ["d"], [float("nan")]), "expected finite scores, got nan for document 'd'"),
        (Run.from_rows(["q"], ["d"], [1.0], "my run"), "got 'my run'. Rename it"),
    ],
)
def test_run_that_would_not_read_back_is_not_written(tmp_path: Path, run: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        write_run(run, tmp_path / "run.txt")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_repeats_are_found_among_many_like_ids() -> None:
    docs = np.array([f"doc_{number:07d}" for number in range(50_000)])
    query = np.repeat(np.arange(50), 1000)
    assert repeated_row(query, docs) is None
    assert repeated_row(np.zeros(50_000, np.int64), docs) is None
    docs[40_999] = docs[40_000]
    assert repeated_row(query, docs) == 40_999


@pytest.mark.parametrize("name", ["results.test", "results-302.test", "results.trunc", "results.comment.test"])
def test_trec_eval_runs_equal_the_slow_reader(shared_data: Path, name: str) -> None:
    path = shared_data / "trec_eval" / name
    expected, run = oracle.read_run(path.read_text()), read_run(path)
    assert as_dict(run) == expected
    for query_id in expected:
        assert list(run[query_id]) == oracle.trec_eval_order(expected[query_id])


@pytest.mark.parametrize(
    "name",
    [
        "trec_eval/qrels.test",
        "trec_eval/qrels.test.with-comments",
        "trec_eval/qrels.comment.test",
        "trec_eval/qrels.rel_level",
        "collections/nfcorpus/qrels.train.txt",
        "collections/cranfield/qrels.txt",
    ],
)
def test_real_qrels_equal_the_slow_reader(shared_data: Path, name: str) -> None:
    assert as_dict(read_qrels(shared_data / name)) == oracle.read_qrels((shared_data / name).read_text())


def test_qrels_with_a_document_judged_by_two_are_refused(shared_data: Path) -> None:
    with pytest.raises(FileFormatError, match=r"qrels\.123:\d+: expected each document once"):
        read_qrels(shared_data / "trec_eval" / "qrels.123")


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\n1\tug7v\t2\n1\t02tn\t0\n2\tug7v\t1\n",
        "1 ug7v 2\n1 02tn 0\n2 ug7v 1\n",
        "query-id\tcorpus-id\tscore\r\n1\tug7v\t2\r\n1\t02tn\t0\r\n2\tug7v\t1",
    ],
)
def test_qrels_of_beir_are_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_bytes(text.encode())
    assert {query: labels for query, labels in read_qrels(path).items()} == {
        "1": {"02tn": 0, "ug7v": 2},
        "2": {"ug7v": 1},
    }
    with path.open("a") as file:
        file.write("\n2\tug7v\tx\n")
    with pytest.raises(FileFormatError, match=r"expected a whole number as score, got 'x'"):
        read_qrels(path)


@pytest.mark.parametrize(
    "text",
    [
        "query_id\tdoc_id\trelevance\titeration\n1\ta\t2\t0\n1\tb\t0\t0\n",
        "qid iter docno label\n1 0 a 2\n1 0 b 0\n",
        "qid docid docno rel\n1 17 a 2\n1 18 b 0\n",
        "topic iteration docid rel\n1 0 a 2\n1 0 b 0\n",
        "docno label qid\na 2 1\nb 0 1\n",
        "\tqid\tdocno\tlabel\n0\t1\ta\t2\n1\t1\tb\t0\n",
        "1 a L2\n1 b L0\n",
        "1 0 a L2\n1 0 b L0\n",
    ],
)
def test_qrels_are_read_by_the_names_of_their_columns(text: str, tmp_path: Path) -> None:
    """As ir_datasets and data frames write them, also with an index; labels of NTCIR have an L."""
    assert dict(read_qrels(written(tmp_path, text)).items()) == {"1": {"a": 2, "b": 0}}


@pytest.mark.parametrize("names", ["docid score", "score docid", "docid rank score"])
def test_runs_whose_names_of_columns_lack_the_query_are_refused(names: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"{names}\n1 2 3\n")
    with pytest.raises(FileFormatError, match=rf":1: expected 6 columns .*, got {len(names.split())}\."):
        read_run(path)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("qid\tdocno\tscore\trank\n1\ta\t2.5\t0\n1\tb\t1\t1\n", "rerank"),
        ("qid Q0 docno rank score\n1 Q0 a 1 2.5\n1 Q0 b 2 1\n", "rerank"),
        ("qid Q0 docno rank score tag\n1 Q0 a 1 2.5 x\n1 Q0 b 2 1 x\n", "x"),
        ("query-id\tscore\tcorpus-id\n1\t2.5\ta\n1\t1\tb\n", "rerank"),
        ("score docid query\n2.5 a 1\n1 b 1\n", "rerank"),
    ],
)
def test_runs_are_read_by_the_names_of_their_columns(text: str, name: str, tmp_path: Path) -> None:
    run = read_run(written(tmp_path, text))
    assert (run.name, dict(run.items())) == (name, {"1": {"a": 2.5, "b": 1.0}})


def test_ranks_are_read_by_the_names_of_the_columns(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, "qid rank docno\n1 2 a\n1 1 b\n"))
    assert dict(run.items()) == {"1": {"b": 1.0, "a": 0.5}}


def test_runs_of_ms_marco_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    path.write_text("1\td9\t1\n1\td2\t2\n2\td9\t1\n")
    run = read_run(path)
    assert dict(run.items()) == {"1": {"d9": 1.0, "d2": 0.5}, "2": {"d9": 1.0}}
    assert run.retriever is None
    path.write_text("qid\tpid\trank\n1\td9\t1\n")
    assert dict(read_run(path).items()) == {"1": {"d9": 1.0}}


@pytest.mark.parametrize(
    "text",
    [
        "1\td9\t12.5\n1\td2\t9\n2\td9\t-1e-3\n",
        "query-id\tcorpus-id\tscore\n1\td9\t12.5\n1\td2\t9\n2\td9\t-0.001\n",
        "1\td9\t1\t12.5\n1\td2\t2\t9\n2\td9\t1\t-0.001\n",
        "1\td9\t125e-1\n1\td2\t9\n2\td9\t-0.001\n",
    ],
)
def test_runs_of_dense_retrievers_are_read(text: str, tmp_path: Path) -> None:
    """Tevatron's rows have three columns, ColBERT's four."""
    run = read_run(written(tmp_path, text))
    assert dict(run.items()) == {"1": {"d9": 12.5, "d2": 9.0}, "2": {"d9": -0.001}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\td9\t3\n1\td2\t0\n", r": expected ranks from 1, got 0\."),
        ("1\td9\t12\n1\td2\t11\n", r": expected ranks from 1, got 11\."),
        ("query-id\tcorpus-id\tlabel\n1\td9\t2\n1\td2\t1\n", r":1: expected 6 columns .*, got 3\."),
        ("1\td9\t12.5\n1\td2\tx\n", r":2: expected a finite number as score, got 'x'"),
        ("1 0 9 1.0\n", r":1: expected 6 columns .*, got 4\. Name a run: this is a row of judgements"),
    ],
)
def test_scores_are_not_read_as_ranks_when_a_run_has_three_columns(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=message):
        read_run(written(tmp_path, text))


def test_ranks_of_pyterrier_count_from_0(tmp_path: Path) -> None:
    """`pyterrier.io.write_results(format="minimal")` writes them so."""
    run = read_run(written(tmp_path, "1\td9\t0\n1\td2\t1\n2\td9\t0\n"))
    assert dict(run.items()) == {"1": {"d9": 1.0, "d2": 0.5}, "2": {"d9": 1.0}}


def test_a_run_with_names_and_blanks_in_a_column_is_not_shifted(tmp_path: Path) -> None:
    for head, row in (("qid\tquery\tdocno\tscore", "1\ta b\td\t2"), ("\tqid\tdocno\tscore\tx", "0\t1\td\t2\ta b")):
        with pytest.raises(FileFormatError, match=r":2: expected .* columns .* Ids may hold no white space"):
            read_run(written(tmp_path, f"{head}\n{row}\n"))


def test_judgement_list_is_read_as_qrels(tmp_path: Path) -> None:
    """As of the demo of Elasticsearch's plug-in, and with features, as for RankLib."""
    path = tmp_path / "judgements.txt"
    path.write_text(
        "# qid:1: rambo\n#\n4\tqid:1 #\t7555\tRambo\n0\tqid:1 #\t13258\tSon of Rambow\n1\tqid:2 #\t7555\tRambo\n"
    )
    assert dict(read_qrels(path).items()) == {"1": {"13258": 0, "7555": 4}, "2": {"7555": 1}}
    path.write_text("2 qid:q1 1:0.5 2:3 # docid = GX1 inc = 1\n0 qid:q1 1:0 #GX2 other\n")
    assert dict(read_qrels(path).items()) == {"q1": {"GX1": 2, "GX2": 0}}
    path.write_text("2 qid:q1 # GX1\nx qid:q1 # GX2\n")
    with pytest.raises(FileFormatError, match=r"judgements.txt:2: expected a whole number as label, got 'x'"):
        read_qrels(path)
    path.write_text("2 qid:q1 # GX1\n2 qid:q1 # GX1\n")
    with pytest.raises(FileFormatError, match=r"judgements.txt:2: expected each document once in a query, got 'GX1'"):
        read_qrels(path)


@pytest.mark.parametrize(
    ("rows", "remedy"),
    [
        ("q1\td1\tE\nq1\td2\tI\n", "`awk '{$NF = index(\"ICSE\", $NF) - 1} 1'`"),
        ("q1 0 d1 .5\n", "`awk '{$NF *= 10} 1'`"),
        ("q1\td1\nq1\td2\n", "`awk '{print $1, 0, $2, 1}'`"),
        ("1 28 0 0.000000\n1 35 0 0.000000\n", "of SMART's `awk '{print $1, 0, $2, 1}'`"),
        ("1 Q0 d1 300 3000 1 1:100 500:200\n", "`awk '{print $1, 0, $3, ($4 > 0)}'` with lengths after it (INEX)"),
        (".I 1\n.W\nheat flow\n", "got the format of SMART. Write lines of id, tab and text with `awk"),
    ],
    ids=["letters", "fractions", "relevant documents", "SMART", "INEX", "SMART's texts"],
)
def test_read_qrels_says_how_to_convert_other_judgements(tmp_path, rows, remedy):
    path = tmp_path / "qrels"
    path.write_text(rows)
    with pytest.raises(FileFormatError) as refused:
        read_qrels(path)
    assert remedy in str(refused.value)


@pytest.mark.parametrize(
    ("scores", "is_said"),
    [
        ((0.1, 0.4, 3.0), True),
        ((3.0, 0.4, 0.1), False),
        ((0.1, 3.0, 0.4), False),
        ((3.0, 3.0, 3.0), True),
        ((3.0, 3.0, 0.4), False),
    ],
)
def test_read_run_says_that_scores_do_not_fall_from_line_to_line(tmp_path, caplog, scores, is_said):
    path = tmp_path / "run"
    path.write_text(
        "".join(f"{query} Q0 d{rank} {rank} {score} t\n" for query in "ab" for rank, score in enumerate(scores, 1))
    )
    assert next(iter(read_run(path)["a"])) == f"d{3 - scores[::-1].index(3.0)}"  # as trec_eval orders them
    text = "the last line is the first result, and of equal scores that of the greatest id."
    assert (text in caplog.text) is is_said


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["1 Q0 a 1 1.5 t", "1 Q0 b 2 3 t", "1 Q0 c 3 2 t"], True),  # scores of another order
        (["qid\tdocno\tscore\trank", "1\ta\t1.5\t0", "1\tb\t3\t1"], True),
        (["1 Q0 a 1 3 t", "1 Q0 b 2 2 t", "2 Q0 b 3 9 t"], False),
        (["1 Q0 a 2 1.5 t", "1 Q0 b 1 3 t", "1 Q0 c 3 1 t"], False),  # lines of another order
        (["1 Q0 a 0 1.5 t", "1 Q0 b 0 3 t", "1 Q0 c 0 2 t"], False),
        (["1 Q0 a 1 1 t", "1 Q0 b 2 1.00000001 t"], False),  # equal as float32
        (["1 Q0 a x 1.5 t", "1 Q0 b y 3 t"], False),
        (["1 Q0 a 1 1.5 t", "# of b 1 no score"], False),
        (["id Q0 a 1 score t", "1 Q0 a 1 1.5 t"], False),  # a header with a number
    ],
)
def test_a_run_whose_ranks_contradict_its_scores_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, rows: list[str], says: bool
) -> None:
    path = tmp_path / "a.run"
    path.write_text("\n".join([*rows, ""]))
    read_run(path)
    assert ("ranks and scores contradict each other: documents are ordered by score" in caplog.text) is says
