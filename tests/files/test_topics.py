"""Topics in three formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError
from rerank.files.line_records import is_header
from rerank.files.topics import read_topics, write_topics

letters = st.characters(codec="utf-8", exclude_characters="\0\ufeff", exclude_categories=["Cs", "Zs", "Cc"])
ids = st.text(letters, min_size=1, max_size=6).filter(lambda word: word[0] not in "<{#" and word.strip() == word)
ids = ids.filter(lambda word: not is_header(word))
texts = st.text(st.one_of(letters, st.just(" ")), min_size=1).filter(str.strip)

TREC = """
<top>

<num> Number: 301
<title> International Organized
   Crime & <gangs

<desc> Description:
Identify organizations.
<narr> Narrative: none
</top>
<top><num>302</num><title>Topic: Poliomyelitis</title></top>
"""


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "topics"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("name", ["topics.tsv", "topics.tsv.gz", "topics.jsonl", "topics.jsonl.gz"])
@given(topics=st.dictionaries(ids, texts, min_size=1))
@settings(max_examples=50)
def test_topics_survive_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, name: str, topics: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("topics") / name
    write_topics(topics, path)
    back = read_topics(path)
    assert list(back.items()) == [(query_id, text.strip()) for query_id, text in topics.items()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("q1\theat flow\n\nq2\t slabs \r\n", {"q1": "heat flow", "q2": "slabs"}),
        (b"\xef\xbb\xbfq1\theat\n", {"q1": "heat"}),
        (gzip.compress(b"q1\theat\n", mtime=0), {"q1": "heat"}),
        (TREC, {"301": "International Organized Crime & <gangs", "302": "Poliomyelitis"}),
        ('{"id": 1, "text": "a"}\n{"id": "2", "text": "b\\tc"}\n', {"1": "a", "2": "b\tc"}),
        ('{"qid": "x", "query": "a"}', {"x": "a"}),
        ('{"query_id": "x", "title": "a", "desc": "b"}', {"x": "a"}),
        ('{"topic_id": "x", "question": "a"}', {"x": "a"}),
        ('{"_id": "x", "text": "a", "metadata": {}}', {"x": "a"}),
        (
            "<queries><query><qid>0001</qid><content>a</content><description>b</description></query></queries>",
            {"0001": "a"},
        ),
        ("<topics><query><id>qtest1</id><title>a</title><desc>b</desc></query></topics>", {"qtest1": "a"}),
        ("<top>\n<num> C041 </num>\n<EN-title> a </EN-title>\n<EN-desc> b </EN-desc>\n</top>", {"C041": "a"}),
    ],
)
def test_topics_are_read_whatever_their_format(tmp_path: Path, text: str, expected: dict[str, str]) -> None:
    assert dict(read_topics(written(tmp_path, text))) == expected


BAD = {
    "": r": expected at least one topic, got none. Write lines of id, tab, text",
    " \n\n": r"got none",
    "# grade\tqueryid\tdocId\ttitle\n#\n# qid:1: rambo\n": r":2: .* Of a judgement list, .*`sed -nE 's/\^# \*qid:",
    "q1 heat flow\n": r":1: expected 2 columns .*, got 1. Put a tab after the id, keep `cut -d : -f 1,3-`",
    "q1\ta\nq2\tb\tc\n": r":2: expected 2 columns .*, got 3. Keep two with `cut -f 1,2`, or write spaces",
    "q1\ta\n\nq1\tb\n": r":3: expected each query once, got 'q1' again",
    "q1\t \n": r":1: expected a text for query 'q1', got none",
    "\ta\n": r":1: expected ids of 1 to 512 characters .*, got ''",
    "q 1\ta\n": r":1: expected ids .* without white space .*, got 'q 1'",
    '{"id": "1", "text": "a"}\n{"id": \n': r":2: expected a JSON object, got a text that breaks off at column 8",
    '{"id": "1", "text": "a"}\n[1]\n': r":2: expected a JSON object, got '\[1\]'. Write one object a line",
    '{"id": "1"}\n': r":1: expected one of the keys text, query, querytext, title, input, question, topic, got 'id'",
    '{"id": 1.5, "text": "a"}\n': r":1: expected text as 'id', got float. Write it in quotes",
    '{"id": "1", "text": ["a"]}\n': r":1: expected text as 'text', got list",
    "<top>\n<num> 1\n<title> a\n</top>\n<top>\n<num> 2\n</top>\n": r":5: expected <title> in the topic",
    "\n<top>\n<title> a\n</top>\n": r":2: expected <num> in the topic that begins here, got none",
    "<query><number>1</number><text>#combine(a b)</text></query>": r":1: expected words, got '#combine\(a b\)' of Ind",
    "<session num='1'><topic num='5'><title>a</title></session>": r":1: expected a text for query '1', got none",
    "<html>\n": r":1: expected <top>, <topic> or <query>, got '<html>'. Name a TREC topics file",
    b"q1\ta\nq2\tcaf\xe9\n": r":2: expected UTF-8 text, got byte 0xe9",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_topics_are_refused_in_one_line(tmp_path: Path, text: str | bytes) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileFormatError, match=BAD[text]) as caught:
        read_topics(path)
    assert str(caught.value).startswith(f"{path}:")
    assert "\n" not in str(caught.value)


def test_missing_topics_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="expected a topics file, got nothing there"):
        read_topics(tmp_path / "no.tsv")
    with pytest.raises(FileFormatError, match="expected a topics file, got a folder"):
        read_topics(tmp_path)


@pytest.mark.parametrize(
    ("topics", "message"),
    [
        ({"q": "a\tb"}, "without tabs and line ends for query 'q'"),
        ({"q": "a\nb"}, r"Write to a \.jsonl file"),
        ({"q 1": "a"}, "topics: expected ids .*, got 'q 1'"),
    ],
)
def test_topics_that_would_not_read_back_are_not_written(tmp_path: Path, topics: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        write_topics(topics, tmp_path / "topics.tsv")
    assert list(tmp_path.iterdir()) == []


def test_real_topics_are_read(shared_data: Path) -> None:
    topics = read_topics(shared_data / "collections" / "nfcorpus" / "topics.tsv")
    assert len(topics) == 3237
    assert topics["PLAIN-3"] == "Breast Cancer Cells Feed on Cholesterol"
    for name, count in (("cranfield", 225), ("cacm", 64), ("med", 30)):
        assert len(read_topics(shared_data / "collections" / name / "topics.tsv")) == count


def test_unclosed_comment_hides_no_text_outside_of_topics(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    topic = "<top><num>1<title>heat</top>\n"
    path.write_text(f"<!-- one <!-- two -->\n{topic}<!-- <b> -->\n{topic.replace('1', '2')}", "utf8")
    assert dict(read_topics(path)) == {"1": "heat", "2": "heat"}
    path.write_text(f"{topic}\n<!-- never closed\n", "utf8")
    with pytest.raises(FileFormatError, match=":3: expected topics within <top> and </top>, got '<!-- never closed'"):
        read_topics(path)


XML_TOPICS = {  # of tracks of TREC
    "covid": (
        '<topics task="SEARCH" batch="1">\n<topic number="1">\n<query>virus origin</query>\n<question>what?</question>'
        '\n</topic>\n<topic number="2">\n<query>masks &amp; gloves</query>\n</topic>\n</topics>\n',
        {"1": "virus origin", "2": "masks & gloves"},
    ),
    "web": (
        '<?xml version="1.0" encoding="UTF-8"?>\n<webtrack2013>\n<topic number="201" type="x">\n<query>raspberry pi'
        '</query>\n<description>What is AT&T?</description>\n<subtopic number="1" type="inf">x</subtopic>\n</topic>\n'
        "</webtrack2013>\n",
        {"201": "raspberry pi"},
    ),
    "misinformation": (
        "<topics>\n<topic>\n<number>101</number>\n<title>ankle\n brace</title>\n<evidence>http://x</evidence>\n</topic>\n"
        "</topics>",
        {"101": "ankle brace"},
    ),
    "trials": (
        '<topics>\n<topic number="1">\nA 45-year-old <b>man</b>.\n</topic>\n</topics>',
        {"1": "A 45-year-old man ."},
    ),
    "precision medicine": (
        '<topics><topic number="1"><disease>Liposarcoma</disease><gene>CDK4</gene></topic></topics>',
        {"1": "Liposarcoma CDK4"},
    ),
    "decision support": (
        '<topics><topic number="3"><description>long</description><summary>short</summary></topic></topics>',
        {"3": "short"},
    ),
    "microblog": (
        "<top>\n<num> Number: MB001 </num>\n<query> staff cuts </query>\n<querytime> Tue </querytime>\n</top>\n",
        {"MB001": "staff cuts"},
    ),
    "sessions": (
        '<sessiontrack2014>\n<session num="1" starttime="0">\n<topic num="9"><desc>You are</desc></topic>\n'
        '<interaction num="1"><query>wind farm</query></interaction>\n<currentquery starttime="44"><query>wind farm'
        ' noise</query></currentquery>\n</session>\n<session num="2">\n<topic num="9"><title>wind</title></topic>'
        "<currentquery><query>turbine cost</query></currentquery></session></sessiontrack2014>",
        {"1": "wind farm noise", "2": "turbine cost"},
    ),
    "dynamic domain": (
        '<topics><domain name="Ebola" id="1"><topic name="US troops" id="DD16-1"><description>d</description><subtopic '
        'name="s" id="1"><passage id="1"><docno>x</docno><text>t</text></passage></subtopic></topic></domain></topics>',
        {"DD16-1": "US troops"},
    ),
    "trials of a template": (
        '<topics><topic number="1" template="glaucoma"><field name="age">45</field></topic></topics>',
        {"1": "glaucoma age 45"},
    ),
    "descriptions alone": (
        "<top>\n<num> Number: 201\n<desc> Description:  What\nsteps\n</top>\n",
        {"201": "What steps"},
    ),
    "number without quotes": ("<TOPIC q=0101>\n<TITLE>search engine</TITLE>\n</TOPIC>", {"0101": "search engine"}),
    "genomics": ("<160>What is <x>?\n<161>b: c\n", {"160": "What is <x>?", "161": "b: c"}),
    "comments and sections of XML": (
        '<topics><!-- <topic number="9"><query>old</query></topic> -->\n<topic number="1"><query><![CDATA[a < b & c]]>'
        "</query></topic></topics>",
        {"1": "a < b & c"},
    ),
    "entities of SGML": (
        "<top>\n<num> 1\n<title> AT&amp;T &quot;mergers&quot; research&region\n</top>\n",
        {"1": 'AT&T "mergers" research&region'},
    ),
    "indri": (
        "<parameters><query><type>indri</type><number>301</number><text>a #1 b</text></query></parameters>",
        {"301": "a #1 b"},
    ),
    "terabyte": ("1:pierson s twin lakes marina\n2:a: b\n", {"1": "pierson s twin lakes marina", "2": "a: b"}),
    "an array": ('[{"qid": 1, "query": "one"},\n {"qid": 2, "query": "two"}]', {"1": "one", "2": "two"}),
    "over several lines": ('{\n "id": "a",\n "input": "one"\n}\n', {"a": "one"}),
}


@pytest.mark.parametrize("track", XML_TOPICS)
def test_topics_of_trecs_tracks_are_read(track: str, tmp_path: Path) -> None:
    text, topics = XML_TOPICS[track]
    assert dict(read_topics(written(tmp_path, text))) == topics


def test_xml_topics_without_a_number_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "<topics>\n<topic number='1'><query>a</query></topic>\n<topic>b</topic>\n</topics>")
    with pytest.raises(FileFormatError, match=r":3: expected the number of the topic that begins here, got none"):
        read_topics(path)


def test_topics_without_text_are_left_out_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    topics = read_topics(written(tmp_path, "q1\ta\nq2\t \nq3\tb\nq4\t\n"))
    assert dict(topics) == {"q1": "a", "q3": "b"}
    assert "topics without text are left out: 2; the first: " in caplog.text
    assert "topics:2: expected a text for query 'q2', got none" in caplog.text


def test_topics_whose_text_is_null_are_left_out(tmp_path: Path) -> None:
    path = written(
        tmp_path, '{"_id": "q1", "text": null}\n{"_id": "q2", "text": null, "query": "b"}\n{"_id": "q3", "text": "c"}\n'
    )
    assert dict(read_topics(path)) == {"q2": "b", "q3": "c"}


def test_number_within_the_query_is_no_word_of_it(tmp_path: Path) -> None:
    text = '<topics><topic id="7001"><query><number>7001</number>LHC collisions</query></topic></topics>'  # FedWeb
    assert dict(read_topics(written(tmp_path, text))) == {"7001": "LHC collisions"}


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('[{"number": 31, "turn": [{"number": 1, "raw_utterance": "a"}]}]', "(.turn // .turns)[] |"),
        ('[{"number": "9-1", "turns": [{"turn_id": 1, "utterance": "a"}]}]', "(.number // .turn_id)"),
        ('[{"number": 1, "title": "b", "turn": [{"number": 1, "raw_utterance": "a"}]}]', "(.turn // .turns)[] |"),
        (
            '{"topic_id": "7", "topics": [{"lang": "eng", "topic_title": "a"}]}',
            'Take one, e.g. `jq -c \'. + {text: ."topics"[0]."topic_title"}\'`',
        ),
        ('{"id": "s", "queries": [{"id": "q1", "text": "a"}]}', "Keep them with `jq -c '.\"queries\"[]'`"),
        ('{"questions": [{"id": "q1", "body": "a"}]}', "Keep them with `jq -c '.\"questions\"[]'`"),
        ('{"id": "q1", "body": "a", "type": "yesno"}', "Take one, e.g. `jq -c '. + {text: .\"body\"}'`"),
        ('{"question": "a", "answer": ["b"]}', "Number them with `jq -c '. + {id: input_line_number}'`"),
        ('{"q1": "a", "q2": "b"}', "of texts by id, `jq -c 'to_entries[]"),
        ('{"1": {"title": "a"}}', "text: (.value | .title? // .)}'`"),
    ],
    ids=[
        "CAsT",
        "iKAT",
        "CAsT with a title",
        "HC4",
        "queries",
        "questions",
        "body",
        "no id",
        "texts by id",
        "Pyserini",
    ],
)
def test_objects_that_hold_topics_are_refused_with_the_way(text: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as refused:
        read_topics(written(tmp_path, text))
    assert remedy in str(refused.value)


@pytest.mark.parametrize("head", ["num\ttitle", "qnum\tquery", "tid\ttext", "topic_num\tbody", "Topic Number\ttitle"])
def test_first_line_that_names_the_columns_is_no_topic(head: str, tmp_path: Path) -> None:
    assert dict(read_topics(written(tmp_path, f"{head}\n1\theat\n2\tcold\n"))) == {"1": "heat", "2": "cold"}
