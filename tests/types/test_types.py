"""Laws of the records, against obvious oracles of dicts and `sorted`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rerank.errors import InvalidInputError
from rerank.types import Qrels, RankingData, Run, Topics, ideal_of_rows, pointers, query_rows
from rerank.types.ids import id_array, id_bytes, row_codes, sort_keys
from rerank.types.preferences import Preferences
from rerank.types.tie_order import trec_order

# Few letters and lengths about a word of eight bytes: ids that share beginnings, some of more than one byte a letter.
ids = st.text("ab", max_size=2).map(lambda end: "clueweb" + end) | st.text("aZ09-é語😀", min_size=1, max_size=18)
# Scores that tie, that tie only as float32, and any others.
scores = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-12, -1.0]) | st.floats(allow_nan=False, allow_infinity=False)
labels = st.integers(-2, 4)
runs = st.dictionaries(ids, st.dictionaries(ids, scores, min_size=1, max_size=8), min_size=1, max_size=5)
judgements = st.dictionaries(ids, st.dictionaries(ids, labels, min_size=1, max_size=8), min_size=1, max_size=5)


def as_dict(table: Qrels | Run) -> dict:
    return {query_id: table[query_id] for query_id in table}


def flat(table: dict) -> list[tuple]:
    return [(query_id, doc_id, value) for query_id, docs in table.items() for doc_id, value in docs.items()]


def as_bytes(table):
    """The same record with its document ids as files hand them over."""
    return replace(table, doc_ids=id_bytes(table.doc_ids))


def best_first(documents: dict[str, float]) -> list[str]:
    def key(doc_id: str) -> tuple[np.float32, bytes]:
        with np.errstate(over="ignore"):
            return np.float32(documents[doc_id]), doc_id.encode()

    return sorted(documents, key=key, reverse=True)


@given(runs)
def test_run_of_a_mapping_orders_each_query_as_trec_eval(table: dict) -> None:
    run = Run.of(table)
    assert list(run) == list(table)
    for query_id, documents in table.items():
        assert list(run[query_id]) == best_first(documents)
        assert run[query_id] == documents


@given(runs, st.randoms(use_true_random=False))
def test_run_does_not_depend_on_the_order_of_rows_or_the_form_of_ids(table: dict, random) -> None:
    rows = flat(table)
    random.shuffle(rows)
    run = Run.from_rows(*zip(*rows, strict=True))
    expected = {query_id: Run.of(table)[query_id] for query_id in run}
    assert list(run) == list(dict.fromkeys(row[0] for row in rows))
    for actual in (run, as_bytes(run), as_bytes(run).take(as_bytes(run).trec_order())):
        assert [list(actual[query_id].items()) for query_id in actual] == [
            list(docs.items()) for docs in expected.values()
        ]


@given(runs)
def test_order_of_ordered_rows_is_as_they_stand(table: dict) -> None:
    run = Run.of(table)
    np.testing.assert_array_equal(run.trec_order(), np.arange(run.n_rows))


def test_order_of_many_rows_equals_sorted() -> None:
    random = np.random.default_rng(0)
    query_ptr = pointers(random.integers(0, 60, 200))
    values = random.integers(0, 9, query_ptr[-1]).astype(np.float64)
    docs = id_array([f"clueweb09-en{number:06d}" for number in random.permutation(len(values))])
    query = query_rows(query_ptr)
    expected = sorted(range(len(values)), key=lambda row: docs[row], reverse=True)
    expected = sorted(expected, key=lambda row: (query[row], -values[row]))
    assert trec_order(query_ptr, values, docs).tolist() == expected
    assert trec_order(query_ptr, values, id_bytes(docs)).tolist() == expected


def test_scores_are_compared_as_float32_and_nan_stands_last() -> None:
    docs = id_array(["a", "b", "c", "d"])
    order = trec_order(pointers([4]), np.array([np.nan, 1.0, 1.0 + 1e-12, -1e300]), docs)
    assert docs[order].tolist() == ["c", "b", "d", "a"]


@given(runs, st.integers(0, 9))
def test_head_keeps_the_first_rows_of_each_query(table: dict, k: int) -> None:
    head = as_bytes(Run.of(table)).head(k)
    for query_id, documents in table.items():
        assert list(head[query_id]) == best_first(documents)[:k]


@pytest.mark.parametrize("k", [-1, 1.5, True, "2"])
def test_head_of_no_whole_number_of_rows_is_refused(k: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"^k: expected .*0 to 2147483647, got {k!r}"):
        Run.of({"q": {"d": 1.0}}).head(k)


@given(judgements)
def test_qrels_stand_by_ascending_document_id(table: dict) -> None:
    qrels = Qrels.of(table)
    assert as_dict(qrels) == table
    for query_id, documents in table.items():
        assert list(qrels[query_id]) == sorted(documents)


@given(judgements, runs, st.booleans(), st.booleans())
def test_lookup_equals_dictionaries(judged: dict, table: dict, packed_qrels: bool, packed_run: bool) -> None:
    qrels, run = Qrels.of(judged), Run.of(table)
    known = as_bytes(qrels) if packed_qrels else qrels
    wanted = id_bytes(run.doc_ids) if packed_run else run.doc_ids
    result, is_judged = known.lookup(run.query_ids, run.query_ptr, wanted)
    pairs = [(query_id, doc_id) for query_id in run for doc_id in run[query_id]]
    assert result.tolist() == [judged.get(query_id, {}).get(doc_id, 0) for query_id, doc_id in pairs]
    assert is_judged.tolist() == [doc_id in judged.get(query_id, {}) for query_id, doc_id in pairs]


@pytest.mark.parametrize("code", ["query", "one"])
def test_lookup_is_right_where_different_pairs_have_one_code(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    random = np.random.default_rng(1)
    judged = {f"q{q}": {f"d{d}": int(random.integers(-1, 3)) for d in random.permutation(30)[:9]} for q in range(5)}
    run = Run.of({f"q{q}": {f"d{d}": 1.0 for d in range(30)} for q in range(7)})
    monkeypatch.setattr(
        "rerank.types.query_table.row_codes", lambda query, ids: (query * 0 + (code == "one")).astype(np.uint64)
    )
    result, _ = Qrels.of(judged).lookup(run.query_ids, run.query_ptr, run.doc_ids)
    assert result.tolist() == [judged.get(q, {}).get(doc_id, 0) for q in run for doc_id in run[q]]


@given(judgements, st.lists(ids, max_size=4))
def test_ideal_holds_all_positive_labels_best_first(table: dict, others: list[str]) -> None:
    asked = [*table, *others]
    ideal, ideal_ptr = Qrels.of(table).ideal(id_array(asked))
    expected = [sorted((x for x in table.get(query_id, {}).values() if x > 0), reverse=True) for query_id in asked]
    assert [ideal[a:b].tolist() for a, b in itertools.pairwise(ideal_ptr)] == expected
    assert ideal.dtype == np.float64


@given(st.lists(st.lists(labels.map(float), max_size=5), max_size=5))
def test_ideal_of_rows_sorts_each_query(lists: list[list[float]]) -> None:
    values = np.array([label for part in lists for label in part], dtype=np.float64)
    ideal, ideal_ptr = ideal_of_rows(values, pointers([len(part) for part in lists]))
    expected = [sorted((label for label in part if label > 0), reverse=True) for part in lists]
    assert [ideal[a:b].tolist() for a, b in itertools.pairwise(ideal_ptr)] == expected


@given(st.lists(ids))
def test_text_survives_as_bytes_and_bytes_order_as_text(texts: list[str]) -> None:
    raw = id_bytes(id_array(texts))
    assert raw.tolist() == [text.encode() for text in texts]
    assert raw.dtype.itemsize % 8 == 0
    run = Run(id_array(["q"]), pointers([len(texts)]), raw, np.zeros(len(texts)))
    assert run.n_rows == len(texts)
    assert run.doc_ids.dtype.kind == "U"
    assert run.doc_ids.tolist() == texts
    assert np.lexsort(sort_keys(raw)).tolist() == sorted(range(len(texts)), key=lambda row: texts[row])


@given(st.lists(st.tuples(st.integers(0, 3), ids), min_size=1, max_size=20))
def test_codes_are_equal_for_equal_pairs_in_arrays_of_any_width(pairs: list[tuple[int, str]]) -> None:
    query = np.array([number for number, _ in pairs])
    together = row_codes(query, id_array([doc_id for _, doc_id in pairs]))
    alone = [row_codes(np.array([number]), id_array([doc_id]))[0] for number, doc_id in pairs]
    assert together.tolist() == alone
    assert len(set(alone)) == len(set(pairs))


def test_codes_differ_where_ids_differ_in_the_last_bytes_of_words() -> None:
    docs = id_array([f"doc0000{a}doc0000{b}" for a in "0123456789abcdef" for b in "0123456789abcdef"])
    codes = row_codes(np.zeros(len(docs), np.int64), docs)
    assert len(np.unique(codes)) == len(docs)
    assert len(np.unique(codes >> np.uint64(40))) > len(docs) - 5  # the first bits differ, too


def data_of(counts: list[int], with_ideal: bool) -> RankingData:
    n_rows = sum(counts)
    ideal = np.arange(1.0, 1 + 2 * len(counts))
    return RankingData(
        id_array([f"q{number}" for number in range(len(counts))]),
        pointers(counts),
        id_array([f"d{row}" for row in range(n_rows)]),
        np.arange(2 * n_rows, dtype=np.float32).reshape(n_rows, 2),
        ("a", "b"),
        labels=np.arange(n_rows) % 3 - 1.0,
        base_scores=np.arange(n_rows) / 2,
        weights=np.arange(len(counts)) + 1.0,
        ideal_labels=ideal if with_ideal else None,
        ideal_ptr=pointers([2] * len(counts)) if with_ideal else None,
    )


@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.booleans(), st.booleans(), st.data())
def test_select_takes_whole_queries_in_the_order_asked_for(counts, with_ideal, packed, drawn) -> None:
    data = data_of(counts, with_ideal)
    asked = drawn.draw(st.lists(st.integers(0, len(counts) - 1), unique=True))
    part = (as_bytes(data) if packed else data).select(asked)
    assert list(part) == [f"q{number}" for number in asked]
    rows = [row for number in asked for row in range(sum(counts[:number]), sum(counts[: number + 1]))]
    assert part.doc_ids.tolist() == [f"d{row}" for row in rows]
    np.testing.assert_array_equal(part.X, data.X[rows])
    for member in ("labels", "base_scores"):
        np.testing.assert_array_equal(getattr(part, member), getattr(data, member)[rows])
    assert part.weights.tolist() == [number + 1.0 for number in asked]
    ideal, ideal_ptr = part.ideal()
    whole, whole_ptr = data.ideal()
    for position, number in enumerate(asked):
        np.testing.assert_array_equal(
            ideal[ideal_ptr[position] : ideal_ptr[position + 1]], whole[whole_ptr[number] : whole_ptr[number + 1]]
        )


def test_row_weights_stay_with_their_rows_when_there_are_as_many_queries() -> None:
    data = replace(data_of([2, 1, 1], False), weights=None, row_weights=np.array([3.0, 4.0, 5.0, 6.0]))
    part = data.of_rows(np.array([0, 1, 3]))  # three rows of three queries, of which one has none
    assert len(part) == part.n_rows == 3
    assert part.row_weights.tolist() == [3.0, 4.0, 6.0]
    chosen = part.select([0, 2])
    assert chosen.weights is None
    assert chosen.row_weights.tolist() == [3.0, 4.0, 6.0]


@given(runs | judgements, st.booleans(), st.data())
def test_selected_queries_have_their_documents(table: dict, packed: bool, drawn) -> None:
    is_run = drawn.draw(st.booleans())
    whole = Run.of(table) if is_run else Qrels.of({query: dict.fromkeys(docs, 1) for query, docs in table.items()})
    asked = drawn.draw(st.lists(st.sampled_from([*table, "of no table"]), unique=True))
    part = (as_bytes(whole) if packed else whole).select(whole.query_numbers(asked))
    assert flat(as_dict(part)) == [row for query in asked if query in table for row in flat({query: whole[query]})]


@given(runs, st.booleans(), st.data())
def test_joined_parts_are_the_run(table: dict, packed: bool, drawn) -> None:
    whole = replace(Run.of(table), name="tag")
    ends = sorted(drawn.draw(st.lists(st.integers(0, len(table)), max_size=3)))
    bounds = itertools.pairwise([0, *ends, len(table)])
    parts = [(as_bytes(whole) if packed else whole).select(range(first, last)) for first, last in bounds]
    joined = Run.joined(parts)
    assert flat(as_dict(joined)) == flat(as_dict(whole))
    assert joined.name == "tag"


def test_data_ranks_by_new_scores_and_gives_columns_by_name() -> None:
    data = data_of([3, 2], with_ideal=False)
    run = data.run([1.0, 3.0, 1.0, 0.0, 5.0], "mine")
    assert run.name == "mine"
    assert as_dict(run) == {"q0": {"d1": 3.0, "d2": 1.0, "d0": 1.0}, "q1": {"d4": 5.0, "d3": 0.0}}
    assert list(run["q0"]) == ["d1", "d2", "d0"]
    assert data.column("b").tolist() == [1.0, 3.0, 5.0, 7.0, 9.0]
    with pytest.raises(InvalidInputError, match="feature: expected a known name, got 'c'"):
        data.column("c")


def test_records_refuse_what_they_cannot_hold() -> None:
    with pytest.raises(InvalidInputError, match="expected each query id once, got one twice"):
        Run(id_array(["q", "q"]), pointers([1, 1]), id_array(["a", "b"]), np.zeros(2))
    with pytest.raises(InvalidInputError, match=r"expected X of shape \(2, 1\) .*, got \(1, 2\)"):
        RankingData(id_array(["q"]), pointers([2]), id_array(["a", "b"]), np.zeros((1, 2), np.float32), ("f",))
    with pytest.raises(InvalidInputError, match=r"expected whole numbers as labels, got 0\.5"):
        Qrels.of({"q": {"d": 0.5}})  # type: ignore[dict-item]
    with pytest.raises(InvalidInputError, match="run: expected a run object or "):
        Run.of([("q", "d", 1.0)])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="got dict of 0 entries"):
        Topics.of({})
    with pytest.raises(InvalidInputError, match="expected labels, got none"):
        replace(data_of([1], with_ideal=False), labels=None).ideal()


def test_topics_are_a_mapping_of_text() -> None:
    topics = Topics.of({1: "heat flow", "q2": "wings"})  # type: ignore[dict-item]
    assert dict(topics) == {"1": "heat flow", "q2": "wings"}
    assert Topics.of(topics) is topics


def test_empty_records_are_allowed() -> None:
    run = Run.of({})
    assert (len(run), run.n_rows, run.trec_order().tolist()) == (0, 0, [])
    assert Qrels.of({"q": {"d": 1}}).lookup(run.query_ids, run.query_ptr, run.doc_ids)[0].tolist() == []
    assert Qrels.of({}).ideal(id_array(["q"]))[1].tolist() == [0, 0]


def lines_of_refusal(function: Callable[[Any], object], value: object) -> int:
    """Return the lines of the error with which a value is refused, 0 if it is not."""
    try:
        function(value)
    except InvalidInputError as error:
        return len(str(error).splitlines())
    return 0


anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=3)
anything |= st.lists(st.integers(), max_size=2) | st.just(2**70) | st.just("\ud800") | st.just("d\0")
keys = st.none() | st.integers(0, 2) | st.sampled_from(["0", "d", "", "d\0", "\ud800é"]) | st.binary(max_size=1)


@given(st.dictionaries(keys, st.dictionaries(keys, anything, max_size=3) | anything, max_size=3))
def test_mapping_of_anything_is_a_record_or_refused_in_one_line(table: dict) -> None:
    for of in (Qrels.of, Run.of, Topics.of):
        assert lines_of_refusal(of, table) <= 1


@pytest.mark.parametrize("label", [float("nan"), None, 2**70, 1.5, "x", float("inf"), [1]])
def test_label_that_is_no_whole_number_is_refused_by_its_document(label: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^qrels: .* at document 'd' of query 'q'\. "):
        Qrels.of({"q": {"d": label}})


def test_document_that_two_keys_name_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="expected each document once in a query, got '1' twice"):
        Qrels.of({"q": {1: 1, "1": 2}})


@given(st.lists(st.tuples(keys, keys, keys, anything) | anything, min_size=1, max_size=2))
def test_pairs_of_anything_are_preferences_or_refused_in_one_line(pairs: list) -> None:
    assert lines_of_refusal(Preferences.of, pairs) <= 1


@pytest.mark.parametrize("kind", [Qrels, Run])
def test_pointers_whose_differences_overflow_are_refused(kind: type) -> None:
    ptr = np.array([0, 2**63 - 1, -2, 1])
    assert (np.diff(ptr) >= 0).all()
    with pytest.raises(InvalidInputError, match="expected query_ptr of 4 whole numbers that rise from 0 to 1, got oth"):
        kind(id_array(["a", "b", "c"]), ptr, id_array(["d"]), np.ones(1))


def test_qrels_and_runs_are_read_as_mappings() -> None:
    given = {"q2": {"d1": 2, "d2": 0}, "q1": {"d1": 1}}
    for table in (Qrels.of(given), Run.of(given)):
        assert dict(table) == dict(table.items()) == given
        assert (list(table.keys()), list(table.values())) == (list(given), list(given.values()))
        assert len(table.items()) == len(table.values()) == 2
        assert (table.get("q1"), table.get("x"), table.get("x", {})) == ({"d1": 1}, None, {})
        assert "q2" in table
        assert "x" not in table.keys()  # noqa: SIM118


def test_records_are_tables_in_notebooks_and_what_they_hold_is_text() -> None:
    run = Run.of({f"q{number}": {"<b>a&b</b>": 2.0, "b": 1.0} for number in range(4)})
    html = run._repr_html_()
    assert "<p>Run &#x27;rerank&#x27;: 4 queries, 8 documents</p>" in html
    assert "&lt;b&gt;a&amp;b&lt;/b&gt;" in html
    assert "<b>" not in html
    assert html.count("<tr>") == 1 + 5
    assert html.endswith("</table><p>...</p>")


def test_queries_and_rows_are_chosen_by_numbers_or_masks() -> None:
    run = Run.of({"a": {"x": 3.0, "y": 2.0}, "b": {"x": 1.0}})
    assert dict(run.select([False, True])) == dict(run.select([1])) == {"b": {"x": 1.0}}
    assert dict(run.of_rows(run.scores < 3)) == dict(run.of_rows([1, 2])) == {"a": {"y": 2.0}, "b": {"x": 1.0}}
    assert len(run.select([])) == 0


@pytest.mark.parametrize("wrong", [[2], [-1], ["a"], [True], [0.0], 0, [[0, 1]], np.zeros(0, np.bool_)])
def test_choice_of_queries_that_are_not_there_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^queries: expected numbers from 0 to 1, or a mask of 2, got"):
        Run.of({"a": {"x": 3.0}, "b": {"x": 1.0}}).select(wrong)


@pytest.mark.parametrize("wrong", [[1, 0], [1, 1]])
def test_rows_that_do_not_ascend_are_refused(wrong: list) -> None:
    with pytest.raises(InvalidInputError, match="rows: expected numbers that ascend, got others"):
        Run.of({"a": {"x": 3.0}, "b": {"x": 1.0}}).of_rows(wrong)
