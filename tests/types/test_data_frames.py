"""Data frames: round trips, the column names of other tools, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import InvalidInputError, RerankError
from rerank.evaluation.comparison import compare
from rerank.evaluation.evaluate import evaluate
from rerank.rankers.arrays import data_from_arrays, feature_matrix
from rerank.types import Qrels, RankingData, Run, Topics, pointers, query_rows
from rerank.types.data_frames import frame_rows, is_frame, number_of
from rerank.types.ids import id_array, id_bytes
from rerank.types.ranking_data import weight_members, weights_of_rows

pd = pytest.importorskip("pandas")

ids = st.text("ab<&", min_size=1, max_size=3) | st.text("aZ09-é語😀", min_size=1, max_size=9)
scores = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, -1.0]) | st.floats(allow_nan=False, allow_infinity=False)
runs = st.dictionaries(ids, st.dictionaries(ids, scores, min_size=1, max_size=8), max_size=5)
labels = st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 4)
judgements = st.dictionaries(ids, st.dictionaries(ids, labels, min_size=1, max_size=8), max_size=5)
feature_names = st.lists(st.text("fgé<.", min_size=1, max_size=4), unique=True, max_size=4)
optional = st.booleans()


def assert_same(table, other) -> None:
    """Every field is equal, arrays in dtype and bits."""
    for field in fields(table):
        value, restored = getattr(table, field.name), getattr(other, field.name)
        if isinstance(value, np.ndarray) and value.dtype.kind != "U":
            assert value.dtype == restored.dtype
            assert value.tobytes() == restored.tobytes(), field.name
        elif isinstance(value, np.ndarray):
            assert value.tolist() == restored.tolist(), field.name
        else:
            assert value == restored, field.name


@st.composite
def ranking_data(draw) -> RankingData:
    table = draw(runs)
    names = tuple(draw(feature_names))
    sizes = [len(documents) for documents in table.values()]
    n_rows = sum(sizes)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))

    def maybe(values):
        return values if draw(optional) else None

    X = random.normal(size=(n_rows, len(names))).astype(np.float32)
    X[random.random(X.shape) < 0.2] = np.nan
    return RankingData(
        query_ids=id_array(list(table)),
        query_ptr=pointers(sizes),
        doc_ids=id_array([doc_id for documents in table.values() for doc_id in documents]),
        X=X,
        feature_names=names,
        labels=maybe(random.integers(0, 3, n_rows).astype(np.float64)),
        base_scores=maybe(random.normal(size=n_rows)),
        **weight_members(maybe(random.random(n_rows)), pointers(sizes)),
    )


@given(runs, st.text("abc-=.", min_size=1, max_size=9))
@settings(max_examples=60)
def test_run_survives_a_frame(table: dict, name: str) -> None:
    run = replace(Run.of(table), name=name)
    assert_same(run, Run.from_frame(run.to_frame(), name))
    assert_same(run, replace(Run.of(run.to_frame().drop(columns="rank")), name=name))


@given(runs, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_run_keeps_the_order_of_tied_documents_by_rank(table: dict, random) -> None:
    tied = {query_id: dict.fromkeys(documents, 1.0) for query_id, documents in table.items()}
    run = Run.of(tied)
    keys = np.array([random.random() for _ in range(run.n_rows)])
    run = run.take(np.lexsort((keys, query_rows(run.query_ptr))))
    frame = run.to_frame()
    rows = sorted(range(len(frame)), key=lambda row: (list(run).index(frame.query_id[row]), random.random()))
    assert_same(run, Run.from_frame(frame.iloc[rows]))


@given(judgements)
@settings(max_examples=60)
def test_qrels_survive_a_frame(table: dict) -> None:
    qrels = Qrels.of(table)
    assert_same(qrels, Qrels.from_frame(qrels.to_frame()))
    assert_same(qrels, Qrels.of(qrels.to_frame()))


@given(ranking_data())
@settings(max_examples=60)
def test_ranking_data_survive_a_frame(data: RankingData) -> None:
    frame = data.to_frame()
    assert list(frame.columns)[:2] == ["query_id", "doc_id"]
    assert_same(data, RankingData.from_frame(frame))
    assert_same(data, RankingData.from_frame(frame, data.feature_names))


@given(ranking_data(), st.data())
@settings(max_examples=40)
def test_frame_of_some_queries_is_the_selected_data(data: RankingData, choice) -> None:
    numbers = choice.draw(st.lists(st.integers(0, max(len(data) - 1, 0)), unique=True, max_size=len(data)))
    frame = data.to_frame()
    chosen = pd.concat([frame[frame.query_id == data.query_ids[number]] for number in numbers] or [frame[:0]])
    selected = data.select(numbers)
    # A frame has one weight of each row: where the rows of every query are equal, they are weights of queries.
    members = {"weights": None, "row_weights": None, **weight_members(weights_of_rows(selected), selected.query_ptr)}
    assert_same(replace(selected, **members), RankingData.from_frame(chosen))


@pytest.mark.parametrize(
    "columns",
    [("query_id", "doc_id", "score"), ("qid", "docno", "score"), ("qid", "doc", "score")],
)
def test_run_takes_the_columns_of_other_tools(columns: tuple[str, ...]) -> None:
    frame = pd.DataFrame([["q1", "d1", 1], ["q2", "d1", 5], ["q1", "d2", 2]], columns=columns).assign(
        docid=7, query="x"
    )
    assert {query_id: Run.of(frame)[query_id] for query_id in Run.of(frame)} == {
        "q1": {"d2": 2.0, "d1": 1.0},
        "q2": {"d1": 5.0},
    }


def test_rows_of_ir_measures_are_records() -> None:
    qrels = [ir_measures.Qrel("q", "a", 2), ir_measures.Qrel("p", "a", 0), ir_measures.Qrel("q", "b", 1)]
    assert dict(Qrels.of(qrels).items()) == {"q": {"a": 2, "b": 1}, "p": {"a": 0}}
    run = (ir_measures.ScoredDoc("q", doc_id, score) for doc_id, score in (("a", 1.5), ("b", 2.0)))
    assert dict(Run.of(run).items()) == {"q": {"b": 2.0, "a": 1.5}}
    with pytest.raises(InvalidInputError, match=r"got \['q', 'a'\] \(list\)\. Read one with rerank\.read_run, or pass"):
        Run.of(["q", "a"])


def test_tables_of_arrow_are_records() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(
        {"qid": ["q", "q", "r"], "docno": ["a", "b", "a"], "label": [2, 0, 1], "bm25": [1.5, None, 3.0]}
    )
    assert dict(Qrels.of(table).items()) == {"q": {"a": 2, "b": 0}, "r": {"a": 1}}
    assert dict(Topics.of(arrow.table({"qid": ["q"], "query": ["heat"]}))) == {"q": "heat"}
    data = RankingData.from_frame(table)
    assert data.feature_names == ("bm25",)
    np.testing.assert_array_equal(data.X[:, 0], [1.5, np.nan, 3.0])
    with pytest.raises(InvalidInputError, match="expected a column doc_id or docno or doc, got 'qid, label'"):
        Qrels.of(table.select(["qid", "label"]))


def test_streams_of_rows_are_no_frames() -> None:
    class Stream:  # as datasets.IterableDataset: rows without a length, and perhaps without names
        column_names = None

        def __iter__(self) -> Iterator[dict[str, str]]:
            return iter([{"id": "a", "title": "heat"}])

    assert not is_frame(Stream())


@pytest.mark.parametrize("kind", [Topics, Qrels, Run])
def test_rows_that_are_no_frame_are_refused_as_one(kind: Any) -> None:
    for rows in ([{"qid": "1", "docno": "a", "label": 1, "query": "x", "score": 1.0}], np.zeros(2)):
        with pytest.raises(
            InvalidInputError, match=rf"data frame: expected one, got {type(rows).__name__}\. Pass pandas"
        ):
            kind.from_frame(rows)


def test_rows_of_a_frame_have_its_named_index_and_none_where_a_value_is_missing() -> None:
    frame = pd.DataFrame({"docno": ["a", "b"], "title": ["heat", None], "year": [1967, np.nan]}).set_index("docno")
    first, second = frame_rows(frame)
    assert first == {"docno": "a", "title": "heat", "year": 1967}
    assert second == {"docno": "b", "title": None, "year": None}


def test_lists_of_polars_are_lists() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": ["a", "b"], "tags": [["x", "y"], ["z"]]})
    assert not is_frame(frame.lazy())
    assert frame_rows(frame) == [{"id": "a", "tags": ["x", "y"]}, {"id": "b", "tags": ["z"]}]


def test_qrels_take_the_columns_of_other_tools() -> None:
    rows = [["q1", "d1", 1.0], ["q1", "d0", 0.0]]
    for columns in (["qid", "docno", "label"], ["query_id", "doc_id", "relevance"]):
        assert Qrels.of(pd.DataFrame(rows, columns=columns))["q1"] == {"d0": 0, "d1": 1}


def test_lists_by_name_are_columns() -> None:
    columns = {"query-id": ["q1", "q1", "q2"], "corpus-id": ["a", "b", "a"], "score": [1, 0, 2]}
    assert Qrels.of(columns)["q1"] == {"a": 1, "b": 0}
    assert dict(Topics.of({"qid": ["q1", "q2"], "query": ["heat", "flow"]})) == {"q1": "heat", "q2": "flow"}


def test_hits_may_be_lists_of_two() -> None:
    assert Run.of(json.loads('{"q1": [["a", 0.5], ["b", 0.2]]}'))["q1"] == {"a": 0.5, "b": 0.2}


def test_splits_of_a_data_set_are_refused_with_the_way() -> None:
    frame = pd.DataFrame({"query-id": ["q"], "corpus-id": ["d"], "score": [1]})
    with pytest.raises(InvalidInputError, match=r"Take a split of the data set: data\['test'\]"):
        Qrels.of({"test": frame})


def test_hits_that_are_mappings_are_refused_with_the_way() -> None:
    with pytest.raises(InvalidInputError, match=r"of hits, \{q: \{hit\['id'\]: hit\['score'\] for hit in hits\}"):
        Run.of({"q1": [{"corpus_id": 2, "score": 0.9}]})


@given(st.dictionaries(ids, st.text("ab c", min_size=1).filter(str.strip), min_size=1, max_size=5))
@settings(max_examples=60)
def test_topics_survive_a_frame(table: dict) -> None:
    topics = Topics.of(table)
    assert list(Topics.of(topics.to_frame()).items()) == list(topics.items())
    assert Topics.of(topics.to_frame().rename(columns={"query_id": "qid", "text": "query"})) == topics


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"qid": ["q", "q"], "query": ["a", "b"]}, "topics: expected each query id once, got 'q' twice"),
        ({"qid": ["q"], "query": [None]}, "topics: expected a text for query 'q', got None"),
        ({"qid": ["q"], "narrative": ["a"]}, "topics: expected a column text or query, got"),
    ],
)
def test_topics_that_do_not_fit_are_refused(columns: dict, message: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Topics.of(pd.DataFrame(columns))
    assert message in str(refused.value)


def test_frames_are_arguments_of_the_functions() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}, "r": {"a": 2}}, {"q": {"a": 1.0, "b": 2.0}, "r": {"a": 1.0}}
    expected = evaluate(qrels, run, ["AP", "nDCG@10"])
    result = evaluate(Qrels.of(qrels).to_frame(), Run.of(run).to_frame(), ["AP", "nDCG@10"])
    assert result.per_query == expected.per_query
    frames = {"a": Run.of(run).to_frame(), "b": Run.of(run).to_frame()}
    assert compare(Qrels.of(qrels).to_frame(), frames, ["AP"]).systems == ("b",)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "Int64", "object"])
def test_whole_numbers_as_ids_become_text(dtype: str) -> None:
    frame = pd.DataFrame({"query_id": [7, 12], "doc_id": [1, 1], "score": [1.0, 2.0]})
    assert list(Run.from_frame(frame.astype({"query_id": dtype}))) == ["7", "12"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            301.0,
            "expected text or whole numbers in column qid, got 301.0 (float) at row 1. Read ids as text (dtype=str).",
        ),
        (True, "expected text or whole numbers in column qid, got True (bool) at row 1. Read ids as text (dtype=str)."),
        (
            None,
            "expected text or whole numbers in column qid, got None (NoneType) at row 1. Read ids as text (dtype=str).",
        ),
        ("", "expected ids in column qid, got '' at row 1. Name each one."),
    ],
)
def test_other_ids_are_refused(value: object, message: str) -> None:
    frame = pd.DataFrame({"qid": pd.Series(["q", value], dtype=object), "docno": ["a", "b"], "score": [1.0, 2.0]})
    with pytest.raises(InvalidInputError) as refused:
        Run.of(frame)
    assert str(refused.value) == f"run: {message}"


NAMES = {  # of MTEB and BEIR, trectools, ranx and others: query, document, label or score
    "query-id corpus-id score": {"q": {"a": 1}},
    "query docid rel": {"q": {"a": 1}},
    "q_id doc_id score": {"q": {"a": 1}},
    "Topic DocNo Relevance": {"q": {"a": 1}},
    "query_id product_id label": {"q": {"a": 1}},
    "Query Text,Doc ID,Rating": {"q": {"a": 1}},
}


@pytest.mark.parametrize("names", NAMES)
def test_judgements_are_read_by_the_names_of_columns_of_other_tools(names: str) -> None:
    columns = names.split("," if "," in names else " ")
    row = dict(zip(columns, ["q", "a", 1], strict=True))
    for table in (pd.DataFrame([row]), [row], iter([row]), pd.DataFrame([row]).set_index(columns[0])):
        assert dict(Qrels.of(table)) == NAMES[names]


def test_a_score_is_no_label_where_there_is_a_label() -> None:
    assert Qrels.of(pd.DataFrame({"qid": ["q"], "docno": ["a"], "label": [2], "score": [0.5]}))["q"] == {"a": 2}
    with pytest.raises(InvalidInputError, match="expected whole numbers as labels"):
        Qrels.of(pd.DataFrame({"qid": ["q"], "docno": ["a"], "score": [0.5]}))


def test_scores_beside_ranks_are_no_labels() -> None:
    """A run is no qrels, also where its scores are whole numbers."""
    run = pd.DataFrame({"qid": ["q"], "docno": ["a"], "rank": [0], "score": [3.0]})
    with pytest.raises(InvalidInputError, match="qrels: expected a column label or relevance, got 'qid, docno, rank, "):
        Qrels.of(run)
    assert dict(Run.of(run)["q"]) == {"a": 3.0}


def test_a_feature_is_no_label_by_another_name() -> None:
    data = RankingData.from_frame(pd.DataFrame({"qid": ["q"], "docid": ["a"], "rel": [0.5], "score": [2.0]}))
    assert data.labels is None
    assert data.feature_names == ("rel", "score")


def test_columns_in_the_index_are_read() -> None:
    frame = pd.DataFrame({"qid": ["q"], "docno": ["a"], "score": [1.0]}).set_index(["qid", "docno"])
    assert Run.of(frame)["q"] == Run.of(frame.score)["q"] == {"a": 1.0}


def test_scores_are_those_of_a_file_of_ranks_where_there_is_no_score() -> None:
    columns = {"qid": ["q", "q"], "docno": ["a", "b"]}
    for first in (0, 1):
        assert Run.of(pd.DataFrame({**columns, "rank": [first + 1, first]}))["q"] == {"b": 1.0, "a": 0.5}


def test_runs_and_judgements_of_ranx_are_read() -> None:
    ranx = pytest.importorskip("ranx")
    assert Run.of(ranx.Run({"q": {"a": 1.0, "b": 2.0}}))["q"] == {"b": 2.0, "a": 1.0}
    assert Qrels.of(ranx.Qrels({"q": {"a": 1}}))["q"] == {"a": 1}


def test_hits_of_pyserini_and_pairs_are_read() -> None:
    """As LuceneSearcher.batch_search returns them."""
    hits = [SimpleNamespace(docid="a", score=2.0, lucene_docid=7), SimpleNamespace(docid="b", score=3.0)]
    expected = {"q": {"b": 3.0, "a": 2.0}, "r": {}}
    assert dict(Run.of({"q": hits, "r": []})) == dict(Run.of({"q": [("a", 2.0), ("b", 3.0)], "r": {}})) == expected
    with pytest.raises(InvalidInputError, match="expected each document once in a query, got 'a' twice"):
        Run.of({"q": [hits[0], hits[0]]})


def test_a_plan_of_polars_is_carried_out() -> None:
    polars = pytest.importorskip("polars")
    assert Qrels.of(polars.DataFrame({"qid": ["q"], "docno": ["a"], "label": [1]}).lazy())["q"] == {"a": 1}


def test_lists_of_documents_are_refused_with_what_makes_a_run_of_them() -> None:
    run, qrels = {"q": ["a", "b"]}, {"q": {"b"}}
    with pytest.raises(InvalidInputError) as refused:
        Run.of(run)
    assert "pass {q: {d: -n for n, d in enumerate(docs)} for q, docs in run.items()}" in str(refused.value)
    with pytest.raises(InvalidInputError) as refused:
        Qrels.of(qrels)
    assert "pass {q: dict.fromkeys(docs, 1) for q, docs in qrels.items()}" in str(refused.value)
    scores = {q: {d: -n for n, d in enumerate(docs)} for q, docs in run.items()}
    assert evaluate({q: dict.fromkeys(docs, 1) for q, docs in qrels.items()}, scores, ["RR"])["RR"] == 0.5


def test_topics_are_read_from_rows_and_by_the_names_of_their_columns() -> None:
    assert dict(Topics.of([{"_id": "q", "text": "heat"}])) == {"q": "heat"}
    assert dict(Topics.of(pd.DataFrame({"id": [1], "title": ["heat"]}))) == {"1": "heat"}
    assert dict(Topics.of(pd.Series({"q": "heat"}))) == {"q": "heat"}
    with pytest.raises(InvalidInputError, match="expected a column query_id or qid"):
        Topics.of(pd.DataFrame({"query": ["heat"]}))


def test_floats_as_ids_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"expected text or whole numbers in column qid, got 1\.0 "):
        Run.of(pd.DataFrame({"qid": [1.0, 2.0], "docno": ["a", "b"], "score": [1.0, 2.0]}))


RUN = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [2.0, 1.0], "rank": [0, 1]}
QRELS = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "label": [1, 0]}
DATA = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "label": [1, 0], "f": [1.0, None]}


@pytest.mark.parametrize(
    ("kind", "columns", "changes", "message"),
    [
        (Run, RUN, {"score": None, "rank": None}, "expected a column score, got"),
        (Run, RUN, {"qid": ["q", "q"]}, "expected one column of query_id or qid, got both"),
        (Run, RUN, {"doc_id": ["a", "a"]}, "expected each document once in a query, got 'a' twice in query 'q'"),
        (Run, RUN, {"score": [1.0, 2.0]}, "expected scores that do not rise with the rank, got a higher score for doc"),
        (Run, RUN, {"score": [1.0, np.nan]}, "expected finite numbers in column score, got nan at row 1"),
        (Run, RUN, {"score": ["2", "1"]}, "expected numbers in column 'score', got '2' (str) at row 0"),
        (Run, RUN, {"rank": [0, np.nan]}, "expected finite numbers in column rank, got nan at row 1"),
        (Qrels, QRELS, {"label": [1.0, 0.5]}, "expected whole numbers as labels, got 0.5 at row 1"),
        (Qrels, QRELS, {"label": [1.0, np.nan]}, "expected finite numbers in column label, got nan at row 1"),
        (Qrels, QRELS, {"relevance": [1, 0]}, "expected one column of label or relevance, got both"),
        (Qrels, QRELS, {"doc_id": ["a", "a"]}, "expected each document once in a query"),
        (RankingData, DATA, {"f": ["x", "y"]}, "expected numbers in column 'f', got 'x' (str) at row 0"),
        (RankingData, DATA, {"f": [np.inf, 1.0]}, "expected finite numbers in column f, got inf at row 0"),
        (RankingData, DATA, {"f": [1e300, 1.0]}, "expected numbers within float32 in column 'f', got a larger one"),
        (RankingData, DATA, {3: [1.0, 2.0]}, "expected feature columns with names of text, got 3"),
    ],
)
def test_frames_that_do_not_fit_are_refused(kind, columns: dict, changes: dict, message: str) -> None:
    frame = pd.DataFrame({name: values for name, values in {**columns, **changes}.items() if values is not None})
    with pytest.raises(InvalidInputError) as refused:
        kind.from_frame(frame)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("read", "columns"),
    [
        (Topics.of, ["query_id", "text"]),
        (Qrels.of, ["query_id", "doc_id", "label"]),
        (Run.of, ["query_id", "doc_id", "score"]),
        (RankingData.from_frame, ["query_id", "doc_id", "label", "f"]),
        (frame_rows, ["id", "text"]),
    ],
)
def test_frames_with_a_column_twice_are_refused(read, columns: list[str]) -> None:
    for name in columns:
        frame = pd.DataFrame([[1] * (len(columns) + 1)], columns=[*columns, name])
        with pytest.raises(InvalidInputError, match=f"expected each column once, got '{name}' again"):
            read(frame)


def test_columns_of_the_same_name_are_refused_when_they_are_features() -> None:
    frame = pd.DataFrame([["q", "d", 1.0, 2.0]], columns=["query_id", "doc_id", "x", "x"])
    with pytest.raises(InvalidInputError, match=r"^data: expected each column once, got 'x' again\."):
        RankingData.from_frame(frame)


def test_feature_with_the_name_of_a_column_is_refused() -> None:
    data = RankingData.from_frame(pd.DataFrame(DATA))
    with pytest.raises(InvalidInputError, match="got 'label'"):
        replace(data, feature_names=("label",)).to_frame()


def test_result_as_a_frame_has_the_figures_of_queries_and_their_means() -> None:
    result = evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"b": 2.0, "a": 1.0}}, ["AP", "relstring"])
    frame = result.to_frame()
    assert frame.index.name == "query_id"
    assert frame.to_dict() == {name: dict(values) for name, values in result.per_query.items()}
    assert result.to_frame(per_query=False).to_dict("index") == {"rerank": {"AP": 0.75}}


def test_comparison_as_a_frame_has_every_figure() -> None:
    qrels = {f"q{number}": {"a": 1} for number in range(8)}
    first = {query_id: {"a": 1.0, "b": 2.0} for query_id in qrels}
    second = first | {"q0": {"a": 3.0, "b": 2.0}, "q1": {"a": 3.0}}
    comparison = compare(qrels, {"one": first, "two": second}, ["AP", "P@1"])
    frame = comparison.to_frame().set_index(["run", "measure"])
    for (run, measure), row in frame.iterrows():
        assert row["mean"] == comparison.results[run][measure]
        if run == "two":
            difference = comparison.differences[run][measure]
            assert row["difference"] == difference.difference
            assert row["p_wilcoxon"] == difference.p_values["wilcoxon"]
            assert row["p_value"] == comparison.p_values[run][measure]
            assert (row["wins"], row["ties"], row["losses"]) == (2, 6, 0)
        else:
            assert np.isnan(row["difference"])


@given(runs)
@settings(max_examples=40)
def test_tables_show_the_first_rows(table: dict) -> None:
    for shown in (Run.of(table), Qrels.of({q: dict.fromkeys(docs, 1) for q, docs in table.items()})):
        text = repr(shown)
        assert text.startswith(type(shown).__name__)
        assert len(text.splitlines()) <= 8


def test_table_of_a_run_is_short() -> None:
    run = replace(Run.of({"q1": {"d1": 2.5, "d2": 1.0}, "q2": {f"d{n}": float(-n) for n in range(9)}}), name="bm25")
    assert repr(run).splitlines() == [
        "Run 'bm25': 2 queries, 11 documents",
        "query_id    doc_id      score    rank",
        "q1          d1            2.5       1",
        "q1          d2              1       2",
        "q2          d0              0       1",
        "q2          d1             -1       2",
        "q2          d2             -2       3",
        "...",
    ]
    assert repr(replace(run, doc_ids=id_bytes(run.doc_ids))) == repr(run)


@given(ranking_data())
@settings(max_examples=20)
def test_table_of_data_has_its_counts(data: RankingData) -> None:
    assert repr(data).startswith("RankingData: ")


def test_table_of_topics_has_the_first_texts() -> None:
    topics = Topics.of({f"q{number}": "heat\tflow <b>" for number in range(7)})
    assert repr(topics).splitlines() == [
        "Topics: 7 queries",
        "query_id    text",
        *(f"q{number}          heat\\tflow <b>" for number in range(5)),
        "...",
    ]


def test_tables_of_results_show_the_means() -> None:
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"b": 2.0, "a": 1.0}}
    result = evaluate(qrels, run, ["AP", "relstring"])
    assert repr(result).splitlines()[0] == "EvaluationResult 'rerank': 2 queries, AP 0.7500"


def test_pandas_is_imported_only_where_a_frame_is_made() -> None:
    program = (
        "import sys, rerank\n"
        "run = rerank.Run.of({'q': {'a': 1.0}})\n"
        "print(rerank.evaluate({'q': {'a': 1}}, run, ['AP']), repr(run), file=sys.stderr)\n"
        "assert 'pandas' not in sys.modules\n"
        "sys.modules['pandas'] = None\n"
        "try:\n    run.to_frame()\nexcept rerank.RerankError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "pandas: expected it installed to make a data frame, got none. Run `pip install pandas`.\n"
    assert issubclass(InvalidInputError, RerankError)


def test_categories_are_refused_with_the_call_that_takes_them() -> None:
    frame = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "label": [0, 1], "x": [0.5, 1.5]})
    message = r"^data: expected numbers, got categories in column 'x'\. Convert them to numbers, or train boosted"
    with pytest.raises(InvalidInputError, match=message):
        RankingData.from_frame(frame.astype({"x": "category"}))


PAIRS = {"qid": ["1", "1"], "docno": ["a", "b"], "label": [0, 1], "x": [0.5, 1.5]}


def test_ranking_data_are_read_from_rows_that_may_lack_values() -> None:
    rows = pd.DataFrame(PAIRS).to_dict("records")
    assert RankingData.from_frame([*rows, {"qid": "1", "docno": "c", "label": 0}]).X[:2].tolist() == [[0.5], [1.5]]
    with pytest.raises(InvalidInputError, match=r"^data: expected a data frame, got 'data\.csv'\. Read files with"):
        RankingData.from_frame("data.csv")


@pytest.mark.parametrize("n_queries", [1, 3, 5])
def test_run_is_read_from_lists_by_name_whatever_the_number_of_queries(n_queries: int) -> None:
    lists = {
        "qid": [f"q{row % n_queries}" for row in range(5)],
        "docno": list("abcde"),
        "score": [5.0, 4.0, 3.0, 2.0, 1.0],
    }
    assert dict(Run.of(lists)) == dict(Run.from_frame(pd.DataFrame(lists)))


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__", "index", "level_0"])
def test_an_index_that_pandas_wrote_is_no_feature(name: str) -> None:
    frame = pd.DataFrame(PAIRS).assign(**{name: [7, 3]})
    assert RankingData.from_frame(frame).feature_names == ("x",)
    assert RankingData.from_frame(frame, [name]).feature_names == (name,)


@pytest.mark.parametrize("values", [[7, 7], [0.5, 1.5]])
def test_feature_that_is_named_as_an_index_is_one_where_it_counts_no_rows(values: list[float]) -> None:
    frame = pd.DataFrame(PAIRS).assign(index=values)
    assert RankingData.from_frame(frame).feature_names == ("x", "index")


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_times_are_no_numbers_whatever_their_unit(unit: str) -> None:
    frame = pd.DataFrame(PAIRS).assign(x=np.array(["2024-01-01", "2024-01-02"], f"datetime64[{unit}]"))
    with pytest.raises(InvalidInputError, match="expected numbers in column 'x', got 2024-01-01 00:00:00"):
        RankingData.from_frame(frame)


def test_features_that_are_the_label_are_named(caplog: pytest.LogCaptureFixture) -> None:
    RankingData.from_frame(pd.DataFrame(PAIRS).assign(zero=0.0, grade=[0, 1], click=[False, True]))
    assert caplog.messages == [
        "data: features equal the label in every row, 'grade', 'click': leave them out, unless new documents have them."
    ]


def test_features_that_float32_rounds_to_one_value_are_named(caplog: pytest.LogCaptureFixture) -> None:
    RankingData.from_frame(pd.DataFrame(PAIRS).assign(time=[1717527763, 1717527764], tenth=0.1))
    assert caplog.messages == [
        "data: feature 'time' has 2 values, of which float32 tells 1 apart. Subtract a constant from it."
    ]


def test_what_is_masked_is_missing() -> None:
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(feature_matrix(masked), [[1.0, np.nan], [3.0, 4.0]])
    whole = np.ma.masked_array([1, 2], mask=[0, 1])
    with pytest.raises(InvalidInputError, match="y: expected a finite number for each of 2 rows, got nan at row 1"):
        data_from_arrays(masked, whole, [1, 1])
    with pytest.raises(InvalidInputError, match="qid: expected the query of every row, got nan at row 1"):
        data_from_arrays(masked, [1, 2], whole)


def test_queries_of_a_mapping_may_have_no_document() -> None:
    run = Run.of({"q1": {}, "q2": {"a": 1.0}, 3: {}})
    assert {query: run[query] for query in run} == {"q1": {}, "q2": {"a": 1.0}, "3": {}}
    assert dict(run.items()) == {"q1": {}, "q2": {"a": 1.0}, "3": {}}
    assert list(Run.of({"q1": {}})) == ["q1"]
    with pytest.raises(InvalidInputError, match="expected text or whole numbers in column query_id, got None"):
        Run.of({"q1": {"a": 1.0}, None: {}})


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (np.int64(1967), 1967), (np.float32(0.5), 0.5), (np.bool_(True), 1), (True, 1), (Decimal("0.5"), 0.5),
        (Fraction(1, 2), 0.5), (np.array(3), 3), (7, 7), (2.5, 2.5), ("7", None), (b"7", None), ([7], None), (1j, None),
        (np.datetime64("2024-01-01"), None), (np.array([1.0, 2.0]), None),
    ],
)  # fmt: skip
def test_numbers_have_any_type(value: Any, number: float | None) -> None:
    found = number_of(value)
    assert found == number
    assert type(found) is type(number)


def test_numbers_of_pandas_and_arrow_are_numbers() -> None:
    arrow = pytest.importorskip("pyarrow")
    assert [number_of(value) for value in (arrow.scalar(3), arrow.scalar(0.5), arrow.scalar(True))] == [3, 0.5, 1]
    assert number_of(pd.Series([4], dtype="Int64")[0]) == 4
    assert np.isnan(number_of(pd.NA))
    assert np.isnan(number_of(arrow.scalar(None)))
    assert number_of(arrow.scalar("3")) is None
