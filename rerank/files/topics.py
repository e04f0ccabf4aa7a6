"""Topics: query ids and texts, plain or gzip.

The format is detected by the beginning of the file:
- two columns with a tab: `q1<TAB>text`;
- TREC topics: `<top> <num> Number: 301 <title> text … </top>`; a title (or <query>, of the microblog track) may have
  several lines and ends at the next tag; <desc> and <narr> are skipped; closing tags and the words `Number:` and
  `Topic:` are optional;
- XML of TREC's later tracks: <topic> with the id as number= (or id=, or in <number>) and the text in <query>, <title>
  or <summary>, else the text of the whole topic (clinical trials; disease, gene and so on of precision medicine);
- JSON: objects with an id (`id`, `qid`, `query_id`, `_id`) and a text (`text`, `query`, `title`, `input`), one a line,
  in an array or over several lines.
Blank lines are skipped, white space around a text is removed. A topic without text is left out, and a warning counts
them. A first line that names the columns (`qid<TAB>query`), a repeated tag in a <top>, and text outside of topics are
refused.
"""

from __future__ import annotations

import json
import logging
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape
from itertools import accumulate
from pathlib import Path

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.corpus import data_set_name, data_set_topics
from rerank.files.source import (
    LineFault,
    check_file,
    filled_lines,
    is_header,
    is_json_line,
    json_object,
    json_objects,
    of_line,
    reads_files,
    refuse_header,
    stray_text,
    without_markup,
)
from rerank.runtime.output import whole_file
from rerank.types import Topics
from rerank.types.ids import (
    ID_RULE,
    MOST_LETTERS,
    QUERY_RULE,
    WHITE_SPACE,
    first_broken,
    first_broken_query,
    is_unicode,
)

_log = logging.getLogger("rerank")
ID_KEYS = ("id", "qid", "query_id", "_id")
TEXT_KEYS = ("text", "query", "title", "input")
XML_TEXTS = ("query", "title", "summary")  # elements of a topic, the first that it has
Entry = tuple[int, str, str]  # line, query id, text
# A tag ends before the next one begins: tags without their ends are then read once, not once for each.
_TOP = re.compile(r"<top\b[^<>]*>", re.IGNORECASE)
_TOP_END = re.compile(r"</top\s*>", re.IGNORECASE)
_NUM = re.compile(r"<num\b[^<>]*>\s*(?:number\s*:)?([^<]*)", re.IGNORECASE)
_TITLE, _QUERY = (
    re.compile(rf"<{tag}\b[^<>]*>\s*(?:topic\s*:)?(.*?)(?=</?[a-z]+\b[^<>]*>|\Z)", re.IGNORECASE | re.DOTALL)
    for tag in ("title", "query")
)
_TOPIC = re.compile(r"<topic\b([^<>]*)>(.*?)(?=</topic\s*>|<topic\b|\Z)", re.IGNORECASE | re.DOTALL)
_NUMBER_OF = re.compile(r"\b(?:number|num|id|qid)\s*=\s*[\"']([^\"']*)[\"']", re.IGNORECASE)
_NUMBER = re.compile(r"<(number|num|id|qid)\b[^<>]*>(?:\s*number\s*:)?([^<]*)(?:</\1\s*>)?", re.IGNORECASE)
_TEXTS = [re.compile(rf"<{tag}\b[^<>]*>(.*?)</{tag}\s*>", re.IGNORECASE | re.DOTALL) for tag in XML_TEXTS]


@reads_files
def read_topics(path: str | Path) -> Topics:
    """Read topics.

    Parameters
    ----------
    path : str or Path
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
        With the line, for a line without id or text, an id with white space, a repeated id, or a file without topics.

    """
    name = data_set_name(path)
    if name is not None:
        return data_set_topics(name)
    return Topics({query_id: text for _, query_id, text in topic_entries(path)})


def topic_entries(path: str | Path) -> list[Entry]:
    """Return (line, query id, text) of every topic."""
    path = check_file(path, "a topics file")
    lines = list(filled_lines(path))
    if not lines:
        raise FileFormatError(
            path, None, "expected at least one topic, got an empty file. Write lines of id, tab, text."
        )
    return _collected(path, _entries(path, lines))


