"""Click logs in every format, what is refused, and what is dropped and told of."""

from __future__ import annotations

import gzip
import json
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.users import simulate_clicks
from rerank.clicks.reading import LogLimits, read_clicks, write_clicks
from rerank.clicks.record import Clicks
from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.types import Qrels, Run

HEADER = "query,document,position,clicked"


def _log(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def _assert_same(one: Clicks, other: Clicks) -> None:
    assert one.first_rows(one.n_rows) == other.first_rows(other.n_rows)


@pytest.mark.parametrize("name", ["log.jsonl", "log.csv", "log.tsv", "log.csv.gz", "log.jsonl.gz"])
def test_log_is_read_as_it_was_written(name: str, judged: tuple[Run, Qrels], tmp_path: Path) -> None:
    clicks = simulate_clicks(*judged, passes=2)
    write_clicks(clicks, tmp_path / name)
    _assert_same(read_clicks(tmp_path / name), clicks)


def test_parquet_is_read_as_csv(judged: tuple[Run, Qrels], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    clicks = simulate_clicks(*judged, passes=1)
    header, rows, _ = clicks.first_rows(clicks.n_rows)
    columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(arrow.table(columns), tmp_path / "log.parquet")
    _assert_same(read_clicks(tmp_path / "log.parquet"), clicks)
    columns["position"][3] = 1.5
    parquet.write_table(arrow.table(columns | {"position": [*map(float, columns["position"])]}), tmp_path / "a.parquet")
    assert read_clicks(tmp_path / "a.parquet").n_rows == clicks.n_rows - 1
    assert "a.parquet: row 3: expected a whole number as position, got 1.5" in caplog.text


FRAME = {
    "query": ["foo", "foo", "bar"],
    "document": [1, 2, 1],
    "position": [1.0, 2.0, math.nan],
    "clicked": [True, False, True],
    "time": ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z", None],
}


@pytest.mark.parametrize("make", [pd.DataFrame, lambda columns: pd.DataFrame(columns).to_dict("records")])
def test_frame_is_read_as_its_file(make: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pd.DataFrame(FRAME).to_csv(tmp_path / "log.csv", index=False)
    _assert_same(read_clicks(make(FRAME)), read_clicks(tmp_path / "log.csv"))
    assert "clicks: 1 rows without a position, 1 of them clicks without an impression: dropped." in caplog.text


def test_rows_of_a_frame_that_cannot_be_read_are_named(caplog: pytest.LogCaptureFixture) -> None:
    assert read_clicks(pd.DataFrame(FRAME | {"clicked": [1, 0.5, 1]})).n_rows == 1
    assert "clicks: row 1: expected 0, 1, true or false as clicked, got 0.5" in caplog.text


def test_empty_frame_is_refused() -> None:
    with pytest.raises(FileFormatError, match="clicks: expected impressions, got none that can be used"):
        read_clicks(pd.DataFrame(FRAME).iloc[:0])


def test_frames_of_user_behavior_insights_are_joined() -> None:
    event = {"action_name": "click", "query_id": "s", "event_attributes": {"object": {"object_id": "b"}}}
    search = {"query_id": "s", "user_query": "heat", "query_response_hit_ids": ["a", "b"]}
    clicks = read_clicks([pd.DataFrame([event]), pd.DataFrame([search])])
    assert [row[:4] for row in clicks.first_rows(2)[1]] == [["heat", "a", 1, 0], ["heat", "b", 2, 1]]


def test_mappings_of_user_behavior_insights_may_lack_members() -> None:
    search = {"query_id": "s", "user_query": "heat", "query_response_hit_ids": ["a", "b"]}
    event = {"action_name": "click", "query_id": "s", "event_attributes": {"object": {"object_id": "b"}}}
    assert [row[:4] for row in read_clicks([search, event]).first_rows(2)[1]] == [
        ["heat", "a", 1, 0],
        ["heat", "b", 2, 1],
    ]


def test_hits_that_are_a_text_are_named(tmp_path: Path) -> None:
    path = _log(tmp_path / "ubi.csv", "query_id,user_query,query_response_hit_ids", "s,heat,\"['a', 'b']\"")
    with pytest.raises(FileFormatError, match=r":2: expected a list as query_response_hit_ids, got \"\['a', 'b'\]\""):
        read_clicks(path)


def test_log_of_clicks_alone_is_refused(tmp_path: Path) -> None:
    header = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
    path = _log(tmp_path / "aol.txt", header, "142\theat\t2006-03-01 07:17:12\t1\thttp://www.heat.com")
    with pytest.raises(FileFormatError, match=r"of clicks alone \(AOL, ORCAS\), write qrels of `query 0 document 1`"):
        read_clicks(path)


@pytest.mark.parametrize(
    "header",
    ["query,document,clicks,impressions", "query,document,position,click,impressions", f"{HEADER},Impression_Count"],
)
def test_sums_of_clicks_are_refused_in_a_line_that_says_what_to_write(header: str, tmp_path: Path) -> None:
    path = _log(tmp_path / "log.csv", header, ",".join(["a"] * len(header.split(","))))
    with pytest.raises(
        FileFormatError, match=r"of sums, a row for each impression, or without positions qrels with e\.g\. round"
    ):
        read_clicks(path)


def test_a_log_without_values_of_clicked_is_refused_in_a_line_that_says_what_to_write(tmp_path: Path) -> None:
    wanted = r"as clicked, got None\. Write 1 for a click, 0 for none, also where there is no value"
    with pytest.raises(FileFormatError, match=wanted):
        read_clicks(_log(tmp_path / "log.csv", HEADER, "a,d,1,", "a,e,2,"))
    with pytest.raises(FileFormatError, match=wanted):
        read_clicks(pd.DataFrame(FRAME | {"clicked": [math.nan] * 3}))


def test_a_frame_with_a_column_twice_is_refused() -> None:
    frame = pd.DataFrame([["q", "d", 1, 1, 0]], columns=[*HEADER.split(","), "clicked"])
    with pytest.raises(InvalidInputError, match="expected each column once, got 'clicked' again"):
        read_clicks(frame)


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.txt"])
def test_columns_are_separated_by_the_sign_of_their_names(
    name: str, sign: str, judged: tuple[Run, Qrels], tmp_path: Path
) -> None:
    clicks = simulate_clicks(*judged, passes=1)
    write_clicks(clicks, tmp_path / "log.tsv")
    (tmp_path / name).write_text((tmp_path / "log.tsv").read_text().replace("\t", sign))
    _assert_same(read_clicks(tmp_path / name), clicks)


@pytest.mark.parametrize("content", ["", "\n\n"])
@pytest.mark.parametrize("name", ["log.csv", "log.txt", "log.jsonl"])
def test_empty_log_is_refused(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FileFormatError, match=r"expected (a column query|impressions, got none)"):
        read_clicks(tmp_path / name)


def test_log_whose_first_line_is_cut_off_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    row = json.dumps({"query": "a", "document": "d", "position": 1, "clicked": 1})
    assert read_clicks(_log(tmp_path / "log.jsonl", row[9:], row)).n_rows == 1
    assert "1 rows that cannot be read" in caplog.text


def test_parts_of_a_log_are_one(judged: tuple[Run, Qrels], tmp_path: Path) -> None:
    clicks = simulate_clicks(*judged, passes=2)
    half = np.arange(clicks.n_rows) < clicks.n_rows // 2
    for name, rows in (("a.csv", half), ("b.jsonl", ~half)):
        write_clicks(clicks.select(rows), tmp_path / name)
    _assert_same(read_clicks([tmp_path / "a.csv", tmp_path / "b.jsonl"]), clicks)


def test_values_may_have_other_forms(tmp_path: Path) -> None:
    lines = [
        {"qid": 3, "docno": "d1", "rank": 1, "click": True, "timestamp": "2024-05-01T10:00:00Z", "other": [1]},
        {"qid": 3, "docno": "d2", "rank": 2, "click": False, "timestamp": "2024-05-01T10:00:01Z"},
    ]
    path = _log(tmp_path / "log.jsonl", *map(json.dumps, lines))
    clicks = read_clicks(path)
    assert clicks.first_rows(2)[1] == [["3", "d1", 1, 1, 1714557600.0], ["3", "d2", 2, 0, 1714557601.0]]
    path = _log(tmp_path / "log.csv", f"{HEADER},time", 'a,"d,1",1,true,1714557600000', "b,d2,2,0,1714557601000")
    clicks = read_clicks(path)
    assert clicks.time is not None
    assert clicks.time.tolist() == [1714557600.0, 1714557601.0]
    assert clicks.doc_ids.tolist() == ["d,1", "d2"]
    micro_and_nano = "a,d1,1.0,1,1714557600000000", "a,d2,2.0,0,1714557601000000000"
    clicks = read_clicks(_log(tmp_path / "log.csv", f"{HEADER},time", *micro_and_nano))
    assert clicks.first_rows(2)[1] == [["a", "d1", 1, 1, 1714557600.0], ["a", "d2", 2, 0, 1714557601.0]]


def test_ids_of_documents_stay_as_they_are(tmp_path: Path) -> None:
    path = _log(tmp_path / "log.csv", HEADER, "a,d\u00852,1,1")
    assert read_clicks(path).doc_ids.tolist() == ["d\u00852"]


def test_queries_with_the_same_text_are_one(tmp_path: Path) -> None:
    path = _log(tmp_path / "log.csv", HEADER, "Heat  flow,d1,1,1", "heat FLOW,d1,1,0", "ﬂow,d1,1,1", "flow,d1,2,0")
    assert read_clicks(path).query_ids.tolist() == ["Heat flow", "ﬂow"]
    assert len(read_clicks(path, same_text=False).query_ids) == 4


def test_queries_become_ids_of_topics(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    topics = {"t1": "heat flow", "t2": "wing", "t3": "Heat flow"}
    path = _log(tmp_path / "log.csv", HEADER, "Heat Flow,d1,1,1", "t3,d1,1,0", "t2,d2,1,1", "other,d2,1,1")
    clicks = read_clicks(path, topics=topics)
    assert clicks.query_ids[clicks.query].tolist() == ["t1", "t1", "t2"]
    assert "1 impressions of queries that are too long, or not among the topics: dropped." in caplog.text


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["query,document,position", "a,d,1"], "log.csv:1: expected a column clicked or click or is_click or"),
        ([HEADER, "", "a,d,x,1"], "log.csv:3: expected a whole number as position, got 'x'"),
        ([f"{HEADER},credit", "a,d,1,1,1e400"], "log.csv:2: expected a number from 0 as credit, got '1e400'"),
        ([HEADER, "a,d,0x10,1"], "log.csv:2: expected a whole number as position, got '0x10'"),
        ([HEADER, "a,d,1_0,1"], "log.csv:2: expected a whole number as position, got '1_0'"),
        ([HEADER, "a,d,1,2.5"], "log.csv:2: expected 0, 1, true or false as clicked, got '2.5'"),
        ([HEADER, "a,d,1,-1"], "log.csv:2: expected 0, 1, true or false as clicked, got '-1'"),
        ([HEADER, "a,d,1,"], "log.csv:2: expected 0, 1, true or false as clicked, got None"),
        ([HEADER, "a,d 1,1,1"], "log.csv:2: expected as document an id"),
        ([HEADER, ",d1,1,1"], "log.csv:2: expected text or a whole number as query, got None"),
        ([HEADER, "a,d,1,1,5"], "log.csv:2: expected 4 columns, as in the first line, got 5"),
        ([f"{HEADER},time", "a,d,1,1,noon"], "log.csv:2: expected seconds since 1970 or an ISO 8601 time as time"),
        ([HEADER], "log.csv: expected impressions, got none that can be used"),
    ],
)
def test_log_of_wrong_lines_is_refused_with_the_place_of_the_first(
    lines: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(FileFormatError, match=message.replace("(", r"\(")):
        read_clicks(_log(tmp_path / "log.csv", *lines))


def test_rows_of_several_clicks_are_clicked_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clicks = read_clicks(_log(tmp_path / "log.csv", HEADER, "a,d1,1,3", "a,d2,2,0", "a,d3,3,1", "a,d4,4,2.0"))
    assert clicks.clicked.tolist() == [True, False, True, True]
    assert "2 rows of several clicks: taken as one click, as a row is one impression." in caplog.text


def test_wrong_lines_among_others_are_dropped_counted_and_the_first_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = ["a,d1,1,1", "a,d2,x,1", "a,d2,2", "a,d3,3,0", "a,d4,4,maybe"]
    assert read_clicks(_log(tmp_path / "log.csv", HEADER, *rows)).doc_ids.tolist()[0] == "d1"
    assert "3 rows that cannot be read: dropped; the first:" in caplog.text
    assert read_clicks(_log(tmp_path / "log.csv", HEADER, "a,d1,1,1", '"a,d2,2,0', "a,d3,3,0")).n_rows == 1
    assert "2 rows that cannot be read: dropped; the first:" in caplog.text
    with pytest.raises(FileFormatError, match=r"log.csv:3: expected fields in quotes that end, got one that does not"):
        read_clicks(_log(tmp_path / "log.csv", HEADER, "a,d1,1,1", '"a,d2,2,0', *["a,d3,3,0"] * 20_000))
    lines = [json.dumps({"query": "a", "document": "d1", "position": 1, "clicked": 1}), "["]
    assert read_clicks(_log(tmp_path / "log.jsonl", *lines)).n_rows == 1
    assert "1 rows that cannot be read: dropped; the first: " in caplog.text
    assert "log.jsonl:2: expected a JSON object" in caplog.text


def test_columns_are_those_of_all_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    row = {"query": "a", "document": "d1", "position": 1, "clicked": 1}
    rows = [row, *({**row, "session": session} for session in ("s", "t"))]
    clicks = read_clicks(_log(tmp_path / "log.jsonl", *map(json.dumps, rows)))
    assert clicks.n_rows == 2  # lists of two sessions
    assert "1 rows that cannot be read: dropped; the first: " in caplog.text


ALTERNATING = {
    "": ["a,d1,1,0", "b,d1,1,1", "a,d2,2,1", "b,d2,2,0"],
    "session": ["a,d1,1,0,s", "a,d1,1,1,t", "a,d2,2,1,s", "a,d2,2,0,t"],
    "time": ["a,d1,1,0,5", "a,d1,1,1,9", "a,d2,2,1,5", "a,d2,2,0,9"],
    "session_id": ["a,d2,2,1,s", "a,d2,2,0,t", "a,d1,1,0,s", "a,d1,1,1,t"],
    "timestamp": ["a,d2,2,1,5", "a,d2,2,0,9", "a,d1,1,1,9", "a,d1,1,0,5"],
    "search_id": ["a,d1,1,0,s", "a,d1,1,1,t", "a,d2,2,1.0,s", "a,d2,2,0.0,t"],
    "user_id": ["a,d2,2,true,7", "a,d2,2,0,", "a,d1,1,0,7", "a,d1,1,1.0,"],
}


@pytest.mark.parametrize("column", ALTERNATING)
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_rows_of_lists_that_alternate_are_put_list_by_list(ending: str, column: str, tmp_path: Path) -> None:
    header = HEADER.split(",") + ([column] if column else [])
    rows = [row.split(",") for row in ALTERNATING[column]]
    path = tmp_path / f"log.{ending}"
    if ending == "parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table(dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))), path)
    elif ending == "jsonl":
        _log(path, *(json.dumps(dict(zip(header, row, strict=True))) for row in rows))
    else:
        _log(path, *({"csv": ",", "tsv": "\t"}[ending].join(row) for row in (header, *rows)))
    clicks = read_clicks(path)
    assert clicks.list_ptr.tolist() == [0, 2, 4]
    assert clicks.position.tolist() == [1, 2, 1, 2]
    assert clicks.clicked.tolist() == [False, True, True, False]


def test_searches_of_one_client_at_one_time_are_several_lists(tmp_path: Path) -> None:
    alike = {"user_query": "wing", "client_id": "c", "timestamp": "2026-01-01", "query_response_hit_ids": ["d1", "d2"]}
    queries = [json.dumps({"query_id": name, **alike}) for name in ("1", "2")]
    clicks = [
        json.dumps({"action_name": "click", "query_id": name, "event_attributes": {"object": {"object_id": doc}}})
        for name, doc in (("2", "d1"), ("1", "d2"))
    ]
    read = read_clicks(_log(tmp_path / "ubi.jsonl", *queries, *clicks))
    assert (read.list_ptr.tolist(), read.clicked.tolist()) == ([0, 2, 4], [False, True, True, False])


def test_lists_that_no_column_tells_apart_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read_clicks(_log(tmp_path / "log.csv", HEADER, "a,d1,1,0", "a,d1,1,1", "a,d2,2,1", "a,d2,2,0"))
    assert "1 lists that begin further down than others of their query and session" in caplog.text


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_clicks(tmp_path / "none.csv")
    with pytest.raises(FileFormatError, match=r"log.jsonl:1: expected one array of JSON objects, got one without"):
        read_clicks(_log(tmp_path / "log.jsonl", "["))
    ranking = {"event": "ranking", "id": "1", "timestamp": "1", "session": "s", "fields": [], "items": [{"id": "d"}]}
    with pytest.raises(FileFormatError, match=r"got 'event, id, timestamp, session, fields, items'"):
        read_clicks(_log(tmp_path / "log.jsonl", json.dumps(ranking)))
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more")
    pytest.importorskip("pyarrow")
    with pytest.raises(FileFormatError, match=r"expected a Parquet file"):
        read_clicks(tmp_path / "bad.parquet")
    with pytest.raises(InvalidInputError, match=r"expected at least one file, got none"):
        read_clicks([])
    (tmp_path / "topics.tsv").write_text("q1\ttext\n")
    with pytest.raises(MissingFileError, match=r"events.jsonl: expected a click log, got nothing there"):
        read_clicks(tmp_path)


def test_what_cannot_be_used_is_dropped_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    busy = [f"b,d{number},{number},1,bot,{number}" for number in range(1, 5)]
    rows = [
        "a,d1,0,1,s1,1",
        "a,d1,,1,s1,1",
        "a,d1,7,0,s1,1",
        "a,unknown,1,0,s1,1",
        "a,d1,1,0,s1,5",
        "a,d1,1,1,s1,5",
        "a,d2,2,0,s1,3",
        *busy,
    ]
    path = _log(tmp_path / "log.csv", f"{HEADER},session,time", *rows)
    with caplog.at_level(logging.WARNING):
        clicks = read_clicks(path, documents={"d1", "d2", "d3", "d4"}, limits=LogLimits(6, 3))
    assert clicks.first_rows(9)[1] == [["a", "d1", 1, 1, 0, 5.0], ["a", "d2", 2, 0, 0, 3.0]]
    assert [record.getMessage().split(": ", 1)[1] for record in caplog.records] == [
        "1 rows without a position, 1 of them clicks without an impression: dropped.",
        "1 impressions at positions below 1: dropped.",
        "1 repeated impressions (same session, query, document, position and time): merged.",
        "1 impressions at positions beyond 6: dropped.",
        "1 impressions of unknown documents: dropped.",
        "4 impressions of 1 sessions with more than 3 clicks: dropped.",
        "1 times before that of the row above in the session: kept in the order of the log.",
    ]


def test_positions_from_0_are_refused_in_a_line_that_says_so(tmp_path: Path) -> None:
    rows = [f"{HEADER},session", "a,d1,0,1,s1", "a,d2,1,0,s1", "b,d1,0,0,s2"]
    with pytest.raises(InvalidInputError, match=r"positions from 0 \(2 impressions at 0, 1 at 1\)\. Add 1 to each"):
        read_clicks(_log(tmp_path / "log.csv", *rows))


def test_positions_from_0_are_refused_when_all_lists_are_equally_long(tmp_path: Path) -> None:
    rows = [f"{HEADER},session", "a,d1,0,1,s1", "a,d2,1,0,s1", "b,d1,0,0,s2", "b,d2,1,0,s2"]
    with pytest.raises(InvalidInputError, match=r"positions from 0 \(2 impressions at 0, 2 at 1\)\. Add 1 to each"):
        read_clicks(_log(tmp_path / "log.csv", *rows))


@pytest.mark.parametrize("torn", [b'{"query_id": "9", "user_qu\n', b'{"query_id": "\xc3\n', b"\0\0\0\n", b"null\n"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_torn_lines_are_counted_and_the_others_read(
    place: int, torn: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [b'{"query_id": "%d", "user_query": "wing", "query_response_hit_ids": ["d1"]}\n' % n for n in (1, 2)]
    lines.insert(place, torn if place < 2 else torn.rstrip())
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(lines))
    assert read_clicks(path).n_rows == 2
    told = f"{path}: 1 rows that cannot be read: dropped; the first: {path}:{place + 1}: expected "
    assert [record.getMessage()[: len(told)] for record in caplog.records] == [told]


def _event(action: str, search: str, doc: str, ordinal: int, **more: object) -> str:
    attributes = {"object": {"object_id": doc}, "position": {"ordinal": ordinal}}
    return json.dumps({"action_name": action, "query_id": search, "event_attributes": attributes, **more})


@pytest.mark.parametrize("prefix", ["", "_source."])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_events_with_names_of_dots_are_read_from_every_format(form: str, prefix: str, tmp_path: Path) -> None:
    """As tables of events have them: exports of OpenSearch, and pandas.json_normalize."""
    names = ["action_name", "query_id", "event_attributes.object.object_id", "event_attributes.position.ordinal"]
    names = [prefix + name for name in names]
    rows = [("impression", "s", "a", 1), ("impression", "s", "b", 2), ("click", "s", "b", 2)]
    path = tmp_path / f"log.{form}"
    if form == "csv":
        _log(path, ",".join(names), *(",".join(map(str, row)) for row in rows))
    elif form == "jsonl":
        _log(path, *(json.dumps(dict(zip(names, row, strict=True))) for row in rows))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        table = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        parquet.write_table(pytest.importorskip("pyarrow").table(table), path)
    clicks = read_clicks(path)
    assert clicks.doc_ids[clicks.document].tolist() == ["a", "b"]
    assert clicks.clicked.tolist() == [False, True]


def test_objects_and_lists_of_events_are_json_in_tables(tmp_path: Path) -> None:
    """As databases and CSV hold them."""
    hits = json.dumps(["a", "b", "c"])
    queries = {"query_id": "s", "user_query": "heat", "query_response_hit_ids": hits, "query_attributes": ""}
    pd.DataFrame([queries]).to_csv(tmp_path / "queries.csv", index=False)
    attributes = json.dumps({"object": {"object_id": "b"}, "position": {"ordinal": 2}, "session_id": "x"})
    events = pd.DataFrame({"action_name": ["click", "add"], "query_id": "s", "event_attributes": attributes})
    events.to_csv(tmp_path / "events.csv", index=False)
    clicks = read_clicks([tmp_path / "queries.csv", tmp_path / "events.csv"])
    assert (clicks.query_ids.tolist(), clicks.doc_ids[clicks.document].tolist()) == (["heat"], ["a", "b", "c"])
    assert clicks.clicked.tolist() == [False, True, False]
    events.assign(event_attributes="{'object': 1}").to_csv(tmp_path / "broken.csv", index=False)
    with pytest.raises(FileFormatError, match="expected an object as event_attributes, got another value"):
        read_clicks(tmp_path / "broken.csv")


def test_sides_of_rankers_may_be_fractions_without_a_rest(tmp_path: Path) -> None:
    """As Parquet and data frames hold whole numbers."""
    attributes = {"rankers": ["old", "new"], "sides": [1.0, 0.0], "credits": [1.0, 0.0]}
    search = {"query_id": "s", "user_query": "heat", "query_response_hit_ids": ["a", "b"]}
    clicks = read_clicks(_log(tmp_path / "log.jsonl", json.dumps(search | {"query_attributes": attributes})))
    assert [clicks.rankers[number] for number in clicks.ranker.tolist()] == ["new", "old"]


def test_columns_are_known_in_whatever_case(tmp_path: Path) -> None:
    clicks = read_clicks(_log(tmp_path / "log.csv", "Query,DocID,Position,is_click", "heat,d,1,1"))
    assert (clicks.doc_ids.tolist(), clicks.clicked.tolist()) == (["d"], [True])


def test_a_line_end_in_quotes_is_between_words(tmp_path: Path) -> None:
    clicks = read_clicks(_log(tmp_path / "log.csv", HEADER, '"heat\nwave",d,1,1'))
    assert clicks.query_ids.tolist() == ["heat wave"]


@pytest.mark.parametrize("name", ["query_response_object_ids", "query_response_objects_ids"])
def test_hits_of_early_versions_of_user_behavior_insights_are_read(tmp_path: Path, name: str) -> None:
    query = {"query_id": "1", "user_query": "wing", name: ["d1", "d2"], "query_response_hit_ids": ["internal"]}
    clicks = read_clicks(_log(tmp_path / "ubi.jsonl", json.dumps(query), _event("click", "1", "d2", 2)))
    assert [row[:4] for row in clicks.first_rows(9)[1]] == [["wing", "d1", 1, 0], ["wing", "d2", 2, 1]]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_queries_of_user_behavior_insights_may_be_first_and_alone(tmp_path: Path, ending: str) -> None:
    rows = [
        {"query_id": "s", "user_query": "heat", "timestamp": "2024-12-10T00:01:29.378Z"},
        *(json.loads(_event(action, "s", "d1", 1)) for action in ("impression", "click")),
    ]
    path = tmp_path / f"ubi.{ending}"
    if ending == "csv":
        pd.json_normalize(rows).to_csv(path, index=False)
    else:
        _log(path, *map(json.dumps, rows))
    assert [row[:4] for row in read_clicks(path).first_rows(9)[1]] == [["heat", "d1", 1, 1]]
    rows = [{"query_id": "s", "user_query": "heat", "object_id": "d1", "position": 1, "clicked": 1}]  # another log
    path = _log(tmp_path / "log.jsonl", *map(json.dumps, rows))
    assert [row[:4] for row in read_clicks(path).first_rows(9)[1]] == [["heat", "d1", 1, 1]]


def test_searches_of_user_behavior_insights_without_a_text_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clicks = read_clicks(_log(tmp_path / "ubi.jsonl", *(_event("impression", name, "d1", 1) for name in "12")))
    assert clicks.query_ids.tolist() == ["1", "2"]
    assert "2 searches without user_query: each is a query of its own. Give ubi_queries, too." in caplog.text


def test_ordinals_of_early_schemas_and_further_pages_of_a_search_are_read(tmp_path: Path) -> None:
    events = [json.loads(_event("impression", "1", doc, 0)) for doc in ("d1", "d2")]
    for ordinal, event in enumerate(events, 1):
        event["event_attributes"]["position"] = {"ordinal": {"index": ordinal}}
    pages = [
        {"query_id": "2", "user_query": "heat", "query_response_hit_ids": docs} for docs in (["a", "b"], ["c", "a"])
    ]
    lines = [*events, *pages, json.loads(_event("click", "2", "c", 3)), json.loads(_event("click", "1", "d2", 2))]
    clicks = read_clicks(_log(tmp_path / "ubi.jsonl", *map(json.dumps, lines)))
    assert [row[:4] for row in clicks.first_rows(9)[1]] == [
        ["1", "d1", 1, 0],
        ["1", "d2", 2, 1],
        ["heat", "a", 1, 0],
        ["heat", "b", 2, 0],
        ["heat", "c", 3, 1],
    ]


def test_rows_with_objects_or_lists_are_dropped_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    row = {"query": "wing", "document": "d1", "position": 1, "clicked": 1}
    odd = [{"query": {"text": "wing"}}, {"document": ["d1"]}, {"position": [1]}, {"clicked": []}]
    path = _log(tmp_path / "log.jsonl", *(json.dumps(row | more) for more in [*odd, {}]))
    assert [values[:4] for values in read_clicks(path).first_rows(9)[1]] == [["wing", "d1", 1, 1]]
    assert "4 rows that cannot be read: dropped; the first: " in caplog.text
    assert "log.jsonl:1: expected text or a whole number as query, got \"{'text': 'wing'}\"" in caplog.text


def test_a_query_of_user_behavior_insights_without_a_readable_time_is_left_out_whole(tmp_path: Path) -> None:
    query = {"query_id": "1", "user_query": "wing", "query_response_hit_ids": ["d1"], "timestamp": "Jan 1, 2025"}
    path = _log(tmp_path / "ubi.jsonl", json.dumps(query))
    with pytest.raises(FileFormatError, match=r"got none, but 1 rows .* ISO 8601 time as timestamp, got 'Jan 1, 2025'"):
        read_clicks(path)


def test_a_log_whose_impressions_cannot_be_read_names_the_first_of_them(tmp_path: Path) -> None:
    flat = {"action_name": "impression", "query_id": "1", "event_attributes": {"object_id": "d1", "position": 1}}
    path = _log(tmp_path / "ubi.jsonl", json.dumps(flat), _event("hover", "1", "d1", 1), _event("click", "1", "d1", 1))
    with pytest.raises(
        FileFormatError, match=r"got none, but hover \(1\), but 1 rows that .*:1: expected text or a whole"
    ):
        read_clicks(path)


def test_events_of_user_behavior_insights_are_joined(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [
        '{"index": {"_index": "ubi_queries"}}',
        '{"query_id": "1", "user_query": "wing", "client_id": "c"}',
        '{"query_id": "2", "user_query": "Wing", "query_response_hit_ids": ["d9", "d8"]}',
        _event("impression", "1", "d2", 1, session_id="s"),
        _event("impression", "1", "d1", 0, session_id="s", timestamp="2024-05-01T10:00:00Z"),
        _event("product_hover", "1", "d1", 0),
        json.dumps({"_source": json.loads(_event("click", "1", "d1", 0))}),
        _event("click", "1", "d7", 5),
        _event("click_through", "2", "d8", 1),
        _event("add_to_cart", "2", "d8", 1),
        _event("click", "1", "", 0),  # on a facet
        json.dumps(json.loads(_event("click", "1", "d1", 0)) | {"query_id": None}),
    ]
    path = tmp_path / "ubi.ndjson.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    clicks = read_clicks(path)
    rows = [row[:5] for row in clicks.first_rows(9)[1]]
    assert rows == [["wing", "d1", 1, 1, 0], ["wing", "d2", 2, 0, 0], ["wing", "d9", 1, 0, 1], ["wing", "d8", 2, 1, 1]]
    assert "ordinals count from 0: 1 was added to each." in caplog.text
    assert "1 clicks without an impression of the document: dropped." in caplog.text
    assert "events of other actions: product_hover (1), add_to_cart (1): passed over." in caplog.text
    assert "2 rows that cannot be read: dropped; the first: " in caplog.text
    assert "ubi.ndjson.gz:11: expected text or a whole number as event_attributes.object.object_id" in caplog.text
    only = _log(tmp_path / "clicks.jsonl", _event("click", "1", "d1", 0))
    with pytest.raises(FileFormatError, match=r"expected impression events or queries with query_response_hit_ids"):
        read_clicks(only)
    wrong = _log(tmp_path / "w.jsonl", _event("click", "1", "", 0))
    with pytest.raises(FileFormatError, match=r"w.jsonl:1: expected text or a whole number as event_attributes.object"):
        read_clicks(wrong)


@pytest.mark.parametrize("path", [None, 3, b"log.csv", ["log.csv"]])
def test_a_path_that_is_none_is_refused(path: Any) -> None:
    with pytest.raises(InvalidInputError, match="path: expected the name of a file, got"):
        write_clicks(Clicks.from_rows(["a"], ["d1"], [1], [1]), path)


def test_clicks_are_checked_and_shown() -> None:
    clicks = Clicks.from_rows(["a", "a", "b"], ["d1", "d2", "d1"], [1, 2, 1], [1, 0, 0], session=["x", "x", "y"])
    assert str(clicks).startswith("Clicks: 3 impressions, 1 click, 2 lists of 2 queries, positions 1 to 2\n")
    assert (
        clicks.select(np.arange(2)).summary() == "Clicks: 2 impressions, 1 click, 1 list of 1 query, positions 1 to 2"
    )
    with pytest.raises(InvalidInputError, match=r"Clicks: expected positions from 1, got 0 in row 1"):
        Clicks.from_rows(["a", "a"], ["d1", "d2"], [1, 0], [1, 0])
    with pytest.raises(InvalidInputError, match=r"Clicks: expected 2 values of position, got 1"):
        Clicks.from_rows(["a", "a"], ["d1", "d2"], [1], [1, 0])


def test_lists_of_arrays_are_put_together() -> None:
    clicks = Clicks.from_rows(["a"] * 4, ["d1", "d1", "d2", "d2"], [1, 1, 2, 2], [1, 0, 0, 1], session=["x", "y"] * 2)
    assert clicks.list_ptr.tolist() == [0, 2, 4]
    assert clicks.clicked.tolist() == [True, False, False, True]


def test_times_of_bigquery_are_read(tmp_path: Path) -> None:
    """Google Analytics writes them so."""
    read = read_clicks(_log(tmp_path / "log.csv", f"{HEADER},time", "a,d,1,1,2024-01-01 00:00:09.5 UTC"))
    assert read.first_rows(1)[1] == [["a", "d", 1, 1, 1704067209.5]]


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_and_the_answer_of_a_search_are_read_as_lines_are(indent: int | None, tmp_path: Path) -> None:
    rows = [
        {"query": "a", "document": "d", "position": 1, "clicked": 1},
        {"query": "a", "document": "e", "position": 2, "clicked": 0},
    ]
    expected = read_clicks(_log(tmp_path / "log.jsonl", *map(json.dumps, rows)))
    _assert_same(read_clicks(_log(tmp_path / "log.json", json.dumps(rows, indent=indent))), expected)
    query = {"query_id": "1", "user_query": "a", "query_response_hit_ids": ["d", "e"], "timestamp": 5}
    click = json.loads(_event("click", "1", "d", 1))
    of_lines = read_clicks(_log(tmp_path / "ubi.jsonl", json.dumps(query), json.dumps(click)))
    assert of_lines.clicked.tolist() == [True, False]
    answer = {"took": 1, "hits": {"hits": [{"_id": "x", "_source": query}, {"_id": "y", "_source": click}]}}
    _assert_same(read_clicks(_log(tmp_path / "ubi.json", json.dumps(answer, indent=indent))), of_lines)


def test_the_first_line_that_cannot_be_read_is_named_whatever_is_wrong_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"query": "a", "document": "d", "position": place, "clicked": 1} for place in (1, "x", 2)]
    path = _log(tmp_path / "log.jsonl", *map(json.dumps, rows), '{"query": "a"', "[]")
    assert read_clicks(path).n_rows == 2
    assert "3 rows that cannot be read: dropped; the first:" in caplog.text
    assert "log.jsonl:2: expected a whole number as position, got 'x'" in caplog.text
