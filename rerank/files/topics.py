"""Topics: query ids and texts.

Three formats, told by how the file begins:
- two columns with a tab: `q1<TAB>text`;
- TREC topics: `<top> <num> Number: 301 <title> text … </top>`; a title may run over lines, up to the
  next tag; what stands in <desc> and <narr> is passed over; closing tags and the words `Number:` and
  `Topic:` may stand or not;
- JSONL: one object a line with an id (`id`, `qid`, `query_id`, `_id`) and a text (`text`, `query`, `title`).
Plain or gzip; blank lines hold nothing; white space around a text is dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rerank.errors import FileFormatError, InvalidInputError
from rerank.files.source import OnFault, check_file, refuse, shown, text_lines
from rerank.ids import first_broken
from rerank.output import whole_file
from rerank.types import Topics

ID_KEYS = ("id", "qid", "query_id", "_id")
TEXT_KEYS = ("text", "query", "title")

Entry = tuple[int, str, str]  # line, query id, text

_TOP = re.compile(r"<top\b[^>]*>", re.IGNORECASE)
_TOP_END = re.compile(r"</top\s*>", re.IGNORECASE)
_NUM = re.compile(r"<num\b[^>]*>\s*(?:number\s*:)?([^<]*)", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]*>\s*(?:topic\s*:)?(.*?)(?=</?[a-z]+\b[^<>]*>|\Z)", re.IGNORECASE | re.DOTALL)


def read_topics(path: str | Path) -> Topics:
    """Read topics from a file of two columns, TREC topics or JSONL, plain or gzip.

    Returns the record, in the order of the file. Raises FileFormatError, with the line, for a line without
    id or text, an id with white space or one that returns, and for a file without topics; MissingFileError
    where there is no file.
    """
    return Topics({query_id: text for _, query_id, text in topic_entries(path)})


def topic_entries(path: str | Path, on_fault: OnFault = refuse) -> list[Entry]:
    """Return (line, query id, text) of every topic; `on_fault` is told of those that are wrong, which are left out."""
    path = check_file(path, "a topics file")
    lines = [(line, content) for line, content in text_lines(path) if content.strip()]
    if not lines:
        raise FileFormatError(
            path, None, "expected at least one topic, found an empty file; write lines of id, tab, text."
        )
    return _collected(path, _entries(path, lines, on_fault), on_fault)


def write_topics(topics: Topics | Mapping[str, str], path: str | Path) -> None:
    """Write topics as two columns with a tab, or as JSONL where the path ends in .jsonl or .jsonl.gz.

    Raises InvalidInputError for an id that is no single word, or a text that two columns cannot hold.
    """
    topics = Topics.of(topics)
    broken = first_broken(list(topics))
    if broken is not None:
        raise InvalidInputError(f"topics: expected ids without white space, found {broken!r}; rename it.")
    as_json = str(path).removesuffix(".gz").endswith(".jsonl")
    lines = [_json_line(*topic) if as_json else _tab_line(*topic) for topic in topics.items()]
    with whole_file(path) as handle:
        handle.writelines(lines)


def _entries(path: Path, lines: list[tuple[int, str]], on_fault: OnFault) -> Iterator[Entry]:
    beginning = lines[0][1].lstrip()
    if beginning.startswith("<"):
        return _each(path, _trec_blocks(path, lines), _trec_entry, on_fault)
    return _each(path, lines, _json_entry if beginning.startswith("{") else _tab_entry, on_fault)


def _each(
    path: Path, parts: Iterable[tuple[int, str]], entry: Callable[[Path, int, str], Entry], on_fault: OnFault
) -> Iterator[Entry]:
    for line, content in parts:
        try:
            yield entry(path, line, content)
        except FileFormatError as fault:
            on_fault(fault)


def _collected(path: Path, entries: Iterable[Entry], on_fault: OnFault) -> list[Entry]:
    """Return the entries that are whole, each query once, without white space around its text."""
    found: dict[str, Entry] = {}
    for line, query_id, text in entries:
        if first_broken([query_id]) is not None:
            wrong = f"expected a query id without white space, found {shown(query_id)}; correct the id."
        elif not text.strip():
            wrong = f"expected a text for query {shown(query_id)}, found none; write it or drop the query."
        elif query_id in found:
            wrong = f"expected each query once, found {shown(query_id)} again; remove one of the two."
        else:
            found[query_id] = line, query_id, text.strip()
            continue
        on_fault(FileFormatError(path, line, wrong))
    return list(found.values())


def _tab_entry(path: Path, line: int, content: str) -> Entry:
    columns = content.split("\t")
    if len(columns) != 2:
        remedy = "put a tab after the id" if len(columns) == 1 else "write spaces for the tabs in the text"
        raise FileFormatError(
            path, line, f"expected 2 columns with a tab (query id, text), found {len(columns)}; {remedy}."
        )
    return line, columns[0].strip(), columns[1]


def _json_entry(path: Path, line: int, content: str) -> Entry:
    try:
        topic = json.loads(content)
    except json.JSONDecodeError as fault:
        raise FileFormatError(
            path,
            line,
            f"expected a JSON object, found {fault.msg} at column {fault.colno}; correct the line.",
        ) from fault
    if not isinstance(topic, dict):
        raise FileFormatError(path, line, f"expected a JSON object, found {shown(content)}; write one object a line.")
    query_id, text = _member(path, line, topic, ID_KEYS), _member(path, line, topic, TEXT_KEYS)
    return line, query_id, text


def _member(path: Path, line: int, topic: Mapping[str, object], keys: tuple[str, ...]) -> str:
    """Return the first of some keys that the object has, as text."""
    for key in keys:
        value = topic.get(key)
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return str(value)
        if value is not None:
            raise FileFormatError(
                path,
                line,
                f"expected text as {key!r}, found {type(value).__name__}; write it in quotes.",
            )
    raise FileFormatError(
        path,
        line,
        f"expected one of the keys {', '.join(keys)}, found {', '.join(topic) or 'none'}; add one.",
    )


def _trec_blocks(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the first line of each topic, and what stands in it."""
    numbers = [line for line, _ in lines]
    whole = "\n".join(content for _, content in lines)
    tops = list(_TOP.finditer(whole))
    if not tops:
        raise FileFormatError(
            path, numbers[0], f"expected <top>, found {shown(lines[0][1].strip())}; name a TREC topics file."
        )
    ends = [top.start() for top in tops[1:]] + [len(whole)]
    for top, end in zip(tops, ends, strict=True):
        line = numbers[whole.count("\n", 0, top.start())]
        yield line, _TOP_END.split(whole[top.end() : end], maxsplit=1)[0]


def _trec_entry(path: Path, line: int, block: str) -> Entry:
    query_id = _tagged(path, line, _NUM, "num", block)
    return line, query_id, " ".join(_tagged(path, line, _TITLE, "title", block).split())


def _tagged(path: Path, line: int, pattern: re.Pattern[str], tag: str, block: str) -> str:
    found = pattern.search(block)
    if found is None:
        raise FileFormatError(path, line, f"expected <{tag}> in the topic that begins here, found none; add it.")
    return found.group(1).strip()


def _tab_line(query_id: str, text: str) -> str:
    if "\t" in text or "\n" in text or not text.strip():
        raise InvalidInputError(
            f"topics: expected a text without tabs and line ends for query {query_id!r}, "
            f"found {shown(text)}; write to a .jsonl file, or mend the text."
        )
    return f"{query_id}\t{text.strip()}\n"


def _json_line(query_id: str, text: str) -> str:
    return json.dumps({"id": query_id, "text": text}, ensure_ascii=False) + "\n"