def write_topics(topics: Topics | Mapping[str, str], path: str | Path) -> None:
    """Write topics."""
    topics = Topics.of(topics)
    broken = first_broken(list(topics))
    if broken is not None:
        raise InvalidInputError(f"topics: expected ids without white space, got {shown(broken)}. Rename it.")
    broken = first_broken_query(list(topics))
    if broken is not None:
        raise InvalidInputError(f"topics: expected ids {QUERY_RULE}, got {shown(broken)}. Rename it.")
    as_json = str(path).removesuffix(".gz").endswith(".jsonl")
    first = next(iter(topics), "")
    if not as_json and (first.startswith(("{", "<")) or is_header(first)):  # it would be read as another format
        raise InvalidInputError(
            f"topics: expected a first id that no other format begins with, got {shown(first)}. "
            "Write to a .jsonl file, or rename it."
        )
    lines = [_json_line(*topic) if as_json else _tab_line(*topic) for topic in topics.items()]
    with whole_file(path) as handle:
        handle.writelines(lines)


def _entries(path: Path, lines: list[tuple[int, str]]) -> Iterator[Entry]:
    beginning = lines[0][1].lstrip()
    if beginning.startswith("<") and any(_TOPIC.search(content) for _, content in lines):
        return _each(path, _xml_topics(lines), _xml_entry)
    if beginning.startswith("<"):
        return _each(path, _trec_blocks(path, lines), _trec_entry)
    is_array = beginning.startswith("[") and "\t" not in lines[0][1]
    if is_array or (beginning.startswith("{") and not is_json_line(lines[0][1])):
        objects = ((line, json.dumps(members)) for line, members in json_objects(path))
        return _each(path, objects, _json_entry)
    if beginning.startswith("{"):
        return _each(path, lines, _json_entry)
    of_line(path, lines[0][0], refuse_header, lines[0][1])
    return _each(path, lines, _tab_entry)


def _each(path: Path, parts: Iterable[tuple[int, str]], entry: Callable[[str], tuple[str, str]]) -> Iterator[Entry]:
    for line, content in parts:
        query_id, text = of_line(path, line, entry, content)
        yield line, query_id, text


def _collected(path: Path, entries: Iterable[Entry]) -> list[Entry]:
    """Return the correct entries, each query once, without white space around its text."""
    topics: dict[str, Entry] = {}
    blank: list[FileFormatError] = []
    for line, query_id, text in entries:
        if first_broken([query_id]) is not None:
            message = f"expected a query id without white space, got {shown(query_id)}. Correct the id."
            if len(query_id) > MOST_LETTERS:
                message = f"expected a query id {ID_RULE}, got {len(query_id)} characters. Shorten it."
        elif first_broken_query([query_id]) is not None:
            message = f"expected a query id {QUERY_RULE}, got {shown(query_id)}. Rename it."
        elif not text.strip():
            message = f"expected a text for query {shown(query_id)}, got none. Write it or drop the query."
            blank.append(FileFormatError(path, line, message))
            continue
        elif query_id in topics:
            message = f"expected each query once, got {shown(query_id)} again. Remove one of the two."
        else:
            topics[query_id] = line, query_id, text.strip()
            continue
        raise FileFormatError(path, line, message)
    if blank and not topics:
        raise blank[0]
    if blank:
        _log.warning("topics without text are left out: %d; the first: %s", len(blank), blank[0])
    return list(topics.values())


def _tab_entry(content: str) -> tuple[str, str]:
    columns = content.split("\t")
    if len(columns) != 2:
        remedy = "Put a tab after the id" if len(columns) == 1 else "Write spaces for the tabs in the text"
        raise LineFault(f"expected 2 columns with a tab (query id, text), got {len(columns)}. {remedy}.")
    return columns[0].strip(WHITE_SPACE), columns[1]


def _json_entry(content: str) -> tuple[str, str]:
    topic = json_object(content)
    return _member(topic, ID_KEYS), _member(topic, TEXT_KEYS)


