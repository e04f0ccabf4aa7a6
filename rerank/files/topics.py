"""Topics; blank lines are skipped.

The format is detected by the beginning of the file:
- two columns with a tab: `q1<TAB>text`; or a number, a colon and the text, as of the terabyte track: `1:text`, or
  `<160>text`, as of genomics;
- TREC topics: `<top> <num> Number: 301 <title> text … </top>`. A title (or <query> of the microblog track, or <desc> if
  there is neither) may have several lines and ends at the next tag. Other tags are skipped. Closing tags and the words
  `Number:`, `Topic:` and `Description:` are optional;
- XML of TREC's later tracks: <topic> with the id as number= (or id=, or in <number>) and the text in <query>, <title>,
  <content> or <summary>, else in name=, else the text of the whole topic (clinical trials; disease, gene and so on
  of precision medicine); <session> with the text of its <currentquery>, not that of its topic; or of NTCIR, CLEF and
  Indri: <query> with the id in <qid>, <id> or <number> and the text in <title>, <content> or <text>;
- JSON: objects with an id and a text (OTHER_NAMES), one a line, in an array or over several lines.
White space around a text is removed. Topics without text are left out, with a warning. A first line that names the
columns (`qid<TAB>query`) is skipped. A repeated tag in a <top> is refused, and so is text outside of a <top>.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from itertools import chain
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, log, shown
from rerank.files.irds import data_set_name, data_set_topics
from rerank.files.json_lines import objects_of_lines
from rerank.files.line_records import check_ids, is_header
from rerank.files.markup import refuse_stray, without_comments, without_markup
from rerank.files.source import FileLike, LineFault, check_file, of_line, text_lines
from rerank.runtime.fields import has_split_words, is_unicode
from rerank.runtime.output import whole_file
from rerank.types import Topics, counted
from rerank.types.data_frames import OTHER_NAMES, TEXT, TOPIC_ID, first_column, plain_name
from rerank.types.ids import WHITE_SPACE

_TURNS = {"turn", "turns"}
_EACH_TURN = (
    "Write turns with `jq -c '.[] | .number as $n | (.turn // .turns)[] | "
    '{id: "\\($n)_\\(.number // .turn_id)", text: (.raw_utterance // .utterance)}\'`'
)
_WITHIN = ("topics within <top> and </top>", "Remove it")
Entry = tuple[int | None, str, str]  # line, query id, text


# A topic ends at the next tag of its name at the latest: topics without closing tags are then searched once, not once
# for each opening tag.
_TOPICS = {
    tag: re.compile(rf"<({tag})\b([^<>]*)>(.*?)(?=</{tag}\s*>|<{tag}\b|\Z)", re.IGNORECASE | re.DOTALL)
    for tag in ("session", "topic", "top", "query")
}
_NUMBERED = re.compile(r"\s*(?:(\d+):(?!\d+:)|<(\d+)>)(.*)")
_NUM = re.compile(r"<num\b[^<>]*>\s*(?:number\s*:)?([^<]*)", re.IGNORECASE)
_TITLE, _QUERY, _DESC = (
    re.compile(
        rf"<(?:[a-z]{{2}}-)?{tag}\b[^<>]*>\s*(?:(?:topic|description)\s*:)?(.*?)(?=</?[a-z]+\b[^<>]*>|\Z)",
        re.IGNORECASE | re.DOTALL,
    )
    for tag in ("title", "query", "desc")
)
_ATTRIBUTE = re.compile(
    r"\b(number|num|id|qid|q|name|template)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'/]+))", re.IGNORECASE
)
_NUMBER = re.compile(r"<(number|num|id|qid|identifier)\b[^<>]*>(?:\s*number\s*:)?([^<]*)(?:</\1\s*>)?", re.IGNORECASE)
_TEXTS = {  # of each kind of topic in XML, the first that it has
    kind: [re.compile(rf"<{tag}\b[^<>]*>(.*?)(?=</{tag}\s*>|<{tag}\b)", re.IGNORECASE | re.DOTALL) for tag in tags]
    for kind, tags in {
        "session": ("currentquery",),
        "topic": ("query", "title", "content", "summary"),
        "query": ("title", "content", "text"),
    }.items()
}
_ENTITY = re.compile(r"&#?\w+;")  # `unescape` alone would also read &reg in research&region
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_FIELD = re.compile(r"<\w+\s+name\s*=\s*\"([^\"]*)\"\s*>")
_OPERATOR = re.compile(r"#\w+(?::\d+)?\s*\(")  # of the language of Indri


def read_topics(path: FileLike) -> Topics:
    """Read topics.

    Parameters
    ----------
    path : str, Path or file object
        A file of two columns, TREC topics or JSONL, plain or gzip; or `irds:NAME`, a data set of ir_datasets.

    Returns
    -------
    Topics
        The topics in the order of the file.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a line without an id, an id with white space or a repeated id. Also for a file without
        topics, or whose topics all have no text.

    """
    name = data_set_name(path)
    source = Path(str(path)) if name is not None else check_file(path, "a topics file")
    entries = _entries(source) if name is None else ((None, *entry) for entry in data_set_topics(name))
    topics: dict[str, str] = {}
    blank: list[FileFormatError] = []
    for line, query_id, text in entries:
        of_line(source, line, check_ids, "", [query_id])
        if query_id in topics:
            raise FileFormatError(
                source, line, f"expected each query once, got {shown(query_id)} again. Remove one of the two."
            )
        if text.strip():
            topics[query_id] = text.strip()
        else:
            message = f"expected a text for query {shown(query_id)}, got none. Write it or drop the query."
            blank.append(FileFormatError(source, line, message))
    if blank and not topics:
        raise blank[0]
    if blank:
        log.warning("topics without text are left out: %d; the first: %s", len(blank), blank[0])
    apart = [query_id for query_id, text in topics.items() if has_split_words(text)]
    if apart:
        log.warning(
            "%s: %s soft hyphens or letters apart from their accents, the first %s: these are other words than those "
            "without. Remove soft hyphens, and write Unicode's NFC in topics and documents.",
            source,
            counted(len(apart), "topic holds", "topics hold"),
            shown(apart[0]),
        )
    return Topics(topics)


def write_topics(topics: Topics | Mapping[str, str], path: str | Path) -> None:
    """Write topics: as JSON lines if the name ends in .jsonl (or .jsonl.gz), else as id, tab and text."""
    topics = Topics.of(topics)
    check_ids("topics: ", topics)
    as_json = str(path).removesuffix(".gz").endswith(".jsonl")
    first = next(iter(topics), "")
    of_another = first.startswith(("{", "<")) or _named(f"{first}\t{topics.get(first, '')}") is not None
    if not as_json and of_another:
        raise InvalidInputError(
            f"topics: expected a first id that no other format begins with, got {shown(first)}. "
            "Write to a .jsonl file, or rename the id."
        )
    lines = [_line(query_id, text, as_json) for query_id, text in topics.items()]
    with whole_file(path) as handle:
        handle.writelines(lines)


def _entries(path: Path) -> Iterator[Entry]:
    """Yield the topics of a file in the format that its first line shows."""
    lines = list(text_lines(path))
    filled = [(line, content) for line, content in lines if content.strip()]
    order = _named(filled[0][1]) if filled else None
    if order is not None:
        filled = filled[1:]
    if not filled:
        raise FileFormatError(path, None, "expected at least one topic, got none. Write lines of id, tab, text.")
    first = filled[0][1].lstrip()
    if first.startswith("<") and not _NUMBERED.match(first):
        yield from _marked_up(path, "\n".join(content for _, content in lines))
    elif first.startswith("{") or (first.startswith("[") and "\t" not in first):
        for line, members in objects_of_lines(path, iter(lines)):
            query_id, text = (of_line(path, line, _member, members, column) for column in (TOPIC_ID, TEXT))
            yield line, query_id, text
    else:
        for line, content in filled:
            yield line, *of_line(path, line, _tab_entry, content, order)


def _named(first: str) -> tuple[int, int, int] | None:
    """Return the columns of id and text, and the number of columns, if the first line names them; None for a topic."""
    names = first.split("\t")
    query, text = first_column(names, TOPIC_ID), first_column(names, TEXT)
    if query is not None and text is not None and query != text:
        return query, text, len(names)
    return (0, 1, 2) if is_header(names[0].strip()) else None


def _marked_up(path: Path, text: str) -> Iterator[Entry]:
    """Yield the topics in <topic>, <top> or <query>; text outside of <top> is refused."""
    text = _CDATA.sub(lambda section: escape(section[1]), without_comments(text))
    tag = next((tag for tag, pattern in _TOPICS.items() if pattern.search(text)), "top")
    is_xml = tag != "top"
    entry = _xml_entry if is_xml else _trec_entry
    end = 0
    line = 1
    for topic in _TOPICS[tag].finditer(text):
        if not is_xml:
            refuse_stray(path, line, text[end : topic.start()], *_WITHIN)
        line += text.count("\n", end, topic.start())
        yield line, *of_line(path, line, entry, *topic.groups())
        line += text.count("\n", topic.start(), topic.end())
        end = topic.end()
    if not end:
        first = text.lstrip()
        line = 1 + text.count("\n", 0, len(text) - len(first))
        raise FileFormatError(
            path,
            line,
            f"expected <top>, <topic> or <query>, got {shown(first.splitlines()[0].strip())}. Name a TREC topics file.",
        )
    if not is_xml:
        refuse_stray(path, line, text[end:], *_WITHIN)


def _tab_entry(content: str, order: tuple[int, int, int] | None) -> tuple[str, str]:
    query, text, n_columns = order or (0, 1, 2)
    columns = content.split("\t")
    numbered = _NUMBERED.match(content)
    if len(columns) == 1 and numbered:
        columns = [numbered[1] or numbered[2], numbered[3]]
    if len(columns) != n_columns:
        remedy = (
            "Of a judgement list, write its texts with `sed -nE 's/^# *qid:([^:]+): */\\1\\t/p'`"
            if content.startswith("#")
            else "Put a tab after the id, keep `cut -d : -f 1,3-` of id:priority:text, or pass a frame or mapping"
            if len(columns) == 1
            else "Keep two with `cut -f 1,2`, or write spaces for tabs in the text"
        )
        raise LineFault(f"expected {n_columns} columns with a tab (query id, text), got {len(columns)}. {remedy}.")
    return columns[query].strip(WHITE_SPACE), columns[text]


def _member(topic: Mapping[str, Any], column: str) -> str:
    """Return the id or the text of an object."""
    some = [name for name in topic if topic[name] is not None]
    found = ((names, first_column(names, column)) for names in (some, list(topic)))
    key = next((names[at] for names, at in found if at is not None), None)
    if key is None or (key == "title" and topic.keys() & _TURNS):  # the title of a conversation is no query
        expected, got = ", ".join(OTHER_NAMES[column]), shown(", ".join(topic))
        raise LineFault(f"expected one of the keys {expected}, got {got}. {_way(topic, column)}.")
    value = "" if topic[key] is None else topic[key]
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise LineFault(f"expected text as {key!r}, got {type(value).__name__}. Write it in quotes.")
    if not is_unicode(str(value)):
        raise LineFault(f"expected text as {key!r}, got half of a surrogate pair. Correct the \\u escape.")
    return str(value)


def _way(topic: Mapping[str, Any], column: str) -> str:
    """Return the remedy for an object without an id or a text: how to make topics of such objects."""
    if topic.keys() & _TURNS:
        return _EACH_TURN
    lists = {name: value[0] for name, value in topic.items() if isinstance(value, list) and value}
    for name, first in lists.items():
        if isinstance(first, Mapping) and (column == TOPIC_ID or first_column(list(first), TOPIC_ID) is not None):
            return f"Keep them with `jq -c '.{json.dumps(name)}[]'`"
    if column == TEXT:
        texts = (
            json.dumps(name)
            for name in topic
            if isinstance(topic[name], str) and first_column([name], TOPIC_ID) is None
        )
        inside = (
            f"{json.dumps(name)}[0].{json.dumps(part)}"
            for name, first in lists.items()
            for part in (first if isinstance(first, Mapping) else ())
            if plain_name(part).endswith(OTHER_NAMES[TEXT])
        )
        return f"Take one, e.g. `jq -c '. + {{text: .{next(chain(texts, inside), 'title')}}}'`"
    if first_column(list(topic), TEXT) is not None:
        return "Number them with `jq -c '. + {id: input_line_number}'`"
    return "Add one; of texts by id, `jq -c 'to_entries[] | {id: .key, text: (.value | .title? // .)}'`"


def _xml_entry(tag: str, attributes: str, content: str) -> tuple[str, str]:
    tag = tag.lower()
    of_topic = {name.lower(): one or two or bare for name, one, two, bare in _ATTRIBUTE.findall(attributes)}
    name, template = of_topic.pop("name", None), of_topic.pop("template", "")
    own = _NUMBER.search(content)
    query_id = next(iter(of_topic.values()), own[2] if own else "")
    if not query_id.strip():
        raise LineFault('expected the number of the topic that begins here, got none. Write <topic number="1">.')
    content = _NUMBER.sub(" ", content, count=1)
    found = (pattern.search(content) for pattern in _TEXTS[tag])
    text = next((match[1] for match in found if match), None)
    if text is None and tag == "topic":  # name=, or the whole content, with the names of fields (clinical trials)
        text = name or " ".join([template, _FIELD.sub(r" \1 ", content)])
    text = " ".join(_decoded(without_markup(text or "")).split())
    if _OPERATOR.match(text):
        raise LineFault(f"expected words, got {shown(text)} of Indri's language. Write the words alone.")
    return _decoded(query_id).strip(), text


def _decoded(text: str) -> str:
    """Return a text with character references such as &amp; replaced by their characters."""
    return _ENTITY.sub(lambda entity: unescape(entity[0]), text)


def _trec_entry(_: str, __: str, block: str) -> tuple[str, str]:
    pattern = next((pattern for pattern in (_TITLE, _QUERY, _DESC) if pattern.search(block)), _TITLE)
    return _tagged(_NUM, "num", block), " ".join(_decoded(_tagged(pattern, "title", block)).split())


def _tagged(pattern: re.Pattern[str], tag: str, block: str) -> str:
    matches = list(pattern.finditer(block))
    if not matches:
        raise LineFault(f"expected <{tag}> in the topic that begins here, got none. Add it.")
    if len(matches) > 1:
        raise LineFault(
            f"expected one <{tag}> in the topic that begins here, got {len(matches)}. Close each topic with </top>."
        )
    return matches[0].group(1).strip()


def _line(query_id: str, text: str, as_json: bool) -> str:
    if not text.strip() or not is_unicode(text) or (not as_json and any(letter in text for letter in "\t\n\r\0")):
        raise InvalidInputError(
            f"topics: expected a text {'' if as_json else 'without tabs and line ends '}for query {query_id!r}, "
            f"got {shown(text)}. {'Correct the text' if as_json else 'Write to a .jsonl file, or correct the text'}."
        )
    if as_json:
        return json.dumps({"id": query_id, "text": text}, ensure_ascii=False) + "\n"
    return f"{query_id}\t{text.strip()}\n"
