"""Collections of Debian's packages are judged by what the packages say."""

from __future__ import annotations

from pathlib import Path

import rerank
from benchmarks.debian_collections import Judged, manuals, perlfaq, programs, tags_of, write

INDEX = "\n\n".join(
    f"Package: {name}\nTag: role::{role}, game::{{puzzle,cards}},\n use::viewing"
    for name, role in (("solver", "program"), ("patience", "program"), ("hearts", "program"), ("data", "app-data"))
)
DESCRIPTIONS = "\n\n".join(
    f"Package: {name}\nDescription-en: {name} of {name}s\n Text of {name}.\n .\n More."
    for name in ("solver", "patience", "hearts", "data")
)
VOCABULARY = (
    "Tag: game::cards\nDescription: Cards\n With cards.\n\nTag: use::viewing\nDescription: Viewing\n\nTag: game::maze"
)
PAGE = '.TH {0}\n.SH NAME\n{0} \\- {1}\n.SH TEXT\nThe call\n.BR {0} ()\nopens \\fIfiles\\fP.\n.SH "SEE ALSO"\n{2}\n'


def test_tags_in_braces_are_several() -> None:
    assert list(tags_of("role::program, works-with::{image,text},\n use::viewing")) == [
        "role::program", "works-with::image", "works-with::text", "use::viewing"
    ]  # fmt: skip


def test_programs_are_relevant_to_their_tags() -> None:
    collection = programs(INDEX, DESCRIPTIONS, VOCABULARY)
    assert list(collection.documents) == ["solver", "patience", "hearts"]  # `data` is no program
    assert collection.documents["solver"]["contents"] == "solver of solvers Text of solver. More."
    assert collection.topics == {"game::cards": "Cards game", "use::viewing": "Viewing"}
    assert collection.grades["game::cards"] == {"hearts": 1, "patience": 1, "solver": 1}


def test_manual_pages_are_relevant_to_what_they_say_of_themselves_and_refer_to() -> None:
    see = ".BR close (2),\n\\fBread\\fR(2), open(2), lost (3)"
    pages = {
        f"{name}.2": PAGE.format(name, f"{name} a file", see if name == "open" else "")
        for name in ("open", "close", "read")
    }
    collection = manuals(pages)
    assert collection.documents["open.2"] == {"contents": "The call open () opens files ."}
    assert collection.topics == {"open.2": "open a file"}
    assert collection.grades == {"open.2": {"open.2": 2, "close.2": 1, "read.2": 1}}


def test_answers_of_the_faq_lack_their_questions() -> None:
    body = "Use C<< sort { $a <=> $b } >> with B<care>. " * 4
    collection = perlfaq({"perlfaq4": f"=head2 How do I sort?\n\n{body}\n", "perlop": f"=head2 Sorting\n\n{body}"})
    assert collection.topics == {"perlfaq4-0": "How do I sort?"}
    assert collection.documents["perlfaq4-0"]["contents"].startswith("Use sort")
    assert collection.documents["perlop-0"]["contents"].startswith("Sorting Use")


def test_collections_are_written_as_they_are_read(tmp_path: Path) -> None:
    write(tmp_path, Judged({"d": {"contents": "text"}}, {"tag": "words"}, {"tag": {"d": 2}}))
    assert dict(rerank.read_topics(tmp_path / "topics.tsv")) == {"q1": "words"}
    assert rerank.read_qrels(tmp_path / "qrels.txt")["q1"] == {"d": 2}
    assert [dict(document) for document in rerank.read_documents(tmp_path / "corpus.jsonl")] == [
        {"id": "d", "contents": "text"}
    ]