def _member(topic: Mapping[str, object], keys: tuple[str, ...]) -> str:
    """Return the value of the first of some keys in the object as text."""
    for key in keys:
        value = topic.get(key)
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            if not is_unicode(str(value)):
                raise LineFault(f"expected text as {key!r}, got half of a surrogate pair. Correct the \\u escape.")
            return str(value)
        if value is not None:
            raise LineFault(f"expected text as {key!r}, got {type(value).__name__}. Write it in quotes.")
    raise LineFault(f"expected one of the keys {', '.join(keys)}, got {_listed(topic)}. Add one.")


def _listed(keys: Iterable[str]) -> str:
    """Return keys for an error: as they are, or quoted if they are not printable on one line."""
    text = ", ".join(keys)
    return (text if text.isprintable() and len(text) <= 60 else shown(text)) or "none"


def _trec_blocks(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each topic."""
    numbers = [line for line, _ in lines]
    text = "\n".join(content for _, content in lines)
    tops = list(_TOP.finditer(text))
    if not tops:
        raise FileFormatError(
            path, numbers[0], f"expected <top>, got {shown(lines[0][1].strip())}. Name a TREC topics file."
        )

    beginnings = list(accumulate((len(content) + 1 for _, content in lines), initial=0))

    def line_of(offset: int) -> int:
        return numbers[bisect_right(beginnings, offset) - 1]

    starts = [0, *(top.end() for top in tops)]
    ends = [top.start() for top in tops] + [len(text)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        closing_tag = _TOP_END.search(text, start, end) if number else None
        if closing_tag or not number:
            begin = closing_tag.end() if closing_tag else start
            stray = stray_text(text[begin:end])
            if stray is not None:
                message = f"expected topics within <top> and </top>, got {shown(stray[1])}. Remove it."
                raise FileFormatError(path, line_of(begin + stray[0]), message)
        if number:
            yield line_of(tops[number - 1].start()), text[start : closing_tag.start() if closing_tag else end]


def _xml_topics(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each <topic>, from its attributes to its end."""
    numbers = [line for line, _ in lines]
    text = "\n".join(content for _, content in lines)
    for topic in _TOPIC.finditer(text):
        yield numbers[text.count("\n", 0, topic.start())], f"{topic[1]}>{topic[2]}"


def _xml_entry(block: str) -> tuple[str, str]:
    attributes, _, content = block.partition(">")
    number = _NUMBER_OF.search(attributes)
    own = _NUMBER.search(content)
    query_id = number[1] if number else own[2] if own else ""
    if not query_id.strip():
        raise LineFault('expected the number of the topic that begins here, got none. Write <topic number="1">.')
    content = content if number else _NUMBER.sub(" ", content, count=1)
    found = (pattern.search(content) for pattern in _TEXTS)
    text = next((match[1] for match in found if match), content)
    return unescape(query_id).strip(), " ".join(unescape(without_markup(text)).split())


def _trec_entry(block: str) -> tuple[str, str]:
    pattern = _QUERY if _QUERY.search(block) and not _TITLE.search(block) else _TITLE
    return _tagged(_NUM, "num", block), " ".join(_tagged(pattern, "title", block).split())


def _tagged(pattern: re.Pattern[str], tag: str, block: str) -> str:
    matches = list(pattern.finditer(block))
    if not matches:
        raise LineFault(f"expected <{tag}> in the topic that begins here, got none. Add it.")
    if len(matches) > 1:
        raise LineFault(
            f"expected one <{tag}> in the topic that begins here, got {len(matches)}. Close each topic with </top>."
        )
    return matches[0].group(1).strip()


def _tab_line(query_id: str, text: str) -> str:
    if any(letter in text for letter in "\t\n\r\0") or not text.strip() or not is_unicode(text):
        raise InvalidInputError(
            f"topics: expected a text without tabs and line ends for query {query_id!r}, "
            f"got {shown(text)}. Write to a .jsonl file, or correct the text."
        )
    return f"{query_id}\t{text.strip()}\n"


def _json_line(query_id: str, text: str) -> str:
    if not text.strip() or not is_unicode(text):
        raise InvalidInputError(
            f"topics: expected a text of whole characters for query {query_id!r}, got {shown(text)}. Correct it."
        )
    return json.dumps({"id": query_id, "text": text}, ensure_ascii=False) + "\n"
