"""Diversity qrels as TREC's ndeval reads them: `query subtopic document label`, a line for each judgement.

Columns are separated by spaces or tabs; blank lines and lines that begin with `#` are skipped.
"""

from __future__ import annotations

from pathlib import Path

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.source import LineFault, check_file, filled_lines, of_line, reads_files
from rerank.files.trec import parse_label
from rerank.types.ids import ID_RULE, QUERY_RULE, first_broken, first_broken_query
from rerank.types.subtopics import SubtopicQrels

COLUMNS = "4 columns (query subtopic document label)"


@reads_files
def read_subtopic_qrels(path: str | Path) -> SubtopicQrels:
    """Read judgements of documents for the subtopics of queries.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzip.

    Returns
    -------
    SubtopicQrels
        The judgements.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a wrong number of columns or a label that is not a whole number; if a document is judged
        twice for a subtopic, and if no query has two subtopics, as in qrels of documents.

    """
    path = check_file(path, "a file of diversity qrels")
    lines = ((line, content) for line, content in filled_lines(path) if not content.startswith("#"))
    rows = [of_line(path, line, _entry, content) for line, content in lines]
    if not rows:
        raise FileFormatError(path, None, f"expected lines of {COLUMNS}, got no line. Name a file with rows.")
    query_ids, subtopics, doc_ids, labels = zip(*rows, strict=True)
    try:
        return SubtopicQrels.from_rows(query_ids, subtopics, doc_ids, labels)
    except InvalidInputError as error:
        raise FileFormatError(path, None, str(error).removeprefix("qrels: ")) from None


def _entry(content: str) -> tuple[str, str, str, int]:
    """Return query, subtopic, document and label of a line."""
    columns = content.split()
    if len(columns) != 4:
        raise LineFault(f"expected {COLUMNS}, got {len(columns)}. Write one judgement a line.")
    query, subtopic, doc, token = columns
    for name, broken, rule in (
        ("query", first_broken_query([query]), QUERY_RULE),
        ("subtopic", first_broken([subtopic]), ID_RULE),
        ("document", first_broken([doc]), ID_RULE),
    ):
        if broken is not None:
            raise LineFault(f"expected {name} ids {rule}, got {shown(broken)}. Rename it.")
    label = parse_label(token.encode())
    if label is None:
        raise LineFault(f"expected a whole number as label, got {shown(token)}. Correct the label.")
    return query, subtopic, doc, label
